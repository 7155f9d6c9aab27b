//! `rdmactl ping`: does RDMA work between these hosts?

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::Context as _;

use crate::analyse::culprit::findings;
use crate::cli::{Format, Global, PingArgs};
use crate::clock::{self, Deadline};
use crate::fleet::{Agent, Host, HostSet, Nonce, Reach, UploadPolicy, Watchdog, fan_out};
use crate::model::ping::{PingHost, PingReport, Summary};
use crate::model::{HostFailure, HostReport, Part, Reason};
use crate::ping::fabric::Fabric;
use crate::ping::matrix::{self, Effort, Member, Pairs};
use crate::ping::{Node, simulation};
use crate::query::{self, pair_rows};
use crate::render::{
    Note, PingDocument, column_help, escape, render_findings, render_matrix, render_origin,
    to_json, to_json_lines,
};
use crate::term::Term;

use super::fleet::{cancelled, reach, reach_beside_screen};
use super::outcome::say;
use super::view::{Hosts, View};
use super::{Advice, Outcome, asked};

/// How long an answer to one message may take.
const REPLY: Duration = Duration::from_secs(1);

/// How long agents may take to leave when all is done.
const LEAVE: Duration = Duration::from_millis(2_500);

/// The most bytes of a file with a made-up fabric: people write them.
const MOST_OF_FABRIC: u64 = 4 << 20;

/// One host of the run: its agent and inventory, or why there is none.
type Reached = Result<(Agent, HostReport), HostFailure>;

/// Where the messages of a run start.
enum Place {
    Here,
    There(Host),
}

impl Place {
    fn host(&self) -> Option<Host> {
        match self {
            Self::Here => None,
            Self::There(host) => Some(host.clone()),
        }
    }

    fn name(&self) -> String {
        match self {
            Self::Here => rustix::system::uname().nodename().to_string_lossy().into_owned(),
            Self::There(host) => host.to_string(),
        }
    }
}

/// Runs all asked pairs and prints what they showed.
pub(super) fn run(global: &Global, args: &PingArgs, term: Term) -> anyhow::Result<Outcome> {
    if global.columns.iter().any(|word| word == "help") {
        term.answer(column_help::<query::Pairs>())?;
        return Ok(Outcome::Complete);
    }
    let view = View::<query::Pairs>::new(global, term)?;
    let report = match &args.simulate {
        Some(file) => simulate(global, file)?,
        None => real(global, args)?,
    };
    let is_matrix = (args.matrix.is_some() || args.simulate.is_some()) && !view.is_of_rows();
    let hosts = Hosts::Pinged(&report.hosts);
    term.answer(match global.output() {
        Format::Json => to_json(&PingDocument::new(&report))?,
        Format::Ndjson => to_json_lines([PingDocument::new(&report)])?,
        Format::Plain | Format::Csv | Format::Prom => view.print(pair_rows(&report), hosts)?,
        Format::Table => {
            let pairs = if is_matrix {
                render_matrix(&report, !global.no_header)
            } else {
                view.print(pair_rows(&report), hosts)?
            };
            format!("{}{pairs}\n{}", render_origin(&report), render_findings(&report))
        }
    })?;
    if matches!(global.output(), Format::Plain | Format::Csv | Format::Prom) {
        let text = render_origin(&report).trim_end().to_owned();
        if !text.is_empty() {
            say(term, &Note { text, fix: None });
        }
        for left in &report.left_behind {
            let text = format!("left on {}", escape(left));
            say(term, &Note { text, fix: None });
        }
    }
    // A pair that nobody tested has not passed. One that is slow has.
    let is_bad = report.summary.failed + report.summary.not_tested > 0
        || report.hosts.iter().any(|host| host.failure.is_some())
        || !report.left_behind.is_empty();
    Ok(if is_bad { Outcome::Problem } else { Outcome::Complete })
}

/// What the hosts that are named show.
fn real(global: &Global, args: &PingArgs) -> anyhow::Result<PingReport> {
    let (places, pairs) = places(global, args)?;
    let hosts: Vec<Host> = places.iter().filter_map(Place::host).collect();
    let (reach, watchdog) = reach(global, upload(global), &hosts)?;
    let effort = effort(args)?;
    let reached = gather(&places, &reach, &watchdog, usize::from(global.fanout))?;
    Ok(probe(&places, reached, pairs, &effort, &|| watchdog.is_cancelled()))
}

/// What a fabric that stands in a file would show.
fn simulate(global: &Global, file: &Path) -> anyhow::Result<PingReport> {
    if global.names_hosts() {
        return Err(Advice::error(
            "--simulate contradicts the hosts that are named",
            "name the hosts in the file, in its line hosts",
        ));
    }
    let name = escape(&file.display().to_string()).into_owned();
    let mut text = String::new();
    let read =
        File::open(file).and_then(|open| open.take(MOST_OF_FABRIC + 1).read_to_string(&mut text));
    read.with_context(|| format!("cannot read {name}"))?;
    if text.len() as u64 > MOST_OF_FABRIC {
        return Err(Advice::error(
            format!("{name} has more than {MOST_OF_FABRIC} bytes"),
            "name many hosts at once, as in: fault host n[001-100] slow 1.2",
        ));
    }
    let expand = |set: &str| {
        let hosts = HostSet::parse(set).map_err(|error| error.to_string())?;
        Ok(hosts.iter().map(ToString::to_string).collect())
    };
    let fabric = Fabric::parse(&text, &expand).map_err(|error| {
        let line = error.line.map_or(String::new(), |line| format!(":{line}"));
        Advice::error(format!("{name}{line}: {}", error.what), error.fix)
    })?;
    Ok(simulation::run(&fabric, &file.display().to_string()))
}

/// Runs every ordered pair of these hosts as `ping --matrix` does, until the watchdog is cancelled; `tell`
/// is for what is to be known of the way there.
pub(super) fn all_pairs(
    global: &Global,
    hosts: &[Host],
    watchdog: &Watchdog,
    tell: impl Fn(Note) + Send + Sync + 'static,
) -> anyhow::Result<PingReport> {
    let places: Vec<Place> = hosts.iter().cloned().map(Place::There).collect();
    let reach = reach_beside_screen(watchdog, global, upload(global), hosts, tell)?;
    let effort = effort(&PingArgs::default())?;
    let reached = gather(&places, &reach, watchdog, usize::from(global.fanout))?;
    Ok(probe(&places, reached, Pairs::All, &effort, &|| watchdog.is_cancelled()))
}

/// Messages need our own code there: it is sent unless that is forbidden.
fn upload(global: &Global) -> UploadPolicy {
    if global.no_upload { UploadPolicy::Never } else { UploadPolicy::WhereMissing }
}

fn places(global: &Global, args: &PingArgs) -> anyhow::Result<(Vec<Place>, Pairs)> {
    let there = |set: &str| -> anyhow::Result<Vec<Place>> {
        Ok(asked::of_set(set)?.into_iter().map(Place::There).collect())
    };
    if let Some(set) = &args.matrix {
        // clap sees this only when both stand behind the command.
        if global.names_hosts() {
            let flag = if global.hosts.is_some() { "--hosts" } else { "--hosts-file" };
            return Err(Advice::error(
                format!("--matrix contradicts {flag}"),
                "name the hosts of a matrix behind --matrix only; those of a file are ^FILE",
            ));
        }
        let places = there(set)?;
        if places.len() < 2 {
            return Err(Advice::error(
                format!("{set} is one host, and a matrix needs two"),
                "name more hosts, as in --matrix n[1-4]",
            ));
        }
        return Ok((places, Pairs::All));
    }
    let Some(target) = &args.host else {
        return Err(Advice::error(
            "ping needs a host",
            "name one, as in rdmactl ping n2, or every pair of a set with --matrix n[1-4]",
        ));
    };
    let target = there(target)?;
    let mut places = match asked::named(global)? {
        Some(hosts) => hosts.into_iter().map(Place::There).collect(),
        None => vec![Place::Here],
    };
    if places.len() != 1 {
        return Err(Advice::error(
            "ping HOST starts from one host",
            "give -H one host, or use --matrix for every pair",
        ));
    }
    places.extend(target);
    Ok((places, Pairs::FromFirst))
}

fn gather(
    places: &[Place],
    reach: &Reach,
    watchdog: &Watchdog,
    fanout: usize,
) -> anyhow::Result<Vec<Reached>> {
    let mut reached: Vec<Option<Reached>> = places.iter().map(|_| None).collect();
    let enter = |place: &Place| match enter(place, reach) {
        // Whatever broke then was broken by us.
        Err(_) if watchdog.is_cancelled() => Err(cancelled()),
        result => result,
    };
    fan_out(places, fanout, watchdog, enter, |index, result| reached[index] = Some(result))
        .context("cannot start a thread")?;
    Ok(reached.into_iter().map(|result| result.unwrap_or_else(|| Err(cancelled()))).collect())
}

/// Greets the agent of one host, reads what it has, and has it start its worker.
fn enter(place: &Place, reach: &Reach) -> Reached {
    let (agent, deadline) = match place {
        Place::Here => here(reach)?,
        Place::There(host) => {
            let found = reach.agent(host)?;
            (found.what, found.deadline)
        }
    };
    let entered = agent.report(&[Part::Gids].into(), deadline).and_then(|report| {
        agent.start_worker()?;
        Ok(report)
    });
    match entered {
        Ok(report) => Ok((agent, report)),
        Err(failure) => Err(agent.give_up(failure)),
    }
}

fn here(reach: &Reach) -> Result<(Agent, Deadline), HostFailure> {
    let nonce = Nonce::new().map_err(|error| {
        HostFailure::new(Reason::Transport, format!("no random numbers: {error}"))
    })?;
    let mut command = Command::new("/proc/self/exe");
    command.args(["agent", &nonce.to_string()]);
    let deadline = Deadline::after(reach.timeout);
    Ok((Agent::here(command, nonce, reach.connector.watchdog(), deadline)?, deadline))
}

fn effort(args: &PingArgs) -> anyhow::Result<Effort> {
    let mut nonce = [0; 8];
    getrandom::fill(&mut nonce).context("no random numbers on this host")?;
    Ok(Effort {
        nonce: u64::from_le_bytes(nonce),
        rounds: args.iters,
        slot: args.slot,
        reply: REPLY,
        latency_bytes: args.size,
    })
}

fn probe(
    places: &[Place],
    reached: Vec<Reached>,
    pairs: Pairs,
    effort: &Effort,
    is_over: &(dyn Fn() -> bool + Sync),
) -> PingReport {
    let started = clock::now();
    let members: Vec<Member<'_>> = places
        .iter()
        .zip(&reached)
        .map(|(place, reached)| Member {
            name: place.name(),
            inventory: reached.as_ref().ok().map(|(_, report)| report),
            node: reached.as_ref().ok().map(|(agent, _)| agent as &dyn Node),
            failure: reached.as_ref().err(),
        })
        .collect();
    let results = matrix::run(&members, pairs, effort, is_over);
    drop(members);
    let elapsed_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    let (hosts, left_behind) = leave(places, reached);
    PingReport {
        hosts,
        summary: Summary::of(&results.pairs),
        findings: findings(&results.pairs),
        pairs: results.pairs,
        outliers: results.outliers,
        simulated: None,
        elapsed_ms,
        left_behind,
    }
}

/// Ends all agents at once; which hosts there were, and which agents could not be ended.
fn leave(places: &[Place], reached: Vec<Reached>) -> (Vec<PingHost>, Vec<String>) {
    let deadline = Deadline::after(LEAVE);
    let (mut hosts, mut agents) = (Vec::new(), Vec::new());
    for (place, reached) in places.iter().zip(reached) {
        let name = place.name();
        let (kernel, failure) = match reached {
            Ok((agent, report)) => {
                agents.push((name.clone(), Mutex::new(Some(agent))));
                (report.kernel, None)
            }
            Err(failure) => (None, Some(failure)),
        };
        hosts.push(PingHost { name, kernel, failure });
    }
    let left_behind = Mutex::new(Vec::new());
    let end = |(name, agent): &(String, Mutex<Option<Agent>>)| {
        let agent = lock(agent).take();
        if let Some(left) = agent.and_then(|agent| agent.end(deadline).err()) {
            lock(&left_behind).push(format!("{name}: {left}"));
        }
    };
    let end = &end;
    thread::scope(|scope| {
        for agent in &agents {
            if thread::Builder::new().spawn_scoped(scope, move || end(agent)).is_err() {
                // A system that gives no more threads gets the work done one by one.
                end(agent);
            }
        }
    });
    (hosts, left_behind.into_inner().unwrap_or_else(PoisonError::into_inner))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
