use serde::{Deserialize, Serialize};

/// Declares what can be measured of a pair, each with its word.
macro_rules! tests {
    ($($(#[$doc:meta])* $name:ident = $word:literal,)*) => {
        /// What a run measures of each pair.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Test {
            $($(#[$doc])* #[serde(rename = $word)] $name,)*
        }

        impl Test {
            /// All there are.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The word on the command line.
            #[must_use]
            pub fn word(self) -> &'static str {
                match self {
                    $(Self::$name => $word,)*
                }
            }
        }
    };
}

tests! {
    /// Checked messages of three sizes over a reliable connection. All others begin with it, except
    /// [`Self::Mad`] alone.
    Connection = "conn",
    /// Round trips over that connection.
    Latency = "lat",
    /// How much goes through a reliable connection.
    Bandwidth = "bw",
    /// Round trips of TCP over the same interface.
    TcpLatency = "tcp-lat",
    /// How much goes through TCP over the same interface.
    TcpBandwidth = "tcp-bw",
    /// Loss and round trips of unreliable datagrams.
    Datagrams = "ud",
    /// Checked messages of three sizes over an unreliable connection.
    Unreliable = "uc",
    /// Round trips of management datagrams (MADs), as `ibping` sends them.
    Mad = "mad",
}

impl Test {
    /// What a run measures unless it is told otherwise.
    pub const USUAL: &[Self] = &[Self::Connection, Self::Latency, Self::TcpLatency];

    /// True for a test that sends as much as the link carries.
    #[must_use]
    pub fn fills_links(self) -> bool {
        matches!(self, Self::Bandwidth | Self::TcpBandwidth)
    }

    /// Returns true if these tests need no RDMA connection.
    #[must_use]
    pub fn is_mad_alone(tests: &[Self]) -> bool {
        !tests.is_empty() && tests.iter().all(|test| *test == Self::Mad)
    }

    /// The test of a word; else all the words there are.
    ///
    /// # Errors
    /// The word names no test.
    pub fn parse(word: &str) -> Result<Self, String> {
        Self::ALL.iter().copied().find(|test| test.word() == word).ok_or_else(|| {
            let words: Vec<&str> = Self::ALL.iter().map(|test| test.word()).collect();
            format!("unknown test; the tests are {}", words.join(", "))
        })
    }
}

#[test]
fn every_test_is_found_by_its_word() {
    for test in Test::ALL {
        assert_eq!(Test::parse(test.word()), Ok(*test));
    }
    assert!(Test::parse("latency").unwrap_err().ends_with("tcp-bw, ud, uc, mad"));
}
