"""Builds, once per release, what every node of that release boots from.

The root is one read-only ext4 file that all nodes share (so the host's page
cache holds it once); each node lays a tmpfs over it. Packages are unpacked,
not installed: no maintainer script runs, no root is needed, and what a node
still needs beyond that (users, keys, sshd's settings) comes in its seed.
"""

import json
import lzma
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from .cpio import Cpio
from .debs import Apt, tail
from .kernel import ROOT_MODULES, Modules, has_pvh_entry, module_name, unpack_vmlinux
from .paths import cache_root, locked
from .releases import DROPPED_MODULES, Release
from .talk import LabError, say

MERGED = ("bin", "sbin", "lib", "lib64")
# The program loader and library folders of the unpacked release, to run its own depmod.
LOADER = "usr/lib64/ld-linux-x86-64.so.2"
LIBRARIES = ("usr/lib/x86_64-linux-gnu", "usr/lib64")

STAGE_ONE = """#!/bin/busybox sh
# First program of a node: find the root, lay a tmpfs over it, unpack the seed.
busybox mount -t devtmpfs dev /dev
for module in $(busybox cat /order); do busybox insmod /modules/$module; done
busybox mount -t tmpfs -o size=80% tmpfs /rw
busybox mkdir /rw/upper /rw/work
until [ -b /dev/vda ] && [ -b /dev/vdb ]; do busybox sleep 0.05; done
busybox mount -t ext4 -o ro,noload /dev/vda /lower
busybox mount -t overlay -o lowerdir=/lower,upperdir=/rw/upper,workdir=/rw/work root /root
busybox tar -xf /dev/vdb -C /root
exec busybox switch_root /root /usr/lib/rdmalab/init
"""


@dataclass(frozen=True)
class Image:
    """The files that boot one release, and the kernel's version."""

    home: Path
    kernel_version: str

    @property
    def root(self) -> Path:
        return self.home / "root.ext4"

    @property
    def kernel(self) -> Path:
        return self.home / "kernel"

    @property
    def initrd(self) -> Path:
        return self.home / "initrd"


def provide(release: Release) -> Image:
    """The release's image, from the cache or built now."""
    home = cache_root() / "images" / f"{release.number}-{release.recipe()}"
    with locked(cache_root() / "images" / f"{release.number}.lock"):
        if not (home / "manifest.json").exists():
            build(release, home)
    manifest = json.loads((home / "manifest.json").read_text(encoding="utf-8"))
    return Image(home, manifest["kernel"])


def build(release: Release, home: Path) -> None:
    """Builds into a folder beside `home` and renames it when all is well."""
    debs = Apt(release.codename).fetch(release.packages)
    say(f"{release.codename}: building the root image")
    for stale in home.parent.glob(f"building-{release.number}-*"):
        shutil.rmtree(stale, ignore_errors=True)
    work = Path(tempfile.mkdtemp(prefix=f"building-{release.number}-", dir=home.parent))
    root = work / "root"
    unpack(debs, root, DROPPED_MODULES)
    complete(root)
    version = kernel_version(root)
    # depmod is a link to kmod, which looks at its own name.
    (root / "depmod").symlink_to("bin/kmod")
    run_inside(root, "depmod", "-b", str(root), version)
    (root / "depmod").unlink()
    modules = Modules(root, version)
    bzimage = (root / f"boot/vmlinuz-{version}").read_bytes()
    vmlinux = unpack_vmlinux(bzimage)
    (work / "kernel").write_bytes(vmlinux if vmlinux and has_pvh_entry(vmlinux) else bzimage)
    write_initrd(root, modules, work / "initrd")
    shutil.copy(root / f"boot/config-{version}", work / "config")
    shutil.rmtree(root / "boot")
    make_ext4(root, work / "root.ext4")
    shutil.rmtree(root)
    manifest = {"kernel": version, "packages": {deb.path.name: deb.sha256 for deb in debs}}
    (work / "manifest.json").write_text(json.dumps(manifest, indent=1), encoding="utf-8")
    work.chmod(0o755)
    shutil.rmtree(home, ignore_errors=True)
    work.rename(home)
    for old in home.parent.glob(f"{release.number}-*"):
        # A running node keeps its open file; a starting one holds the lock until it has it.
        if old != home:
            shutil.rmtree(old, ignore_errors=True)


def unpack(debs, root: Path, dropped_modules=(), skip_docs: bool = True) -> None:
    """Unpacks packages over one another into `root`, as a merged-/usr system."""
    (root / "usr").mkdir(parents=True)
    for name in MERGED:
        (root / "usr" / name).mkdir()
        (root / name).symlink_to(f"usr/{name}")
    excludes = [f"--exclude=./{prefix}lib/modules/*/kernel/{folder}"
                for folder in dropped_modules for prefix in ("", "usr/")]
    if skip_docs:
        excludes += ["--exclude=./usr/share/" + name
                     for name in ("doc", "man", "locale", "info", "lintian", "bug")]
    for deb in debs:
        with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(deb.path)],
                              stdout=subprocess.PIPE) as source:
            done = subprocess.run(
                ["tar", "-x", "-C", str(root), "--keep-directory-symlink", "--no-same-owner",
                 "-p", *excludes], stdin=source.stdout, stderr=subprocess.PIPE, text=True,
                check=False)
        if done.returncode or source.returncode:
            raise LabError(f"cannot unpack {deb.path.name}:\n{tail(done.stderr)}")


def complete(root: Path) -> None:
    """What the packages' maintainer scripts would have done and a node needs."""
    for name in ("proc", "sys", "dev", "run", "tmp", "root", "mnt", "home", "var/lib", "var/log",
                 "usr/local/bin", "etc/ssh"):
        (root / name).mkdir(parents=True, exist_ok=True)
    for link, target in (("bin/sh", "dash"), ("usr/bin/awk", "mawk"), ("var/run", "/run"),
                         ("etc/mtab", "/proc/self/mounts")):
        path = root / link
        if not path.is_symlink() and not path.exists():
            path.symlink_to(target)
    # Setuid programs would belong to root whoever built the image; the one that a node needs is
    # made so there (node/boot).
    for folder in ("usr/bin", "usr/sbin", "usr/lib"):
        for path in (root / folder).rglob("*"):
            if path.is_file() and not path.is_symlink() and path.stat().st_mode & 0o6000:
                path.chmod(path.stat().st_mode & 0o1777)


def kernel_version(root: Path) -> str:
    versions = [path.name for path in (root / "lib/modules").iterdir()]
    if len(versions) != 1:
        raise LabError(f"expected one kernel in the packages, found {versions or 'none'}")
    return versions[0]


def run_inside(root: Path, program: str, *words: str) -> None:
    """Runs a program of the unpacked release with its own loader and libraries."""
    libraries = ":".join(str(root / folder) for folder in LIBRARIES)
    loader = root / LOADER
    if loader.is_symlink() and os.readlink(loader).startswith("/"):
        # Debian 11: an absolute link, which means the unpacked tree, not the host.
        loader = root / os.readlink(loader).lstrip("/")
    done = subprocess.run([str(loader), "--library-path", libraries,
                           str(root / program), *words],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise LabError(f"{program} failed:\n{tail(done.stdout)}")


def write_initrd(root: Path, modules: Modules, path: Path) -> None:
    """The smallest initramfs that reaches the root: busybox, some modules, one script."""
    archive = Cpio()
    for folder in ("bin", "dev", "modules", "rw", "lower", "root"):
        archive.folder(folder)
    archive.file("bin/busybox", (root / "bin/busybox").read_bytes(), 0o755)
    order = modules.load_order(ROOT_MODULES)
    for item in order:
        data = (modules.base / item).read_bytes()
        if item.endswith(".xz"):
            # Unpacked here, because busybox insmod and old kernels read plain files only.
            data = lzma.decompress(data)
        archive.file(f"modules/{module_name(item)}.ko", data)
    archive.file("order", "".join(f"{module_name(item)}.ko\n" for item in order).encode())
    archive.file("init", STAGE_ONE.encode(), 0o755)
    archive.write(path)


def make_ext4(root: Path, image: Path) -> None:
    """An ext4 file of the tree, every file owned by root."""
    used = sum(path.lstat().st_size + 4096 for path in root.rglob("*"))
    blocks = used * 115 // 100 // 4096 + 4096
    command = ["mke2fs", "-q", "-t", "ext4", "-b", "4096", "-I", "256", "-m", "0", "-F",
               "-O", "^has_journal,^metadata_csum,^resize_inode", "-E", "root_owner=0:0",
               "-d", str(root), str(image), str(blocks)]
    if os.geteuid() != 0:
        # In a user namespace of its own, an ordinary user's files look like root's.
        command = ["unshare", "--map-root-user", *command]
    environment = dict(os.environ, PATH=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env=environment, check=False)
    if done.returncode:
        raise LabError(f"mke2fs failed:\n{tail(done.stdout)}")


def package_version(image: Image, package: str):
    """The version of a package in an image, from its file name; `None` when it has none."""
    manifest = json.loads((image.home / "manifest.json").read_text(encoding="utf-8"))
    for name in manifest["packages"]:
        match = re.fullmatch(re.escape(package) + r"_(.+)_[^_]+\.deb", name)
        if match:
            return match.group(1).replace("%3a", ":")
    return None
