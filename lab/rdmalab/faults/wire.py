"""Faults of the network: filters, losses, delays, MTUs, links, addresses."""

from .fault import Fault

WIRE = "/usr/lib/rdmalab/wire"
NFT = "/usr/sbin/nft"
TABLE = "inet rdmalab"
# Deletes the table, whether it is there or not.
NO_RULES = f"add table {TABLE}; delete table {TABLE}"
RULES = "; ".join([NO_RULES, f"add table {TABLE}"] + [
    f"add chain {TABLE} {way} {{ type filter hook {way} priority 0; }}; "
    f"add rule {TABLE} {way} udp dport 4791 drop" for way in ("input", "output")])

FAULTS = (
    Fault("udp4791-drop", "drops RoCE v2 (UDP port 4791) in both directions, as a firewall does",
          "roce.udp4791_blocked, with TCP ok; an application would fall back to TCP",
          f"{WIRE} drop-udp4791 $DEV ingress 10 && {WIRE} drop-udp4791 $DEV egress 10",
          f"{WIRE} undrop $DEV 10"),
    Fault("udp4791-drop-in", "drops RoCE v2 packets to the node",
          "roce.udp4791_blocked or path.asymmetric, with the direction named",
          f"{WIRE} drop-udp4791 $DEV ingress 14", f"{WIRE} undrop $DEV 14"),
    Fault("nftables-drop", "drops RoCE v2 (UDP port 4791) in both directions by rules of nftables",
          "roce.udp4791_blocked, with TCP ok; a finding of `check --active` at the node",
          f"{NFT} '{RULES}'", f"{NFT} '{NO_RULES}'"),
    Fault("drop-large", "drops packets to the node that are longer than 1,400 bytes; all MTUs look right",
          "mtu.blackhole: 64 bytes pass, a path-MTU message does not",
          f"{WIRE} drop-large $DEV 20", f"{WIRE} undrop $DEV 20"),
    Fault("mtu-small", "sets the MTU of the network interface to VALUE; with 1500, the active RDMA MTU is 1024",
          "ok with the smaller MTU negotiated; mtu.mismatch if --mtu requests a larger one",
          'ip link set $DEV mtu $VALUE', 'ip link set $DEV mtu $MTU',
          value="1500", value_is="bytes"),
    Fault("link-down", "sets the rail's network interface down",
          "local.link_down on the node, peer.dead or l2.no_neighbour from the others",
          "ip link set $DEV down", "ip link set $DEV up && /usr/lib/rdmalab/devices wait"),
    Fault("address-removed", "removes the rail's IPv4 address, and with it the RoCE v2 GID",
          "gid.index or gid.family on the node, l2.no_neighbour from the others",
          "ip addr del 10.10.$RAIL.$NUMBER/24 dev $DEV 2>/dev/null || true",
          "ip addr replace 10.10.$RAIL.$NUMBER/24 dev $DEV"),
    Fault("loss", "drops VALUE of the packets of the node",
          "ok, and the warning path.lossy names the node; with 100%, rail.down or l2.no_neighbour",
          f"{WIRE} netem $DEV loss loss $VALUE", f"{WIRE} netem $DEV loss",
          value="20%", value_is="percentage"),
    Fault("delay", "delays packets of the node by VALUE",
          "2 ms: bad transmit side, an outlier; 300 ms: slow, never dead",
          f"{WIRE} netem $DEV delay delay $VALUE", f"{WIRE} netem $DEV delay",
          value="2ms", value_is="time, for example 300ms"),
)
