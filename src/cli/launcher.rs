use std::ffi::{OsStr, OsString};

use clap::builder::{PossibleValue, TypedValueParser};

/// What starts the agents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Launcher {
    /// SSH.
    Ssh,
    /// `srun`, within a job.
    Slurm,
    /// This command for each host.
    Exec(String),
}

impl Launcher {
    /// Reads the flag's value: a word, and behind `exec` the template.
    ///
    /// # Errors
    /// It is neither of them.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        match text.split_once(char::is_whitespace).unwrap_or((text, "")) {
            ("ssh", "") => Ok(Self::Ssh),
            ("slurm", "") => Ok(Self::Slurm),
            ("exec", "") => Err("exec needs a template, as in \
                --launcher exec 'kubectl exec -i {host} -- {command}'"
                .to_owned()),
            ("exec", template) => Ok(Self::Exec(template.trim().to_owned())),
            _ => Err("write ssh, slurm, or exec TEMPLATE".to_owned()),
        }
    }
}

/// Takes the flag's value; help and completion say which there are.
#[derive(Debug, Clone)]
pub(super) struct LauncherParser;

impl TypedValueParser for LauncherParser {
    type Value = Launcher;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<Launcher, clap::Error> {
        Launcher::parse.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let values = [
            PossibleValue::new("ssh").help("SSH"),
            PossibleValue::new("slurm")
                .help("srun, within a Slurm job; without -H on all its nodes"),
            PossibleValue::new("exec")
                .help("The next word for each host, as in 'kubectl exec -i {host} -- {command}'"),
        ];
        Some(Box::new(values.into_iter()))
    }
}

/// The words of a command line, with `--launcher exec TEMPLATE` as two: the other launchers have one
/// word, and what follows them is the command.
#[must_use]
pub fn join_launcher(words: Vec<OsString>) -> Vec<OsString> {
    let mut joined: Vec<OsString> = Vec::with_capacity(words.len());
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let is_flag = joined.last().is_some_and(|before| before == "--launcher");
        let is_exec = word == "--launcher=exec" || (is_flag && word == "exec");
        let is_over = word == "--";
        joined.push(word);
        if is_exec
            && let Some(template) = words.next()
            && let Some(last) = joined.last_mut()
        {
            last.push(OsStr::new(" "));
            last.push(template);
        }
        if is_over {
            break;
        }
    }
    joined.extend(words);
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    fn join(words: &[&str]) -> Vec<String> {
        let words = words.iter().map(OsString::from).collect();
        join_launcher(words).into_iter().map(|word| word.into_string().unwrap()).collect()
    }

    #[test]
    fn a_launcher_is_one_word_or_exec_and_a_template() {
        assert_eq!(Launcher::parse("slurm"), Ok(Launcher::Slurm));
        assert_eq!(Launcher::parse("exec  x {host}"), Ok(Launcher::Exec("x {host}".into())));
        assert!(Launcher::parse("exec").unwrap_err().contains("needs a template"));
        assert!(Launcher::parse("flux").is_err() && Launcher::parse("slurm n1").is_err());
    }

    #[test]
    fn only_exec_takes_the_next_word() {
        assert_eq!(join(&["rdmactl", "--launcher", "slurm", "devices"]).len(), 4);
        assert_eq!(
            join(&["rdmactl", "--launcher", "exec", "x {host}", "devices"]),
            ["rdmactl", "--launcher", "exec x {host}", "devices"]
        );
        assert_eq!(join(&["rdmactl", "--launcher=exec", "x", "ports"])[1], "--launcher=exec x");
        assert_eq!(join(&["r", "--", "--launcher", "exec", "x"]).len(), 5);
        assert_eq!(join(&["r", "--launcher", "exec"]), ["r", "--launcher", "exec"]);
    }
}
