//! Pinger and responder over scripted ports: replies, loss, floods, failures.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use super::*;
use crate::mad::{PingReplyBy, ping_replied, ping_reply, ping_request};
use crate::model::GidValue;
use crate::model::probe::{MadPinged, MadPinging};

/// Port whose replies a function makes from requests. Waits take no time.
struct Script<F> {
    reply: F,
    arrived: RefCell<VecDeque<Received>>,
    sent: RefCell<Vec<(Sending, Vec<u8>)>>,
    idle: Cell<u32>,
}

impl<F: Fn(usize, &Sending, &[u8]) -> Result<Vec<Received>, UmadError>> Script<F> {
    fn end(reply: F) -> MadEnd<Self> {
        let wire = Self {
            reply,
            arrived: RefCell::default(),
            sent: RefCell::default(),
            idle: Cell::default(),
        };
        MadEnd { wire, agent: Some(5) }
    }
}

impl<F: Fn(usize, &Sending, &[u8]) -> Result<Vec<Received>, UmadError>> MadWire for Script<F> {
    fn send(&self, how: &Sending, mad: &[u8]) -> Result<(), UmadError> {
        let mut sent = self.sent.borrow_mut();
        sent.push((*how, mad.to_vec()));
        self.arrived.borrow_mut().extend((self.reply)(sent.len(), how, mad)?);
        Ok(())
    }

    fn receive(&self, wait: Duration) -> Result<Option<Received>, UmadError> {
        let next = self.arrived.borrow_mut().pop_front();
        if next.is_none() {
            self.idle.set(self.idle.get() + 1);
            std::thread::park_timeout(wait.min(Duration::from_millis(1)));
        }
        Ok(next)
    }
}

fn received(mad: Vec<u8>, failure: Option<Errno>) -> Received {
    Received { agent: 5, failure, address: MadAddress::default(), mad }
}

fn answer(request: &[u8]) -> Received {
    received(ping_reply(request, "n2").unwrap().to_vec(), None)
}

fn route(own: Option<&str>, peer: &str) -> MadRoute {
    let gids = own.map(|own| MadGids {
        index: 3,
        own: GidValue(own.parse().unwrap()),
        peer: GidValue(peer.parse().unwrap()),
        netdev: None,
        soft_roce: false,
    });
    MadRoute { lid: 7, gids, pkey_index: 2, service_level: 1, traffic_class: 0x68 }
}

fn asking(rounds: u32) -> MadPinging {
    let (interval_ms, slot_ms, reply_ms) = (0, 10_000, 20);
    MadPinging { route: route(None, ""), rounds, interval_ms, slot_ms, reply_ms }
}

const NEVER: &dyn Fn() -> bool = &|| false;

#[test]
fn every_answered_request_is_a_round_trip() {
    let end = Script::end(|_, _, mad| Ok(vec![answer(mad)]));
    let seen = end.ping(&asking(100), NEVER).unwrap();
    assert_eq!((seen.sent, seen.answered, seen.host.as_deref()), (100, 100, Some("n2")));
    let trips = seen.trips.unwrap();
    assert!(trips.count == 100 && trips.p90_ns.is_some() && trips.p99_ns.is_none(), "{trips:?}");
    let sent = end.wire.sent.borrow();
    let (how, mad) = &sent[0];
    assert_eq!((how.agent, how.timeout_ms, how.retries), (5, 20, 0));
    let to =
        MadAddress { lid: 7, sl: 1, queue_pair: 1, q_key: 0x8001_0000, p_key_index: 2, grh: None };
    assert_eq!(how.address, to);
    assert_ne!(mad[12..16], sent[1].1[12..16], "each request has its own transaction");
}

#[test]
fn a_lost_request_is_counted_and_the_next_one_is_sent() {
    // The kernel returns the header only.
    let timeout = |mad: &[u8]| received(mad[..24].to_vec(), Some(Errno::TIMED_OUT));
    let end = Script::end(move |number, _, mad| {
        Ok(match number {
            2 => vec![timeout(mad)],
            3 => vec![],
            _ => vec![answer(mad)],
        })
    });
    let seen = end.ping(&asking(5), NEVER).unwrap();
    assert_eq!((seen.sent, seen.answered, seen.trips.unwrap().count), (5, 3, 3));
}

#[test]
fn a_peer_that_answers_nothing_is_given_up_after_three_requests() {
    let end = Script::end(|_, _, _| Ok(vec![]));
    let seen = end.ping(&asking(1_000), NEVER).unwrap();
    assert_eq!(seen, MadPinged { sent: 3, ..MadPinged::default() });
}

#[test]
fn a_request_that_the_kernel_of_the_peer_returns_is_no_answer() {
    let end = Script::end(|_, _, mad| {
        let mut mad = mad.to_vec();
        (mad[3], mad[5]) = (0x81, 0x0c);
        Ok(vec![received(mad, None)])
    });
    let seen = end.ping(&asking(1_000), NEVER).unwrap();
    assert_eq!((seen.sent, seen.answered, seen.trips), (3, 0, None));
    assert_eq!(seen.refused.as_deref(), Some("unsupported attribute"));
}

#[test]
fn other_mads_are_no_reply() {
    let end = Script::end(|_, _, mad| {
        let other = ping_request(1, PingReplyBy::Response);
        let old = answer(&other);
        let short = received(vec![1, 2, 3], None);
        let failed = received(vec![], Some(Errno::IO));
        Ok(vec![old, short, failed, received(mad.to_vec(), None), answer(mad)])
    });
    let seen = end.ping(&asking(3), NEVER).unwrap();
    assert_eq!((seen.sent, seen.answered), (3, 3));
}

#[test]
fn requests_end_with_the_slot_and_with_a_stop() {
    let end = Script::end(|_, _, mad| Ok(vec![answer(mad)]));
    let ask = MadPinging { interval_ms: 20, slot_ms: 50, ..asking(1_000) };
    let seen = end.ping(&ask, NEVER).unwrap();
    assert!((2..=4).contains(&seen.sent), "{seen:?}");
    let stop = || end.wire.sent.borrow().len() >= 12;
    assert_eq!(end.ping(&asking(1_000), &stop).unwrap().sent + seen.sent, 12);
}

#[test]
fn a_request_over_ipv4_gids_wants_a_reply_that_the_kernel_does_not_match() {
    let end = Script::end(|_, _, mad| Ok(vec![answer(mad)]));
    for (own, peer, timeout_ms, method) in
        [("::ffff:10.1.0.1", "::ffff:10.1.0.2", 0, 0x03), ("fe80::1", "fe80::2", 20, 0x81)]
    {
        let ask = MadPinging { route: route(Some(own), peer), ..asking(1) };
        assert_eq!(end.ping(&ask, NEVER).unwrap().answered, 1);
        let sent = end.wire.sent.borrow();
        let (how, mad) = sent.last().unwrap();
        let grh = how.address.grh.unwrap();
        assert_eq!((grh.gid_index, grh.hop_limit, grh.traffic_class), (3, 64, 0x68));
        assert_eq!(GidValue(grh.gid.into()).to_string(), peer);
        assert_eq!((how.timeout_ms, ping_reply(mad, "").unwrap()[3]), (timeout_ms, method));
    }
}

#[test]
fn a_request_that_cannot_leave_is_a_failure_to_connect() {
    let refuse = |errno| {
        move |_: usize, _: &Sending, _: &[u8]| {
            Err(UmadError::Send { path: "/dev/infiniband/umad0".into(), errno })
        }
    };
    let cause = |errno| Script::end(refuse(errno)).ping(&asking(9), NEVER).unwrap_err();
    let error = cause(Errno::TIMED_OUT);
    assert_eq!((error.stage, error.cause), (Stage::Connect, Cause::Errno("ETIMEDOUT".into())));
    assert_eq!(cause(Errno::INVALID).cause, Cause::Errno("ENODATA".into()), "the GID moved");
}

#[test]
fn a_reply_goes_back_the_way_that_the_request_came() {
    let end = Script::end(|_, _, _| Ok(vec![]));
    let grh = MadGrh { gid: [9; 16], gid_index: 2, hop_limit: 1, traffic_class: 8, flow_label: 4 };
    let from =
        MadAddress { lid: 3, sl: 4, queue_pair: 1, q_key: 0, p_key_index: 6, grh: Some(grh) };
    let request = ping_request(77, PingReplyBy::Response).to_vec();
    let came = Received { agent: 5, failure: None, address: from, mad: request };
    let other = received(vec![1; 256], None);
    end.wire.arrived.borrow_mut().extend([other, came]);
    let is_over = || end.wire.idle.get() > 0;
    assert_eq!(end.serve(&route(None, ""), "n9", &is_over).unwrap(), 1);
    let sent = end.wire.sent.borrow();
    let (how, mad) = &sent[0];
    let to = MadAddress { q_key: Q_KEY, grh: Some(MadGrh { hop_limit: 64, ..grh }), ..from };
    assert_eq!((how.address, how.timeout_ms, how.retries), (to, 0, 0));
    assert_eq!(ping_replied(mad, 77), Some(Ok("n9".into())));
}

#[test]
fn replies_that_the_kernel_refuses_are_a_failure() {
    let end = Script::end(|_, _, _| {
        Err(UmadError::Send {
            path: "/dev/infiniband/umad0".into(),
            errno: Errno::HOST_UNREACHABLE,
        })
    });
    let request = ping_request(1, PingReplyBy::Response).to_vec();
    end.wire.arrived.borrow_mut().push_back(received(request, None));
    let error = end.serve(&route(None, ""), "n9", &|| end.wire.idle.get() > 0).unwrap_err();
    assert_eq!(error.stage, Stage::Connect);
}

#[test]
fn a_port_that_another_process_serves_is_left_to_that_process() {
    let end = MadEnd { agent: None, ..Script::end(|_, _, mad| Ok(vec![answer(mad)])) };
    let request = ping_request(1, PingReplyBy::Response).to_vec();
    end.wire.arrived.borrow_mut().push_back(received(request, None));
    assert_eq!(end.serve(&route(None, ""), "n9", &|| end.wire.idle.get() > 0).unwrap(), 0);
    assert_eq!(end.ping(&asking(1), NEVER).unwrap_err().cause, Cause::Order);
}

#[test]
fn only_a_device_file_for_mads_is_opened() {
    assert_eq!(device_file("umad12").unwrap(), Path::new("/dev/infiniband/umad12"));
    for bad in ["umad", "issm0", "umad0/../uverbs0", "umad-1", "umad999999", ""] {
        assert_eq!(device_file(bad).unwrap_err().cause, Cause::Order, "{bad}");
    }
}

#[test]
fn missing_and_forbidden_device_files_have_different_causes() {
    let path = Path::new("/nowhere/umad0");
    let missing = MadEnd::open(path, HeaderSize::Old, Role::Source).unwrap_err();
    assert_eq!((missing.cause, missing.fix), (Cause::NoUmad, None));
    let denied = open_error(&UmadError::Open { path: path.into(), errno: Errno::ACCESS });
    assert_eq!(denied.cause, Cause::Errno("EACCES".into()));
    assert!(denied.fix.is_some_and(|fix| fix.contains("--sudo")));
    let other = open_error(&UmadError::Register {
        path: path.into(),
        class: 0x32,
        errno: Errno::PROTOCOL_NOT_SUPPORTED,
    });
    assert_eq!(other.cause, Cause::Unsupported);
}
