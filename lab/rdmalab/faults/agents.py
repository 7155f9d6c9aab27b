"""Faults of rdmactl's own agents: a watcher on the node signals an agent when it starts."""

from .fault import Fault

AGENTS = "/usr/lib/rdmalab/agents"


def strike(role: str, signal: str, does: str, verdict: str) -> Fault:
    name = f"{role}-{'stop' if signal == 'STOP' else 'kill'}"
    return Fault(name, does + ", VALUE ms after it starts, once", verdict,
                 f"{AGENTS} arm {name} {role} {signal} $VALUE", f"{AGENTS} disarm {name}",
                 value="200", value_is="milliseconds")


FAULTS = (
    strike("worker", "STOP", "stops the agent's worker",
           "peer.hung within 2 s, or 6 s before its first message; the supervisor kills it, and no queue pair remains"),
    strike("worker", "KILL", "kills the agent's worker", "peer.dead within a second"),
    strike("supervisor", "STOP", "stops the agent's supervisor",
           "peer.hung; the operator kills it over a new channel, or reports that the agent is still running"),
    strike("supervisor", "KILL", "kills the agent's supervisor",
           "agent lost; its worker ends with it"),
)
