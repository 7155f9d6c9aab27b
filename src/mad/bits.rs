//! Bit fields in big-endian bytes: bit 0 is the most significant bit of byte 0.

/// Returns a field of at most 64 bits; bits beyond the bytes are 0.
#[must_use]
pub fn read(bytes: &[u8], offset: usize, width: usize) -> u64 {
    (offset..offset + width).fold(0, |value, bit| {
        let byte = bytes.get(bit / 8).copied().unwrap_or(0);
        value << 1 | u64::from(byte >> (7 - bit % 8) & 1)
    })
}

/// Writes the low `width` bits of a value; bits beyond the bytes are dropped.
pub(super) fn write(bytes: &mut [u8], offset: usize, width: usize, value: u64) {
    for at in 0..width {
        let bit = offset + at;
        let Some(byte) = bytes.get_mut(bit / 8) else { return };
        let mask = 1 << (7 - bit % 8);
        if value >> (width - 1 - at) & 1 == 1 {
            *byte |= mask;
        } else {
            *byte &= !mask;
        }
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
}
