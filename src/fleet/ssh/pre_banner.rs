//! Text that a host sends before its SSH banner. libssh2 takes one byte of it per call, so that
//! endless text would keep libssh2 busy until the deadline.

/// Limit of the text before the banner, in bytes. A server above it is no SSH server.
const LIMIT: usize = 64 * 1024;
const KEPT: usize = 256;

#[derive(Debug, Default)]
pub(super) struct PreBanner {
    first: Vec<u8>,
    /// Beginning of the current line, at most as long as the beginning of a banner.
    line: Vec<u8>,
    count: usize,
    pub(super) speaks_ssh: bool,
}

impl PreBanner {
    /// Searches new bytes for the banner. Returns false if no banner is to be expected.
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
        self.count <= LIMIT
    }

    pub(super) fn is_garbage(&self) -> bool {
        !self.speaks_ssh && self.count > LIMIT
    }

    /// Returns the first line, escaped.
    pub(super) fn words(&self) -> String {
        let text = String::from_utf8_lossy(&self.first);
        text.lines().next().unwrap_or_default().trim().escape_debug().to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_banner_may_come_late_and_in_pieces() {
        let mut greeting = PreBanner::default();
        assert!(greeting.scan(b"Not an SSH- line\r\nS") && !greeting.speaks_ssh);
        assert!(greeting.scan(b"SH-2.0-x") && greeting.speaks_ssh);
        assert!(greeting.scan(&vec![0; 2 * LIMIT]) && !greeting.is_garbage());
        assert_eq!(greeting.words(), "Not an SSH- line");
    }

    #[test]
    fn endless_noise_is_garbage() {
        let mut greeting = PreBanner::default();
        assert!(greeting.scan(&vec![b'A'; LIMIT]));
        assert!(!greeting.scan(b"A") && greeting.is_garbage());
    }
}
