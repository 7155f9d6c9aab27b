//! Tests of a pair.
//! `cli` parses their words; `ping` runs the tests.

use serde::{Deserialize, Serialize};

json_words! {
    /// Test of a pair.
    #[derive(PartialOrd, Ord, Hash, Serialize, Deserialize)]
    pub enum Test {
        /// Checked messages of three sizes over a reliable connection. Every run begins with this
        /// test, unless [`Self::Mad`] is the only test.
        Connection = "conn",
        /// Round trips over the reliable connection.
        Latency = "lat",
        /// Throughput of a reliable connection.
        Bandwidth = "bw",
        /// TCP round trips over the same network interface.
        TcpLatency = "tcp-lat",
        /// TCP throughput over the same network interface.
        TcpBandwidth = "tcp-bw",
        /// Loss and round trips of unreliable datagrams.
        Datagrams = "ud",
        /// Checked messages of three sizes over an unreliable connection.
        Unreliable = "uc",
        /// Round trips of management datagrams (MADs), as `ibping` sends them.
        Mad = "mad",
    }
    /// Returns the word on the command line.
    pub fn word(self);
}

impl Test {
    /// Default tests.
    pub const USUAL: &[Self] = &[Self::Connection, Self::Latency, Self::TcpLatency];

    /// Returns true for a test that sends as much as the link carries.
    pub fn fills_links(self) -> bool {
        matches!(self, Self::Bandwidth | Self::TcpBandwidth)
    }

    /// Returns true if [`Self::Mad`] is the only test, which needs no RDMA connection.
    pub fn is_mad_alone(tests: &[Self]) -> bool {
        !tests.is_empty() && tests.iter().all(|test| *test == Self::Mad)
    }

    /// Parses the word of a test.
    ///
    /// # Errors
    /// The word names no test. The error lists all words.
    pub fn parse(word: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|test| test.word() == word);
        known.ok_or_else(|| format!("unknown test; the tests are {}", Self::WORDS.join(", ")))
    }
}

#[test]
fn every_test_is_found_by_its_word() {
    for test in Test::ALL {
        assert_eq!(Test::parse(test.word()), Ok(test));
    }
    assert!(Test::parse("latency").unwrap_err().ends_with("tcp-bw, ud, uc, mad"));
}
