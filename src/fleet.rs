//! Other hosts: their names, the SSH connections to them, and the agents at the far end.
