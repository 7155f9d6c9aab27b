//! Judges whether the `RoCE` traffic of a port travels in a lossless traffic class.
//!
//! The type of service (`ToS`) of a connection contains the DSCP. The interface maps the DSCP to
//! a priority. The traffic is lossless if flow control is on for this priority. Unreadable data
//! never leads to the verdict "lossless". Lossy `RoCE` with ECN is a valid design, so "lossy" is
//! no error.
//!
//! Creates no finding: `check::ports` makes findings of lossy traffic. `query` lists the verdicts
//! of all ports.

use crate::analyse::verdict::plain_or;
use crate::model::{
    Dcb, DcbApp, DcbSelector, Device, Ethernet, GidKind, HostReport, Netdev, Pause, Pfc, Port,
    Protocol, key, words,
};

/// Maximum number of members of a bond. All ports of a host may use one bond, so that the time
/// grows with the product of both numbers.
const MAX_MEMBERS: usize = 32;

/// Maximum number of DCB rules of an interface. A rule for each DSCP and each priority is 512.
const MAX_RULES: usize = 1024;

words! {
    /// Verdict on the traffic of a port.
    #[derive(PartialOrd, Ord)]
    pub enum Losslessness {
        /// The link is not Ethernet, or its protocol handles loss.
        NotApplicable = "not applicable",
        /// Flow control covers the traffic.
        Lossless = "lossless",
        /// A necessary fact is unknown.
        Unknown = "unknown",
        /// No flow control covers the traffic.
        Lossy = "lossy",
    }
    /// Returns the word in the LOSSLESS column.
    pub fn word(self);
}

/// Verdict on one port with its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LosslessVerdict {
    /// Verdict.
    pub verdict: Losslessness,
    /// Reason in one sentence.
    pub why: String,
    /// Command that makes the traffic lossless; `None` unless the verdict is lossy.
    pub fix: Option<String>,
    /// Default type of service of the traffic; `None` if the verdict does not depend on it.
    pub tos: Option<u32>,
    /// DSCP in the type of service.
    pub dscp: Option<u32>,
    /// Priority that the interface assigns to the DSCP.
    pub priority: Option<u8>,
    /// Traffic class of the priority.
    pub class: Option<u8>,
}

impl LosslessVerdict {
    fn new(verdict: Losslessness, why: impl Into<String>) -> Self {
        let why = why.into();
        Self { verdict, why, fix: None, tos: None, dscp: None, priority: None, class: None }
    }

    fn unknown(why: String) -> Self {
        Self::new(Losslessness::Unknown, why)
    }

    fn lossy(why: String, fix: String) -> Self {
        Self { fix: Some(fix), ..Self::new(Losslessness::Lossy, why) }
    }
}

/// Judges a port from the report of its host.
pub fn judge(report: &HostReport, device: &Device, port: &Port) -> LosslessVerdict {
    judge_port(report, device, port).unwrap_or_else(LosslessVerdict::unknown)
}

/// Returns as error the reason why the verdict is unknown.
fn judge_port(
    report: &HostReport,
    device: &Device,
    port: &Port,
) -> Result<LosslessVerdict, String> {
    let not_applicable = |why: &str| Ok(LosslessVerdict::new(Losslessness::NotApplicable, why));
    match port.protocol {
        Some(Protocol::Roce) => {}
        Some(Protocol::Ib | Protocol::Opa) => {
            return not_applicable("the link has credit-based flow control");
        }
        Some(Protocol::Iwarp) => {
            return not_applicable("iWARP runs over TCP, which retransmits lost packets");
        }
        Some(Protocol::Efa | Protocol::Usnic) => {
            return not_applicable("the protocol of the device retransmits lost packets");
        }
        None => return Err("the protocol of the port is not known".into()),
    }
    let traffic = Traffic::of(report, device, port)?;
    let links = links(report, port)?;
    let judged = links.into_iter().map(|link| judge_link(report, link, &traffic));
    // The verdict of a bond is the worst verdict of its members; of equal ones, the first.
    judged
        .reduce(|worst, next| if next.verdict > worst.verdict { next } else { worst })
        .ok_or_else(|| "the bond has no member".into())
}

/// Traffic of connections that set no type of service.
struct Traffic {
    tos: u32,
    /// Command that sets the type of service `TOS`.
    set_tos: String,
}

impl Traffic {
    fn of(report: &HostReport, device: &Device, port: &Port) -> Result<Self, String> {
        for field in ["default_roce_tos", "default_roce_mode"] {
            if report.problems.affects(&key::port(&device.name, port.number, field)) {
                return Err(format!("{field} could not be read"));
            }
        }
        if port.default_roce_mode == Some(GidKind::RoceV1) {
            let why = "rdma_cm uses RoCE v1 on this port, and RoCE v1 packets have no DSCP";
            return Err(why.into());
        }
        // Without configuration, the configfs directory does not exist and the kernel uses 0.
        let tos = port.default_roce_tos.unwrap_or(0);
        let folder = format!("/sys/kernel/config/rdma_cm/{}", plain_or(&device.name, "DEVICE"));
        let file = format!("{folder}/ports/{}/default_roce_tos", port.number);
        Ok(Self { tos, set_tos: format!("mkdir -p {folder} && echo TOS > {file}") })
    }

    fn dscp(&self) -> u32 {
        self.tos >> 2 & 0x3f
    }
}

/// Returns the interface of a port, or the members if the interface is a bond.
fn links<'report>(
    report: &'report HostReport,
    port: &Port,
) -> Result<Vec<&'report Netdev>, String> {
    let Some(name) = &port.netdev else {
        return Err("the network interface of the port is not known".into());
    };
    let find = |name: &String| report.netdev(name).ok_or_else(|| format!("{name} was not read"));
    let netdev = find(name)?;
    if report.problems.affects(&key::netdev(name, "bond")) {
        return Err(format!("the bond members of {name} could not be read"));
    }
    match &netdev.bond {
        Some(bond) if bond.members.len() > MAX_MEMBERS => {
            Err(format!("the bond {name} has more than {MAX_MEMBERS} members"))
        }
        Some(bond) => bond.members.iter().map(find).collect(),
        None => Ok(vec![netdev]),
    }
}

/// Judges by PFC if PFC is on for any priority, else by pause.
fn judge_link(report: &HostReport, link: &Netdev, traffic: &Traffic) -> LosslessVerdict {
    let name = &link.name;
    let of_link = |part: &str| key::netdev(name, &format!("ethernet/{part}"));
    let is_unreadable = |part: &str| report.problems.affects(&of_link(part));
    if is_unreadable("dcb") || is_unreadable("pause") {
        return LosslessVerdict::unknown(format!("flow control of {name} could not be read"));
    }
    let Some(ethernet) = &link.ethernet else {
        return LosslessVerdict::unknown(format!("flow control of {name} was not read"));
    };
    let pfc = ethernet.dcb.as_ref().and_then(|dcb| Some((dcb, dcb.pfc.as_ref()?)));
    match pfc.filter(|(_, pfc)| !pfc.enabled.is_empty()) {
        Some((dcb, pfc)) => judge_priority(name, dcb, pfc, traffic),
        None => judge_pause(name, ethernet, traffic),
    }
}

fn judge_priority(name: &str, dcb: &Dcb, pfc: &Pfc, traffic: &Traffic) -> LosslessVerdict {
    if dcb.apps.len() > MAX_RULES {
        return LosslessVerdict::unknown(format!("{name} has more than {MAX_RULES} DCB rules"));
    }
    let (tos, dscp) = (traffic.tos, traffic.dscp());
    let of_dscp = |one| LosslessVerdict { tos: Some(tos), dscp: Some(dscp), ..one };
    let priority = match priority_of(dcb, dscp) {
        Ok(priority) => priority,
        Err(why) => return of_dscp(LosslessVerdict::unknown(format!("{name}: {why}"))),
    };
    let mapping = format!("ToS {tos} (DSCP {dscp}) has priority {priority} on {name}");
    let verdict = if pfc.enabled.contains(&priority) {
        let why = format!("{mapping}, and PFC is on for this priority");
        LosslessVerdict::new(Losslessness::Lossless, why)
    } else {
        let on: Vec<String> = pfc.enabled.iter().map(u8::to_string).collect();
        let why = format!("{mapping}, but PFC is on for priority {} only", on.join(" and "));
        LosslessVerdict::lossy(why, move_traffic(name, dcb, pfc, traffic))
    };
    let classes = dcb.ets.as_ref().map(|ets| &ets.priority_class);
    let class = classes.and_then(|classes| classes.get(usize::from(priority)).copied());
    LosslessVerdict { priority: Some(priority), class, ..of_dscp(verdict) }
}

/// Returns a command that moves the traffic to a priority with flow control.
fn move_traffic(name: &str, dcb: &Dcb, pfc: &Pfc, traffic: &Traffic) -> String {
    let name = plain_or(name, "NETDEV");
    // A DSCP has six bits, so a rule for a larger value matches no packet.
    let lossless_rule = dcb.apps.iter().find(|app| {
        let is_dscp = app.selector == DcbSelector::Dscp && app.protocol < 64;
        is_dscp && pfc.enabled.contains(&app.priority)
    });
    match (lossless_rule, pfc.enabled.first()) {
        (Some(app), _) => traffic.set_tos.replace("TOS", &(app.protocol << 2).to_string()),
        (None, Some(priority)) => {
            format!("dcb app add dev {name} dscp-prio {}:{priority}", traffic.dscp())
        }
        (None, None) => format!("dcb pfc set dev {name} prio-pfc 3:on"),
    }
}

/// Returns the priority of untagged traffic with this DSCP, or the reason why it is unknown.
fn priority_of(dcb: &Dcb, dscp: u32) -> Result<u8, String> {
    let by = |selector: DcbSelector, protocol: u32| {
        let matches =
            |app: &&DcbApp| app.selector == selector && u32::from(app.protocol) == protocol;
        // If several rules match, the rule with the highest priority applies (net/dcb/dcbnl.c).
        dcb.apps.iter().filter(matches).map(|app| app.priority).max()
    };
    let default = by(DcbSelector::Ethertype, 0).unwrap_or(0);
    let has_dscp_rule = dcb.apps.iter().any(|app| app.selector == DcbSelector::Dscp);
    let trusts_dscp = match &dcb.trust {
        Some(trust) => trust.iter().any(|word| word == DcbSelector::Dscp.word()),
        // Linux before 6.3 does not report trust. Drivers trust the DSCP once a DSCP rule exists.
        None => has_dscp_rule,
    };
    let priority = if trusts_dscp { by(DcbSelector::Dscp, dscp) } else { None };
    match priority.unwrap_or(default) {
        priority @ 0..=7 => Ok(priority),
        other => Err(format!("priority {other} does not exist")),
    }
}

/// Judges global pause (IEEE 802.3x), which stops the traffic of all priorities.
fn judge_pause(name: &str, ethernet: &Ethernet, traffic: &Traffic) -> LosslessVerdict {
    // Type of service 104 is DSCP 26: the DSCP is in the upper six bits.
    let tos = traffic.set_tos.replace("TOS", "104");
    let netdev = plain_or(name, "NETDEV");
    let fix = format!(
        "set PFC on the switch port, and in the same way on the host: dcb pfc set dev {netdev} prio-pfc \
         3:on && dcb app add dev {netdev} dscp-prio 26:3 && {tos}"
    );
    let lossy = |why: String| LosslessVerdict::lossy(format!("{name}: {why}"), fix);
    let unknown = |why: String| LosslessVerdict::unknown(format!("{name}: {why}"));
    let has_pfc = ethernet.dcb.as_ref().is_some_and(|dcb| dcb.pfc.is_some());
    let pfc = if has_pfc { "PFC is off" } else { "the driver does not report PFC" };
    let Some(Pause { autoneg, rx, tx, .. }) = ethernet.pause else {
        return if has_pfc {
            lossy("PFC and pause are off".into())
        } else {
            unknown("the driver reports neither PFC nor pause".into())
        };
    };
    match (rx, tx) {
        (Some(true), Some(true)) if autoneg == Some(true) => {
            unknown(format!("{pfc}, and the driver does not report the negotiated pause"))
        }
        (Some(true), Some(true)) => LosslessVerdict::new(
            Losslessness::Lossless,
            format!("{name}: pause is on in both directions, for all priorities"),
        ),
        (Some(false), Some(false)) => lossy(format!("{pfc}, and pause is off")),
        (Some(_), Some(_)) => lossy(format!("{pfc}, and pause is on in one direction only")),
        _ => unknown("the driver does not report whether pause is on".into()),
    }
}

#[cfg(test)]
mod tests;
