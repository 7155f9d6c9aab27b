//! The words of the line that is being written, as each shell hands them over.

use std::ffi::OsString;

use crate::cli::Shell;

/// The line up to the cursor.
pub(super) struct Line {
    /// Its words, the program first.
    pub(super) words: Vec<OsString>,
    /// Which of them the cursor is in.
    pub(super) index: usize,
    /// What the shell keeps of that word, and must not get again.
    kept: String,
    /// Whether special characters have to be escaped.
    is_bare: bool,
}

impl Line {
    /// Reads the arguments of the completion script: of bash the command, the line and the part of
    /// the last word that will be replaced; of the others the index and the words.
    pub(super) fn of(shell: Shell, arguments: &[OsString]) -> Option<Self> {
        if shell != Shell::Bash {
            let (index, words) = arguments.split_first()?;
            let (index, words) = (index.to_str()?.parse().ok()?, words.to_vec());
            return Some(Self { words, index, kept: String::new(), is_bare: false });
        }
        let [command, line, part] = arguments else { return None };
        let (words, is_bare) = split(line.to_str()?);
        // What stands before the command, as variables do, is not the program's.
        let start = words.iter().position(|word| *word == *command.to_string_lossy())?;
        let words = words.get(start..)?;
        // readline cuts words at = and :, too.
        let part = part.to_string_lossy();
        let part = part.trim_start_matches(['\'', '"']);
        let kept = words.last()?.strip_suffix(part).unwrap_or_default().to_owned();
        let index = words.len() - 1;
        Some(Self { words: words.iter().map(OsString::from).collect(), index, kept, is_bare })
    }

    /// What the shell puts in place for a candidate.
    pub(super) fn rest_of(&self, value: &str) -> Option<String> {
        let rest = value.strip_prefix(&self.kept)?;
        Some(if self.is_bare { escape(rest) } else { rest.to_owned() })
    }
}

/// Words as a POSIX shell cuts them, and whether the last one is outside quotes.
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
    // An empty word is begun behind a blank.
    words.push(word);
    (words, quote.is_none())
}

/// A backslash before everything that a shell would read as more than itself.
fn escape(text: &str) -> String {
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

    fn words(line: &str) -> (Vec<String>, bool) {
        split(line)
    }

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
            assert_eq!(words(line), (expected.iter().map(ToString::to_string).collect(), is_bare));
        }
    }

    #[test]
    fn bash_gets_back_only_what_it_replaces() {
        let ask = |line: &str, part: &str| {
            let arguments = ["rdmactl", line, part].map(OsString::from);
            Line::of(Shell::Bash, &arguments).unwrap()
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
