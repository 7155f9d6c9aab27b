//! `beegfs-net -n`: the connections of every `BeeGFS` client, as the kernel module lists them.
//!
//! Without `-n` the script calls `df` first to make the client connect, and hangs if a server is
//! dead. rdmactl never does this: it opens no connection.

use super::{Job, ToolError, Transcript};

const CLIENTS: &str = "/proc/fs/beegfs";
const LISTS: [&str; 3] = ["mgmt_nodes", "meta_nodes", "storage_nodes"];

pub(super) fn run(job: &Job<'_>, out: &mut Transcript) -> Result<(), ToolError> {
    if let Some(option) = job.call.args.iter().find(|arg| *arg != "-n") {
        return Err(job.refused(option, None));
    }
    let clients = job.reading.names(CLIENTS).unwrap_or_default();
    out.print("\n");
    if clients.is_empty() {
        return Err(out.end(1, "No active BeeGFS mounts found.\n"));
    }
    for (index, client) in clients.iter().enumerate() {
        if index > 0 {
            out.print("\n           ###################\n\n");
        }
        for list in LISTS {
            out.print(format!("{list}\n=============\n"));
            let path = format!("{CLIENTS}/{client}/{list}");
            match job.reading.file(&path) {
                // The script removes every line with this word, also names of servers.
                Ok(text) => text.lines().filter(|line| !line.contains("Root")).for_each(|line| {
                    out.print(format!("{line}\n"));
                }),
                Err(error) => out.warn_of_file(&path, &error),
            }
            out.print("\n");
        }
    }
    out.print("\n");
    Ok(())
}
