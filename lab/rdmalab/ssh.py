"""Commands on nodes, over SSH: through the server under test or the lab's own door."""

import subprocess

from .lab import Lab


def ssh_command(lab: Lab, node: str, words, user: str = "root", door: bool = True) -> list:
    """The ssh command line. `door` is the way that no fault touches."""
    config = "door_config" if door else "ssh_config"
    return ["ssh", "-F", str(lab.home / config), "-l", user, lab.node(node).name, "--", *words]


def run(lab: Lab, node: str, script: str, timeout_s: float = 60,
        user: str = "root", door: bool = True) -> subprocess.CompletedProcess:
    """Runs a shell script on a node and returns its exit code, stdout and stderr as text.

    A run past `timeout_s` has exit code 124, as with timeout(1).
    """
    try:
        return subprocess.run(ssh_command(lab, node, ["sh", "-s"], user, door), input=script,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=timeout_s, check=False)
    except subprocess.TimeoutExpired as late:
        text = late.stdout.decode() if isinstance(late.stdout, bytes) else late.stdout or ""
        return subprocess.CompletedProcess(late.cmd, 124, text, f"no end after {timeout_s} s")
