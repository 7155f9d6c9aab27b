"""`lab reset`: every node as it was at boot, and a proof of it.

Undoing is not believed: after it, each node prints everything that a fault or
a test may change (node/state), and that must equal what it printed at boot. A
node for which it does not is booted afresh, with the difference named.
"""

import difflib
from concurrent.futures import ThreadPoolExecutor

from . import inject, ssh, up
from .faults import TABLE
from .lab import Lab
from .talk import LabError, say

SWEEP = """
/usr/lib/rdmalab/leftovers kill
find /tmp /dev/shm -mindepth 1 -delete 2>/dev/null
. /etc/rdmalab.conf
for rail in $(seq $RAILS); do ip neigh flush dev eth$rail; done
# What ends with a killed process (queue pairs, sockets) ends a moment later.
for try in 1 2 3; do
    /usr/lib/rdmalab/state > /run/rdmalab-state 2>&1
    cmp -s /run/rdmalab/boot-state /run/rdmalab-state && break
    sleep 0.3
done
cat /run/rdmalab/boot-state; echo "===="; cat /run/rdmalab-state
"""


def reset(lab: Lab) -> int:
    """Resets all nodes side by side; returns how many had to be booted."""
    faults = inject.active(lab)
    power = lab.power()
    for node, state in power.items():
        if state == "frozen":
            lab.ask("thaw", node)
    with ThreadPoolExecutor(len(lab.nodes)) as pool:
        problems = dict(zip(lab.nodes, pool.map(
            lambda node: mend(lab, node, faults.get(node, {}), power[node]), lab.nodes)))
    dirty = {node: problem for node, problem in problems.items() if problem}
    for node, problem in dirty.items():
        say(f"{node} is booted again: {problem}")
        lab.ask("kill", node)
        lab.ask("boot", node)
    for node in lab.nodes:
        inject.forget(lab, node)
    if dirty:
        up.wait_until_ready(lab, list(dirty), inject.BOOT_TIMEOUT_S)
    return len(dirty)


def mend(lab: Lab, node: str, faults: dict, power: str):
    """Undoes a node's faults and compares; the reason why it is not clean, or `None`."""
    if power == "off":
        return "it was off"
    undo = "".join(f"( {inject.script_of(TABLE[name].stop, lab.node(node), setting)} )\n"
                   for name, setting in reversed(faults.items()) if not TABLE[name].power)
    answer = ssh.run(lab, node, undo + SWEEP, 60)
    boot, mark, after = answer.stdout.partition("====\n")
    if answer.returncode or not mark:
        return f"it does not answer ({answer.stderr.strip() or answer.returncode})"
    if boot != after:
        lines = difflib.unified_diff(boot.splitlines(), after.splitlines(), lineterm="", n=0)
        return "; ".join(line for line in lines if line[:2] not in ("--", "++", "@@"))[:600]
    return None


def check(lab: Lab) -> None:
    """Stops with an error when a node differs from its boot; changes nothing."""
    for node in lab.nodes:
        script = "/usr/lib/rdmalab/state 2>&1 | diff /run/rdmalab/boot-state -"
        answer = ssh.run(lab, node, script)
        if answer.returncode:
            raise LabError(f"{node} is not as it was at boot:\n{answer.stdout}{answer.stderr}")
