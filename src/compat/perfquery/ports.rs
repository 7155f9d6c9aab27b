//! The ports of a `perfquery` run: one, a list, or all ports of a node; each port, or their sum.
//!
//! Used by `perfquery`.

use super::options::{ALL_PORTS, Request};
use super::{Query, low};
use crate::compat::ToolError;
use crate::compat::diags::{Field, SWITCH};
use crate::mad::{NodeInfo, SwitchInfo};

pub(super) fn run(mut query: Query<'_>, request: &Request, port: i32) -> Result<(), ToolError> {
    let is_all = port == ALL_PORTS;
    let emulates = is_all && !query.class.has_all_ports();
    if emulates && !request.is_all_ports {
        return Err(query.session.fail("AllPortSelect not supported"));
    }
    if let Some(detail) = request.detail {
        return query.detail(detail, port);
    }
    if request.reads_samples {
        return query.samples(port);
    }
    let is_sum_of_all = emulates && !request.is_loop;
    let loops_all = emulates || request.is_loop && (request.is_all_ports || is_all);
    let ports = if loops_all {
        let ports = all_ports(&mut query)?;
        if is_sum_of_all {
            query.session.warn("main", "Emulating AllPortSelect by iterating through all ports");
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
        query.print(*port, &fields, &numbers);
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
    query.print(ALL_PORTS, fields, &numbers);
    Ok(())
}

/// Returns the port numbers of the node. Port 0 counts only on a switch with an enhanced port 0.
fn all_ports(query: &mut Query<'_>) -> Result<Vec<i32>, ToolError> {
    let failure = "smp query nodeinfo failed";
    let Some(node) = query.session.get::<NodeInfo>(&query.to, 0) else {
        return Err(query.session.fail(failure));
    };
    if node.ports == 0 {
        return Err(query.session.fail("smp query nodeinfo: num ports invalid"));
    }
    let mut first = 1;
    if node.node_type == SWITCH {
        let Some(switch) = query.session.get::<SwitchInfo>(&query.to, 0) else {
            return Err(query.session.fail(failure));
        };
        first -= i32::from(switch.enhanced_port_0);
    }
    Ok((first..=i32::from(node.ports)).collect())
}
