"""`lab console`: what a node says on its serial line, and a root shell on it.

The shell needs neither network nor sshd, so it works when a fault took both.
"""

import os
import select
import socket
import sys
import termios
import tty

from .lab import Lab
from .talk import LabError, say

DETACH = b"\x1d"  # Ctrl-], as in telnet


def show(lab: Lab, node: str) -> None:
    """Prints the console since the node's last boot."""
    lab.node(node)
    sys.stdout.write((lab.home / f"{node}.console").read_text(encoding="utf-8", errors="replace"))


def attach(lab: Lab, node: str) -> None:
    """Joins this terminal with the node's serial line until Ctrl-]."""
    lab.node(node)
    if not sys.stdin.isatty():
        raise LabError("lab console --attach needs a terminal")
    folder = os.open(lab.home, os.O_RDONLY | os.O_DIRECTORY)
    line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    line.connect(f"/proc/self/fd/{folder}/{node}.tty")
    say(f"{node}: press Enter for a root shell, Ctrl-] to leave")
    before = termios.tcgetattr(0)
    try:
        tty.setraw(0)
        line.sendall(b"\r")
        while True:
            ready, _, _ = select.select([0, line], [], [])
            if line in ready:
                data = line.recv(4096)
                if not data:
                    return
                os.write(1, data)
            if 0 in ready:
                data = os.read(0, 4096)
                if not data or DETACH in data:
                    return
                line.sendall(data)
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)
        line.close()
        os.close(folder)
