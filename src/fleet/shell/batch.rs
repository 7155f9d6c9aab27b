//! Formats requests to the shell of a host, and parses the replies to answers. `shell` uses this
//! module; `remote_command::shell_reader` is the script that replies.
//!
//! `grep` prints the path before each line, and `ls` prints the path before each list. No content
//! of a file can therefore imitate the structure of a reply. `grep` adds a line break to a file
//! without a final line break.

use std::collections::{BTreeSet, HashMap};

use crate::fleet::quote::{last_line, quote};
use crate::source::{Answer, Question, ReadError, without_secrets};
use crate::sys::Errno;

/// Maximum number of paths in one request, so that the arguments of `grep` stay near 50 kB.
const MAX_PATHS: usize = 500;

/// Kind of the questions that a shell can answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QuestionKind {
    File,
    Dir,
    Link,
    Access,
}

/// Questions of one kind, which the shell answers in one reply.
pub(super) struct Batch<'questions> {
    kind: QuestionKind,
    paths: Vec<&'questions str>,
}

impl QuestionKind {
    /// Returns the kind and the path of a question; `None` if a shell cannot answer it.
    pub(super) fn of(question: &Question) -> Option<(Self, &str)> {
        match question {
            Question::File(path) => Some((Self::File, path)),
            Question::Dir(path) => Some((Self::Dir, path)),
            Question::Link(path) => Some((Self::Link, path)),
            Question::Access(path) => Some((Self::Access, path)),
            _ => None,
        }
    }

    fn question(self, path: &str) -> Question {
        match self {
            Self::File => Question::File(path.to_owned()),
            Self::Dir => Question::Dir(path.to_owned()),
            Self::Link => Question::Link(path.to_owned()),
            Self::Access => Question::Access(path.to_owned()),
        }
    }

    /// Returns the letter of the request.
    fn letter(self) -> &'static str {
        match self {
            Self::File => "F",
            Self::Dir => "D",
            Self::Link => "L",
            Self::Access => "A",
        }
    }

    /// Returns the program that reads the paths on the host.
    fn program(self) -> &'static str {
        match self {
            Self::File => "grep",
            Self::Dir | Self::Link => "ls",
            Self::Access => "sh",
        }
    }
}

/// Groups the questions that a shell can answer. Leaves out all other questions.
pub(super) fn batches(questions: &BTreeSet<Question>) -> Vec<Batch<'_>> {
    let mut all: Vec<Batch<'_>> = Vec::new();
    for (kind, path) in questions.iter().filter_map(QuestionKind::of) {
        // The set is sorted by kind.
        match all.last_mut().filter(|last| last.kind == kind && last.paths.len() < MAX_PATHS) {
            Some(batch) => batch.paths.push(path),
            None => all.push(Batch { kind, paths: vec![path] }),
        }
    }
    all
}

/// True if a request can hold the path: an absolute path that is one line.
fn is_sendable(path: &str) -> bool {
    path.starts_with('/') && !path.contains(['\n', '\0'])
}

impl Batch<'_> {
    /// Returns the request: a line for each path, then the letter of the kind.
    pub(super) fn text(&self) -> String {
        let sent = self.paths.iter().filter(|path| is_sendable(path));
        let lines: String = sent.flat_map(|path| ["p", path, "\n"]).collect();
        lines + self.kind.letter()
    }

    /// Returns the answer to each question. `separator` is the line of the reply between the
    /// contents and the exit status, which the errors follow.
    pub(super) fn answers(&self, reply: &[u8], separator: &str) -> Vec<(Question, Answer)> {
        let at = reply.windows(separator.len()).position(|part| part == separator.as_bytes());
        let (read, rest) = reply.split_at(at.unwrap_or(reply.len()));
        let rest = String::from_utf8_lossy(rest.get(separator.len()..).unwrap_or_default());
        let (status, errors) = rest.split_once('\n').unwrap_or_default();
        let crash = self.crash(status, errors);
        let mut failed = self.errors(errors);
        let mut found = match self.kind {
            QuestionKind::File => self.contents(read),
            QuestionKind::Dir => self.lists(read),
            QuestionKind::Link => self.targets(read),
            QuestionKind::Access => self.openable(read),
        };
        let answer = |path: &&str| {
            let answer = match (found.remove(*path), failed.remove(*path), &crash) {
                _ if !is_sendable(path) => Err(ReadError::Errno(Errno::INVALID)),
                (_, Some(error), _) => Err(error),
                // A program that was killed may have written a part of a file.
                (_, None, Some(crash)) => Err(ReadError::Process(crash.clone())),
                (Some(bytes), None, None) if self.kind == QuestionKind::File => {
                    Ok(without_secrets(path, bytes))
                }
                (Some(bytes), None, None) => Ok(bytes),
                (None, None, None) => match self.kind {
                    // `grep` prints no line for an empty file.
                    QuestionKind::File => Ok(Vec::new()),
                    QuestionKind::Dir => Err(ReadError::Errno(Errno::NOT_A_DIRECTORY)),
                    QuestionKind::Link | QuestionKind::Access => {
                        Err(ReadError::Errno(Errno::INVALID))
                    }
                },
            };
            (self.kind.question(path), answer)
        };
        self.paths.iter().map(answer).collect()
    }

    /// Returns the failure of the whole request: the program is missing, was killed, or reports
    /// an error without a path, such as `grep: memory exhausted`. `grep` and `ls` exit with 2 at
    /// most, also if they cannot read a path.
    fn crash(&self, status: &str, errors: &str) -> Option<String> {
        let code = status.parse::<u8>();
        // `grep: warning: GREP_OPTIONS is deprecated` is no error.
        let is_harmless =
            |line: &str| line.is_empty() || line.contains('/') || line.contains(": warning: ");
        let has_run = match code {
            Ok(0) => true,
            Ok(1..=2) => errors.lines().all(is_harmless),
            _ => false,
        };
        if has_run {
            return None;
        }
        let program = self.kind.program();
        let status = code.map_or_else(|_| quote(status), |code| code.to_string());
        let output = last_line(errors.as_bytes());
        Some(format!("{program} failed on the host: exit status {status}{output}"))
    }

    /// Parses the output of `grep`: lines of the form `/path:content`.
    fn contents(&self, text: &[u8]) -> HashMap<&str, Vec<u8>> {
        let known: HashMap<&[u8], &str> =
            self.paths.iter().map(|path| (path.as_bytes(), *path)).collect();
        let longest = self.paths.iter().map(|path| path.len()).max().unwrap_or(0);
        let mut found: HashMap<&str, Vec<u8>> = HashMap::new();
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            // A path may contain colons, for example a PCI address. The first colon that follows
            // a requested path is the end of the path.
            let start = line.iter().take(longest + 1).enumerate();
            let mut ends = start.filter(|(_, byte)| **byte == b':').map(|(at, _)| at);
            let path = ends.find_map(|at| Some((*known.get(&line[..at])?, at)));
            if let Some((path, at)) = path {
                found.entry(path).or_default().extend(&line[at + 1..]);
            }
        }
        found
    }

    /// Parses the output of `ls`: for each directory `/path:`, the names, and an empty line.
    fn lists(&self, text: &[u8]) -> HashMap<&str, Vec<u8>> {
        let text = String::from_utf8_lossy(text);
        let known: HashMap<&str, &str> = self.paths.iter().map(|path| (*path, *path)).collect();
        let mut found: HashMap<&str, Vec<u8>> = HashMap::new();
        let mut directory = None;
        for line in text.lines() {
            // A name has no slash, so this line is a path.
            if line.starts_with('/') {
                directory = line.strip_suffix(':').and_then(|path| known.get(path)).copied();
                if let Some(path) = directory {
                    found.entry(path).or_default();
                }
            } else if let Some(names) = directory.and_then(|path| found.get_mut(path))
                && !line.is_empty()
            {
                names.extend(line.as_bytes());
                names.push(b'\n');
            }
        }
        found
    }

    /// Parses lines of `ls -l`: `lrwxrwxrwx 1 root root 0 Nov 21 10:00 /path -> target`.
    fn targets(&self, text: &[u8]) -> HashMap<&str, Vec<u8>> {
        let text = String::from_utf8_lossy(text);
        let known: HashMap<&str, &str> = self.paths.iter().map(|path| (*path, *path)).collect();
        let target = |line: &str| {
            let (path, target) = line[line.find(" /")? + 1..].split_once(" -> ")?;
            Some((*known.get(path)?, target.as_bytes().to_vec()))
        };
        text.lines().filter_map(target).collect()
    }

    /// Parses the paths of the device files that the shell may open, one per line.
    fn openable(&self, text: &[u8]) -> HashMap<&str, Vec<u8>> {
        let text = String::from_utf8_lossy(text);
        let known: HashMap<&str, &str> = self.paths.iter().map(|path| (*path, *path)).collect();
        text.lines().filter_map(|line| Some((*known.get(line)?, Vec::new()))).collect()
    }

    /// Parses the messages of `grep`, `ls` and the script: `grep: /path: Permission denied`, `ls:
    /// cannot access '/path': No such file or directory`, `sh: /path: not a regular file`.
    fn errors(&self, text: &str) -> HashMap<&str, ReadError> {
        let known: HashMap<&str, &str> = self.paths.iter().map(|path| (*path, *path)).collect();
        let error = |line: &str| {
            let (before, message) = line.rsplit_once(": ")?;
            let path = before[before.find('/')?..].trim_end_matches('\'');
            Some((*known.get(path)?, read_error(message)))
        };
        text.lines().filter_map(error).collect()
    }
}

/// Converts a message of the C library (`C` locale) or of the script to an error.
fn read_error(message: &str) -> ReadError {
    match Errno::from_text(message) {
        Some(Errno::IS_A_DIRECTORY) => ReadError::NotAFile,
        Some(errno) => ReadError::Errno(errno),
        None if message == "not a regular file" => ReadError::NotAFile,
        None => ReadError::Process(quote(message)),
    }
}

/// Parses seconds such as `123.45` and returns nanoseconds.
pub(super) fn nanoseconds(text: &str) -> Option<u64> {
    let (seconds, decimals) = text.trim().split_once('.').unwrap_or((text.trim(), "0"));
    let fraction_ns: u64 = format!("{decimals:0<9}").get(..9)?.parse().ok()?;
    seconds.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(fraction_ns)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ERRORS: &str = "RDMACTL/errors c0ffee\n";

    fn ask(questions: &[Question], said: &[u8]) -> Vec<Answer> {
        let questions: BTreeSet<Question> = questions.iter().cloned().collect();
        let all = batches(&questions);
        assert_eq!(all.len(), 1);
        all[0].answers(said, ERRORS).into_iter().map(|(_, answer)| answer).collect()
    }

    #[test]
    fn no_content_of_a_file_changes_the_answer_for_another_file() {
        let file = |path: &str| Question::File(path.into());
        let pci = "/sys/devices/pci0000:00/0000:00:03.0/vendor";
        let questions = [file("/a"), file("/a:b"), file("/empty"), file("/no"), file(pci)];
        let said = format!(
            "noise\n/a:x\n/a:RDMACTL/end c0ffee 1.0\n/a:/a:b:c\n/a:b:two\n{pci}:0x15b3\n{ERRORS}\
             2\ngrep: /no: Permission denied\n"
        );
        let text = |text: &str| Ok(text.as_bytes().to_vec());
        assert_eq!(
            ask(&questions, said.as_bytes()),
            [
                // `/a:b` continues `/a` after a colon: `/a`, the shorter path, gets the lines.
                text("x\nRDMACTL/end c0ffee 1.0\n/a:b:c\nb:two\n"),
                text(""),
                text(""),
                Err(ReadError::Errno(Errno::ACCESS)),
                text("0x15b3\n"),
            ]
        );
    }

    /// A parser that compared the text before each colon with the paths would take hours.
    #[test]
    fn a_line_of_colons_takes_linear_time() {
        let said = format!("/a:x\n{}\n{ERRORS}0\n", ":".repeat(8 << 20));
        let answers = ask(&[Question::File("/a".into())], said.as_bytes());
        assert_eq!(answers, [Ok(b"x\n".to_vec())]);
    }

    #[test]
    fn directories_and_links_are_parsed() {
        let dir = |path: &str| Question::Dir(path.into());
        let said = format!(
            "/etc/hostname\n\n/sys:\nclass\n\n/sys/class/net:\neth0\nlo\n\n/sys/empty:\n{ERRORS}\
             2\nls: cannot access '/none': No such file or directory\n"
        );
        assert_eq!(
            ask(
                &[dir("/etc/hostname"), dir("/none"), dir("/sys/class/net"), dir("/sys/empty")],
                said.as_bytes()
            ),
            [
                Err(ReadError::Errno(Errno::NOT_A_DIRECTORY)),
                Err(ReadError::Errno(Errno::NO_ENTRY)),
                Ok(b"eth0\nlo\n".to_vec()),
                Ok(Vec::new()),
            ]
        );
        let link = |path: &str| Question::Link(path.into());
        let said = format!(
            "-rw-r--r-- 1 root root 3 Nov 21 04:49 /file\n\
             lrwxrwxrwx 1 nobody root 0 Nov 21 22:13 /link -> ../a -> b\n{ERRORS}0\n"
        );
        assert_eq!(
            ask(&[link("/file"), link("/link")], said.as_bytes()),
            [Err(ReadError::Errno(Errno::INVALID)), Ok(b"../a -> b".to_vec())]
        );
    }

    #[test]
    fn device_files_that_cannot_be_opened_have_an_error() {
        let access = |path: &str| Question::Access(path.into());
        let said = format!(
            "noise\n/dev/a\n{ERRORS}0\nsh: /dev/b: Permission denied\nsh: /dev/c: No such file or directory\n"
        );
        assert_eq!(
            ask(&["/dev/a", "/dev/b", "/dev/c", "/dev/d"].map(access), said.as_bytes()),
            [
                Ok(Vec::new()),
                Err(ReadError::Errno(Errno::ACCESS)),
                Err(ReadError::Errno(Errno::NO_ENTRY)),
                // A path without a line from the shell is an invalid question.
                Err(ReadError::Errno(Errno::INVALID)),
            ]
        );
    }

    #[test]
    fn a_path_of_two_lines_is_not_sent() {
        let kinds: [fn(String) -> Question; 4] =
            [Question::File, Question::Dir, Question::Link, Question::Access];
        for (kind, letter) in kinds.into_iter().zip(["F", "D", "L", "A"]) {
            let questions = [kind("/a\nF\np/b".into()), kind("relative".into())];
            assert_eq!(batches(&questions.clone().into())[0].text(), letter);
            let said = format!("relative:x\n{ERRORS}1\n");
            let invalid = || Err(ReadError::Errno(Errno::INVALID));
            assert_eq!(ask(&questions, said.as_bytes()), [invalid(), invalid()]);
        }
    }

    #[test]
    fn a_program_that_is_missing_or_was_killed_reads_no_path() {
        let file = |path: &str| Question::File(path.into());
        let dir = |path: &str| Question::Dir(path.into());
        let questions = ["/a", "/b", "/no"].map(file);
        let reads = |rest: &str| {
            let said = format!("/a:part\n{ERRORS}{rest}grep: /no: Permission denied\n");
            ask(&questions, said.as_bytes())
        };
        let denied = || Err(ReadError::Errno(Errno::ACCESS));
        for status in ["0", "1", "2"] {
            let complete = [Ok(b"part\n".to_vec()), Ok(Vec::new()), denied()];
            assert_eq!(reads(&format!("{status}\n")), complete);
        }
        for status in ["3", "126", "127", "137", "", "x"] {
            let answers = reads(&format!("{status}\n/bin/sh: 1: grep: not found\n"));
            let failed = |answer: &Answer| matches!(answer, Err(ReadError::Process(_)));
            assert!(answers[..2].iter().all(failed), "{status}: {answers:?}");
            assert_eq!(answers[2], denied(), "{status}");
        }
        for program in ["grep", "ls"] {
            let question = |path| if program == "grep" { file(path) } else { dir(path) };
            let expected = format!(
                "{program} failed on the host: exit status 2; last output: \"{program}: memory \
                 exhausted\""
            );
            let said = format!("/a:part\n{ERRORS}2\n\n{program}: memory exhausted\n");
            let failed = || Err(ReadError::Process(expected.clone()));
            assert_eq!(
                ask(&[question("/a"), question("/b")], said.as_bytes()),
                [failed(), failed()]
            );
        }
        let warning = "2\ngrep: warning: GREP_OPTIONS is deprecated\n";
        assert_eq!(reads(warning), [Ok(b"part\n".to_vec()), Ok(Vec::new()), denied()]);
        let missing = format!("{ERRORS}127\n/bin/sh: 1: ls: not found\n");
        for kind in [Question::Dir, Question::Link] {
            let expected = "ls failed on the host: exit status 127; last output: \
                            \"/bin/sh: 1: ls: not found\"";
            assert_eq!(
                ask(&[kind("/a".into())], missing.as_bytes()),
                [Err(ReadError::Process(expected.into()))]
            );
        }
        // A reply without a status is incomplete.
        assert!(ask(&[file("/a")], b"/a:x\n")[0].is_err());
    }

    #[test]
    fn time_has_hundredths() {
        assert_eq!(nanoseconds("62606.44\n"), Some(62_606_440_000_000));
        assert_eq!(nanoseconds("7"), Some(7_000_000_000));
        assert_eq!((nanoseconds("1.x"), nanoseconds("-1"), nanoseconds("")), (None, None, None));
    }

    proptest! {
        #[test]
        fn any_reply_gives_one_answer_per_question(said in proptest::collection::vec(any::<u8>(), 0..300), lines in "[/a: \n>-]{0,80}") {
            for text in [said, lines.into_bytes()] {
                for question in [Question::File("/a".into()), Question::Dir("/a".into()), Question::Link("/a".into()), Question::Access("/a".into())] {
                    prop_assert_eq!(ask(&[question], &text).len(), 1);
                }
                let _ = nanoseconds(&String::from_utf8_lossy(&text));
            }
        }
    }
}
