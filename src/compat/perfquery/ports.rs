//! The ports of a `perfquery` run: one, a list, or all ports of a node; each port, or their sum.
//!
//! Used by `perfquery`.

use super::details::SAMPLES_CONTROL;
use super::options::{ALL_PORTS, Request};
use super::{Query, low};
use crate::compat::diags::{Field, ToolError, dump, tables};
use crate::mad::{ClassPortInfo, MadAttribute as _, NodeInfo, SwitchInfo};

/// Node type of a switch.
const SWITCH: u8 = 2;

/// Prints the counters that the command line requests.
pub(super) fn run(mut query: Query<'_>, request: &Request, port: i32) -> Result<(), ToolError> {
    let is_all = port == ALL_PORTS;
    let mut emulates = false;
    if !query.has(ClassPortInfo::ALL_PORTS) && is_all {
        if !request.is_all_ports {
            return Err(query.session.fail("AllPortSelect not supported"));
        }
        emulates = true;
    }
    if let Some(detail) = request.detail {
        return query.detail(detail, port);
    }
    if request.reads_samples {
        return samples(&mut query, port);
    }
    let is_sum_of_all = emulates && !request.is_loop;
    let loops_all = emulates || request.is_loop && (request.is_all_ports || is_all);
    let ports = if loops_all {
        let ports = all_ports(&mut query)?;
        if is_sum_of_all {
            let text = "Emulating AllPortSelect by iterating through all ports";
            query.session.warn("main", text);
        }
        ports
    } else if request.ports.len() > 1 {
        request.ports.clone()
    } else {
        vec![port]
    };
    let is_sum =
        is_sum_of_all || !loops_all && ports.len() > 1 && request.is_all_ports && !request.is_loop;
    let fields = query.fields();
    if is_sum {
        return sum(&mut query, &ports, &fields);
    }
    for port in &ports {
        let bytes = query.read(*port)?;
        let numbers: Vec<u64> = fields.iter().map(|field| query.number(field, &bytes)).collect();
        print(&mut query, *port, &fields, &numbers);
    }
    Ok(())
}

/// Prints the sum of the counters of ports. A sum is limited to the maximum of its field.
fn sum(query: &mut Query<'_>, ports: &[i32], fields: &[Field]) -> Result<(), ToolError> {
    let mut numbers = vec![0_u64; fields.len()];
    for port in ports {
        let bytes = query.read(*port)?;
        for (sum, field) in numbers.iter_mut().zip(fields) {
            let number = query.number(field, &bytes);
            *sum = match field.name {
                "PortSelect" => u64::from(low(ALL_PORTS)),
                "CounterSelect" | "CounterSelect2" => number,
                _ => sum.saturating_add(number).min(u64::MAX >> (64 - field.bits)),
            };
        }
    }
    print(query, ALL_PORTS, fields, &numbers);
    Ok(())
}

fn print(query: &mut Query<'_>, port: i32, fields: &[Field], numbers: &[u64]) {
    let number = |wanted: &Field| {
        let mut pairs = fields.iter().zip(numbers);
        pairs.find(|(field, _)| field.bit == wanted.bit).map_or(0, |(_, number)| *number)
    };
    query.print(port, fields, number);
}

/// Returns the port numbers of the node. Port 0 counts only on a switch with an enhanced port 0.
fn all_ports(query: &mut Query<'_>) -> Result<Vec<i32>, ToolError> {
    let node = query.session.smp(&query.to, NodeInfo::ID, 0);
    let Some(node) = node.and_then(|bytes| NodeInfo::decode(&bytes).ok()) else {
        return Err(query.session.fail("smp query nodeinfo failed"));
    };
    if node.ports == 0 {
        return Err(query.session.fail("smp query nodeinfo: num ports invalid"));
    }
    let mut first = 1;
    if node.node_type == SWITCH {
        let switch = query.session.smp(&query.to, SwitchInfo::ID, 0);
        let Some(switch) = switch.and_then(|bytes| SwitchInfo::decode(&bytes).ok()) else {
            return Err(query.session.fail("smp query nodeinfo failed"));
        };
        if switch.enhanced_port_0 == 1 {
            first = 0;
        }
    }
    Ok((first..=i32::from(node.ports)).collect())
}

fn samples(query: &mut Query<'_>, port: i32) -> Result<(), ToolError> {
    let Some(bytes) = query.session.performance(&query.to, SAMPLES_CONTROL, low(port)) else {
        return Err(query.session.fail("sampctlquery"));
    };
    let text = format!(
        "# PortSamplesControl: {} port {port}\n{}",
        query.to,
        dump(&bytes, tables::SAMPLES_CONTROL)
    );
    query.session.out.print(text);
    Ok(())
}
