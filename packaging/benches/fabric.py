"""The sweep of a simulated fabric of 2,000 hosts, against ibnetdiscover and ibqueryerrors.

ibsim simulates the fabric, opensm gives it LIDs. Every program runs once in each round, in turn; the
programs that take a second run in every tenth round. ibsim answers in microseconds: what is compared is
the cost of the programs, and how many requests they send. A fabric of 10,000 hosts without a subnet manager
follows, with time, memory and requests.
"""

import json
import os
import pathlib
import signal
import statistics
import subprocess
import tempfile
import time

LEAVES, HOSTS, SPINES, CORES = 10, 20, 10, 20
# Pods of 200 hosts: 2,000 and 10,000 hosts. A core switch has a port for each spine switch above it.
SMALL, LARGE = 10, 50
PORTS = {SMALL: 40, LARGE: 64}


def net(pods):
    """A fat tree of pods with 200 hosts each, in the form of ibnetdiscover, with cables of 4X HDR."""
    switches, hosts, cables = {}, {}, {}

    def cable(one, other):
        ends = []
        for node in (one, other):
            cables.setdefault(node, {})
            ends.append(len(cables[node]) + 1)
            cables[node][ends[-1]] = None
        cables[one][ends[0]] = (other, ends[1])
        cables[other][ends[1]] = (one, ends[0])

    for core in range(CORES):
        switches[f"S-b83fd20300c{core:05x}"] = f"core{core + 1:02}"
    for pod in range(pods):
        spines = [f"S-b83fd20300b{pod * 256 + spine:05x}" for spine in range(SPINES)]
        switches.update({spine: f"spine{pod + 1:02}-{at + 1:02}" for at, spine in enumerate(spines)})
        for at, spine in enumerate(spines):
            for core in range(2):
                cable(spine, f"S-b83fd20300c{(at * 2 + core) % CORES:05x}")
        for leaf in range(LEAVES):
            name = f"S-b83fd20300a{pod * 256 + leaf:05x}"
            switches[name] = f"leaf{pod + 1:02}-{leaf + 1:02}"
            for host in range(HOSTS):
                number = (pod * LEAVES + leaf) * HOSTS + host
                adapter = f"H-b83fd203{number * 16:08x}"
                hosts[adapter] = f"node{number + 1:04} HCA-1"
                cable(name, adapter)
            for spine in spines:
                cable(name, spine)
    text = []
    for node, name in {**hosts, **switches}.items():
        guid, is_switch = node[2:], node[0] == "S"
        text.append(f"vendid=0x2c9\ndevid={'0xd2f0' if is_switch else '0x101b'}\nsysimgguid=0x{guid}")
        if is_switch:
            text.append(f"switchguid=0x{guid}({guid})")
            text.append(f'Switch\t{PORTS[pods]} "{node}"\t\t# "{name}" enhanced port 0 lid 0 lmc 0')
        else:
            text.append(f'caguid=0x{guid}\nCa\t1 "{node}"\t\t# "{name}"')
        for port, (far, far_port) in cables[node].items():
            own = "" if is_switch else f"({guid[:-1]}1)"
            text.append(f'[{port}]{own}\t"{far}"[{far_port}]\t\t# "" lid 0 4xHDR')
        text.append("")
    return "\n".join(text), next(iter(hosts))


# Prints the peak of the resident memory of a program in KiB.
PEAK = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


class Simulator:
    """ibsim, with opensm if asked, in a directory of its own."""

    def __init__(self, pods=SMALL, has_manager=True):
        self.home = tempfile.TemporaryDirectory()
        text, first = net(pods)
        (pathlib.Path(self.home.name) / "net").write_text(text, encoding="utf-8")
        library = next(pathlib.Path("/usr/lib").glob("*/umad2sim/libumad2sim.so"))
        socket = f"bench-{os.getpid()}"
        self.ibsim = subprocess.Popen(
            ["ibsim", "-s", "-N", "16384", "-S", "4096", "-P", "262144", "net"], cwd=self.home.name,
            env={**os.environ, "IBSIM_SOCKNAME": socket}, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        for line in self.ibsim.stdout:
            if b"simulator ready" in line:
                break
        # ibsim ends if nobody reads its output.
        self.reader = subprocess.Popen(["cat"], stdin=self.ibsim.stdout, stdout=subprocess.DEVNULL)
        self.env = {**os.environ, "IBSIM_SOCKNAME": socket, "SIM_HOST": first, "LD_PRELOAD": str(library)}
        self.opensm = None
        if has_manager:
            self.manage()

    def manage(self):
        """Starts opensm and waits for the end of its first sweep."""
        self.opensm = subprocess.Popen(
            ["/usr/sbin/opensm", "-e", "-f", "osm.log"], cwd=self.home.name,
            env={**self.env, "OSM_TMP_DIR": ".", "OSM_CACHE_DIR": "."}, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        listed = pathlib.Path(self.home.name) / "opensm-subnet.lst"
        until = time.monotonic() + 120
        while not (listed.exists() and listed.stat().st_size):
            if time.monotonic() > until:
                raise SystemExit("bench: opensm does not end its first sweep")
            time.sleep(0.2)
        time.sleep(2)

    def seconds(self, command, codes=(0,)):
        """The wall time of a command and its output."""
        begin = time.monotonic()
        done = subprocess.run(command, cwd=self.home.name, env=self.env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        if done.returncode not in codes:
            raise SystemExit(f"bench: {command} ended with {done.returncode}: {done.stderr.decode()[-400:]}")
        return time.monotonic() - begin, done.stdout.decode()

    def peak_mib(self, command):
        """The largest resident memory of a command in MiB."""
        done = subprocess.run(["/usr/bin/env", "python3", "-c", PEAK, *command], cwd=self.home.name,
                              env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True)
        return int(done.stdout.decode().split()[-1]) / 1024

    def end(self):
        for process in filter(None, (self.opensm, self.ibsim, self.reader)):
            process.send_signal(signal.SIGKILL)
            process.wait()
        self.home.cleanup()


def measure(binary, runs, row, say):
    """Rows of BENCHMARKS.md."""
    say(f"fabric, {runs} runs")
    sweep = [binary, "fabric", "links", "--via", "smp", "-f", "csv"]
    fast = {"smp": sweep, "smp128": [*sweep, "--window", "128"], "wide": ["ibnetdiscover", "-o", "128"]}
    slow = {
        "usual": ["ibnetdiscover"],
        "errors": [binary, "fabric", "errors", "--via", "smp", "-f", "csv"],
        "theirs": ["ibqueryerrors"],
    }
    simulator = Simulator()
    try:
        times = {side: [] for side in {**fast, **slow}}
        for turn in range(runs + 1):
            for side, command in (fast if turn % 10 else {**fast, **slow}).items():
                seconds, _ = simulator.seconds(command, codes=(0, 1))
                # The first round fills caches.
                if turn:
                    times[side].append(seconds)
        _, text = simulator.seconds([binary, "fabric", "-o", "cas,switches,links,requests", "--via", "smp",
                                     "-f", "csv", "-n"])
        cas, switches, links, requests = text.splitlines()[0].split(",")
        _, text = simulator.seconds(["ibnetdiscover", "-m"])
        theirs = next(line for line in text.splitlines() if "Total MADs" in line).split()[-1]
    finally:
        simulator.end()
    size = f"{int(cas):,} hosts, {switches} switches, {int(links):,} links"
    large_runs = max(3, runs // 10)
    say(f"fabric, 10,000 hosts, {large_runs} runs")
    large = {"smp": [], "wide": []}
    simulator = Simulator(LARGE, has_manager=False)
    try:
        for turn in range(large_runs + 1):
            for side, of_runs in large.items():
                seconds, _ = simulator.seconds(fast[side])
                if turn:
                    of_runs.append(seconds)
        _, text = simulator.seconds([binary, "fabric", "links", "--via", "smp", "-j"])
        swept = json.loads(text)["hosts"][0]["fabrics"][0]
        peak, their_peak = (simulator.peak_mib(fast[side]) for side in large)
    finally:
        simulator.end()
    large_cas = sum(node["kind"] == "ca" for node in swept["nodes"])
    slope = (statistics.median(large["smp"]) - statistics.median(times["smp"])) / (large_cas - int(cas))
    large_size = f"{large_cas:,} hosts, {len(swept['nodes']) - large_cas} switches, {swept['requests']:,} requests"
    return [
        row(f"{size}, wall: fabric links --via smp --window 128 : ibnetdiscover -o 128", "s", times["smp128"],
            times["wide"]),
        row("the same with the default window of 32 : ibnetdiscover -o 128", "s", times["smp"], times["wide"]),
        row("the same : ibnetdiscover (window of 2)", "s", times["smp"], times["usual"]),
        row(f"{large_size}, wall: fabric links --via smp : ibnetdiscover -o 128", "s", large["smp"], large["wide"]),
        f"| the same, peak memory, MiB | 1 | {peak:.0f} | {their_peak:.0f} | {peak / their_peak:.2f} |",
        f"| from {int(cas):,} to {large_cas:,} hosts: time for each further host, us | {large_runs} | {slope * 1e6:.0f} | | |",
        row(f"{size}, wall: fabric errors : ibqueryerrors", "s", times["errors"], times["theirs"]),
        f"| the same, requests with forwarding tables : ibnetdiscover without | 1 | {int(requests):,} | "
        f"{int(theirs):,} | {int(requests) / int(theirs):.2f} |",
    ]
