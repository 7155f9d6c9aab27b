//! Pseudonyms of hosts, programs, kernel modules and paths, and the lists of public words that
//! stay.

use std::cell::RefCell;
use std::collections::HashSet;
use std::net::IpAddr;

use super::Redactor;
use crate::model::Service;

/// Last labels of host names that do not identify an owner.
const ENDS: &str = "com org net edu gov mil local localhost internal localdomain";

/// Words of the kernel that may also be host names; they stay in texts.
const WORDS: &str = "\
    class device devices infiniband net ports port gids types ndevs pkeys state active down \
    counters bus pci drivers module virtual node rate sys proc kernel link";

/// Words of node descriptions and card types that do not identify an owner.
const DESCRIPTION: &str = "\
    mellanox nvidia technologies connectx connectx-3 connectx-4 connectx-5 connectx-6 connectx-7 \
    connectx-8 bluefield infiniband infinihost hca hfi efa-rdma intel omni-path adapter virtual \
    switch node broadcom netxtreme-c/e roce iwarp driver rnic amd pensando fastlinq oneconnect \
    i40iw cxgb4 paravirtual vmware rdma";

/// Prefixes of part numbers: `QL41262`, `VMW_PVRDMA-1.0.1.0-k`, `0x1760`.
const PARTS: [&str; 5] = ["QL", "OCe", "InfiniPath_QLE", "VMW_PVRDMA-", "0x"];

const PROGRAMS: &str = "\
    rdmactl rping ucmatose rdma_server rdma_client rstream riostream udaddy mckey cmtime \
    ibv_rc_pingpong ibv_uc_pingpong ibv_ud_pingpong ibv_xsrq_pingpo ib_write_bw ib_write_lat \
    ib_read_bw ib_read_lat ib_send_bw ib_send_lat ib_atomic_bw ib_atomic_lat qperf iperf \
    ucx_perftest fi_pingpong opensm ibacm srp_daemon python perl ruby java node bash sh mpirun \
    mpiexec orted prted hydra_pmi_proxy slurmd slurmstepd pbs_mom systemd sshd nfsd kworker \
    ksoftirqd mount qemu-system-x containerd dockerd nvme iscsid tgtd smbd ceph-osd lnet \
    beegfs-storage beegfs-meta beegfs-mgmtd";

/// Kernel modules that own RDMA objects.
const MODULES: &str = "\
    ib_core ib_cm ib_mad ib_sa ib_ipoib ib_iser ib_isert ib_srp ib_srpt ib_umad ib_uverbs iw_cm \
    rdma_cm rdma_ucm rdma_rxe siw rpcrdma nvme_rdma nvmet_rdma rds_rdma smc ko2iblnd beegfs \
    mlx5_ib rnbd_client rtrs_core";

/// Top directories with programs and kernel data, without files of users.
const SYSTEM: &str = "sys proc dev usr lib lib64 bin sbin etc boot";

/// Top directories that every machine has, with names and files of users below.
const TOPS: &str = "home root mnt media scratch tmp var opt srv run data work";

/// Directories of the system in which administrators choose names: of units, automounts, file
/// systems and hosts.
const CHOSEN: [&str; 5] =
    ["/etc/", "/proc/fs/", "/sys/fs/cgroup/", "/sys/fs/lustre/", "/sys/kernel/debug/lustre/"];

/// Directory in [`CHOSEN`]. rdmactl reads only files of rdma-core there.
const PROVIDER_LISTS: &str = "/etc/libibverbs.d/";

/// Names in [`CHOSEN`] that stay, besides numbers and the units that a check judges.
const PUBLIC: &str = "\
    fstab os-release libibverbs.d nvme discovery.conf config.json infiniband-diags ibdiag.conf \
    error_thresholds rdma ib-node-name-map systemd system sockets.target.wants system.slice \
    cgroup.procs nfsd portlist clients info cifs DebugData beegfs config client_info lustre mgc \
    mdc osc mdt obdfilter import exports";

/// True if a list of words with blanks between them has this word.
pub(super) fn is_listed(words: &str, word: &str) -> bool {
    words.split(' ').any(|listed| listed == word)
}

/// Returns the directory of [`CHOSEN`] that holds a path; `None` for a path elsewhere.
pub(super) fn chosen_root(path: &str) -> Option<&'static str> {
    CHOSEN.into_iter().find(|root| path.starts_with(root) && !path.starts_with(PROVIDER_LISTS))
}

pub(super) struct Names {
    /// Labels of host names, in lower case.
    hosts: HashSet<String>,
    /// MAC addresses and GUIDs from places that hold nothing else.
    numbers: RefCell<HashSet<u64>>,
}

impl Names {
    pub(super) fn of<'names>(hosts: impl Iterator<Item = &'names str>) -> Self {
        let needs_attention = |label: &&str| {
            label.len() > 1
                && !label.bytes().all(|letter| letter.is_ascii_digit())
                && !is_listed(ENDS, label)
                && !is_listed(WORDS, label)
        };
        let mut labels = HashSet::new();
        for host in hosts.filter(|host| host.parse::<IpAddr>().is_err() && !host.contains('/')) {
            let host = host.to_lowercase();
            labels.extend(host.split(['.', '@', ':']).filter(needs_attention).map(str::to_owned));
        }
        Self { hosts: labels, numbers: RefCell::default() }
    }

    pub(super) fn learn(&self, number: u64) {
        self.numbers.borrow_mut().insert(number);
    }

    pub(super) fn know(&self, number: u64) -> bool {
        self.numbers.borrow().contains(&number)
    }

    pub(super) fn is_host(&self, label: &str) -> bool {
        self.hosts.contains(&label.to_lowercase())
    }
}

impl Redactor {
    /// Redacts the host in a header: a name, an address, or the root directory that was read.
    pub(super) fn host_name(&self, name: &str) -> String {
        if name.starts_with('/') {
            return self.path(name);
        }
        let text = self.text(name);
        if text != name && name.parse::<IpAddr>().is_ok() {
            return text;
        }
        let (name, port) = match name.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|digit| digit.is_ascii_digit()) => {
                (name, format!(":{port}"))
            }
            _ => (name, String::new()),
        };
        if name.parse::<IpAddr>().is_ok() {
            return format!("{}{port}", self.text(name));
        }
        let (user, name) = match name.split_once('@') {
            Some((user, name)) => (format!("{}@", self.label(user)), name),
            None => (String::new(), name),
        };
        let labels: Vec<String> = name.split('.').map(|label| self.label(label)).collect();
        format!("{user}{}{port}", labels.join("."))
    }

    /// Redacts a label of a host name, or a word that may be one.
    pub(super) fn label(&self, label: &str) -> String {
        let small = label.to_lowercase();
        if small.is_empty() || is_listed(ENDS, &small) {
            return label.to_owned();
        }
        format!("h{:012x}", self.secret.number("host", small.as_bytes()) >> 16)
    }

    /// Redacts text that a person wrote: every word that is not on a list becomes a pseudonym.
    pub(super) fn description(&self, text: &str) -> String {
        let word = |word: &str| {
            let small = word.to_lowercase();
            let stem = small.trim_end_matches(|letter: char| "0123456789-_".contains(letter));
            let is_device =
                stem.starts_with("mlx") || ["rxe", "siw", "hfi1", "hca"].contains(&stem);
            let is_known = is_listed(DESCRIPTION, &small) || is_listed(DESCRIPTION, stem);
            let is_model = small.strip_prefix("mt").is_some_and(|rest| {
                !rest.is_empty() && rest.bytes().all(|digit| digit.is_ascii_digit())
            });
            let is_part = PARTS.iter().any(|start| {
                let rest = word.strip_prefix(start);
                rest.is_some_and(|rest| rest.starts_with(|digit: char| digit.is_ascii_digit()))
            });
            if is_device || is_known || is_model || is_part || stem.is_empty() {
                return word.to_owned();
            }
            let labels: Vec<String> = word.split('.').map(|label| self.label(label)).collect();
            labels.join(".")
        };
        let lines = text.split('\n').map(|line| {
            let words: Vec<String> = line.split(' ').map(word).collect();
            words.join(" ")
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    pub(super) fn serial(&self, text: &str) -> String {
        if text.trim().is_empty() {
            return text.to_owned();
        }
        format!("serial-{:012x}\n", self.secret.number("serial", text.trim().as_bytes()) >> 16)
    }

    /// Redacts the name of a process; common programs keep their names.
    pub(super) fn program(&self, name: &str) -> String {
        let stem = name.trim_end_matches(|letter: char| "0123456789./:-uH".contains(letter));
        if is_listed(PROGRAMS, name) || is_listed(PROGRAMS, stem) || name.is_empty() {
            return name.to_owned();
        }
        // Linux limits a process name to 15 bytes.
        format!("prog-{:010x}", self.secret.number("program", name.as_bytes()) >> 24)
    }

    pub(super) fn module(&self, name: &str) -> String {
        if is_listed(MODULES, name) {
            return name.to_owned();
        }
        format!("mod_{:010x}", self.secret.number("module", name.as_bytes()) >> 24)
    }

    /// Redacts a path: a user path part by part, others only where they have names or addresses.
    pub(super) fn path(&self, path: &str) -> String {
        if let Some(path) = self.node_path(path).or_else(|| self.chosen_path(path)) {
            return path;
        }
        let mut parts = path.split('/');
        let is_absolute = path.starts_with('/');
        let first = if is_absolute { parts.nth(1).unwrap_or("") } else { "" };
        let is_system = !is_absolute
            || first.is_empty()
            || (is_listed(SYSTEM, first) && !path.starts_with("/usr/local/"));
        if is_system {
            let parts: Vec<String> = path.split('/').map(|part| self.token(part)).collect();
            return parts.join("/");
        }
        let hide = |part: &str| self.part(part);
        let top = if is_listed(TOPS, first) { first.to_owned() } else { hide(first) };
        let parts = [String::new(), top].into_iter().chain(parts.map(hide));
        parts.collect::<Vec<_>>().join("/")
    }

    /// Redacts the names that an administrator chose in a path; `None` outside of [`CHOSEN`].
    pub(super) fn chosen_path(&self, path: &str) -> Option<String> {
        let root = chosen_root(path)?;
        let parts = path[root.len()..].split('/').map(|part| self.chosen_name(part));
        Some(format!("{root}{}", parts.collect::<Vec<_>>().join("/")))
    }

    /// Redacts a name below [`CHOSEN`].
    pub(super) fn chosen_name(&self, name: &str) -> String {
        let is_public = is_listed(PUBLIC, name)
            || name.bytes().all(|byte| byte.is_ascii_digit())
            || Service::is_judged(name);
        if is_public { name.to_owned() } else { self.part(name) }
    }

    /// Returns the pseudonym of a part of a path.
    fn part(&self, part: &str) -> String {
        let tail = &part[part.trim_end_matches(['\n', ' ', ':', '.', '!']).len()..];
        let part = &part[..part.len() - tail.len()];
        if part.is_empty() {
            return tail.to_owned();
        }
        format!("p{:012x}{tail}", self.secret.number("path", part.as_bytes()) >> 16)
    }
}
