//! Runs a ping over real hosts: starts the agents, runs the plan, ends the agents.
//!
//! `simulated` is the counterpart without hosts; `ping::matrix` tests the pairs.

use std::time::{Duration, Instant};

use anyhow::Context as _;

use super::leaves;
use super::notes;
use super::selection::{self, RunHost, milliseconds};
use super::watcher::{Listener, Watcher};
use crate::cli::{Global, PingArgs, RailsAsked};
use crate::clock;
use crate::cmd::Advice;
use crate::cmd::fleet::{agent_starter, agent_starter_beside_screen};
use crate::cmd::outcome::say_all;
use crate::fleet::{AgentStarter, UploadPolicy, Watchdog, WorkerHost, cancelled, fan_out};
use crate::hosts::Host;
use crate::model::ping::{PingReport, Test, Topology};
use crate::model::{GidValue, HostFailure, Part, Parts};
use crate::ping::matrix::{self, Member, Overrides, TestOptions};
use crate::ping::plan::{Pairs, Plan};
use crate::ping::{MadAddressee, Node, mad_address};
use crate::render::Note;
use crate::term::Term;

const REPLY_TIMEOUT: Duration = Duration::from_secs(1);

type ConnectResult = Result<WorkerHost, HostFailure>;

/// Run that can be repeated.
pub(super) struct RealRun {
    hosts: Vec<RunHost>,
    plan: Plan,
    /// Leaf switch of each host, if a fabric file names them.
    topology: Option<Topology>,
    pub(super) args: PingArgs,
    starter: AgentStarter,
    pub(super) watchdog: Watchdog,
    fanout: usize,
}

impl RealRun {
    /// Prepares the run of the flags; a signal cancels it.
    pub(super) fn new(global: &Global, args: &PingArgs, term: Term) -> anyhow::Result<Self> {
        let (hosts, plan, topology) = if mad_addressee(args).is_some() {
            let hosts = selection::sources(global)?;
            let plan = Plan::all(hosts.len());
            (hosts, plan, None)
        } else {
            let (hosts, pairs) = selection::hosts_and_pairs(global, args)?;
            say_all(term, notes::two_sets(args, hosts.len()));
            let topology = leaves::topology(args, &hosts, term)?;
            let plan = selection::plan(args, pairs, topology.as_ref(), selection::any_seed()?)?;
            selection::refuse_too_much(args, &plan)?;
            (hosts, plan, topology)
        };
        let remote: Vec<Host> = hosts.iter().filter_map(RunHost::host).collect();
        let (starter, watchdog) = agent_starter(global, upload(global), &remote)?;
        let fanout = usize::from(global.fanout);
        Ok(Self { hosts, plan, topology, args: args.clone(), starter, watchdog, fanout })
    }

    pub(super) fn run(&self, listener: &Listener<'_>) -> anyhow::Result<PingReport> {
        let test_options = test_options(&self.args)?;
        listener.remote_work();
        let began = clock::now();
        let (reached, started) = self.gather(listener)?;
        let startup = started.saturating_duration_since(began);
        if let Some(error) = Self::unknown_rail(&reached, &test_options.overrides) {
            let _ = WorkerHost::end_all(reached.into_iter().flatten());
            return Err(error);
        }
        let (taken_ns, members) = (clock::wall_ns(), self.members(&reached));
        let report = if let Some(to) = mad_addressee(&self.args) {
            mad_address::run(&members, &test_options, to, &|| self.watchdog.is_cancelled())
        } else {
            let topology = self.topology.as_ref();
            let hosts = matrix::hosts(&members, topology);
            let watcher = Watcher::new(&self.watchdog, self.args.budget, &hosts, listener);
            matrix::run(&members, &self.plan, &test_options, topology, &watcher)
        };
        drop(members);
        let (taken_ns, startup_ms) = (Some(taken_ns), milliseconds(startup));
        let elapsed_ms = milliseconds(started.elapsed());
        listener.remote_work();
        let left_behind = WorkerHost::end_all(reached.into_iter().flatten());
        listener.local_work();
        Ok(PingReport { taken_ns, elapsed_ms, startup_ms, left_behind, ..report })
    }

    /// Removes what connecting needed on this machine. The run cannot be repeated.
    pub(super) fn end(&self) {
        self.starter.end();
    }

    /// Starts the agent of each host; returns the results and the time of the last handshake or
    /// failure. The time of the pairs starts there, so an unresponsive host does not lengthen it.
    fn gather(&self, listener: &Listener<'_>) -> anyhow::Result<(Vec<ConnectResult>, Instant)> {
        let (hosts, watchdog) = (&self.hosts, &self.watchdog);
        let mut started = clock::now();
        listener.progress.reaches(hosts.len());
        let mut reached: Vec<Option<ConnectResult>> = hosts.iter().map(|_| None).collect();
        let parts = parts(&self.args);
        let connect = |host: &RunHost| {
            let remote = host.host();
            match WorkerHost::connect(&self.starter, remote.as_ref(), host.name(), &parts) {
                // In a canceled run, rdmactl closed the connections itself.
                Err(_) if watchdog.is_cancelled() => Err(cancelled()),
                result => result,
            }
        };
        fan_out(hosts, self.fanout, watchdog, connect, |index, result| {
            listener.progress.reached();
            started = started.max(result.as_ref().map_or_else(|_| clock::now(), |host| host.hello));
            reached[index] = Some(result);
        })
        .context("cannot start a thread")?;
        let reached = reached.into_iter().map(|result| result.unwrap_or_else(|| Err(cancelled())));
        Ok((reached.collect(), started))
    }

    fn members<'a>(&self, reached: &'a [ConnectResult]) -> Vec<Member<'a>> {
        let member = |(host, reached): (&RunHost, &'a ConnectResult)| Member {
            name: host.name(),
            inventory: reached.as_ref().ok().map(|entered| &entered.inventory),
            node: reached.as_ref().ok().map(|entered| &entered.agent as &dyn Node),
            failure: reached.as_ref().err(),
        };
        self.hosts.iter().zip(reached).map(member).collect()
    }

    /// Returns an error for the first rail of --rails that the hosts do not have. If no host was
    /// reached, the error names the first failure, because the rails are unknown.
    fn unknown_rail(reached: &[ConnectResult], overrides: &Overrides) -> Option<anyhow::Error> {
        let inventories = reached.iter().flatten().map(|entered| &entered.inventory);
        let rails = matrix::count_rails(inventories, overrides);
        let unknown = overrides.rails.iter().find(|&&rail| rail >= rails)?;
        if reached.iter().all(Result::is_err)
            && let Some(failure) = reached.iter().find_map(|result| result.as_ref().err())
        {
            let what = format!("--rails {unknown}: no host responded: {}", failure.detail);
            let fix = failure.fix.clone().unwrap_or("test without --rails".into());
            return Some(Advice::error(what, fix));
        }
        let what = match rails {
            1 => format!("--rails {unknown}: the hosts have one rail, 0"),
            _ => format!("--rails {unknown}: the hosts have the rails 0 to {}", rails - 1),
        };
        Some(Advice::error(what, "use the numbers that the matrix shows, or write --rails all"))
    }
}

/// Every ordered pair of hosts, tested like `ping --matrix` without other flags.
pub(in crate::cmd) struct AllPairs {
    hosts: Vec<Host>,
    plan: Plan,
    args: PingArgs,
}

impl AllPairs {
    /// Plans the pairs.
    ///
    /// # Errors
    /// The hosts have too many pairs.
    pub(in crate::cmd) fn of(hosts: Vec<Host>) -> anyhow::Result<Self> {
        let args = PingArgs::default();
        let plan = selection::plan(&args, Pairs::all(hosts.len()), None, 0)?;
        selection::refuse_too_much(&args, &plan).map_err(|error| {
            let fix =
                "test fewer hosts, or some peers of each: rdmactl ping --matrix SET --peers 16";
            Advice::error(error.to_string(), fix)
        })?;
        Ok(Self { hosts, plan, args })
    }

    /// Tests the pairs and shows the progress. A signal ends the run.
    ///
    /// # Errors
    /// No host can be reached, because this host lacks a thread or a file of the connections.
    pub(in crate::cmd) fn run(self, global: &Global, term: Term) -> anyhow::Result<PingReport> {
        let (starter, watchdog) = agent_starter(global, upload(global), &self.hosts)?;
        let real = self.with(global, starter, watchdog);
        let listener = Listener { ends_by_signal: true, ..Listener::default() };
        let report = listener.progress.show(term, || real.run(&listener))?;
        real.end();
        Ok(report)
    }

    fn with(self, global: &Global, starter: AgentStarter, watchdog: Watchdog) -> RealRun {
        let Self { hosts, plan, args } = self;
        let fanout = usize::from(global.fanout);
        let hosts = hosts.into_iter().map(RunHost::Remote).collect();
        RealRun { hosts, plan, topology: None, args, starter, watchdog, fanout }
    }
}

/// Tests every ordered pair of hosts beside the screen of `top`, until the watchdog is canceled.
/// `notify` gets the notes about the connections.
pub(in crate::cmd) fn all_pairs(
    global: &Global,
    hosts: &[Host],
    watchdog: &Watchdog,
    notify: impl Fn(Note) + Send + Sync + 'static,
) -> anyhow::Result<PingReport> {
    let pairs = AllPairs::of(hosts.to_vec())?;
    let starter = agent_starter_beside_screen(watchdog, global, upload(global), hosts, notify)?;
    pairs.with(global, starter, watchdog.clone()).run(&Listener::default())
}

/// A ping needs rdmactl on each host, so it is uploaded unless forbidden.
fn upload(global: &Global) -> UploadPolicy {
    if global.no_upload { UploadPolicy::Never } else { UploadPolicy::WhereMissing }
}

/// Returns the parts to read from each host. Device files of MADs belong to the details.
fn parts(args: &PingArgs) -> Parts {
    let details = args.test.contains(&Test::Mad).then_some(Part::Details);
    [Part::Gids, Part::Netdevs, Part::Pkeys].into_iter().chain(details).collect()
}

/// Returns the target address of MADs, if the flags name one instead of hosts.
fn mad_addressee(args: &PingArgs) -> Option<MadAddressee> {
    let gid = || args.mads.gid.map(|gid| MadAddressee::Gid(GidValue(gid)));
    args.mads.lid.map(MadAddressee::Lid).or_else(gid)
}

fn test_options(args: &PingArgs) -> anyhow::Result<TestOptions> {
    let mut nonce = [0; 8];
    getrandom::fill(&mut nonce).context("cannot read random numbers")?;
    let (rounds, slot) = args.measurement();
    let overrides = Overrides {
        device: args.dev.clone(),
        port: args.port,
        gid_index: args.gid_index.clone().unwrap_or_default(),
        pkey: args.pkey,
        mtu: args.mtu,
        service_level: args.sl,
        traffic_class: args.tclass,
        first_rail: args.rails == RailsAsked::First,
        rails: args.rails.numbers().to_vec(),
    };
    Ok(TestOptions {
        nonce: u64::from_le_bytes(nonce),
        tests: args.test.clone(),
        rounds,
        slot,
        stream_slot: selection::STREAM_SLOT,
        reply: REPLY_TIMEOUT,
        mad_interval: args.mads.interval.unwrap_or_default(),
        latency_bytes: args.size,
        is_second_attempt: false,
        overrides,
    })
}
