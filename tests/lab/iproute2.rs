//! Compares the output of `rdma` of iproute2 on a node with rdmactl, field by field.
//! docs/fields.tsv names the column of each field, which must have the same value.

use serde_json::Value;

use super::cluster::Cluster;
use super::table::{Field, fields};

/// Script that creates objects of all kinds: both ends of an rping, and on soft-RoCE a server of
/// `ibv_rc_pingpong`. The script stops rping after some packets, so that the packet numbers of
/// queue pairs are constant and not 0.
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

/// Arguments of `rdma`, each with the name of the tool in docs/fields.tsv.
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

/// Fields of queue pairs that iWARP does not have. The kernel sends undefined values: siw does
/// not set them, and on Linux 5.10 they come from the stack. In rdmactl they are absent.
const NOT_OF_IWARP: [&str; 4] = ["rqpn", "rq-psn", "sq-psn", "path-mig-state"];

/// Creates objects on each node, and compares iproute2 with rdmactl.
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

/// Returns a script that prints the output of each call below its name, and then the threads of
/// all processes.
fn questions() -> String {
    let calls = CALLS.map(|(call, _)| format!("'{call}'")).join(" ");
    format!(
        "for call in {calls} 'statistic qp show'; do echo \"## $call\"; rdma -j -d $call 2>/dev/null; \
         done; echo '## threads'; ls -d /proc/[0-9]*/task/*"
    )
}

/// Returns the lines below the name of a call.
fn answer<'said>(said: &'said str, call: &str) -> &'said str {
    let head = format!("## {call}\n");
    let (_, rest) = said.split_once(&head).unwrap_or_else(|| panic!("{call} was not asked"));
    rest.split_once("## ").map_or(rest, |(answer, _)| answer).trim()
}

/// Reports of rdmactl about one node.
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
                // iproute2 5.9 does not have these calls.
                ("resource show ctx" | "resource show srq", "") if is_old => continue,
                // No release prints JSON for this call.
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
        // No software driver binds queue pairs to counters, so the list is empty.
        assert_eq!(answer(said, "statistic qp show"), "[]", "{}", self.node);
    }

    /// Asserts that rdmactl lists as many objects as iproute2.
    fn assert_as_many(&self, call: &str, rows: &[Value]) {
        let listed = |kind: &str| {
            let all = self.resources["resources"].as_array().expect("resources");
            all.iter().filter(|resource| resource["kind"] == kind).count()
        };
        let (node, devices) = (self.node, self.devices["devices"].as_array().expect("devices"));
        if let Some(kind) = call.strip_prefix("resource show ") {
            assert_eq!(listed(kind), rows.len(), "{node}: {call}");
            // Both ends of the rping exist, so the list is not empty.
            assert!(rows.len() >= 2 || kind == "srq", "{node}: {call}: {rows:?}");
        } else if call == "resource show" {
            let known = |kind: &&String| !["ifindex", "ifname"].contains(&kind.as_str());
            for (kind, count) in
                rows[0].as_object().expect("counts").iter().filter(|it| known(&it.0))
            {
                // Kernels before 6.1 count contexts but do not list them.
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
            // Each row of iproute2 has the device, by which the test found the device of rdmactl.
            "ifname" => return,
            "ifindex" => {
                assert_eq!(*theirs, of_device(self.devices)["netlink"]["index"], "{place}");
                return;
            }
            // The port was also used to find the row.
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
                // siw reports no state before Linux 6.8. Only Debian 13 has a newer kernel.
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
            // Counters may increase at any time. rdmactl read them between two calls of iproute2.
            let later: Value = serde_json::from_str(answer(said, "later")).expect("JSON");
            let [theirs, ours, later] = [theirs, &ours, &later[0][field]].map(Value::as_u64);
            assert!(ours.is_some() && theirs <= ours && ours <= later, "{ours:?}: {place}");
            return;
        }
        let theirs = if field == "pid" { process(theirs, said) } else { theirs.clone() };
        assert!(is_same(tool, field, &theirs, &ours), "{theirs} and {ours}: {place}");
    }

    /// Returns the object of rdmactl with the kind and the number of a row.
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

/// Returns the JSON key of the number of an object.
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

/// Returns the value of a column of `resources` in JSON.
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

/// Parses pairs of words: `netns shared copy-on-fork on`.
fn words(text: &str) -> Value {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.chunks(2).map(|pair| (pair[0].to_owned(), Value::from(pair[1]))).collect()
}

/// Returns the process of a thread. iproute2 prints the thread that created an object, and
/// rdmactl prints its process.
fn process(thread: &Value, said: &str) -> Value {
    let end = format!("/task/{thread}");
    let path = answer(said, "threads").lines().find(|path| path.ends_with(&end));
    let process = path.and_then(|path| path.split('/').nth(2)).expect("a thread that lives");
    process.parse::<u32>().expect("a number").into()
}

/// True if two values are equal, also if iproute2 formats the value differently.
fn is_same(tool: &str, field: &str, theirs: &Value, ours: &Value) -> bool {
    let text = theirs.as_str().unwrap_or_default();
    match (tool, field) {
        // iproute2 prints `on` and `off` up to 5.x, and later `true` and `false`.
        (_, "adaptive-moderation" | "copy-on-fork" | "privileged-qkey" | "monitor") => match text {
            "" => theirs == ours,
            word => *ours == (word == "on"),
        },
        ("rdma link", "state" | "physical_state") => {
            let plain = |text: &str| text.replace('_', "").to_lowercase();
            plain(text) == plain(ours.as_str().unwrap_or_default())
        }
        // iproute2 prints UNKNOWN for bits that are newer than iproute2.
        ("rdma dev" | "rdma link", "caps") => {
            let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
            let (theirs, ours) = (list(theirs), list(ours));
            let same = |(theirs, ours): (&Value, &Value)| theirs == ours || theirs == "UNKNOWN";
            theirs.len() == ours.len() && theirs.iter().zip(&ours).all(same)
        }
        // iproute2 prints keys as hexadecimal numbers without `0x`.
        (_, "rkey" | "lkey" | "local_dma_lkey") => {
            u32::from_str_radix(text, 16).is_ok_and(|key| *ours == key)
        }
        ("rdma statistic qp mode", "mode") => text == "qp auto off" && ours == "off",
        _ => theirs == ours,
    }
}
