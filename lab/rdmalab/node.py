"""Who a node is: everything about it follows from the lab's slot and its number."""

import re
from dataclasses import asdict, dataclass

from .releases import RELEASES
from .talk import LabError

SSH_PORT = 2222
DOOR_PORT = 2200
PROVIDERS = {"rxe": "soft-RoCE", "iwarp": "soft-iWARP"}


@dataclass(frozen=True)
class Node:
    """One virtual node of the lab."""

    number: int
    release: int = 12
    provider: str = "rxe"

    @property
    def name(self) -> str:
        return f"n{self.number}"

    def device(self, rail: int = 1) -> str:
        """The RDMA device on a rail: rxe0 on eth1."""
        return {"rxe": "rxe", "iwarp": "siw"}[self.provider] + str(rail - 1)

    @property
    def management_ip(self) -> str:
        """Its address behind QEMU's user network, which only the host reaches."""
        return f"172.31.{self.number}.15"

    def rail_ip(self, rail: int = 1) -> str:
        return f"10.10.{rail}.{self.number}"

    def host_address(self, slot: int) -> str:
        """The loopback address of this machine on which the node answers SSH."""
        return f"127.57.{slot}.{self.number}"

    def mac(self, slot: int, rail: int) -> str:
        """Rail 0 is the management network. RDMA GUIDs come from these."""
        return f"52:54:00:{slot:02x}:{rail:02x}:{self.number:02x}"

    def as_dict(self) -> dict:
        return asdict(self)


def wire(slot: int, rail: int) -> str:
    """The multicast group that is one rail's wire; each rail and lab has its own."""
    return f"230.57.{slot}.{rail}:{20000 + slot * 8 + rail}"


def parse_nodes(count: int, release: int, overrides) -> list:
    """Nodes n1..nN from `--nodes`, `--release` and any `--node n2=11` or `n4=12,iwarp`."""
    if not 1 <= count <= 99:
        raise LabError(f"--nodes {count}: a lab has 1 to 99 nodes")
    chosen = {number: (release, "rxe") for number in range(1, count + 1)}
    for text in overrides:
        match = re.fullmatch(r"n(\d+)=(?:(\d+))?(?:,?(rxe|iwarp))?", text)
        if not match or int(match.group(1)) not in chosen:
            raise LabError(f"--node {text}: expected n1..n{count}, as in n2=11 or n{count}=12,iwarp")
        chosen[int(match.group(1))] = (int(match.group(2) or release), match.group(3) or "rxe")
    for number, (which, _) in chosen.items():
        if which not in RELEASES:
            raise LabError(f"n{number}: no Debian {which} here; there are {sorted(RELEASES)}")
    return [Node(number, which, provider) for number, (which, provider) in chosen.items()]
