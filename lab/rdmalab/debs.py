"""Fetches Debian packages of any release with apt, beside the system's own apt.

apt does what it does best (dependencies, signed indexes, checksums) but with
private state, so no root is needed and the system's lists are untouched. The
mirror is the one that this machine's apt already uses.
"""

import hashlib
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from .paths import cache_root
from .processes import die_with_parent
from .talk import LabError, say

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
SUITES = ("bullseye", "bookworm", "trixie", "forky", "sid", "oldoldstable", "oldstable",
          "stable", "testing", "unstable")


@dataclass(frozen=True)
class Deb:
    """One package file, verified against the signed index."""

    path: Path
    sha256: str


def read_mirrors() -> tuple:
    """The archive and security URIs of this machine's own apt.

    `RDMACTL_LAB_MIRROR` ("ARCHIVE SECURITY") stands above it, for machines
    that are no Debian.
    """
    override = os.environ.get("RDMACTL_LAB_MIRROR", "").split()
    if override:
        return override[0], override[-1]
    # Not `indextargets`: that is empty on a machine whose lists were never fetched.
    answer = subprocess.run(["apt-get", "-oDebug::NoLocking=1", "update", "--print-uris"],
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    found = re.findall(r"^'(\S+?)/dists/([^/']+)/InRelease'", answer.stdout, re.M)
    suites = "|".join(SUITES)
    archives = [uri for uri, suite in found if re.fullmatch(suites, suite)]
    security = [uri for uri, suite in found if re.fullmatch(f"({suites})-security", suite)]
    # Other vendors call their suites by Debian's names, but only Debian has -updates.
    updates = [uri for uri, suite in found if re.fullmatch(f"({suites})-updates", suite)]
    archives = [uri for uri in archives if uri in updates] or archives
    if not archives:
        raise LabError("no Debian archive in this machine's apt sources\n"
                       "  fix: export RDMACTL_LAB_MIRROR='ARCHIVE-URI SECURITY-URI'")
    return archives[0], (security or archives)[0]


class Apt:
    """apt with private state for one release."""

    def __init__(self, codename: str):
        self.home = cache_root() / "apt" / codename
        for sub in ("state/lists/partial", "archives/partial"):
            (self.home / sub).mkdir(parents=True, exist_ok=True)
        (self.home / "status").touch()
        self.sources = self.home / "sources.list"
        self.codename = codename

    def write_sources(self) -> None:
        archive, security = read_mirrors()
        if not os.path.exists(KEYRING):
            raise LabError(f"{KEYRING} is missing\n  fix: apt-get install debian-archive-keyring")
        lines = [f"deb [signed-by={KEYRING}] {archive} {self.codename} main"]
        if security != archive:
            lines.append(f"deb [signed-by={KEYRING}] {security} {self.codename}-security main")
        self.sources.write_text("\n".join(lines) + "\n", encoding="utf-8")

    def command(self, *words: str) -> list:
        home = self.home
        options = {
            "Dir::State": home / "state", "Dir::State::status": home / "status",
            "Dir::Cache": home, "Dir::Cache::archives": home / "archives",
            "Dir::Etc::sourcelist": self.sources, "Dir::Etc::sourceparts": "/nonexistent",
            # The system's hooks (dbus, snapshots, ...) have no business with a private state.
            "Dir::Etc::parts": "/nonexistent", "Dir::Etc::main": "/nonexistent",
            "APT::Architecture": "amd64", "APT::Architectures": "amd64",
            "APT::Install-Recommends": "0", "APT::Sandbox::User": "root",
            "Acquire::Languages": "none", "Acquire::Retries": "2", "Acquire::http::Timeout": "20",
            "Debug::NoLocking": "1", "Acquire::ForceHash": "sha256",
            # An old release's index is stale by nature; its signature is still checked.
            "Acquire::Check-Valid-Until": "0",
        }
        options.update(read_proxies())
        flags = [f"-o{key}={value}" for key, value in options.items()]
        return ["apt-get", "-q", *flags, *words]

    def run(self, *words: str) -> subprocess.CompletedProcess:
        return subprocess.run(self.command(*words), stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                              text=True, check=False, preexec_fn=die_with_parent())

    def update(self) -> None:
        self.write_sources()
        done = self.run("update")
        # apt exits 0 on a failed fetch when it has an older list to fall back on.
        if done.returncode or re.search(r"^(E|Err:)", done.stdout, re.M):
            raise LabError(f"apt cannot read the {self.codename} index:\n{tail(done.stdout)}")

    def fetch(self, packages) -> list:
        """The package files of `packages` and all they depend on, from the cache if possible."""
        wanted = ["--no-install-recommends", "-y", *packages]
        # A first try with the lists at hand: with everything cached, no network is touched.
        for attempt in ("cached", "fresh"):
            if attempt == "fresh" or not self.sources.exists():
                say(f"{self.codename}: reading the package index")
                self.update()
            plan = self.run("install", "--print-uris", *wanted)
            urls = re.findall(r"^'[^']+' (\S+) (\d+)", plan.stdout, re.M)
            if urls:
                say(f"{self.codename}: fetching {len(urls)} packages, "
                    f"{sum(int(size) for _, size in urls) / 1e6:.0f} MB")
            done = self.run("install", "--download-only", *wanted)
            if done.returncode == 0:
                return self.collect(wanted)
        raise LabError(f"apt cannot fetch packages of {self.codename}:\n{tail(done.stdout)}")

    def collect(self, wanted) -> list:
        """The files of the plan, each held against the checksum of the signed index."""
        plan = self.run("install", "--reinstall", "--print-uris", "-oDir::Cache::archives=/nonexistent",
                        *wanted)
        found = []
        for name, digest in re.findall(r"^'[^']+' (\S+) \d+ SHA256:([0-9a-f]{64})",
                                       plan.stdout, re.M):
            path = self.home / "archives" / name
            actual = hashlib.sha256(path.read_bytes()).hexdigest()
            if actual != digest:
                path.unlink()
                raise LabError(f"{path}: wrong checksum, removed\n  fix: run the command again")
            found.append(Deb(path, digest))
        if not found:
            raise LabError(f"apt lists no files for {self.codename}:\n{tail(plan.stdout)}")
        return found


def read_proxies() -> dict:
    """The proxies of the system's apt; `RDMACTL_LAB_OFFLINE=1` forbids the network instead."""
    if os.environ.get("RDMACTL_LAB_OFFLINE"):
        return {"Acquire::http::Proxy": "http://127.0.0.1:9", "Acquire::Retries": "0",
                "Acquire::https::Proxy": "http://127.0.0.1:9"}
    dump = subprocess.run(["apt-config", "dump"], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, check=False).stdout
    return dict(re.findall(r'^(Acquire::https?::\S*[Pp]roxy\S*) "(.+)";$', dump, re.M))


def tail(text: str, lines: int = 8) -> str:
    """The last lines of a program's output, indented to stand below a message."""
    return "\n".join("  " + line for line in text.strip().splitlines()[-lines:])
