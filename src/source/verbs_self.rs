//! Queries libibverbs in this process. Only the verbs child runs this module.

use crate::model::{
    Guid, VerbsAnswer, VerbsAttributes, VerbsCompletionCounters, VerbsDevice, VerbsEntry,
    VerbsExtended, VerbsPort, VerbsRefusal, VerbsStep, verbs_device_fields, verbs_extended_fields,
};
use crate::source::fixes;
use crate::sys::Errno;
use crate::sys::verbs::{DeviceAttr, DeviceEntry, DeviceList, Mtu, PortAttr, VerbsError};

/// Queries libibverbs for every device and port. The library may print to stderr and may hang:
/// only the verbs child calls this function.
pub fn answer_verbs() -> VerbsAnswer {
    match DeviceList::get() {
        Ok(list) => {
            let entry = |device| entry(&list, device);
            VerbsAnswer::Devices(list.entries().into_iter().map(entry).collect())
        }
        Err(error) => {
            let errno = match error {
                VerbsError::NoKernelSupport => Some(Errno::NO_SYSTEM_CALL),
                _ => error.errno(),
            };
            VerbsAnswer::Unavailable {
                errno: errno.map(|errno| errno.name().into_owned()),
                detail: error.to_string(),
                fix: fixes::of_verbs(&error),
            }
        }
    }
}

fn entry(list: &DeviceList, device: DeviceEntry) -> VerbsEntry {
    let transport_type = device.transport_type;
    let (answer, refused) = match query(list, &device.name, transport_type) {
        Ok(attributes) => (Ok(attributes), None),
        Err((step, error)) => (Err(error.to_string()), Some(step)),
    };
    VerbsEntry {
        name: device.name,
        node_guid: Some(Guid(device.guid)),
        transport_type: Some(transport_type),
        answer,
        refused,
    }
}

fn query(
    list: &DeviceList,
    name: &str,
    transport_type: i32,
) -> Result<VerbsAttributes, (VerbsStep, VerbsError)> {
    let device = list.open(name).map_err(|error| (VerbsStep::Open, error))?;
    let attr = device.attr().map_err(|error| (VerbsStep::QueryDevice, error))?;
    let (mut ports, mut refused_ports) = (Vec::new(), Vec::new());
    // A port number is one byte in verbs, so ports above 255 cannot be queried.
    for number in 1..=u8::try_from(attr.port_count()).unwrap_or(u8::MAX) {
        match device.port(number) {
            Ok(port) => ports.push(verbs_port(number, &port)),
            Err(error) => refused_ports.push(VerbsRefusal {
                number: number.into(),
                code: error.errno().map_or(Errno::IO.code(), Errno::code),
                detail: error.to_string(),
            }),
        }
    }
    let device = verbs_device(&attr, transport_type);
    Ok(VerbsAttributes { device, ports, refused_ports })
}

/// Copies fields of a type from attributes of the library. The other fields are given.
macro_rules! copied {
    (
        ($name:ident, $attr:expr, $($given:tt)*)
        $(
            $(#[$field_meta:meta])*
            $field:ident $(($default:ident))?: $type:ty $(= $($path:ident).+)?
                $(, $column:ident $help:literal)?;
        )*
    ) => {
        $name {
            $($($field: FromLibrary::from_library($attr.$($path).+),)?)*
            $($given)*
        }
    };
}

/// Conversion of a number of the library. A field that older programs did not record is an
/// `Option`.
trait FromLibrary<N> {
    fn from_library(number: N) -> Self;
}

macro_rules! from_library {
    ($($type:ident)*) => {$(
        impl<N: Into<$type>> FromLibrary<N> for $type {
            fn from_library(number: N) -> Self {
                number.into()
            }
        }
    )*};
}

from_library!(u32 u64 i64);

impl<N, T: FromLibrary<N>> FromLibrary<N> for Option<T> {
    fn from_library(number: N) -> Self {
        Some(T::from_library(number))
    }
}

fn verbs_device(attr: &DeviceAttr, transport_type: i32) -> VerbsDevice {
    let flags = attr.extended.as_ref().map_or(0, |extended| extended.device_cap_flags_ex);
    let basic = &attr.basic;
    verbs_device_fields! {
        copied VerbsDevice, basic,
        fw_ver: attr.firmware(),
        node_guid: Some(Guid(u64::from_be(basic.node_guid))),
        sys_image_guid: Some(Guid(u64::from_be(basic.sys_image_guid))),
        transport_type: Some(transport_type),
        phys_port_cnt: attr.port_count(),
        num_comp_vectors: Some(attr.num_comp_vectors.into()),
        device_cap_flags: if flags == 0 { u64::from(basic.device_cap_flags) } else { flags },
        extended: attr.extended.as_ref().map(|attr| verbs_extended_fields!(copied VerbsExtended, attr,)),
        comp_cntr_caps: attr.completion_counters.map(|caps| VerbsCompletionCounters {
            max_counters: caps.max_counters,
            supported_qp_attach_ops: caps.supported_qp_attach_ops,
        }),
    }
}

fn verbs_port(number: u8, port: &PortAttr) -> VerbsPort {
    let PortAttr { attr: port, speed_100mbps } = port;
    let bytes = |code| Mtu::from_code(code).map(Mtu::bytes);
    VerbsPort {
        number: u32::from(number),
        state_code: Some(port.state),
        phys_state_code: Some(port.phys_state.into()),
        link_layer_code: Some(port.link_layer.into()),
        active_mtu: bytes(port.active_mtu),
        max_mtu: bytes(port.max_mtu),
        active_mtu_code: Some(port.active_mtu),
        max_mtu_code: Some(port.max_mtu),
        lid: Some(port.lid.into()),
        sm_lid: Some(port.sm_lid.into()),
        lmc: Some(port.lmc.into()),
        sm_sl: Some(port.sm_sl.into()),
        gid_tbl_len: u32::try_from(port.gid_tbl_len).unwrap_or(0),
        pkey_tbl_len: u32::from(port.pkey_tbl_len),
        max_msg_bytes: port.max_msg_sz,
        port_cap_flags: port.port_cap_flags,
        port_cap_flags2: Some(port.port_cap_flags2.into()),
        max_vl_num_code: Some(port.max_vl_num.into()),
        bad_pkey_cntr: Some(port.bad_pkey_cntr),
        qkey_viol_cntr: Some(port.qkey_viol_cntr),
        subnet_timeout: Some(port.subnet_timeout.into()),
        init_type_reply: Some(port.init_type_reply.into()),
        active_width_code: Some(port.active_width.into()),
        active_speed_code: Some(port.active_speed.into()),
        active_speed_ex_code: Some(port.active_speed_ex),
        effective_bps: speed_100mbps.map(|speed| speed.saturating_mul(100_000_000)),
    }
}
