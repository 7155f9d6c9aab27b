"""The type of a fault."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """A fault of one node, with its undo.

    `start` and `stop` are shell scripts that run on the node, both safe to
    repeat. They find `$DEV` (eth1), `$RDMA` (rxe0), `$RAIL`, `$VALUE` and the
    node's own /etc/rdmalab.conf. A fault of the power has keeper requests
    instead: `power` is the pair of what to ask for start and stop.
    """

    name: str
    does: str
    # How rdmactl should call it: a verdict code of `ping`, or the row of a listing.
    verdict: str
    start: str = ""
    stop: str = ""
    power: tuple = ()
    # Meaning and default of `--value`, when the fault has one.
    value: str = ""
    value_is: str = ""
