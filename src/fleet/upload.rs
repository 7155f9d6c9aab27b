//! Upload of the operator's own binary to a host for one run. `AgentStarter` uses it.
//!
//! The host creates a private directory, checks the size and the SHA-256 of the file, and runs
//! the file once. After a failure, the host removes the file and the directory. The host skips a
//! directory that another user can write to, that allows no execution, or that has no room.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use sha2::{Digest as _, Sha256};

use super::quote::last_line;
use super::remote_command::{self, ANSWER_LIMIT, PLACES, TEST_SHELL, UP, Uploaded, answer, in_sh};
use super::time_limit::REMOVE;
use super::{Access, CleanupFailure, HostResult, Nonce, Output};
use crate::clock::Deadline;
use crate::model::{HostFailure, Reason};
use crate::wire::UPLOAD_PREFIX;

/// Limit of the size of a program, in bytes, which protects the memory from a wrong path.
const MAX_SIZE: u64 = 256 << 20;

/// Program to upload, read once for all hosts.
#[derive(Clone, PartialEq, Eq)]
pub struct Program {
    bytes: Vec<u8>,
    sha256: String,
}

impl Program {
    /// Reads this program.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn own() -> io::Result<Self> {
        Self::read(Path::new("/proc/self/exe"))
    }

    /// Reads a program file of this machine.
    ///
    /// # Errors
    /// The file cannot be read, is empty, or is larger than 256 MiB.
    pub fn read(path: &Path) -> io::Result<Self> {
        let mut bytes = Vec::new();
        File::open(path)?.take(MAX_SIZE + 1).read_to_end(&mut bytes)?;
        if bytes.is_empty() || bytes.len() as u64 > MAX_SIZE {
            let why = "the file is empty or larger than 256 MiB";
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        let sha256 = format!("{:x}", Sha256::digest(&bytes));
        Ok(Self { bytes, sha256 })
    }

    /// Returns the number of bytes to send to each host.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the command that reads the program from stdin and prints the result in one line.
    pub fn command(&self, nonce: Nonce) -> String {
        in_sh(&script(nonce, self.bytes.len(), &self.sha256))
    }

    /// Uploads the program to a host, into a directory named after the nonce.
    ///
    /// # Errors
    /// No directory is usable, the program did not arrive completely, or it does not run.
    pub fn upload(
        &self,
        access: &dyn Access,
        nonce: Nonce,
        deadline: Deadline,
    ) -> HostResult<Uploaded> {
        let pipe = access.exec(&self.command(nonce), deadline)?;
        let output = pipe.exchange(&self.bytes, ANSWER_LIMIT, deadline);
        let uploaded = output.and_then(|output| Uploaded::of(&output, nonce));
        uploaded.map_err(|failure| match failure.reason {
            // The script reported the failure, and has removed the file and the directory.
            Reason::NoAgent => failure,
            _ => match access.run(&remote_command::remove_uploaded(nonce), Deadline::after(REMOVE))
            {
                Ok(exit) if exit.is_success() => failure,
                _ => CleanupFailure::part_of_upload(access, nonce).add_to(failure),
            },
        })
    }
}

impl std::fmt::Debug for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Program({} bytes, SHA-256 {})", self.bytes.len(), self.sha256)
    }
}

impl Uploaded {
    /// Parses the output of the upload command.
    ///
    /// # Errors
    /// No directory is usable, the program did not arrive or does not run, or no result came.
    pub fn of(output: &Output, nonce: Nonce) -> HostResult<Self> {
        let answer = UploadReply::find(output, nonce)?;
        match answer.word {
            "ok" | "unchecked" if answer.number < PLACES.len() => Ok(Self {
                nonce,
                place: answer.number,
                is_hash_unchecked: answer.word == "unchecked",
            }),
            "place" => Err(no_place(answer.rest)),
            word => Err(refusal(word, answer.number, output)),
        }
    }

    /// Removes the uploaded program, unless it ran and removed itself.
    ///
    /// # Errors
    /// The program is still on the host.
    pub fn remove(&self, access: &dyn Access, deadline: Deadline) -> Result<(), CleanupFailure> {
        match access.run(&remote_command::remove_uploaded(self.nonce), deadline) {
            Ok(exit) if exit.is_success() => Ok(()),
            _ => Err(CleanupFailure::upload(access, &self.directory())),
        }
    }
}

/// Returns the script for the host: one line, because csh allows no newline in quotes.
///
/// `take` tries one directory. If it refuses the directory, `w` has a letter of [`REFUSED`]. A
/// directory is usable if the login user or root owns it and no other user can write to it. A
/// sticky directory may be writable by all. The new directory must belong to the login user with
/// mode 0700, because a login through `su` may use the directory of another user.
///
/// An empty executable file detects a noexec mount. The kernel reports an unknown format, and
/// `sh` then runs the file as an empty script. On a noexec mount, `sh` returns 126.
///
/// A file of zeros of the full size detects a full file system before the program is read from
/// stdin, because stdin cannot be read twice. The script uses `true` instead of `:`, because a
/// shell exits if a redirection of `:` fails.
fn script(nonce: Nonce, size: usize, sha256: &str) -> String {
    let places = PLACES.map(|place| format!("\"{place}\"")).join(" ");
    let blocks = size.div_ceil(BLOCK);
    format!(
        "umask 077; trap : PIPE; say() {{ echo {UP} {nonce} $1 $2; }}; \
         bad() {{ rm -f \"$f\"; rmdir \"$d\"; say $1 $2; exit 1; }}; \
         mode() {{ m=$(ls -ldn \"$1\" 2>/dev/null); set -- $m; m=$1; o=$3; }}; \
         take() {{ d=; w=u; [ -n \"$1\" ] || return 1; w=m; [ -d \"$1\" ] || return 1; \
         w=w; [ -w \"$1\" ] || return 1; \
         w=o; mode \"$1/.\"; [ -O \"$1/.\" ] || [ x$o = x0 ] || return 1; \
         case \"$m\" in d????????[tT]*) ;; d????w*|d???????w*) return 1 ;; esac; \
         w=d; mkdir -m 700 \"$1/{UPLOAD_PREFIX}{nonce}\" 2>/dev/null || return 1; \
         d=\"$1/{UPLOAD_PREFIX}{nonce}\"; f=\"$d/rdmactl\"; \
         w=o; mode \"$d\"; [ -O \"$d\" ] || return 1; \
         case \"$m\" in drwx--[-S]---*) ;; *) return 1 ;; esac; \
         w=f; true 2>/dev/null >\"$f\" || return 1; \
         w=x; chmod 500 \"$f\" && \"$f\" 2>/dev/null && chmod 600 \"$f\" || return 1; \
         w=f; dd if=/dev/zero of=\"$f\" bs={BLOCK} count={blocks} 2>/dev/null; \
         case $? in 0|127) ;; *) return 1 ;; esac; }}; i=-1; r=; \
         for b in {places}; do i=$((i+1)); take \"$b\" && break; r=$r$w; \
         [ -n \"$d\" ] && {{ rm -f \"$f\"; rmdir \"$d\"; d=; }}; done; \
         [ -n \"$d\" ] || {{ say place $r; exit 1; }}; \
         cat >\"$f\" || {{ s=$?; [ $s -gt 128 ] && bad run $s; bad write $i; }}; \
         n=$(wc -c <\"$f\"); [ \"$n\" -eq {size} ] || bad size $n; \
         h=$(sha256sum <\"$f\" 2>/dev/null || busybox sha256sum <\"$f\" 2>/dev/null); w=ok; \
         case \"$h\" in {sha256}*) ;; \"\") w=unchecked ;; *) bad hash $i ;; esac; \
         chmod 500 \"$f\" || bad write $i; \"$f\" --version >/dev/null || bad run $?; \
         say $w $i || {{ rm -f \"$f\"; rmdir \"$d\"; }}"
    )
}

/// Block size of the test of free space, in bytes.
const BLOCK: usize = 64 << 10;

/// Reasons why a host skipped a directory: letter in the script, and words for the message.
const REFUSED: [(char, &str); 7] = [
    ('u', "is not set"),
    ('m', "does not exist"),
    ('w', "is not writable"),
    ('o', "can be changed by another user"),
    ('d', "takes no new directory"),
    (NOEXEC, "allows no execution (noexec)"),
    (FULL, "is full"),
];
const NOEXEC: char = 'x';
const FULL: char = 'f';

/// Returns the failure of a host that refused all [`PLACES`] for the reasons in `letters`.
fn no_place(letters: &str) -> HostFailure {
    let each = PLACES.iter().zip(letters.chars()).map(|(place, letter)| {
        let why = REFUSED.iter().find(|refused| refused.0 == letter);
        format!("{place} {}", why.map_or("failed", |why| why.1))
    });
    let each: Vec<String> = each.collect();
    let detail = format!("no directory on the host takes the program: {}", each.join("; "));
    let first = |letter: char| {
        let mut both = PLACES.iter().zip(letters.chars());
        both.find(|(_, said)| *said == letter).map(|(place, _)| *place)
    };
    let fix = match (first(FULL), first(NOEXEC)) {
        (Some(place), _) => format!("on the host, free space: df -h {place}"),
        (_, Some(place)) => format!(
            "install rdmactl on the host, or mount one of these directories without noexec; \
             list the mounts: findmnt -o TARGET,OPTIONS -T {place}"
        ),
        _ => "install rdmactl on the host, or give the login a home directory of its own: \
              ls -ld $HOME /tmp"
            .to_owned(),
    };
    HostFailure::new(Reason::NoAgent, detail).fix(fix)
}

struct UploadReply<'a> {
    word: &'a str,
    /// Rest of the line, also parsed as `number`.
    rest: &'a str,
    number: usize,
}

impl<'a> UploadReply<'a> {
    fn find(output: &'a Output, nonce: Nonce) -> HostResult<Self> {
        let found = answer(&output.stdout, UP, nonce).and_then(|rest| {
            let (word, rest) = rest.split_once(' ')?;
            let rest = rest.trim();
            let number = if word == "place" { 0 } else { rest.parse().ok()? };
            Some(Self { word, rest, number })
        });
        found.ok_or_else(|| {
            let (exit, said) = (&output.exit, last_line(&output.stderr));
            let detail = format!("the upload ended without a result; {exit}{said}");
            if exit.is_signal() {
                return HostFailure::new(Reason::Killed, detail).fix(FIND_KILLER);
            }
            HostFailure::new(Reason::Garbage, detail).fix(TEST_SHELL)
        })
    }
}

const FIND_KILLER: &str = "on the host, find what killed the upload: dmesg | grep -iE 'oom|killed'";

fn refusal(word: &str, number: usize, output: &Output) -> HostFailure {
    let said = last_line(&output.stderr);
    let failure = |detail: String| HostFailure::new(Reason::NoAgent, detail);
    match word {
        "write" => {
            let place = PLACES.get(number).copied().unwrap_or("its directory");
            failure(format!("the program cannot be written to {place}{said}"))
                .fix(format!("on the host, free space: df -h {place}"))
        }
        "size" => failure(format!("only {number} bytes of the program arrived{said}")).fix(
            "on the host, check the free space, and that no login file reads standard input: df -h",
        ),
        "hash" => failure("upload checksum mismatch (SHA-256)".to_owned())
            .fix("retry; if the upload fails again, install rdmactl on the host"),
        "run" if number > 128 => {
            let detail = format!("the upload was killed: exit status {number}{said}");
            HostFailure::new(Reason::Killed, detail).fix(FIND_KILLER)
        }
        "run" => failure(format!("the uploaded program does not run: exit status {number}{said}"))
            .fix("use the release binary, which needs no library of the host but libc"),
        _ => failure(format!("the upload failed{said}")),
    }
}
