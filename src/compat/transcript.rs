//! Output of a compat tool: stdout, stderr and exit code. `cmd` prints it.

use super::ToolError;

/// Output of a tool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Transcript {
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// Exit code.
    pub code: u8,
}

impl Transcript {
    /// Appends to stdout.
    pub(super) fn print(&mut self, text: impl AsRef<str>) {
        self.stdout.push_str(text.as_ref());
    }

    /// Appends to stderr.
    pub(super) fn warn(&mut self, text: impl AsRef<str>) {
        self.stderr.push_str(text.as_ref());
    }

    /// Ends the tool with an exit code and a last text on stderr.
    pub(super) fn end(&mut self, code: u8, text: impl AsRef<str>) -> ToolError {
        self.warn(text);
        self.code = code;
        ToolError::Said
    }
}
