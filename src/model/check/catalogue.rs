//! Table of all checks. `check --list`, `--explain` and docs/checks.md come from it.
//!
//! The brackets hold the parts of a report that a check needs. Parts after a semicolon refine
//! its result; the check works without them.

use super::{Check, CheckScope};
use crate::model::{Part, Severity};

macro_rules! checks {
    ($($id:literal $severity:ident $scope:ident [$($need:ident)* $(; $($more:ident)+)?] {
        title: $title:literal,
        applies_to: $applies_to:literal,
        rule: $rule:literal,
        origin: $origin:literal,
        consequence: $consequence:literal,
        remedy: $remedy:literal,
        $(explains: [$($explains:literal),*],)?
    })*) => {
        /// Every check, by group.
        pub const CHECKS: &[Check] = &[$(Check {
            id: $id,
            title: $title,
            severity: Severity::$severity,
            scope: CheckScope::$scope,
            applies_to: $applies_to,
            rule: $rule,
            origin: $origin,
            consequence: $consequence,
            remedy: $remedy,
            explains: &[$($($explains),*)?],
            needs: &[$(Part::$need),*],
            parts: &[$(Part::$need,)* $($(Part::$more),+)?],
        }),*];
    };
}

checks! {
    "host.silent" Fail Host [] {
        title: "The host responds.",
        applies_to: "every requested host",
        rule: "rdmactl got no report of the host within --timeout",
        origin: "rdmactl",
        consequence: "nothing about the host is known",
        remedy: "the message names the failed step: connect, log in, start the agent",
    }
    "host.no_device" Warn Host [] {
        title: "The host has an RDMA device.",
        applies_to: "every host",
        rule: "/sys/class/infiniband is empty or does not exist",
        origin: "kernel: drivers/infiniband/core/device.c",
        consequence: "all applications of the host use TCP",
        remedy: "modprobe the driver of the card, which lspci -k names; for software RDMA: rdma link add rxe0 type rxe netdev NETDEV",
        explains: ["device.count_differs", "device.idle_function"],
    }
    "unreadable" Unknown Host [] {
        title: "All requested data can be read.",
        applies_to: "every host",
        rule: "a file, a query or a library exists but gives an error",
        origin: "rdmactl",
        consequence: "checks of this data are unknown",
        remedy: "run rdmactl as root (over SSH: --sudo), or as the message says",
    }
    "device.gone" Fail Port [] {
        title: "No device was removed while rdmactl ran.",
        applies_to: "devices that an earlier sample had",
        rule: "the device is missing in a later sample",
        origin: "rdmactl",
        consequence: "all queue pairs of the device are closed",
        remedy: "read the kernel log: dmesg | grep DEVICE",
        explains: ["device.count_differs"],
    }
    "device.file_missing" Fail Host [; Verbs] {
        title: "Each device has its device file.",
        applies_to: "devices with a uverbs number",
        rule: "/dev/infiniband/uverbsN does not exist or has no driver",
        origin: "rdma-core: Documentation/libibverbs.md",
        consequence: "programs cannot open the device; in a container this is the usual cause of TCP",
        remedy: "on a host: mknod -m 666 /dev/infiniband/uverbsN c MAJOR MINOR, with the numbers of /sys/class/infiniband_verbs/uverbsN/dev; in a container: docker run --device=/dev/infiniband",
        explains: ["unreadable"],
    }
    "device.file_denied" Fail Host [; Verbs] {
        title: "The user may open the device files.",
        applies_to: "the user that runs rdmactl on the host",
        rule: "access to /dev/infiniband/uverbsN for reading and writing is denied (EACCES)",
        origin: "rdma-core: Documentation/libibverbs.md, Permissions (mode 0666)",
        consequence: "programs of this user cannot use RDMA",
        remedy: "usermod -aG GROUP USER; or in /etc/udev/rules.d: KERNEL==\"uverbs*\", MODE=\"0666\"",
        explains: ["unreadable"],
    }
    "device.no_provider" Fail Port [Verbs] {
        title: "libibverbs has a userspace provider for each device.",
        applies_to: "devices of drivers that rdma-core supports",
        rule: "neither libibverbs lists the device, nor do library and list entry of the provider exist",
        origin: "rdma-core: libibverbs/dynamic_driver.c",
        consequence: "ibv_devices does not list the device; programs use TCP",
        remedy: "apt install ibverbs-providers; dnf install libibverbs",
        explains: ["unreadable"],
    }
    "device.no_guid" Fail Port [; PciLinks] {
        title: "Each InfiniBand device has a node GUID.",
        applies_to: "InfiniBand devices, above all virtual functions",
        rule: "node_guid is 0; info for virtual functions on their host, which no guest may use yet",
        origin: "kernel: drivers/infiniband/hw/mlx5/ib_virt.c",
        consequence: "the subnet manager never activates the ports",
        remedy: "on the hypervisor: ip link set INTERFACE vf N node_guid GUID",
        explains: ["port.not_active", "port.down"],
    }
    "device.numa_unknown" Info Port [; PciLinks] {
        title: "The NUMA node of each device is known.",
        applies_to: "PCI devices of hosts with several NUMA nodes",
        rule: "numa_node is -1, and another device of the host is on a node above 0",
        origin: "mlnx_tune: warning of set_closest_numa",
        consequence: "programs cannot choose CPUs near the device",
        remedy: "update the BIOS; in a virtual machine, pass the NUMA topology",
    }
    "device.exhausted" Warn Port [Verbs Netlink] {
        title: "The device has room for more queue pairs and memory regions.",
        applies_to: "devices whose driver reports limits and counts",
        rule: "80 percent or more of max_qp, max_cq, max_mr or max_pd exist",
        origin: "rdmactl",
        consequence: "ibv_create_qp or ibv_reg_mr fails with ENOMEM",
        remedy: "rdmactl resources lists the processes that hold the objects",
    }
    "device.software" Info Port [] {
        title: "No software device runs on a host with RDMA hardware.",
        applies_to: "soft-RoCE and soft-iWARP devices",
        rule: "the host also has a hardware device",
        origin: "rdmactl",
        consequence: "a program that takes the first device may take the slow one",
        remedy: "rdma link delete DEVICE",
    }
    "gpu.far" Warn Host [Gpus] {
        title: "The nearest RDMA device of each GPU has an active port.",
        applies_to: "hosts with GPUs",
        rule: "the nearest device has no active port, and the next one is farther away; unknown if the path to a device is unknown",
        origin: "Azure: azure_hw_topology_check.nhc; NCCL topology",
        consequence: "traffic of the GPU crosses a host bridge or the CPU interconnect",
        remedy: "repair the port of the nearest device",
    }
    "port.down" Fail Port [; Counters Details Gids Netdevs PciLinks System] {
        title: "Each port has a link.",
        applies_to: "every port. A finding is info if no sign of use exists, all hosts that have the port report it down, and another port of the host works. Signs of use are an address, a bond, a bridge, a LID, a link loss and received data; unknown counters and addresses count as signs. The other port belongs to the same card. On RoCE, iWARP and usNIC, a port of another card suffices if no port of an equal board works, or if the port belongs to a virtual function. If the port is down on all of three or more hosts, any port of its protocol suffices. A finding about EFA, an unknown protocol, a plane or a software device is never info",
        rule: "the state is DOWN, the physical state is not Disabled, and on InfiniBand and Omni-Path it is not LinkUp",
        origin: "kernel: Documentation/ABI/stable/sysfs-class-infiniband",
        consequence: "no traffic passes the port",
        remedy: "connect or replace the cable; enable the switch port",
        explains: ["port.slow", "port.pci_slow", "port.link_lost", "port.errors", "gpu.far"],
    }
    "port.disabled" Fail Port [; Counters Details Gids Netdevs PciLinks System] {
        title: "Each port is enabled.",
        applies_to: "every port; info as for port.down. A finding is warn if a sign of use exists, all of two or more hosts report the port off, and another port works as for port.down",
        rule: "the state is DOWN, and the physical state is Disabled",
        origin: "gpud: check_thresholds.go",
        consequence: "no traffic passes the port",
        remedy: "Ethernet: ip link set NETDEV up; InfiniBand: ibportstate -C DEVICE -P PORT -D 0 PORT enable; Omni-Path: opaportconfig enable",
        explains: ["port.slow", "port.link_lost", "port.errors", "gpu.far"],
    }
    "port.not_active" Fail Port [; Counters Details Gids Netdevs PciLinks System] {
        title: "A subnet manager has activated each port with a link.",
        applies_to: "InfiniBand and Omni-Path ports; usNIC and iWARP ports, which need an address; info as for port.down",
        rule: "the state is INIT or ARMED; on InfiniBand and Omni-Path also DOWN with the physical state LinkUp",
        origin: "InfiniBand specification, volume 1, chapter 14; captures of BlueField-3",
        consequence: "no traffic passes the port",
        remedy: "rdmactl fabric sm; systemctl start opensm; for Omni-Path: systemctl start opafm",
        explains: ["port.slow", "gpu.far"],
    }
    "port.slow" Warn Port [; Netlink] {
        title: "Each port has the rate of comparable ports.",
        applies_to: "hardware ports, if three or more ports of the board have the usual rate; not the planes of a port",
        rule: "the rate is below that of most ports of the same board and protocol",
        origin: "rdmactl; majority of the hosts",
        consequence: "collective operations run at the rate of the slowest port",
        remedy: "reseat or replace the cable; compare the settings of both ends",
    }
    "port.pci_slow" Warn Port [PciLinks] {
        title: "The PCI Express path carries the rate of the port.",
        applies_to: "ports of PCI devices with a known rate; info if the link has all lanes of the card, at the highest speed of the host",
        rule: "the slowest PCI Express link up to the CPU has less than nine tenths of the data rate of the port, or of the link that the card supports",
        origin: "PCI Express specification: GT/s, lanes and encoding",
        consequence: "the port never reaches its rate; the host slows down its senders",
        remedy: "reseat the card; use a slot with more lanes; check the BIOS",
    }
    "port.link_lost" Info Port [Counters] {
        title: "The link never went down.",
        applies_to: "ports whose driver counts link losses",
        rule: "link_downed is above 0; the counter says neither when nor why",
        origin: "InfiniBand specification: PortCounters.LinkDownedCounter",
        consequence: "connections over the port were lost at that time",
        remedy: "rdmactl counters --watch shows whether it goes on",
    }
    "port.errors" Warn Port [Counters] {
        title: "No error counter rises.",
        applies_to: "ports of two samples (--sample, top)",
        rule: "an error counter rose between two samples",
        origin: "rdmactl",
        consequence: "packets are lost or sent again",
        remedy: "clean or replace the cable; compare flow control",
    }
    "counter.saturated" Info Port [Counters] {
        title: "No error counter is at its maximum.",
        applies_to: "InfiniBand counters of 4, 8, 16, 32 and 64 bits",
        rule: "the value is the maximum of the counter",
        origin: "InfiniBand specification: PortCounters",
        consequence: "new errors are not counted",
        remedy: "InfiniBand: perfquery -C DEVICE -P PORT -R; else load the driver again",
    }
    "port.lossy" Info Port [Details Ethernet; Netdevs] {
        title: "The RoCE traffic of each port is lossless.",
        applies_to: "active RoCE ports of hardware whose driver reports flow control",
        rule: "no priority flow control or pause covers the priority of the traffic; RoCE with ECN alone is a valid design",
        origin: "IEEE 802.1Qbb; kernel: net/dcb/dcbnl.c",
        consequence: "a congested switch drops packets, and RoCE sends them again",
        remedy: "rdmactl ports --lossless prints the commands",
    }
    "port.mtu_low" Info Port [Verbs; Netdevs] {
        title: "Each RoCE port has the largest RDMA path MTU.",
        applies_to: "RoCE ports",
        rule: "the RDMA path MTU is below max_mtu; warn if the interface has room for twice the path MTU, but not for the headers (2048 to 2143, 4096 to 4191)",
        origin: "kernel: include/rdma/ib_addr.h, iboe_get_mtu (96 bytes of headers)",
        consequence: "more packets for the same data",
        remedy: "on all hosts and switches: ip link set NETDEV mtu 4200",
    }
    "port.pkey_limited" Warn Port [Pkeys] {
        title: "Each port is a full member of a partition.",
        applies_to: "active InfiniBand and Omni-Path ports",
        rule: "no entry of the P_Key table has the highest bit; info if another port is a full member",
        origin: "InfiniBand specification, volume 1, 10.9; opensm: doc/partition-config.txt",
        consequence: "two limited members cannot communicate",
        remedy: "add the port GUID with =full to the partition in partitions.conf of the subnet manager",
    }
    "gid.none_usable" Fail Port [Gids; Netdevs PciLinks] {
        title: "Each RoCE port has a RoCE v2 GID with an IP address.",
        applies_to: "active RoCE ports",
        rule: "the port has no GID; warn if all GIDs are link-local (fe80::); info if all GIDs with an IP address are RoCE v1. Link-local GIDs are info if no RoCE port of the adapter type has an IP address and another port of the host works. If the interface is a member of another interface, no other port is necessary. Link-local GIDs of a member are also info for a virtual function and for the backup of a bond",
        origin: "NCCL: src/transport/net_ib/connect.cc, validGid",
        consequence: "rdma_cm, NCCL and UCX do not find an address",
        remedy: "ip addr add ADDRESS/PREFIX dev NETDEV",
    }
    "ipoib.pkey_missing" Fail Port [Pkeys Netdevs] {
        title: "The port has the partition of each IPoIB interface.",
        applies_to: "IPoIB interfaces of active ports",
        rule: "the P_Key of the interface is not in the table of the port",
        origin: "kernel: Documentation/infiniband/ipoib.rst",
        consequence: "the interface never gets a link",
        remedy: "add the port to the partition in partitions.conf of the subnet manager",
    }
    "ipoib.mtu" Warn Host [Netdevs] {
        title: "Each IPoIB interface has the MTU of its mode.",
        applies_to: "IPoIB interfaces",
        rule: "datagram mode: MTU below 2044; info in connected mode with an MTU of 2044 or less",
        origin: "kernel: Documentation/infiniband/ipoib.rst (2048 - 4; 65520)",
        consequence: "more packets for the same data",
        remedy: "ip link set NETDEV mtu 2044; connected mode: 65520",
    }
    "bond.member_down" Warn Host [Netdevs] {
        title: "All members of a bond have a link.",
        applies_to: "bonds of RoCE ports",
        rule: "a member has no carrier",
        origin: "kernel: Documentation/networking/bonding.rst",
        consequence: "less bandwidth or no second path",
        remedy: "repair the link of the member: ethtool MEMBER",
    }
    "bond.mode" Warn Host [Netdevs] {
        title: "Bonds of RoCE ports have a mode that RDMA supports.",
        applies_to: "bonds of RoCE ports",
        rule: "the mode is not 802.3ad, active-backup or balance-xor",
        origin: "kernel: drivers/net/ethernet/mellanox/mlx5/core/lag/lag.c",
        consequence: "RDMA uses one member only",
        remedy: "change the mode of the bond",
    }
    "connection.down" Fail Host [Connections; Resources Gids] {
        title: "All connections work.",
        applies_to: "mounts and sessions of NFS, BeeGFS, Lustre, NVMe-oF, iSER, SRP, SMB, RDS, SMC",
        rule: "the connection is down and does not use TCP instead",
        origin: "the kernel interface of each consumer",
        consequence: "the mount or session hangs",
        remedy: "as the finding says",
    }
    "connection.fallback_confirmed" Fail Host [Connections; Resources Gids] {
        title: "No connection fell back to TCP.",
        applies_to: "connections for which RDMA was requested",
        rule: "RDMA was requested and TCP is in use; both facts were observed",
        origin: "configuration and kernel interface of each consumer",
        consequence: "a fraction of the bandwidth, and more CPU load",
        remedy: "as the finding says; rdmactl connections -v shows the evidence",
    }
    "connection.degraded" Warn Host [Connections; Resources Gids] {
        title: "All channels of a connection over RDMA work.",
        applies_to: "connections over RDMA",
        rule: "a part of the connection fails",
        origin: "the kernel interface of each consumer",
        consequence: "less bandwidth, or no second path",
        remedy: "as the finding says",
    }
    "connection.mixed" Warn Host [Connections; Resources Gids] {
        title: "No connection uses RDMA and TCP at the same time.",
        applies_to: "connections and multipath devices",
        rule: "RDMA and TCP are in use by one connection or one storage device",
        origin: "the kernel interface of each consumer",
        consequence: "the slower path sets the latency",
        remedy: "as the finding says",
    }
    "connection.suspected" Warn Host [Connections; Resources Gids] {
        title: "No bulk data passes over TCP to a peer that RDMA reaches.",
        applies_to: "TCP connections between hosts with RDMA",
        rule: "bulk data over TCP, without proof of the request for RDMA",
        origin: "rdmactl",
        consequence: "probably a fallback to TCP",
        remedy: "as the finding says",
    }
    "connection.changed" Warn Host [Connections; Resources Gids] {
        title: "No connection changes its transport or verdict.",
        applies_to: "connections of two samples of top",
        rule: "transport or verdict of a connection changed within the last five minutes",
        origin: "rdmactl",
        consequence: "the application waited, or uses another transport now",
        remedy: "rdmactl connections -v shows the reason and the fix",
    }
    "beegfs.rdma_off" Warn Host [Connections] {
        title: "The clients of BeeGFS use RDMA.",
        applies_to: "clients of BeeGFS on hosts with an active RDMA port",
        rule: "connUseRDMA is false",
        origin: "BeeGFS documentation: RDMA support (default: true)",
        consequence: "a fraction of the bandwidth, and more CPU load",
        remedy: "connUseRDMA = true in beegfs-client.conf",
    }
    "beegfs.buffers" Info Host [Connections] {
        title: "The RDMA buffers of BeeGFS suit the adapter.",
        applies_to: "clients of BeeGFS that use RDMA",
        rule: "connRDMABufNum and connRDMABufSize are not the recommended ones; fail below 3 buffers",
        origin: "BeeGFS documentation: RDMA support; comments of beegfs-client.conf (3)",
        consequence: "less bandwidth; below 3 buffers, RDMA does not work",
        remedy: "set connRDMABufNum and connRDMABufSize in beegfs-client.conf",
    }
    "beegfs.memory" Warn Host [Connections] {
        title: "The RDMA buffers of BeeGFS leave memory for programs.",
        applies_to: "clients of BeeGFS that use RDMA",
        rule: "connections to all servers with connMaxInternodeNum pin 25 percent of the memory or more; connections open on demand",
        origin: "BeeGFS documentation: RDMA support, memory of buffers; share: rdmactl",
        consequence: "too little memory for programs",
        remedy: "lower connMaxInternodeNum, connRDMABufNum or connRDMABufSize",
    }
    "module.missing" Fail Host [Details System] {
        title: "The kernel modules that RDMA programs need are loaded.",
        applies_to: "hosts with an RDMA device",
        rule: "ib_uverbs is neither loaded nor built in; warn for rdma_ucm on hosts with IB, RoCE, iWARP or OPA ports, and for ib_umad on hosts with IB or OPA ports",
        origin: "rdma-core: kernel-boot/modules/rdma.conf, infiniband.conf",
        consequence: "programs cannot open devices, use rdma_cm or send MADs",
        remedy: "modprobe MODULE; for each boot: a file in /etc/modules-load.d",
        explains: ["device.no_provider"],
    }
    "device.idle_function" Warn Host [System; Netdevs] {
        title: "Each network card that supports RDMA has an RDMA device.",
        applies_to: "physical PCI functions of drivers with an RDMA module; InfiniBand controllers without a driver; not the further functions of a bond or of a Chelsio card, and not functions without RDMA",
        rule: "no RDMA device belongs to the function; info if no host has an RDMA device of this driver",
        origin: "rdma-core: kernel-boot/rdma-hw-modules.rules",
        consequence: "programs that need the card use TCP",
        remedy: "modprobe the module that the finding names",
    }
    "limit.locked_memory" Fail Host [System] {
        title: "A login may lock enough memory.",
        applies_to: "users without CAP_IPC_LOCK",
        rule: "the soft limit of the process of rdmactl is 8 MiB or less; warn below 128 MiB; info for any other limit",
        origin: "libibverbs: init.c, check_memlock_limit; UCX: running.md (128 MiB); systemd: default of 8 MiB",
        consequence: "ibv_reg_mr fails with ENOMEM, and programs use TCP",
        remedy: "memlock unlimited in /etc/security/limits.d",
    }
    "limit.service_locked_memory" Warn Host [System] {
        title: "Services that start jobs and containers may lock enough memory.",
        applies_to: "running units of Slurm, PBS, containerd, Docker, CRI-O, kubelet, K3s, RKE2",
        rule: "the soft limit of the main process is below 128 MiB",
        origin: "nvidia-container-toolkit issue 2037; UCX: running.md (128 MiB)",
        consequence: "jobs and containers inherit the limit; NCCL uses TCP",
        remedy: "LimitMEMLOCK=infinity in a drop-in of the unit",
    }
    "limit.service_open_files" Info Host [System] {
        title: "Servers of BeeGFS may open enough files.",
        applies_to: "running servers of BeeGFS on hosts with Omni-Path or TrueScale cards",
        rule: "the soft limit of the main process is below 262,144",
        origin: "BeeGFS documentation: RDMA support, large clusters with TrueScale",
        consequence: "the server cannot accept more connections",
        remedy: "LimitNOFILE=262144 in a drop-in of the unit",
    }
    "service.ibacm" Warn Host [System; Connections] {
        title: "ibacm does not run.",
        applies_to: "hosts with systemd",
        rule: "ibacm.service runs, or ibacm.socket is enabled; fail on clients of BeeGFS",
        origin: "BeeGFS documentation: RDMA support; libfabric issue 1109",
        consequence: "rdma_resolve_route waits, and connections stall",
        remedy: "systemctl disable --now ibacm.service ibacm.socket",
    }
    "service.iwpmd" Warn Host [System] {
        title: "The port mapper of iWARP runs.",
        applies_to: "hosts with iWARP cards and systemd",
        rule: "iwpmd.service does not run",
        origin: "rdma-core: iwpmd(8)",
        consequence: "iWARP and TCP programs use the same ports",
        remedy: "systemctl enable --now iwpmd",
    }
    "service.opensm" Warn Host [System] {
        title: "No host with Omni-Path alone runs opensm.",
        applies_to: "hosts with systemd and Omni-Path ports, without InfiniBand ports",
        rule: "opensm.service runs",
        origin: "Debian: RDMA, Omni-Path Fabric Manager",
        consequence: "opensm cannot manage Omni-Path; without opafm on some host, no port becomes active",
        remedy: "systemctl disable --now opensm; install the fabric manager of Omni-Path (opafm) on one host",
    }
    "network.arp" Warn Host [System] {
        title: "Each interface answers ARP requests for its own addresses only.",
        applies_to: "hosts with two or more RDMA interfaces in one IPv4 network",
        rule: "arp_ignore is 0, or arp_announce is below 2",
        origin: "rdma-core: librdmacm.md, Using multiple interfaces",
        consequence: "peers send to another adapter than the one they chose",
        remedy: "sysctl -w net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2",
    }
    "network.reverse_path" Warn Host [System] {
        title: "The kernel accepts packets on each rail.",
        applies_to: "hosts with two or more RDMA interfaces in one IPv4 network",
        rule: "rp_filter is 1",
        origin: "IBM: SMC-R documentation, reverse path filtering",
        consequence: "the kernel drops RoCE v2 packets of a rail, and TCP works",
        remedy: "sysctl -w net.ipv4.conf.all.rp_filter=2",
    }
    "network.overlaps" Warn Host [System] {
        title: "RDMA interfaces have networks of their own.",
        applies_to: "hosts whose RDMA interfaces have IPv4 addresses; link-local and multicast networks do not count",
        rule: "the network of an RDMA interface overlaps with that of another interface",
        origin: "Debian: HowTo/InfiniBand, IPoIB addresses",
        consequence: "traffic for RDMA hosts leaves through the management network",
        remedy: "give the RDMA interface a network of its own",
    }
    "setting.numa_balancing" Info Host [System] {
        title: "The kernel does not move memory between NUMA nodes.",
        applies_to: "hosts with several NUMA nodes",
        rule: "kernel.numa_balancing is not 0",
        origin: "RCCL: init.cc; mlnx_tune: SET_NUMA_BALANCING",
        consequence: "latency varies",
        remedy: "sysctl -w kernel.numa_balancing=0",
    }
    "setting.memory_maps" Info Host [System] {
        title: "A server with many clients may map enough memory.",
        applies_to: "hosts with Omni-Path or TrueScale cards",
        rule: "vm.max_map_count is below 1,000,000",
        origin: "BeeGFS documentation: large clusters",
        consequence: "the server cannot accept more connections",
        remedy: "sysctl -w vm.max_map_count=1000000",
    }
    "setting.governor" Info Host [System] {
        title: "The CPUs run at full frequency.",
        applies_to: "hosts whose kernel sets the frequency",
        rule: "the governor of CPU 0 is not performance",
        origin: "perftest and mlnx_tune: warnings",
        consequence: "latency is higher and varies",
        remedy: "cpupower frequency-set -g performance",
    }
    "dma.translated" Info Port [System] {
        title: "The IOMMU does not translate DMA addresses of RDMA devices.",
        applies_to: "PCI devices in an IOMMU group",
        rule: "the type of the group is not identity; warn on hosts with an NVIDIA driver",
        origin: "kernel: Documentation/ABI/testing/sysfs-kernel-iommu_groups; RCCL: init.cc (iommu=pt)",
        consequence: "lower bandwidth; GPUDirect RDMA can fail",
        remedy: "iommu=pt on the kernel command line",
    }
    "gpu.no_peer_memory" Warn Host [System] {
        title: "RDMA devices can access GPU memory.",
        applies_to: "hosts with an NVIDIA driver and an RDMA card",
        rule: "none of nvidia_peermem, nv_peer_mem and efa_nv_peermem is loaded, and the kernel module is not the open one",
        origin: "NCCL: net_ib/gdr.cc; NVIDIA GPU Operator: GPUDirect RDMA (dma-buf)",
        consequence: "GPU data goes through the memory of the host",
        remedy: "the open kernel module with dma-buf; or with MLNX_OFED: modprobe nvidia_peermem",
    }
    "log.firmware" Fail Host [System] {
        title: "The firmware of no card failed since boot.",
        applies_to: "hosts whose kernel log can be read",
        rule: "the kernel log has a message of the driver about a command timeout, lost health or a hardware error",
        origin: "kernel: mlx5 health.c, cmd.c; NVSentinel: fatal patterns",
        consequence: "the card does not work, even if its port looks active",
        remedy: "switch the power of the host off and on; update the firmware",
        explains: ["port.*"],
    }
    "log.firmware_file" Warn Host [System] {
        title: "The drivers found their firmware files.",
        applies_to: "hosts whose kernel log can be read",
        rule: "the kernel log says that a firmware file could not be loaded",
        origin: "kernel: drivers/base/firmware_loader/main.c",
        consequence: "the card does not start, or lacks features",
        remedy: "install the firmware package and load the driver again",
    }
    "log.probe" Fail Host [System] {
        title: "The drivers could start all cards.",
        applies_to: "hosts whose kernel log can be read",
        rule: "the kernel log says that a probe of an RDMA driver failed",
        origin: "kernel: drivers/base/dd.c",
        consequence: "the card has no RDMA device",
        remedy: "dmesg | grep PCI; update firmware and driver",
        explains: ["device.idle_function"],
    }
    "log.transmit_timeout" Warn Host [System] {
        title: "No transmit queue of an RDMA card stood still.",
        applies_to: "hosts whose kernel log can be read",
        rule: "the kernel log has NETDEV WATCHDOG for an interface of an RDMA driver",
        origin: "kernel: net/sched/sch_generic.c; NVSentinel: non-fatal patterns",
        consequence: "traffic of the interface stops for seconds",
        remedy: "ethtool -S NETDEV | grep pause; update firmware and driver",
    }
    "log.cable" Warn Host [System] {
        title: "No cable or transceiver reported an error.",
        applies_to: "hosts whose kernel log can be read",
        rule: "the kernel log has a port module event with an error",
        origin: "kernel: mlx5 events.c",
        consequence: "the link fails or is slow",
        remedy: "replace the cable or transceiver",
    }
    "log.temperature" Warn Host [System] {
        title: "No card was too hot.",
        applies_to: "hosts whose kernel log can be read",
        rule: "the kernel log has a warning of a temperature sensor or of a transceiver",
        origin: "kernel: mlx5 events.c, temp_warn",
        consequence: "the card slows down or stops",
        remedy: "check the air flow",
    }
    "log.slot_power" Info Host [System] {
        title: "The PCI slots give the cards enough power.",
        applies_to: "hosts whose kernel log can be read",
        rule: "the kernel log says that a slot promises too little power",
        origin: "kernel: mlx5 events.c; the message also occurs on systems without a fault (dgx-spark-playbooks issue 108)",
        consequence: "the card may slow down under load",
        remedy: "another slot, or a BIOS update",
    }
    "address.duplicate" Fail Fleet [Gids; Netdevs] {
        title: "No two hosts have the same address.",
        applies_to: "GIDs of two or more hosts",
        rule: "a GID that is not link-local exists on two hosts",
        origin: "RFC 5227",
        consequence: "packets arrive at either host",
        remedy: "remove the address from one host: ip addr del ADDRESS dev NETDEV",
        explains: ["gid.index_differs"],
    }
    "mac.duplicate" Fail Fleet [Netdevs] {
        title: "No two hosts have the same MAC address.",
        applies_to: "Ethernet interfaces of RDMA ports of two or more hosts, with a MAC address other than 0",
        rule: "interfaces of two hosts have the same MAC address; networks are not compared",
        origin: "IEEE 802.3",
        consequence: "the switch sends packets to either host",
        remedy: "set another address: ip link set NETDEV address MAC",
    }
    "guid.duplicate" Fail Fleet [] {
        title: "No two hosts have the same node GUID.",
        applies_to: "devices with a node GUID; software devices are compared too, because clones have equal GUIDs",
        rule: "two hosts have the same node GUID",
        origin: "opensm: ERR 0D01",
        consequence: "the subnet manager drops one of the nodes",
        remedy: "restore the GUID with the tool of the vendor; change the MAC address of a cloned virtual machine",
    }
    "lid.duplicate" Fail Fleet [Gids] {
        title: "No two ports of a subnet have the same LID.",
        applies_to: "InfiniBand and Omni-Path ports of two or more hosts, with a LID other than 0",
        rule: "ports of two hosts have the same LID, subnet prefix, LID of the subnet manager, device name and port number. Separate subnets may have equal LIDs and prefixes; the other three values distinguish them",
        origin: "InfiniBand specification, volume 1, chapter 14",
        consequence: "packets arrive at either port",
        remedy: "restart the subnet manager; if that does not help, let it assign all LIDs again",
    }
    "host.twice" Info Fleet [Gids] {
        title: "Each host was named once.",
        applies_to: "two or more host names",
        rule: "two names lead to a host with the same GUIDs and GIDs",
        origin: "rdmactl",
        consequence: "the host counts twice",
        remedy: "name the host once",
    }
    "mtu.differs" Warn Fleet [Verbs; Netdevs] {
        title: "The ports of a network have the same MTU.",
        applies_to: "InfiniBand and RoCE ports of two or more hosts, with the same device name and port number",
        rule: "the MTU differs from that of more than half of the ports",
        origin: "Broadcom: README of bnxt_re; kernel: iboe_get_mtu",
        consequence: "large messages fail, or run with the smaller path MTU",
        remedy: "ip link set NETDEV mtu MTU",
        explains: ["port.mtu_low"],
    }
    "firmware.differs" Warn Fleet [] {
        title: "Devices of one board have the same firmware.",
        applies_to: "three or more devices with one board ID",
        rule: "the version differs from that of two thirds of the devices",
        origin: "ibdiagnet: Nodes Information Check; majority of the hosts",
        consequence: "other defaults and other errors on one host",
        remedy: "mstflint -d PCI -i IMAGE burn",
    }
    "board.differs" Info Fleet [] {
        title: "Devices of one name are the same board on all hosts.",
        applies_to: "three or more hosts with a device of this name and driver",
        rule: "board_id differs from that of two thirds of the devices",
        origin: "kernel: sysfs-class-infiniband, board_id; majority of the hosts",
        consequence: "a spare part with other default settings",
        remedy: "check the part number",
    }
    "device.slot_differs" Info Fleet [Details] {
        title: "Devices of one name are in the same slot on all hosts.",
        applies_to: "three or more hosts with a device of this name and type",
        rule: "the PCI address differs from that of two thirds of the devices",
        origin: "GCM: MISBIND; majority of the hosts",
        consequence: "NCCL_IB_HCA and UCX_NET_DEVICES name another adapter; a card may be missing",
        remedy: "use names by PCI address (rdma-core: NAME_PCI)",
    }
    "kernel.differs" Warn Fleet [] {
        title: "All hosts run the same kernel.",
        applies_to: "three or more hosts",
        rule: "the release differs from that of two thirds of the hosts",
        origin: "imbue: config.json, Host Driver Version; majority of the hosts",
        consequence: "one host has other drivers and other errors",
        remedy: "install and boot the same kernel",
    }
    "device.count_differs" Warn Fleet [PciLinks; Netlink] {
        title: "All hosts have the same number of devices.",
        applies_to: "three or more hosts with hardware devices of one driver, without virtual functions; hosts without any hardware device have the number 0",
        rule: "the number differs from that of two thirds of the hosts, or from that of the policy",
        origin: "gpud: threshold_default.go; majority of the hosts",
        consequence: "jobs that expect all adapters fail or run slowly",
        remedy: "lspci; echo 1 > /sys/bus/pci/rescan; reseat the card",
        explains: ["device.slot_differs", "board.differs"],
    }
    "roce.version_differs" Fail Fleet [Gids] {
        title: "All RoCE ports support the RoCE version of their peers.",
        applies_to: "RoCE ports of two or more hosts",
        rule: "a port has RoCE v1 GIDs only, and another port has RoCE v2 GIDs",
        origin: "Red Hat: RHEL 7 networking guide 13.2",
        consequence: "rdma_cm connections to the port fail",
        remedy: "set default_roce_mode of the clients to IB/RoCE v1, or replace the adapter",
    }
    "roce.mode_differs" Warn Fleet [Details] {
        title: "All hosts have the same default RoCE mode.",
        applies_to: "ports with a configfs directory of rdma_cm",
        rule: "default_roce_mode differs from that of two thirds of the ports",
        origin: "kernel: drivers/infiniband/core/cma_configfs.c; majority of the hosts",
        consequence: "connections of one direction fail or are not routed",
        remedy: "write one mode to default_roce_mode of all hosts",
    }
    "roce.tos_differs" Info Fleet [Details] {
        title: "All hosts have the same default type of service.",
        applies_to: "ports with a configfs directory of rdma_cm",
        rule: "default_roce_tos differs from that of two thirds of the ports",
        origin: "mlnx-tools: cma_roce_tos; majority of the hosts",
        consequence: "traffic of one host is not in the lossless class",
        remedy: "write one value to default_roce_tos of all hosts",
    }
    "gid.index_differs" Info Fleet [Gids] {
        title: "The RoCE v2 GID has the same index on all hosts.",
        applies_to: "RoCE ports of one driver on three or more hosts",
        rule: "the index of the first RoCE v2 GID with an IP address differs from that of two thirds of the ports",
        origin: "NCCL: connect.cc; Mooncake issue 2747; majority of the hosts",
        consequence: "a fixed NCCL_IB_GID_INDEX or UCX_IB_GID_INDEX fails on these hosts",
        remedy: "unset the variables; the libraries then choose the index",
    }
    "lmc.differs" Info Fleet [Details] {
        title: "All ports of a subnet have the same LMC.",
        applies_to: "active InfiniBand ports",
        rule: "the LMC differs from that of two thirds of the ports",
        origin: "opensm: lmc; majority of the hosts",
        consequence: "some ports have fewer paths",
        remedy: "set lmc in opensm.conf",
    }
    "pfc.differs" Warn Fleet [Ethernet Netdevs] {
        title: "All RoCE interfaces have the same priorities with PFC.",
        applies_to: "RoCE interfaces whose driver reports PFC",
        rule: "the priorities differ from those of two thirds of the interfaces",
        origin: "iproute2: dcb-pfc(8); majority of the hosts",
        consequence: "one host loses packets, or stops its senders",
        remedy: "dcb pfc set dev NETDEV prio-pfc all:off PRIORITY:on",
    }
    "setting.differs" Warn Fleet [System] {
        title: "All hosts have the same kernel settings for networks and memory.",
        applies_to: "three or more hosts",
        rule: "a setting differs from that of two thirds of the hosts",
        origin: "majority of the hosts",
        consequence: "one host behaves differently under load",
        remedy: "sysctl -w SETTING=VALUE",
    }
    "governor.differs" Warn Fleet [System] {
        title: "All hosts have the same frequency governor.",
        applies_to: "three or more hosts whose kernel sets the frequency",
        rule: "the governor of CPU 0 differs from that of two thirds of the hosts",
        origin: "majority of the hosts",
        consequence: "one host has a higher latency",
        remedy: "cpupower frequency-set -g GOVERNOR",
        explains: ["setting.governor"],
    }
    "dma.differs" Warn Fleet [System] {
        title: "All devices of a driver have the same IOMMU type.",
        applies_to: "PCI devices of three or more hosts",
        rule: "the type differs from that of two thirds of the devices",
        origin: "majority of the hosts",
        consequence: "one host is slower",
        remedy: "the same iommu= option on all hosts",
        explains: ["dma.translated"],
    }
    "limit.differs" Warn Fleet [System] {
        title: "All hosts have the same limit of locked memory.",
        applies_to: "three or more hosts",
        rule: "the soft limit of the process of rdmactl differs from that of two thirds of the hosts",
        origin: "majority of the hosts",
        consequence: "programs fail on one host",
        remedy: "the same files in /etc/security/limits.d",
    }
    "ipoib.differs" Warn Fleet [Netdevs] {
        title: "All IPoIB interfaces of a partition have the same mode and MTU.",
        applies_to: "IPoIB interfaces of three or more hosts",
        rule: "mode and MTU differ from those of two thirds of the interfaces",
        origin: "kernel: Documentation/infiniband/ipoib.rst; majority of the hosts",
        consequence: "the bandwidth depends on the pair of hosts",
        remedy: "echo MODE > /sys/class/net/NETDEV/mode; ip link set NETDEV mtu MTU",
        explains: ["ipoib.mtu"],
    }
    "fabric.no_manager" Fail Subnet [Fabric] {
        title: "The subnet has a master subnet manager.",
        applies_to: "swept InfiniBand subnets",
        rule: "no port replies as master subnet manager",
        origin: "InfiniBand specification, volume 1, chapter 14",
        consequence: "no port becomes active; no route changes",
        remedy: "systemctl start opensm, or enable the subnet manager of a switch",
        explains: ["fabric.port_not_active", "fabric.route_missing"],
    }
    "fabric.two_managers" Fail Subnet [Fabric] {
        title: "The subnet has only one master subnet manager.",
        applies_to: "swept InfiniBand subnets",
        rule: "two or more ports reply as master subnet manager",
        origin: "UFM: Fabric Validation",
        consequence: "both assign LIDs and routes",
        remedy: "systemctl stop opensm on all hosts but one",
        explains: ["fabric.duplicate_lid"],
    }
    "fabric.port_not_active" Warn Subnet [Fabric] {
        title: "All ports with a link are active.",
        applies_to: "ports of a swept subnet",
        rule: "the physical state is LinkUp, and the state is INIT or ARMED",
        origin: "ibdiagnet: Links in INIT State",
        consequence: "no traffic passes the port",
        remedy: "read the log of the subnet manager",
    }
    "fabric.duplicate_guid" Fail Subnet [Fabric] {
        title: "No two nodes or ports of the subnet have the same GUID.",
        applies_to: "swept InfiniBand subnets",
        rule: "a GUID occurs twice",
        origin: "ibdiagnet: Duplicated GUIDs",
        consequence: "the subnet manager drops one of the nodes",
        remedy: "restore the GUID with the tool of the vendor",
    }
    "fabric.duplicate_lid" Fail Subnet [Fabric] {
        title: "No two ports of the subnet have the same LID.",
        applies_to: "swept InfiniBand subnets",
        rule: "the LID ranges of two ports overlap",
        origin: "ibdiagnet: LIDs Check",
        consequence: "packets arrive at either port",
        remedy: "opensm --reassign_lids",
    }
    "fabric.width" Warn Subnet [Fabric] {
        title: "All links have the width that both ends support.",
        applies_to: "links of a swept subnet; 8X and 12X do not count",
        rule: "the active width is below the widest one that both ends support, up to 4X",
        origin: "infiniband-diags: ibdiag_common.c, get_max_msg",
        consequence: "a fraction of the bandwidth",
        remedy: "reseat or replace the cable",
    }
    "fabric.speed" Warn Subnet [Fabric] {
        title: "All links have the speed that both ends support.",
        applies_to: "links of a swept subnet",
        rule: "the active speed is below the highest one that both ends support",
        origin: "infiniband-diags: ibdiag_common.c",
        consequence: "a fraction of the bandwidth",
        remedy: "reseat or replace the cable",
    }
    "fabric.route_missing" Fail Subnet [Fabric; FabricRoutes] {
        title: "All switches have a route to all LIDs.",
        applies_to: "subnets whose forwarding tables were read",
        rule: "a forwarding table has no entry for an active LID",
        origin: "UFM: Check Routing",
        consequence: "packets to the LID are dropped",
        remedy: "let the subnet manager sweep again: systemctl kill -s HUP opensm",
    }
    "fabric.route_loop" Fail Subnet [Fabric; FabricRoutes] {
        title: "No route has a loop.",
        applies_to: "subnets whose forwarding tables were read",
        rule: "a route passes a switch twice",
        origin: "UFM: Check Routing",
        consequence: "packets to the LID are dropped",
        remedy: "let the subnet manager route again: systemctl restart opensm",
    }
    "fabric.default_description" Warn Subnet [Fabric] {
        title: "All hosts have a node description of their own.",
        applies_to: "channel adapters of a swept subnet",
        rule: "the description is the default of the driver",
        origin: "rdma-core: rdma-ndd(8)",
        consequence: "no tool shows which host a port belongs to",
        remedy: "on the host: systemctl enable --now rdma-ndd",
    }
    "fabric.no_answer" Unknown Subnet [Fabric] {
        title: "All nodes of the subnet reply.",
        applies_to: "swept InfiniBand subnets",
        rule: "a node does not reply to a management datagram",
        origin: "ibdiagnet: Unresponsive Nodes Detection",
        consequence: "the host hangs, or its firmware is dead",
        remedy: "look at the host; read its kernel log",
    }
    "ping.failed" Fail Pair [] {
        title: "RDMA works between every two hosts.",
        applies_to: "pairs of hosts with a common RDMA protocol, with --active",
        rule: "the verdict of rdmactl ping on the pair is a failure; if another check found the cause, its finding names this check as explained",
        origin: "rdmactl: table of verdicts in docs/ping.md",
        consequence: "applications between the hosts use TCP, or fail",
        remedy: "as the finding says; rdmactl ping --matrix HOSTS shows each pair, rdmactl help VERDICT its meaning",
    }
    "ping.degraded" Warn Pair [] {
        title: "Each pair of hosts is as fast as comparable pairs and loses no packet.",
        applies_to: "pairs of hosts that work, with --active; speed is compared from four hosts on",
        rule: "packets are lost, TCP fails where RDMA works, a host lacks a rail, or a host, rail or pair is slower than comparable ones twice (software RDMA: info)",
        origin: "rdmactl: warnings in docs/ping.md; modified z-score in docs/simulate.md",
        consequence: "collective operations run at the speed of the slowest pair",
        remedy: "as the finding says; rdmactl ping --matrix HOSTS --test bw measures the bandwidth",
    }
    "ping.not_tested" Unknown Pair [] {
        title: "Each pair of hosts was tested.",
        applies_to: "pairs of hosts, with --active",
        rule: "the run ended or was interrupted before the pair was tested, or other programs use a soft-RoCE device, so that its lost packets are not counted",
        origin: "rdmactl",
        consequence: "a fault of the pair stays unknown",
        remedy: "repeat the run",
    }
}
