"""A binary against an earlier one of rdmactl: what a change of the code costs or gains."""

import contextlib
import pathlib
import random
import statistics
import subprocess
import tempfile

from .fleet import DEVICES, peak_mb, whole_run
from .loopback import Loopback, host_set

HOSTS = 128


def measure(binary, old, runs, bench):
    """The rows of BENCHMARKS.md. `bench` has the functions of packaging/bench that the sections share.

    The earlier binary runs twice in each turn. The second time is the control.
    """
    binaries = {"new": binary, "old": old, "control": old}
    return [*files(binaries, runs, bench), *simulated(binaries, max(5, runs // 20), bench),
            *fleet(binaries, max(3, runs // 20), bench)]


def rows(bench, what, unit, taken):
    return [bench.row(f"{what}: now : before", unit, taken["new"], taken["old"]),
            bench.row(f"{what}: before : itself", unit, taken["control"], taken["old"])]


def turns(names, runs):
    for run in range(runs):
        for name in random.sample(list(names), len(names)):
            yield run, name


def files(binaries, runs, bench):
    """The commands of the section files."""
    answer = []
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        bench.make_tree(pathlib.Path(folder), 4)
        taken = {(name, word): [] for name in (*binaries, "nothing") for word in ("devices", "gids")}
        for run, (name, word) in turns(taken, runs):
            if run % 20 == 0 and (name, word) == ("new", "gids"):
                bench.say(f"before, files, run {run} of {runs}")
            command = ["true"] if name == "nothing" else [binaries[name], word]
            taken[name, word].append(bench.own_cpu(bench.with_sys(folder, command)))
        for word in ("devices", "gids"):
            start = statistics.median(taken["nothing", word])
            answer += rows(bench, f"64 devices, 4 ports, 4 of 256 GIDs: {word}, CPU", "ms",
                           {name: [value - start for value in taken[name, word]] for name in binaries})
    return answer


def simulated(binaries, runs, bench):
    """The command of the section simulated."""
    seconds, megabytes = ({name: [] for name in binaries} for _ in range(2))
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as fabric:
        fabric.write(bench.FABRIC)
        fabric.flush()
        for run, name in turns(binaries, runs):
            bench.say(f"before, simulated, run {run + 1} of {runs}")
            used = bench.simulate(binaries[name], fabric.name)
            seconds[name].append(used[0])
            megabytes[name].append(used[1])
    what = "1,024 hosts, 8 rails simulated and judged"
    return rows(bench, f"{what}, CPU", "s", seconds) + rows(bench, f"{what}, peak memory", "MB", megabytes)


def fleet(binaries, runs, bench):
    """The command of the section fleet. The hosts have the same binary as the client."""
    with contextlib.ExitStack() as stack:
        beds = {binary: stack.enter_context(Loopback(binary, DEVICES)) for binary in set(binaries.values())}
        commands = {name: beds[binary].inside(binary, "devices", "-F", beds[binary].config, "-H", host_set(HOSTS))
                    for name, binary in binaries.items()}
        taken = {name: [] for name in binaries}
        for run, name in turns(binaries, runs):
            bench.say(f"before, fleet, run {run + 1} of {runs}")
            taken[name].append(whole_run(beds[binaries[name]], commands[name], bench.say))
        peaks = {name: [peak_mb(command)] for name, command in commands.items()}
    of = lambda what: {name: [getattr(run, what) for run in taken[name]] for name in binaries}
    answer = [line for what, title in (("wall", "wall"), ("client", "CPU here"), ("server", "CPU of the hosts"))
              for line in rows(bench, f"devices -H of {HOSTS} hosts, {title}", "s", of(what))]
    return answer + rows(bench, f"devices -H of {HOSTS} hosts, peak memory", "MB", peaks)


def inventory(nodes, old, runs, bench):
    """`devices -v` on a lab node, with one device and with 64."""
    subprocess.run(["scp", "-q", "-F", nodes.ssh_config, old, "n1:/root/rdmactl-before"], check=True)
    old = "/root/rdmactl-before devices -v"
    answer = []
    nodes.run("n1", bench.NO_RANDOM_ADDRESSES)
    for count in (1, 64):
        if count == 64:
            nodes.run("n1", bench.MORE_DEVICES)
        bench.say(f"before, inventory, {count} devices, {runs} runs")
        taken = dict(zip(("new", "old", "control"), bench.interleaved(nodes, runs, ["rdmactl devices -v", old, old])))
        answer += rows(bench, f"{count} device{'s' * (count > 1)} of a lab node: devices -v, CPU", "s", taken)
    return answer
