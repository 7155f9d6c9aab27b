"""Many hosts on this machine: one sshd for all addresses of 127.0.0.0/8, in a network of its own.

Logins there see a made-up /sys and /dev/infiniband, so that every tool reads the same devices. Whoever connects pays a
whole login for each address, as with real hosts; what differs is that all hosts share these cores.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
DEVICE_FILES = pathlib.Path("/dev/infiniband")
GUID = "58a2:e103:002a:{:04x}"


def made_up_machine(devices):
    """The tables of a host with so many InfiniBand adapters of one port."""
    sys.path.insert(0, str(TOP / "tests" / "fixtures"))
    from make.host import Errno, Host  # noqa: PLC0415
    from make.mellanox import mlx5_files  # noqa: PLC0415
    from make.ports import port  # noqa: PLC0415

    host = Host("5.14.0-427.el9.x86_64")
    for index in range(devices):
        guid, name = GUID.format(index), f"mlx5_{index}"
        real = f"pci0000:{index:02x}/0000:{index:02x}:01.1/0000:{index + 16:02x}:00.0"
        host.netdev(f"ib{index}", 4092, type=32, speed=400000, mode="datagram", pkey="0xffff", umcast=0)
        host.device(name, real, mlx5_files(guid) | {"device/numa_node": str(index % 2)}, {
            1: port("4: ACTIVE", "5: LinkUp", "InfiniBand", "400 Gb/sec (4X NDR)", hex(index + 1), "0x1",
                    gids=["fe80:0000:0000:0000:" + guid], types=["IB/RoCE v1"], ndevs=[Errno("EINVAL")],
                    cap_mask="0xa651e848")}, driver="mlx5_core", nets=[f"ib{index}"])
        host.pci(real, ("32.0 GT/s PCIe", 16), ("32.0 GT/s PCIe", 16), sriov_totalvfs=16, sriov_numvfs=0)
        host.umad(index, name)
        host.uverbs(index, name, 1)
        host.pkeys(f"{name}/ports/1", 0xFFFF, 0x7FFF)
        host.counters(f"{name}/ports/1", "counters", port_xmit_data=1 << 40, port_rcv_data=987654321,
                      symbol_error=0, link_downed=1)
    host.files["/sys/class/infiniband_mad/abi_version"] = "5"
    return host


def write_tree(host, root):
    """Its files and links below a directory that takes the place of /sys."""
    for path, value in host.files.items():
        file = root / path.removeprefix("/sys/")
        if path.endswith("/"):
            file.mkdir(parents=True, exist_ok=True)
        # Where a read would fail, there is no file: a plain one cannot refuse.
        elif path.startswith("/sys/") and type(value) is str:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(value + "\n")
    for path, target in host.links.items():
        link = root / path.removeprefix("/sys/")
        # A device is a directory here, with its files: nothing else is asked of where it leads.
        if not link.exists():
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(target)


def children(pid):
    try:
        tasks = list(pathlib.Path(f"/proc/{pid}/task").iterdir())
        return [int(child) for task in tasks for child in (task / "children").read_text().split()]
    except OSError:
        return []


class Loopback:
    """The sshd and its keys; `with` ends it."""

    def __init__(self, binary, devices, more=""):
        """`more` ends sshd_config, with `{folder}` for the one of this bed."""
        self.folder = pathlib.Path(tempfile.mkdtemp(dir="/dev/shm", prefix="rdmactl-bench-"))
        self.processes = []
        tree, programs = self.folder / "sys", self.folder / "programs"
        write_tree(made_up_machine(devices), tree)
        programs.mkdir()
        shutil.copy(binary, programs / "rdmactl")
        for name in ("host", "user"):
            subprocess.run(["ssh-keygen", "-q", "-N", "", "-t", "ed25519", "-f", self.folder / name], check=True)
        key = " ".join((self.folder / "host.pub").read_text().split()[:2])
        (self.folder / "known_hosts").write_text(f"* {key}\n")
        self.config = self.folder / "ssh_config"
        self.config.write_text(
            f"Host *\n  User root\n  IdentityFile {self.folder}/user\n  IdentityAgent none\n  IdentitiesOnly yes\n"
            f"  UserKnownHostsFile {self.folder}/known_hosts\n  GlobalKnownHostsFile none\n  LogLevel ERROR\n")
        (self.folder / "sshd_config").write_text(
            f"HostKey {self.folder}/host\nAuthorizedKeysFile {self.folder}/user.pub\nStrictModes no\nUsePAM no\n"
            "PermitRootLogin yes\nUseDNS no\nPrintMotd no\nPrintLastLog no\nPidFile none\nLogLevel ERROR\n"
            "MaxStartups 4096:30:8192\nListenAddress 0.0.0.0\nPort 22\n"
            # With it bash reads no .bashrc, which may take long and say anything.
            f"SetEnv SHLVL=2 PATH={programs}:/usr/sbin:/usr/bin:/sbin:/bin\n" + more.format(folder=self.folder))
        os.makedirs("/run/sshd", exist_ok=True)
        # A mount needs the directory, which machines without RDMA lack.
        self.made_device_directory = not DEVICE_FILES.exists()
        DEVICE_FILES.mkdir(exist_ok=True)
        # rdmactl checks that a device file is a character device that it may open, and opens none here.
        names = [f"{DEVICE_FILES}/{kind}{index}" for kind in ("uverbs", "umad") for index in range(devices)]
        nodes = " && ".join(f"mknod {name} c 1 3" for name in names)
        self.network, self.servers = self.serve(
            f"ip link set lo up && mount --bind {tree} /sys && mount -t tmpfs none {DEVICE_FILES} && {nodes} && "
            f"exec /usr/sbin/sshd -D -e -f {self.folder}/sshd_config")
        for address in self.addresses():
            self.await_login(address)

    def serve(self, script):
        """Runs the script that becomes sshd. Returns the process in the network of the client, and all of sshd."""
        process = self.start(["unshare", "-n", "-m", "sh", "-c", script])
        return process.pid, [process.pid]

    def addresses(self):
        """One address of each sshd."""
        return ["127.0.0.1"]

    def await_login(self, address):
        deadline = time.monotonic() + 20
        while subprocess.run(self.inside("ssh", "-F", self.config, address, "true"), check=False,
                             stderr=subprocess.DEVNULL).returncode:
            if time.monotonic() > deadline or any(process.poll() is not None for process in self.processes):
                self.end()
                sys.exit(f"bench: no login to the sshd of {address}")

    def start(self, command):
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
        self.processes.append(process)
        return process

    def inside(self, *command):
        """The command, to be run in the network of the hosts; its /sys is this machine's."""
        return ["nsenter", f"--net=/proc/{self.network}/ns/net", *map(str, command)]

    def logins(self):
        """The processes of the logins that did not end yet."""
        return [login for server in self.servers for login in children(server)]

    def server_cpu(self):
        """Seconds of processor time of sshd and of all logins that ended."""
        stats = (pathlib.Path(f"/proc/{server}/stat").read_text().rsplit(") ", 1)[1].split() for server in self.servers)
        return sum(sum(map(int, fields[11:15])) for fields in stats) / os.sysconf("SC_CLK_TCK")

    def end(self):
        for process in self.processes:
            process.kill()
            process.wait()
        shutil.rmtree(self.folder)
        if self.made_device_directory:
            DEVICE_FILES.rmdir()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()


def host_set(count, prefix="127.0"):
    """So many addresses, 64 to a net, as all tools spell them."""
    return ",".join(f"{prefix}.{net + 1}.[1-{min(64, count - 64 * net)}]" for net in range(-(-count // 64)))
