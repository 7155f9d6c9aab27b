"""The command line of the lab: parse, run, exit code."""

import argparse
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

from . import console, doctor, inject, keeper, push, reset, ssh, status, up
from .lab import Lab, take_down
from .paths import CHECKOUT_LAB, default_name
from .processes import die_with_parent
from .releases import RELEASES
from .talk import LabError, say


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="lab", description="RDMA on virtual nodes, with faults on request.")
    named = argparse.ArgumentParser(add_help=False)
    named.add_argument("--name", default=os.environ.get("RDMACTL_LAB_NAME") or default_name(),
                       help="the lab's name (default: from this checkout's path)")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name, help_text, run):
        sub = commands.add_parser(name, help=help_text, description=help_text, parents=[named])
        sub.set_defaults(run=run)
        return sub

    add_up_options(command("up", "Boots nodes and waits until they are ready.", run_up))
    sub = command("with", "Boots nodes, runs COMMAND, takes them down again.", run_with)
    add_up_options(sub)
    sub.add_argument("words", nargs=argparse.REMAINDER, metavar="-- COMMAND")
    command("down", "Ends the lab; nothing of it stays.", run_down)

    sub = command("run", "Runs a command on a node over SSH.", run_run)
    sub.add_argument("--all", action="store_true", help="on every node, output marked by node")
    sub.add_argument("--user", default="root", help="root or user (default: root)")
    sub.add_argument("--door", action="store_true", help="by the lab's own way in, which no fault touches")
    sub.add_argument("words", nargs=argparse.REMAINDER, metavar="NODE COMMAND...")

    sub = command("console", "Shows a node's console.", run_console)
    sub.add_argument("node")
    sub.add_argument("--attach", action="store_true", help="a root shell on the serial line")
    sub = command("status", "Shows nodes, addresses and active faults.", run_status)
    sub.add_argument("--json", action="store_true")
    command("ssh-config", "Prints the path of an OpenSSH client configuration.",
            lambda options: print(Lab(options.name).ssh_config))
    command("env", "Prints shell lines: eval \"$(lab env)\".", run_env)

    sub = command("push", "Puts a program into every node's PATH.", run_push)
    sub.add_argument("file", type=Path)
    sub.add_argument("--as", dest="target", help="its name there (default: the file's)")

    sub = command("fault", "Starts or undoes a fault on a node; `fault list` explains them.", run_fault)
    sub.add_argument("--undo", action="store_true")
    sub.add_argument("--rail", type=int, default=1, help="(default: 1)")
    sub.add_argument("--value", default="", help="a delay, a percentage, ...; see the list")
    sub.add_argument("fault", metavar="NAME|list")
    sub.add_argument("node", nargs="?", metavar="NODE")
    sub = command("reset", "Undoes all faults and proves that each node is as it was at boot.", run_reset)
    sub.add_argument("--check", action="store_true", help="only prove, change nothing")

    sub = command("images", "Builds the images of all releases, as the first `up` would.", run_images)
    sub.add_argument("--iwarp", type=int, action="append", default=[], choices=RELEASES,
                     metavar="RELEASE", help="also soft-iWARP for this release; can be repeated")

    sub = command("doctor", "Names what this machine lacks for the lab.", run_doctor)
    sub.add_argument("--packages", action="store_true", help="only the packages to install")
    sub = commands.add_parser("keeper")
    sub.add_argument("home")
    sub.set_defaults(run=lambda options: keeper.main(options.home))
    return parser


def add_up_options(sub) -> None:
    sub.add_argument("--nodes", type=int, default=4, metavar="N", help="how many (default: 4)")
    sub.add_argument("--release", type=int, default=12, help="Debian 11, 12 or 13 (default: 12)")
    sub.add_argument("--node", action="append", default=[], metavar="nK=RELEASE[,iwarp]",
                     help="another release or provider for one node")
    sub.add_argument("--mtu", type=int, default=9000, help="of the RDMA wires (default: 9000)")
    sub.add_argument("--rails", type=int, default=1, choices=range(1, 8), metavar="K",
                     help="RDMA wires per node, 1 to 7 (default: 1)")
    sub.add_argument("--push", action="append", default=[], type=Path, metavar="FILE",
                     help="a program for every node's PATH")
    sub.add_argument("--owner", type=int, metavar="PID", help="end the lab when this process ends")
    sub.add_argument("--max-age", type=float, default=8, metavar="HOURS", help="(default: 8)")
    sub.add_argument("--boot-timeout", type=float, default=300, metavar="SECONDS",
                     help="for all nodes to be ready (default: 300)")


def run_up(options) -> None:
    up.owner_of(options)
    for program in options.push:
        push.push(options.name, program, program.name)
    up.bring_up(options)
    say("ready")


def run_with(options) -> int:
    words = options.words[1:] if options.words[:1] == ["--"] else options.words
    if not words:
        raise LabError("lab with: which command? lab with --nodes 2 -- COMMAND")
    options.owner = os.getpid()
    run_up(options)
    try:
        lab = Lab(options.name)
        environment = dict(os.environ, **environment_of(lab))
        with subprocess.Popen(words, env=environment,
                              preexec_fn=die_with_parent(signal.SIGTERM)) as child:
            # The terminal's Ctrl-C reaches the command too: let it end in its own way.
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.signal(signal.SIGTERM, lambda *_: child.terminate())
            code = child.wait()
        return code if code >= 0 else 128 - code
    except OSError as error:
        raise LabError(f"lab with: {words[0]}: {error.strerror}") from None
    finally:
        take_down(options.name)


def run_down(options) -> None:
    say("down" if take_down(options.name) else f"no lab {options.name} was running")


def run_run(options) -> int:
    lab = Lab(options.name)
    if options.words[:1] == ["--"]:
        del options.words[0]
    if not options.all:
        if len(options.words) < 2:
            raise LabError("lab run: expected NODE COMMAND...")
        node, *words = options.words
        lab.node(node)
        words = words[1:] if words[0] == "--" else words
        os.execvp("ssh", ssh.ssh_command(lab, node, words, options.user, options.door))
    if not options.words:
        raise LabError("lab run --all: expected COMMAND...")
    children = {node: subprocess.Popen(
        ssh.ssh_command(lab, node, options.words, options.user, options.door),
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for node in lab.nodes}
    worst = 0
    for node, child in children.items():
        for line in child.communicate()[0].splitlines():
            print(f"{node}: {line}")
        worst = max(worst, child.returncode)
    return worst


def run_console(options) -> None:
    lab = Lab(options.name)
    (console.attach if options.attach else console.show)(lab, options.node)


def run_status(options) -> None:
    lab = Lab(options.name)
    records = status.rows(lab, inject.active(lab))
    print(status.render_json(lab, records) if options.json else status.render_table(records))


def environment_of(lab: Lab) -> dict:
    return {"RDMACTL_LAB": str(CHECKOUT_LAB / "lab"), "RDMACTL_LAB_NAME": lab.name,
            "RDMACTL_LAB_SSH_CONFIG": str(lab.ssh_config),
            "RDMACTL_LAB_NODES": " ".join(lab.nodes)}


def run_env(options) -> None:
    for key, value in environment_of(Lab(options.name)).items():
        print(f"export {key}={shlex.quote(value)}")


def run_push(options) -> None:
    push.push(options.name, options.file, options.target or options.file.name)


def run_fault(options) -> None:
    if options.fault == "list":
        print(inject.render_list())
        return
    if not options.node:
        raise LabError(f"lab fault {options.fault}: on which node?")
    lab = Lab(options.name)
    if options.undo:
        inject.stop(lab, options.fault, options.node)
    else:
        inject.start(lab, options.fault, options.node, options.rail, options.value)


def run_reset(options) -> None:
    lab = Lab(options.name)
    if options.check:
        reset.check(lab)
        return
    booted = reset.reset(lab)
    say(f"all {len(lab.nodes)} nodes are as they were at boot ({booted} booted again)")


def run_images(options) -> None:
    doctor.require()
    up.provide(set(RELEASES), set(options.iwarp))


def run_doctor(options) -> int:
    missing = doctor.find_missing()
    if options.packages:
        print("\n".join(doctor.packages(missing)), end="\n" if missing else "")
        return 0
    for name, package, purpose in missing:
        print(f"missing: {name} ({purpose}), in the package {package}")
    if missing:
        print(f"fix: apt-get install {' '.join(doctor.packages(missing))}")
    else:
        print("nothing is missing")
    return 1 if missing else 0


def stop(number, _frame) -> None:
    raise SystemExit(128 + number)


def main() -> int:
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    options = make_parser().parse_args()
    try:
        return options.run(options) or 0
    except (LabError, ValueError) as error:
        print(f"lab: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
