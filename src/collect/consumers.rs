//! Reads which file systems, storage protocols and sockets use RDMA on this host, or could use
//! it.
//!
//! Reading loads no kernel module, writes nothing and opens no connection. A query that would
//! load a module is sent only if the module is loaded. [`HostReport::consumers`] has the results.

mod beegfs;
mod iscsi;
mod lustre;
mod mounts;
mod nfs;
mod nvme;
mod rds;
mod smb;
mod smc;
mod sockets;
mod srp;

use super::Reader;
use crate::model::{Consumers, HostReport};
use crate::source::Question;

pub(super) fn read(reader: &mut Reader<'_>, report: &mut HostReport) {
    let mut found = Consumers { memory_bytes: read_memory(reader), ..Consumers::default() };
    let mounts = mounts::read(reader, &mut found);
    nfs::read(reader, &mut found);
    nvme::read(reader, &mut found);
    iscsi::read(reader, &mut found);
    srp::read(reader, &mut found);
    beegfs::read(reader, &mounts, &mut found);
    lustre::read(reader, &mut found);
    smb::read(reader, &mut found);
    smc::read(reader, &mut found);
    rds::read(reader, &mut found);
    sockets::read(reader, report, &mut found);
    report.consumers = Some(found);
}

fn read_memory(reader: &mut Reader<'_>) -> Option<u64> {
    let text = reader.content("consumers/memory", "/proc/meminfo")?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// True if `/sys/module` lists a kernel module, so that a query to the module loads nothing.
fn has_module(reader: &mut Reader<'_>, key: &str, name: &str) -> bool {
    reader.read(key, &Question::Dir(format!("/sys/module/{name}"))).is_some()
}

/// Returns the text before the first zero byte.
fn c_text(bytes: &[u8]) -> String {
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}
