//! Findings, tree, graph and JSON of subnets, for `rdmactl fabric`.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Serialize;

use super::escape;
use super::json::TOOL;
use crate::model::{
    Fabric, FabricEnd, FabricPort, Finding, HostFailure, HostReport, Problems, Via,
};

/// The JSON of `rdmactl fabric`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FabricDocument<'reports> {
    /// Kind and version: a key may be added under the same version; another change raises it.
    schema: &'static str,
    /// Name and version of the program.
    tool: &'static str,
    /// Time at which the data was gathered, in nanoseconds since 1970 UTC by the operator's clock.
    taken_ns: Option<u64>,
    /// The hosts that swept their subnets, in the order asked.
    hosts: Vec<HostFabrics<'reports>>,
}

/// The subnets of one host.
#[derive(Debug, Serialize, JsonSchema)]
struct HostFabrics<'reports> {
    /// The name the operator asked by; the machine's own name for this host.
    host: &'reports str,
    /// Source of the data.
    via: Via,
    /// The host's own clock when it began to read, in nanoseconds since 1970 UTC.
    taken_ns: Option<u64>,
    /// The subnets.
    fabrics: Vec<JudgedFabric<'reports>>,
    /// Values that exist but could not be read.
    problems: &'reports Problems,
    /// Reason for a host without data.
    failure: &'reports Option<HostFailure>,
}

/// A subnet and its findings.
#[derive(Debug, Serialize, JsonSchema)]
struct JudgedFabric<'reports> {
    /// The subnet.
    #[serde(flatten)]
    fabric: &'reports Fabric,
    /// Findings of the subnet, the most severe first.
    findings: Vec<FindingEntry>,
}

/// A finding of a subnet.
#[derive(Debug, Serialize, JsonSchema)]
struct FindingEntry {
    /// `fail`, `warn` or `unknown`.
    severity: &'static str,
    /// Code for scripts: `fabric.width`.
    code: &'static str,
    /// Node, port or LID.
    subject: String,
    /// Observation, in one sentence.
    what: String,
    /// Command or setting that repairs it.
    fix: Option<String>,
}

impl<'reports> FabricDocument<'reports> {
    /// Returns the document for reports; `judge` returns the findings of a subnet.
    pub fn new(
        taken_ns: Option<u64>,
        reports: &'reports [HostReport],
        judge: &dyn Fn(&Fabric, &str) -> Vec<Finding>,
    ) -> Self {
        let entry = |finding: Finding| FindingEntry {
            severity: finding.severity.word(),
            code: finding.code,
            subject: finding.subject.to_string(),
            what: finding.what,
            fix: finding.fix,
        };
        let host = |report: &'reports HostReport| HostFabrics {
            host: &report.host,
            via: report.via,
            taken_ns: report.taken_ns,
            fabrics: report
                .fabrics
                .iter()
                .flatten()
                .map(|fabric| {
                    let findings = judge(fabric, &report.host).into_iter().map(entry).collect();
                    JudgedFabric { fabric, findings }
                })
                .collect(),
            problems: &report.problems,
            failure: &report.failure,
        };
        let hosts = reports.iter().map(host).collect();
        Self { schema: "rdmactl.fabric/1", tool: TOOL, taken_ns, hosts }
    }
}

/// Formats each switch with the ends of its links, the leaf switches first.
pub fn fabric_tree(fabric: &Fabric) -> String {
    let mut text = String::new();
    let is_host =
        |end: &FabricEnd| fabric.nodes.get(end.node).is_some_and(|node| !node.is_switch());
    let has_host = |node: usize| {
        fabric.nodes[node].ports.iter().filter_map(|port| port.peer).any(|peer| is_host(&peer))
    };
    let mut switches: Vec<usize> =
        (0..fabric.nodes.len()).filter(|node| fabric.nodes[*node].is_switch()).collect();
    switches.sort_by_key(|node| (!has_host(*node), fabric.nodes[*node].title()));
    for node in switches {
        let switch = &fabric.nodes[node];
        let lid = switch.lid().map_or_else(String::new, |lid| format!(" LID {lid}"));
        let _ = writeln!(text, "{}{lid}", escape(&switch.title()));
        for port in &switch.ports {
            let Some(peer) = port.peer else { continue };
            let Some(far) = fabric.nodes.get(peer.node) else { continue };
            let arrow = if far.is_switch() { "<->" } else { "---" };
            let (number, name) = (port.number, far.title());
            let _ = write!(text, "  [{number}] {arrow} {} [{}]", escape(&name), peer.port);
            if port.speed_active != 0 {
                let _ = write!(text, "  {}", port.link());
            }
            if port.state != FabricPort::ACTIVE {
                let _ = write!(text, "  {} !", port.state_word());
            }
            text.push('\n');
        }
    }
    text
}

/// Formats a subnet as a graph in the language of Graphviz.
pub fn fabric_dot(fabric: &Fabric) -> String {
    let mut text = String::from("graph fabric {\n  node [shape=ellipse];\n");
    for (at, node) in fabric.nodes.iter().enumerate() {
        let shape = if node.is_switch() { " shape=box" } else { "" };
        // A node may report any text.
        let label = escape(&node.title()).replace('\\', "\\\\").replace('"', "\\\"");
        let _ = writeln!(text, "  n{at} [label=\"{label}\"{shape}];");
    }
    for (near, far) in fabric.links() {
        let link = fabric.port(near).filter(|port| port.speed_active != 0);
        let label = link.map(FabricPort::link).unwrap_or_default();
        let _ = writeln!(
            text,
            "  n{} -- n{} [taillabel=\"{}\" headlabel=\"{}\" label=\"{label}\"];",
            near.node, far.node, near.port, far.port
        );
    }
    text.push_str("}\n");
    text
}
