//! Fuzz target for the older tools (`rdmactl compat`) on simulated machines.

use rdmactl::compat::{Call, Release, Tool, run as answer};

use super::changes::Changes;
use super::machine::Machine;

/// Calls an older tool.
///
/// The first line has three digits (the fixture, the tool and the release) and then the
/// arguments. The other lines are [`Changes`] of the machine.
pub fn run(data: &[u8]) {
    let end = data.iter().position(|byte| *byte == b'\n').unwrap_or(data.len());
    let (line, rest) = data.split_at(end);
    let [fixture, tool, release, words @ ..] = line else { return };
    let changes = Changes::parse(rest);
    let change = |question: &_| changes.to(question);
    let machine = Machine::new(usize::from(fixture.wrapping_sub(b'0')), &change);
    let tool = Tool::ALL[usize::from(tool.wrapping_sub(b'0')) % Tool::ALL.len()];
    let words = String::from_utf8_lossy(words);
    let args: Vec<String> = words.split_whitespace().take(16).map(str::to_owned).collect();
    let call = Call {
        tool,
        program: tool.name(),
        args: &args,
        // The digit `0` is the release that is installed on the machine.
        release: Release::of(30 + u32::from(release.wrapping_sub(b'0'))),
        pid: 4711,
    };
    // The length of the answers bounds the length of the output: a number in an answer must not
    // multiply the lines.
    let length = match answer(&call, &machine) {
        Ok(output) => output.stdout.len() + output.stderr.len(),
        Err(error) => error.to_string().len() + error.fix().len(),
    };
    assert!(length <= machine.most() + 32 * line.len(), "{length} bytes");
}
