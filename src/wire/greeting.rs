//! Greeting line of an agent, and the lines that the shell of a host prints before it.
//!
//! The module skips other output of a login. `fleet` reads greetings, and `agent` writes its own.

use std::fmt;
use std::io::{self, Read};

use super::{PROTOCOL, Process};
use crate::model::words;

/// Limit of the output before the greeting, in bytes.
const NOISE_LIMIT: usize = 64 * 1024;

/// Limit of the output that an error message quotes, in bytes.
const QUOTE_LIMIT: usize = 200;

/// Limit of the version in a greeting, in bytes.
const VERSION_LIMIT: usize = 64;

/// First line of the agent: `RDMACTL/PROTOCOL NONCE VERSION`. Login scripts do not know the
/// nonce.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Greeting {
    /// Protocol version of the agent.
    pub protocol: u32,
    /// Version of the remote rdmactl.
    pub version: String,
}

impl Greeting {
    /// Returns the greeting line of the agent of this program.
    pub fn line(nonce: &str) -> String {
        format!("RDMACTL/{PROTOCOL} {nonce} {}\n", env!("CARGO_PKG_VERSION"))
    }
}

/// Process that a host started for the agent. The shell of the host reports it before it runs
/// rdmactl. The line is `WORD NONCE PID GROUP TICKS`. Without `/proc` the last two words are
/// missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Started {
    /// Process id of the shell. `exec` keeps it for rdmactl.
    pub pid: u32,
    /// Process group and start time of the shell, if the host has `/proc`.
    pub group: Option<(u32, u64)>,
}

impl Started {
    /// Parses a line that begins with `word` and the nonce; `None` for another line.
    pub fn of_line(line: &str, word: &str, nonce: &str) -> Option<Self> {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            [first, second, rest @ ..] if *first == word && *second == nonce => Self::parse(rest),
            _ => None,
        }
    }

    fn parse(words: &[&str]) -> Option<Self> {
        let (pid, rest) = words.split_first()?;
        let group = match rest {
            [group, ticks] => group.parse().ok().zip(ticks.parse().ok()),
            _ => None,
        };
        pid.parse().ok().map(|pid| Self { pid, group })
    }

    /// Returns the process with its start time.
    pub fn process(&self) -> Option<Process> {
        self.group.map(|(_, start_ticks)| Process { pid: self.pid, start_ticks })
    }

    /// Returns the process if it leads a process group, which has only its descendants.
    pub fn leader(&self) -> Option<Process> {
        // `kill` takes group 0 for its own group. In a container, process 1 may be unrelated.
        self.process()
            .filter(|_| self.pid > 1 && self.group.is_some_and(|(group, _)| group == self.pid))
    }
}

/// Reason why no agent greeted.
#[derive(Debug, thiserror::Error)]
pub enum GreetingError {
    /// The host has no rdmactl.
    #[error("no rdmactl on the host")]
    NoAgent,
    /// The stream ended.
    #[error("the output ended without the greeting of an agent")]
    Ended,
    /// The output without a greeting is over the limit.
    #[error("more than {NOISE_LIMIT} bytes came before the greeting of an agent")]
    Noise,
    /// The stream broke, or nothing came in time.
    #[error("the connection broke: {0}")]
    Io(#[from] io::Error),
}

/// Skips the output of a login up to the greeting of an agent.
#[derive(Debug)]
pub struct GreetingReader<'a> {
    nonce: String,
    /// First word of the line that a host without an agent prints.
    no_agent: &'a str,
    /// First word of the line that the shell of the host prints before it runs the agent.
    started_word: &'a str,
    started: Option<Started>,
    said: Vec<u8>,
}

impl<'a> GreetingReader<'a> {
    /// Returns a reader of a greeting with this nonce.
    pub fn new(nonce: &impl fmt::Display, no_agent: &'a str, started_word: &'a str) -> Self {
        let nonce = nonce.to_string();
        Self { nonce, no_agent, started_word, started: None, said: Vec::new() }
    }

    /// Returns the process that the shell of the host reported. `None` means that the login shell,
    /// its startup files or a forced command did not run the command.
    pub fn started(&self) -> Option<Started> {
        self.started
    }

    /// Quotes the start of the output so far, as the tail of a message. Empty without output.
    pub fn output(&self) -> String {
        let start = start_of_output(&self.said);
        if start.is_empty() { start } else { format!("; the output begins with {start:?}") }
    }

    /// Reads up to the greeting that carries the nonce.
    ///
    /// # Errors
    /// The greeting did not arrive.
    pub fn read(&mut self, stream: &mut impl Read) -> Result<Greeting, GreetingError> {
        let mut read = 0;
        let mut line = 0;
        loop {
            let mut byte = [0];
            match stream.read(&mut byte) {
                Ok(0) => return Err(GreetingError::Ended),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error.into()),
            }
            read += 1;
            self.said.push(byte[0]);
            if byte[0] == b'\n' {
                if let Some(greeted) = self.take_line(line) {
                    return greeted;
                }
                line = self.said.len();
            }
            if read > NOISE_LIMIT {
                return Err(GreetingError::Noise);
            }
        }
    }

    /// Parses the line that starts at `begin`. Returns the result if the line ends the reading.
    fn take_line(&mut self, begin: usize) -> Option<Result<Greeting, GreetingError>> {
        let text = String::from_utf8_lossy(self.said.get(begin..)?).into_owned();
        let words: Vec<&str> = text.split_whitespace().collect();
        let [word, nonce, rest @ ..] = words.as_slice() else { return None };
        if *nonce != self.nonce {
            return None;
        }
        match rest {
            [] if *word == self.no_agent => return Some(Err(GreetingError::NoAgent)),
            // The shell prints two such lines. Only the second one has all words.
            _ if *word == self.started_word => self.started = Started::parse(rest).or(self.started),
            [version] if is_version(version) => {
                let protocol = word.strip_prefix("RDMACTL/")?.parse().ok()?;
                return Some(Ok(Greeting { protocol, version: (*version).to_owned() }));
            }
            _ => return None,
        }
        self.said.truncate(begin);
        None
    }
}

/// True for a short word that messages can hold without quotation marks.
fn is_version(word: &str) -> bool {
    word.len() <= VERSION_LIMIT
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".+-".contains(&byte))
}

/// Returns at most 200 bytes of the output, without quotation marks around them and with a quoted
/// `fix:`.
fn start_of_output(said: &[u8]) -> String {
    words::of_host(String::from_utf8_lossy(&said[..said.len().min(QUOTE_LIMIT)]).trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reader() -> GreetingReader<'static> {
        GreetingReader::new(&"c0ffee", "RDMACTL/none", "RDMACTL/run")
    }

    fn greet(said: &str) -> Result<Greeting, GreetingError> {
        reader().read(&mut said.as_bytes())
    }

    #[test]
    fn noise_before_the_greeting_is_skipped() {
        let said = format!("Welcome!\nRDMACTL/1 deadbeef 9.9\n{}", Greeting::line("c0ffee"));
        assert_eq!(greet(&said).unwrap().version, env!("CARGO_PKG_VERSION"));
    }

    #[test]
    fn a_text_is_no_version() {
        let greeting = |version: &str| greet(&format!("RDMACTL/1 c0ffee {version}\n"));
        assert_eq!(greeting("1.2.3-rc.1+b7").unwrap().version, "1.2.3-rc.1+b7");
        for version in ["1.0;run:curl|sh", "\u{202e}", &"1".repeat(65)] {
            assert!(matches!(greeting(version), Err(GreetingError::Ended)), "{version}");
        }
    }

    #[test]
    fn a_host_without_an_agent_says_so() {
        let said = "motd\nRDMACTL/run c0ffee 7 7 7\nRDMACTL/none c0ffee\n";
        assert!(matches!(greet(said), Err(GreetingError::NoAgent)));
    }

    #[test]
    fn a_stream_that_ends_is_quoted() {
        let mut reader = reader();
        let mut said = "bash: no\x1b[2J\n".as_bytes();
        assert!(matches!(reader.read(&mut said), Err(GreetingError::Ended)));
        assert!(reader.output().contains(r"bash: no\u{1b}[2J"), "{}", reader.output());
        assert_eq!(reader.started(), None);
    }

    #[test]
    fn endless_noise_is_cut() {
        assert!(matches!(greet(&"x".repeat(NOISE_LIMIT + 2)), Err(GreetingError::Noise)));
    }

    #[test]
    fn the_process_of_the_shell_is_no_output() {
        for (words, pid, leader) in [
            ("4242 4242 9000", Some(4242), true),
            ("4242 17 9000", Some(4242), false),
            ("4242", Some(4242), false),
            ("0 0 9000", Some(0), false),
            ("1 1 9000", Some(1), false),
            ("-1 -1 9000", None, false),
            ("4242; 4242 9000", None, false),
            ("", None, false),
        ] {
            let mut reader = reader();
            let said = format!("motd\nRDMACTL/run c0ffee {words}\n");
            assert!(matches!(reader.read(&mut said.as_bytes()), Err(GreetingError::Ended)));
            assert_eq!(reader.started().map(|started| started.pid), pid, "{words}");
            let process = Process { pid: 4242, start_ticks: 9000 };
            let leads = reader.started().and_then(|started| started.leader());
            assert_eq!(leads, leader.then_some(process), "{words}");
            assert_eq!(reader.output(), r#"; the output begins with "motd""#);
        }
    }
}
