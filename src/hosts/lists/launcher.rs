//! Hostfiles of job launchers: one host per line, with a number of processes, which is skipped.

use super::{Entry, FormatError, entries, is_number, lines, quoted};

/// Parses `n1 slots=2 max_slots=4` (manual of Open MPI, "Scheduling processes across hosts").
pub(super) fn open_mpi(text: &str) -> Result<Vec<Entry>, FormatError> {
    let mut entries = Vec::new();
    for (line, said) in lines(text) {
        let mut words = said.split_whitespace();
        let Some(host) = words.next() else { continue };
        if host.starts_with('^') {
            return Err(FormatError::new(line, "excluded hosts (^) are not supported")
                .fix("remove the line, and exclude the hosts with `!` in -H"));
        }
        if let Some((name, slots)) = host.split_once(':').filter(|(_, slots)| is_number(slots)) {
            return Err(FormatError::new(line, format!("{} has a number after `:`", quoted(host)))
                .fix(format!("write `{name} slots={slots}`, or read the file as mpich:FILE")));
        }
        refuse_bare(line, words)?;
        entries.push(Entry { line, hosts: host.to_owned() });
    }
    Ok(entries)
}

/// Parses the format of MPICH's Hydra: `n1:2 ifname=ib0 user=bob`.
pub(super) fn mpich(text: &str) -> Result<Vec<Entry>, FormatError> {
    let mut entries = Vec::new();
    for (line, said) in lines(text) {
        let mut words = said.split_whitespace();
        let Some(host) = words.next() else { continue };
        let name = match host.rsplit_once(':') {
            Some((name, count)) if !name.contains(':') || name.ends_with(']') => {
                if !is_number(count) {
                    let message = format!("{} has no number after `:`", quoted(host));
                    return Err(FormatError::new(line, message)
                        .fix("write the number of processes, for example n1:4"));
                }
                name
            }
            _ => host,
        };
        let user = words.clone().find_map(|word| word.strip_prefix("user="));
        let user = user.map_or(String::new(), |user| format!("{user}@"));
        refuse_bare(line, words)?;
        entries.push(Entry { line, hosts: format!("{user}{name}") });
    }
    Ok(entries)
}

/// Parses a file of `PBS_NODEFILE`, or TORQUE's `nodes` with properties after the host.
pub(super) fn pbs(text: &str) -> Vec<Entry> {
    entries(text, |said| said.split_whitespace().next())
}

fn refuse_bare<'a>(
    line: usize,
    mut words: impl Iterator<Item = &'a str>,
) -> Result<(), FormatError> {
    let Some(word) = words.find(|word| !word.contains('=')) else { return Ok(()) };
    Err(FormatError::new(line, format!("{} is not a setting", quoted(word)))
        .fix("write one host per line, or read the file as list:FILE"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(entries: Vec<Entry>) -> Vec<String> {
        entries.into_iter().map(|entry| entry.hosts).collect()
    }

    #[test]
    fn the_host_is_the_first_word() {
        let text = "# mine\nfoo.example.com\n\nbar slots=2 max_slots=4 # two\n";
        assert_eq!(hosts(open_mpi(text).unwrap()), ["foo.example.com", "bar"]);
        let text = "donner:2\nfoo\nshakey:4 user=bob ifname=ib0\nfe80::1\n[fe80::1]:2\n";
        assert_eq!(
            hosts(mpich(text).unwrap()),
            ["donner", "foo", "bob@shakey", "fe80::1", "[fe80::1]"]
        );
        assert_eq!(hosts(pbs("n1\nn1\nn2 np=4 bigmem\n")), ["n1", "n1", "n2"]);
    }

    #[test]
    fn host_file_of_another_launcher_is_an_error_with_its_line() {
        let error = open_mpi("n1\nn2:4\n").unwrap_err();
        assert_eq!(error.line, 2);
        assert_eq!(error.fix.unwrap(), "write `n2 slots=4`, or read the file as mpich:FILE");
        assert_eq!(open_mpi("n1 n2").unwrap_err().message, "`n2` is not a setting");
        assert!(open_mpi("^n1").is_err());
        assert!(mpich("n1:x").unwrap_err().message.contains("no number"));
        assert!(mpich("n1:4 n2:4").is_err());
    }
}
