//! Macros for an enum whose variants have a word.
//! `model` declares most of its enums with them. The modules of `model` need no `use`.

/// Declares an enum with a word for each variant: the enum, its variants and words as lists, and
/// a method that returns the word. Every such enum is `Copy` and can be compared.
///
/// Tables and messages show the word. The words in JSON follow from the serde attributes of the
/// enum; [`json_words`] makes them equal.
macro_rules! words {
    (
        $(#[$of_enum:meta])*
        $vis:vis enum $name:ident {
            $($(#[$of_variant:meta])* $variant:ident = $word:literal,)*
        }
        $(#[$of_method:meta])*
        pub fn $method:ident(self);
    ) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        $(#[$of_enum])*
        $vis enum $name {
            $($(#[$of_variant])* $variant,)*
        }

        impl $name {
            /// Every variant, in the order of the declaration.
            pub const ALL: [Self; Self::WORDS.len()] = [$(Self::$variant),*];

            /// Words of [`ALL`](Self::ALL).
            pub const WORDS: [&str; [$($word),*].len()] = [$($word),*];

            $(#[$of_method])*
            pub fn $method(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }
        }
    };
}

/// Declares an enum like [`words`], whose words are also those of JSON. The enum must derive the
/// traits of serde.
macro_rules! json_words {
    (
        $(#[$of_enum:meta])*
        $vis:vis enum $name:ident {
            $($(#[$of_variant:meta])* $variant:ident = $word:literal,)*
        }
        $($method:tt)*
    ) => {
        words! {
            $(#[$of_enum])*
            $vis enum $name {
                $($(#[$of_variant])* #[serde(rename = $word)] $variant = $word,)*
            }
            $($method)*
        }
    };
}

pub(crate) use words;
