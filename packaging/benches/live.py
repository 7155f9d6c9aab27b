"""What the operator of a live view takes: 1,200 agents of one process and 56 of their own, at 1 Hz.

All are reached by SSH. Where the many log in, what is called rdmactl hands its stdin and stdout over to
one process that plays all of them with the agent's own code: a machine of two cores has no room for more
agents that read devices each second beside the operator that is measured.
"""

import os
import pathlib
import subprocess
import sys
import time

from .fleet import wait_idle
from .loopback import TOP, Loopback

REAL, PLAYED = 56, 1200
SETTLE_S, WINDOW_S = 5, 30
HEAD = "HOST"


def stat(pid):
    """Seconds of processor time of one process, without those of its children."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def peak_mb(pid):
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024


def play_agents(bed, player):
    """Starts the process of the thousand agents; the directory with what stands for rdmactl there."""
    programs, socket, reports = bed.folder / "played", bed.folder / "agents", bed.folder / "reports.json"
    programs.mkdir()
    subprocess.run(["cc", "-O2", f'-DSOCKET="{socket}"', "-o", programs / "rdmactl",
                    TOP / "packaging" / "hand_over.c"], check=True)
    with reports.open("wb") as out:
        # This kernel may have no RDMA, and 3 says that its netlink could not be asked.
        subprocess.run(bed.inside(bed.folder / "programs" / "rdmactl", "counters", "--json", "-F", bed.config,
                                  "-H", "127.0.0.1"), check=False, stdout=out, stderr=subprocess.DEVNULL)
    # In a space of process numbers of its own: an agent that is late is killed by its number.
    bed.start(["unshare", "--pid", "--fork", "--kill-child", player, socket, reports])
    deadline = time.monotonic() + 20
    while not socket.exists():
        if time.monotonic() > deadline:
            sys.exit("bench: the process that plays agents does not listen")
        time.sleep(0.01)


def names(binary, hosts):
    """How many hosts a row is of."""
    said = subprocess.run([binary, "hosts", "--size", hosts], check=True, capture_output=True, text=True)
    return int(said.stdout)


def wait_for_logins(bed, operator, count):
    deadline = time.monotonic() + 300
    while len(bed.logins()) < count:
        if time.monotonic() > deadline or operator.poll() is not None:
            sys.exit(f"bench: {len(bed.logins())} of {count} logins came")
        time.sleep(0.1)


def measure(binary, player, say):
    """The rows of BENCHMARKS.md."""
    # Of the networks 127.1 and 127.2, the second one is played.
    with Loopback(binary, 8, "Match LocalAddress 127.2.0.0/16\n  SetEnv SHLVL=2 PATH={folder}/played:/usr/bin:/bin\n") as bed:
        play_agents(bed, player)
        hosts = f"127.1.1.[1-{REAL // 2}],127.1.2.[1-{REAL // 2}]," + ",".join(
            f"127.2.{net}.[1-{PLAYED // 5}]" for net in range(1, 6))
        said = bed.folder / "said"
        say(f"live, {REAL + PLAYED} logins")
        with said.open("wb") as out:
            operator = subprocess.Popen(bed.inside(binary, "ports", "--watch=1", "-F", bed.config, "-H", hosts,
                                                   "--timeout=60s"), stdout=out, stderr=subprocess.DEVNULL)
        try:
            wait_for_logins(bed, operator, REAL + PLAYED)
            time.sleep(SETTLE_S)
            at, used, readings = time.monotonic(), stat(operator.pid), said.read_text().count(HEAD)
            say(f"live, {WINDOW_S} s")
            time.sleep(WINDOW_S)
            took = time.monotonic() - at
            cores = (stat(operator.pid) - used) / took
            text = said.read_text()
            per_s = (text.count(HEAD) - readings) / took
            window = HEAD + text.split(HEAD, readings + 1)[-1]
            peak = peak_mb(operator.pid)
        finally:
            operator.terminate()
            operator.wait()
        wait_idle(bed)
        last = said.read_text().rsplit(HEAD, 2)[1]
    if "connecting" in last:
        sys.exit(f"bench: hosts are missing in the last reading:\n{last[:2000]}")
    late = sum(names(binary, line.split()[0]) for line in window.splitlines() if "timeout !" in line)
    say(f"live, {late / window.count(HEAD):.1f} hosts of {REAL + PLAYED:,} were late in a reading")
    what = f"{REAL + PLAYED:,} SSH sessions, {PLAYED:,} with agents of one process and {REAL} with one of their own, {per_s:.2f} readings/s: `ports --watch=1`"
    return [f"| {what}, CPU | {WINDOW_S} s | {cores:.3f} of a core | at most 0.5 | {cores / 0.5:.2f} |",
            f"| the same, peak memory | 1 | {peak:.0f} MB | at most 300 MB | {peak / 300:.2f} |"]
