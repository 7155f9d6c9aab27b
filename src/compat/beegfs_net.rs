//! `beegfs-net -n`: the connections of every `BeeGFS` client, as the kernel module lists them.
//!
//! Without `-n` the script calls `df` first to make the client connect, and hangs if a server is
//! dead. rdmactl never does this: it opens no connection.

use super::file_reader::strerror;
use super::{CompatError, Job, Tool, Transcript};

const CLIENTS: &str = "/proc/fs/beegfs";
const LISTS: [&str; 3] = ["mgmt_nodes", "meta_nodes", "storage_nodes"];

pub(super) fn run(job: &Job<'_>, out: &mut Transcript) -> Result<(), CompatError> {
    if let Some(option) = job.call.args.iter().find(|arg| *arg != "-n") {
        let option = option.clone();
        return Err(CompatError::NotOffered {
            tool: Tool::BeegfsNet.name(),
            option,
            instead: None,
        });
    }
    let clients = job.reading.names(CLIENTS).unwrap_or_default();
    out.print("\n");
    if clients.is_empty() {
        out.warn("No active BeeGFS mounts found.\n");
        out.code = 1;
        return Ok(());
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
                Err(error) => out.warn(format!("cat: {path}: {}\n", strerror(&error))),
            }
            out.print("\n");
        }
    }
    out.print("\n");
    Ok(())
}
