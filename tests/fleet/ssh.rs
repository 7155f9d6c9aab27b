//! Sessions and pipes against real sshd processes.

#![allow(clippy::unwrap_used, reason = "without its test bed a test must end")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::Shutdown;
use std::sync::Arc;
use std::time::Duration;

use crate::sshd::{Setup, Sshd, connector, seconds};
use rdmactl::clock::{self, Deadline};
use rdmactl::fleet::remote_command::Privilege;
use rdmactl::fleet::{Access, Agent, Nonce, Target, Watchdog};
use rdmactl::model::Reason;
use rdmactl::model::ping::Life;
use rdmactl::ping::{Liveness, Node as _};
use rustix::process::{Pid, Signal, kill_process};

fn bytes(count: usize) -> Vec<u8> {
    (0..=250).cycle().zip(0..count).map(|(byte, _)| byte).collect()
}

#[test]
fn a_command_gives_its_output_stderr_and_status() {
    let server = Sshd::start();
    let session = server.connect().unwrap();
    let pipe = session.exec("echo out; echo err >&2; exit 3", seconds(5)).unwrap();
    let output = pipe.exchange(b"", 1000, seconds(5)).unwrap();
    assert_eq!(output.stdout, b"out\n");
    assert_eq!(output.stderr, b"err\n");
    assert_eq!(output.exit.status, Some(3));
    let pipe = session.exec("kill -TERM $$", seconds(5)).unwrap();
    let exit = pipe.exchange(b"", 1000, seconds(5)).unwrap().exit;
    assert_eq!((exit.status, exit.signal.as_deref()), (None, Some("TERM")));
}

#[test]
fn a_mebibyte_comes_back_whole_through_bounded_buffers() {
    let server = Sshd::start();
    let session = server.connect().unwrap();
    for count in [0, 1, 64 * 1024, 1024 * 1024, 5_000_003, 5_000_003, 5_000_003] {
        let pipe = session.exec("cat", seconds(5)).unwrap();
        let sent = bytes(count);
        let output = pipe.exchange(&sent, count, seconds(20)).unwrap();
        assert!(output.stdout == sent, "{count} bytes");
        assert_eq!(output.exit.status, Some(0));
    }
}

#[test]
fn unread_channel_blocks_its_command_and_no_other_channel() {
    let server = Sshd::start();
    let session = server.connect().unwrap();
    let flood = session.exec("head -c 20000000 /dev/zero; echo end >&2", seconds(5)).unwrap();
    // The first channel blocks because its pipe is full. Another channel still works.
    for _ in 0..3 {
        let echo = session.exec("cat", seconds(5)).unwrap();
        assert_eq!(echo.exchange(b"alive", 100, seconds(5)).unwrap().stdout, b"alive");
    }
    assert_eq!(flood.stderr(), b"", "the buffers hold less than 20 MB");
    let output = flood.exchange(b"", 20_000_000, seconds(20)).unwrap();
    assert_eq!(output.stdout.len(), 20_000_000);
    assert_eq!(output.stderr, b"end\n");
}

#[test]
fn a_command_that_does_not_read_stops_the_writer() {
    let server = Sshd::start();
    let session = server.connect().unwrap();
    let deaf = session.exec("exec sleep 100", seconds(5)).unwrap();
    deaf.stream().set_write_timeout(Some(Duration::from_millis(700))).unwrap();
    let chunk = bytes(64 * 1024);
    let mut written = 0;
    while let Ok(count) = deaf.stream().write(&chunk) {
        written += count;
        assert!(written < 8 << 20, "the buffers are not bounded");
    }
    let echo = session.exec("cat", seconds(5)).unwrap();
    assert_eq!(echo.exchange(b"alive", 100, seconds(5)).unwrap().stdout, b"alive");
}

#[test]
fn two_channels_talk_in_turns() {
    let server = Sshd::start();
    let session = server.connect().unwrap();
    let (one, two) =
        (session.exec("cat", seconds(5)).unwrap(), session.exec("cat", seconds(5)).unwrap());
    for round in 0..50_u32 {
        for pipe in [&one, &two] {
            let sent = round.to_be_bytes();
            pipe.stream().write_all(&sent).unwrap();
            let mut back = [0; 4];
            pipe.stream().read_exact(&mut back).unwrap();
            assert_eq!(back, sent);
        }
    }
    drop(session);
    one.close_input();
    assert_eq!(one.wait(seconds(5)).unwrap().status, Some(0));
    two.stream().shutdown(Shutdown::Both).unwrap();
    assert!(two.wait(seconds(5)).is_ok());
}

#[test]
fn a_host_that_closes_the_connection_of_a_running_command_is_lost() {
    let server = Sshd::start();
    let session = server.connect().unwrap();
    // The process of the session has read everything when it ends, so that its kernel sends a FIN
    // and no RST.
    let pipe = session.exec("sleep 1; kill -9 $PPID; sleep 1", seconds(5)).unwrap();
    let failure = pipe.exchange(b"", 1000, seconds(20)).unwrap_err();
    assert_eq!(failure.reason, Reason::Lost, "{failure}");
}

#[test]
fn a_frozen_host_ends_at_its_deadline_and_not_a_step_later() {
    let server = Sshd::start();
    let session = connector().connect(&server.target(), seconds(60)).unwrap();
    let pipe = session.exec("echo $PPID; read go; kill -STOP $PPID; cat", seconds(5)).unwrap();
    let mut line = String::new();
    BufReader::new(pipe.stream()).read_line(&mut line).unwrap();
    let frozen = Pid::from_raw(line.trim().parse().unwrap()).unwrap();
    pipe.stream().write_all(b"go\n").unwrap();
    let began = clock::now();
    session.set_deadline(Some(Deadline::after(Duration::from_secs(1))));
    let failure = pipe.exchange(b"more", 1000, seconds(30)).unwrap_err();
    assert_eq!(failure.reason, Reason::Timeout, "{failure}");
    assert_eq!(session.exec("echo", seconds(30)).unwrap_err().reason, Reason::Lost);
    drop((pipe, session));
    let took = began.elapsed();
    kill_process(frozen, Signal::KILL).unwrap();
    // The shortest time limit of a step is five seconds.
    assert!(took < Duration::from_secs(4), "{took:?}");
}

/// Agent with a worker on a host that the test can stop and continue.
struct PausableHost {
    agent: Agent,
    processes: Processes,
    clock: Watchdog,
}

/// Process of sshd that serves the connection, and process of the agent.
struct Processes([Pid; 2]);

impl Drop for Processes {
    fn drop(&mut self) {
        // After a failed test, a stopped process could not end.
        for process in self.0 {
            let _ = kill_process(process, Signal::CONT);
        }
    }
}

impl PausableHost {
    fn of(server: &Sshd) -> Self {
        let session: Arc<dyn Access> = Arc::new(server.connect().unwrap());
        let nonce = Nonce::new().unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        let (path, binary) = (file.path().display(), env!("CARGO_BIN_EXE_rdmactl"));
        let command = format!("echo $PPID $$ >{path}; exec {binary} agent {nonce}");
        let pipe = session.exec(&command, seconds(20)).unwrap();
        let agent =
            Agent::await_greeting(&session, pipe, nonce, Privilege::Login, seconds(20)).unwrap();
        agent.start_worker().unwrap();
        // The first message of the agent is not a heartbeat.
        assert_eq!([agent.life(), agent.life()], [Life::Alive, Life::Alive]);
        let pids = std::fs::read_to_string(file.path()).unwrap();
        let mut pids = pids.split_whitespace().map(|pid| Pid::from_raw(pid.parse().unwrap()));
        let processes = Processes(std::array::from_fn(|_| pids.next().flatten().unwrap()));
        Self { agent, processes, clock: Watchdog::start().unwrap() }
    }

    fn signal(&self, signal: Signal) {
        for process in self.processes.0 {
            kill_process(process, signal).unwrap();
        }
    }

    fn wait(&self, time: Duration) {
        assert!(!self.clock.wait_cancelled(time));
    }

    /// Returns the end of the agent. Heartbeats that arrive late count as signs of life, so the
    /// function checks up to ten times.
    fn final_life(&self) -> Life {
        let lives = std::iter::repeat_with(|| self.agent.life());
        lives.take(10).find(|life| *life != Life::Alive).unwrap_or(Life::Alive)
    }
}

#[test]
fn a_host_that_pauses_is_neither_dead_nor_hung() {
    let server = Sshd::start();
    let host = PausableHost::of(&server);
    host.signal(Signal::STOP);
    // After one second no heartbeat is in flight. One second later rdmactl tests the host.
    host.wait(Duration::from_secs(1));
    let life = std::thread::scope(|scope| {
        let judge = scope.spawn(|| host.agent.life());
        host.wait(Duration::from_secs(2));
        host.signal(Signal::CONT);
        judge.join().unwrap()
    });
    assert_eq!((life, host.agent.known_life()), (Life::Alive, Liveness::Alive));
    assert_eq!(host.agent.end(seconds(10)), Ok(()));
}

#[test]
fn a_stopped_agent_of_a_host_that_answers_is_hung_and_killed() {
    let server = Sshd::start();
    let host = PausableHost::of(&server);
    kill_process(host.processes.0[1], Signal::STOP).unwrap();
    let Life::Hung(why) = host.final_life() else { panic!("it does not run") };
    assert_eq!(why, "agent unresponsive for 2 s; SSH still responds");
    let stat = format!("/proc/{}/stat", host.processes.0[1].as_raw_nonzero());
    let is_gone = (0..100).any(|_| {
        host.wait(Duration::from_millis(50));
        // A zombie has ended, too.
        std::fs::read_to_string(&stat).map_or(true, |stat| stat.contains(") Z "))
    });
    assert!(is_gone);
    assert_eq!(host.agent.end(seconds(10)), Ok(()));
}

#[test]
fn dead_host_that_responds_again_is_alive() {
    let server = Sshd::start();
    let host = PausableHost::of(&server);
    host.signal(Signal::STOP);
    let Life::Dead(why) = host.final_life() else { panic!("it answers nothing") };
    assert!(
        why.starts_with("the agent does not respond, and a test command over SSH failed: "),
        "{why}"
    );
    let began = clock::now();
    assert_eq!(host.agent.known_life(), Liveness::Gone(Life::Dead(why)));
    assert!(began.elapsed() < Duration::from_secs(1), "rdmactl tests a dead host once");
    host.signal(Signal::CONT);
    let is_heard = (0..200).any(|_| {
        host.wait(Duration::from_millis(50));
        host.agent.known_life() == Liveness::Alive
    });
    assert!(is_heard);
    assert_eq!(host.agent.life(), Life::Alive);
    assert_eq!(host.agent.end(seconds(10)), Ok(()));
}

#[test]
fn a_session_that_sshd_ends_is_no_dead_host_and_leaves_no_agent() {
    let server = Sshd::start();
    let host = PausableHost::of(&server);
    // The process that serves the connection ends. The listener of sshd still runs.
    kill_process(host.processes.0[0], Signal::KILL).unwrap();
    let life = host.final_life();
    let Life::Disconnected(why) = life else { panic!("{life:?}") };
    assert!(
        why.starts_with("the connection of the agent over SSH ended (")
            && why.ends_with("; the host responds"),
        "{why}"
    );
    assert_eq!(host.agent.end(seconds(10)), Ok(()));
}

#[test]
fn a_stopped_agent_is_killed_over_a_new_connection() {
    let server = Sshd::start();
    let host = PausableHost::of(&server);
    let [sshd, agent] = host.processes.0;
    kill_process(agent, Signal::STOP).unwrap();
    kill_process(sshd, Signal::KILL).unwrap();
    let life = host.final_life();
    assert!(matches!(life, Life::Disconnected(_)), "{life:?}");
    assert_eq!(host.agent.end(seconds(10)), Ok(()));
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", agent.as_raw_nonzero()));
    assert!(stat.is_err() || stat.is_ok_and(|stat| stat.contains(") Z ")), "it is left");
}

#[test]
fn a_host_without_sshd_is_dead_when_its_session_ends() {
    let server = Sshd::start();
    let host = PausableHost::of(&server);
    let [sshd, agent] = host.processes.0;
    drop(server);
    kill_process(sshd, Signal::KILL).unwrap();
    let life = host.final_life();
    let Life::Dead(why) = life else { panic!("{life:?}") };
    assert!(why.contains("connection refused"), "{why}");
    let left = host.agent.end(seconds(10)).unwrap_err().to_string();
    assert!(left.contains("may still be running on 127."), "{left}");
    assert!(left.contains(&format!("(pid {})", agent.as_raw_nonzero())), "{left}");
}

#[test]
fn the_end_of_an_agent_has_a_reason() {
    let server = Sshd::start();
    let host = PausableHost::of(&server);
    kill_process(host.processes.0[1], Signal::KILL).unwrap();
    let life = host.final_life();
    let Life::Killed(why) = life else { panic!("{life:?}") };
    assert_eq!(why, "the agent ended unexpectedly; killed by signal KILL; the host responds");
    assert_eq!(host.agent.end(seconds(10)), Ok(()));

    let host = PausableHost::of(&server);
    kill_process(host.processes.0[1], Signal::ABORT).unwrap();
    let life = host.final_life();
    let Life::Failed(why) = life else { panic!("{life:?}") };
    assert!(why.starts_with("the agent ended unexpectedly; killed by signal ABRT"), "{why}");
}

#[test]
fn a_limit_of_the_login_is_reported_by_the_agent() {
    let server = Sshd::start();
    let session: Arc<dyn Access> = Arc::new(server.connect().unwrap());
    let nonce = Nonce::new().unwrap();
    let command = format!("ulimit -n 8; exec {} agent {nonce}", env!("CARGO_BIN_EXE_rdmactl"));
    let pipe = session.exec(&command, seconds(20)).unwrap();
    let agent =
        Agent::await_greeting(&session, pipe, nonce, Privilege::Login, seconds(20)).unwrap();
    agent.start_worker().unwrap();
    let lives = std::iter::repeat_with(|| agent.life());
    let life = lives.take(10).find(|life| *life != Life::Alive).unwrap();
    let Life::Failed(why) = life else { panic!("{life:?}") };
    assert!(
        why.contains("exit status 2; last output: \"") && why.contains("Too many open files"),
        "{why}"
    );
    assert_eq!(agent.end(seconds(10)), Ok(()));
}

#[test]
fn a_channel_more_than_the_host_allows_is_refused_and_harms_no_other() {
    let server = Sshd::with(&Setup { config: "MaxSessions 2", ..Setup::default() });
    let session = server.connect().unwrap();
    let held = [session.exec("cat", seconds(5)).unwrap(), session.exec("cat", seconds(5)).unwrap()];
    let failure = session.exec("cat", seconds(5)).unwrap_err();
    assert_eq!(failure.reason, Reason::Refused, "{failure}");
    assert!(failure.fix.unwrap().contains("MaxSessions"));
    for pipe in &held {
        assert_eq!(pipe.exchange(b"alive", 100, seconds(5)).unwrap().stdout, b"alive");
    }
}

#[test]
fn many_short_commands_leave_nothing_behind() {
    let server = Sshd::start();
    let session = server.connect().unwrap();
    for round in 0..60 {
        let pipe = session.exec("cat; exit 9", seconds(5)).unwrap();
        match round % 3 {
            0 => assert_eq!(pipe.exchange(b"x", 10, seconds(5)).unwrap().exit.status, Some(9)),
            1 => drop(pipe),
            _ => pipe.close_input(),
        }
    }
}

#[test]
fn a_host_that_refuses_at_first_is_tried_again() {
    let server = Sshd::start();
    let (port, keeper) = server.busy_door();
    let target = Target { port, ..server.target() };
    server.write_known_hosts(&format!("{} {}\n", server.address, server.host_key("ed25519")));
    let session = connector().connect(&target, seconds(20)).unwrap();
    let output =
        session.exec("echo in", seconds(5)).unwrap().exchange(b"", 10, seconds(5)).unwrap();
    assert_eq!(output.stdout, b"in\n");
    drop(session);
    keeper.join().unwrap();
}
