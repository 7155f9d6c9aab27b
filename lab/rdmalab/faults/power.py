"""Faults of the whole machine, done to its QEMU."""

from .fault import Fault

FAULTS = (
    Fault("power-off", "cuts the node's power; the undo boots it again",
          "unreachable: connection refused by its address; peer.dead in a running ping",
          power=("kill", "boot")),
    Fault("freeze", "freezes the node: its addresses accept and nothing answers",
          "unreachable: timed out; peer.dead in a running ping",
          power=("freeze", "thaw")),
)
