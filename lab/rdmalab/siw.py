"""Soft-iWARP: siw.ko, which Debian's kernels leave out, built from Debian's source.

The build runs in a root of the release's own compiler and headers, unpacked
beside the images, so the host needs no compiler and its release does not
matter. The module is cached; the build root is not.
"""

import os
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

from . import image
from .debs import Apt, tail
from .paths import cache_root, locked
from .releases import Release
from .talk import LabError, say

TOOLS = ("bash", "binutils", "coreutils", "dash", "findutils", "gcc", "grep", "libc6", "libc-bin",
         "make", "mawk", "sed")
FOLDER = "drivers/infiniband/sw/siw/"


def provide(release: Release) -> Path:
    """siw.ko for the kernel of the release's image, from the cache or built now."""
    version = image.provide(release).kernel_version
    module = cache_root() / "siw" / f"{version}.ko"
    with locked(cache_root() / "siw" / f"{version}.lock"):
        if not module.exists():
            build(release, version, module)
    return module


def build(release: Release, version: str, module: Path) -> None:
    debs = Apt(release.codename).fetch([f"linux-headers-{version}", release.siw_source, *TOOLS])
    say(f"{release.codename}: building soft-iWARP for {version}")
    for stale in module.parent.glob(f"building-{version}-*"):
        shutil.rmtree(stale, ignore_errors=True)
    work = Path(tempfile.mkdtemp(prefix=f"building-{version}-", dir=module.parent))
    root = work / "root"
    kernels = ("linux-source-", "linux-image-")
    image.unpack([deb for deb in debs if not deb.path.name.startswith(kernels)], root)
    image.complete(root)
    (source,) = [deb.path for deb in debs if deb.path.name.startswith(release.siw_source + "_")]
    unpack_siw(source, root / "siw")
    run_make(root, version)
    built = root / "siw/siw.ko"
    built.chmod(0o644)
    built.rename(module)
    shutil.rmtree(work, ignore_errors=True)
    # 140 MB that nothing needs again: the module is cached.
    source.unlink()


def unpack_siw(source: Path, target: Path) -> None:
    """Takes one folder out of the kernel source, without unpacking the rest."""
    target.mkdir()
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(source)],
                          stdout=subprocess.PIPE) as outer_pipe, \
            tarfile.open(fileobj=outer_pipe.stdout, mode="r|") as outer:
        for member in outer:
            if member.name.endswith(".tar.xz"):
                break
        else:
            raise LabError(f"{source.name} has no source archive")
        with tarfile.open(fileobj=outer.extractfile(member), mode="r|xz") as inner:
            for entry in inner:
                folder, _, name = entry.name.rpartition("/")
                if folder.endswith(FOLDER.rstrip("/")) and entry.isfile():
                    (target / name).write_bytes(inner.extractfile(entry).read())
                elif any(target.iterdir()):
                    break
        outer_pipe.kill()
    if not (target / "Makefile").exists():
        raise LabError(f"{source.name} has no {FOLDER}")


def run_make(root: Path, version: str) -> None:
    """Runs make inside the build root, which needs no more of a machine than /dev/null."""
    null = root / "dev/null"
    chroot = ["chroot", str(root), "/usr/bin/env", "-i", "PATH=/usr/bin:/usr/sbin", "/bin/sh", "-c",
              f"make -C /usr/src/linux-headers-{version} M=/siw CONFIG_RDMA_SIW=m modules"]
    if os.geteuid() == 0:
        os.mknod(null, 0o666 | 0o020000, os.makedev(1, 3))
        null.chmod(0o666)
        command = chroot
    else:
        null.touch()
        command = ["unshare", "--map-root-user", "--mount", "sh", "-c",
                   'mount --bind /dev/null "$0" && exec "$@"', str(null), *chroot]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False,
                          env=dict(os.environ, PATH=os.environ.get("PATH", "") + ":/usr/sbin:/sbin"))
    if done.returncode or not (root / "siw/siw.ko").exists():
        raise LabError(f"soft-iWARP does not build for {version}:\n{tail(done.stdout, 12)}")
