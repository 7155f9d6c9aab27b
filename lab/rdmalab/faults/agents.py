"""Faults of rdmactl's own agents: a watcher on the node strikes one when it appears."""

from .fault import Fault

AGENTS = "/usr/lib/rdmalab/agents"


def strike(role: str, signal: str, does: str, verdict: str) -> Fault:
    name = f"{role}-{'stop' if signal == 'STOP' else 'kill'}"
    return Fault(name, does + ", VALUE ms after it appears, once", verdict,
                 f"{AGENTS} arm {name} {role} {signal} $VALUE", f"{AGENTS} disarm {name}",
                 value="200", value_is="milliseconds")


FAULTS = (
    strike("worker", "STOP", "stops the agent's worker",
           "peer.hung within two seconds, six before its first word; the supervisor kills it, no queue pair stays"),
    strike("worker", "KILL", "kills the agent's worker", "peer.dead within a second"),
    strike("supervisor", "STOP", "stops the agent's supervisor",
           "peer.hung; the operator kills it over a new channel, or reports that the agent is still running"),
    strike("supervisor", "KILL", "kills the agent's supervisor",
           "agent lost; its worker dies with it"),
)
