"""What the live screen takes: a thousand hosts of eight ports at 1 Hz, played by one process.

The operator runs in a pseudo-terminal of 160 columns and 50 rows; keys are pressed in it, and the time until
the screen changes is taken from outside. What a picture and a frame take is measured without a terminal, by
`examples/top_frames.rs`.
"""

import contextlib
import fcntl
import json
import os
import pathlib
import pty
import statistics
import struct
import subprocess
import sys
import termios
import threading
import time

from .live import play_agents, stat, wait_for_logins
from .loopback import Loopback

# Trends have 120 readings: memory is flat when these are full, or never.
HOSTS, SETTLE_S, FREEZE_S, WINDOW_S = 1000, 130, 30, 600
AUTOGROUP = pathlib.Path("/proc/sys/kernel/sched_autogroup_enabled")
PRESSES, FRAMES = 200, 60
ROWS, COLUMNS = 50, 160


def hurry():
    """What measures waits for no processor."""
    os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), -10)


class Screen:
    """A terminal that only notes when something was written to it last, and how much."""

    def __init__(self, command):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self.seen, self.bytes, self.tail = threading.Condition(), 0, b""
        self.process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=subprocess.DEVNULL,
                                        env=os.environ | {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8"})
        os.close(slave)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        hurry()
        while True:
            try:
                written = os.read(self.master, 1 << 16)
            except OSError:
                written = b""
            with self.seen:
                self.bytes += len(written)
                self.tail = (self.tail + written)[-200_000:]
                self.seen.notify_all()
            if not written:
                return

    def answer_ms(self, key):
        """From a key to the next output."""
        with self.seen:
            before, start = self.bytes, time.monotonic()
            os.write(self.master, key)
            if not self.seen.wait_for(lambda: self.bytes > before, timeout=5):
                sys.exit("bench: a key had no answer")
            return (time.monotonic() - start) * 1000


def rss_mb(pid):
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) / 1024


def p99(values):
    return statistics.quantiles(values, n=100)[98]


@contextlib.contextmanager
def hosts_yield(bed):
    """Hosts are other machines, and take no processor from whoever looks at them: neither their processes nor,
    where the kernel shares by session, their sessions, of which each would count as much as the operator's."""
    for process in bed.processes:
        os.setpriority(os.PRIO_PGRP, process.pid, 10)
    before = AUTOGROUP.read_text() if AUTOGROUP.exists() else None
    if before is not None:
        AUTOGROUP.write_text("0")
    try:
        yield
    finally:
        if before is not None:
            AUTOGROUP.write_text(before)


def frames(player, reports):
    """What `top_frames` says: the 99th percentile of each of its times, in milliseconds."""
    said = subprocess.run([player, reports, str(HOSTS), "8", str(FRAMES)], check=True, capture_output=True,
                          text=True).stdout
    rows = (line.split("\t") for line in said.splitlines())
    return {what: float(times[1].removeprefix("p99 ")) for what, *times in rows}


def measure(binary, player, frame_player, say, window_s=WINDOW_S):
    """The rows of BENCHMARKS.md."""
    with contextlib.ExitStack() as resources, Loopback(binary, 8, "Match LocalAddress 127.2.0.0/16\n  SetEnv SHLVL=2 PATH={folder}/played:/usr/bin:/bin\n") as bed:
        play_agents(bed, player)
        resources.enter_context(hosts_yield(bed))
        report = json.loads((bed.folder / "reports.json").read_text())["hosts"][0]
        say(f"top, pictures and frames of {HOSTS} hosts")
        took = frames(frame_player, bed.folder / "reports.json")
        hosts = ",".join(f"127.2.{net}.[1-{HOSTS // 5}]" for net in range(1, 6))
        say(f"top, {HOSTS} logins")
        screen = Screen(bed.inside(binary, "top", "-F", bed.config, "-H", hosts, "--timeout=60s"))
        try:
            wait_for_logins(bed, screen.process, HOSTS)
            time.sleep(SETTLE_S - FREEZE_S)
            # Whoever holds a picture has one more: that is taken once, and kept for the next time.
            screen.answer_ms(b" ")
            time.sleep(FREEZE_S)
            screen.answer_ms(b" ")
            pid, at = screen.process.pid, time.monotonic()
            used, memory = stat(pid), rss_mb(pid)
            answers = []
            hurry()
            # Pictures are taken in, and not shown: what is seen is the answer, or an age that grew.
            screen.answer_ms(b" ")
            for number in range(PRESSES):
                answers.append(screen.answer_ms(b"jk"[number % 2:number % 2 + 1]))
                time.sleep(0.1)
            screen.answer_ms(b" ")
            say(f"top, {window_s} s")
            time.sleep(max(0.0, window_s - (time.monotonic() - at)))
            cores = (stat(pid) - used) / (time.monotonic() - at)
            grown = rss_mb(pid) - memory
            os.write(screen.master, b"q")
            code = screen.process.wait(timeout=30)
        finally:
            screen.process.kill()
    ports = sum(len(device["ports"]) for device in report["devices"])
    what = f"{HOSTS:,} hosts of {ports} ports at 1 Hz: `top`"
    rows = [f"| {what}, CPU | {window_s} s | {cores:.3f} of a core | at most 1 | {cores:.2f} |",
            f"| the same, memory after settling, a picture held meanwhile | 1 | {memory:.0f} MB | | |",
            f"| the same, growth since | {window_s} s | {grown:.1f} MB | at most 10 MB | {grown / 10:.2f} |",
            f"| the same, from a key to the screen, p99 | {PRESSES} | {p99(answers):.1f} ms | at most 50 ms | {p99(answers) / 50:.2f} |",
            f"| a frame of it, p99 | {FRAMES * 3} | {took['frame']:.1f} ms | at most 16 ms | {took['frame'] / 16:.2f} |",
            f"| a picture taken in, p99 | {FRAMES} | {took['picture']:.1f} ms | at most 50 ms | {took['picture'] / 50:.2f} |"]
    if code:
        # Two processors hardly suffice for a thousand sshd beside the one that is measured.
        rows.append(f"| the same, exit code | 1 | {code}: of some hosts the last answer was old | | |")
    return rows
