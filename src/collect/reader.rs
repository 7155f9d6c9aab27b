//! Queries a source for text and separates the replies into values, absence and problems. The
//! modules of `collect` use it.

use crate::model::{Fix, KnownFix, Problem};
use crate::source::{Answer, Question, ReadError, Source};

/// Limit of names from one directory. A host has at most 4,094 VLANs and some thousand devices. A
/// hostile host may list millions of names, and every name would cost reads.
const MAX_NAMES: usize = 131_072;

/// Limit of a value's text in bytes; the longest known, `node_desc`, has 64.
const MAX_TEXT: usize = 256;
/// Limit of a link's target and of a list of CPUs in bytes. Links to devices below many bridges
/// have some hundreds, and so have lists of CPUs with alternating numbers.
const MAX_LONG_TEXT: usize = 4096;
/// Limit of the lines of the kernel log in one reply; the latest ones are used.
const MAX_LOG_LINES: usize = 4096;
/// Limit of the characters that a problem quotes from an unexpected text.
const QUOTE: usize = 40;

pub(super) struct Reader<'source> {
    pub(super) source: &'source dyn Source,
    pub(super) problems: Vec<Problem>,
}

impl<'source> Reader<'source> {
    pub(super) fn new(source: &'source dyn Source) -> Self {
        Self { source, problems: Vec::new() }
    }

    /// Returns the raw reply, for callers that handle some errors themselves.
    pub(super) fn ask(&self, question: &Question) -> Answer {
        self.source.ask(question)
    }

    /// Returns the raw reply; `None` if the item does not exist or is unreadable.
    pub(super) fn read(&mut self, key: &str, question: &Question) -> Option<Vec<u8>> {
        let answer = self.ask(question);
        self.ok_or_report(key, &question.to_string(), answer)
    }

    /// Returns the text of a file that holds more than one value.
    pub(super) fn content(&mut self, key: &str, path: &str) -> Option<String> {
        let bytes = self.read(key, &Question::File(path.to_owned()))?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Returns the latest lines of the kernel log that start with a line of `tags`. Reports a log
    /// that has older lines.
    pub(super) fn kernel_log(&mut self, key: &str, tags: String) -> Option<String> {
        let question = Question::KernelLog(tags);
        let log = self.read(key, &question)?;
        let log = String::from_utf8_lossy(&log);
        let older = log.lines().count().saturating_sub(MAX_LOG_LINES);
        if older > 0 {
            let source = question.to_string();
            let detail =
                format!("{source}: more than {MAX_LOG_LINES} lines; older lines are not used");
            self.report(key, &source, detail);
        }
        Some(log.lines().skip(older).collect::<Vec<_>>().join("\n"))
    }

    /// Returns a file's text without the white space around it; `None` if the file does not
    /// exist, is unreadable or is no text.
    pub(super) fn text(&mut self, key: &str, path: &str) -> Option<String> {
        let answer = self.ask(&Question::File(path.to_owned()));
        self.decode_text(key, path, answer)
    }

    /// Like [`Reader::text`], for a file that may have more bytes than a value: a list of CPUs.
    pub(super) fn long_text(&mut self, key: &str, path: &str) -> Option<String> {
        let answer = self.ask(&Question::File(path.to_owned()));
        self.text_up_to(MAX_LONG_TEXT, key, path, answer)
    }

    /// Like [`Reader::text`]; `None` also for EINVAL: the kernel has no such value here.
    pub(super) fn supported_text(&mut self, key: &str, path: &str) -> Option<String> {
        let answer = self.ask(&Question::File(path.to_owned()));
        if answer.as_ref().is_err_and(ReadError::is_invalid) {
            return None;
        }
        self.decode_text(key, path, answer)
    }

    /// Converts a reply for [`Reader::text`].
    pub(super) fn decode_text(&mut self, key: &str, path: &str, answer: Answer) -> Option<String> {
        self.text_up_to(MAX_TEXT, key, path, answer)
    }

    /// Returns the text of a reply; `None`, with a problem, if it is longer than `max_bytes`.
    fn text_up_to(
        &mut self,
        max_bytes: usize,
        key: &str,
        path: &str,
        answer: Answer,
    ) -> Option<String> {
        let bytes = self.ok_or_report(key, path, answer)?;
        match std::str::from_utf8(&bytes) {
            Ok(text) if text.trim().len() <= max_bytes => Some(text.trim().to_owned()),
            _ => {
                self.report_malformed(key, path, &String::from_utf8_lossy(&bytes));
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
        let text = self.text(key, path)?;
        self.parse(key, path, &text, parse)
    }

    /// Parses the text of a file. Reports text of an unknown form.
    pub(super) fn parse<T>(
        &mut self,
        key: &str,
        path: &str,
        text: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        let value = parse(text);
        if value.is_none() {
            self.report_malformed(key, path, text);
        }
        value
    }

    /// Returns the names in a directory that can be part of a path.
    pub(super) fn names(&mut self, key: &str, path: &str) -> Option<Vec<String>> {
        let answer = self.ask(&Question::Dir(path.to_owned()));
        self.decode_names(key, path, answer)
    }

    /// Returns the names in a directory in natural order; empty if the directory does not exist.
    pub(super) fn sorted_names(&mut self, key: &str, path: &str) -> Vec<String> {
        let mut names = self.names(key, path).unwrap_or_default();
        names.sort_by(|a, b| crate::names::compare(a, b));
        names
    }

    /// Converts a reply for [`Reader::names`].
    pub(super) fn decode_names(
        &mut self,
        key: &str,
        path: &str,
        answer: Answer,
    ) -> Option<Vec<String>> {
        let bytes = self.ok_or_report(key, path, answer)?;
        let names = String::from_utf8_lossy(&bytes);
        let mut listed = names.lines().filter(|name| !name.is_empty());
        let (good, bad): (Vec<&str>, Vec<&str>) =
            listed.by_ref().take(MAX_NAMES).partition(|name| is_name(name));
        if listed.next().is_some() {
            self.report_too_long(key, path, MAX_NAMES);
        }
        // No kernel lists a name that cannot be part of a path. The rest may be wrong, too.
        if let Some(name) = bad.first() {
            self.report_malformed(key, path, name);
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
            self.report_malformed(key, path, name);
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
        self.text_up_to(MAX_LONG_TEXT, key, path, answer)
    }

    /// Removes the entries of a list beyond `limit`, and reports a list that had more.
    pub(super) fn truncate<T>(&mut self, key: &str, path: &str, limit: usize, list: &mut Vec<T>) {
        if list.len() > limit {
            self.report_too_long(key, path, limit);
            list.truncate(limit);
        }
    }

    /// Returns the reply. Reports an error, unless it means that the item does not exist.
    pub(super) fn ok_or_report(
        &mut self,
        key: &str,
        path: &str,
        answer: Answer,
    ) -> Option<Vec<u8>> {
        answer.map_err(|error| self.report_unreadable(key, path, &error, None)).ok()
    }

    /// Reports an error, unless it means that the item does not exist. `fix` replaces the default
    /// fix of a denied permission.
    pub(super) fn report_unreadable(
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
            errno: error.errno().map(std::borrow::Cow::into_owned),
            not_recorded: error.is_missing_in_capture(),
            ..problem(key, path, format!("cannot read {path}: {error}"), fix.map(Fix::from))
        });
    }

    pub(super) fn report_malformed(&mut self, key: &str, path: &str, text: &str) {
        let mut quote: String = text.trim().chars().take(QUOTE).collect();
        if quote.len() < text.trim().len() {
            quote.push('…');
        }
        self.report(key, path, format!("{path} has an unknown format: \"{quote}\""));
    }

    pub(super) fn report_incomplete(&mut self, key: &str, path: &str, why: &str) {
        self.report_missing(key, path, format!("{path} may be incomplete: {why}"), KnownFix::Retry);
    }

    pub(super) fn report_too_long(&mut self, key: &str, path: &str, limit: usize) {
        let detail = format!("{path} has more than {limit} entries; the rest is not read");
        self.report(key, path, detail);
    }

    /// Reports data that the kernel hides from users without permission.
    pub(super) fn report_hidden(&mut self, key: &str, source: &str, detail: &str) {
        let problem = problem(key, source, detail.to_owned(), Some(KnownFix::BeRoot.into()));
        self.problems.push(Problem { errno: Some("EPERM".into()), ..problem });
    }

    /// Reports data that is missing until the administrator applies `fix`.
    pub(super) fn report_missing(
        &mut self,
        key: &str,
        source: &str,
        detail: impl Into<String>,
        fix: impl Into<Fix>,
    ) {
        self.problems.push(problem(key, source, detail.into(), Some(fix.into())));
    }

    /// Reports a problem without a fix.
    pub(super) fn report(&mut self, key: &str, source: &str, detail: String) {
        self.problems.push(problem(key, source, detail, None));
    }
}

/// Returns a problem without an error number.
pub(super) fn problem(key: &str, source: &str, detail: String, fix: Option<Fix>) -> Problem {
    Problem {
        key: key.to_owned(),
        source: source.to_owned(),
        errno: None,
        detail,
        fix,
        not_recorded: false,
    }
}

/// True if a name of a file or an interface can be part of a path and stays within its directory.
pub(super) fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 255
        && !name.contains(['/', '\0'])
        && !matches!(name, "." | "..")
}
