//! Sends and receives management datagrams (MADs) of one port through `/dev/infiniband/umadN`,
//! without a library. `source` uses it. The module does not interpret the bytes of a MAD.
//!
//! Kernel: `drivers/infiniband/core/user_mad.c`. This module calls only `open`, `ioctl`, `read`,
//! `write`, `poll` and `close` of the C library, by these names. The simulator ibsim replaces
//! them, and no others.
#![expect(unsafe_code, reason = "calls the C library with descriptors and buffers")]

use std::ffi::{CString, c_int, c_ulong};
use std::mem;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::errno::Errno;
use super::ffi;
use super::plain::Plain as _;

/// `IB_USER_MAD_REGISTER_AGENT`: `_IOWR(0x1b, 1, struct ib_user_mad_reg_req)`.
const REGISTER_AGENT: c_ulong = 0xc01c_1b01;
/// `IB_USER_MAD_ENABLE_PKEY`: `_IO(0x1b, 3)`.
const ENABLE_PKEY: c_ulong = 0x1b03;

/// Size of the header before each MAD, in bytes.
const HEADER: usize = mem::size_of::<ffi::ib_user_mad_hdr>();
/// Size of the header without a P_Key index, in bytes. It is the default of the kernel.
const OLD_HEADER: usize = 56;

/// Maximum size of a reply of several segments, in bytes. A million node records are smaller.
pub const LARGEST_ANSWER: usize = 128 * 1024 * 1024;

/// Header that the kernel puts before each MAD.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HeaderSize {
    /// With a P_Key index if the kernel supports it (since Linux 2.6.24).
    #[default]
    Negotiated,
    /// Without a P_Key index: the only header of ibsim, although it accepts the other request.
    Old,
}

/// Reason why a device file for MADs cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UmadError {
    /// Opening the device file failed.
    #[error("cannot open {}: {errno}", path.display())]
    Open {
        /// Path of the device file.
        path: PathBuf,
        /// Error of the kernel.
        errno: Errno,
    },
    /// The port does not support the management class.
    #[error("{} does not support management class {class:#04x}: {errno}", path.display())]
    Register {
        /// Path of the device file.
        path: PathBuf,
        /// Management class.
        class: u8,
        /// Error of the kernel; `EPROTONOSUPPORT` for subnet management on an Ethernet port.
        errno: Errno,
    },
    /// Sending a MAD failed.
    #[error("cannot send a MAD on {}: {errno}", path.display())]
    Send {
        /// Path of the device file.
        path: PathBuf,
        /// Error of the kernel.
        errno: Errno,
    },
    /// Receiving a MAD failed.
    #[error("cannot receive MADs from {}: {errno}", path.display())]
    Receive {
        /// Path of the device file.
        path: PathBuf,
        /// Error of the kernel.
        errno: Errno,
    },
}

impl UmadError {
    /// Returns the error of the kernel.
    pub fn errno(&self) -> Errno {
        match self {
            Self::Open { errno, .. }
            | Self::Register { errno, .. }
            | Self::Send { errno, .. }
            | Self::Receive { errno, .. } => *errno,
        }
    }
}

/// Destination or source of a MAD.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MadAddress {
    /// LID; 0xffff for directed routes.
    pub lid: u16,
    /// Service level.
    pub sl: u8,
    /// Queue pair: 0 for subnet management, 1 for the other classes.
    pub queue_pair: u32,
    /// Q_Key; 0x80010000 for queue pair 1.
    pub q_key: u32,
    /// Index in the P_Key table. [`HeaderSize::Old`] has no such field: the kernel uses 0.
    pub p_key_index: u16,
    /// Global route; `None` within an InfiniBand subnet. RoCE requires one.
    pub grh: Option<MadGrh>,
}

/// Global route header of a MAD.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MadGrh {
    /// GID of the other end: the destination of a MAD to send, the source of a received one.
    pub gid: [u8; 16],
    /// Index of the GID of this port.
    pub gid_index: u8,
    /// Hop limit.
    pub hop_limit: u8,
    /// Traffic class.
    pub traffic_class: u8,
    /// Flow label, 20 bits.
    pub flow_label: u32,
}

/// Destination, timeout and retries of a MAD to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sending {
    /// Agent of the class, from [`UmadPort::register`].
    pub agent: u32,
    /// Destination.
    pub address: MadAddress,
    /// Timeout of one attempt, in milliseconds; 0 for a MAD without a reply.
    pub timeout_ms: u32,
    /// Number of attempts after the first one.
    pub retries: u32,
}

/// A MAD that arrived, or a sent MAD that got no reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// Agent that the MAD belongs to.
    pub agent: u32,
    /// Reason for a missing reply, for example `ETIMEDOUT`, if `mad` is the request; else `None`.
    pub failure: Option<Errno>,
    /// Source.
    pub address: MadAddress,
    /// Bytes of the MAD; more than 256 if the kernel joined several segments.
    pub mad: Vec<u8>,
}

/// Management class in which a program sends and receives MADs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Registration {
    /// Management class.
    pub class: u8,
    /// Version of the class.
    pub version: u8,
    /// Queue pair: 0 for subnet management, else 1.
    pub queue_pair: u8,
    /// 1 if the kernel joins segments, else 0.
    pub rmpp_version: u8,
    /// Vendor of the class and requests to receive; `None` for a class with replies only.
    pub vendor: Option<Vendor>,
}

/// Vendor part of a registration, for vendor classes 0x30 to 0x4f.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Vendor {
    /// Organizationally unique identifier (OUI). The kernel rejects zeros.
    pub oui: [u8; 3],
    /// Methods whose requests this agent receives, by bit. A port has one agent per method.
    pub methods: u128,
}

/// An open device file of a port.
#[derive(Debug)]
pub struct UmadPort {
    path: PathBuf,
    descriptor: c_int,
    header: usize,
}

impl UmadPort {
    /// Opens a device file.
    ///
    /// # Errors
    /// The file does not exist, or the user has no permission.
    pub fn open(path: &Path, header: HeaderSize) -> Result<Self, UmadError> {
        let path = path.to_owned();
        let descriptor = match open(&path, libc::O_RDWR) {
            Ok(descriptor) => descriptor,
            Err(errno) => return Err(UmadError::Open { path, errno }),
        };
        let mut port = Self { path, descriptor, header: OLD_HEADER };
        if header == HeaderSize::Old {
            return Ok(port);
        }
        // SAFETY: the request takes no argument; the descriptor is open.
        if unsafe { libc::ioctl(descriptor, ENABLE_PKEY, 0) } == 0 {
            port.header = HEADER;
        }
        Ok(port)
    }

    /// Registers a class, and returns the agent for [`Sending`].
    ///
    /// # Errors
    /// The port does not support the class, for example subnet management on an Ethernet port.
    pub fn register(&self, wanted: Registration) -> Result<u32, UmadError> {
        let mut request = ffi::ib_user_mad_reg_req::zeroed();
        request.qpn = wanted.queue_pair;
        request.mgmt_class = wanted.class;
        request.mgmt_class_version = wanted.version;
        request.rmpp_version = wanted.rmpp_version;
        if let Some(vendor) = wanted.vendor {
            request.oui = vendor.oui;
            request.method_mask = method_mask(vendor.methods);
        }
        // SAFETY: the request is the structure of this call, and lives through the call.
        let done = unsafe { libc::ioctl(self.descriptor, REGISTER_AGENT, &raw mut request) };
        if done != 0 {
            let path = self.path.clone();
            return Err(UmadError::Register { path, class: wanted.class, errno: Errno::last() });
        }
        Ok(request.id)
    }

    /// Sends a MAD.
    ///
    /// # Errors
    /// The kernel rejects the MAD.
    pub fn send(&self, how: &Sending, mad: &[u8]) -> Result<(), UmadError> {
        let header = header_to_send(how);
        let mut packet = vec![0; self.header + mad.len()];
        // SAFETY: the header is a C structure of integers without padding. `self.header` bytes
        // are copied, which is at most the size of the header. The packet is at least that long.
        unsafe {
            let source = (&raw const header).cast::<u8>();
            std::ptr::copy_nonoverlapping(source, packet.as_mut_ptr(), self.header);
        }
        packet[self.header..].copy_from_slice(mad);
        // SAFETY: pointer and length belong to the packet.
        let sent = unsafe { libc::write(self.descriptor, packet.as_ptr().cast(), packet.len()) };
        if usize::try_from(sent) == Ok(packet.len()) {
            return Ok(());
        }
        let errno = if sent < 0 { Errno::last() } else { Errno::IO };
        Err(UmadError::Send { path: self.path.clone(), errno })
    }

    /// Waits for the next MAD; returns `None` after the timeout or a signal.
    ///
    /// # Errors
    /// The device is gone, or a reply is larger than [`LARGEST_ANSWER`].
    pub fn receive(&self, wait: Duration) -> Result<Option<Received>, UmadError> {
        let error = |errno| UmadError::Receive { path: self.path.clone(), errno };
        let mut poll = libc::pollfd { fd: self.descriptor, events: libc::POLLIN, revents: 0 };
        let wait_ms = c_int::try_from(wait.as_millis()).unwrap_or(c_int::MAX);
        // SAFETY: the pointer refers to one structure, as the count states.
        match unsafe { libc::poll(&raw mut poll, 1, wait_ms) } {
            0 => return Ok(None),
            1.. => {}
            _ => match Errno::last() {
                Errno::INTERRUPTED => return Ok(None),
                errno => return Err(error(errno)),
            },
        }
        let mut packet = vec![0; self.header + 256];
        loop {
            // SAFETY: pointer and length belong to the packet.
            let read =
                unsafe { libc::read(self.descriptor, packet.as_mut_ptr().cast(), packet.len()) };
            if let Ok(count) = usize::try_from(read) {
                packet.truncate(count);
                return self.received(&packet).map(Some).ok_or_else(|| error(Errno::BAD_MESSAGE));
            }
            let errno = Errno::last();
            // If a reply is too long, the kernel still writes its header with the length.
            let needed = self.header_of(&packet).map_or(0, |header| header.length as usize);
            if errno != Errno::NO_SPACE || needed <= packet.len() || needed > LARGEST_ANSWER {
                return Err(error(errno));
            }
            packet = vec![0; needed];
        }
    }

    fn header_of(&self, packet: &[u8]) -> Option<ffi::ib_user_mad_hdr> {
        let bytes = packet.get(..self.header)?;
        let mut header = ffi::ib_user_mad_hdr::zeroed();
        // SAFETY: `bytes` is at most as long as the structure, which has integers without
        // padding.
        unsafe {
            let target = (&raw mut header).cast::<u8>();
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), target, bytes.len());
        }
        Some(header)
    }

    fn received(&self, packet: &[u8]) -> Option<Received> {
        let header = self.header_of(packet)?;
        let status = i32::try_from(header.status).unwrap_or(libc::EIO);
        Some(Received {
            agent: header.id,
            failure: (status != 0).then(|| Errno::from_code(status)),
            address: MadAddress {
                lid: u16::from_be(header.lid),
                sl: header.sl,
                queue_pair: u32::from_be(header.qpn),
                q_key: u32::from_be(header.qkey),
                p_key_index: header.pkey_index,
                grh: (header.grh_present != 0).then(|| MadGrh {
                    gid: header.gid,
                    gid_index: header.gid_index,
                    hop_limit: header.hop_limit,
                    traffic_class: header.traffic_class,
                    flow_label: u32::from_be(header.flow_label),
                }),
            },
            mad: packet[self.header..].to_vec(),
        })
    }
}

impl Drop for UmadPort {
    fn drop(&mut self) {
        // SAFETY: this value owns the descriptor, and no code uses it afterwards.
        unsafe { libc::close(self.descriptor) };
    }
}

fn header_to_send(how: &Sending) -> ffi::ib_user_mad_hdr {
    let mut header = ffi::ib_user_mad_hdr::zeroed();
    header.id = how.agent;
    header.timeout_ms = how.timeout_ms;
    header.retries = how.retries;
    header.lid = how.address.lid.to_be();
    header.sl = how.address.sl;
    header.qpn = how.address.queue_pair.to_be();
    header.qkey = how.address.q_key.to_be();
    header.pkey_index = how.address.p_key_index;
    if let Some(grh) = how.address.grh {
        header.grh_present = 1;
        header.gid = grh.gid;
        header.gid_index = grh.gid_index;
        header.hop_limit = grh.hop_limit;
        header.traffic_class = grh.traffic_class;
        header.flow_label = grh.flow_label.to_be();
    }
    header
}

/// Returns a mask of methods as the kernel's array of `unsigned long`, low bits first.
fn method_mask(methods: u128) -> [c_ulong; 2] {
    // The generated structure has two elements, as on a 64-bit kernel.
    let half = |shift: u32| c_ulong::try_from(methods >> shift & u128::from(u64::MAX));
    [half(0).unwrap_or(0), half(64).unwrap_or(0)]
}

fn open(path: &Path, flags: c_int) -> Result<c_int, Errno> {
    let name = CString::new(path.as_os_str().as_bytes()).map_err(|_nul| Errno::INVALID)?;
    // SAFETY: the name is a C string that lives through the call.
    let descriptor = unsafe { libc::open(name.as_ptr(), flags | libc::O_CLOEXEC) };
    if descriptor < 0 { Err(Errno::last()) } else { Ok(descriptor) }
}

/// Returns the first 4096 bytes of a file, for sysfs files of MAD ports.
///
/// # Errors
/// The file cannot be opened or read.
pub fn read_start(path: &Path) -> Result<Vec<u8>, Errno> {
    let descriptor = open(path, libc::O_RDONLY)?;
    let mut content = vec![0; 4096];
    // SAFETY: pointer and length belong to the buffer.
    let read = unsafe { libc::read(descriptor, content.as_mut_ptr().cast(), content.len()) };
    let errno = Errno::last();
    // SAFETY: this function owns the descriptor, and no code uses it afterwards.
    unsafe { libc::close(descriptor) };
    content.truncate(usize::try_from(read).map_err(|_negative| errno)?);
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_device_is_named() {
        let error = UmadPort::open(Path::new("/nowhere/umad0"), HeaderSize::Old).unwrap_err();
        assert_eq!(
            error.to_string(),
            "cannot open /nowhere/umad0: ENOENT (no such file or directory)"
        );
        assert_eq!(error.errno(), Errno::NO_ENTRY);
    }

    #[test]
    fn file_that_is_no_umad_device_cannot_register() {
        let port = UmadPort::open(Path::new("/dev/null"), HeaderSize::Negotiated).unwrap();
        assert_eq!(port.header, OLD_HEADER, "the request for another header failed");
        let wanted =
            Registration { class: 1, version: 1, queue_pair: 0, rmpp_version: 0, vendor: None };
        let error = port.register(wanted).unwrap_err();
        assert!(error.to_string().contains("does not support management class 0x01"), "{error}");
    }

    #[test]
    fn a_short_packet_is_no_mad() {
        let port = UmadPort::open(Path::new("/dev/null"), HeaderSize::Old).unwrap();
        assert_eq!(port.received(&[0; OLD_HEADER - 1]), None);
        let mut packet = vec![0; OLD_HEADER + 4];
        packet[0] = 7;
        packet[4] = 110;
        let received = port.received(&packet).unwrap();
        assert_eq!((received.agent, received.mad.len()), (7, 4));
        assert_eq!(received.failure, Some(Errno::TIMED_OUT));
    }

    #[test]
    fn a_global_route_is_sent_and_received() {
        let grh = MadGrh {
            gid: std::array::from_fn(|at| 0xf0 + u8::try_from(at).unwrap()),
            gid_index: 3,
            hop_limit: 64,
            traffic_class: 0x68,
            flow_label: 0x000a_bcde,
        };
        for grh in [None, Some(grh)] {
            let address = MadAddress {
                lid: 7,
                sl: 2,
                queue_pair: 1,
                q_key: 0x8001_0000,
                p_key_index: 5,
                grh,
            };
            let header = header_to_send(&Sending { agent: 9, address, timeout_ms: 0, retries: 0 });
            let mut port = UmadPort::open(Path::new("/dev/null"), HeaderSize::Old).unwrap();
            port.header = HEADER;
            let mut packet = vec![0; HEADER];
            // SAFETY: the header is a C structure of integers without padding, and as long as the
            // packet.
            unsafe {
                let source = (&raw const header).cast::<u8>();
                std::ptr::copy_nonoverlapping(source, packet.as_mut_ptr(), HEADER);
            }
            assert_eq!(packet[32], u8::from(grh.is_some()), "byte of grh_present");
            assert_eq!(port.received(&packet).unwrap().address, address);
            // The old header ends before the P_Key index.
            port.header = OLD_HEADER;
            let address = MadAddress { p_key_index: 0, ..address };
            assert_eq!(port.received(&packet).unwrap().address, address);
        }
    }

    #[test]
    fn a_method_has_its_bit_in_the_mask() {
        assert_eq!(method_mask(1 << 1 | 1 << 3), [0b1010, 0]);
        assert_eq!(method_mask(1 << 64 | 1 << 127), [0, 1 | 1 << 63]);
    }
}
