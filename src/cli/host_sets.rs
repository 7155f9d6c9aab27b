//! Host sets that are given as arguments, without -H.

use clap::Args;

/// Host sets as the arguments of a command.
#[derive(Debug, Clone, Default, Args)]
pub struct HostSets {
    /// Hosts to query over SSH, like -H; default: this host
    #[arg(value_name = "SET")]
    pub(super) sets: Vec<String>,
}

/// An argument that is either one of a command's own words or a host set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WordOrSet {
    /// A word of the command: a view, or a kind of object.
    Word(String),
    /// A host set.
    Set(String),
}

impl WordOrSet {
    /// Parses an argument; `noun` names the words of the command in the error.
    ///
    /// # Errors
    /// The argument is close to one of the words, but is not one of them.
    pub(super) fn parse(text: &str, noun: &str, words: &[&str]) -> Result<Self, String> {
        if words.contains(&text) {
            return Ok(Self::Word(text.to_owned()));
        }
        let is_close =
            |word: &&&str| text.len() > 2 && word.starts_with(text) || text == format!("{word}s");
        match words.iter().find(is_close) {
            Some(word) => Err(format!("it is not a {noun}; write {word}, or -H {text} for a host")),
            None => Ok(Self::Set(text.to_owned())),
        }
    }

    /// Returns the word; `None` for a host set.
    pub fn word(&self) -> Option<&str> {
        match self {
            Self::Word(word) => Some(word),
            Self::Set(_) => None,
        }
    }

    /// Moves the host sets out of the arguments of a command.
    pub(super) fn take_sets(arguments: &mut Vec<Self>) -> Vec<String> {
        let mut sets = Vec::new();
        for argument in std::mem::take(arguments) {
            match argument {
                Self::Word(_) => arguments.push(argument),
                Self::Set(set) => sets.push(set),
            }
        }
        sets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_is_a_word_or_a_host_set() {
        let parse = |text| WordOrSet::parse(text, "view", &["hosts", "ports"]);
        assert_eq!(parse("ports"), Ok(WordOrSet::Word("ports".into())));
        assert_eq!(parse("n[1-4]"), Ok(WordOrSet::Set("n[1-4]".into())));
        assert_eq!(parse("po"), Ok(WordOrSet::Set("po".into())));
    }

    #[test]
    fn an_argument_close_to_a_word_is_refused() {
        for wrong in ["port", "hos", "portss"] {
            let parsed = WordOrSet::parse(wrong, "view", &["hosts", "ports"]);
            assert!(parsed.is_err(), "{wrong}");
        }
        let error = WordOrSet::parse("qps", "kind", &["qp"]).unwrap_err();
        assert_eq!(error, "it is not a kind; write qp, or -H qps for a host");
    }
}
