"""What the VM tests share: a lab for a test class, and proofs run on its nodes."""

import os
import subprocess
import sys
import time
import unittest
from pathlib import Path

from rdmalab import inject, reset, ssh
from rdmalab.lab import Lab, take_down

COMMAND = Path(__file__).resolve().parent.parent / "lab"
SERVER = """
timeout 25 ibv_rc_pingpong -d {device} -g 1 {options} >/tmp/pingpong 2>&1 </dev/null &
# 18515, its listening port; connecting to look would use up its one accept.
for try in $(seq 100); do grep -q ':4853 ' /proc/net/tcp /proc/net/tcp6 && exit 0; sleep 0.05; done
cat /tmp/pingpong; exit 1
"""


def lab_command(*words, timeout_s: float = 400, **kwargs) -> subprocess.CompletedProcess:
    """Runs `lab/lab` as a user would."""
    return subprocess.run([sys.executable, str(COMMAND), *words], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=timeout_s, check=False, **kwargs)


def qemus_of(name: str) -> list:
    """The process numbers of all QEMUs and keepers of a lab, dead zombies left out."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
            state = (entry / "stat").read_text(encoding="ascii").rsplit(") ", 1)[1][0]
        except (OSError, IndexError, UnicodeDecodeError):
            continue
        text = b" ".join(words).decode(errors="replace")
        if state != "Z" and (f"rdmalab-{name}-" in text or f"/labs/{name}" in text and "keeper" in text):
            found.append(int(entry.name))
    return found


def wait_until(condition, timeout_s: float = 20) -> bool:
    """Waits for a condition with a deadline."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


class LabTest(unittest.TestCase):
    """A test class with a lab of its own, booted once."""

    NODES = ("--nodes", "2")
    NAME = "selftest"
    lab = None

    @classmethod
    def setUpClass(cls):
        cls.name = f"{cls.NAME}-{os.getpid()}"
        done = lab_command("up", "--name", cls.name, "--owner", str(os.getpid()), *cls.NODES)
        if done.returncode:
            raise AssertionError(f"lab up failed:\n{done.stderr}")
        cls.lab = Lab(cls.name)

    @classmethod
    def tearDownClass(cls):
        take_down(cls.name)

    def tearDown(self):
        reset.reset(self.lab)

    def on(self, node: str, script: str, **kwargs) -> subprocess.CompletedProcess:
        return ssh.run(self.lab, node, script, **kwargs)

    def start(self, fault: str, node: str = "n2", value: str = "") -> None:
        inject.start(self.lab, fault, node, 1, value)
        # Twice on purpose: every fault must be safe to repeat.
        inject.start(self.lab, fault, node, 1, value)
        self.assertIn(fault, inject.active(self.lab)[node])

    def undo(self, fault: str, node: str = "n2") -> None:
        """Undoes, twice, and holds the node against what it was at boot."""
        inject.stop(self.lab, fault, node)
        inject.stop(self.lab, fault, node)
        self.assert_as_at_boot(node)

    def assert_as_at_boot(self, node: str) -> None:
        script = "rm -f /tmp/pingpong; /usr/lib/rdmalab/state 2>&1 | diff /run/rdmalab/boot-state - "
        answer = self.on(node, f"for try in 1 2 3 4 5; do {script} && exit 0; sleep 0.5; done; exit 1")
        self.assertEqual(answer.returncode, 0, answer.stdout + answer.stderr)

    def pingpong(self, options: str = "", limit_s: int = 8, client: str = "n1",
                 server: str = "n2") -> bool:
        """Whether ibv_rc_pingpong passes from client to server, in both directions of data."""
        options += " -n 10"
        device = self.lab.node(server).device()
        listening = self.on(server, SERVER.format(device=device, options=options))
        self.assertEqual(listening.returncode, 0, listening.stdout + listening.stderr)
        address = self.lab.node(server).rail_ip()
        done = self.on(client, f"timeout {limit_s} ibv_rc_pingpong -d {self.lab.node(client).device()}"
                               f" -g 1 {options} {address}")
        self.on(server, "pkill -KILL ibv_rc_pingpong; rm -f /tmp/pingpong")
        return done.returncode == 0
