//! Parses the words of an unfinished command line, as each shell passes them.

use std::ffi::OsString;

use crate::cli::CompletionShell;

pub(super) struct TypedLine {
    pub(super) words: Vec<OsString>,
    pub(super) index: usize,
    /// Start of that word that the shell keeps; candidates are printed without it.
    kept: String,
    /// True if the word is outside quotes, so that special characters must be escaped.
    is_bare: bool,
}

impl TypedLine {
    /// Reads the arguments of the completion script. Bash passes the command, the line, and the
    /// part of the last word to replace. Other shells pass the index and the words.
    pub(super) fn of(shell: CompletionShell, arguments: &[OsString]) -> Option<Self> {
        if shell != CompletionShell::Bash {
            let (index, words) = arguments.split_first()?;
            let (index, words) = (index.to_str()?.parse().ok()?, words.to_vec());
            return Some(Self { words, index, kept: String::new(), is_bare: false });
        }
        let [command, line, part] = arguments else { return None };
        let (words, is_bare) = split(line.to_str()?);
        // Words before the command, such as variables, do not belong to it.
        let start = words.iter().position(|word| *word == *command.to_string_lossy())?;
        let words = words.get(start..)?;
        // readline also splits words at = and :.
        let part = part.to_string_lossy();
        let part = part.trim_start_matches(['\'', '"']);
        let kept = words.last()?.strip_suffix(part).unwrap_or_default().to_owned();
        let index = words.len() - 1;
        Some(Self { words: words.iter().map(OsString::from).collect(), index, kept, is_bare })
    }

    /// Returns the text that the shell inserts for a candidate.
    pub(super) fn rest_of(&self, value: &str) -> Option<String> {
        let rest = value.strip_prefix(&self.kept)?;
        Some(if self.is_bare { escape_for_shell(rest) } else { rest.to_owned() })
    }
}

/// Splits a line like a POSIX shell; the flag is true if the last word is outside quotes.
fn split(line: &str) -> (Vec<String>, bool) {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    let mut is_word = true;
    let mut letters = line.trim_start().chars();
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            (_, Some(open)) if letter == open => quote = None,
            ('\\', None | Some('"')) => word.extend(letters.next()),
            ('\'' | '"', None) => quote = Some(letter),
            (_, None) if letter.is_whitespace() => {
                if is_word {
                    words.push(std::mem::take(&mut word));
                }
                is_word = false;
                continue;
            }
            _ => word.push(letter),
        }
        is_word = true;
    }
    // A blank at the end starts an empty word.
    words.push(word);
    (words, quote.is_none())
}

fn escape_for_shell(text: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "_-+=:,./@%~".contains(letter);
    let mut escaped = String::new();
    for letter in text.chars() {
        if !is_plain(letter) {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_cut_as_a_shell_does() {
        let table = [
            ("rdmactl ", vec!["rdmactl", ""], true),
            ("  rdmactl dev", vec!["rdmactl", "dev"], true),
            ("a 'b c' \"d \\\"e\" f\\ g", vec!["a", "b c", "d \"e", "f g"], true),
            ("a --x='b c", vec!["a", "--x=b c"], false),
            ("a '' b", vec!["a", "", "b"], true),
            ("", vec![""], true),
        ];
        for (line, expected, is_bare) in table {
            assert_eq!(split(line), (expected.iter().map(ToString::to_string).collect(), is_bare));
        }
    }

    #[test]
    fn bash_gets_back_only_what_it_replaces() {
        let ask = |line: &str, part: &str| {
            let arguments = ["rdmactl", line, part].map(OsString::from);
            TypedLine::of(CompletionShell::Bash, &arguments).unwrap()
        };
        let line = ask("X=1 rdmactl devices --format=c", "c");
        assert_eq!((line.words.len(), line.index), (3, 2));
        assert_eq!(line.rest_of("--format=csv").as_deref(), Some("csv"));
        let line = ask("rdmactl devices -H n", "n");
        assert_eq!(line.rest_of("n[1-4]").as_deref(), Some("n\\[1-4\\]"));
        let line = ask("rdmactl devices -H 'n", "n");
        assert_eq!(line.rest_of("n[1-4]").as_deref(), Some("n[1-4]"));
    }
}
