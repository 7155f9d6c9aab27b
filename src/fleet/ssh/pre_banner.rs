//! Limits the text that a host sends before its SSH banner. libssh2 reads this text byte by byte,
//! so that endless text would keep libssh2 busy until the deadline. `session_io` scans all input.

/// Maximum size of the text before the banner, in bytes. A server that sends more is no SSH
/// server.
const LIMIT: usize = 64 * 1024;

/// Number of bytes kept for error messages.
const KEPT: usize = 256;

/// Scanner of the text before the banner.
#[derive(Debug, Default)]
pub(super) struct PreBanner {
    /// First bytes, for error messages.
    first: Vec<u8>,
    /// First bytes of the current line, as many as `SSH-` has.
    line: Vec<u8>,
    /// Number of bytes that were scanned until the banner was found.
    count: usize,
    /// True after the beginning of a banner.
    pub(super) speaks_ssh: bool,
}

impl PreBanner {
    /// Searches new bytes for the banner. Returns false if the host sent too much text before it.
    pub(super) fn scan(&mut self, bytes: &[u8]) -> bool {
        if self.speaks_ssh {
            return true;
        }
        let kept = KEPT.saturating_sub(self.first.len()).min(bytes.len());
        self.first.extend_from_slice(&bytes[..kept]);
        self.count = self.count.saturating_add(bytes.len());
        for byte in bytes {
            match byte {
                b'\n' => self.line.clear(),
                byte if self.line.len() < 4 => self.line.push(*byte),
                _ => {}
            }
            if self.line == b"SSH-" {
                self.speaks_ssh = true;
                return true;
            }
        }
        !self.is_garbage()
    }

    /// True if the host sent too much text without a banner.
    pub(super) fn is_garbage(&self) -> bool {
        !self.speaks_ssh && self.count > LIMIT
    }

    /// Returns the first line of the kept bytes.
    pub(super) fn words(&self) -> String {
        let text = String::from_utf8_lossy(&self.first);
        text.lines().next().unwrap_or_default().trim().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_banner_may_come_late_and_in_pieces() {
        let mut text = PreBanner::default();
        assert!(text.scan(b"Not an SSH- line\r\nS") && !text.speaks_ssh);
        assert!(text.scan(b"SH-2.0-x") && text.speaks_ssh);
        assert!(text.scan(&vec![0; 2 * LIMIT]) && !text.is_garbage());
        assert_eq!(text.words(), "Not an SSH- line");
    }

    #[test]
    fn endless_noise_is_garbage() {
        let mut text = PreBanner::default();
        assert!(text.scan(&vec![b'A'; LIMIT]));
        assert!(!text.scan(b"A") && text.is_garbage());
    }
}
