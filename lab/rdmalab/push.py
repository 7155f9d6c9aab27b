"""`lab push`: a program into every node's PATH, before or after boot.

What is pushed stays in the lab's folder and is part of every later seed, so a
node that reboots has it again. A push before `lab up` waits for it.
"""

import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .lab import Lab
from .paths import cache_root, lab_dir
from .ssh import ssh_command
from .talk import LabError, say


def waiting_folder(name: str) -> Path:
    """Where pushes to a lab wait that does not run yet."""
    return cache_root() / "push" / name


def move_waiting(name: str, home: Path) -> None:
    """Hands waiting pushes to the lab that starts; each goes to one lab only."""
    waiting = waiting_folder(name)
    if waiting.is_dir():
        shutil.move(str(waiting), home / "push")
    else:
        (home / "push").mkdir()


def push(name: str, source: Path, target: str) -> None:
    """Puts `source` on all nodes as /usr/local/bin/`target`."""
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*", target):
        raise LabError(f"--as {target}: expected a plain program name")
    if not source.is_file():
        raise LabError(f"{source}: no such file")
    running = (lab_dir(name) / "lab.json").exists()
    folder = lab_dir(name) / "push" if running else waiting_folder(name)
    folder.mkdir(parents=True, exist_ok=True)
    # Beside the folder, of which all files become part of the seed, and for this lab alone: the
    # folders of all waiting labs lie side by side.
    part = folder.parent / f".{name}.{target}.part"
    shutil.copyfile(source, part)
    part.rename(folder / target)
    if not running:
        say(f"{target} waits for lab up")
        return
    lab = Lab(name)
    awake = [node for node, power in lab.power().items() if power == "on"]
    with ThreadPoolExecutor(len(lab.nodes)) as pool:
        problems = [found for found in
                    pool.map(lambda node: copy_to(lab, node, folder / target), awake) if found]
    if problems:
        raise LabError("\n".join(problems))


def copy_to(lab: Lab, node: str, program: Path):
    """Copies to one node; the rename leaves a running program of that name alone."""
    there = f"/usr/local/bin/{program.name}"
    script = (f"cat > {there}.part && chmod 755 {there}.part && mv {there}.part {there}")
    with open(program, "rb") as data:
        done = subprocess.run(ssh_command(lab, node, [script]), stdin=data,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                              timeout=300, check=False)
    return f"{node}: push failed: {done.stderr.strip()}" if done.returncode else None
