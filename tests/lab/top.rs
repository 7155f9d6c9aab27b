//! Runs `rdmactl top` on the nodes, in a terminal.

use std::path::Path;

use portable_pty::CommandBuilder;

use crate::cluster::{self, Cluster};
use crate::terminal::Terminal;

/// Starts `top` in a directory. The key w writes recordings to this directory.
pub(crate) fn start(lab: &Cluster, folder: &Path, arguments: &[&str]) -> Terminal {
    let mut command = CommandBuilder::new(cluster::binary());
    command.args(arguments);
    command.args(["--timeout", cluster::TIMEOUT, "-F"]);
    command.arg(lab.ssh_config());
    Terminal::run(folder, command)
}

/// Waits until each host has responded or failed.
pub(crate) fn await_hosts(terminal: &Terminal) {
    terminal.await_screen("response or failure of each host", |screen| {
        let text = screen.contents();
        text.contains("hosts up") && !text.contains("connecting")
    });
}
