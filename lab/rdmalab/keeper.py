"""The one process that owns a lab's QEMUs, so that none is ever left behind.

It runs in the background from `lab up` to `lab down`. It takes the lab down
when it is told to, when `lab up` goes away before its end, when the owner
process ends, or when the lab is too old. Should the keeper itself be killed,
the kernel kills its QEMUs (parent-death signal); only files stay, and the next
`lab up` removes those. It is single-threaded: that signal belongs to a thread.
"""

import json
import os
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from . import keys, qemu, seed
from .image import Image
from .node import Node
from .processes import Watched, die_with_parent
from .slot import claim_slot

QUICK_DEATH_S = 4
RESTART_WORDS = b"reboot: Restarting system"


class Keeper:
    """The lab's state while it runs."""

    def __init__(self, home: Path):
        self.home = home
        self.lab = json.loads((home / "request.json").read_text(encoding="utf-8"))
        self.nodes = {node.name: node for node in (Node(**entry) for entry in self.lab["nodes"])}
        self.running = {}
        self.started = {}
        self.frozen = set()
        self.events = selectors.DefaultSelector()
        self.ready = False
        self.leave = None

    def run(self) -> None:
        os.chdir(self.home)
        self.lab["slot"], self.guard = claim_slot(self.lab["name"])
        self.lab["keeper"] = os.getpid()
        self.lab["born"] = time.time()
        keys.write_identities(self.home, self.nodes.values(), self.lab["slot"])
        self.listen()
        try:
            for name in self.nodes:
                self.boot(name)
            partial = self.home / "lab.json.part"
            partial.write_text(json.dumps(self.lab, indent=1), encoding="utf-8")
            partial.rename(self.home / "lab.json")
            self.loop()
        finally:
            print(f"taking the lab down: {self.leave or 'error'}", flush=True)
            self.take_down()

    def listen(self) -> None:
        """Registers everything that can happen to a lab."""
        control = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        control.bind("control")
        control.listen(16)
        self.events.register(control, selectors.EVENT_READ, self.on_control)
        self.events.register(0, selectors.EVENT_READ, self.on_up)
        if self.lab.get("owner"):
            try:
                owner = Watched(self.lab["owner"])
                self.events.register(owner, selectors.EVENT_READ, self.on_owner)
            except ProcessLookupError:
                self.leave = "its owner is gone"
        woken, waker = socket.socketpair()
        waker.setblocking(False)
        signal.set_wakeup_fd(waker.fileno())
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self.on_signal)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._waker = waker
        self.events.register(woken, selectors.EVENT_READ, lambda sock: sock.recv(64))

    def loop(self) -> None:
        deadline = time.monotonic() + self.lab["max_age_s"]
        while not self.leave:
            left = deadline - time.monotonic()
            if left <= 0:
                self.leave = "it is too old"
                break
            for key, _ in self.events.select(min(left, 60)):
                key.data(key.fileobj)
            self.reap()

    def boot(self, name: str) -> None:
        """Starts a node's QEMU with a fresh seed; does nothing when it runs."""
        if name in self.running:
            return
        node = self.nodes[name]
        seed.write_seed(self.home, node, self.lab)
        entry = self.lab["images"][str(node.release)]
        image = Image(Path(entry["home"]), entry["kernel"])
        console = Path(f"{name}.console")
        if console.exists():
            console.rename(f"{name}.console.old")
        console.touch()
        with open(f"{name}.qemu", "wb") as errors:
            self.running[name] = subprocess.Popen(
                qemu.command(node, image, self.lab), stdin=subprocess.DEVNULL,
                stdout=errors, stderr=errors, preexec_fn=die_with_parent())
        self.started[name] = time.monotonic()

    def kill(self, name: str) -> None:
        """Cuts a node's power."""
        process = self.running.pop(name, None)
        self.frozen.discard(name)
        if process:
            process.kill()
            process.wait()

    def reap(self) -> None:
        """Notices QEMUs that ended by themselves; a node that restarted itself boots again."""
        for name, process in list(self.running.items()):
            if process.poll() is None:
                continue
            self.kill(name)
            age = time.monotonic() - self.started[name]
            restart = Path(f"{name}.console").read_bytes()[-400:].count(RESTART_WORDS)
            print(f"{name}: qemu ended with {process.returncode} after {age:.0f} s", flush=True)
            if restart and age > QUICK_DEATH_S and self.ready:
                self.boot(name)

    def on_signal(self, number, _frame) -> None:
        self.leave = f"signal {number}"

    def on_owner(self, owner) -> None:
        self.leave = f"its owner, process {owner.pid}, ended"

    def on_up(self, _) -> None:
        """`lab up` says `ready` at its end; a plain end of file means that it died."""
        word = os.read(0, 16)
        if word.startswith(b"ready"):
            self.ready = True
        elif not self.ready:
            self.leave = "lab up did not finish"
        self.events.unregister(0)

    def on_control(self, control) -> None:
        connection, _ = control.accept()
        with connection:
            connection.settimeout(2)
            try:
                request = json.loads(connection.makefile("rb").readline())
                answer = self.answer(request)
            except (OSError, ValueError, KeyError) as error:
                answer = {"error": f"{type(error).__name__}: {error}"}
            try:
                connection.sendall(json.dumps(answer).encode() + b"\n")
            except OSError:
                pass

    def answer(self, request: dict) -> dict:
        """Carries out one request; each may be repeated without harm."""
        action, name = request["do"], request.get("node")
        if name is not None and name not in self.nodes:
            return {"error": f"no node {name}"}
        if action == "boot":
            self.boot(name)
        elif action == "kill":
            self.kill(name)
        elif action == "freeze" and name in self.running:
            self.running[name].send_signal(signal.SIGSTOP)
            self.frozen.add(name)
        elif action == "thaw" and name in self.running:
            self.running[name].send_signal(signal.SIGCONT)
            self.frozen.discard(name)
        elif action == "down":
            self.leave = "lab down"
        return {"power": {known: self.power(known) for known in self.nodes}}

    def power(self, name: str) -> str:
        if name in self.frozen:
            return "frozen"
        return "on" if name in self.running else "off"

    def take_down(self) -> None:
        for name in list(self.running):
            self.kill(name)
        shutil.rmtree(self.home, ignore_errors=True)


def main(home: str) -> None:
    """Entry of the hidden command `lab keeper`."""
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    sys.stdout.reconfigure(line_buffering=True)
    Keeper(Path(home)).run()
