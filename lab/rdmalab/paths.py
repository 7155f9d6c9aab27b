"""Where the lab keeps things: one cache per user, one folder per running lab.

The cache (packages, root images, built modules) is shared by all labs of a
user and survives them. A lab's own folder holds only what dies with the lab:
keys, consoles, sockets, push files. Nothing is ever written to the checkout.
"""

import contextlib
import fcntl
import hashlib
import os
import re
from pathlib import Path

CHECKOUT_LAB = Path(__file__).resolve().parent.parent
NODE_FILES = CHECKOUT_LAB / "node"


def cache_root() -> Path:
    """The user's cache folder of the lab; made when absent."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    root = Path(base) / "rdmactl-lab"
    root.mkdir(mode=0o755, parents=True, exist_ok=True)
    return root


def labs_root() -> Path:
    """The folder of all labs of this user, private because it holds keys."""
    root = cache_root() / "labs"
    root.mkdir(mode=0o700, exist_ok=True)
    return root


def default_name() -> str:
    """A name from the checkout's path, so that two checkouts never share a lab."""
    path = str(CHECKOUT_LAB.parent)
    digest = hashlib.sha256(path.encode()).hexdigest()[:6]
    word = re.sub(r"[^a-z0-9]+", "-", CHECKOUT_LAB.parent.name.lower()).strip("-") or "lab"
    return f"{word[:16]}-{digest}"


def lab_dir(name: str) -> Path:
    """The folder of the lab called `name`; it need not exist."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,40}", name):
        raise ValueError(f"{name!r} is no lab name: use up to 41 letters, digits, dots, dashes")
    return labs_root() / name


@contextlib.contextmanager
def locked(path: Path):
    """Holds an exclusive lock on `path` for the body; waits for whoever has it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a", encoding="ascii") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
