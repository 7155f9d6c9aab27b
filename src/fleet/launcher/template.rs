//! Command template of `--launcher exec`: words with placeholders for the host and the command.

use std::fmt;

const HOST: &str = "{host}";
const COMMAND: &str = "{command}";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Template {
    words: Vec<String>,
}

/// Error in a template, with its position and a fix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateError {
    text: String,
    /// Position of the error, in characters.
    at: usize,
    message: String,
    fix: String,
}

impl TemplateError {
    /// Returns the text of the fix.
    pub fn fix(&self) -> &str {
        &self.fix
    }
}

impl fmt::Display for TemplateError {
    /// Formats the template, with a caret under the error.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown: String =
            self.text.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
        write!(f, "  {shown}\n  {}^ {}", " ".repeat(self.at), self.message)
    }
}

impl std::error::Error for TemplateError {}

impl Template {
    /// Splits a text into words as a POSIX shell does, without expansion.
    pub(super) fn parse(text: &str) -> Result<Self, TemplateError> {
        let wrong = |at: usize, message: &str, fix: &str| TemplateError {
            text: text.to_owned(),
            at: text.get(..at).unwrap_or(text).chars().count(),
            message: message.to_owned(),
            fix: fix.to_owned(),
        };
        let example = "write for example --launcher exec 'kubectl exec -i {host} -- {command}'";
        let Some(words) = shlex::split(text) else {
            return Err(match open_quote(text) {
                Some(at) => wrong(at, "this quote is not closed", "add the closing quote"),
                None => {
                    wrong(text.len(), "no character follows the backslash", "remove the backslash")
                }
            });
        };
        if words.first().is_none_or(String::is_empty) {
            return Err(wrong(0, "the template is empty", example));
        }
        if words.first().is_some_and(|word| word.contains(HOST) || word.contains(COMMAND)) {
            return Err(wrong(0, "the first word must be a program", example));
        }
        for (place, message) in [
            (HOST, "{host} is missing: every host would get the same command"),
            (COMMAND, "{command} is missing: it stands for the command that the host runs"),
        ] {
            if words.iter().any(|word| word.contains(place)) {
                continue;
            }
            // A misspelled placeholder is shown with its position. Other braces are the command's.
            return Err(match unknown_place(text) {
                Some((at, slip)) => {
                    wrong(at, &format!("unknown placeholder {slip}"), "write {host} and {command}")
                }
                None => wrong(text.len(), message, example),
            });
        }
        Ok(Self { words })
    }

    pub(super) fn program(&self) -> &str {
        self.words.first().map_or("", String::as_str)
    }

    /// Returns the words for a host. A word `{command}` becomes one word for each part of
    /// `command`. Within a longer word, the parts are joined with blanks.
    pub(super) fn words(&self, host: &str, command: &[&str]) -> Vec<String> {
        let mut words = Vec::new();
        for word in &self.words {
            if word == COMMAND {
                words.extend(command.iter().map(|&part| part.to_owned()));
            } else {
                // The command is replaced first: a host name cannot contain a placeholder.
                words.push(word.replace(COMMAND, &command.join(" ")).replace(HOST, host));
            }
        }
        words
    }
}

/// Returns the byte position of a quote that is not closed.
fn open_quote(text: &str) -> Option<usize> {
    let mut open: Option<(usize, char)> = None;
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match (open, letter) {
            (Some((_, quote)), letter) if quote == letter => open = None,
            (Some((_, '\'')), _) => {}
            (_, '\\') => drop(letters.next()),
            (None, '\'' | '"') => open = Some((at, letter)),
            _ => {}
        }
    }
    open.map(|(at, _)| at)
}

/// Returns the first `{word}` that is no placeholder, and its byte position.
fn unknown_place(text: &str) -> Option<(usize, &str)> {
    text.match_indices('{').find_map(|(at, _)| {
        let end = text[at..].find('}')?;
        let place = &text[at..=at + end];
        let is_word = place.len() > 2
            && place[1..place.len() - 1].bytes().all(|byte| byte.is_ascii_lowercase());
        (is_word && place != HOST && place != COMMAND).then_some((at, place))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        Template::parse(text).unwrap().words("n1", &["/bin/sh", "-s"])
    }

    #[test]
    fn words_are_parted_as_a_shell_does_and_nothing_is_expanded() {
        assert_eq!(words("docker --x={json} {host} {command}")[1], "--x={json}");
        let expected = ["kubectl", "exec", "-i", "n1", "--", "/bin/sh", "-s"];
        assert_eq!(words("kubectl exec -i {host} -- {command}"), expected);
        assert_eq!(
            words("a 'b  c' \"$X *\" d\\ e pod-{host}.x {command}")[1..5],
            ["b  c", "$X *", "d e", "pod-n1.x"]
        );
        assert_eq!(words("ssh {host} 'exec {command}'")[2], "exec /bin/sh -s");
        assert_eq!(words("x {host} \"{command}\"")[2..], ["/bin/sh", "-s"]);
    }

    #[test]
    fn a_host_cannot_name_a_place_and_awk_keeps_its_braces() {
        let template = Template::parse("x '{ print $1 }' {host} {command}").unwrap();
        assert_eq!(template.words("{command}", &["sh"]), ["x", "{ print $1 }", "{command}", "sh"]);
    }

    #[test]
    fn template_errors_point_to_the_column() {
        let wrong = |text: &str| Template::parse(text).unwrap_err().to_string();
        assert_eq!(wrong("x 'y"), "  x 'y\n    ^ this quote is not closed");
        assert_eq!(wrong("x \\"), "  x \\\n     ^ no character follows the backslash");
        assert_eq!(wrong(""), "  \n  ^ the template is empty");
        assert_eq!(wrong("x {hots}"), "  x {hots}\n    ^ unknown placeholder {hots}");
        assert!(wrong("x {command}").contains("^ {host} is missing"), "{}", wrong("x {command}"));
        assert!(wrong("ssh {host}").contains("^ {command} is missing"));
        assert!(wrong("{host} {command}").contains("^ the first word must be a program"));
    }
}
