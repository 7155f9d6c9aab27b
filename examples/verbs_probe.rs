//! Tests `rdmactl::sys` on a real kernel, without the modules above it.
//!
//!     verbs_probe inventory
//!     verbs_probe rc DEVICE GID_INDEX [ROUNDS]     two RC queue pairs of one process
//!     verbs_probe ud DEVICE GID_INDEX [ROUNDS]     two UD queue pairs of one process
//!     verbs_probe dead DEVICE GID_INDEX            a send to a queue pair that does not exist
//!     verbs_probe cm-server ADDRESS [ROUNDS]       prints its port, serves one client
//!     verbs_probe cm-client ADDRESS:PORT [ROUNDS]
#![expect(clippy::print_stdout, reason = "a maintainer's tool prints its findings")]

use std::env;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use rdmactl::clock::{self, Deadline};
use rdmactl::sys::cm::{CmEndpoint, CmError, ConnectOptions, ConnectionProof, Listener};
use rdmactl::sys::verbs::{
    AccessFlags, AddressHandle, Batch, Buffer, Capacity, CompletionQueue, CompletionStatus,
    ConnectedInit, Datagram, DatagramInit, Destination, Device, DeviceList, Domain, Grh,
    LocalRoute, Mtu, Notify, Parts, Path, QueuePair, ReadyToReceive, ReadyToSend, Reliable,
    RemoteAddress, Signal, Transport, WorkRequest,
};

const SIZE: usize = 8192;
const GRH: usize = 40;
const CAPACITY: Capacity = Capacity { sends: 16, receives: 16, inline_bytes: 64 };
const PROOF: ConnectionProof = *b"rdmactl1";
const OPTIONS: ConnectOptions =
    ConnectOptions { retry_count: 3, rnr_retry: 3, proof: PROOF, proof_of_peer: PROOF };

fn main() -> Result<()> {
    let args: Vec<String> = env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let rounds = |text: Option<&&str>| text.map_or(Ok(1000), |text| text.parse());
    match args.as_slice() {
        ["inventory"] => inventory(),
        ["rc", device, gid, rest @ ..] => rc(device, gid.parse()?, rounds(rest.first())?),
        ["ud", device, gid, rest @ ..] => ud(device, gid.parse()?, rounds(rest.first())?),
        ["dead", device, gid] => dead(device, gid.parse()?),
        ["cm-server", address, rest @ ..] => server(address.parse()?, rounds(rest.first())?),
        ["cm-client", address, rest @ ..] => client(address.parse()?, rounds(rest.first())?),
        _ => bail!("see the head of examples/verbs_probe.rs"),
    }
}

fn inventory() -> Result<()> {
    for entry in DeviceList::get()?.entries() {
        println!("{entry:x?}, iwarp {}", entry.is_iwarp());
        let device = Device::open(&entry.name)?;
        let attr = device.attr()?;
        println!("{attr:?}");
        for port in 1..=u8::try_from(attr.port_count())? {
            let port_attr = device.port(port)?;
            println!("port {port}: {port_attr:?}");
            println!("mtu {:?}, pkey 0: {:x?}", port_attr.active_mtu(), device.pkey(port, 0));
            println!("gid 0: {:x?}", device.gid(port, 0)?);
        }
    }
    Ok(())
}

fn parts(device: &Device, notify: Notify) -> Result<Parts> {
    let queue = CompletionQueue::new(device, 64, notify)?;
    let buffer = Buffer::new(&Domain::new(device)?, 2 * SIZE, AccessFlags::default())?;
    Ok(Parts { send_queue: queue.clone(), receive_queue: queue, buffer })
}

/// Returns the path from port 1 to itself, with its MTU.
fn to_self(device: &Device, gid: u16) -> Result<(Path, Mtu)> {
    let port = device.port(1)?;
    let remote = device.gid(1, gid)?;
    let grh = Grh {
        remote,
        local_index: u8::try_from(gid)?,
        hop_limit: 64,
        traffic_class: 0,
        flow_label: 0,
    };
    let target = if port.is_ethernet() {
        RemoteAddress::Grh(grh)
    } else {
        RemoteAddress::Lid(LocalRoute { lid: port.attr.lid, source_path_bits: 0 })
    };
    let mtu = port.active_mtu().context("no MTU")?;
    Ok((Path { port: 1, service_level: 0, target }, mtu))
}

fn connect(qp: &mut QueuePair<Reliable>, remote_qp: u32, path: Path, mtu: Mtu) -> Result<()> {
    qp.to_init(ConnectedInit { port: 1, pkey_index: 0, access: AccessFlags::default() })?;
    qp.to_receive(&ReadyToReceive {
        path,
        mtu,
        remote_qp,
        receive_psn: 7,
        max_dest_rd_atomic: 1,
        min_rnr_timer: 12,
    })?;
    let send =
        ReadyToSend { timeout: 14, retry_count: 3, rnr_retry: 3, send_psn: 7, max_rd_atomic: 1 };
    Ok(qp.to_send(send)?)
}

/// Waits for a completion of each kind in `want`, and returns the received length. Ids are 1 for
/// sends and 2 for receives.
///
/// `seen` keeps other completions, for example of the peer's next message.
fn complete<T: Transport>(qp: &QueuePair<T>, want: u64, seen: &mut LastResponse) -> Result<usize> {
    let deadline = Deadline::after(Duration::from_secs(5));
    while seen.ids & want != want {
        ensure!(!deadline.is_over(), "no completion in time");
        if qp.send_queue().poll(&mut seen.batch)? == 0 {
            std::thread::yield_now();
        }
        for completion in seen.batch.iter() {
            ensure!(completion.status == CompletionStatus::Success, "{}", completion.status);
            seen.ids |= completion.id;
            if completion.id == 2 {
                seen.length = usize::try_from(completion.length)?;
            }
        }
    }
    seen.ids &= !want;
    Ok(seen.length)
}

/// Completions of one queue that no call has waited for.
#[derive(Default)]
struct LastResponse {
    batch: Batch,
    ids: u64,
    length: usize,
}

fn rc(name: &str, gid: u16, rounds: u32) -> Result<()> {
    let device = Device::open(name)?;
    let (path, mtu) = to_self(&device, gid)?;
    let mut one = QueuePair::<Reliable>::new(parts(&device, Notify::Channel)?, CAPACITY)?;
    let mut two = QueuePair::<Reliable>::new(parts(&device, Notify::Channel)?, CAPACITY)?;
    let numbers = (one.number(), two.number());
    connect(&mut one, numbers.1, path, mtu)?;
    connect(&mut two, numbers.0, path, mtu)?;
    println!("{one:?} and {two:?} connected, inline {}", one.inline_bytes());
    let (mut at_one, mut at_two) = (LastResponse::default(), LastResponse::default());
    for length in [0, 8, 64, 1024, SIZE] {
        let start = clock::now();
        for round in 0..rounds {
            let pattern = vec![round.to_le_bytes()[0] ^ 0x5a; length];
            two.post_receive(WorkRequest { id: 2, offset: SIZE, length: SIZE })?;
            one.write(0, &pattern)?;
            one.post_send(WorkRequest { id: 1, offset: 0, length }, Signal::Always)?;
            let received = complete(&two, 2, &mut at_two)?;
            complete(&one, 1, &mut at_one)?;
            let mut got = vec![0; length];
            two.buffer().read(SIZE, &mut got)?;
            ensure!(received == length && got == pattern, "wrong bytes in round {round}");
        }
        println!("{length} bytes: {rounds} good, {:?} each", start.elapsed() / rounds);
    }
    wait_for_event(&mut one, &mut two, &mut at_two)?;
    println!(
        "refused: {:?}",
        one.post_receive(WorkRequest { id: 2, offset: SIZE, length: SIZE + 1 })
    );
    Ok(())
}

/// Sends a message and waits for it through the completion channel.
fn wait_for_event(
    one: &mut QueuePair<Reliable>,
    two: &mut QueuePair<Reliable>,
    at_two: &mut LastResponse,
) -> Result<()> {
    two.receive_queue().arm()?;
    ensure!(!two.receive_queue().wait(Deadline::after(Duration::from_millis(50)))?, "early event");
    two.post_receive(WorkRequest { id: 2, offset: SIZE, length: SIZE })?;
    one.post_send(WorkRequest { id: 1, offset: 0, length: 8 }, Signal::OnFailure)?;
    ensure!(two.receive_queue().wait(Deadline::after(Duration::from_secs(2)))?, "no event");
    println!("event, {} bytes", complete(two, 2, at_two)?);
    Ok(())
}

fn ud(name: &str, gid: u16, rounds: u32) -> Result<()> {
    let device = Device::open(name)?;
    let (path, _) = to_self(&device, gid)?;
    let init = DatagramInit { port: 1, pkey_index: 0, qkey: 0x1234_5678 };
    let mut ends = Vec::new();
    for _ in 0..2 {
        let mut qp = QueuePair::<Datagram>::new(parts(&device, Notify::Never)?, CAPACITY)?;
        qp.to_datagram_init(init)?;
        qp.to_receive()?;
        qp.to_send(7)?;
        ends.push(qp);
    }
    let (Some(mut two), Some(mut one)) = (ends.pop(), ends.pop()) else { bail!("two ends") };
    let (mut at_one, mut at_two) = (LastResponse::default(), LastResponse::default());
    let foreign = AddressHandle::new(&Domain::new(&device)?, &path)?;
    let wrong = Destination { address: &foreign, qp_num: two.number(), qkey: init.qkey };
    let request = WorkRequest { id: 1, offset: 0, length: 8 };
    println!("refused: {:?}", one.post_datagram(request, Signal::Always, &wrong));
    let mine = AddressHandle::new(one.buffer().domain(), &path)?;
    let to = Destination { address: &mine, qp_num: two.number(), qkey: init.qkey };
    let start = clock::now();
    for round in 0..rounds {
        let pattern = round.to_le_bytes();
        two.post_receive(WorkRequest { id: 2, offset: SIZE, length: SIZE })?;
        one.write(0, &pattern)?;
        one.post_datagram(WorkRequest { length: 4, ..request }, Signal::Always, &to)?;
        complete(&one, 1, &mut at_one)?;
        ensure!(complete(&two, 2, &mut at_two)? == 44, "GRH and four bytes");
        let mut got = [0; 4];
        two.buffer().read(SIZE + GRH, &mut got)?;
        ensure!(got == pattern, "wrong bytes in round {round}");
    }
    println!("{rounds} datagrams good, {:?} each", start.elapsed() / rounds);
    Ok(())
}

fn dead(name: &str, gid: u16) -> Result<()> {
    let device = Device::open(name)?;
    let (path, mtu) = to_self(&device, gid)?;
    let mut qp = QueuePair::<Reliable>::new(parts(&device, Notify::Never)?, CAPACITY)?;
    connect(&mut qp, 0xab_cdef, path, mtu)?;
    qp.post_send(WorkRequest { id: 1, offset: 0, length: 8 }, Signal::Always)?;
    let start = clock::now();
    let answer = complete(&qp, 1, &mut LastResponse::default());
    println!("{:?} after {:?}", answer.err().map(|error| error.to_string()), start.elapsed());
    Ok(())
}

fn soon() -> Deadline {
    Deadline::after(Duration::from_secs(10))
}

fn prepare(end: &mut CmEndpoint) -> Result<()> {
    println!("on {} port {}", end.device().name(), end.device_port());
    let parts = parts(end.device(), Notify::Channel)?;
    let qp = end.queue_pair(parts, CAPACITY)?;
    Ok(qp.post_receive(WorkRequest { id: 2, offset: SIZE, length: SIZE })?)
}

fn server(address: IpAddr, rounds: u32) -> Result<()> {
    let listener = Listener::bind(SocketAddr::new(address, 0), 8)?;
    println!("{}", listener.port());
    let mut end = listener.next(PROOF, Deadline::after(Duration::from_secs(60)))?;
    prepare(&mut end)?;
    let mut connection = end.establish(OPTIONS, soon())?;
    let mut seen = LastResponse::default();
    for _ in 0..rounds {
        let qp = connection.qp();
        let length = complete(qp, 2, &mut seen)?;
        let mut bytes = vec![0; length];
        qp.buffer().read(SIZE, &mut bytes)?;
        qp.write(0, &bytes)?;
        qp.post_receive(WorkRequest { id: 2, offset: SIZE, length: SIZE })?;
        qp.post_send(WorkRequest { id: 1, offset: 0, length }, Signal::Always)?;
        complete(qp, 1, &mut seen)?;
    }
    println!("{:?}", connection.event(soon())?);
    Ok(())
}

fn client(address: SocketAddr, rounds: u32) -> Result<()> {
    let mut end = CmEndpoint::resolve(None, address, soon())?;
    prepare(&mut end)?;
    let start = clock::now();
    let connection = end.establish(OPTIONS, soon());
    if let Err(error) = &connection {
        println!("{error}, rejected {}, {:?}", error.is_rejected(), start.elapsed());
    }
    let mut connection = connection?;
    println!("connected in {:?}", start.elapsed());
    let mut seen = LastResponse::default();
    let start = clock::now();
    for round in 0..rounds {
        let qp = connection.qp();
        qp.write(0, &round.to_le_bytes())?;
        qp.post_send(WorkRequest { id: 1, offset: 0, length: 4 }, Signal::Always)?;
        complete(qp, 3, &mut seen)?;
        let mut got = [0; 4];
        qp.buffer().read(SIZE, &mut got)?;
        ensure!(got == round.to_le_bytes(), "wrong bytes in round {round}");
        qp.post_receive(WorkRequest { id: 2, offset: SIZE, length: SIZE })?;
    }
    println!("{rounds} round trips good, {:?} each", start.elapsed() / rounds);
    let answer: Result<(), CmError> = connection.disconnect(soon());
    Ok(answer?)
}
