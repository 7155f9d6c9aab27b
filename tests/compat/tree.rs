//! Simulated device trees: the files in /sys of machines with different RDMA adapters.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// Simulated /sys below a temporary directory.
pub(super) struct Tree {
    pub(super) name: &'static str,
    folder: tempfile::TempDir,
}

const LOCAL: &str = "fe80:0000:0000:0000:";

impl Tree {
    pub(super) fn new(name: &'static str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary directory");
        fs::create_dir(folder.path().join("sys")).expect("a directory");
        Self { name, folder }
    }

    /// Returns the directory in place of `/`.
    pub(super) fn root(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the directory in place of `/sys`.
    pub(super) fn sys(&self) -> PathBuf {
        self.root().join("sys")
    }

    pub(super) fn path(&self, file: &str) -> PathBuf {
        self.sys().join(file)
    }

    pub(super) fn folder(&self, path: &str) {
        fs::create_dir_all(self.path(path)).expect("a directory");
    }

    pub(super) fn file(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(path, text).expect("a file");
    }

    pub(super) fn link(&self, path: &str, target: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        symlink(target, path).expect("a link");
    }

    /// Adds a device: node type, GUID, and further files.
    pub(super) fn device(&self, name: &str, node_type: &str, guid: &str, files: &[(&str, &str)]) {
        let base = format!("class/infiniband/{name}");
        self.folder(&format!("{base}/ports"));
        let common = [("node_type", node_type), ("node_guid", guid), ("sys_image_guid", guid)];
        for (file, text) in common.iter().chain(files) {
            self.file(&format!("{base}/{file}"), &format!("{text}\n"));
        }
    }

    /// Adds a port. `link` is state, physical state, rate and link layer. `files` replaces
    /// default files or adds files.
    pub(super) fn port(&self, device: &str, number: u32, link: [&str; 4], files: &[(&str, &str)]) {
        let base = format!("class/infiniband/{device}/ports/{number}");
        let [state, phys_state, rate, link_layer] = link;
        let common = [
            ("state", state),
            ("phys_state", phys_state),
            ("rate", rate),
            ("link_layer", link_layer),
            ("lid", "0x0"),
            ("sm_lid", "0x0"),
            ("sm_sl", "0"),
            ("lid_mask_count", "0"),
            ("cap_mask", "0x00010000"),
            ("pkeys/0", "0xffff"),
            ("pkeys/1", "0x7fff"),
        ];
        for (file, text) in common.iter().chain(files) {
            self.file(&format!("{base}/{file}"), &format!("{text}\n"));
        }
    }

    /// Adds an entry of a GID table.
    pub(super) fn gid(&self, port: &str, index: u32, gid: &str, kind: &str, netdev: &str) {
        let base = format!("class/infiniband/{port}");
        self.file(&format!("{base}/gids/{index}"), &format!("{gid}\n"));
        self.file(&format!("{base}/gid_attrs/types/{index}"), &format!("{kind}\n"));
        if !netdev.is_empty() {
            self.file(&format!("{base}/gid_attrs/ndevs/{index}"), &format!("{netdev}\n"));
        }
    }

    /// Adds a network interface of a PCI function.
    fn netdev(&self, name: &str, index: u32, kind: u32, address: &str, carrier: &str, pci: &str) {
        let base = format!("class/net/{name}");
        for (file, text) in [
            ("ifindex", index.to_string()),
            ("type", kind.to_string()),
            ("address", address.to_owned()),
            ("carrier", carrier.to_owned()),
            ("dev_id", "0x0".to_owned()),
        ] {
            self.file(&format!("{base}/{file}"), &format!("{text}\n"));
        }
        if !pci.is_empty() {
            self.link(&format!("{base}/device"), &format!("../../../bus/pci/devices/{pci}"));
        }
    }

    /// Adds a PCI function.
    fn pci(&self, address: &str, vendor: &str, device: &str) {
        let base = format!("bus/pci/devices/{address}");
        let start = u32::from_str_radix(&address[5..7], 16).expect("a bus");
        self.file(&format!("{base}/vendor"), &format!("{vendor}\n"));
        self.file(&format!("{base}/device"), &format!("{device}\n"));
        self.file(
            &format!("{base}/resource"),
            &format!("0x{start:016x} 0x0 0x40200\n0x0 0x0 0x0\n"),
        );
    }

    /// Links a device to its PCI function.
    fn plug(&self, device: &str, pci: &str) {
        self.link(
            &format!("class/infiniband/{device}/device"),
            &format!("../../../bus/pci/devices/{pci}"),
        );
        self.folder(&format!("bus/pci/devices/{pci}/infiniband/{device}"));
    }
}

fn mlx5_files<'text>(firmware: &'text str, kind: &'text str) -> [(&'text str, &'text str); 4] {
    [("fw_ver", firmware), ("hca_type", kind), ("hw_rev", "0"), ("board_id", "MT_0000000838")]
}

/// Returns three ConnectX-7 on InfiniBand: one is up, one waits for a subnet manager, one is
/// unplugged. The first two have `IPoIB` interfaces.
pub(super) fn mlx5_ib() -> Tree {
    let tree = Tree::new("mlx5_ib");
    let links = [
        ["4: ACTIVE", "5: LinkUp", "400 Gb/sec (4X NDR)", "InfiniBand"],
        ["2: INIT", "5: LinkUp", "800 Gb/sec (4X XDR)", "InfiniBand"],
        ["1: DOWN", "2: Polling", "10 Gb/sec (4X SDR)", "InfiniBand"],
    ];
    let lids = [("0x1f", "0x1"), ("0xffff", "0x0"), ("0xffff", "0x0")];
    for (index, (link, (lid, sm_lid))) in (0..).zip(links.into_iter().zip(lids)) {
        let name = format!("mlx5_{index}");
        let guid = format!("9ca3:ba03:0012:34{index}0");
        let pci = format!("0000:{index}8:00.0");
        tree.device(&name, "1: CA", &guid, &mlx5_files("28.39.1002", "MT4129"));
        let more = [("lid", lid), ("sm_lid", sm_lid), ("cap_mask", "0xa759e848")];
        tree.port(&name, 1, link, &more);
        tree.gid(&format!("{name}/ports/1"), 0, &format!("{LOCAL}{guid}"), "IB/RoCE v1", "");
        tree.pci(&pci, "0x15b3", "0x1021");
        tree.plug(&name, &pci);
        if index < 2 {
            let address =
                format!("00:00:10:29:fe:80:00:00:00:00:00:00:9c:a3:ba:03:00:12:34:{index}0");
            let carrier = if index == 0 { "1" } else { "0" };
            tree.netdev(&format!("ib{index}"), 5 - index, 32, &address, carrier, &pci);
        }
    }
    // The interface of a partition has the address of its parent interface.
    let address = "00:00:10:2a:fe:80:00:00:00:00:00:00:9c:a3:ba:03:00:12:34:00";
    tree.netdev("ib0.8001", 9, 32, address, "1", "0000:08:00.0");
    tree.netdev("lo", 1, 772, "00:00:00:00:00:00", "1", "");
    tree
}

/// Returns two ConnectX-6 Dx with `RoCE`: one is up with addresses of both types, one is
/// unplugged.
pub(super) fn mlx5_roce() -> Tree {
    let tree = Tree::new("mlx5_roce");
    for (index, link) in [
        ["4: ACTIVE", "5: LinkUp", "100 Gb/sec (4X EDR)", "Ethernet"],
        ["1: DOWN", "3: Disabled", "40 Gb/sec (4X QDR)", "Ethernet"],
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("mlx5_{index}");
        let pci = format!("0000:3b:00.{index}");
        let guid = format!("0c42:a103:001d:d12{index}");
        tree.device(&name, "1: CA", &guid, &mlx5_files("22.32.2004", "MT4125"));
        tree.port(&name, 1, link, &[]);
        let net = format!("ens1f{index}np{index}");
        let port = format!("{name}/ports/1");
        let local = format!("{LOCAL}0e42:a1ff:fe1d:d12{index}");
        tree.gid(&port, 0, &local, "IB/RoCE v1", &net);
        tree.gid(&port, 1, &local, "RoCE v2", &net);
        if index == 0 {
            let address = "0000:0000:0000:0000:0000:ffff:c0a8:0a64";
            tree.gid(&port, 2, address, "IB/RoCE v1", &net);
            tree.gid(&port, 3, address, "RoCE v2", &net);
            tree.gid(&port, 10, "2001:0db8:0000:0000:0000:0000:0000:0017", "RoCE v2", &net);
        }
        let zero = "0000:0000:0000:0000:0000:0000:0000:0000";
        tree.file(&format!("class/infiniband/{port}/gids/4"), &format!("{zero}\n"));
        tree.pci(&pci, "0x15b3", "0x101d");
        tree.plug(&name, &pci);
        let carrier = if index == 0 { "1" } else { "0" };
        tree.netdev(
            &net,
            2 + u32::try_from(index).expect("small"),
            1,
            "0c:42:a1:1d:d1:2a",
            carrier,
            &pci,
        );
    }
    tree
}

/// Returns a ConnectX-3 with FDR10 InfiniBand on port 1 and Ethernet on port 2.
pub(super) fn mlx4_vpi() -> Tree {
    let tree = Tree::new("mlx4_vpi");
    let files = [
        ("fw_ver", "2.42.5000"),
        ("hca_type", "MT4099"),
        ("hw_rev", "1"),
        ("board_id", "MT_1090120019"),
    ];
    tree.device("mlx4_0", "1: CA", "f452:1403:007b:cba0", &files);
    tree.file("class/infiniband/mlx4_0/sys_image_guid", "f452:1403:007b:cba3\n");
    let first = ["4: ACTIVE", "5: LinkUp", "40 Gb/sec (4X FDR10)", "InfiniBand"];
    let more =
        [("lid", "0x2"), ("sm_lid", "0x2"), ("lid_mask_count", "1"), ("cap_mask", "0x0251486a")];
    tree.port("mlx4_0", 1, first, &more);
    tree.gid("mlx4_0/ports/1", 0, &format!("{LOCAL}f452:1403:007b:cba1"), "IB/RoCE v1", "");
    let second = ["1: DOWN", "3: Disabled", "2.5 Gb/sec (1X)", "Ethernet"];
    tree.port("mlx4_0", 2, second, &[("cap_mask", "0x04010000")]);
    tree.gid("mlx4_0/ports/2", 0, &format!("{LOCAL}f652:14ff:fe7b:cba2"), "IB/RoCE v1", "eth2");
    tree.pci("0000:21:00.0", "0x15b3", "0x1003");
    tree.plug("mlx4_0", "0000:21:00.0");
    tree.netdev("eth2", 3, 1, "f4:52:14:7b:cb:a2", "0", "0000:21:00.0");
    let vpd = "\u{82}\u{2e}\u{0}CX354A - ConnectX-3 QSFP\u{90}\u{21}\u{0}PN\u{12}MCX354A-FCBT     \
               EC\u{2}A4SN\u{18}MT1409X00000\u{78}";
    tree.file("bus/pci/devices/0000:21:00.0/vpd", vpd);
    tree
}

/// Returns Omni-Path, EFA (whose node type is not a CA), soft-iWARP and soft-RoCE in one machine.
pub(super) fn mixed() -> Tree {
    let tree = Tree::new("mixed");
    let up = "4: ACTIVE";
    tree.device("hfi1_0", "1: CA", "0011:7501:0167:1ddd", &[("fw_ver", "0.35"), ("hw_rev", "10")]);
    let more = [("lid", "0x9"), ("sm_lid", "0x1"), ("cap_mask", "0x00410020")];
    tree.port("hfi1_0", 1, [up, "5: LinkUp", "100 Gb/sec (4X EDR)", "InfiniBand"], &more);
    tree.gid("hfi1_0/ports/1", 0, &format!("{LOCAL}0011:7501:0167:1ddd"), "IB/RoCE v1", "");
    let zero = "0000:0000:0000:0000";
    tree.device("rdmap16s27", "7: unspecified", zero, &[("fw_ver", "0.0.0.0")]);
    let more = [("lid_mask_count", "1"), ("cap_mask", "0x00000000")];
    tree.port("rdmap16s27", 1, [up, "5: LinkUp", "100 Gb/sec (4X EDR)", "Unknown"], &more);
    tree.gid("rdmap16s27/ports/1", 0, &format!("{LOCAL}100b:f5ff:fe02:e2b0"), "IB/RoCE v1", "");
    let guid = "0250:b6ff:fea1:9d61";
    tree.device("siw0", "4: RNIC", guid, &[("fw_ver", "")]);
    tree.port("siw0", 1, [up, "5: LinkUp", "2.5 Gb/sec (1X SDR)", "Ethernet"], &[]);
    tree.gid("siw0/ports/1", 0, "0250:b6ff:fea1:9d61:0000:0000:0000:0000", "IB/RoCE v1", "");
    tree.device("rxe0", "1: CA", "5054:00ff:fe12:3456", &[("fw_ver", "")]);
    tree.port("rxe0", 1, [up, "5: LinkUp", "2.5 Gb/sec (1X SDR)", "Ethernet"], &[]);
    tree.gid("rxe0/ports/1", 0, &format!("{LOCAL}5054:00ff:fe12:3456"), "RoCE v2", "eth0");
    tree.gid("rxe0/ports/1", 1, "0000:0000:0000:0000:0000:ffff:0a09:0001", "RoCE v2", "eth0");
    tree.netdev("eth0", 2, 1, "52:54:00:12:34:56", "1", "");
    // An interface without an RDMA device, of the vendor that ibdev2netdev selects.
    tree.pci("0000:5e:00.0", "0x15b3", "0x1013");
    tree.netdev("ens5", 3, 1, "e4:1d:2d:00:00:01", "1", "0000:5e:00.0");
    tree
}

/// Returns twelve devices, whose names the tools sort by bytes: `mlx5_10` before `mlx5_2`.
pub(super) fn twelve() -> Tree {
    let tree = Tree::new("twelve");
    for index in 0..12 {
        let name = format!("mlx5_{index}");
        let guid = format!("9ca3:ba03:0012:35{index:02x}");
        tree.device(&name, "1: CA", &guid, &mlx5_files("28.39.1002", "MT4129"));
        let link = ["3: ARMED", "4: PortConfigurationTraining", "56 Gb/sec (4X FDR)", "InfiniBand"];
        tree.port(&name, 1, link, &[]);
        tree.gid(&format!("{name}/ports/1"), 0, &format!("{LOCAL}{guid}"), "IB/RoCE v1", "");
    }
    tree
}

/// Returns a switch with its management port, an unknown state, and text that is too long.
pub(super) fn odd() -> Tree {
    let tree = Tree::new("odd");
    let files = [
        ("fw_ver", "231.0.154.0/pkg 231.1.162.1"),
        ("hca_type", "Broadcom NetXtreme-C/E RoCE Driver HCA with a longer name than fits"),
        ("hw_rev", "0x14e4"),
    ];
    tree.device("switch_0", "2: switch", "f452:1403:007b:cba0", &files);
    for (number, state, phys) in [
        (0, "4: ACTIVE", "5: LinkUp"),
        (1, "5: ACTIVE_DEFER", "7: Phy Test"),
        (3, "0: NOP", "0: <unknown>"),
    ] {
        let link = [state, phys, "25 Gb/sec (1X EDR)", "InfiniBand"];
        let lid = [("lid", "0x1002a"), ("sm_lid", "010")];
        tree.port("switch_0", number, link, &lid);
        let gid = format!("{LOCAL}0000:0000:0000:000{number}");
        tree.gid(&format!("switch_0/ports/{number}"), 0, &gid, "IB/RoCE v1", "");
    }
    tree
}

/// Returns a machine with RDMA in the kernel and without a device.
pub(super) fn empty() -> Tree {
    let tree = Tree::new("empty");
    tree.folder("class/infiniband");
    tree.folder("class/net");
    tree
}

/// Returns a machine without RDMA in the kernel.
pub(super) fn none() -> Tree {
    let tree = Tree::new("none");
    tree.folder("class/net");
    tree
}

/// Returns four devices. libibumad rejects `b_wide` because of its port number 12, and `c_none`
/// has no port.
pub(super) fn refused() -> Tree {
    let tree = Tree::new("refused");
    let link = ["4: ACTIVE", "5: LinkUp", "100 Gb/sec (4X EDR)", "InfiniBand"];
    for (name, ports) in
        [("a_good", &[1][..]), ("b_wide", &[1, 12]), ("c_none", &[]), ("d_good", &[2])]
    {
        tree.device(name, "1: CA", "f452:1403:007b:cba0", &[]);
        for number in ports {
            tree.port(name, *number, link, &[]);
            let gid = format!("{LOCAL}f452:1403:007b:cba1");
            tree.gid(&format!("{name}/ports/{number}"), 0, &gid, "IB/RoCE v1", "");
        }
    }
    tree
}

/// Returns all trees.
pub(super) fn all() -> Vec<Tree> {
    vec![mlx5_ib(), mlx5_roce(), mlx4_vpi(), mixed(), twelve(), odd(), empty(), none(), refused()]
}
