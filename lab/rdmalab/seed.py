"""A node's seed: the tar archive, given as a disk, that makes a root its own.

The image holds Debian and nothing else; who the node is, its keys, the lab's
own scripts and pushed programs come here. So a change of a script needs no
new image, and a pushed program is there again after a reboot.
"""

import io
import json
import tarfile
import time
from pathlib import Path

from .node import DOOR_PORT, Node
from .paths import NODE_FILES

SSHD_COMMON = """\
HostKey /etc/ssh/ssh_host_ed25519_key
AuthorizedKeysFile {keys}
PermitRootLogin prohibit-password
PasswordAuthentication no
{interactive} no
UsePAM no
UseDNS no
MaxStartups 500:30:1000
MaxSessions 200
LoginGraceTime 60
PrintMotd no
PrintLastLog no
Subsystem sftp /usr/lib/openssh/sftp-server
SetEnv PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
"""

PASSWD = """\
root:x:0:0:root:/root:/bin/bash
nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin
sshd:x:101:65534::/run/sshd:/usr/sbin/nologin
user:x:1000:1000:an ordinary user:/home/user:/bin/bash
"""
GROUP = "root:x:0:\ntty:x:5:\nrdma:x:102:\nnogroup:x:65534:\nuser:x:1000:\n"
# `*`, not `!`: without PAM sshd takes `!` for a locked account.
SHADOW = "root:*:19000:0:99999:7:::\nsshd:!:19000::::::\nuser:*:19000:0:99999:7:::\n"
# Debian's own files include some that only an installation makes; sudo looks into both.
PAM_FILES = ("sudo", "other")
PAM = "".join(f"{what} required pam_permit.so\n"
              for what in ("auth", "account", "password", "session"))
# Of the fault memlock-pam: without it, sshd does not use PAM.
PAM_SSHD = PAM + "session required pam_limits.so\n"
INITTAB = "::respawn:/bin/busybox sleep 1000000\nttyS0::askfirst:-/bin/bash\n"


class Seed:
    """The archive while it is written; every file belongs to root unless said otherwise."""

    def __init__(self, path: Path):
        self._now = int(time.time())
        self._tar = tarfile.open(path, "w", format=tarfile.GNU_FORMAT)

    def folder(self, name: str, mode: int = 0o755, owner: int = 0) -> None:
        self._put(name, b"", mode, owner, tarfile.DIRTYPE)

    def file(self, name: str, data, mode: int = 0o644, owner: int = 0) -> None:
        self._put(name, data.encode() if isinstance(data, str) else data, mode, owner,
                  tarfile.REGTYPE)

    def _put(self, name, data, mode, owner, kind) -> None:
        entry = tarfile.TarInfo(name)
        entry.type, entry.mode, entry.uid, entry.gid, entry.size = kind, mode, owner, owner, len(data)
        entry.mtime = self._now
        self._tar.addfile(entry, io.BytesIO(data))

    def close(self) -> None:
        self._tar.close()


def write_seed(home: Path, node: Node, lab: dict) -> Path:
    """Writes the node's seed afresh; done before every boot."""
    path = home / f"{node.name}.seed"
    seed = Seed(path)
    seed.folder("usr/lib/rdmalab")
    for source in sorted(NODE_FILES.iterdir()):
        seed.file(f"usr/lib/rdmalab/{source.name}", source.read_bytes(), 0o755)
    seed.file("etc/rdmalab.conf",
              f"NODE={node.name}\nNUMBER={node.number}\nRAILS={lab['rails']}\nMTU={lab['mtu']}\n"
              f"PROVIDER={node.provider}\nMGMT={node.management_ip}\n")
    write_system(seed, node, lab)
    write_sshd(seed, home, node)
    if node.provider == "iwarp":
        seed.file("lib/modules/siw.ko", Path(lab["siw"][str(node.release)]).read_bytes())
    pushed = home / "push"
    for program in sorted(pushed.iterdir()) if pushed.is_dir() else ():
        seed.file(f"usr/local/bin/{program.name}", program.read_bytes(), 0o755)
    seed.close()
    return path


def write_system(seed: Seed, node: Node, lab: dict) -> None:
    names = [Node(**other) for other in lab["nodes"]]
    hosts = "".join(f"{other.rail_ip(1)}\t{other.name}\n" for other in names)
    seed.file("etc/hostname", node.name + "\n")
    seed.file("etc/hosts", "127.0.0.1\tlocalhost\n::1\tlocalhost\n" + hosts)
    seed.file("etc/nsswitch.conf", "passwd: files\ngroup: files\nshadow: files\nhosts: files\n")
    seed.file("etc/passwd", PASSWD)
    seed.file("etc/group", GROUP)
    seed.file("etc/shadow", SHADOW, 0o640)
    seed.file("etc/inittab", INITTAB)
    for name in PAM_FILES:
        seed.file(f"etc/pam.d/{name}", PAM)
    seed.file("etc/pam.d/sshd", PAM_SSHD)
    seed.file("etc/sudoers.d/user", "user ALL=(ALL) NOPASSWD: ALL\n", 0o440)
    seed.file("etc/shells", "/bin/sh\n/bin/bash\n")
    seed.file("etc/rdmalab/lab.json", json.dumps({"nodes": lab["nodes"], "rails": lab["rails"]}))


def write_sshd(seed: Seed, home: Path, node: Node) -> None:
    keys = home / "keys"
    operator = (keys / "operator.pub").read_bytes()
    seed.file("etc/ssh/ssh_host_ed25519_key", (keys / node.name).read_bytes(), 0o600)
    seed.file("etc/ssh/ssh_host_ed25519_key.pub", (keys / f"{node.name}.pub").read_bytes())
    # Debian 11's sshd (8.4) knows the option by its old name only; newer ones know both.
    common = {"interactive": "ChallengeResponseAuthentication"}
    seed.file("etc/ssh/sshd_config",
              SSHD_COMMON.format(keys=".ssh/authorized_keys", **common) + "PidFile /run/sshd.pid\n")
    seed.file("etc/rdmalab/door_config",
              SSHD_COMMON.format(keys="/etc/rdmalab/door_keys", **common)
              + f"Port {DOOR_PORT}\nPidFile /run/rdmalab-door.pid\n")
    seed.file("etc/rdmalab/door_keys", operator)
    for folder, owner in (("root", 0), ("home/user", 1000)):
        seed.folder(folder, 0o700, owner)
        seed.folder(f"{folder}/.ssh", 0o700, owner)
        seed.file(f"{folder}/.ssh/authorized_keys", operator, 0o600, owner)
