//! An open port with one request at a time, as libibmad sends them.
//!
//! Adds the messages of the originals about failed requests. Used by every tool of the fabric.

use std::time::Duration;

use super::{Common, DestinationKind, PortId, fail};
use crate::compat::number::parse_any;
use crate::compat::{Job, ToolError, Transcript};
use crate::mad::{
    Class, Header, MAD_BYTES, MadAttribute, Method, NodeInfo, NodeRecord, PortInfo,
    directed_smp_by_id, smp_by_id, smp_data, table_request,
};
use crate::source::{
    MadAnswer, MadError, MadPortFacts, Mads, Question, ReadError, parse_mad_ports,
};

/// Offset of the data in a MAD of performance management, and of subnet administration.
const PERFORMANCE_DATA: usize = 64;
const RECORD_DATA: usize = 56;

#[derive(Debug, Clone, Copy)]
pub(crate) struct OwnPort {
    pub(crate) lid: u16,
    pub(crate) sm_lid: u16,
    pub(crate) number: u8,
}

pub(crate) struct Session<'job> {
    pub(crate) job: &'job Job<'job>,
    pub(crate) common: Common,
    pub(crate) out: &'job mut Transcript,
    pub(crate) mads: Box<dyn Mads + 'job>,
}

impl<'job> Session<'job> {
    /// Opens the port from the options, or the best port; returns `out` if no port can be opened.
    pub(crate) fn open(
        job: &'job Job<'job>,
        common: Common,
        out: &'job mut Transcript,
    ) -> Result<Self, &'job mut Transcript> {
        match open_port(job, &common) {
            Some(mads) => Ok(Self { job, common, out, mads }),
            None => Err(out),
        }
    }

    /// Opens the port. Without a port, prints a warning and ends the tool with `failure`.
    pub(crate) fn open_or(
        job: &'job Job<'job>,
        common: &Common,
        out: &'job mut Transcript,
        failure: impl FnOnce(&mut Transcript, &str, u32) -> ToolError,
    ) -> Result<Self, ToolError> {
        Self::open(job, common.clone(), out).map_err(|out| {
            let (device, port) = (common.device.as_deref().unwrap_or("(null)"), common.port);
            let place = format!("{device}:{port}");
            out.warn(job.warning("mad_rpc_open_port", &format!("can't open UMAD port ({place})")));
            failure(out, device, port)
        })
    }

    /// Opens the port, or prints the usual message of the tools.
    pub(crate) fn open_or_fail(
        job: &'job Job<'job>,
        common: &Common,
        out: &'job mut Transcript,
    ) -> Result<Self, ToolError> {
        Self::open_or(job, common, out, |out, device, port| {
            fail(job, out, &format!("Failed to open '{device}' port '{port}'"))
        })
    }

    pub(crate) fn fail(&mut self, message: &str) -> ToolError {
        fail(self.job, self.out, message)
    }

    pub(crate) fn warn(&mut self, function: &str, message: &str) {
        self.out.warn(self.job.warning(function, message));
    }

    /// Sends one request. The error is the status of a refusal, or 0 without a reply.
    pub(crate) fn call(
        &mut self,
        to: &PortId,
        lid: Option<u16>,
        mad: [u8; MAD_BYTES],
    ) -> Result<Vec<u8>, u16> {
        match self.answer(lid, mad) {
            Ok(answer) => Ok(answer),
            Err(MadError::Refused(status)) => {
                let status = status.0 & 0x7fff;
                if self.common.shows_errors {
                    let text = format!("MAD completed with error status 0x{status:x}");
                    self.warn("mad_rpc", &format!("{text}; dport ({to})"));
                }
                Err(status)
            }
            Err(_) => {
                self.warn("mad_rpc", &format!("_do_madrpc failed; dport ({to})"));
                Err(0)
            }
        }
    }

    /// Sends one request; returns the reply, or the reason why there is none.
    pub(crate) fn answer(&mut self, lid: Option<u16>, mad: [u8; MAD_BYTES]) -> MadAnswer {
        let Ok(ticket) = self.mads.ask(lid, mad) else { return Err(MadError::NoReply) };
        while let Ok(Some((found, answer))) = self.mads.next_answer() {
            if found == ticket {
                if answer == Err(MadError::NotRecorded) {
                    self.job.reading.lacks(format!("a reply of LID {}", lid.unwrap_or(0)));
                }
                return answer;
            }
        }
        Err(MadError::NoReply)
    }

    /// Requests an attribute of subnet management.
    pub(crate) fn smp(&mut self, to: &PortId, attribute: u16, modifier: u32) -> Option<[u8; 64]> {
        self.smp_status(to, attribute, modifier).ok()
    }

    /// Works like [`Self::smp`]. The error is the status of a refusal, or 0 without a reply.
    pub(crate) fn smp_status(
        &mut self,
        to: &PortId,
        attribute: u16,
        modifier: u32,
    ) -> Result<[u8; 64], u16> {
        let (lid, mad) = smp_to(to, attribute, modifier, self.common.m_key).ok_or(0_u16)?;
        let answer = self.call(to, lid, mad)?;
        smp_data(&answer).and_then(|data| data.try_into().ok()).ok_or(0)
    }

    pub(crate) fn performance(
        &mut self,
        to: &PortId,
        attribute: u16,
        port: u8,
    ) -> Option<[u8; 192]> {
        let mut mad = Header::request(Class::PERFORMANCE, Method::GET, attribute, 0).to_mad();
        mad[PERFORMANCE_DATA + 1] = port;
        let answer = self.call(to, Some(to.lid), mad).ok()?;
        answer.get(PERFORMANCE_DATA..MAD_BYTES)?.try_into().ok()
    }

    pub(crate) fn get<A: MadAttribute>(&mut self, to: &PortId, modifier: u32) -> Option<A> {
        A::decode(&self.smp(to, A::ID, modifier)?).ok()
    }

    pub(crate) fn own(&mut self) -> Option<OwnPort> {
        let own = PortId::default();
        let node: NodeInfo = self.get(&own, 0)?;
        let port: PortInfo = self.get(&own, 0)?;
        Some(OwnPort { lid: port.lid, sm_lid: port.sm_lid, number: node.local_port })
    }

    pub(crate) fn resolve_or_fail(&mut self, address: &str) -> Result<PortId, ToolError> {
        let found = self.resolve(address);
        found.ok_or_else(|| self.fail(&format!("can't resolve destination port {address}")))
    }

    /// Resolves an address in the notation of the options; `None` if it is invalid.
    pub(crate) fn resolve(&mut self, address: &str) -> Option<PortId> {
        match self.common.kind {
            DestinationKind::Lid => {
                let lid = parse_any(address);
                u16::try_from(lid).ok().filter(|lid| (1..0xc000).contains(lid)).map(PortId::lid)
            }
            DestinationKind::Directed => PortId::parse_route(address),
            DestinationKind::Guid => self.resolve_guid(parse_any(address)),
        }
    }

    /// Warns like a partial scan if subnet administration has no port with this GUID.
    pub(crate) fn warn_if_unresolved(&mut self, guid: &str, ending: &str) {
        if self.resolve_guid(parse_any(guid)).is_none() {
            self.warn("main", &format!("Failed to resolve {guid}; attempting full scan{ending}"));
        }
    }

    /// Requests the LID of a port from subnet administration, from the record of its node. The
    /// originals request a path; the LID is the same.
    pub(crate) fn resolve_guid(&mut self, guid: u64) -> Option<PortId> {
        let own = self.own().filter(|_| guid != 0)?;
        let mut mad = table_request::<NodeRecord>();
        // The component mask selects the GUID of the port.
        mad[48..56].copy_from_slice(&0x100_u64.to_be_bytes());
        let at = RECORD_DATA + 24;
        mad[at..at + 8].copy_from_slice(&guid.to_be_bytes());
        let sm_lid = self.common.sm_lid.unwrap_or(own.sm_lid);
        let answer = if sm_lid == 0 {
            self.warn("sa_rpc_call", "only lid routes are supported");
            None
        } else {
            self.call(&PortId::lid(sm_lid), Some(sm_lid), mad).ok()
        };
        let lid = answer.as_ref().and_then(|answer| answer.get(RECORD_DATA..RECORD_DATA + 2));
        let lid = lid.map_or(0, |lid| u16::from_be_bytes([lid[0], lid[1]]));
        if lid == 0 {
            self.warn("ib_path_query_via", "sa call path_query failed");
            return None;
        }
        Some(PortId::lid(lid))
    }
}

/// Returns a request of subnet management and its LID; `None` for a route that is too long.
pub(super) fn smp_to(
    to: &PortId,
    attribute: u16,
    modifier: u32,
    m_key: u64,
) -> Option<(Option<u16>, [u8; MAD_BYTES])> {
    let mut mad = if to.lid > 0 {
        smp_by_id(attribute, modifier)
    } else {
        directed_smp_by_id(&to.path()?, attribute, modifier)
    };
    mad[24..32].copy_from_slice(&m_key.to_be_bytes());
    Some(((to.lid > 0).then_some(to.lid), mad))
}

/// Opens the port from the options, or the best port.
fn open_port<'job>(job: &'job Job<'job>, common: &Common) -> Option<Box<dyn Mads + 'job>> {
    let source = job.reading.source;
    let missing = |question: &Question, error: &ReadError| {
        if *error == ReadError::NotRecorded {
            job.reading.lacks(question.to_string());
        }
    };
    let question = Question::MadPorts;
    let answer = source.ask(&question).inspect_err(|error| missing(&question, error)).ok()?;
    let umad = choose(common, parse_mad_ports(&answer))?.umad;
    let mads = source.mads(&umad);
    let mut mads = mads.inspect_err(|error| missing(&Question::Mads(umad), error)).ok()?;
    if let Some(timeout_ms) = common.timeout_ms {
        mads.set_timeout(Duration::from_millis(timeout_ms.into()));
    }
    Some(mads)
}

/// Returns the port that libibumad opens: an active one, else one with a link or an enabled one.
fn choose(common: &Common, mut ports: Vec<MadPortFacts>) -> Option<MadPortFacts> {
    const ACTIVE: u8 = 4;
    const LINK_UP: u8 = 5;
    const DISABLED: u8 = 3;
    ports.retain(|port| {
        let is_device = common.device.as_ref().is_none_or(|device| *device == port.device);
        let is_port = common.port == 0 || port.port == common.port;
        is_device && is_port && port.is_infiniband()
    });
    ports.sort_by(|one, other| (&one.device, one.port).cmp(&(&other.device, other.port)));
    let find = |wanted: &dyn Fn(&MadPortFacts) -> bool| ports.iter().find(|port| wanted(port));
    find(&|port| port.state == ACTIVE)
        .or_else(|| find(&|port| port.physical_state == LINK_UP))
        .or_else(|| find(&|port| port.physical_state != DISABLED))
        .cloned()
}
