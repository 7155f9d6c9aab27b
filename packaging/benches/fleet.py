"""`rdmactl devices -H` of many hosts against clush and pdsh that run ibstat, and a bare ssh2 loop."""

import os
import pathlib
import random
import resource
import shutil
import statistics
import subprocess
import sys
import threading
import time

from .loopback import Loopback, children, host_set

DEVICES = 8
# `rdmactl devices` asks for no part besides the files that are always read.
PARTS = ""
# More at once than the cores of this machine can serve gains nobody anything; fewer loses.
FANOUTS = (4, 8, 16, 64)
OWN_FANOUT = 64


class Run:
    """What one command took, here and at the hosts."""

    def __init__(self, bed, command):
        at, before, served = time.monotonic(), used(), bed.server_cpu()
        done = subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.wall = time.monotonic() - at
        self.client = used() - before
        # A side that fails shows nothing: its run is made again, and the failure told.
        self.failure = f"{command[1:4]} ended with {done.returncode}: {done.stderr[:300]}" if done.returncode else None
        wait_idle(bed)
        self.server = bed.server_cpu() - served


def whole_run(bed, command, say):
    """A run that did not fail, of three."""
    for _ in range(3):
        run = Run(bed, command)
        if not run.failure:
            return run
        say(run.failure)
    sys.exit("bench: it failed three times")


def used():
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return children.ru_utime + children.ru_stime


def wait_idle(bed):
    """Until the last login of a run is over."""
    while bed.logins():
        time.sleep(0.01)


def peak_mb(command):
    """The most memory that the processes of a command have at once, each shared page counted once."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    done = threading.Event()
    threading.Thread(target=lambda: (process.wait(), done.set())).start()
    peak = 0
    while not done.wait(0.02):
        peak = max(peak, sum(map(shared_memory, family(process.pid))))
    return peak / 1024


def family(pid):
    return [pid, *(one for child in children(pid) for one in family(child))]


def shared_memory(pid):
    """Proportional set size in kB; 0 of a process that is gone."""
    try:
        text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:")), 0)


def sides(bed, binary, floor, count, fanouts):
    """The commands that are compared, for so many hosts."""
    hosts = host_set(count)
    each = [f"127.0.{at // 64 + 1}.{at % 64 + 1}" for at in range(count)]
    pdsh = ["env", f"PDSH_SSH_ARGS_APPEND=-F {bed.config}", "pdsh", "-R", "ssh", "-f"]
    commands = {
        "rdmactl": [binary, "devices", "-F", bed.config, "-H", hosts],
        "floor": [floor, bed.folder / "user", OWN_FANOUT, PARTS, *each],
        "clush": ["clush", "-q", "-o", f"-F {bed.config}", "-f", fanouts.get("clush", 64), "-w", hosts, "ibstat"],
        "pdsh": [*pdsh, fanouts.get("pdsh", 32), "-w", hosts, "ibstat"],
    }
    return {name: bed.inside(*command) for name, command in commands.items()}


def find_tools():
    for tool, package in (("clush", "clustershell"), ("pdsh", "pdsh"), ("ibstat", "infiniband-diags")):
        if not shutil.which(tool):
            sys.exit(f"bench: {tool} is missing: apt-get install {package}")


def check(bed, binary, floor):
    """All sides read all devices of each host, else they cannot be compared."""
    said = lambda command: subprocess.run(command, check=True, capture_output=True, text=True).stdout
    commands = sides(bed, binary, floor, 2, {})
    for name in ("clush", "pdsh"):
        if said(commands[name]).count("CA 'mlx5_") != 2 * DEVICES:
            sys.exit(f"bench: {name} does not print {DEVICES} devices of each host")
    check_devices(commands["rdmactl"], 2)
    said(commands["floor"])


def check_devices(command, count):
    """Ends the benchmark unless `rdmactl devices` reads all devices of so many hosts."""
    done = subprocess.run([*command, "-f", "csv"], check=False, capture_output=True, text=True)
    if done.returncode or done.stdout.count("400000000000") != count * DEVICES:
        sys.exit(f"bench: rdmactl does not print {DEVICES} devices of each host: {done.stderr[:300]}")


def best_fanouts(bed, binary, floor, say):
    """Each tool's own best, of one run each."""
    best = {}
    for name in ("clush", "pdsh"):
        walls = {fanout: whole_run(bed, sides(bed, binary, floor, 128, {name: fanout})[name], say).wall
                 for fanout in FANOUTS}
        best[name] = min(walls, key=walls.get)
        say(f"{name}: " + ", ".join(f"{wall:.1f} s at -f {fanout}" for fanout, wall in walls.items()))
    return best


def measure(binary, floor, runs, row, say):
    """The rows of BENCHMARKS.md."""
    find_tools()
    rows = []
    with Loopback(binary, DEVICES) as bed:
        check(bed, binary, floor)
        best = best_fanouts(bed, binary, floor, say)
        for count, turns in ((128, max(3, runs // 20)), (512, max(3, runs // 60))):
            commands = sides(bed, binary, floor, count, best)
            taken = {name: [] for name in commands}
            for turn in range(turns):
                say(f"fleet, {count} hosts, run {turn + 1} of {turns}")
                for name in random.sample(list(commands), len(commands)):
                    taken[name].append(whole_run(bed, commands[name], say))
            peaks = {name: [peak_mb(command)] for name, command in commands.items()}
            peers = {"clush": f"clush -f {best['clush']} ibstat", "pdsh": f"pdsh -f {best['pdsh']} ibstat",
                     "floor": "a bare ssh2 loop with the same agent"}
            of = lambda name, what: [getattr(run, what) for run in taken[name]]
            for what, unit, title in (("wall", "s", "wall"), ("client", "s", "CPU here"), ("server", "s", "CPU of the hosts")):
                rows += [row(f"{count} hosts, {title}: devices -H : {peer}", unit, of("rdmactl", what), of(name, what))
                         for name, peer in peers.items()]
            rows += [row(f"{count} hosts, peak memory: devices -H : {peer}", "MB", peaks["rdmactl"], peaks[name])
                     for name, peer in peers.items()]
            own = statistics.median(of("rdmactl", "wall"))
            busy = statistics.median(of("rdmactl", "client")) + statistics.median(of("rdmactl", "server"))
            say(f"{count} hosts: {busy / own:.2f} of {os.cpu_count()} cores were busy with client and hosts")
    return rows
