/// What a tool says, and how it ends.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Transcript {
    /// Its answer.
    pub stdout: String,
    /// What it says beside that.
    pub stderr: String,
    /// Its exit code.
    pub code: u8,
}

impl Transcript {
    /// Adds to the answer.
    pub(super) fn print(&mut self, text: impl AsRef<str>) {
        self.stdout.push_str(text.as_ref());
    }

    /// Says something on stderr.
    pub(super) fn warn(&mut self, text: impl AsRef<str>) {
        self.stderr.push_str(text.as_ref());
    }
}
