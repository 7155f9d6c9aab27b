//! Servers that violate the SSH protocol or do not respond.

#![allow(clippy::expect_used, clippy::panic, reason = "without its test bed a test must end")]

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

/// Behavior of a server after a client has connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Silent,
    DripsItsBanner,
    EndlessLines,
    EndlessLine,
    ClosesAtOnce,
    SaysNotAllowed,
    SilentAfterBanner,
    SaysMaxStartups,
    HugePacket,
}

pub(crate) const ALL: [Kind; 9] = [
    Kind::Silent,
    Kind::DripsItsBanner,
    Kind::EndlessLines,
    Kind::EndlessLine,
    Kind::ClosesAtOnce,
    Kind::SaysNotAllowed,
    Kind::SilentAfterBanner,
    Kind::SaysMaxStartups,
    Kind::HugePacket,
];

const BANNER: &[u8] = b"SSH-2.0-OpenSSH_9.2\r\n";

/// Starts a server that runs as long as the test process. Returns its port.
pub(crate) fn start(kind: Kind, address: &str) -> u16 {
    let listener = TcpListener::bind((address, 0)).expect("a free port");
    let port = listener.local_addr().expect("its number").port();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // The thread of a connection ends when the client closes it.
            thread::spawn(move || serve(kind, stream));
        }
    });
    port
}

fn serve(kind: Kind, mut stream: TcpStream) -> io::Result<()> {
    match kind {
        Kind::ClosesAtOnce => return Ok(()),
        Kind::SaysNotAllowed => return stream.write_all(b"Not allowed at this time\r\n"),
        Kind::SaysMaxStartups => return stream.write_all(b"Exceeded MaxStartups\r\n"),
        Kind::Silent => {}
        Kind::DripsItsBanner => {
            // The timeout of the read is the pause between two bytes.
            stream.set_read_timeout(Some(Duration::from_millis(300)))?;
            for byte in BANNER.iter().chain(&[b'x'; 1000]) {
                stream.write_all(&[*byte])?;
                let _ = stream.read(&mut [0; 1024]);
            }
        }
        Kind::EndlessLines => loop {
            stream.write_all(b"wait a moment\r\n")?;
        },
        Kind::EndlessLine => loop {
            stream.write_all(&[b'A'; 4096])?;
        },
        Kind::SilentAfterBanner => stream.write_all(BANNER)?,
        Kind::HugePacket => {
            stream.write_all(BANNER)?;
            stream.write_all(&[0x7f, 0xff, 0xff, 0xff, 5, 20])?;
            stream.write_all(&[0; 4096])?;
        }
    }
    let mut sink = [0; 4096];
    while stream.read(&mut sink)? > 0 {}
    Ok(())
}

/// Starts a relay to a server. The relay ends its first `connections` connections after `bytes`
/// bytes from the client.
pub(crate) fn start_relay(
    server: (String, u16),
    (connections, bytes): (usize, usize),
    address: &str,
) -> u16 {
    let listener = TcpListener::bind((address, 0)).expect("a free port");
    let port = listener.local_addr().expect("its number").port();
    thread::spawn(move || {
        for (number, client) in listener.incoming().flatten().enumerate() {
            let limit = if number < connections { bytes } else { usize::MAX };
            let server = TcpStream::connect((server.0.as_str(), server.1));
            thread::spawn(move || relay(&client, &server?, limit));
        }
    });
    port
}

fn relay(client: &TcpStream, server: &TcpStream, limit: usize) -> io::Result<()> {
    thread::scope(|scope| {
        scope.spawn(|| {
            let (mut from, mut to) = (server, client);
            let _ = io::copy(&mut from, &mut to);
            client.shutdown(Shutdown::Both)
        });
        let (from, mut to) = (client, server);
        let ended = io::copy(&mut from.take(limit as u64), &mut to);
        // Like a crash of the session: both sides get no more data.
        let _ = client.shutdown(Shutdown::Both);
        server.shutdown(Shutdown::Both)?;
        ended.map(drop)
    })
}
