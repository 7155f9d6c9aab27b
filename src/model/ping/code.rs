//! The table of verdicts: each code with its meaning and its fix.
//!
//! `ping`, `top`, docs/ping.md and the man page take the texts from here. This module does not
//! judge pairs: `analyse::verdict` does.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Fix for [`Code::Udp4791Blocked`] if a host's own firewall drops the packets.
pub const FIX_OWN_FIREWALL: &str = "on {host}, allow UDP port 4791 (RoCE) in and out; with \
                                    firewalld: firewall-cmd --add-port=4791/udp; with ufw: ufw allow 4791/udp; \
                                    else find the rule and delete it: nft list ruleset; iptables -S; ip6tables -S; \
                                    tc filter show dev {netdev} egress (delete: tc filter del dev {netdev} egress)";

/// Fix for [`Code::NoAck`] on EFA, which is neither TCP nor UDP.
pub const FIX_EFA: &str = "allow all traffic within the security group of {source} and {target}, both inbound and \
                           outbound; rules for TCP and UDP do not cover EFA; check that both instances are in one \
                           subnet";

/// Fix for [`Code::Resources`] if a control group limits RDMA objects (EAGAIN).
pub const FIX_CGROUP: &str = "on {host}, show and raise the limits of the control group: grep . \
                              /sys/fs/cgroup/*/rdma.max /sys/fs/cgroup/*/rdma.current";

/// Fix for [`Code::Resources`] if no more files may be open (EMFILE, ENFILE).
pub const FIX_OPEN_FILES: &str = "on {host}, raise the limit of open files: ulimit -n; '* - nofile \
                                  65536' in /etc/security/limits.d/rdma.conf; sysctl fs.file-max";

/// Fix for [`Code::Resources`] if no more threads may run (EAGAIN).
pub const FIX_THREADS: &str = "on {host}, show and raise the limits of processes and threads: ulimit -u; grep . \
                               /sys/fs/cgroup/user.slice/user-*.slice/pids.max; systemctl set-property \
                               user-$(id -u).slice TasksMax=4096";

/// Fix for [`Code::Resources`] if the adapter does not respond (EIO).
pub const FIX_FIRMWARE: &str = "on {host}, find why the adapter or its firmware failed: dmesg | \
                                grep -iE '{device}|firmware|health|infiniband'";

/// Fix for [`Code::LinkDown`] if the network interface is set down.
pub const FIX_SET_UP: &str = "on {host}: ip link set {netdev} up; if the port stays down, check the cable and the \
                              switch port: rdmactl ports -v -H {host}";

/// Fix for [`Code::NoAck`] with `RoCE` v1.
pub const FIX_ROCE_V1: &str = "RoCE v1 is Ethernet without IP (ethertype 0x8915), which no router forwards: connect \
                               {source} and {target} by one VLAN that no ACL filters, or give both ports GIDs of \
                               RoCE v2: rdmactl gids -H {source},{target}";

/// Fix for [`Code::NoNeighbour`] if the inventory shows different VLANs.
pub const FIX_VLAN: &str =
    "set the same VLAN id on {source} and {target}: ip -d link show {netdev}";

/// Fix for [`Code::RailDown`] if both ports pass other pairs.
pub const FIX_BETWEEN: &str = "compare the neighbor entry with the MAC address of the peer, and the route; on \
                               {source}: ip neigh show {address}; ip route get {address} from {own_address}; on \
                               {target}: ip neigh show {own_address}; ip route get {own_address} from {address}; \
                               ip link show {peer_netdev}";

/// Fix for [`Code::PeerDead`] if the host responds and rdmactl was killed.
pub const FIX_KILLED: &str = "on {host}, find what killed rdmactl: dmesg | grep -iE 'oom|killed'; journalctl -k \
                              --since -1h";

/// Declares the verdict codes, each with its word, its meaning and its fixes.
macro_rules! codes {
    ($($name:ident = $word:literal, $meaning:literal, [$($fix:expr),*];)*) => {
        json_words! {
            /// Every verdict that a pair can get.
            #[derive(Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
            pub enum Code {
                $(#[doc = $meaning] $name = $word,)*
            }
            /// Returns the code's word, as JSON and tables show it.
            pub fn word(self);
        }

        impl Code {
            /// Returns what was observed, as one or more sentences.
            pub fn meaning(self) -> &'static str {
                match self {
                    $(Self::$name => $meaning,)*
                }
            }

            /// Returns the fixes: the usual fix, then the fixes of special cases.
            ///
            /// `analyse::verdict` fills in the placeholders: `{source}`, `{target}`, `{host}`
            /// (the end at which the failure was seen), `{peer}` (the other end), `{device}` and
            /// `{netdev}` (of the host), `{own_address}` (of the host), `{address}` and
            /// `{peer_netdev}` (of the peer), `{low_host}` and
            /// `{low_netdev}` (the end with the smaller MTU) and `{high_mtu}` (the larger MTU).
            pub fn fixes(self) -> &'static [&'static str] {
                match self {
                    $(Self::$name => &[$($fix),*],)*
                }
            }
        }
    };
}

codes! {
    Ok = "ok",
        "The target echoed every message of every size, with the number of this run and the correct bytes.",
        [];
    NoTransport = "n/a.transport",
        "The two hosts have no RDMA protocol in common (RoCE and iWARP), or a driver lacks a required feature. Not a \
         failure.",
        [];
    Unreached = "peer.unreached",
        "The agent did not start on the host in time. Possible causes: name resolution, connection, SSH, login, \
         permission, a missing program, or a slow host.",
        ["list the cause: rdmactl devices -H {host}"];
    PeerDead = "peer.dead",
        "The host responded before and does not respond now: neither the agent nor SSH responded for five \
         seconds, or SIGKILL ended rdmactl on the host. A host that responds again gets a second attempt.",
        ["on the console of {host}, check that the host is up, and show the kernel log: dmesg | tail -50", FIX_KILLED];
    AgentFailed = "peer.agent_failed",
        "The host responds, but rdmactl on the host ended with an error, for example because of a limit of the login.",
        ["on {host}, as the user of the login, show the limits and the kernel log: ulimit -a; dmesg | tail -50"];
    ConnectionLost = "peer.connection_lost",
        "The connection to the agent ended during the run: the SSH session was closed or killed, or the network reset \
         the connection. The host responds.",
        ["on {host}, find what ended the session: journalctl -u ssh -u sshd --since -1h"];
    PeerHung = "peer.hung",
        "The host responds, but the processes of rdmactl on the host do not run: they are stopped or hang, or a busy host \
         gives them no CPU time.",
        ["on {host}, check the CPU load, then look for stopped or swapped-out processes and soft lockups: uptime; ps -eo pid,stat,wchan:30,comm | awk \
          '$2 ~ /^[DT]/'; dmesg"];
    Udp4791Blocked = "roce.udp4791_blocked",
        "TCP passes and RoCE does not: probably a firewall drops UDP port 4791. Applications fall back to TCP. On \
         soft-RoCE, rdmactl sends a plain datagram before it connects. If a firewall of the host drops the datagram, \
         the stage is `connect`.",
        ["allow UDP port 4791 (RoCE) between {source} and {target}, on both hosts and on the switches; list the rules \
          of a host: nft list ruleset; iptables -L; ip6tables -L", FIX_OWN_FIREWALL];
    Bridge = "roce.bridge",
        "TCP passes and RoCE does not, and the address of one end is on a bridge above its RDMA port: probably the \
         port does not send RoCE packets through the bridge.",
        ["move the address from the bridge to the network interface of the port, or use a port without a bridge; on \
          {host}: ip addr show dev {netdev}; ip link show master {netdev}"];
    MacDuplicate = "l2.mac_duplicate",
        "RoCE packets get no reply, and the network interface of one end has the MAC address of another host of the \
         run: packets reach either host.",
        ["give each network interface a MAC address of its own; on {host}: ip link show dev {netdev}; ip link set dev \
          {netdev} address MAC"];
    MtuBlackhole = "mtu.blackhole",
        "Small messages pass, messages of one path MTU do not: a link on the path carries less than both ends assume.",
        ["compare the MTU of {source}, {target} and every switch port between them; on {host}: ip link show {netdev}; \
          ping -M do -s $((MTU-28)) {address}"];
    MtuMismatch = "mtu.mismatch",
        "The ends have different path MTUs, `--mtu` is larger than a port supports, or the MTU of a network interface \
         is below 352 bytes, too small for RDMA.",
        ["set the MTU of both network interfaces to one value; on {low_host}: ip link set {low_netdev} mtu {high_mtu}; \
          compare both ports: rdmactl ports -v -H {source},{target}"];
    NoNeighbour = "l2.no_neighbour",
        "The peer does not reply to ARP or neighbor discovery: it is down, in another VLAN, filtered, or the neighbor \
         table of the host is full.",
        ["check that {peer} is up and in the same VLAN, and that ARP is not filtered; on {host}: ip neigh show dev \
          {netdev}; sysctl net.ipv4.neigh.default.gc_thresh3", FIX_VLAN];
    NoRoute = "ip.no_route",
        "No route leads from the network interface of the port to the peer.",
        ["give both ports addresses of one subnet, or add a route; on {host}: ip route get fibmatch {address} oif \
          {netdev}"];
    Prohibited = "ip.prohibited",
        "A route of type unreachable or prohibit covers the peer's address.",
        ["find the route and delete it; on {host}: ip route get {address} oif {netdev}; ip route show table all | grep \
          -E 'unreachable|prohibit'"];
    LinkDown = "local.link_down",
        "The port or its network interface is down on this rail.",
        ["check the cable and the switch port, then set the interface up; on {host}: ip link set {netdev} up; show the \
          ports: rdmactl ports -v -H {host}", FIX_SET_UP];
    Asymmetric = "path.asymmetric",
        "Datagrams or packets pass in one direction only.",
        ["on the end that receives nothing, check packet filters, the route back and rp_filter: nft list ruleset; ip \
          route; sysctl net.ipv4.conf.all.rp_filter"];
    NoSubnetManager = "ib.no_sm",
        "The port is in state INIT: no subnet manager has configured it.",
        ["start a subnet manager on one host or switch of the fabric (systemctl start opensm; Omni-Path: opafm), or \
          find the active one: sminfo"];
    PKey = "ib.pkey",
        "The two ports share no partition in which they may communicate.",
        ["in the subnet manager, make {source} or {target} a full member of a partition of both (opensm: \
          partitions.conf); or select another P_Key: --pkey"];
    NoDatagrams = "ud.no_answer",
        "Reliable connections pass; UD datagrams, which `--test ud` requested, do not.",
        ["check whether a port counts invalid Q_Keys: rdmactl counters -H {source},{target} -w 'counter~key'"];
    NoUnreliable = "uc.no_answer",
        "Reliable connections pass; unreliable connections, which `--test uc` requested, do not.",
        ["compare drivers and firmware: rdmactl devices -v -H {source},{target}"];
    NoMadReply = "mad.no_reply",
        "The source sends management datagrams (MADs), which `--mad` or `--test mad` requested, and receives no \
         reply, or the kernel of the target replies that no process serves the class of ibping.",
        ["compare LIDs, partitions and packet filters of both ports: rdmactl ports -v -H {source},{target}; on \
          {target}: nft list ruleset; pgrep -a ibping"];
    GidIndex = "gid.index",
        "The GID index is empty, or the GID moved during the run.",
        ["list the GIDs, then retry: rdmactl gids -H {host}; without --gid-index, rdmactl selects the index"];
    GidFamily = "gid.family",
        "The GIDs of the two ends cannot communicate: one is RoCE v1 and one RoCE v2, or one is link-local and one \
         IPv4.",
        ["give both ports addresses of one family and the same RoCE version, or omit --gid-index: rdmactl gids -H \
          {source},{target}"];
    LinkLocal = "gid.link_local",
        "Both GIDs are link-local, and the peer does not reply on the link.",
        ["if the ports are on different links, give both an IP address; otherwise find what drops neighbor discovery; \
          on {host}: ip -6 neigh show dev {netdev}"];
    DeviceGone = "local.device_gone",
        "The RDMA device was removed from the host during the run, or removed and added again.",
        ["on {host}, find why the device was removed, and list the devices: dmesg | grep -iE '{device}|infiniband'; \
          rdma dev show"];
    Permission = "local.permission",
        "The login may not open the RDMA device, or the device file does not exist.",
        ["on {host}, load the module and check the device files: modprobe ib_uverbs; ls -l /dev/infiniband; in a \
          container, pass the files: docker run --device=/dev/infiniband"];
    NoUmad = "local.no_umad",
        "The port has no device file for management datagrams (MADs), which `--mad` needs: the module ib_umad is not \
         loaded, or a container lacks the file.",
        ["on {host}, load the module and list the device files: modprobe ib_umad; ls -l /dev/infiniband"];
    Memlock = "local.memlock",
        "The login may not pin enough memory. Drivers pin the memory of queues as well.",
        ["on {host}, raise the limit of locked memory: ulimit -l; '* - memlock unlimited' in \
          /etc/security/limits.d/rdma.conf; LimitMEMLOCK=infinity for services"];
    Library = "local.library",
        "The host lacks libibverbs; on iWARP, the host lacks libibverbs or librdmacm.",
        ["on {host}, install the libraries: apt install ibverbs-providers librdmacm1 (Debian), dnf install libibverbs \
          librdmacm (RHEL)"];
    Resources = "local.resources",
        "The host cannot create another object (queue pair, completion queue, memory region) or thread: the adapter, a \
         control group or a limit of the login allows no more, or the adapter does not respond.",
        ["on {host}, list the processes that hold RDMA objects: rdma resource show", FIX_CGROUP, FIX_OPEN_FILES, FIX_THREADS,
         FIX_FIRMWARE];
    NoPort = "local.no_port",
        "The host has no RDMA device, or no active port with a usable GID.",
        ["check the driver, the cable and the address of the ports: rdmactl ports -v -H {host}"];
    NoListener = "peer.no_listener",
        "iWARP: the peer refused the connection, although rdmactl listens on the peer.",
        ["on {peer}, look for a firewall rule that rejects connections: nft list ruleset; iptables -L"];
    RailDown = "rail.down",
        "The host responds over SSH, but neither RDMA nor TCP passes between the two ports.",
        ["check the link, the switch port and the VLAN of {source} and {target}; on {host}: ip -s link show {netdev}; \
          ethtool {netdev}", FIX_BETWEEN];
    NoAck = "rc.no_ack",
        "Messages over the connection are not acknowledged, although TCP or datagrams may pass.",
        ["check which counters grow and whether a firewall or ACL drops RDMA connections: rdmactl counters -H \
          {source},{target} -w 'counter~retr or counter~timeout'", FIX_EFA, FIX_ROCE_V1];
    NotPosting = "peer.not_posting",
        "The target's adapter accepts messages, but the process on the target posts no receive or does not reply: \
         probably it gets no CPU time.",
        ["on {target}, check the CPU load: uptime; top"];
    Loss = "fabric.loss",
        "Some messages pass; other messages, or only their acknowledgments, are lost.",
        ["find the port or switch whose error counters grow: rdmactl counters -H {source},{target} --watch -w \
          'delta>0'; if none grows, look for a filter that drops small packets: nft list ruleset; tc -s filter show \
          dev {netdev} ingress"];
    Corrupted = "data.corrupted",
        "The bytes of a reply differ from the bytes that were sent.",
        ["drain {source} and {target} until memory and PCIe are verified; on both: dmesg | grep -iE 'aer|edac|mce'"];
    DriverStuck = "driver.stuck",
        "A work request or a system call does not complete in time: driver or firmware, or a host without CPU time.",
        ["on {host}, as root, check the CPU load; if it is low, find where rdmactl hangs, then update driver and \
          firmware: uptime; dmesg; for pid in $(pgrep rdmactl); do cat /proc/$pid/task/*/stack; done"];
    Agent = "agent.bug",
        "The two agents disagreed about a step.",
        ["report a bug with this file: rdmactl capture -H {source},{target} --redact --save bug.ndjson"];
    NotTested = "not_tested",
        "The run or its `--budget` ended before this pair was tested, or both attempts were interrupted: rdmactl \
         itself was stopped or suspended, or the network between rdmactl and the agents was interrupted.",
        [];
}

impl Code {
    /// Returns the number of the code for a column of numbers, in which 0 means no code.
    pub fn number(self) -> u16 {
        self as u16 + 1
    }

    /// Returns the code with a number; `None` for an unknown number.
    pub fn of_number(number: u16) -> Option<Self> {
        Self::ALL.get(usize::from(number).checked_sub(1)?).copied()
    }

    /// Returns true if applications between the two hosts would have no RDMA.
    pub fn is_failure(self) -> bool {
        !matches!(self, Self::Ok | Self::NoTransport | Self::NotTested)
    }

    /// Returns true if the pair was tested.
    pub fn was_tested(self) -> bool {
        self != Self::NotTested
    }

    /// Returns true if the address of the target does not respond, which takes seconds to detect.
    pub fn is_no_response(self) -> bool {
        matches!(self, Self::NoNeighbour | Self::LinkLocal | Self::NoRoute | Self::RailDown)
    }

    /// Returns true if a missing reply led to the verdict. A busy CPU can delay a reply as well.
    pub fn may_be_random(self) -> bool {
        matches!(
            self,
            Self::Udp4791Blocked
                | Self::MtuBlackhole
                | Self::NoNeighbour
                | Self::LinkLocal
                | Self::RailDown
                | Self::NoAck
                | Self::Asymmetric
                | Self::NoDatagrams
                | Self::NoUnreliable
                | Self::NoMadReply
                | Self::NotPosting
                | Self::DriverStuck
                | Self::Loss
        )
    }

    /// Returns true if the verdict can also result from a time in which rdmactl did not run.
    pub fn may_be_pause(self) -> bool {
        self.may_be_random()
            || matches!(
                self,
                Self::PeerDead | Self::PeerHung | Self::ConnectionLost | Self::NoListener
            )
    }
}
