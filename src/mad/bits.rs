//! Reads and writes bit fields in big-endian bytes. Bit 0 is the most significant bit of byte 0.

/// Returns a field of at most 64 bits. Bits after the end of `bytes` are 0.
#[inline]
pub fn read(bytes: &[u8], offset: usize, width: usize) -> u64 {
    let field = Place::of(offset, width);
    let bytes = (field.first..field.end).map(|at| bytes.get(at).copied().unwrap_or(0));
    let whole = bytes.fold(0_u128, |whole, byte| whole << 8 | u128::from(byte));
    u64::try_from((whole & field.mask) >> field.shift).unwrap_or(u64::MAX)
}

/// Writes the low `width` bits of a value. Bits after the end of `bytes` are dropped.
#[inline]
pub(super) fn write(bytes: &mut [u8], offset: usize, width: usize, value: u64) {
    let field = Place::of(offset, width);
    let value = (u128::from(value) << field.shift & field.mask).to_be_bytes();
    let mask = field.mask.to_be_bytes();
    let unused = mask.len() - (field.end - field.first);
    for at in field.first..field.end {
        let Some(byte) = bytes.get_mut(at) else { return };
        let from = unused + at - field.first;
        *byte = *byte & !mask[from] | value[from];
    }
}

/// Bytes that contain a field, and the bits of the field in the number formed by these bytes.
struct Place {
    first: usize,
    /// Byte after the last one.
    end: usize,
    /// Number of bits below the field.
    shift: usize,
    mask: u128,
}

impl Place {
    /// Returns the place of a field of 1 to 64 bits, which spans at most 9 bytes.
    #[inline]
    fn of(offset: usize, width: usize) -> Self {
        let end = (offset + width).div_ceil(8);
        let shift = end * 8 - offset - width;
        Self { first: offset / 8, end, shift, mask: ((1 << width) - 1) << shift }
    }
}

#[test]
fn fields_lie_where_their_offsets_say() {
    let bytes = [0x12, 0x34, 0x56, 0x78];
    assert_eq!(read(&bytes, 0, 8), 0x12);
    assert_eq!(read(&bytes, 4, 8), 0x23);
    assert_eq!(read(&bytes, 0, 32), 0x1234_5678);
    assert_eq!(read(&bytes, 28, 8), 0x80, "missing bits are 0");
    let mut written = [0xff; 3];
    write(&mut written, 4, 12, 0xabc);
    assert_eq!(written, [0xfa, 0xbc, 0xff]);
    write(&mut written, 20, 64, 0);
    assert_eq!(written, [0xfa, 0xbc, 0xf0], "what lies beyond the bytes is dropped");
    let mut nine = [0; 9];
    write(&mut nine, 4, 64, u64::MAX);
    assert_eq!(nine, [0x0f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xf0]);
    assert_eq!(read(&nine, 4, 64), u64::MAX, "a field of 64 bits may touch 9 bytes");
}
