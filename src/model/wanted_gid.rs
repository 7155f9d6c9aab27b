//! GID index that the user requests, for all hosts or for one host.
//! `cli` parses it; `ping::choose` uses it.

use std::collections::BTreeMap;
use std::str::FromStr;

/// GID index per host. A host without an index of its own gets the common index.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WantedGid {
    usual: Option<u32>,
    of: BTreeMap<String, u32>,
}

impl WantedGid {
    /// Returns the GID index for a host; `None` if no index was requested.
    pub fn of(&self, host: &str) -> Option<u32> {
        self.of.get(host).copied().or(self.usual)
    }

    /// Returns the hosts that have an index of their own.
    pub fn hosts(&self) -> impl Iterator<Item = &str> {
        self.of.keys().map(String::as_str)
    }
}

/// Parses words that are separated by commas: `3` for all hosts, `n1=0` for one host.
impl FromStr for WantedGid {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut wanted = Self::default();
        for word in text.split(',') {
            let host = word.rsplit_once('=').map(|(host, _)| host);
            let index = word.rsplit('=').next().and_then(|index| index.parse().ok());
            let Some(index) = index.filter(|_| host != Some("")) else {
                return Err(format!(
                    "'{word}' is neither N nor HOST=N, for example 3 or n1=0,n2=3"
                ));
            };
            let before = match host {
                Some(host) => wanted.of.insert(host.to_owned(), index),
                None => wanted.usual.replace(index),
            };
            if before.is_some() {
                let host = host.unwrap_or("all hosts");
                return Err(format!("'{word}' is the second index for {host}"));
            }
        }
        Ok(wanted)
    }
}

#[test]
fn a_gid_index_is_for_all_hosts_or_for_one() {
    let wanted: WantedGid = "1,n2=0".parse().unwrap();
    assert_eq!((wanted.of("n1"), wanted.of("n2")), (Some(1), Some(0)));
    assert_eq!(wanted.hosts().collect::<Vec<_>>(), ["n2"]);
    assert_eq!("n2=7".parse::<WantedGid>().unwrap().of("n1"), None);
    for bad in ["", "x", "n1=", "=1", "-1", "1,2", "n1=1,n1=2", "4294967296"] {
        assert!(bad.parse::<WantedGid>().is_err(), "{bad}");
    }
}
