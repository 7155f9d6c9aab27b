"""`lab up`: from nothing to N nodes that answer SSH with an ACTIVE RDMA port."""

import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from . import accelerator, doctor, image, push, siw, ssh
from .lab import Lab, remove_stale_labs, take_down, take_lock
from .node import parse_nodes
from .paths import CHECKOUT_LAB, cache_root, lab_dir, locked
from .releases import RELEASES
from .talk import LabError, say


def bring_up(options) -> Lab:
    """Boots a lab and returns it; whatever goes wrong, nothing is left behind."""
    doctor.require()
    nodes = parse_nodes(options.nodes, options.release, options.node)
    found, siw_modules = provide({node.release for node in nodes},
                                 {node.release for node in nodes if node.provider == "iwarp"})
    images = {str(release): {"home": str(it.home), "kernel": it.kernel_version}
              for release, it in found.items()}
    request = {
        "name": options.name, "nodes": [node.as_dict() for node in nodes],
        "rails": options.rails, "mtu": options.mtu, "owner": options.owner,
        "max_age_s": options.max_age * 3600, "images": images,
        "siw": {str(release): str(module) for release, module in siw_modules.items()},
        "accelerator": accelerator.choose(found[max(found)].kernel),
    }
    keeper = start_keeper(request)
    try:
        lab = wait_for_keeper(options.name, keeper)
        say(f"{len(nodes)} nodes are booting with {lab.facts['accelerator']}")
        wait_until_ready(lab, list(lab.nodes), options.boot_timeout)
        keeper.stdin.write(b"ready\n")
        keeper.stdin.flush()
    except BaseException:
        keeper.stdin.close()
        take_down(options.name)
        raise
    keeper.stdin.close()
    return lab


def provide(releases, releases_of_siw) -> tuple:
    """The images of releases, and the siw modules of others, from the cache or built side by side."""
    with ThreadPoolExecutor() as pool:
        images = dict(zip(releases, pool.map(lambda it: image.provide(RELEASES[it]), releases)))
        modules = dict(zip(releases_of_siw,
                           pool.map(lambda it: siw.provide(RELEASES[it]), releases_of_siw)))
    return images, modules


def start_keeper(request: dict) -> subprocess.Popen:
    """Starts the keeper. It holds the lab's lock, and ends if we do before saying `ready`."""
    name = request["name"]
    home = lab_dir(name)
    with locked(cache_root() / "labs.lock"):
        remove_stale_labs()
        if home.exists():
            raise LabError(f"lab {name} is already running\n  fix: lab down, or another --name")
        home.mkdir(mode=0o700)
        lock = take_lock(home)
    push.move_waiting(name, home)
    (home / "request.json").write_text(json.dumps(request), encoding="utf-8")
    with open(home / "keeper.log", "ab") as log:
        keeper = subprocess.Popen(
            [sys.executable, str(CHECKOUT_LAB / "lab"), "keeper", str(home)],
            stdin=subprocess.PIPE, stdout=log, stderr=log, cwd="/",
            start_new_session=True, pass_fds=[lock.fileno()])
    lock.close()
    return keeper


def wait_for_keeper(name: str, keeper: subprocess.Popen) -> Lab:
    log = lab_dir(name) / "keeper.log"
    text = ""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if (lab_dir(name) / "lab.json").exists():
            return Lab(name)
        if log.exists():
            text = log.read_text(encoding="utf-8", errors="replace")
        if keeper.poll() is not None:
            break
        time.sleep(0.05)
    raise LabError(f"the keeper of lab {name} did not start:\n{text[-2000:]}")


def wait_until_ready(lab: Lab, names, timeout_s: float) -> None:
    """Waits until each node's console says READY and a real login finds its port ACTIVE."""
    deadline = time.monotonic() + timeout_s
    waiting = list(names)
    while waiting:
        power = lab.power()
        for name in list(waiting):
            console = read_console(lab.home, name)
            if "boot FAILED" in console:
                raise LabError(f"{name} did not boot: its init failed\n{console_tail(lab.home, name)}")
            if power[name] == "off":
                raise LabError(f"{name} did not boot: its QEMU ended\n{console_tail(lab.home, name)}")
            if " READY" in console:
                waiting.remove(name)
                say(f"{name} is up: Debian {lab.nodes[name].release}, "
                    f"{lab.nodes[name].device()}, {lab.address(lab.nodes[name])}")
        if waiting and time.monotonic() > deadline:
            tails = "\n".join(f"{name}:\n{console_tail(lab.home, name)}" for name in waiting)
            raise LabError(f"not ready after {timeout_s:.0f} s: {' '.join(waiting)}\n{tails}")
        time.sleep(0.1)
    with ThreadPoolExecutor(len(names)) as pool:
        for problem in pool.map(lambda name: login_problem(lab, name), names):
            if problem:
                raise LabError(problem)


def login_problem(lab: Lab, name: str):
    """What keeps a node from being ready, seen through its ordinary sshd; `None` if nothing."""
    answer = ssh.run(lab, name, "cat /sys/class/infiniband/*/ports/1/state", 60, door=False)
    states = answer.stdout.split("\n")[:-1]
    if answer.returncode:
        return f"{name} does not answer SSH: {answer.stderr.strip()}\n{console_tail(lab.home, name)}"
    if len(states) < lab.facts["rails"] or any("ACTIVE" not in state for state in states):
        return f"{name}: RDMA ports are {states}\n{console_tail(lab.home, name)}"
    return None


def read_console(home: Path, name: str) -> str:
    try:
        return (home / f"{name}.console").read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return ""


def console_tail(home: Path, name: str, lines: int = 15) -> str:
    """The last lines of a node's console and of its QEMU's own messages."""
    text = read_console(home, name).splitlines()[-lines:]
    try:
        text += (home / f"{name}.qemu").read_text(encoding="utf-8", errors="replace").splitlines()[-5:]
    except FileNotFoundError:
        pass
    return "\n".join(f"  {name}| {line}" for line in text if line.strip()) or f"  {name}| (silent)"


def owner_of(options) -> None:
    """Checks `--owner` early, where the mistake can still be named."""
    if options.owner and not os.path.exists(f"/proc/{options.owner}"):
        raise LabError(f"--owner {options.owner}: no such process")
