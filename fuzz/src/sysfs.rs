//! Fuzz target for the files, directories and links of a simulated machine.

use rdmactl::model::Parts;

use super::changes::Changes;
use super::machine::Machine;

/// Reads the machine of a fixture with changes. The first byte selects the fixture, and the other
/// bytes are lines of [`Changes`].
pub fn run(data: &[u8]) {
    let Some((fixture, lines)) = data.split_first() else { return };
    let changes = Changes::parse(lines);
    let change = |question: &_| changes.to(question);
    let _ = Machine::new(usize::from(fixture.wrapping_sub(b'0')), &change).read(&Parts::all());
}
