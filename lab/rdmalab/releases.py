"""What each Debian release brings to a node: the one table to edit.

To give every node another package, add its name to `COMMON`; to give it to one
release only, add it there. The cached image is keyed by this table, so the
next `lab up` builds a new one by itself. Kernel modules need no list: all of
the kernel package's are in the image but for `DROPPED_MODULES`.
"""

import hashlib
import json
from dataclasses import dataclass

COMMON = (
    # the machine
    "base-files", "base-passwd", "bash", "busybox-static", "coreutils", "dash", "diffutils",
    "findutils", "grep", "gzip", "hostname", "kmod", "libc-bin", "login", "mawk", "mount", "netbase",
    "openssh-server", "openssh-sftp-server", "perl-base", "procps", "sed", "sudo", "tar", "util-linux",
    # the network
    "ethtool", "iproute2", "iputils-ping", "nftables",
    # RDMA
    "ibverbs-providers", "ibverbs-utils", "infiniband-diags", "libibumad3", "libibverbs1",
    "librdmacm1", "perftest", "rdma-core", "rdmacm-utils",
)

# Who uses RDMA, or TCP instead: on the newest two releases.
CONSUMERS = ("nfs-common", "nfs-kernel-server", "nvme-cli", "open-iscsi", "ucx-utils")

# Hardware that no virtual node has: half of the kernel package's size.
DROPPED_MODULES = (
    "drivers/gpu", "drivers/media", "drivers/staging", "drivers/iio", "drivers/comedi",
    "drivers/net/wireless", "drivers/bluetooth", "drivers/isdn", "sound",
)


@dataclass(frozen=True)
class Release:
    """One Debian release as the lab uses it."""

    number: int
    codename: str
    packages: tuple
    # Packages from which siw.ko is built, unpacked into a build root of their own.
    siw_source: str

    def recipe(self) -> str:
        """A digest of everything that decides what is in the image."""
        text = json.dumps([RECIPE_VERSION, self.number, sorted(self.packages), DROPPED_MODULES])
        return hashlib.sha256(text.encode()).hexdigest()[:12]


# Raise it when image.py builds something else from the same packages.
RECIPE_VERSION = 1

RELEASES = {
    11: Release(11, "bullseye", ("linux-image-amd64",) + COMMON, "linux-source-5.10"),
    12: Release(12, "bookworm", ("linux-image-amd64",) + COMMON + CONSUMERS, "linux-source-6.1"),
    13: Release(13, "trixie", ("linux-image-amd64",) + COMMON + CONSUMERS, "linux-source-6.12"),
}
