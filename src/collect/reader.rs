//! Queries a source for text and separates the replies into values, absence and problems. The
//! modules of `collect` use it.

use crate::model::{Fix, KnownFix, Problem};
use crate::source::{Question, ReadError, Source};

/// Limit of names from one directory. A host has at most 4,094 VLANs and some thousand devices. A
/// hostile host may list millions of names, and every name would cost reads.
const MAX_NAMES: usize = 131_072;

/// Limit of a value's text in bytes; the longest known, `node_desc`, has 64.
const MAX_TEXT: usize = 256;
/// Limit of a link's target in bytes; links to devices below many bridges have some hundreds.
const MAX_LINK: usize = 4096;
/// Number of characters that a problem quotes from an unexpected text.
const QUOTE: usize = 40;

pub(super) struct Reader<'source> {
    source: &'source dyn Source,
    problems: Vec<Problem>,
}

impl<'source> Reader<'source> {
    pub(super) fn new(source: &'source dyn Source) -> Self {
        Self { source, problems: Vec::new() }
    }

    /// Returns the source, for data that is not the reply to one question.
    pub(super) fn source(&self) -> &'source dyn Source {
        self.source
    }

    pub(super) fn into_problems(self) -> Vec<Problem> {
        self.problems
    }

    /// Returns the number of problems. If it did not change during a read, the read had no
    /// problem.
    pub(super) fn problem_count(&self) -> usize {
        self.problems.len()
    }

    /// Returns the raw reply, for callers that handle some errors themselves.
    pub(super) fn ask(&self, question: &Question) -> Result<Vec<u8>, ReadError> {
        self.source.ask(question)
    }

    /// Returns the raw reply; `None` if the item does not exist or is unreadable.
    pub(super) fn answer(&mut self, key: &str, question: &Question) -> Option<Vec<u8>> {
        let answer = self.ask(question);
        self.present(key, &question.to_string(), answer)
    }

    /// Returns the time of the reply to a question that was just asked, by the machine's own
    /// clock.
    pub(super) fn answered_ns(&self, question: &Question) -> Option<u64> {
        self.source.answered_ns(question)
    }

    /// Returns a file's text without the white space around it; `None` if the file does not
    /// exist, is unreadable or is no text.
    pub(super) fn text(&mut self, key: &str, path: &str) -> Option<String> {
        let answer = self.ask(&Question::File(path.to_owned()));
        self.text_of(key, path, answer)
    }

    /// Converts a reply for [`Reader::text`].
    pub(super) fn text_of(
        &mut self,
        key: &str,
        path: &str,
        answer: Result<Vec<u8>, ReadError>,
    ) -> Option<String> {
        self.text_up_to(MAX_TEXT, key, path, answer)
    }

    /// Returns the text of a reply; `None`, with a problem, if it is longer than `max_bytes`.
    fn text_up_to(
        &mut self,
        max_bytes: usize,
        key: &str,
        path: &str,
        answer: Result<Vec<u8>, ReadError>,
    ) -> Option<String> {
        let bytes = self.present(key, path, answer)?;
        match std::str::from_utf8(&bytes) {
            Ok(text) if text.trim().len() <= max_bytes => Some(text.trim().to_owned()),
            _ => {
                self.malformed(key, path, &String::from_utf8_lossy(&bytes));
                None
            }
        }
    }

    /// Returns a file's value; `parse` returns `None` for text of an unknown form.
    pub(super) fn value<T>(
        &mut self,
        key: &str,
        path: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        let answer = self.ask(&Question::File(path.to_owned()));
        self.value_of(key, path, answer, parse)
    }

    /// Converts a reply for [`Reader::value`].
    pub(super) fn value_of<T>(
        &mut self,
        key: &str,
        path: &str,
        answer: Result<Vec<u8>, ReadError>,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        let text = self.text_of(key, path, answer)?;
        let value = parse(&text);
        if value.is_none() {
            self.malformed(key, path, &text);
        }
        value
    }

    /// Returns the names in a directory that can be part of a path.
    pub(super) fn names(&mut self, key: &str, path: &str) -> Option<Vec<String>> {
        let answer = self.ask(&Question::Dir(path.to_owned()));
        self.names_of(key, path, answer)
    }

    /// Converts a reply for [`Reader::names`].
    pub(super) fn names_of(
        &mut self,
        key: &str,
        path: &str,
        answer: Result<Vec<u8>, ReadError>,
    ) -> Option<Vec<String>> {
        let bytes = self.present(key, path, answer)?;
        let names = String::from_utf8_lossy(&bytes);
        let mut listed = names.lines().filter(|name| !name.is_empty());
        let (good, bad): (Vec<&str>, Vec<&str>) =
            listed.by_ref().take(MAX_NAMES).partition(|name| is_name(name));
        if listed.next().is_some() {
            self.too_long(key, path, MAX_NAMES);
        }
        // No kernel lists a name that cannot be part of a path. The rest of the listing may be
        // wrong, too.
        if let Some(name) = bad.first() {
            self.malformed(key, path, name);
        }
        Some(good.into_iter().map(str::to_owned).collect())
    }

    /// Returns the names of a directory's entries as numbers, in ascending order. Omits names that
    /// are no numbers, and reports the first of them.
    pub(super) fn indices(&mut self, key: &str, path: &str) -> Option<Vec<u32>> {
        let names = self.names(key, path)?;
        let number = |name: &String| {
            name.bytes().all(|digit| digit.is_ascii_digit()).then(|| name.parse().ok())?
        };
        if let Some(name) = names.iter().find(|name| number(name).is_none()) {
            self.malformed(key, path, name);
        }
        let mut indices: Vec<u32> = names.iter().filter_map(number).collect();
        indices.sort_unstable();
        Some(indices)
    }

    /// Returns a link's target; `None` if the path is no link.
    pub(super) fn link(&mut self, key: &str, path: &str) -> Option<String> {
        let answer = self.ask(&Question::Link(path.to_owned()));
        if answer.as_ref().is_err_and(ReadError::is_invalid) {
            return None;
        }
        self.text_up_to(MAX_LINK, key, path, answer)
    }

    /// Returns the reply. Reports an error, unless it means that the item does not exist.
    pub(super) fn present(
        &mut self,
        key: &str,
        path: &str,
        answer: Result<Vec<u8>, ReadError>,
    ) -> Option<Vec<u8>> {
        answer.map_err(|error| self.unreadable(key, path, &error, None)).ok()
    }

    /// Reports an error, unless it means that the item does not exist. `fix` replaces the default
    /// fix of a denied permission.
    pub(super) fn unreadable(
        &mut self,
        key: &str,
        path: &str,
        error: &ReadError,
        fix: Option<KnownFix>,
    ) {
        if error.is_absent() {
            return;
        }
        let fix = fix.or(error.is_denied().then_some(KnownFix::BeRootOutside));
        let fix = if error.needs_program() { Some(KnownFix::UploadProgram) } else { fix };
        self.problems.push(Problem {
            key: key.to_owned(),
            source: path.to_owned(),
            errno: error.errno().map(std::borrow::Cow::into_owned),
            detail: format!("cannot read {path}: {error}"),
            fix: fix.map(Fix::from),
            not_recorded: error.is_missing_in_capture(),
        });
    }

    /// Reports a device whose file cannot be opened. Errors without an errno, as of captures and
    /// plain shells, are not reported.
    pub(super) fn unopenable(&mut self, device: &str, path: &str, error: &ReadError) {
        if let Some(errno) = error.errno() {
            let reason = error.to_string();
            self.problems.push(Problem::of_device_file(device, path, &errno, &reason));
        }
    }

    pub(super) fn malformed(&mut self, key: &str, path: &str, text: &str) {
        let mut quote: String = text.trim().chars().take(QUOTE).collect();
        if quote.len() < text.trim().len() {
            quote.push('…');
        }
        self.note(key, path, format!("{path} has an unknown format: \"{quote}\""), None);
    }

    pub(super) fn incomplete(&mut self, key: &str, path: &str, why: &str) {
        self.note(
            key,
            path,
            format!("{path} may be incomplete: {why}"),
            Some(KnownFix::Retry.into()),
        );
    }

    /// Reports data that the kernel hides from users without permission.
    pub(super) fn hidden(&mut self, key: &str, source: &str, detail: &str) {
        self.problems.push(Problem {
            key: key.to_owned(),
            source: source.to_owned(),
            errno: Some("EPERM".into()),
            detail: detail.to_owned(),
            fix: Some(KnownFix::BeRoot.into()),
            not_recorded: false,
        });
    }

    /// Reports data that is missing until the administrator applies `fix`.
    pub(super) fn lacking(&mut self, key: &str, source: &str, detail: &str, fix: impl Into<Fix>) {
        self.note(key, source, detail.to_owned(), Some(fix.into()));
    }

    pub(super) fn unanswered(&mut self, key: &str, source: &str, detail: String) {
        self.note(key, source, detail, None);
    }

    pub(super) fn too_long(&mut self, key: &str, path: &str, limit: usize) {
        let detail = format!("{path} has more than {limit} entries; the rest is not read");
        self.note(key, path, detail, None);
    }

    /// Reports that a log has more than `limit` lines. Only the latest lines are used.
    pub(super) fn older_lines(&mut self, key: &str, path: &str, limit: usize) {
        let detail = format!("{path} has more than {limit} lines; older lines are not used");
        self.note(key, path, detail, None);
    }

    /// Removes the entries of a list beyond `limit`, and reports a list that had more.
    pub(super) fn cut<T>(&mut self, key: &str, path: &str, limit: usize, list: &mut Vec<T>) {
        if list.len() > limit {
            self.too_long(key, path, limit);
            list.truncate(limit);
        }
    }

    /// Reports a table that was not read to its end because of too many unreadable entries.
    pub(super) fn given_up(&mut self, key: &str, path: &str, failures: usize) {
        let detail = format!("{path}: {failures} entries are unreadable; the rest is not read");
        self.note(key, path, detail, None);
    }

    fn note(&mut self, key: &str, path: &str, detail: String, fix: Option<Fix>) {
        self.problems.push(Problem {
            key: key.to_owned(),
            source: path.to_owned(),
            errno: None,
            detail,
            fix,
            not_recorded: false,
        });
    }
}

/// True if a name of a directory entry or an interface can be part of a path and stays within its
/// directory.
pub(super) fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 255
        && !name.contains(['/', '\0'])
        && !matches!(name, "." | "..")
}
