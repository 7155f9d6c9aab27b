//! Launcher that reaches hosts through a command of the operator, such as `kubectl exec`.
//!
//! The command starts only `/bin/sh`. The shell reads its script from stdin, so that the number
//! of shells that parse the command line does not matter.

use std::io::{self, Read as _, Write as _};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use super::children::Children;
use super::line_mux;
use super::template::{Template, TemplateError};
use crate::clock::Deadline;
use crate::fleet::access::fresh_nonce;
use crate::fleet::quote::{last_line, quote};
use crate::fleet::remote_command::{self, Privilege};
use crate::fleet::{Access, HostResult, Nonce, Pipe, Uploaded, Watchdog, local};
use crate::hosts::Host;
use crate::model::{HostFailure, Reason};

/// Program that the command starts on the host. The script comes on its stdin.
const SHELL: &str = "/bin/sh";
const NOISE_LIMIT: usize = 64 * 1024;

/// Command template for each host.
#[derive(Debug)]
pub struct Exec {
    template: Template,
}

impl Exec {
    /// Parses a command line with `{host}` and `{command}` in it.
    ///
    /// # Errors
    /// The text is no template. The error has the position.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        Template::parse(text).map(|template| Self { template })
    }

    pub(in crate::fleet) fn access(
        &self,
        host: &Host,
        watchdog: &Watchdog,
    ) -> HostResult<Arc<dyn Access>> {
        if host.user.is_some() || host.port.is_some() {
            let detail = "--launcher exec takes host names without a user or a port";
            return Err(HostFailure::new(Reason::Unresolved, detail).fix(format!(
                "write {} in the host set, and the user or the port in the template of --launcher",
                host.name
            )));
        }
        let words = self.template.words(&host.name, &[SHELL]);
        let program = self.template.program().to_owned();
        let (host, children) = (host.name.clone(), Children::new(watchdog.clone()));
        Ok(Arc::new(ExecAccess { host, words, program, children }))
    }
}

struct ExecAccess {
    host: String,
    words: Vec<String>,
    program: String,
    children: Children,
}

impl ExecAccess {
    /// Starts a command. Returns its pipe, and the launcher's label before each line.
    fn start(&self, command: &str, deadline: Deadline) -> HostResult<(Pipe, Vec<u8>)> {
        let mut words = self.words.iter();
        let mut process = Command::new(words.next().map_or("", String::as_str));
        process.args(words);
        let pipe = local::spawn(process).map_err(|failure| {
            failure.fix(format!("check the program of --launcher: command -v {}", self.program))
        })?;
        self.children.adopt(&pipe, deadline)?;
        // A shell may read more than one line at once. The next line is sent when the shell has
        // run the last one. The input of the command is sent when the shell reads no more lines.
        let label = self.say(&pipe, "", deadline)?;
        self.say(&pipe, command, deadline)?;
        Ok((pipe, label))
    }

    /// Makes the shell print a word, then run the command. Returns the text before the word.
    fn say(&self, pipe: &Pipe, command: &str, deadline: Deadline) -> HostResult<Vec<u8>> {
        // The nonce is sent in two halves, so that the echo of a launcher is not the word.
        let nonce = fresh_nonce()?.to_string();
        let (first, second) = nonce.split_at(nonce.len() / 2);
        let line = format!("a={first}; echo RDMACTL/go ${{a}}{second}; {command}\n");
        let mut stream = pipe.stream();
        // If the shell has ended, the read below reports it.
        let _ = stream.write_all(line.as_bytes());
        let word = format!("RDMACTL/go {nonce}");
        let (mut said, mut begin) = (Vec::new(), 0);
        loop {
            let timeout = deadline.remaining().max(Duration::from_millis(1));
            let mut byte = [0];
            let read = stream.set_read_timeout(Some(timeout)).and_then(|()| stream.read(&mut byte));
            match read {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Ok(1) => said.push(byte[0]),
                _ if deadline.is_over() || self.children.is_cancelled() => {
                    return Err(self.silent(pipe));
                }
                _ => return Err(self.ended(pipe, &said)),
            }
            if byte == *b"\n" {
                let line = said.get(begin..).unwrap_or_default();
                if let Some(at) = line.windows(word.len()).position(|part| part == word.as_bytes())
                {
                    return Ok(line[..at].to_vec());
                }
                begin = said.len();
            }
            if said.len() > NOISE_LIMIT {
                let program = &self.program;
                let detail = format!("{program} printed more than 64 KiB before the shell started");
                return Err(HostFailure::new(Reason::Garbage, detail).fix(self.by_itself()));
            }
        }
    }

    fn silent(&self, pipe: &Pipe) -> HostFailure {
        let said = last_line(&pipe.stderr());
        let detail = format!(
            "{} started no shell in time; it probably hangs or does not forward stdin{said}",
            self.program
        );
        HostFailure::new(Reason::Timeout, detail).fix(self.by_itself())
    }

    fn ended(&self, pipe: &Pipe, said: &[u8]) -> HostFailure {
        let how = pipe.exit_and_last_line();
        let stdout = match last_line(&pipe.stderr()) {
            stderr if stderr.is_empty() => last_line(said),
            _ => String::new(),
        };
        let detail = format!("{} ended before the shell started{how}{stdout}", self.program);
        HostFailure::new(Reason::Transport, detail).fix(self.by_itself())
    }

    fn by_itself(&self) -> String {
        self.manual_command("test the launcher", "hostname")
    }
}

impl Access for ExecAccess {
    fn exec(&self, command: &str, deadline: Deadline) -> HostResult<Pipe> {
        let (pipe, label) = self.start(command, deadline)?;
        if label.is_empty() {
            return Ok(pipe);
        }
        let label = quote(&String::from_utf8_lossy(&label));
        let detail = format!(
            "{} writes {label} before each line; this works only with an installed rdmactl",
            self.program
        );
        Err(HostFailure::new(Reason::NoAgent, detail).fix(format!(
            "install rdmactl on {}, or turn off the labels of {}",
            self.host, self.program
        )))
    }

    fn set_deadline(&self, deadline: Option<Deadline>) {
        self.children.set_deadline(deadline);
    }

    fn is_cancelled(&self) -> bool {
        self.children.is_cancelled()
    }

    fn service(&self) -> &'static str {
        "the launcher"
    }

    fn host(&self) -> &str {
        &self.host
    }

    /// The arguments of the template are left out, because they may be secrets.
    fn manual_command(&self, purpose: &str, command: &str) -> String {
        let (host, program) = (&self.host, &self.program);
        let command = shlex::try_quote(command).unwrap_or_default();
        format!(
            "{purpose}, with the ARGUMENTS of --launcher for {host}: echo {command} | {program} ARGUMENTS"
        )
    }

    fn installed_agent(
        &self,
        privilege: Privilege,
        deadline: Deadline,
    ) -> HostResult<(Pipe, Nonce)> {
        let nonce = fresh_nonce()?;
        let command = remote_command::installed_agent_in_lines(nonce, privilege);
        let (pipe, _) = self.start(&command, deadline)?;
        Ok((line_mux::single_stream(pipe, nonce)?, nonce))
    }

    fn uploaded_agent(
        &self,
        uploaded: &Uploaded,
        privilege: Privilege,
        deadline: Deadline,
    ) -> HostResult<Pipe> {
        let command = remote_command::uploaded_agent_in_lines(uploaded, privilege);
        let (pipe, _) = self.start(&command, deadline)?;
        line_mux::single_stream(pipe, uploaded.nonce)
    }
}
