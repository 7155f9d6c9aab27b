"""Many hosts on this machine, each with a sshd, processes and a network of its own.

Loopback hosts share one table of processes and one of sockets, so that each of 512 agents that list them reads what all
others cause. Here, as on real hosts, none sees another.
"""

import os
import subprocess
import sys
import time

from .loopback import Loopback, children

PREFIX = "10.77"
CLIENT = f"{PREFIX}.255.254"


class SeparateHosts(Loopback):
    """So many hosts, with the addresses of `host_set(count, PREFIX)`."""

    def __init__(self, binary, devices, count):
        self.count = count
        super().__init__(binary, devices)

    def addresses(self):
        return [f"{PREFIX}.{at // 64 + 1}.{at % 64 + 1}" for at in range(self.count)]

    def serve(self, script):
        client = self.start(["unshare", "-n", "sleep", "infinity"])
        spaces = ["unshare", "-n", "-m", "-p", "--fork", "--kill-child", "--mount-proc"]
        hosts = [self.start([*spaces, "sh", "-c", script]) for _ in range(self.count)]
        for process in (client, *hosts):
            self.await_network(process)
        configure(client, f"link set lo up\naddr add {CLIENT}/32 dev lo\n")
        for at, (process, address) in enumerate(zip(hosts, self.addresses(), strict=True)):
            configure(client, f"link add v{at} type veth peer name eth0 netns {process.pid}\nlink set v{at} up\n"
                              f"route add {address}/32 dev v{at} src {CLIENT}\n")
            configure(process, f"addr add {address}/32 dev eth0\nlink set eth0 up\nroute add {CLIENT}/32 dev eth0\n")
        return client.pid, [children(process.pid)[0] for process in hosts]

    def await_network(self, process):
        """Until the process has left the network of this one."""
        deadline = time.monotonic() + 20
        while os.readlink(f"/proc/{process.pid}/ns/net") == os.readlink("/proc/self/ns/net"):
            if time.monotonic() > deadline:
                self.end()
                sys.exit("bench: no network namespace")
            time.sleep(0.001)


def configure(process, batch):
    """Runs the commands of ip(8) in the network of a process."""
    subprocess.run(["nsenter", f"--net=/proc/{process.pid}/ns/net", "ip", "-batch", "-"], check=True, input=batch, text=True)
