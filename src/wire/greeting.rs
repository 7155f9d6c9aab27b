use std::fmt;
use std::io::{self, Read};

use super::PROTOCOL;

/// How much a login shell may print before the agent speaks.
const NOISE_LIMIT: usize = 64 * 1024;

/// How much of a wrong answer is quoted.
const QUOTE_LIMIT: usize = 200;

/// The agent's first line: `RDMACTL/PROTOCOL NONCE VERSION`.
///
/// The nonce tells it from whatever login scripts print.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Greeting {
    /// Protocol of the agent.
    pub protocol: u32,
    /// Version of the program at the far end.
    pub version: String,
}

impl Greeting {
    /// The line that this program's agent prints.
    #[must_use]
    pub fn line(nonce: &str) -> String {
        format!("RDMACTL/{PROTOCOL} {nonce} {}\n", env!("CARGO_PKG_VERSION"))
    }
}

/// Why no agent greeted.
#[derive(Debug, thiserror::Error)]
pub enum GreetingError {
    /// The host has no rdmactl.
    #[error("no rdmactl on the host")]
    NoAgent,
    /// The stream ended; the output that came instead.
    #[error("the command ended without the greeting of an agent{}", output(.0))]
    Ended(String),
    /// The output without a greeting is over the limit.
    #[error("more than {NOISE_LIMIT} bytes came before the greeting of an agent{}", output(.0))]
    Noise(String),
    /// The stream broke.
    #[error("the connection broke: {0}")]
    Io(#[from] io::Error),
}

/// Reads past a login's noise up to the greeting that carries `nonce`.
///
/// `no_agent` is what the line begins with that a host without an agent prints.
///
/// # Errors
/// No such line came.
pub fn read_greeting(
    stream: &mut impl Read,
    nonce: &impl fmt::Display,
    no_agent: &str,
) -> Result<Greeting, GreetingError> {
    let nonce = nonce.to_string();
    let mut said = Vec::new();
    let mut line = Vec::new();
    loop {
        let mut byte = [0];
        match stream.read(&mut byte) {
            Ok(0) => return Err(GreetingError::Ended(quote(&said))),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error.into()),
        }
        said.push(byte[0]);
        if byte[0] == b'\n' {
            let text = String::from_utf8_lossy(&line);
            let words: Vec<&str> = text.split_whitespace().collect();
            match words.as_slice() {
                [word, its, version] if *its == nonce => {
                    if let Some(protocol) = word.strip_prefix("RDMACTL/")
                        && let Ok(protocol) = protocol.parse()
                    {
                        return Ok(Greeting { protocol, version: (*version).to_owned() });
                    }
                }
                [word, its] if *word == no_agent && *its == nonce => {
                    return Err(GreetingError::NoAgent);
                }
                _ => {}
            }
            line.clear();
        } else {
            line.push(byte[0]);
        }
        if said.len() > NOISE_LIMIT {
            return Err(GreetingError::Noise(quote(&said)));
        }
    }
}

/// Quotes the beginning of the output, as the tail of a message; empty without output.
fn output(said: &str) -> String {
    if said.is_empty() { String::new() } else { format!("; the output begins with {said:?}") }
}

fn quote(said: &[u8]) -> String {
    let end = said.len().min(QUOTE_LIMIT);
    String::from_utf8_lossy(&said[..end]).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn greet(said: &str) -> Result<Greeting, GreetingError> {
        read_greeting(&mut said.as_bytes(), &"c0ffee", "RDMACTL/none")
    }

    #[test]
    fn noise_before_the_greeting_is_skipped() {
        let said = format!("Welcome!\nRDMACTL/1 deadbeef 9.9\n{}", Greeting::line("c0ffee"));
        assert_eq!(greet(&said).unwrap().version, env!("CARGO_PKG_VERSION"));
    }

    #[test]
    fn a_host_without_an_agent_says_so() {
        assert!(matches!(greet("motd\nRDMACTL/none c0ffee\n"), Err(GreetingError::NoAgent)));
    }

    #[test]
    fn a_stream_that_ends_is_quoted() {
        let error = greet("bash: no\x1b[2J\n").unwrap_err();
        assert!(error.to_string().contains(r"bash: no\u{1b}[2J"), "{error}");
    }

    #[test]
    fn endless_noise_is_cut() {
        assert!(matches!(greet(&"x".repeat(NOISE_LIMIT + 2)), Err(GreetingError::Noise(_))));
    }
}
