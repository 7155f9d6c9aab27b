use super::{Column, Shown};

/// What decides which columns are shown by themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Defaults {
    /// Hosts were named.
    pub hosts_named: bool,
    /// `-v`.
    pub verbose: bool,
}

/// A word that names no column.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no column {word}")]
pub struct ColumnError {
    /// The word.
    pub word: String,
    /// The words there are.
    pub known: Vec<&'static str>,
}

/// The columns to show: the default ones, or those named by id, by its last part or by their
/// heading in small letters. A list that starts with `+` adds to the default ones.
///
/// # Errors
/// A word names no column.
pub fn select<'all>(
    all: &'all [Column],
    asked: &[String],
    defaults: Defaults,
) -> Result<Vec<&'all Column>, ColumnError> {
    let is_default = |column: &&Column| match column.shown {
        Shown::Always => true,
        Shown::WithHosts => defaults.hosts_named,
        Shown::Verbose => defaults.verbose,
        Shown::VerboseWithHosts => defaults.hosts_named && defaults.verbose,
        Shown::Asked => false,
    };
    let adds = asked.iter().all(|word| word.starts_with('+'));
    let mut chosen: Vec<&Column> =
        if adds { all.iter().filter(is_default).collect() } else { Vec::new() };
    for word in asked {
        let name = word.strip_prefix('+').unwrap_or(word);
        let column =
            all.iter().find(|column| is_called(column, name)).ok_or_else(|| ColumnError {
                word: name.to_owned(),
                known: all.iter().map(|column| column.id).collect(),
            })?;
        if !chosen.iter().any(|known| known.id == column.id) {
            chosen.push(column);
        }
    }
    Ok(chosen)
}

fn is_called(column: &Column, name: &str) -> bool {
    let last = column.id.rsplit('.').next();
    column.id == name || last == Some(name) || column.title.to_lowercase() == name
}

#[cfg(test)]
mod tests {
    use super::super::DEVICES;
    use super::*;

    fn ids(asked: &[&str], defaults: Defaults) -> Result<Vec<&'static str>, ColumnError> {
        let asked: Vec<String> = asked.iter().map(|word| (*word).to_owned()).collect();
        Ok(select(DEVICES, &asked, defaults)?.iter().map(|column| column.id).collect())
    }

    #[test]
    fn the_host_is_shown_when_hosts_are_named() {
        let named = Defaults { hosts_named: true, verbose: false };
        assert_eq!(ids(&[], named).unwrap()[..2], ["host", "device.name"]);
        assert_eq!(ids(&[], Defaults::default()).unwrap()[0], "device.name");
    }

    #[test]
    fn a_plus_adds_and_a_bare_word_replaces() {
        let added = ids(&["+device.pci"], Defaults::default()).unwrap();
        assert_eq!((added[0], added.last().copied()), ("device.name", Some("device.pci")));
        assert_eq!(
            ids(&["rate", "device.name"], Defaults::default()).unwrap(),
            ["port.rate_bps", "device.name"]
        );
    }

    #[test]
    fn an_unknown_word_is_named() {
        assert_eq!(ids(&["speed"], Defaults::default()).unwrap_err().word, "speed");
    }

    #[test]
    fn ids_and_headings_are_each_used_once() {
        for (index, column) in DEVICES.iter().enumerate() {
            let clash = DEVICES[..index]
                .iter()
                .any(|other| other.id == column.id || other.title == column.title);
            assert!(!clash, "{}", column.id);
        }
    }
}
