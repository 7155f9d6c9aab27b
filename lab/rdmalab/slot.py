"""Claims the numbers that no two labs of one machine may share.

A slot is one /24 of loopback and one range of multicast ports. The claim is a
listening socket: the kernel frees it when its owner dies, and it holds between
users whose caches know nothing of each other.
"""

import socket
import zlib

from .node import SSH_PORT
from .talk import LabError

SLOTS = 200


def guard_address(slot: int) -> tuple:
    """No node has number 254, so the guard never stands in a node's way."""
    return f"127.57.{slot}.254", SSH_PORT


def claim_slot(name: str) -> tuple:
    """The first free slot from the lab's favourite on, and the socket that holds it."""
    # A favourite from the name keeps a lab's addresses from one day to the next.
    favourite = zlib.crc32(name.encode()) % SLOTS
    for step in range(SLOTS):
        slot = (favourite + step) % SLOTS + 1
        guard = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            guard.bind(guard_address(slot))
            guard.listen(1)
            return slot, guard
        except OSError:
            guard.close()
    raise LabError(f"all {SLOTS} lab slots of this machine are taken\n  fix: lab down in some checkout")
