//! Declares attributes as tables of fields: one declaration gives type, codec and list of fields.

/// Error for bytes that are too short for an attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{name} has {needed} bytes, and {found} arrived")]
pub struct Short {
    /// Name of the attribute.
    pub name: &'static str,
    /// Size of the attribute in bytes.
    pub needed: usize,
    /// Number of bytes that arrived.
    pub found: usize,
}

/// Name and value of one field, for dumps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldValue {
    /// Name of the field in the type.
    pub name: &'static str,
    /// Value of the field.
    pub value: u64,
    /// Width of the field in bits.
    pub bits: usize,
}

/// An attribute of a MAD.
pub trait MadAttribute: Sized {
    /// Name in the specification.
    const NAME: &'static str;
    /// Attribute ID in the header of a MAD.
    const ID: u16;
    /// Size of the attribute in bytes.
    const BYTES: usize;

    /// Decodes the attribute from the start of the bytes.
    ///
    /// # Errors
    /// `bytes` is shorter than [`Self::BYTES`].
    fn decode(bytes: &[u8]) -> Result<Self, Short>;

    /// Writes the fields to the start of the bytes. Reserved bits keep their values.
    ///
    /// # Errors
    /// `bytes` is shorter than [`Self::BYTES`].
    fn encode(&self, bytes: &mut [u8]) -> Result<(), Short>;
}

pub(super) fn whole<A: MadAttribute>(bytes: &[u8]) -> Result<&[u8], Short> {
    let short = Short { name: A::NAME, needed: A::BYTES, found: bytes.len() };
    bytes.get(..A::BYTES).ok_or(short)
}

/// Declares attributes: `name: type = BYTE.BIT / WIDTH`, where bit 0 is the most significant bit.
/// An attribute declares only the fields that rdmactl uses.
macro_rules! attributes {
    ($(
        $(#[$meta:meta])*
        $name:ident($title:literal, $id:literal, $bytes:literal bytes) {
            $($(#[$field_meta:meta])* $field:ident: $type:ty = $byte:literal, $bit:literal / $width:literal;)*
        }
    )*) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
        pub struct $name {
            $($(#[$field_meta])* pub $field: $type,)*
        }

        impl $crate::mad::MadAttribute for $name {
            const NAME: &'static str = $title;
            const ID: u16 = $id;
            const BYTES: usize = $bytes;

            fn decode(bytes: &[u8]) -> Result<Self, $crate::mad::Short> {
                let bytes = $crate::mad::attribute::whole::<Self>(bytes)?;
                Ok(Self {
                    $($field: {
                        let value = $crate::mad::bits::read(bytes, $byte * 8 + $bit, $width);
                        <$type>::try_from(value).unwrap_or(<$type>::MAX)
                    },)*
                })
            }

            fn encode(&self, bytes: &mut [u8]) -> Result<(), $crate::mad::Short> {
                $crate::mad::attribute::whole::<Self>(bytes)?;
                $($crate::mad::bits::write(bytes, $byte * 8 + $bit, $width, self.$field.into());)*
                Ok(())
            }
        }

        impl $name {
            /// Returns every field in the order of the specification.
            pub fn fields(&self) -> Vec<$crate::mad::FieldValue> {
                vec![$($crate::mad::FieldValue {
                    name: stringify!($field),
                    value: self.$field.into(),
                    bits: $width,
                },)*]
            }
        }
    )*};
}
pub(super) use attributes;
