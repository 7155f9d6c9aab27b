//! Parses the value of `--launcher`, and lists its words for help and completion.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, TypedValueParser};

/// Method that starts the agents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LauncherArg {
    /// SSH.
    Ssh,
    /// `srun`, within a job.
    Slurm,
    /// This command for each host.
    Exec(String),
}

impl LauncherArg {
    /// Parses the value of --launcher: a word, and the template after `exec`.
    ///
    /// # Errors
    /// The text is not a launcher.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        match text.split_once(char::is_whitespace).unwrap_or((text, "")) {
            ("ssh", "") => Ok(Self::Ssh),
            ("slurm", "") => Ok(Self::Slurm),
            ("exec", "") => Err("exec needs a template, for example \
                --launcher exec 'kubectl exec -i {host} -- {command}'"
                .to_owned()),
            ("exec", template) => Ok(Self::Exec(template.trim().to_owned())),
            _ => Err("expected ssh, slurm or exec TEMPLATE".to_owned()),
        }
    }
}

/// Parser of --launcher, which lists the values for help and completion.
#[derive(Debug, Clone)]
pub(super) struct LauncherParser;

impl TypedValueParser for LauncherParser {
    type Value = LauncherArg;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<LauncherArg, clap::Error> {
        LauncherArg::parse.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let values = [
            PossibleValue::new("ssh").help("SSH"),
            PossibleValue::new("slurm")
                .help("srun, within a Slurm job; without -H on all nodes of the job"),
            PossibleValue::new("exec")
                .help("A command for each host, such as 'kubectl exec -i {host} -- {command}'"),
        ];
        Some(Box::new(values.into_iter()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launcher_is_one_word_or_exec_and_a_template() {
        assert_eq!(LauncherArg::parse("slurm"), Ok(LauncherArg::Slurm));
        assert_eq!(LauncherArg::parse("exec  x {host}"), Ok(LauncherArg::Exec("x {host}".into())));
        assert!(LauncherArg::parse("exec").unwrap_err().contains("needs a template"));
        assert!(LauncherArg::parse("flux").is_err() && LauncherArg::parse("slurm n1").is_err());
    }
}
