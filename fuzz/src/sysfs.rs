//! Files, directories and links of a made-up machine, of any content.

use super::changes::Changes;
use super::machine::Machine;

/// Reads the machine of a fixture with changes: the first byte chooses the fixture, the rest are the
/// lines of [`Changes`].
pub fn run(data: &[u8]) {
    let Some((fixture, lines)) = data.split_first() else { return };
    let changes = Changes::parse(lines);
    let _ =
        Machine::new(usize::from(fixture.wrapping_sub(b'0')), &|asked| changes.to(asked)).read();
}
