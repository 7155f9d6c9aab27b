//! Files, directories and links of a made-up machine, of any content.

use rdmactl::model::Parts;

use super::changes::Changes;
use super::machine::Machine;

/// Reads the machine of a fixture with changes: the first byte chooses the fixture, the rest are the
/// lines of [`Changes`].
pub fn run(data: &[u8]) {
    let Some((fixture, lines)) = data.split_first() else { return };
    let changes = Changes::parse(lines);
    let change = |asked: &_| changes.to(asked);
    let _ = Machine::new(usize::from(fixture.wrapping_sub(b'0')), &change).read(&Parts::all());
}
