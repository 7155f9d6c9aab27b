#!/usr/bin/env python3
"""Writes fuzz/corpus/ from the fixtures of the tests: a few small inputs for each target.

Files that a fuzzer found (their names begin with `found-`) stay.
"""

import base64
import json
import pathlib
import struct

HERE = pathlib.Path(__file__).resolve().parent
FIXTURES = HERE.parent / "tests" / "fixtures"
ED25519 = "AAAAC3NzaC1lZDI1NTE5AAAAIHJkbWFjdGwtZnV6ei1yZG1hY3RsLWZ1enotMDEyMzQ1"


def fixture(name):
    return (FIXTURES / name / "capture.ndjson").read_bytes()


def entries(name):
    return [json.loads(line) for line in fixture(name).splitlines()[1:]]


def raw(entry):
    if "base64" in entry:
        return base64.b64decode(entry["base64"])
    return entry.get("text", "").encode()


def captures():
    for name in ["none", "no_device", "efa", "broken"]:
        yield fixture(name)


def machines():
    """One line for each kind of file of a fixture, in pieces that each change a few."""
    for number, name in enumerate(["mlx5_roce", "mlx5_ib", "rxe_siw", "hfi1", "efa", "broken"]):
        lines, seen = [], set()
        for entry in entries(name):
            ask = entry["ask"]
            path = next(iter(ask.values())) if isinstance(ask, dict) else None
            if not isinstance(path, str):
                continue
            last = path.rsplit("/", 1)[1].encode()
            if last in seen:
                continue
            seen.add(last)
            answer = b"!" + entry["error"].encode() if "error" in entry else raw(entry)
            lines.append(last + b"=" + answer.rstrip(b"\n").replace(b"\n", b"\x1f"))
        for at in range(0, len(lines), 12):
            yield str(number).encode() + b"\n".join(lines[at:at + 12])
    yield b"0infiniband=mlx5_7\x1fmlx5_10\x1fx\nports=1\x1f2\x1f255\ngids=0\x1f1\x1f4096"


def netlink():
    seen = set()
    for name in ["rxe_siw", "mlx5_roce", "broken"]:
        for entry in entries(name):
            kind = next(iter(entry["ask"])) if isinstance(entry["ask"], dict) else "verbs"
            if kind in ("file", "dir", "link", "verbs") or "error" in entry:
                continue
            ask = json.dumps(entry["ask"], separators=(",", ":"))
            if ask not in seen and len(raw(entry)) < 4000:
                seen.add(ask)
                yield ask.encode() + b"\n" + raw(entry)


def frames():
    def frame(*messages):
        texts = [json.dumps(message).encode() for message in messages]
        return b"".join(struct.pack(">I", len(text)) + text for text in texts)

    parts = {"verbs": True, "resources": True, "counters": False, "pkeys": True}
    yield b"\0" + frame({"hello": {"pid": 4711, "start_ticks": 99}}, "alive",
                        {"report_part": {"text": "{}", "is_last": True}}, {"end": {"frames": 3}})
    yield b"\0" + frame({"worker_lost": "hung"}, {"worker": {"id": 1, "result": {"Ok": "done"}}})
    yield b"\1" + frame({"report": {"parts": parts, "limit_ms": 9000}}, "start_worker", "alive",
                        {"worker": {"id": 1, "step": {"connection": 1, "act": "serve"}}}, "bye")
    yield b"\2" + frame("alive")
    yield b"\3" + frame({"id": 7, "step": {"connection": 7, "act": "stop"}})


def texts(*lines):
    return lambda: (line.encode() for line in lines)


SEEDS = {
    "capture": captures,
    "sysfs": machines,
    "netlink": netlink,
    "wire": frames,
    "greeting": texts("RDMACTL/2 c0ffee 0.1.0\n", "Welcome!\n\x1b[2J\nRDMACTL/1 deadbeef 9.9\n",
                      "motd\nRDMACTL/none c0ffee\n", "bash: rdmactl: command not found\n"),
    "host_set": texts("n[01-16,20],gpu[1-4]!gpu3", "root@[fe80::1]:2222 a.b.example.org:22",
                      "n[1-9/2]&n[3-5]^n4", "r[1-2]n[01-04]x[0-1]", "n[1", "@group", "-", "a,,b"),
    "known_hosts": texts(
        f"web\nweb,10.0.0.7 ssh-ed25519 {ED25519}\n", f"web\n@revoked * ssh-ed25519 {ED25519}\n",
        f"web\n@cert-authority *.org,!w?b ssh-ed25519 {ED25519}\n# c\n[web]:2222 ssh-rsa AAAA\n",
        f"web\n|1|F1E1KeoE/eEWhi10WpGv4OdiO6Y=|3988QV0VE8wmZL7suNrYQLITLCg= ssh-ed25519 {ED25519}\n"
        f"\0\0\0\0\x0bssh-ed25519\0\0\0\x01x"),
    "ssh_config": texts(
        "host web\nuser root\nhostname 10.0.0.7\nport 2222\naddressfamily inet6\n"
        "identityfile ~/.ssh/id_%r\nidentityfile /keys/%h-%p%%\nuserknownhostsfile /a \"/b c\"\n"
        "identitiesonly yes\nstricthostkeychecking accept-new\nconnecttimeout 5\n",
        "proxyjump bastion\n", "identityagent ${AGENT}\nhostkeyalias %k\ncertificatefile %C\n"),
    "filter": texts("state!=active and rate<400G", "!(port=1) || device~mlx5 'bond 0'",
                    "rate>=2.5Gb/s or lid=0x3a4 netdev=-", "index>3 kind='RoCE v2'", "(((", "-rate"),
    "escape": texts("mlx5_0 äöü 日本", "\x1b[2J\n\t\x7f\u009b0c", "a\u202eb\u200b\ufeff\u2028"),
}


def main():
    for target, seeds in SEEDS.items():
        folder = HERE / "corpus" / target
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.iterdir():
            if not old.name.startswith("found-"):
                old.unlink()
        for number, seed in enumerate(seeds(), 1):
            (folder / f"{number:02}").write_bytes(seed)


if __name__ == "__main__":
    main()
