//! Splits a stream of bytes into lines. Used by the readers of lines in `wire`.

/// Length in bytes at which a line without an end is cut.
const NOISE_LINE: usize = 64 * 1024;

/// Splitter that keeps the begun line.
#[derive(Debug, Default)]
pub struct LineSplitter {
    rest: Vec<u8>,
}

impl LineSplitter {
    /// Adds bytes, and calls `each` with every complete line, without its newline.
    ///
    /// # Errors
    /// Returns the first error of `each` and does not call it again.
    pub fn push<E>(
        &mut self,
        bytes: &[u8],
        mut each: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.rest.extend_from_slice(part);
            let is_whole = self.rest.last() == Some(&b'\n');
            if is_whole || self.rest.len() >= NOISE_LINE {
                let line = std::mem::take(&mut self.rest);
                each(line.strip_suffix(b"\n").unwrap_or(&line))?;
            }
        }
        Ok(())
    }

    /// Returns the bytes after the last complete line.
    pub fn rest(&self) -> &[u8] {
        &self.rest
    }
}

#[test]
fn a_line_without_an_end_is_cut() {
    let mut splitter = LineSplitter::default();
    let mut lengths = Vec::new();
    let mut each = |line: &[u8]| {
        lengths.push(line.len());
        Ok::<(), ()>(())
    };
    for _ in 0..20 {
        splitter.push(&[b'x'; 8192], &mut each).unwrap();
    }
    assert_eq!(lengths, [NOISE_LINE, NOISE_LINE]);
    assert_eq!(splitter.rest().len(), 20 * 8192 - 2 * NOISE_LINE);
}
