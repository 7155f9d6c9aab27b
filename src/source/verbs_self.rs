//! The child's side of the verbs question: asks libibverbs in this very process.

use crate::model::{VerbsAnswer, VerbsDevice, VerbsEntry, VerbsPort};
use crate::sys::verbs::{Device, Mtu, PortAttr, VerbsError, list_devices};

/// Asks libibverbs for every device and port. It may print to stderr and may hang: only the
/// `agent verbs` process calls this.
#[must_use]
pub fn answer_verbs() -> VerbsAnswer {
    match list_devices() {
        Ok(devices) => VerbsAnswer::Devices(
            devices
                .into_iter()
                .map(|device| VerbsEntry {
                    answer: query(&device.name).map_err(|error| error.to_string()),
                    name: device.name,
                })
                .collect(),
        ),
        Err(error) => VerbsAnswer::Unavailable {
            detail: error.to_string(),
            fix: error.fix().map(str::to_owned),
        },
    }
}

fn query(name: &str) -> Result<VerbsDevice, VerbsError> {
    let device = Device::open(name)?;
    let attr = device.attr()?;
    // A port number is one byte in verbs, so ports above 255 cannot be asked.
    let ports = (1..=u8::try_from(attr.port_count()).unwrap_or(u8::MAX))
        .map(|number| device.port(number).map(|port| verbs_port(number, &port)))
        .collect::<Result<_, _>>()?;
    let flags = attr.extended.as_ref().map_or(0, |extended| extended.device_cap_flags);
    let basic = &attr.basic;
    Ok(VerbsDevice {
        fw_ver: basic.fw_ver.clone(),
        vendor_id: basic.vendor_id,
        vendor_part_id: basic.vendor_part_id,
        hw_ver: basic.hw_ver,
        phys_port_cnt: attr.port_count(),
        max_mr_size: basic.max_mr_size,
        page_size_cap: basic.page_size_cap,
        max_qp: basic.max_qp,
        max_qp_wr: basic.max_qp_wr,
        max_sge: basic.max_sge,
        max_cq: basic.max_cq,
        max_cqe: basic.max_cqe,
        max_mr: basic.max_mr,
        max_pd: basic.max_pd,
        max_ah: basic.max_ah,
        max_srq: basic.max_srq,
        max_qp_rd_atom: basic.max_qp_rd_atom,
        max_pkeys: u32::from(basic.max_pkeys),
        device_cap_flags: if flags == 0 { u64::from(basic.device_cap_flags) } else { flags },
        ports,
    })
}

fn verbs_port(number: u8, port: &PortAttr) -> VerbsPort {
    let bytes = |code| Mtu::from_code(code).map(Mtu::bytes);
    VerbsPort {
        number: u32::from(number),
        active_mtu: bytes(port.active_mtu),
        max_mtu: bytes(port.max_mtu),
        gid_tbl_len: u32::try_from(port.gid_tbl_len).unwrap_or(0),
        pkey_tbl_len: u32::from(port.pkey_tbl_len),
        max_msg_bytes: port.max_msg_sz,
        port_cap_flags: port.port_cap_flags,
    }
}
