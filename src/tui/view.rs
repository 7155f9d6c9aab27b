//! The views, and which of their rows are looked at.

/// A view of all hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum View {
    /// One row for each host.
    Hosts,
    /// One row for each port.
    Ports,
    /// One row for each connection.
    Connections,
    /// Which hosts reach which by RDMA.
    Matrix,
    /// What is wrong.
    Problems,
    /// Who holds resources.
    Resources,
}

impl View {
    /// All of them, in the order of their digits.
    pub const ALL: [Self; 6] = [
        Self::Hosts,
        Self::Ports,
        Self::Connections,
        Self::Matrix,
        Self::Problems,
        Self::Resources,
    ];

    /// Its name, as tabs and breadcrumbs have it.
    #[must_use]
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

    /// Its digit.
    #[must_use]
    pub fn number(self) -> usize {
        Self::ALL.iter().position(|view| *view == self).unwrap_or(0) + 1
    }

    /// The one so many places further, around the corner.
    pub(super) fn beside(self, step: isize) -> Self {
        let count = Self::ALL.len().cast_signed();
        let at = (self.number().cast_signed() - 1 + step).rem_euclid(count);
        Self::ALL[at.cast_unsigned() % Self::ALL.len()]
    }
}

/// Which hosts a view is narrowed to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) enum Narrow {
    /// None: all are shown.
    #[default]
    All,
    /// These.
    Hosts(Vec<String>),
}

impl Narrow {
    /// Whether rows of a host are shown.
    pub(super) fn admits(&self, host: &str) -> bool {
        match self {
            Self::All => true,
            Self::Hosts(hosts) => hosts.iter().any(|one| one == host),
        }
    }
}

#[test]
fn the_last_view_is_beside_the_first() {
    assert_eq!(View::Hosts.beside(-1), View::Resources);
    assert_eq!(View::Resources.beside(1), View::Hosts);
    assert_eq!(View::Ports.beside(1), View::Connections);
}
