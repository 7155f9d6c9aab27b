//! Measures the minimum cost of querying many hosts. It is a plain loop over ssh2 that starts the
//! agent with the query of `rdmactl devices -H`. `packaging/bench fleet` compares rdmactl with
//! it.
//!
//!     fleet_floor KEY FANOUT PART,... ADDRESS...
//!
//! It reads no configuration, verifies no host key, has no deadline and does not parse the
//! report.
#![expect(clippy::print_stdout, reason = "a maintainer's tool prints its findings")]

use std::io::{BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, thread};

use anyhow::{Context as _, Result, bail, ensure};
use rdmactl::fleet::Nonce;
use rdmactl::fleet::remote_command::{NO_AGENT, Privilege, STARTED, installed_agent};
use rdmactl::model::Parts;
use rdmactl::wire::{FrameReader, FrameWriter, FromAgent, GreetingReader, ToAgent};
use ssh2::{Channel, Session};

fn main() -> Result<()> {
    let words: Vec<String> = env::args().skip(1).collect();
    let [key, fanout, parts, addresses @ ..] = words.as_slice() else {
        bail!("usage: fleet_floor KEY FANOUT PART,... ADDRESS...");
    };
    let (key, fanout) = (Path::new(key), fanout.parse::<usize>()?);
    let parts: Vec<&str> = parts.split(',').filter(|part| !part.is_empty()).collect();
    let parts: Parts = serde_json::from_value(serde_json::json!(parts))?;
    let next = AtomicUsize::new(0);
    let serve = || -> Result<usize> {
        let mut bytes = 0;
        while let Some(address) = addresses.get(next.fetch_add(1, Ordering::Relaxed)) {
            bytes += query(address, key, &parts).with_context(|| address.clone())?;
        }
        Ok(bytes)
    };
    let bytes: usize = thread::scope(|scope| {
        let threads: Vec<_> = (0..fanout).map(|_| scope.spawn(serve)).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().map_err(|_panic| anyhow::anyhow!("a panic"))?)
            .sum::<Result<_>>()
    })?;
    println!("{} hosts, {bytes} bytes", addresses.len());
    Ok(())
}

/// Sends a message without a flush. A flush of the channel would discard received bytes that were
/// not yet read.
fn send(channel: &mut Channel, message: &ToAgent) -> Result<()> {
    let mut frame = Vec::new();
    FrameWriter::new(&mut frame).write(message)?;
    Ok(channel.write_all(&frame)?)
}

/// Requests the report of one host and returns its size, in bytes.
fn query(address: &str, key: &Path, parts: &Parts) -> Result<usize> {
    let socket = TcpStream::connect((address, 22))?;
    socket.set_nodelay(true)?;
    let mut session = Session::new()?;
    session.set_tcp_stream(socket);
    session.handshake()?;
    session.userauth_pubkey_file("root", None, key, None)?;
    let mut channel = session.channel_session()?;
    let nonce = Nonce::new()?;
    channel.exec(&installed_agent(nonce, Privilege::Login))?;
    let request = ToAgent::Report { parts: parts.clone(), limit_ms: 8_000, base: None };
    send(&mut channel, &request)?;
    let mut output = BufReader::new(channel.stream(0));
    GreetingReader::new(&nonce, NO_AGENT, STARTED).read(&mut output)?;
    let mut frames = FrameReader::new(&mut output);
    let mut bytes = 0;
    loop {
        match frames.read()? {
            Some(FromAgent::ReportPart { text, is_last }) => {
                bytes += text.len();
                if is_last {
                    break;
                }
            }
            Some(_) => {}
            None => bail!("the agent sent no report"),
        }
    }
    send(&mut channel, &ToAgent::Bye)?;
    output.read_to_end(&mut Vec::new())?;
    channel.wait_close()?;
    ensure!(channel.exit_status()? == 0, "the agent failed");
    Ok(bytes)
}
