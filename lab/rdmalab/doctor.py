"""Names everything that this machine lacks for the lab, with the command that brings it."""

import importlib.util
import os
import shutil

from .talk import LabError

# program or file, the Debian package that has it, what for
NEEDS = (
    ("qemu-system-x86_64", "qemu-system-x86", "runs the nodes"),
    ("ssh", "openssh-client", "reaches the nodes"),
    ("ssh-keygen", "openssh-client", "makes their keys"),
    ("apt-get", "apt", "fetches packages of any release"),
    ("dpkg-deb", "dpkg", "unpacks them"),
    ("tar", "tar", "unpacks them"),
    ("mke2fs", "e2fsprogs", "makes the root image"),
    ("unshare", "util-linux", "builds without root"),
    ("/usr/share/keyrings/debian-archive-keyring.gpg", "debian-archive-keyring",
     "verifies the packages"),
)
# Python modules that small installations leave out.
MODULES = (("lzma", "libpython3-stdlib", "unpacks kernels"),
           ("ctypes", "libpython3-stdlib", "ties QEMU's life to the keeper's"))
SYSTEM_PATH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"


def find_missing() -> list:
    """Each missing thing as (name, package, what for)."""
    missing = []
    for name, package, purpose in NEEDS:
        present = os.path.exists(name) if name.startswith("/") else \
            shutil.which(name, path=SYSTEM_PATH)
        if not present:
            missing.append((name, package, purpose))
    for name, package, purpose in MODULES:
        if importlib.util.find_spec(name) is None:
            missing.append((f"python3 module {name}", package, purpose))
    return missing


def packages(missing) -> list:
    return sorted({package for _, package, _ in missing})


def require() -> None:
    """Stops with everything that is missing at once."""
    missing = find_missing()
    if missing:
        lines = [f"  {name}: {purpose}" for name, _, purpose in missing]
        raise LabError("this machine lacks:\n" + "\n".join(lines)
                       + f"\n  fix: apt-get install {' '.join(packages(missing))}")
