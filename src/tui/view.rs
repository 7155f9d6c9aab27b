//! Views of `top`, and their restriction to some hosts.

/// View of `top`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum View {
    /// One row per host.
    Hosts,
    /// One row per port.
    Ports,
    /// One row per connection.
    Connections,
    /// Ping matrix: RDMA between all pairs of hosts.
    Matrix,
    /// Findings.
    Problems,
    /// Processes and kernel modules that hold RDMA resources.
    Resources,
}

impl View {
    /// All views, in the order of their digits.
    pub const ALL: [Self; 6] = [
        Self::Hosts,
        Self::Ports,
        Self::Connections,
        Self::Matrix,
        Self::Problems,
        Self::Resources,
    ];

    /// Words of the command line, in the order of [`ALL`](Self::ALL).
    pub const WORDS: [&str; 6] =
        ["hosts", "ports", "connections", "matrix", "problems", "resources"];

    /// Returns the view of a word of the command line.
    pub fn of_word(word: &str) -> Option<Self> {
        let at = Self::WORDS.iter().position(|one| *one == word)?;
        Some(Self::ALL[at])
    }

    /// Returns the name in tabs and breadcrumbs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hosts => "Hosts",
            Self::Ports => "Ports",
            Self::Connections => "Connections",
            Self::Matrix => "Matrix",
            Self::Problems => "Problems",
            Self::Resources => "Resources",
        }
    }

    /// Returns the digit of the view, from 1.
    pub fn number(self) -> usize {
        Self::ALL.iter().position(|view| *view == self).unwrap_or(0) + 1
    }

    /// Returns the view `step` places after this one; the last view is followed by the first.
    pub(super) fn beside(self, step: isize) -> Self {
        let count = Self::ALL.len().cast_signed();
        let at = (self.number().cast_signed() - 1 + step).rem_euclid(count);
        Self::ALL[at.cast_unsigned() % Self::ALL.len()]
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) enum HostFilter {
    #[default]
    All,
    Hosts(Vec<String>),
}

impl HostFilter {
    pub(super) fn admits(&self, host: &str) -> bool {
        match self {
            Self::All => true,
            Self::Hosts(hosts) => hosts.iter().any(|one| one == host),
        }
    }
}

#[test]
fn the_word_of_a_view_is_its_name() {
    for (view, word) in View::ALL.into_iter().zip(View::WORDS) {
        assert_eq!(View::of_word(word), Some(view));
        assert_eq!(view.name().to_lowercase(), word);
    }
}

#[test]
fn the_last_view_is_beside_the_first() {
    assert_eq!(View::Hosts.beside(-1), View::Resources);
    assert_eq!(View::Resources.beside(1), View::Hosts);
    assert_eq!(View::Ports.beside(1), View::Connections);
}
