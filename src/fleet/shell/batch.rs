//! Requests to the shell, and the output of `grep` and `ls` as answers.
//!
//! `grep` prints the path before each line, and `ls` before each list, so that no content can
//! imitate the structure of a reply. A file without a final line break gets one. `shell` uses
//! this module.

use std::collections::{BTreeSet, HashMap};

use crate::source::{Answer, Question, ReadError, without_secrets};
use crate::sys::Errno;

/// Limit of the paths in one request. The arguments then have about 50 kB.
const MAX: usize = 500;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Dir,
    Link,
    Access,
}

pub(super) struct Batch<'questions> {
    kind: Kind,
    paths: Vec<&'questions str>,
}

impl Kind {
    /// Returns the kind and the path of a question. `None` if it needs code on the host.
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

    fn word(self) -> &'static str {
        match self {
            Self::File => "F",
            Self::Dir => "D",
            Self::Link => "L",
            Self::Access => "A",
        }
    }
}

pub(super) fn batches(questions: &BTreeSet<Question>) -> Vec<Batch<'_>> {
    let mut all: Vec<Batch<'_>> = Vec::new();
    for (kind, path) in questions.iter().filter_map(Kind::of) {
        // The set is sorted by kind.
        match all.last_mut().filter(|last| last.kind == kind && last.paths.len() < MAX) {
            Some(batch) => batch.paths.push(path),
            None => all.push(Batch { kind, paths: vec![path] }),
        }
    }
    all
}

fn is_line(path: &str) -> bool {
    path.starts_with('/') && !path.contains(['\n', '\0'])
}

impl Batch<'_> {
    pub(super) fn text(&self) -> String {
        let lines = self.paths.iter().filter(|path| is_line(path));
        let text: String = lines.flat_map(|path| ["p", path, "\n"]).collect();
        text + self.kind.word()
    }

    /// Returns an answer to each question. `separator` is between the contents and the errors.
    pub(super) fn answers(&self, text: &[u8], separator: &str) -> Vec<(Question, Answer)> {
        let at = text.windows(separator.len()).position(|part| part == separator.as_bytes());
        let (read, errors) = text.split_at(at.unwrap_or(text.len()));
        let errors = String::from_utf8_lossy(errors.get(separator.len()..).unwrap_or_default());
        let mut failed = self.errors(&errors);
        let mut found = match self.kind {
            Kind::File => self.contents(read),
            Kind::Dir => self.lists(read),
            Kind::Link => self.targets(read),
            Kind::Access => self.openable(read),
        };
        let answer = |path: &&str| {
            let answer = match (found.remove(*path), failed.remove(*path)) {
                (_, Some(error)) => Err(error),
                (Some(bytes), None) if self.kind == Kind::File => Ok(without_secrets(path, bytes)),
                (Some(bytes), None) => Ok(bytes),
                // `grep` prints no line for an empty file.
                (None, None) if self.kind == Kind::File => Ok(Vec::new()),
                (None, None) if self.kind == Kind::Dir => {
                    Err(ReadError::Errno(Errno::NOT_A_DIRECTORY))
                }
                (None, None) => Err(ReadError::Errno(Errno::INVALID)),
            };
            (self.kind.question(path), answer)
        };
        self.paths.iter().map(answer).collect()
    }

    /// Parses `/path:content`.
    fn contents(&self, text: &[u8]) -> HashMap<&str, Vec<u8>> {
        let known: HashMap<&[u8], &str> =
            self.paths.iter().map(|path| (path.as_bytes(), *path)).collect();
        let mut found: HashMap<&str, Vec<u8>> = HashMap::new();
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            // A path may contain colons, as a PCI address does. The requested paths decide.
            let mut ends =
                line.iter().enumerate().filter(|(_, byte)| **byte == b':').map(|(at, _)| at);
            let path = ends.find_map(|at| Some((*known.get(&line[..at])?, at)));
            if let Some((path, at)) = path {
                found.entry(path).or_default().extend(&line[at + 1..]);
            }
        }
        found
    }

    /// Parses `/path:`, names, an empty line.
    fn lists(&self, text: &[u8]) -> HashMap<&str, Vec<u8>> {
        let text = String::from_utf8_lossy(text);
        let known: HashMap<&str, &str> = self.paths.iter().map(|path| (*path, *path)).collect();
        let mut found: HashMap<&str, Vec<u8>> = HashMap::new();
        let mut of = None;
        for line in text.lines() {
            // A name has no slash.
            if line.starts_with('/') {
                of = line.strip_suffix(':').and_then(|path| known.get(path)).copied();
                of.map(|path| found.entry(path).or_default());
            } else if let Some(names) = of.and_then(|path| found.get_mut(path))
                && !line.is_empty()
            {
                names.extend(line.as_bytes());
                names.push(b'\n');
            }
        }
        found
    }

    /// Parses `lrwxrwxrwx 1 root root 0 Nov 21 10:00 /path -> target`.
    fn targets(&self, text: &[u8]) -> HashMap<&str, Vec<u8>> {
        let text = String::from_utf8_lossy(text);
        let known: HashMap<&str, &str> = self.paths.iter().map(|path| (*path, *path)).collect();
        let target = |line: &str| {
            let (path, target) = line[line.find(" /")? + 1..].split_once(" -> ")?;
            Some((*known.get(path)?, target.as_bytes().to_vec()))
        };
        text.lines().filter_map(target).collect()
    }

    /// Parses `/path` of each device file that can be opened.
    fn openable(&self, text: &[u8]) -> HashMap<&str, Vec<u8>> {
        let text = String::from_utf8_lossy(text);
        let known: HashMap<&str, &str> = self.paths.iter().map(|path| (*path, *path)).collect();
        text.lines().filter_map(|line| Some((*known.get(line)?, Vec::new()))).collect()
    }

    /// Parses `grep: /path: Permission denied`, `ls: cannot access '/path': No such file or
    /// directory`, and `sh: /path: not a regular file` of the shell itself.
    fn errors(&self, text: &str) -> HashMap<&str, ReadError> {
        let known: HashMap<&str, &str> = self.paths.iter().map(|path| (*path, *path)).collect();
        let error = |line: &str| {
            let (before, words) = line.rsplit_once(": ")?;
            let path = before[before.find('/')?..].trim_end_matches('\'');
            Some((*known.get(path)?, read_error(words)))
        };
        text.lines().filter_map(error).collect()
    }
}

/// Converts a message of the C library, in the `C` locale, to an error.
fn read_error(words: &str) -> ReadError {
    match Errno::from_text(words) {
        Some(Errno::IS_A_DIRECTORY) => ReadError::NotAFile,
        Some(errno) => ReadError::Errno(errno),
        None if words == "not a regular file" => ReadError::NotAFile,
        None => ReadError::Process(words.to_owned()),
    }
}

/// Parses seconds such as `123.45` and returns nanoseconds.
pub(super) fn nanoseconds(text: &str) -> Option<u64> {
    let (seconds, hundredths) = text.trim().split_once('.').unwrap_or((text.trim(), "0"));
    let fraction: u64 = format!("{hundredths:0<9}").get(..9)?.parse().ok()?;
    seconds.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(fraction)
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
    fn files_have_their_lines_whatever_stands_in_them() {
        let file = |path: &str| Question::File(path.into());
        let pci = "/sys/devices/pci0000:00/0000:00:03.0/vendor";
        let questions = [file("/a"), file("/a:b"), file("/empty"), file("/no"), file(pci)];
        let said = format!(
            "noise\n/a:x\n/a:RDMACTL/end c0ffee 1.0\n/a:/a:b:c\n/a:b:two\n{pci}:0x15b3\n{ERRORS}\
             grep: /no: Permission denied\n"
        );
        let text = |text: &str| Ok(text.as_bytes().to_vec());
        assert_eq!(
            ask(&questions, said.as_bytes()),
            [
                // If one path continues another one after a colon, the shorter path gets the line.
                text("x\nRDMACTL/end c0ffee 1.0\n/a:b:c\nb:two\n"),
                text(""),
                text(""),
                Err(ReadError::Errno(Errno::ACCESS)),
                text("0x15b3\n"),
            ]
        );
    }

    #[test]
    fn lists_links_and_what_is_none() {
        let dir = |path: &str| Question::Dir(path.into());
        let said = format!(
            "/etc/hostname\n\n/sys:\nclass\n\n/sys/class/net:\neth0\nlo\n\n/sys/empty:\n{ERRORS}\
             ls: cannot access '/none': No such file or directory\n"
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
             lrwxrwxrwx 1 nobody root 0 Nov 21 22:13 /link -> ../a -> b\n{ERRORS}"
        );
        assert_eq!(
            ask(&[link("/file"), link("/link")], said.as_bytes()),
            [Err(ReadError::Errno(Errno::INVALID)), Ok(b"../a -> b".to_vec())]
        );
    }

    #[test]
    fn a_device_file_may_be_opened_or_not() {
        let access = |path: &str| Question::Access(path.into());
        let said = format!(
            "noise\n/dev/a\n{ERRORS}sh: /dev/b: Permission denied\nsh: /dev/c: No such file or directory\n"
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
        let questions: BTreeSet<Question> =
            [Question::File("/a\nF\np/b".into()), Question::File("/c".into())].into();
        assert_eq!(batches(&questions)[0].text(), "p/c\nF");
    }

    #[test]
    fn time_has_hundredths() {
        assert_eq!(nanoseconds("62606.44\n"), Some(62_606_440_000_000));
        assert_eq!(nanoseconds("7"), Some(7_000_000_000));
        assert_eq!((nanoseconds("1.x"), nanoseconds("-1"), nanoseconds("")), (None, None, None));
    }

    proptest! {
        #[test]
        fn no_answer_can_crash_it(said in proptest::collection::vec(any::<u8>(), 0..300), lines in "[/a: \n>-]{0,80}") {
            for text in [said, lines.into_bytes()] {
                for question in [Question::File("/a".into()), Question::Dir("/a".into()), Question::Link("/a".into()), Question::Access("/a".into())] {
                    prop_assert_eq!(ask(&[question], &text).len(), 1);
                }
                let _ = nanoseconds(&String::from_utf8_lossy(&text));
            }
        }
    }
}
