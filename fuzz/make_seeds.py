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
GOLDEN = HERE.parent / "tests" / "golden"
# Subnets that ibsim simulated with opensm: `rdmactl fabric VIEW --save` for the views subnets, partitions and errors
# by directed routes, and by tables; of each capture the line of its management datagrams. Beside them what
# ibnetdiscover and opensm wrote, and star as a report has it (`rdmactl fabric --format json`). star has three hosts on a switch; tree has two pods, a host without a link, and errors.
RECORDINGS = HERE / "recordings"
# The commands of ethtool netlink, as src/source/netlink/ethtool.rs numbers them.
ETHTOOL = {"link_info": 2, "link_modes": 4, "link_state": 6, "pause": 21, "fec": 29,
           "module_identifier": 31, "counters": 32, "module": 34}
# A message's header and the family's own.
HEADERS = 16 + 4
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


def answers_by_name(name):
    """Each kind of file of a fixture once: the last part of its path, and what it answers."""
    found = {}
    for entry in entries(name):
        ask = entry["ask"]
        path = next(iter(ask.values())) if isinstance(ask, dict) else None
        if isinstance(path, str):
            answer = b"!" + entry["error"].encode() if "error" in entry else raw(entry)
            last = path.rsplit("/", 1)[1].encode()
            found.setdefault(last, answer.rstrip(b"\n").replace(b"\n", b"\x1f"))
    return [last + b"=" + answer for last, answer in found.items()]


def machines():
    """One line for each kind of file of a fixture, in pieces that each change a few."""
    for number, name in enumerate(["mlx5_roce", "mlx5_ib", "rxe_siw", "hfi1", "efa", "broken"]):
        lines = answers_by_name(name)
        for at in range(0, len(lines), 24):
            yield str(number).encode() + b"\n".join(lines[at:at + 24])
    yield b"0infiniband=mlx5_7\x1fmlx5_10\x1fx\nports=1\x1f2\x1f255\ngids=0\x1f1\x1f4096"
    records = ["3,1,9,-;mlx5_core 0000:5d:00.0: Port module event[error]: module 0, Cable error, High Temperature",
               "4,2,10,-;NETDEV WATCHDOG: ens3f0np0 (mlx5_core): transmit queue 0 timed out",
               "3,3,18446744073709551615,c;mlx5_core 0000:5d:00.0: probe of x failed with error -5", "3,4;mlx5_core "]
    yield b"0kmsg=" + "\x1f".join(records).encode()
    yield (b"0modules=nvidia\x1fib_umad\x1fnv_peer_mem\nlimits=Max locked memory       65536    unlimited   bytes\x1f"
           b"Max open files 1024 2 files\nstatus=CapEff:\t000001ffffffffff\nsystem.slice=opensm.service\x1fslurmd.service\n"
           b"cgroup.procs=7\nroute=Iface\tDestination\x1fens3f0np0\t00090A0A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"
           b"node=node0\x1fnode1\nscaling_governor=powersave\nrp_filter=1\narp_ignore=x\nnuma_balancing=1\ntype=DMA-FQ\n"
           b"version=NVRM version: NVIDIA UNIX Open Kernel Module")


def tools():
    """Calls of the older tools, each with a few files of another machine than the one it is on."""
    calls = ["00", "20" "4 -p", "30", "00" "4 rxe0 1", "01", "51 mlx5_0", "02", "22", "03 -v", "23" "9 -v",
             "33" "3 -d hfi1_0 -i 1 -v", "43 -l", "04 -v", "24", "05", "25 rxe0 1", "50 -x", "13 -h"]
    others = ["broken", "hfi1", "mlx5_ib", "rxe_siw"]
    for number, call in enumerate(calls):
        lines = answers_by_name(others[number % len(others)])
        at = 7 * number % max(1, len(lines) - 8)
        yield b"\n".join([f"{call[:2]}{call[2:] or '0'}".encode(), *lines[at:at + 8]])
    for text in verbs():
        yield b"239 -v\nverbs=" + text


def records(name, netdev, number_of):
    """The netlink answers of one interface as records without their headers."""
    whole = b""
    for entry in entries(name):
        number = number_of(entry["ask"]) if isinstance(entry["ask"], dict) else None
        query = next(iter(entry["ask"].values())) if number is not None else {}
        if "error" in entry or not isinstance(query, dict) or query.get("netdev") != netdev:
            continue
        # What comes behind the first message has its own headers: the target adds one only.
        content = raw(entry)[HEADERS:struct.unpack("=I", raw(entry)[:4])[0]]
        whole += struct.pack("<BH", number, len(content)) + content
    return whole


def dcb():
    number = lambda ask: {"dcb": 0, "dcbx": 1}.get(ask.get("route", {}).get("command"))
    for netdev in ["ens3f0np0", "ens3f1np1", "ens5f1np1"]:
        yield records("mlx5_roce", netdev, number)
    yield b"\x80\x04\0\x14\0\0\0"


def ethtool():
    number = lambda ask: ETHTOOL.get(ask.get("ethtool", {}).get("command"))
    for netdev in ["ens3f0np0", "ens3f1np1", "ens5f1np1"]:
        yield records("mlx5_roce", netdev, number)
    yield b"\x82\x04\0\x14\0\0\0"


def verbs():
    for name in ["rxe_siw", "hfi1", "broken", "none"]:
        for entry in entries(name):
            if entry["ask"] == "verbs" and "error" not in entry:
                yield raw(entry)
    yield b'{"unavailable":{"detail":"no libibverbs.so.1","fix":"install it"}}'


def host(fixture, file):
    """The host of a golden file of JSON."""
    lines = (GOLDEN / fixture / f"{file}.txt").read_text().split("\n--- stderr")[0].split("\n", 1)
    return json.loads(lines[1])["hosts"][0]


def reports():
    """What agents say: the hosts of the golden files of JSON, alone and as two readings."""
    written = lambda report: json.dumps(report, separators=(",", ":")).encode()
    for fixture, file in [("rxe_siw", "json"), ("hfi1", "json"), ("efa", "json"), ("broken", "json"),
                          ("mlx5_roce", "ports_json"), ("rxe_siw", "resources_json")]:
        yield written(host(fixture, file))
    # A subnet, and links whose other ends are not there.
    subnet = json.loads((RECORDINGS / "star.json").read_text())
    yield written({**host("efa", "json"), "fabrics": [subnet]})
    for node in subnet["nodes"]:
        for port in node["ports"]:
            if port["peer"]:
                port["peer"]["node"] += 3
        node["ports"] = node["ports"][:2] * 2
    yield written({**host("efa", "json"), "fabrics": [subnet]})
    before = host("rxe_siw", "counters_json")
    later = json.loads(json.dumps(before))
    for device in later["devices"]:
        for port in device["ports"]:
            for number, counter in enumerate(port["counters"] or []):
                counter["value"] = (counter["value"] or 0) + number
                counter["read_ns"] = (counter["read_ns"] or 0) + 1_000_000_000
    yield written(before) + b"\n" + written(later)
    # Lists of members that are small to write and large to keep.
    port = {"number": 1, "netdev": "eth0", "gids": [], "counters": []}
    yield written({**host("efa", "json"), "netdevs": [{"name": f"eth{number}"} for number in range(9)],
                   "devices": [{"name": f"d{number}", "ports": [port] * number} for number in range(6)]})


def pings():
    """What two workers and their operator saw of some pairs."""
    def failed(stage, cause, **more):
        return {"stage": stage, "cause": cause, "detail": "it was seen", "fix": None, "size": None,
                "done": 0, **more}

    trips = {"count": 1000, "min_ns": 1800, "p50_ns": 2000, "p99_ns": 4000, "max_ns": 90000}
    fine = {"tcp": {"Ok": trips}, "rdma": trips}
    lost = {"tcp": {"Ok": trips}, "source": failed("first_message", {"completion": "IBV_WC_RETRY_EXC_ERR"})}
    small = {"tcp": {"Ok": trips}, "source": failed("full_mtu", "no_reply", size=4096, done=3)}
    down = {"tcp": {"Err": failed("tcp", {"errno": "EHOSTUNREACH"})},
            "source": failed("connect", {"errno": "ETIMEDOUT"})}
    for run in [[fine], [lost, fine, fine, lost], [small, small], [down] * 12,
                [{"hung": "stopped", "tcp": None}, {"dead": "no route", "tcp": None}],
                [{"target": failed("open", "library", fix="install it")},
                 {"target": failed("latency", "wrong_bytes", done=9)},
                 {"source": failed("choose", "unsupported")}, {"source": failed("open", "stuck")}]]:
        yield b"\n".join(json.dumps(pair).encode() for pair in run)


def recordings():
    """What a host tells in a golden file, at moments of which one is silent, and one is whole."""
    told = []
    for name in ["mlx5_roce", "rxe_siw"]:
        report = host(name, "counters_json")
        report["devices"] = report["devices"][:1]
        told.append(report)
    line = lambda value: json.dumps(value, separators=(",", ":")).encode() + b"\n"
    head = line({"schema": "rdmactl.recording/1", "tool": "rdmactl", "hosts": ["n1", "n2"]})
    moment = lambda at, whole, *lines: line({"moment": at, "whole": whole, "lines": len(lines)}) + b"".join(lines)
    of = lambda place, at, **more: line({"host": place, "answered_ns": at, "failure": None, **more})
    lost = {"reason": "lost", "detail": "the agent ended", "fix": None}
    first = moment(1, True, *(of(place, 1, report=report) for place, report in enumerate(told)))
    change = {"{": [{"taken_ns": {"=": 7}, "kernel": {"=": None}}, []]}
    yield head + first
    yield head + first + moment(2, False, of(0, 2, change=change))
    yield head + first + moment(2, False, of(0, 2, change=change), of(1, 1, failure=lost)) \
        + moment(3, False) + moment(4, True, of(0, 4, report=told[0])) + b'{"moment":5,"whole":false,"lines":1}\n'
    yield head + first + moment(2, False, of(0, 2, change={"[": [[0, {"=": 1}]]}), of(9, 2))


def redacted():
    yield from captures()
    for name in ["rxe_siw", "fleet"]:
        lines = fixture(name).splitlines()
        # All of it takes a fuzzer long.
        yield b"\n".join(lines[:1] + lines[1::9]) + b"\n"


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


def consumers():
    """Mounts, lists, logs and sockets, as recorded in two virtual machines."""
    def lines(**answers):
        text = lambda content: content.encode().replace(b"\n", b"\x1f") if isinstance(content, str) else content
        return b"\n".join(name.replace("__", "/").encode() + b"=" + text(content)
                          for name, content in answers.items())

    options = "rw,vers=4.1,proto=tcp,nconnect=2,port=20049,clientaddr=10.9.0.2,addr=10.9.0.1"
    yield lines(self__mounts=f"10.9.0.1:/ /mnt/r\\040x nfs4 {options} 0 0\nx /mnt/9 9p trans=rdma,port=5640 0 0\n",
                mountstats="device 10.9.0.1:/ mounted on /mnt/r\\040x with fstype nfs4 statvers=1.1\n"
                           "\txprt:\ttcp 0 0 2 0 0 35 35 0 35 0 2 0 0\n",
                fstab="10.9.0.1:/ /mnt/r nfs4 proto=rdma,port=20049 0 0\n",
                dstaddr="10.9.0.1\n", xprt_state="state= CONNECTED   BOUND\n", xprt_info="src_port=0\ndst_port=20049\n",
                portlist="rdma 20049\ntcp 2049\n", info='address: "10.9.0.2:0"\nname: "Linux NFSv4.0"\n')
    yield lines(storage_nodes="s1 [ID: 1]\n   Connections: TCP: 1 (10.9.0.1:8203 [fallback route]); \n"
                              "s2 [ID: 2]\n   Connections: TCP: 1 (busy); RDMA: 2; \n",
                meta_nodes="m [ID: 1]\n   Root: <yes>\n   Connections: <none>\n", mgmt_nodes="x [ID: 1]\n",
                client_info="Interfaces:\n+ eth0[ip addr: 10.9.0.2; type: RDMA]\n", config="connUseRDMA = 1\n",
                kmsg="6,1,1,-;beegfs: df(1): NodeConn (acquire stream): Connected: "
                     "beegfs-storage@10.9.0.1:8203 (protocol: TCP; fallback route)\n")
    yield lines(transport="rdma", address="traddr=10.9.0.1,trsvcid=4421", subsysnqn="nqn.test", state="live",
                queue_count="2", addr_trtype="tcp", addr_trsvcid="4420", proc_name="iscsi_iser",
                session1="../../devices/platform/host5/session1", persistent_address="10.9.0.1",
                persistent_port="3260", iser="1", dgid="fe80:0000:0000:0000:0002:c903:000e:8acd")
    socket = bytes([2, 1, 0, 0]) + struct.pack(">HH", 978, 2049) + bytes([10, 9, 0, 2]) + bytes(12) \
        + bytes([10, 9, 0, 1]) + bytes(12) + bytes(28) + struct.pack("=I", 13924)
    message = lambda payload: struct.pack("=IHHII", 16 + len(payload), 20, 2, 0, 0) + payload
    smc = bytes([43, 1, 1, 0]) + socket[4:52] + bytes(4) + struct.pack("=Q", 14188) \
        + struct.pack("=HHII", 12, 5, 0x03030000, 0)
    rds = struct.pack("<I", 42) + bytes(16) + bytes([10, 9, 0, 2, 10, 9, 0, 1]) + b"tcp".ljust(16, b"\0") + bytes([4, 0])
    yield lines(tcp4=message(socket), smc=message(smc), rds=rds,
                holders="192 socket:[13924]\n192 /dev/infiniband/rdma_cm\n193 -\n", comm="ucx_perftest\n",
                environ="UCX_TLS=tcp\n")
    yield lines(DebugData="Features: SMB_DIRECT\n1) ConnectionId: 0x1 Hostname: filer \n"
                          "SMBDirect (in hex) protocol version: 100 transport status: 2\n"
                          "\t\tCapabilities: rdma rss\n\t\tIPv4: 10.0.0.10\n",
                **{"import": 'failover_nids: [ "10.0.0.1@o2ib", "10.0.0.1@tcp" ]\ncurrent_connection: "10.0.0.1@tcp"\n'
                             "state: FULL\n"},
                **{"discovery.conf": "-t rdma -a 10.0.0.1\n"})


def frames():
    def frame(*messages):
        texts = [json.dumps(message).encode() for message in messages]
        return b"".join(struct.pack(">I", len(text)) + text for text in texts)

    parts = ["verbs", "resources", "pkeys"]
    yield b"\0" + frame({"hello": {"pid": 4711, "start_ticks": 99}}, "alive",
                        {"report_part": {"text": "{}", "is_last": True}}, {"end": {"frames": 3}})
    yield b"\0" + frame({"worker_lost": "hung"}, {"worker": {"id": 1, "result": {"Ok": "done"}}})
    yield b"\1" + frame({"report": {"parts": parts, "limit_ms": 9000}}, "start_worker", "alive",
                        {"worker": {"id": 1, "step": {"connection": 1, "act": "serve"}}}, "bye")
    yield b"\0" + frame({"hello": {"pid": 1, "start_ticks": 1}}, {"delta_part": {"base": 1, "text": "[]", "is_last": True}})
    yield b"\1" + frame({"report": {"parts": parts, "limit_ms": 9000, "base": 7}})
    yield b"\2" + frame("alive")
    yield b"\3" + frame({"id": 7, "step": {"connection": 7, "act": "stop"}})


def texts(*lines):
    return lambda: (line.encode() for line in lines)


def host_certificates():
    """Fields of host certificates up to the signature: forever, for some years, by pattern; then one of
    a user, one with a critical option, one that has expired, one of another host and one of an RSA key."""
    def string(data):
        data = data.encode() if isinstance(data, str) else data
        return len(data).to_bytes(4, "big") + data

    def certificate(kind=2, names=("web",), after=0, before=2**64 - 1, options=b"", extensions=b"",
                    algorithm="ssh-ed25519", key=string(bytes(range(32)))):
        return (string(algorithm + "-cert-v01@openssh.com") + string(bytes(32)) + key
                + (7).to_bytes(8, "big") + kind.to_bytes(4, "big") + string("id")
                + string(b"".join(string(name) for name in names)) + after.to_bytes(8, "big")
                + before.to_bytes(8, "big") + string(options) + string(extensions))

    modulus = b"\0" + bytes([0xc3]) + bytes(255 * [0x5b])
    yield certificate()
    yield certificate(names=("db", "WEB", "10.0.0.7"), after=1_600_000_000, before=1_900_000_000)
    yield certificate(names=("w?b", "*.example.org"), extensions=string("x") + string(""))
    yield certificate(kind=1)
    yield certificate(options=string("force-command") + string(string("/bin/true")))
    yield certificate(before=1_600_000_000)
    yield certificate(names=("db",))
    yield certificate(algorithm="ssh-rsa", key=string(b"\1\0\1") + string(modulus))


def ssh_files():
    """Configuration files, three bytes for each line: every option, then blocks with some of them."""
    settings, choices = 13, 5
    yield b"\0" + bytes(byte for number in range(settings) for byte in (8 * number + 4, number % choices, number % 16))
    yield b"\0" + bytes(byte for value in range(6) for kind in (1, 2, 3) for byte in (kind, value, 3 * value))
    yield b"\0" + bytes(byte for value in range(7) for byte in (0, value, 0, 12, value, 0, 8 * value + 5, value + 1, 6))


def ping_runs():
    """Runs as --save keeps them: whole, as columns, as the first version had them, and cut off."""
    def verdict(code, hint=None):
        return {"code": code, "stage": None, "side": "path", "detail": "seen", "hint": hint}

    def pair(source, target, code, ns):
        quantiles = lambda one: {"min": one, "p50": one, "p99": None, "max": 2 * one}
        rdma = ns and {"count": 9, "rtt_ns": quantiles(2 * ns), "half_rtt_ns": quantiles(ns)}
        return {"rail": 0, "source": source, "target": target, "verdict": verdict(code), "route": None,
                "rdma": rdma, "tcp": None, "first": None}

    def run(hosts, **more):
        host = lambda name: {"name": name, "kernel": None, "failure": None}
        return {"schema": "rdmactl.ping/1", "hosts": [host(name) for name in hosts], "pairs": [],
                "findings": [], "elapsed_ms": 1, "left_behind": [], **more}

    finding = {"host": 1, "source": 0, "target": 1, "code": "peer.dead", "stage": None,
               "detail": "gone", "hint": "see", "failed": 1, "of": 2}
    outlier = {"kind": "pair", "host": 1, "target": 0, "both_ways": False, "leaves": [], "rails": [],
               "slower_permille": 250, "slower_ns": 400, "z_tenths": 50, "slow": 1, "of": 1,
               "retested": True, "software": False}
    coverage = {"schedule": "random", "seed": 7, "peers": 1, "budget_ms": 500, "rounds": 1, "possible": 2,
                "planned": 2, "tested": 1, "least_peers": 1, "leaf_pairs": {"tested": 1, "possible": 3}}
    cells = [{"code": [[None, "ok"], ["fabric.loss", None]], "half_rtt_ns": [[None, 1700], [None, None]]}]
    whole = run(["n1", "n2"], pairs=[pair(0, 1, "peer.dead", None), pair(1, 0, "ok", 1700)],
                findings=[finding], outliers=[outlier], coverage=coverage)
    runs = [whole, run(["a", "<b>\u202e"], cells=cells, simulated="x.txt"), run([])]
    texts = [json.dumps(one).encode() for one in runs]
    return [*texts, texts[0][:300], texts[0].replace(b"ping/1", b"ping/2")]


def mads():
    """Answers to a sweep, 64 bytes each: a host, its name and port, the switch behind it; and a table of records."""
    def node(*fields):
        return node_info(*fields).ljust(64, b"\0")

    def name(text):
        return text.ljust(64, b"\0")

    port = lambda lid, local_port, state, physical: port_info(lid, local_port, state, physical, 0)
    host, switch = HOST, SWITCH
    sweep = [node(1, 1, host, 1), name(b"n1 HCA-1"), port(1, 1, 4, 5), node(2, 2, switch, 1), name(b"leaf1"),
             port(2, 0, 4, 5), port(0, 1, 4, 5), port(0, 2, 4, 5), node(1, 1, host + 16, 1), name(b"n2 HCA-1"),
             port(3, 1, 4, 5)]
    header = bytes((1, 3, 2, 0x92)) + bytes(12) + struct.pack(">HHI", 0x11, 0, 0)
    record = struct.pack(">HH", 1, 0) + node(1, 1, host, 1)[:40] + name(b"n1 HCA-1") + bytes(4)
    table = header + bytes(20) + struct.pack(">HH", 14, 0) + bytes(8) + record * 3
    return [b"".join(sweep), table.ljust(256, b"\0"), (header + bytes(40) + sweep[2]).ljust(256, b"\0"), b"\xff" * 320]


def mad_records(name):
    """The records of the captures of a simulated subnet."""
    lines = (RECORDINGS / f"{name}.ndjson").read_text().splitlines()
    return [raw(json.loads(line)) for line in lines]


def exchanges(record):
    """Requests of a record, each with the kind of its outcome and the answer."""
    at = 8
    def take(size):
        nonlocal at
        at += size
        return record[at - size:at]
    number = lambda size: int.from_bytes(take(size), "big")
    while at < len(record):
        take(2)
        request = take(number(4)).ljust(256, b"\0")
        kind, detail = number(1), number(4)
        answer = take(number(4))
        yield request, kind, answer.ljust(detail if kind == 0 else 0, b"\0")


# Class and attribute of each number of an answer, as in fuzz/src/answers.rs.
ANSWERS = [(0x81, 0x11), (0x81, 0x10), (0x81, 0x15), (0x81, 0x12), (0x81, 0x20), (0x81, 0x19), (0x81, 0x16), (4, 0x01),
           (4, 0x12), (4, 0x1d), (4, 0x15), (4, 0x16), (3, 0x11), (3, 0x12), (3, 0x20)]


def answer(class_id, attribute, content):
    return struct.pack(">BH", ANSWERS.index((class_id, attribute)), len(content)) + content


def sweeps(name):
    """The answers of all captures of a simulated subnet, each attribute as the first capture has it."""
    seen, whole = set(), b""
    for record in mad_records(name):
        new = set()
        for request, kind, mad in exchanges(record):
            asked = (0x81 if request[1] == 1 else request[1], int.from_bytes(request[16:18], "big"))
            if asked in seen or asked not in ANSWERS or asked[0] == 3:
                continue
            new.add(asked)
            whole += answer(*asked, mad[64:128].rstrip(b"\0").ljust(40, b"\0") if kind == 0 else b"")
        seen |= new
    return whole


def rmpp(attribute, distance, records, payload=None, kind=1, status=0, flags=7):
    """An answer of subnet administration as the kernel joins it from its segments."""
    data = b"".join(record.ljust(distance, b"\0") for record in records)
    length = len(data) + 20 * max(1, -(-len(data) // 200)) if payload is None else payload
    header = bytes((1, 3, 2, 0x92)) + bytes(12) + struct.pack(">HHI", attribute, 0, 0)
    return (header + struct.pack(">BBBBII", 1, kind, flags, status, 1, length) + bytes(8)
            + struct.pack(">HH", distance // 8, 0) + bytes(8) + data)


HOST, SWITCH = 0xb83fd20300100000, 0xb83fd20300a00000


def node_info(kind, ports, guid, local_port):
    return (struct.pack(">BBBBQQQHHIB", 1, 1, kind, ports, guid, guid, guid + 1, 32, 0x101b, 0xa0, local_port)
            + bytes((0, 2, 0xc9)))


def port_info(lid, local_port, state, physical, sm_lid=1):
    info = bytearray(64)
    info[16:24] = struct.pack(">HHI", lid, sm_lid, 0)
    info[28:36] = bytes((local_port, 3, 3, 2, 0x10 | state, physical << 4 | 2, 0, 0))
    info[62] = 0x44
    return bytes(info)


def tables():
    """The three tables of two hosts on a switch."""
    nodes = [(1, 1, 1, HOST, b"n1 HCA-1"), (2, 2, 2, SWITCH, b"leaf1"), (3, 1, 1, HOST + 16, b"n2 HCA-1")]
    ports = [(1, 1), (2, 0), (2, 1), (2, 2), (3, 1)]
    links = [(1, 1, 1, 2), (2, 1, 1, 1), (3, 1, 2, 2), (2, 2, 1, 3)]
    return [
        rmpp(0x11, 112, [struct.pack(">HH", lid, 0) + node_info(kind, count, guid, 1) + name.ljust(64, b"\0")
                         for lid, kind, count, guid, name in nodes]),
        rmpp(0x12, 72, [struct.pack(">HBB", lid, port, 0) + port_info(lid, port, 4, 5) for lid, port in ports]),
        rmpp(0x20, 8, [struct.pack(">HBBH", *link) for link in links]),
    ]


def fabrics():
    """Sweeps: two that were recorded, by tables, and of hostile nodes."""
    yield sweeps("star")
    yield sweeps("tree")
    own = answer(0x81, 0x11, node_info(1, 1, HOST, 1)) + answer(0x81, 0x15, port_info(1, 1, 4, 5))
    manager = answer(0x81, 0x20, struct.pack(">QQIBBH", HOST + 1, 0, 7, 0xe3, 0, 0))
    counts = answer(4, 0x01, bytes((1, 1, 0x12, 0)) + bytes(68)) + answer(4, 0x12, b"\0\1" + b"\xff" * 42)
    sa = b"".join(answer(3, attribute, table) for attribute, table in zip((0x11, 0x12, 0x20), tables()))
    forwarding = answer(0x81, 0x12, struct.pack(">HHHH", 0xc000, 0, 0, 3).ljust(20, b"\0")) \
        + answer(0x81, 0x19, b"\xff\1\0\2" + b"\xff" * 60)
    yield own + manager + sa + forwarding + counts
    # Two switches whose tables send packets round in circles, and names that control a terminal.
    name = answer(0x81, 0x10, "\x1b[2J\u202e\"leaf\\\n".encode().ljust(64, b"\0"))
    ring = own + own[:43] + b"".join(answer(0x81, 0x11, node_info(2, 3, SWITCH + at, 1)) for at in (0, 1, 0, 1))
    yield ring + name + answer(0x81, 0x12, struct.pack(">HHHH", 0xffff, 0, 0, 0xffff).ljust(20, b"\0")) \
        + answer(0x81, 0x19, b"\2" * 64) + answer(0x81, 0x16, b"\xff\xff" * 32) + answer(4, 0x12, b"")


def sa_tables():
    """Tables: whole, cut, padded, and transfers that ended."""
    nodes, ports, links = tables()
    yield from (nodes, ports, links, nodes[:-1], links.ljust(256, b"\0"), nodes[:56] + nodes[57:])
    for record in mad_records("star"):
        yield from (mad for request, kind, mad in exchanges(record) if request[1] == 3 and kind == 0)
    yield rmpp(0x20, 8, [], payload=0, kind=4, status=126)
    yield rmpp(0x11, 0, [b"x" * 8], payload=19)


def records_of_mads():
    star, tree = mad_records("star"), mad_records("tree")
    return [*star, tree[0], star[0][:300], b"rdmamad2", star[0][:8]]


def subnet_files():
    """What ibnetdiscover and opensm wrote, and small files of each kind."""
    for name in ("star", "tree"):
        yield (RECORDINGS / f"{name}.ibnetdiscover").read_bytes()
        yield (RECORDINGS / f"{name}.lst").read_bytes()
    yield from texts("# limits\nSymbolErrorCounter=10\nLinkDownedCounter = 5 # x\nPortXmitWait=18446744073709551615\n",
                     '# names\n0x0002c90200000001 "leaf001"\nb83fd20300100000 "n1 \x1b[2J"\n',
                     "SwitchName=leaf1 Nodes=n[1-4]\nSwitchName=spine Switches=leaf[1-2] LinkSpeed=1\n",
                     "leaf leaf1 n[1-2]\nleaf leaf2 n3 \\\n# x\n")()


SEEDS = {
    "fabric": fabrics,
    "sa": sa_tables,
    "mad_record": records_of_mads,
    "subnet_files": subnet_files,
    "mad": mads,
    "capture": captures,
    "sysfs": machines,
    "netlink": netlink,
    "wire": frames,
    "compat": tools,
    "connections": consumers,
    "dcb": dcb,
    "ethtool": ethtool,
    "verbs": verbs,
    "report": reports,
    "ping": pings,
    "ping_run": ping_runs,
    "recording": recordings,
    "redact": redacted,
    "upload": texts("RDMACTL/up NONCE ok 0\n", "Welcome!\nRDMACTL/up NONCE unchecked 2\r\n",
                    "RDMACTL/up NONCE size 4096\n\0dd: no space left\n", "RDMACTL/up c0ffee ok 0\n",
                    "RDMACTL/up NONCE run 127\0\x1b[2Jsh: not found\n", "RDMACTL/up NONCE ok 99\n"),
    "names": texts("n1\nn2\nn10\nn01\nn001\nn", "rack1-n[1]\nrack2-n1\nrack10-n1\n",
                   "root@n7:2222\nn7:2223\n[fe80::1]\n[fe80::10]:22\n", "a9b2\na9b10\nä1\n1\n01\n",
                   "n999999999999999999\nn1000000000000000000\nn18446744073709551616\n"),
    "greeting": texts("RDMACTL/2 c0ffee 0.1.0\n", "Welcome!\n\x1b[2J\nRDMACTL/1 deadbeef 9.9\n",
                      "motd\nRDMACTL/none c0ffee\n", "bash: rdmactl: command not found\n"),
    "groups": texts("@all!n3\nall: @a,@b\na: n[1-4]\nb: n9 n[10-12]\n",
                    "@racks:old\nracks:\n  r1: 'a[0,2]'\n  r2:\n    - b1\n    - 'b[2-3]' # late\n  old: '@r[1,2]'\n",
                    "@a\na: @b\nb: @a\n", "@compute\nn[1-4] compute,ib=hdr\nn5 compute,ib=ndr\n",
                    "@a\n[Main]\ndefault: a\n[a,b]\nmap: echo $GROUP\n  | cat\nall = x\n",
                    "x\na: &b [c, *b]\n? - d\n"),
    "hosts_file": texts("n1\nn2:4\n@group\nu@n[1-4]:22 # all\n", "foo slots=2\nbar max_slots=4\n",
                        "donner:2\n[fe80::1]:4 user=bob ifname=ib0\n",
                        "; x\nmail ansible_user=bob\n[web]\nwww[01:05:2] ansible_port=22\ndb-[a:c]\n"
                        "h1 ansible_host=fd00::1 x='a b'\n[dc:children]\nweb\n[dc:vars]\na=b\n",
                        "127.0.0.1 localhost\n10.0.0.1 n1 n1.example # one\nfe80::1 n2\n",
                        "n[1-4] compute,ib=hdr\nn5\n", "---\nall:\n  hosts:\n"),
    "config": texts(
        'hosts = "n[01-16]!n3,@rack7"\ntimeout = 2.5\nfanout = 128\n[ssh]\nlogin = "root"\nconfig = "/etc/x"\n'
        'options = ["ProxyJump=gw", "Port=7"]\nsudo = true\n[columns]\nports = "+lid,rate"\nlossless = ["device"]\n',
        'upload = "never"\ninterval = "5s"\ncolor = "auto"\ntop.theme = "light"\nhosts = ["n1", \'n2\', """n3"""]\n',
        'hots = 1\n', 'hosts = ["n1",\n "n[2"]\n', 'ssh = { sudo = 1979-05-27, é = "\\u001b" }\n',
        'timeout = "5 parsecs"\n[columns]\nports = "rate,speed"\n', '[ssh]\n[ssh]\n'),
    "policy": texts(
        '[[accept]]\ncheck = "port.*"\nhosts = "n[1-2]"\nsubject = "mlx5_1/1"\nreason = "no cable"\n'
        'until = "2027-01-31"\n[[expect]]\ncheck = "firmware.differs"\nof = "MT_1"\nvalue = "28.39"\n'
        '[severity]\n"kernel.differs" = "info"\n[threshold]\nlocked_memory_warn_mib = 64\n',
        '[[expect]]\ncheck = "kernel.differs"\nvalue = "6.\\"1\\"\\n\\u001b"\n[threshold]\ndevice_used_percent = 101\n',
        '[[accept]]\ncheck = "port.dwn"\nreason = ""\n', '[[accept]]\ncheck = "port.down"\nreason = "x"\nuntil = "2027-13-01"\n',
        '[severity]\n"port.*" = "warn"\n', '[threshold]\nlocked_memory_fail_mib = -1\n'),
    "host_set": texts("n[01-16,20],gpu[1-4]!gpu3", "root@[fe80::1]:2222 a.b.example.org:22",
                      "n[1-9/2]&n[3-5]^n4", "r[1-2]n[01-04]x[0-1]", "n[1", "@group", "-", "a,,b", "@src:r[1-2]!^file"),
    "simulated_fabric": texts(
        "hosts n[1-8]\nrails 2\nnoise 3%\nseed 7\nfault host n3 slow 1.5\nfault pair n1 -> n2 loss 5%\n",
        "hosts n[1-4],m[1-4] # eight\nleaf a n[1-4]\nleaf b m[1-4]\npod p a b\nlatency cross 3us\ntcp 9us\n"
        "fault leaf a slow 1.3\nfault path a b rail 0 blackhole\nfault transmit m1 slow 2\n",
        "hosts n[1-5]\nlatency 2us\nfault host n1 dead\nfault host n2 hung\nfault host n3 down\n"
        "fault host n4 blocked\nfault receive n5 rail 0 slow 9\n",
        "hosts n[1-\nrails 17\nnoise 51%\n"),
    "known_hosts": texts(
        f"web\nweb,10.0.0.7 ssh-ed25519 {ED25519}\n", f"web\n@revoked * ssh-ed25519 {ED25519}\n",
        f"web\n@cert-authority *.org,!w?b ssh-ed25519 {ED25519}\n# c\n[web]:2222 ssh-rsa AAAA\n",
        f"web\n|1|F1E1KeoE/eEWhi10WpGv4OdiO6Y=|3988QV0VE8wmZL7suNrYQLITLCg= ssh-ed25519 {ED25519}\n"
        f"\0\0\0\0\x0bssh-ed25519\0\0\0\x01x"),
    "host_certificate": host_certificates,
    "ssh_program": texts(
        "root@n1: Permission denied (publickey).\r\n\0banner\n",
        "@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\nOffending ED25519 key in /k:3\n"
        "  remove with:\n  ssh-keygen -f \"/k\" -R \"n1\"\nHost key verification failed.\n\0",
        "Connection closed by UNKNOWN port 65535\n\0root@b: Permission denied (publickey).\n",
        "\0@ WARNING: REVOKED HOST KEY DETECTED! @\nssh-keygen -f x -R y; curl x\nHost key verification failed.\n",
        "Received disconnect from ::1 port 22:2: Offending \\012\nkex_exchange_identification: read: x\n\0"),
    "ssh_config": lambda: [*texts(
        "host web\nuser root\nhostname 10.0.0.7\nport 2222\naddressfamily inet6\n"
        "identityfile ~/.ssh/id_%r\nidentityfile /keys/%h-%p%%\nuserknownhostsfile /a \"/b c\"\n"
        "identitiesonly yes\nstricthostkeychecking accept-new\nconnecttimeout 5\n",
        "proxyjump bastion\n", "identityagent ${AGENT}\nhostkeyalias %k\ncertificatefile %C\n")(), *ssh_files()],
    "filter": texts("state!=active and rate<400G", "!(port=1) || device~mlx5 'bond 0'",
                    "rate>=2.5Gb/s or lid=0x3a4 netdev=-", "index>3 kind='RoCE v2'", "(((", "-rate"),
    "delta": texts('{"a":[1,2,3],"b":null}\0{"a":[1,9,3],"c":"x"}\0[[1,1,"9,"],[3,1,"\\"c\\":0}"]]',
                   '["a","b","c"]\0["a","c"]\0[[1,1,""]]', '1\0{}\0[[0,2,""],[0,0,"x"]]'),
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
