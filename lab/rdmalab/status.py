"""`lab status`: the nodes, where they answer, and what is wrong with them on purpose."""

import json

from .lab import Lab


def rows(lab: Lab, faults: dict) -> list:
    """One record per node, the same for the table and for JSON."""
    power = lab.power()
    return [{
        "node": node.name,
        "power": power[node.name],
        "ssh": f"{lab.address(node)}:2222",
        "debian": node.release,
        "kernel": lab.facts["images"][str(node.release)]["kernel"],
        "devices": [node.device(rail) for rail in range(1, lab.facts["rails"] + 1)],
        "rail_ips": [node.rail_ip(rail) for rail in range(1, lab.facts["rails"] + 1)],
        "faults": sorted(faults.get(node.name, {})),
    } for node in lab.nodes.values()]


def render_table(records) -> str:
    head = ["NODE", "POWER", "SSH", "DEBIAN", "KERNEL", "DEVICES", "RAIL IPS", "FAULTS"]
    body = [[",".join(value) or "-" if isinstance(value, list) else str(value)
             for value in record.values()] for record in records]
    widths = [max(len(row[column]) for row in [head, *body]) for column in range(len(head))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
                     for row in [head, *body])


def render_json(lab: Lab, records) -> str:
    return json.dumps({"name": lab.name, "accelerator": lab.facts["accelerator"],
                       "mtu": lab.facts["mtu"], "ssh_config": str(lab.ssh_config),
                       "nodes": records}, indent=1)
