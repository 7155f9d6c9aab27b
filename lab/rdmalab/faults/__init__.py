"""The table of all faults."""

from . import agents, login, machine, power, wire
from .fault import Fault

TABLE = {fault.name: fault for fault in
         (*wire.FAULTS, *agents.FAULTS, *power.FAULTS, *machine.FAULTS, *login.FAULTS)}

__all__ = ["TABLE", "Fault"]
