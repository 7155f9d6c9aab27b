//! What `rdma` of iproute2 says on a node, held against ours field by field: each field goes where
//! docs/fields.tsv says that it goes, and must have the same value there.

use serde_json::Value;

use super::cluster::Cluster;
use super::table::{Field, fields};

/// Both ends of an rping, on `rxe` also a server of `ibv_rc_pingpong`: all kinds of objects. Who plays
/// is stopped when it has played, so that numbers of packets of queue pairs stand still and are not 0.
const PLAY: &str = r#"
address=$(ip -4 -o addr show dev eth1 | sed 's/.*inet //; s,/.*,,')
play() { setsid timeout 1200 "$@" </dev/null >/dev/null 2>&1 & }
play rping -s -a $address -C 1000000
until rdma resource show cm_id | grep -q LISTEN; do sleep 0.1; done
play rping -c -a $address -C 1000000
until [ "$(rdma resource show cm_id | grep -c CONNECT)" = 2 ]; do sleep 0.1; done
if [ -e /sys/class/infiniband/rxe0 ]; then
    play ibv_rc_pingpong -d rxe0 -g 1
    until rdma resource show qp | grep -q pingpong; do sleep 0.1; done
    until [ "$(cat /sys/class/infiniband/rxe0/ports/1/hw_counters/rdma_sends)" -gt 99 ]; do sleep 0.1; done
fi
pkill -STOP rping
numbers() {
    # siw has none of these fields, and Linux 5.10 sends what was on its stack.
    rdma -j resource show qp | sed -E 's/"(rqpn|rq-psn|sq-psn)":[0-9]+|"path-mig-state":"[^"]*"//g'
    rdma -j statistic show
}
until [ "$(numbers)" = "$(numbers)" ]; do sleep 0.1; done
"#;

/// The calls, each with its name in docs/fields.tsv.
const CALLS: [(&str, &str); 13] = [
    ("dev show", "rdma dev"),
    ("link show", "rdma link"),
    ("system show", "rdma system"),
    ("resource show", "rdma resource show"),
    ("resource show qp", "rdma resource show qp"),
    ("resource show cm_id", "rdma resource show cm_id"),
    ("resource show mr", "rdma resource show mr"),
    ("resource show cq", "rdma resource show cq"),
    ("resource show pd", "rdma resource show pd"),
    ("resource show ctx", "rdma resource show ctx"),
    ("resource show srq", "rdma resource show srq"),
    ("statistic show", "rdma statistic"),
    ("statistic qp mode", "rdma statistic qp mode"),
];

/// Fields of queue pairs that iWARP does not have: the kernel sends what siw left in them, on 5.10
/// what was on its stack. Ours are absent.
const NOT_OF_IWARP: [&str; 4] = ["rqpn", "rq-psn", "sq-psn", "path-mig-state"];

/// Plays on each node, and compares.
pub(crate) fn assert_matched(lab: &Cluster, set: &str, nodes: &[&str]) {
    for node in nodes {
        lab.on(node, PLAY);
    }
    let said: Vec<String> = nodes.iter().map(|node| lab.on(node, &questions())).collect();
    let ask = |arguments: &[&str]| {
        let answer = lab.rdmactl(&[arguments, &["-H", set]].concat());
        assert_eq!(answer.code, 0, "{arguments:?}: {}", answer.stderr);
        answer.json["hosts"].as_array().expect("hosts").clone()
    };
    let ours = [
        ask(&["devices", "-o", "index"]),
        ask(&["ports", "-o", "netdev_index"]),
        ask(&["resources"]),
        ask(&["counters"]),
    ];
    let later = nodes.iter().map(|node| lab.on(node, "echo '## later'; rdma -j statistic show"));
    let said: Vec<String> =
        said.into_iter().zip(later).map(|(said, later)| said + &later).collect();
    for node in nodes {
        lab.on(node, "pkill -CONT rping; pkill rping; pkill ibv_rc_pingpong; true");
    }
    let claims = fields();
    for (at, node) in nodes.iter().enumerate() {
        let [devices, ports, resources, counters] = ours.each_ref().map(|hosts| &hosts[at]);
        let ours = Ours { node, claims: &claims, devices, ports, resources, counters };
        ours.assert_says(&said[at]);
    }
}

/// Asks all, each answer below its call; then which threads there are.
fn questions() -> String {
    let calls = CALLS.map(|(call, _)| format!("'{call}'")).join(" ");
    format!(
        "for call in {calls} 'statistic qp show'; do echo \"## $call\"; rdma -j -d $call 2>/dev/null; \
         done; echo '## threads'; ls -d /proc/[0-9]*/task/*"
    )
}

/// The lines below a call.
fn answer<'said>(said: &'said str, call: &str) -> &'said str {
    let head = format!("## {call}\n");
    let (_, rest) = said.split_once(&head).unwrap_or_else(|| panic!("{call} was not asked"));
    rest.split_once("## ").map_or(rest, |(answer, _)| answer).trim()
}

/// What rdmactl said of one node.
struct Ours<'lab> {
    node: &'lab str,
    claims: &'lab [Field],
    devices: &'lab Value,
    ports: &'lab Value,
    resources: &'lab Value,
    counters: &'lab Value,
}

impl Ours<'_> {
    fn assert_says(&self, said: &str) {
        let is_old = self.devices["kernel"].as_str().expect("a kernel").starts_with("5.");
        for (call, tool) in CALLS {
            let text = answer(said, call);
            let rows: Vec<Value> = match (call, text) {
                // iproute2 5.9 has no such calls.
                ("resource show ctx" | "resource show srq", "") if is_old => continue,
                // It is no JSON in any release.
                ("system show", text) => vec![words(text)],
                (_, text) => serde_json::from_str(text)
                    .unwrap_or_else(|error| panic!("{}: {call}: {error}: {text}", self.node)),
            };
            self.assert_as_many(call, &rows);
            for row in &rows {
                let row = row.as_object().expect("an object");
                for (field, theirs) in row {
                    let place = format!("{}: rdma {call}: {field} of {row:?}", self.node);
                    self.assert_field(tool, field, theirs, row, said, &place);
                }
            }
        }
        // No soft driver binds queue pairs to counters: there is nothing that could differ.
        assert_eq!(answer(said, "statistic qp show"), "[]", "{}", self.node);
    }

    /// What is listed is all, and is counted.
    fn assert_as_many(&self, call: &str, rows: &[Value]) {
        let listed = |kind: &str| {
            let all = self.resources["resources"].as_array().expect("resources");
            all.iter().filter(|resource| resource["kind"] == kind).count()
        };
        let (node, devices) = (self.node, self.devices["devices"].as_array().expect("devices"));
        if let Some(kind) = call.strip_prefix("resource show ") {
            assert_eq!(listed(kind), rows.len(), "{node}: {call}");
            // Both players live: the answer is of something.
            assert!(rows.len() >= 2 || kind == "srq", "{node}: {call}: {rows:?}");
        } else if call == "resource show" {
            let known = |kind: &&String| !["ifindex", "ifname"].contains(&kind.as_str());
            for (kind, count) in
                rows[0].as_object().expect("counts").iter().filter(|it| known(&it.0))
            {
                // Kernels before 6.1 count contexts, and cannot list them.
                let is_listed = kind != "ctx" || listed("ctx") > 0;
                assert!(!is_listed || *count == listed(kind), "{node}: {kind}: {count}");
            }
        } else if call == "statistic show" {
            let counted: usize =
                rows.iter().map(|row| row.as_object().map_or(0, |it| it.len() - 2)).sum();
            let counters = &self.counters["devices"][0]["ports"][0]["counters"];
            let hardware = |counter: &&Value| counter["group"] == "hardware";
            let ours = counters.as_array().expect("counters").iter().filter(hardware).count();
            assert_eq!(ours, counted, "{node}: {call}");
        } else if call != "system show" {
            assert_eq!(rows.len(), devices.len(), "{node}: {call}");
        }
    }

    fn assert_field(
        &self,
        tool: &str,
        field: &str,
        theirs: &Value,
        row: &serde_json::Map<String, Value>,
        said: &str,
        place: &str,
    ) {
        let of_device = |report: &Value| {
            let devices = report["devices"].as_array().expect("devices");
            devices
                .iter()
                .find(|device| device["name"] == row["ifname"])
                .expect("it is known")
                .clone()
        };
        let of_port = |report: &Value| {
            let ports = of_device(report)["ports"].as_array().expect("ports").clone();
            ports.into_iter().find(|port| port["number"] == row["port"]).expect("it is known")
        };
        let is_resource = tool.starts_with("rdma resource show ");
        let name = match field {
            // In each answer of iproute2; by it we have found our device.
            "ifname" => return,
            "ifindex" => {
                assert_eq!(*theirs, of_device(self.devices)["netlink"]["index"], "{place}");
                return;
            }
            // Likewise the port.
            "port" if !is_resource => {
                of_port(self.ports);
                return;
            }
            name => name,
        };
        let claim = |claim: &&Field| claim.tool == tool && claim.name == name;
        let claim = self.claims.iter().find(claim);
        let column = &claim.unwrap_or_else(|| panic!("not in docs/fields.tsv: {place}")).column;
        let (whose, path) = column.split_once('.').expect("a path");
        let ours = match whose {
            "rdma_system" => self.devices["rdma_system"][path].clone(),
            "device" if path == "netlink.objects" => {
                let objects =
                    at(&of_device(self.devices), path).as_array().expect("objects").clone();
                let of_kind = objects.iter().find(|object| object["kind"] == field);
                of_kind.map_or(Value::Null, |object| object["count"].clone())
            }
            "device" => at(&of_device(self.devices), path).clone(),
            "port" => at(&of_port(self.ports), path).clone(),
            "counter" => {
                let counters =
                    of_port(self.counters)["counters"].as_array().expect("counters").clone();
                let same =
                    |counter: &&Value| counter["group"] == "hardware" && counter["name"] == field;
                counters.iter().find(same).map_or(Value::Null, |counter| counter["value"].clone())
            }
            "resource" => {
                let resource = self.resource(tool, row, place);
                let is_iwarp = of_device(self.devices)["node_type"] == "rnic";
                let is_unset = is_iwarp && tool.ends_with(" qp");
                // siw tells none before 6.8; of our releases only Debian 13 has a newer kernel.
                let kernel = self.devices["kernel"].as_str().expect("a kernel");
                let is_no_state = field == "state" && !kernel.starts_with("6.12");
                let ours = of_resource(resource, path);
                if is_unset && (NOT_OF_IWARP.contains(&field) || is_no_state) {
                    assert_eq!(ours, Value::Null, "{place}");
                    return;
                }
                ours
            }
            _ => panic!("{column}: {place}"),
        };
        if whose == "counter" {
            // A stray packet may come at any time: ours was read between two answers of theirs.
            let later: Value = serde_json::from_str(answer(said, "later")).expect("JSON");
            let [theirs, ours, later] = [theirs, &ours, &later[0][field]].map(Value::as_u64);
            assert!(ours.is_some() && theirs <= ours && ours <= later, "{ours:?}: {place}");
            return;
        }
        let theirs = if field == "pid" { process(theirs, said) } else { theirs.clone() };
        assert!(is_same(tool, field, &theirs, &ours), "{theirs} and {ours}: {place}");
    }

    /// Our object of the kind and number.
    fn resource(&self, tool: &str, row: &serde_json::Map<String, Value>, place: &str) -> &Value {
        let kind = tool.rsplit(' ').next().expect("a kind");
        let theirs = number_key(kind).replace('_', "-");
        let same = |ours: &&Value| {
            ours["kind"] == kind
                && ours["device"] == row["ifname"]
                && ours[number_key(kind)] == row[&theirs]
        };
        let all = self.resources["resources"].as_array().expect("resources");
        all.iter().find(same).unwrap_or_else(|| panic!("not in ours: {place}"))
    }
}

/// The key of an object's own number.
fn number_key(kind: &str) -> &'static str {
    match kind {
        "qp" => "lqpn",
        "cm_id" => "cm_idn",
        "cq" => "cqn",
        "mr" => "mrn",
        "pd" => "pdn",
        "ctx" => "ctxn",
        "srq" => "srqn",
        _ => panic!("{kind}"),
    }
}

/// The value of a column of `resources` in JSON.
fn of_resource(resource: &Value, path: &str) -> Value {
    let owner = &resource["owner"];
    match path {
        "number" => resource[number_key(resource["kind"].as_str().expect("a kind"))].clone(),
        "owner.pid" => owner["process"]["pid"].clone(),
        "owner.name" if owner["process"].is_object() => owner["process"]["name"].clone(),
        "owner.name" => owner["kernel"]["name"].clone(),
        path => at(resource, path).clone(),
    }
}

fn at<'value>(value: &'value Value, path: &str) -> &'value Value {
    path.split('.').fold(value, |value, key| &value[key])
}

/// `netns shared copy-on-fork on`
fn words(text: &str) -> Value {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.chunks(2).map(|pair| (pair[0].to_owned(), Value::from(pair[1]))).collect()
}

/// iproute2 prints who made an object, which may be a thread; ours is its process.
fn process(thread: &Value, said: &str) -> Value {
    let end = format!("/task/{thread}");
    let path = answer(said, "threads").lines().find(|path| path.ends_with(&end));
    let process = path.and_then(|path| path.split('/').nth(2)).expect("a thread that lives");
    process.parse::<u32>().expect("a number").into()
}

/// Whether both mean the same, where iproute2 spells it differently or by release.
fn is_same(tool: &str, field: &str, theirs: &Value, ours: &Value) -> bool {
    let text = theirs.as_str().unwrap_or_default();
    match (tool, field) {
        // Words until 5.x, true and false since.
        (_, "adaptive-moderation" | "copy-on-fork" | "privileged-qkey" | "monitor") => match text {
            "" => theirs == ours,
            word => *ours == (word == "on"),
        },
        ("rdma link", "state" | "physical_state") => {
            let plain = |text: &str| text.replace('_', "").to_lowercase();
            plain(text) == plain(ours.as_str().unwrap_or_default())
        }
        // Bits newer than iproute2 are UNKNOWN there and have their names here.
        ("rdma dev" | "rdma link", "caps") => {
            let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
            let (theirs, ours) = (list(theirs), list(ours));
            let same = |(theirs, ours): (&Value, &Value)| theirs == ours || theirs == "UNKNOWN";
            theirs.len() == ours.len() && theirs.iter().zip(&ours).all(same)
        }
        // It has no 0x.
        (_, "rkey" | "lkey" | "local_dma_lkey") => {
            u32::from_str_radix(text, 16).is_ok_and(|key| *ours == key)
        }
        ("rdma statistic qp mode", "mode") => text == "qp auto off" && ours == "off",
        _ => theirs == ours,
    }
}
