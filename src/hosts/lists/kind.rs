//! Formats of a file of hosts: detection of the format, and parsing.

use std::net::IpAddr;

use super::{
    Entry, FormatError, Genders, ansible, entries, etc_hosts, is_number, launcher, lines, quoted,
};

/// Formats of `--hosts-file`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostsFileKind {
    /// Host sets, one or more per line.
    List,
    /// Hostfile of Open MPI: `n1 slots=4`.
    OpenMpi,
    /// Hostfile of MPICH's Hydra: `n1:4`.
    Mpich,
    /// Ansible inventory in INI format.
    Ansible,
    /// `/etc/hosts`: the first name of each address.
    EtcHosts,
    /// Genders: `n[1-4] compute,ib=hdr`.
    Genders,
    /// File of `PBS_NODEFILE`, with one line per slot.
    Pbs,
}

impl HostsFileKind {
    /// All formats, each with its name on the command line.
    pub const ALL: [(&'static str, Self); 7] = [
        ("list", Self::List),
        ("openmpi", Self::OpenMpi),
        ("mpich", Self::Mpich),
        ("ansible", Self::Ansible),
        ("etchosts", Self::EtcHosts),
        ("genders", Self::Genders),
        ("pbs", Self::Pbs),
    ];

    /// Returns the format with a name. `None` for an unknown name.
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == word).map(|(_, kind)| *kind)
    }

    /// Returns the format of a text.
    ///
    /// # Errors
    /// Two formats with different hosts are possible, or the format is not supported.
    pub fn of_text(text: &str) -> Result<Self, FormatError> {
        if let Some(kind) = lines(text).find_map(|(_, line)| sign(line)) {
            return Ok(kind);
        }
        if let Some((line, _)) = lines(text).find(|(_, line)| *line == "---" || *line == "all:") {
            return Err(super::yaml_inventory(line));
        }
        let numbered = lines(text).find_map(|(line, said)| {
            let mut words = said.split([' ', '\t', ',']);
            words.find_map(|word| Some((line, word, number_behind(word)?)))
        });
        let Some((line, word, number)) = numbered else { return Ok(Self::List) };
        let message = format!(
            "{} is ambiguous: port {number} in a list of hosts, {number} processes in an MPICH hostfile",
            quoted(word)
        );
        Err(FormatError::new(line, message)
            .fix("name the kind of the file: list:FILE or mpich:FILE"))
    }

    /// Parses a text of this format.
    ///
    /// # Errors
    /// A line does not have this format. Names of hosts are not checked.
    pub fn read(self, text: &str) -> Result<Vec<Entry>, FormatError> {
        match self {
            Self::List => Ok(entries(text, Some)),
            Self::OpenMpi => launcher::open_mpi(text),
            Self::Mpich => launcher::mpich(text),
            Self::Pbs => Ok(launcher::pbs(text)),
            Self::Ansible => ansible::hosts(text),
            Self::EtcHosts => Ok(etc_hosts::first_names(text)),
            Self::Genders => Ok(Genders::parse(text).every_host()),
        }
    }
}

/// Returns the format that one line identifies. `None` if the line fits several formats.
fn sign(line: &str) -> Option<HostsFileKind> {
    if ansible::is_section(line) {
        return Some(HostsFileKind::Ansible);
    }
    let mut words = line.split_whitespace();
    let first = words.next()?;
    let is_address = |word: &str| word.parse::<IpAddr>().is_ok();
    words.find_map(|word| match word.split_once('=') {
        None if is_address(first) && !is_address(word) => Some(HostsFileKind::EtcHosts),
        None => None,
        Some((key, _)) if key.starts_with("ansible_") => Some(HostsFileKind::Ansible),
        Some(("slots" | "max_slots" | "max-slots", _)) => Some(HostsFileKind::OpenMpi),
        Some(("ifname" | "binding", _)) => Some(HostsFileKind::Mpich),
        Some(("np", _)) => Some(HostsFileKind::Pbs),
        Some(_) => Some(HostsFileKind::Genders),
    })
}

/// Returns the number of `n1:4`, a port or a count. `u@n1:22` and `[::1]:22` are not ambiguous.
fn number_behind(word: &str) -> Option<&str> {
    let (name, number) = word.rsplit_once(':')?;
    (is_number(number) && !name.is_empty() && !name.contains([':', '@'])).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_content_determines_the_kind() {
        let table = [
            ("n1\nn2\n", HostsFileKind::List),
            ("# all\nn[1-4] gpu1,gpu2\n@compute!n3", HostsFileKind::List),
            ("10.0.0.1\n10.0.0.2 10.0.0.3\n::1\n", HostsFileKind::List),
            ("[1-3]\n[fe80::1]\n[::1]:22\nu@n1:22\n", HostsFileKind::List),
            ("", HostsFileKind::List),
            ("n1\nn2 slots=2\n", HostsFileKind::OpenMpi),
            ("n1 max_slots=2", HostsFileKind::OpenMpi),
            ("n1:2 ifname=ib0\n", HostsFileKind::Mpich),
            ("n1 np=4 gpus=1\n", HostsFileKind::Pbs),
            ("web:2222\n[db]\nd1\n", HostsFileKind::Ansible),
            ("web1 ansible_host=10.0.0.5", HostsFileKind::Ansible),
            ("127.0.0.1 localhost\n", HostsFileKind::EtcHosts),
            ("n[1-4] compute,ib=hdr\n", HostsFileKind::Genders),
        ];
        for (text, kind) in table {
            assert_eq!(HostsFileKind::of_text(text), Ok(kind), "{text}");
        }
    }

    #[test]
    fn a_number_that_may_be_a_port_or_a_count_is_refused() {
        for text in ["n0\nn1:4\n", "n1:22,n2", "n[1-4]:22"] {
            let error = HostsFileKind::of_text(text).unwrap_err();
            assert!(error.message.contains("is ambiguous: port"), "{error:?}");
            let fix = error.fix.unwrap();
            assert!(fix.contains("list:FILE") && fix.contains("mpich:FILE"), "{fix}");
        }
        assert_eq!(HostsFileKind::of_text("n0\nn1:4\n").unwrap_err().line, 2);
    }

    #[test]
    fn an_inventory_in_yaml_is_refused_with_a_way_to_read_it() {
        let error = HostsFileKind::of_text("---\nall:\n  hosts:\n    web1:\n").unwrap_err();
        assert_eq!(error.line, 1);
        assert!(error.fix.unwrap().contains("ansible all --list-hosts"));
    }
}
