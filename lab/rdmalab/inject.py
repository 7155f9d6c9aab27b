"""Starts and stops faults on nodes, and remembers which are active.

The record is the lab's, not the node's: a node that is off can still be asked
about, and a reboot, which ends every fault of a node, empties its part.
"""

import contextlib
import json
import shlex

from . import ssh, up
from .faults import TABLE, Fault
from .lab import Lab
from .paths import locked
from .talk import LabError

BOOT_TIMEOUT_S = 180


def active(lab: Lab) -> dict:
    """Active faults as {node: {fault: {"rail": 1, "value": "2ms"}}}."""
    try:
        return json.loads((lab.home / "faults.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}


@contextlib.contextmanager
def record(lab: Lab):
    """The record for a change, with all other commands kept out."""
    with locked(lab.home / "faults.lock"):
        faults = active(lab)
        yield faults
        part = lab.home / "faults.json.part"
        part.write_text(json.dumps(faults, indent=1), encoding="utf-8")
        part.rename(lab.home / "faults.json")


def find(name: str) -> Fault:
    if name not in TABLE:
        raise LabError(f"no fault {name}\n  fix: lab fault list")
    return TABLE[name]


def start(lab: Lab, name: str, node: str, rail: int = 1, value: str = "") -> None:
    """Starts a fault; one that is active already is given the new rail and value."""
    fault, machine = find(name), lab.node(node)
    if value and not fault.value:
        raise LabError(f"{name} has no --value")
    if not 1 <= rail <= lab.facts["rails"]:
        raise LabError(f"--rail {rail}: this lab has {lab.facts['rails']}")
    setting = {"rail": rail, "value": value or fault.value}
    before = active(lab).get(node, {}).get(name)
    if before and before != setting:
        stop(lab, name, node)
    # Recorded first: a start that fails half-way must be undone by reset as well.
    with record(lab) as faults:
        if name == "power-off":
            faults[node] = {}
        faults.setdefault(node, {})[name] = setting
    if fault.power:
        lab.ask(fault.power[0], node)
        return
    answer = ssh.run(lab, node, script_of(fault.start, machine, setting))
    if answer.returncode:
        raise LabError(f"{node}: {name} failed: {answer.stderr.strip() or answer.returncode}")


def stop(lab: Lab, name: str, node: str) -> None:
    """Stops a fault; one that is not active is left alone."""
    fault, machine = find(name), lab.node(node)
    setting = active(lab).get(node, {}).get(name)
    if setting is None:
        return
    if fault.power:
        lab.ask(fault.power[1], node)
        if name == "power-off":
            up.wait_until_ready(lab, [node], BOOT_TIMEOUT_S)
    else:
        answer = ssh.run(lab, node, script_of(fault.stop, machine, setting))
        if answer.returncode:
            raise LabError(f"{node}: the undo of {name} failed: {answer.stderr.strip()}\n"
                           f"  fix: lab reset")
    with record(lab) as faults:
        faults.get(node, {}).pop(name, None)


def script_of(text: str, machine, setting: dict) -> str:
    """A fault's script with its surroundings."""
    rail = setting["rail"]
    return (f". /etc/rdmalab.conf; RAIL={rail} DEV=eth{rail} RDMA={machine.device(rail)} "
            f"VALUE={shlex.quote(setting['value'])}\n{text}\n")


def forget(lab: Lab, node: str) -> None:
    """A node that was booted afresh has no fault any more."""
    with record(lab) as faults:
        faults.pop(node, None)


def render_list() -> str:
    lines = []
    for fault in TABLE.values():
        lines.append(f"{fault.name}\n    does:    {fault.does}")
        if fault.value:
            lines.append(f"    value:   {fault.value_is} (default: {fault.value})")
        lines.append(f"    rdmactl: {fault.verdict}")
    return "\n".join(lines)
