//! The older tools over made-up machines, of any content.

use rdmactl::compat::{Call, Release, Tool, run as answer};

use super::changes::Changes;
use super::machine::Machine;

/// Calls a tool: the first line is its fixture, tool and release, each a digit, and its arguments;
/// the others are changes of the machine.
pub fn run(data: &[u8]) {
    let end = data.iter().position(|byte| *byte == b'\n').unwrap_or(data.len());
    let (line, rest) = data.split_at(end);
    let [fixture, tool, release, words @ ..] = line else { return };
    let changes = Changes::parse(rest);
    let change = |asked: &_| changes.to(asked);
    let machine = Machine::new(usize::from(fixture.wrapping_sub(b'0')), &change);
    let tool = Tool::ALL[usize::from(tool.wrapping_sub(b'0')) % Tool::ALL.len()];
    let words = String::from_utf8_lossy(words);
    let args: Vec<String> = words.split_whitespace().take(16).map(str::to_owned).collect();
    let call = Call {
        tool,
        program: tool.name(),
        args: &args,
        // `0` is the one that is installed there.
        release: Release::of(30 + u32::from(release.wrapping_sub(b'0'))),
        pid: 4711,
    };
    // What is said is bounded by what was read: no number in an answer makes up lines.
    let length = match answer(&call, &machine) {
        Ok(said) => said.stdout.len() + said.stderr.len(),
        Err(error) => error.to_string().len() + error.fix().len(),
    };
    assert!(length <= machine.most() + 32 * line.len(), "{length} bytes");
}
