"""Faults of the whole machine, made by its QEMU."""

from .fault import Fault

FAULTS = (
    Fault("power-off", "cuts the node's power; the undo boots it again",
          "unreachable: connection refused; peer.dead in a running ping",
          power=("kill", "boot")),
    Fault("freeze", "freezes the node: its addresses accept connections, and nothing replies",
          "unreachable: timed out; peer.dead in a running ping",
          power=("freeze", "thaw")),
)
