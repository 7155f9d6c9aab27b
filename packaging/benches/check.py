"""`rdmactl check` against `rdmactl devices` of the same hosts: what the checks cost beyond the inventory."""

import json
import random
import subprocess

from .fleet import DEVICES, Run, check_devices, peak_mb
from .loopback import Loopback, host_set
from .separate_hosts import PREFIX, SeparateHosts

HOSTS = 512
PLAYED = 1000


def measure(binary, runs, row, say):
    """The rows of BENCHMARKS.md: 512 hosts over SSH, and a capture of 1,000."""
    with Loopback(binary, DEVICES) as bed:
        # First, because the logins of many hosts leave processes and sockets that the capture would hold.
        capture = bed.folder / "capture.ndjson"
        one = bed.folder / "one.ndjson"
        subprocess.run(bed.inside(binary, "capture", "-F", bed.config, "-H", "127.0.1.1", "--save", one), check=False,
                       stdout=subprocess.DEVNULL)
        write_cluster(one.read_text().splitlines(), capture)
        rows = over_ssh(bed, binary, host_set(HOSTS), f"{HOSTS} loopback hosts", runs, row, say)
        rows += compare(bed, binary, ["--from", capture], f"capture of {PLAYED} hosts", runs, row, say)
    say(f"check, {HOSTS} namespaces")
    with SeparateHosts(binary, DEVICES, HOSTS) as bed:
        title = f"{HOSTS} hosts with processes and sockets of their own"
        return over_ssh(bed, binary, host_set(HOSTS, PREFIX), title, runs, row, say) + rows


def over_ssh(bed, binary, hosts, title, runs, row, say):
    """The rows of hosts that all respond."""
    source = ["-F", bed.config, "-H", hosts]
    check_devices(bed.inside(binary, "devices", *source), HOSTS)
    return compare(bed, binary, source, title, runs, row, say)


def write_cluster(lines, path):
    """A capture of many hosts from that of one, each with GUIDs and LIDs of its own."""
    head, *entries = map(json.loads, lines)
    head["hosts"] = [head["hosts"][0] | {"host": f"n{number + 1}"} for number in range(PLAYED)]
    with path.open("w") as out:
        out.write(json.dumps(head) + "\n")
        for number in range(PLAYED):
            for entry in entries:
                text, file = entry.get("text", ""), entry["ask"].get("file", "") if type(entry["ask"]) is dict else ""
                text = text.replace("58a2:e103:002a", f"58a2:e103:{number + 1:04x}")
                if file.endswith("/lid"):
                    text = f"{int(text, 16) + number * DEVICES:#x}\n"
                of_host = {"hosts": [number]} | ({"text": text} if "text" in entry else {})
                out.write(json.dumps(entry | of_host) + "\n")


def compare(bed, binary, source, title, runs, row, say):
    commands = {word: bed.inside(binary, *word.split(), *source, "--json")
                for word in ("check --fail-on never", "devices -v", "devices")}
    taken = {word: [] for word in commands}
    for turn in range(max(3, runs // 60)):
        say(f"check, {title}, run {turn + 1}")
        for word in random.sample(list(commands), len(commands)):
            # Exit code 3: libibverbs has no driver for a made-up device.
            taken[word].append(Run(bed, commands[word]))
    peaks = {word: [peak_mb(command)] for word, command in commands.items()}
    of = lambda word, what: [getattr(run, what) for run in taken[word]]
    ours, *peers = commands
    rows = [row(f"{title}, {name}: check : {peer}", "s", of(ours, what), of(peer, what))
            for peer in peers for what, name in (("wall", "wall"), ("client", "CPU here"))]
    return rows + [row(f"{title}, peak memory: check : {peer}", "MB", peaks[ours], peaks[peer]) for peer in peers]
