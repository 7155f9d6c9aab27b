//! Decodes the objects of `rdma resource` from replies of RDMA netlink. `nldev` calls it.

use super::attr::{self, Fields, messages};
use crate::model::{CmId, Object, Owner, QueuePair, Resource};
use crate::source::{Messages, RdmaCommand};

/// `enum ib_qp_type` (`include/rdma/ib_verbs.h`).
const QP_TYPES: &[(u32, &str)] = &[
    (0, "SMI"),
    (1, "GSI"),
    (2, "RC"),
    (3, "UC"),
    (4, "UD"),
    (5, "RAW_IPV6"),
    (6, "RAW_ETHERTYPE"),
    (8, "RAW_PACKET"),
    (9, "XRC_INI"),
    (10, "XRC_TGT"),
    (0xff, "DRIVER"),
];

/// `enum ib_qp_state`.
const QP_STATES: &[(u32, &str)] =
    &[(0, "RESET"), (1, "INIT"), (2, "RTR"), (3, "RTS"), (4, "SQD"), (5, "SQE"), (6, "ERR")];

/// `enum ib_mig_state`.
const MIGRATION: &[(u32, &str)] = &[(0, "MIGRATED"), (1, "REARM"), (2, "ARMED")];

/// `enum rdma_cm_state` (`drivers/infiniband/core/cma_priv.h`).
const CM_STATES: &[(u32, &str)] = &[
    (0, "IDLE"),
    (1, "ADDR_QUERY"),
    (2, "ADDR_RESOLVED"),
    (3, "ROUTE_QUERY"),
    (4, "ROUTE_RESOLVED"),
    (5, "CONNECT"),
    (6, "DISCONNECT"),
    (7, "ADDR_BOUND"),
    (8, "LISTEN"),
    (9, "DEVICE_REMOVAL"),
    (10, "DESTROYING"),
];

/// `enum rdma_ucm_port_space` (`include/uapi/rdma/rdma_user_cm.h`).
const PORT_SPACES: &[(u32, &str)] =
    &[(0x0002, "IPOIB"), (0x0106, "TCP"), (0x0111, "UDP"), (0x013f, "IB")];

/// `enum ib_poll_context`.
const POLL_CONTEXTS: &[(u32, &str)] =
    &[(0, "DIRECT"), (1, "SOFTIRQ"), (2, "WORKQUEUE"), (3, "UNBOUND_WORKQUEUE")];

/// `enum ib_srq_type`.
const SRQ_TYPES: &[(u32, &str)] = &[(0, "BASIC"), (1, "XRC"), (2, "TM")];

/// Returns all objects in the reply to a command that lists them. Only owners in the kernel have
/// names: netlink sends no name of a process.
pub(in crate::collect) fn decode_resources(command: RdmaCommand, answer: &[u8]) -> Vec<Resource> {
    let Some((table, decode)) = table(command) else { return Vec::new() };
    messages(answer)
        .filter_map(|message| Some((message.text(attr::DEV_NAME)?, message)))
        .flat_map(|(device, message)| {
            let entries = message.0.get(table).map(|table| table.nest());
            entries.into_iter().flatten().map(move |entry| {
                let fields = Fields(entry.nest());
                Resource { device: device.clone(), owner: owner(&fields), object: decode(&fields) }
            })
        })
        .collect()
}

/// True if every attribute of a reply could be decoded. An attribute with an invalid length ends
/// the list of objects too early.
pub(in crate::collect) fn is_whole(command: RdmaCommand, answer: &[u8]) -> bool {
    let Some((table, _)) = table(command) else { return true };
    // Messages below NLMSG_MIN_TYPE are control messages of netlink.
    Messages::new(answer).filter(|message| message.kind >= 0x10).all(|message| {
        let fields = Fields::of(&message);
        let entries = fields.0.get(table).map(|table| table.nest());
        let entries_are_whole = entries.is_none_or(|mut entries| {
            entries.clone().are_whole() && entries.all(|entry| entry.nest().are_whole())
        });
        fields.text(attr::DEV_NAME).is_some() && fields.0.are_whole() && entries_are_whole
    })
}

type Decode = fn(&Fields<'_>) -> Object;

/// Returns the attribute that holds the list, and the decoder of its entries.
fn table(command: RdmaCommand) -> Option<(u16, Decode)> {
    match command {
        RdmaCommand::QueuePairs => Some((attr::RES_QP, queue_pair)),
        RdmaCommand::CmIds => Some((attr::RES_CM_ID, cm_id)),
        RdmaCommand::CompletionQueues => Some((attr::RES_CQ, completion_queue)),
        RdmaCommand::MemoryRegions => Some((attr::RES_MR, memory_region)),
        RdmaCommand::ProtectionDomains => Some((attr::RES_PD, protection_domain)),
        RdmaCommand::Contexts => Some((attr::RES_CTX, context)),
        RdmaCommand::SharedReceiveQueues => Some((attr::RES_SRQ, shared_receive_queue)),
        _ => None,
    }
}

fn owner(fields: &Fields<'_>) -> Option<Owner> {
    let kernel = fields.text(attr::RES_KERN_NAME).map(|name| Owner::Kernel { name });
    kernel.or_else(|| Some(Owner::Process { pid: fields.u32(attr::RES_PID)?, name: None }))
}

fn queue_pair(fields: &Fields<'_>) -> Object {
    Object::Qp(QueuePair {
        port: fields.u32(attr::PORT_INDEX),
        lqpn: fields.u32(attr::RES_LQPN),
        rqpn: fields.u32(attr::RES_RQPN),
        qp_type: fields.word(attr::RES_TYPE, QP_TYPES),
        state: fields.word(attr::RES_STATE, QP_STATES),
        rq_psn: fields.u32(attr::RES_RQ_PSN),
        sq_psn: fields.u32(attr::RES_SQ_PSN),
        path_migration: fields.word(attr::RES_PATH_MIG_STATE, MIGRATION),
        pdn: fields.u32(attr::RES_PDN),
    })
}

fn cm_id(fields: &Fields<'_>) -> Object {
    Object::CmId(CmId {
        cm_idn: fields.u32(attr::RES_CM_IDN),
        port: fields.u32(attr::PORT_INDEX),
        lqpn: fields.u32(attr::RES_LQPN),
        qp_type: fields.word(attr::RES_TYPE, QP_TYPES),
        state: fields.word(attr::RES_STATE, CM_STATES),
        port_space: fields.word(attr::RES_PS, PORT_SPACES),
        source: fields.address(attr::RES_SRC_ADDR),
        destination: fields.address(attr::RES_DST_ADDR),
    })
}

fn completion_queue(fields: &Fields<'_>) -> Object {
    Object::Cq {
        cqn: fields.u32(attr::RES_CQN),
        entries: fields.u32(attr::RES_CQE),
        users: fields.u64(attr::RES_USECNT),
        polled_by: fields.word(attr::RES_POLL_CTX, POLL_CONTEXTS),
        adaptive_moderation: fields.u32(attr::DEV_DIM).map(|flag| flag != 0),
        ctxn: fields.u32(attr::RES_CTXN),
    }
}

fn memory_region(fields: &Fields<'_>) -> Object {
    Object::Mr {
        mrn: fields.u32(attr::RES_MRN),
        rkey: fields.u32(attr::RES_RKEY),
        lkey: fields.u32(attr::RES_LKEY),
        length_bytes: fields.u64(attr::RES_MRLEN),
        pdn: fields.u32(attr::RES_PDN),
    }
}

fn protection_domain(fields: &Fields<'_>) -> Object {
    Object::Pd {
        pdn: fields.u32(attr::RES_PDN),
        local_dma_lkey: fields.u32(attr::RES_LOCAL_DMA_LKEY),
        users: fields.u64(attr::RES_USECNT),
        ctxn: fields.u32(attr::RES_CTXN),
    }
}

fn context(fields: &Fields<'_>) -> Object {
    Object::Ctx { ctxn: fields.u32(attr::RES_CTXN) }
}

fn shared_receive_queue(fields: &Fields<'_>) -> Object {
    Object::Srq {
        srqn: fields.u32(attr::RES_SRQN),
        srq_type: fields.word(attr::RES_TYPE, SRQ_TYPES),
        pdn: fields.u32(attr::RES_PDN),
        cqn: fields.u32(attr::RES_CQN),
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    const ROOT: &str = include_str!("../../../tests/fixtures/netlink/6.1.0-root.hex");
    const NOBODY: &str = include_str!("../../../tests/fixtures/netlink/6.1.0-nobody.hex");
    const OLD: &str = include_str!("../../../tests/fixtures/netlink/5.10.0-root.hex");
    const NEW: &str = include_str!("../../../tests/fixtures/netlink/6.12.117-root.hex");

    /// Returns the messages below a label of a recording.
    fn answer(recording: &str, label: &str) -> Vec<u8> {
        let mut lines = recording.lines().skip_while(|line| *line != format!("## {label}"));
        lines.next().unwrap_or_else(|| panic!("{label} is recorded"));
        let lines = lines.take_while(|line| !line.starts_with("## "));
        let hex =
            lines.filter_map(|line| line.strip_prefix("< ")).filter(|hex| !hex.starts_with('E'));
        let bytes = |hex: &str| -> Vec<u8> {
            let pairs = (0..hex.len() / 2).map(|at| &hex[2 * at..2 * at + 2]);
            pairs.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
        };
        hex.flat_map(|hex| bytes(hex.trim())).collect()
    }

    fn decoded(recording: &str, label: &str, command: RdmaCommand) -> Vec<Object> {
        let all = decode_resources(command, &answer(recording, label));
        all.into_iter().map(|resource| resource.object).collect()
    }

    #[test]
    fn queue_pairs_are_those_that_iproute2_printed() {
        // Output of rdma resource show qp in the recording: lqpn, rqpn, type, state, pdn, owner.
        let answer = answer(ROOT, "RES_QP_GET dump dev 0");
        let mut text = String::new();
        for resource in decode_resources(RdmaCommand::QueuePairs, &answer) {
            let Object::Qp(qp) = resource.object else { panic!() };
            let owner = match resource.owner.unwrap() {
                Owner::Process { pid, .. } => pid.to_string(),
                Owner::Kernel { name } => format!("[{name}]"),
            };
            let number = |number: Option<u32>| number.map_or("-".into(), |it| it.to_string());
            let (lqpn, rqpn, pdn) = (number(qp.lqpn), number(qp.rqpn), number(qp.pdn));
            let (qp_type, state) = (qp.qp_type.unwrap(), qp.state.unwrap());
            writeln!(text, "{} {lqpn} {rqpn} {qp_type} {state} {pdn} {owner}", resource.device)
                .unwrap();
        }
        assert_eq!(
            text,
            "rxe0 17 0 RC INIT 1 243\nrxe0 18 19 RC RTS 4 247\nrxe0 19 18 RC RTS 5 244\n\
             rxe0 1 - GSI RTS - [ib_core]\n"
        );
    }

    #[test]
    fn connections_have_both_addresses() {
        let ids = decoded(ROOT, "RES_CM_ID_GET dump dev 0", RdmaCommand::CmIds);
        let Object::CmId(listener) = &ids[0] else { panic!() };
        assert_eq!(listener.state.as_deref(), Some("LISTEN"));
        assert_eq!(listener.source.unwrap().to_string(), "10.9.0.1:7174");
        assert_eq!(listener.destination.unwrap().ip(), None);
        let Object::CmId(client) = &ids[1] else { panic!() };
        assert_eq!((client.lqpn, client.port_space.as_deref()), (Some(18), Some("TCP")));
        assert_eq!(client.source.unwrap().to_string(), "10.9.0.1:46696");
        assert_eq!(client.destination.unwrap().to_string(), "10.9.0.1:7174");
    }

    #[test]
    fn keys_are_for_those_who_may_see_them() {
        let keys = |recording| {
            let label = "RES_MR_GET dump dev 0";
            decoded(recording, label, RdmaCommand::MemoryRegions)
                .into_iter()
                .map(|object| match object {
                    Object::Mr { lkey, length_bytes, .. } => (lkey, length_bytes.unwrap()),
                    _ => panic!(),
                })
                .collect::<Vec<_>>()
        };
        assert_eq!(keys(ROOT)[0], (Some(0x280), 4096));
        assert!(keys(NOBODY).iter().all(|(lkey, length)| lkey.is_none() && *length > 0));
    }

    #[test]
    fn an_attribute_that_ends_beyond_its_message_is_noticed() {
        let mut answer = answer(ROOT, "RES_QP_GET dump dev 0");
        assert!(is_whole(RdmaCommand::QueuePairs, &answer));
        // Byte 16 is the length of the first attribute, behind the header of the message.
        answer[16] = 0xff;
        assert!(!is_whole(RdmaCommand::QueuePairs, &answer));
    }

    #[test]
    fn every_kernel_is_read() {
        for recording in [OLD, ROOT, NEW] {
            let qps = decoded(recording, "RES_QP_GET dump dev 0", RdmaCommand::QueuePairs);
            assert!(qps.len() >= 4, "{qps:?}");
            let cqs = decoded(recording, "RES_CQ_GET dump dev 0", RdmaCommand::CompletionQueues);
            let Object::Cq { entries, polled_by, .. } = &cqs[0] else { panic!() };
            assert!(entries.is_some() && polled_by.as_deref() == Some("WORKQUEUE"), "{cqs:?}");
            let pds = decoded(recording, "RES_PD_GET dump dev 0", RdmaCommand::ProtectionDomains);
            assert!(pds.len() >= 4, "{pds:?}");
        }
        let contexts = decoded(NEW, "RES_CTX_GET dump dev 0", RdmaCommand::Contexts);
        assert!(contexts.len() >= 3, "{contexts:?}");
    }
}
