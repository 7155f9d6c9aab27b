//! Formats what a run would do, as text and JSON.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Serialize;

use super::coverage;
use super::json::TOOL;
use crate::model::ping::{Coverage, PlannedRun};
use crate::query::Value;
use crate::render::escape;

/// The JSON of `rdmactl ping --plan`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PingPlanDocument<'a> {
    /// Kind and version: a key may be added under the same version; another change raises it.
    schema: &'static str,
    /// Name and version of the program.
    tool: &'static str,
    /// Plan of the run.
    #[serde(flatten)]
    plan: &'a PlannedRun,
}

impl<'a> PingPlanDocument<'a> {
    /// Returns the document for a plan.
    pub fn new(plan: &'a PlannedRun) -> Self {
        Self { schema: "rdmactl.ping-plan/2", tool: TOOL, plan }
    }
}

/// Formats a plan in a few lines.
pub fn render_plan(plan: &PlannedRun) -> String {
    let mut text = String::new();
    if let Some(file) = &plan.simulated {
        let _ = writeln!(text, "SIMULATED from {}: no message would be sent", escape(file));
    }
    let Coverage { rounds, tested, .. } = plan.coverage;
    if plan.simulated.is_none() {
        write_start(&mut text, plan);
    }
    if let Some(from) = &plan.from {
        let _ = writeln!(text, "from   {}; every pair: add --matrix", escape(from));
    }
    let (hosts, rails) = (counted(plan.hosts, "host"), counted(plan.rails, "rail"));
    let assumed = if plan.simulated.is_some() {
        ""
    } else {
        " assumed (--plan does not query the hosts); two rails double the pairs, the time and the traffic"
    };
    let _ = writeln!(text, "hosts  {hosts}, {rails}{assumed}");
    let _ = writeln!(text, "pairs  {tested} in {}", counted(rounds, "round"));
    let _ = writeln!(text, "       {}", coverage::describe(&plan.coverage));
    let measured = format!("up to {} round trips in {} ms", plan.round_trips, plan.slot_ms);
    let _ = writeln!(text, "test   {} of each pair; {measured}", plan.tests.join(","));
    let seconds = plan.time_ms / 1_000;
    let time = match seconds {
        0 => format!("{} ms", plan.time_ms),
        1..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        _ => format!("{} h", seconds / 3_600),
    };
    let _ = writeln!(text, "time   at least {time} on RDMA hardware, agent startup excluded");
    let all_data = plan.pair_bytes.saturating_mul(tested);
    let mut data = format!(
        "up to {} of RDMA messages between the hosts: {} for each pair",
        Value::Size(all_data),
        Value::Size(plan.pair_bytes)
    );
    if plan.stream_ms > 0 {
        let _ = write!(data, "; a bandwidth test fills the link for {} ms", plan.stream_ms);
    }
    let _ = writeln!(text, "data   {data}");
    let (messages, bytes) = (plan.relay_messages, Value::Size(plan.relay_bytes));
    let _ = writeln!(
        text,
        "SSH    {messages} messages between this host and the agents, {bytes} in all"
    );
    let _ = writeln!(text, "memory about {} on this host", Value::Size(plan.memory_bytes));
    text
}

fn write_start(text: &mut String, plan: &PlannedRun) {
    let _ = writeln!(text, "Nothing was sent. Without --plan, rdmactl does this:");
    let agents = counted(plan.agents, "host");
    let _ = writeln!(text, "start  an agent on {agents}, until the end of the run");
    let upload = match plan.upload_bytes {
        None => "nothing".to_owned(),
        Some(bytes) => format!(
            "rdmactl, {}, to each of these hosts that does not have it: {} at most; the copy deletes \
             itself",
            Value::Size(bytes),
            Value::Size(bytes.saturating_mul(plan.agents)),
        ),
    };
    let _ = writeln!(text, "upload {upload}");
}

fn counted(number: u64, noun: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{ending}")
}
