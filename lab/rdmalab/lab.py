"""A lab as its commands see it: its folder, its facts, and a line to its keeper."""

import fcntl
import json
import os
import shutil
import socket
import time
from pathlib import Path

from .node import Node
from .paths import lab_dir, labs_root
from .talk import LabError


def take_lock(home: Path):
    """The lab's lock as an open file, or `None` while a keeper holds it.

    A keeper that ends removes the folder: FileNotFoundError then.
    """
    handle = open(home / "lock", "a", encoding="ascii")
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return handle
    except OSError:
        handle.close()
        return None


def remove_stale_labs() -> None:
    """Removes the folders of labs whose keeper is gone."""
    for home in labs_root().iterdir():
        try:
            lock = take_lock(home) if home.is_dir() else None
        except FileNotFoundError:
            continue
        if lock:
            shutil.rmtree(home, ignore_errors=True)
            lock.close()


class Lab:
    """A running lab; opening one that does not run is an error that says so."""

    def __init__(self, name: str):
        self.name = name
        self.home = lab_dir(name)
        try:
            self.facts = json.loads((self.home / "lab.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise LabError(f"no lab {name} is running\n  fix: lab up") from None
        self.nodes = {entry.name: entry for entry in
                      (Node(**fields) for fields in self.facts["nodes"])}

    @property
    def slot(self) -> int:
        return self.facts["slot"]

    @property
    def ssh_config(self) -> Path:
        return self.home / "ssh_config"

    def node(self, name: str) -> Node:
        if name not in self.nodes:
            raise LabError(f"no node {name}; there are {' '.join(self.nodes)}")
        return self.nodes[name]

    def address(self, node: Node) -> str:
        return node.host_address(self.slot)

    def ask(self, action: str, node=None) -> dict:
        """One request to the keeper."""
        request = {"do": action, "node": node}
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
            line.settimeout(30)
            # Through /proc, because a socket's path may have 107 bytes at most.
            folder = os.open(self.home, os.O_RDONLY | os.O_DIRECTORY)
            try:
                line.connect(f"/proc/self/fd/{folder}/control")
            except OSError as error:
                raise LabError(f"lab {self.name} does not answer ({error})\n  fix: lab up") from None
            finally:
                os.close(folder)
            try:
                line.sendall(json.dumps(request).encode() + b"\n")
                answer = json.loads(line.makefile("rb").readline() or b"{}")
            except OSError as error:
                raise LabError(f"the keeper of lab {self.name} ended ({error})") from None
        if "error" in answer:
            raise LabError(answer["error"])
        return answer

    def power(self) -> dict:
        """`on`, `off` or `frozen` for each node."""
        return self.ask("status")["power"]


def take_down(name: str, patience_s: float = 20) -> bool:
    """Ends the lab and waits until nothing of it is left. False when it did not run."""
    home = lab_dir(name)
    if not home.exists():
        return False
    try:
        Lab(name).ask("down")
    except LabError:
        pass
    deadline = time.monotonic() + patience_s
    while home.exists():
        try:
            lock = take_lock(home)
        except FileNotFoundError:
            break
        if lock:
            shutil.rmtree(home, ignore_errors=True)
            lock.close()
            return True
        if time.monotonic() > deadline:
            raise LabError(f"lab {name} does not end; its keeper's log is {home}/keeper.log")
        time.sleep(0.05)
    return True
