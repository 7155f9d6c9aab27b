"""SSH identities of a lab, made before its nodes boot.

Because the host keys exist first, known_hosts is complete and checking can be
strict from the first connection on, as on a well-kept cluster.
"""

import subprocess
from pathlib import Path

from .node import DOOR_PORT, SSH_PORT


def make_key(path: Path, comment: str) -> None:
    """An ed25519 key pair without a passphrase; an existing one is kept."""
    if not path.exists():
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment,
                        "-f", str(path)], check=True, stdin=subprocess.DEVNULL)


def write_identities(home: Path, nodes, slot: int) -> None:
    """Keys, known_hosts and the two client configurations, for every node."""
    folder = home / "keys"
    folder.mkdir(mode=0o700, exist_ok=True)
    make_key(folder / "operator", "lab-operator")
    known, config, door = [], [], []
    for node in nodes:
        make_key(folder / node.name, node.name)
        public = " ".join((folder / f"{node.name}.pub").read_text(encoding="ascii").split()[:2])
        address = node.host_address(slot)
        known += [f"[{address}]:{port} {public}" for port in (SSH_PORT, DOOR_PORT)]
        config.append(host_entry(node.name, address, SSH_PORT, home))
        door.append(host_entry(node.name, address, DOOR_PORT, home) + shared_connection(home))
    (home / "known_hosts").write_text("\n".join(known) + "\n", encoding="ascii")
    (home / "ssh_config").write_text("\n".join(config), encoding="ascii")
    (home / "door_config").write_text("\n".join(door), encoding="ascii")


def host_entry(name: str, address: str, port: int, home: Path) -> str:
    return (f"Host {name}\n"
            f"    HostName {address}\n"
            f"    Port {port}\n"
            f"    User root\n"
            f"    IdentityFile {home}/keys/operator\n"
            f"    IdentitiesOnly yes\n"
            f"    IdentityAgent none\n"
            f"    UserKnownHostsFile {home}/known_hosts\n"
            f"    GlobalKnownHostsFile /dev/null\n"
            f"    StrictHostKeyChecking yes\n"
            f"    PreferredAuthentications publickey\n"
            f"    BatchMode yes\n"
            f"    ConnectTimeout 20\n"
            f"    LogLevel ERROR\n")


def shared_connection(home: Path) -> str:
    """Keeps the lab's own connection open: a key exchange costs an emulated node a second.

    The connection ends with the node, and a minute after its last use. It is
    left out where the socket's path would be too long for the kernel.
    """
    path = f"{home}/door-%n"
    if len(path) > 80:
        return ""
    return f"    ControlMaster auto\n    ControlPath {path}\n    ControlPersist 60\n"
