//! Selects the hosts and the pairs of a ping run, and plans the rounds.
//!
//! Also reads the text files that users write for ping. Contacts no host: `real` and `simulated`
//! run the plan.

use std::collections::{HashMap, HashSet};
use std::io::Read as _;
use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;

use crate::cli::{Global, PingArgs, ScheduleName};
use crate::cmd::{Advice, host_selection};
use crate::hosts::{Host, HostSet};
use crate::input::Input;
use crate::model::WantedGid;
use crate::model::ping::{Schedule, Topology};
use crate::names;
use crate::ping::plan::{Load, Pairs, Plan, PlanOptions};
use crate::query::Value;
use crate::render::escape;

/// More message bytes through this host would measure this host instead of the network.
const MAX_RELAYED: u64 = 8 << 30;

/// Hosts whose links a run without a time limit may fill at once: others may need the fabric.
const MAX_FILLED: usize = 64;

pub(super) const STREAM_SLOT: Duration = Duration::from_millis(250);

#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) enum RunHost {
    Local,
    Remote(Host),
}

impl RunHost {
    pub(super) fn host(&self) -> Option<Host> {
        match self {
            Self::Local => None,
            Self::Remote(host) => Some(host.clone()),
        }
    }

    pub(super) fn name(&self) -> String {
        match self {
            Self::Local => rustix::system::uname().nodename().to_string_lossy().into_owned(),
            Self::Remote(host) => host.to_string(),
        }
    }

    /// Returns the name without user and port.
    pub(super) fn bare_name(&self) -> String {
        match self {
            Self::Local => self.name(),
            Self::Remote(host) => host.name.clone(),
        }
    }
}

/// Returns the hosts that the flags name, each once, and the pairs of sources and targets.
pub(super) fn hosts_and_pairs(
    global: &Global,
    args: &PingArgs,
) -> anyhow::Result<(Vec<RunHost>, Pairs)> {
    let (hosts, pairs) = unchecked_hosts_and_pairs(global, args)?;
    refuse_unknown_hosts(args, &hosts)?;
    Ok((hosts, pairs))
}

/// Leaves the hosts that --gid-index names unchecked.
fn unchecked_hosts_and_pairs(
    global: &Global,
    args: &PingArgs,
) -> anyhow::Result<(Vec<RunHost>, Pairs)> {
    let remote = |set: &str| -> anyhow::Result<Vec<RunHost>> {
        Ok(host_selection::of_set(set)?.into_iter().map(RunHost::Remote).collect())
    };
    let named = host_selection::named(global)?;
    // Two sets as arguments are a matrix, too, unless -H names the sources.
    if args.matrix.is_some() || (args.targets.len() > 1 && named.is_none()) {
        return matrix(args, named.unwrap_or_default());
    }
    if let Some((clients, servers)) = args.clients.as_ref().zip(args.servers.as_ref()) {
        refuse_hosts(global)?;
        return join(remote(clients)?, remote(servers)?, true);
    }
    if args.targets.is_empty() {
        let fix = match named {
            Some(_) => "to test every pair of the hosts of -H, add --matrix",
            None => {
                "name a host: rdmactl ping n2; or test every pair: rdmactl ping --matrix n[1-4]"
            }
        };
        return Err(Advice::error("ping needs a host", fix));
    }
    let mut targets = Vec::new();
    for set in &args.targets {
        targets.extend(remote(set)?);
    }
    join(senders(named), targets, false)
}

/// Returns the hosts that send to an address: the hosts of -H, or this host.
pub(super) fn sources(global: &Global) -> anyhow::Result<Vec<RunHost>> {
    host_selection::named(global).map(senders)
}

fn senders(named: Option<Vec<Host>>) -> Vec<RunHost> {
    match named {
        Some(hosts) => hosts.into_iter().map(RunHost::Remote).collect(),
        None => vec![RunHost::Local],
    }
}

/// Returns the senders as a host set, if the flags name one target set, tested in one direction.
pub(super) fn single_set_source(
    global: &Global,
    args: &PingArgs,
) -> anyhow::Result<Option<String>> {
    if args.matrix.is_some() || args.clients.is_some() || args.targets.len() != 1 {
        return Ok(None);
    }
    Ok(Some(match host_selection::named(global)? {
        Some(hosts) => names::fold(hosts.iter().map(ToString::to_string)),
        None => RunHost::Local.name(),
    }))
}

/// Returns the hosts of --matrix, of -H and of the arguments, and all their pairs.
fn matrix(args: &PingArgs, named: Vec<Host>) -> anyhow::Result<(Vec<RunHost>, Pairs)> {
    let mut hosts: HostSet = named.into_iter().collect();
    for set in args.matrix.iter().flatten().chain(&args.targets) {
        hosts = hosts.into_iter().chain(host_selection::of_set(set)?).collect();
    }
    if hosts.len() < 2 {
        let fix = "name more hosts: rdmactl ping --matrix n[1-4]";
        return Err(match hosts.iter().next() {
            Some(host) => {
                let host = host.to_string();
                Advice::error(format!("{} is one host; a matrix needs two", escape(&host)), fix)
            }
            None => Advice::error("--matrix needs hosts", fix),
        });
    }
    let pairs = Pairs::all(hosts.len());
    Ok((hosts.into_iter().map(RunHost::Remote).collect(), pairs))
}

/// Refuses a flag that names a host outside of the run, because it is probably a typing error.
fn refuse_unknown_hosts(args: &PingArgs, hosts: &[RunHost]) -> anyhow::Result<()> {
    let names: HashSet<String> = hosts.iter().map(RunHost::name).collect();
    let mut of_index = args.gid_index.iter().flat_map(WantedGid::hosts);
    let Some(host) = of_index.find(|&host| !names.contains(host)) else { return Ok(()) };
    Err(Advice::error(
        format!("--gid-index names {}, which is not a host of this run", escape(host)),
        "use the name that the host set uses: --matrix n[1-4] --gid-index n1=0,n2=3",
    ))
}

/// Refuses -H and --hosts-file together with --clients: --clients already names the hosts.
fn refuse_hosts(global: &Global) -> anyhow::Result<()> {
    if !global.names_hosts() {
        return Ok(());
    }
    let flag = if global.hosts.is_empty() { "--hosts-file" } else { "--hosts" };
    let fix = "name the hosts with --clients and --servers only; ^FILE means the hosts of a file";
    Err(Advice::error(format!("--clients contradicts {flag}"), fix))
}

/// Returns all sources, then the targets that are not sources, and the pairs from sources to
/// targets. With `both_ways`, the opposite pairs are added.
fn join(
    sources: Vec<RunHost>,
    targets: Vec<RunHost>,
    both_ways: bool,
) -> anyhow::Result<(Vec<RunHost>, Pairs)> {
    let mut numbers: HashMap<RunHost, usize> = HashMap::new();
    let (mut hosts, mut roles) = (Vec::new(), Vec::<(bool, bool)>::new());
    let sources = sources.into_iter().map(|host| (host, true));
    let targets = targets.into_iter().map(|host| (host, false));
    for (host, is_source) in sources.chain(targets) {
        let number = *numbers.entry(host.clone()).or_insert_with(|| {
            hosts.push(host);
            roles.push((false, false));
            hosts.len() - 1
        });
        let role = &mut roles[number];
        if is_source { role.0 = true } else { role.1 = true }
    }
    pairs_of(&roles, both_ways).map(|pairs| (hosts, pairs))
}

/// Returns the pairs by the roles of the hosts. The flags of a host are: source, and target.
fn pairs_of(roles: &[(bool, bool)], both_ways: bool) -> anyhow::Result<Pairs> {
    let pairs = Pairs::between(roles, both_ways);
    if pairs.count() == 0 {
        return Err(Advice::error(
            "the only source is also the only target",
            "name another host: rdmactl does not test a host against itself",
        ));
    }
    Ok(pairs)
}

/// Returns the pairs of `--clients` and `--servers` in a fabric file, or every pair.
pub(super) fn pairs_among(args: &PingArgs, hosts: &[String]) -> anyhow::Result<Pairs> {
    let Some((clients, servers)) = args.clients.as_ref().zip(args.servers.as_ref()) else {
        return Ok(Pairs::all(hosts.len()));
    };
    let numbers: HashMap<&str, usize> =
        hosts.iter().enumerate().map(|(at, host)| (host.as_str(), at)).collect();
    let mut roles = vec![(false, false); hosts.len()];
    for (set, is_source) in [(clients, true), (servers, false)] {
        for host in host_selection::of_set(set)? {
            let name = host.to_string();
            let Some(role) = numbers.get(name.as_str()).and_then(|&at| roles.get_mut(at)) else {
                let what = format!("{} is not a host of the fabric file", escape(&name));
                let fix = "use names of the hosts line, or add the host to that line";
                return Err(Advice::error(what, fix));
            };
            if is_source { role.0 = true } else { role.1 = true }
        }
    }
    pairs_of(&roles, true)
}

/// Returns the plan that the flags request. `default_seed` is the random seed without `--seed`.
pub(super) fn plan(
    args: &PingArgs,
    pairs: Pairs,
    topology: Option<&Topology>,
    default_seed: u32,
) -> anyhow::Result<Plan> {
    let choice = PlanOptions {
        schedule: args.schedule.map(|name| match name {
            ScheduleName::Circle => Schedule::Circle,
            ScheduleName::Shift => Schedule::Shift,
            ScheduleName::Bisection => Schedule::Bisection,
            ScheduleName::Random => Schedule::Random,
        }),
        peers: args.peers.map(|peers| peers as usize),
        budget_ms: args.budget.map(milliseconds),
        seed: args.seed.unwrap_or(default_seed).into(),
    };
    Plan::new(pairs, choice, topology).map_err(|error| Advice::error(error.what, error.fix))
}

pub(super) fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Returns a random seed of 16 bits, which is short enough to type.
pub(super) fn any_seed() -> anyhow::Result<u32> {
    let mut seed = [0; 2];
    getrandom::fill(&mut seed).context("cannot read random numbers")?;
    Ok(u16::from_le_bytes(seed).into())
}

pub(super) fn load(args: &PingArgs, rails: usize) -> Load<'_> {
    let (round_trips, slot) = args.measurement();
    Load { rails, tests: &args.test, round_trips, slot, stream_slot: STREAM_SLOT }
}

/// Refuses a plan over the limits, unless it has a time limit.
pub(super) fn refuse_too_much(args: &PingArgs, plan: &Plan) -> anyhow::Result<()> {
    if args.budget.is_some() {
        return Ok(());
    }
    // In a round of a shift schedule, each host is in two pairs.
    let turns = if plan.rounds() > 0 { plan.round(0).len() } else { 0 };
    let hosts = (2 * turns).min(plan.pairs.hosts);
    let filling = args.test.iter().find(|test| test.fills_links());
    if let Some(test) = filling.filter(|_| hosts > MAX_FILLED) {
        return Err(Advice::error(
            format!(
                "--test {} would fill the links of {hosts} hosts at once; the limit is {MAX_FILLED}",
                test.word()
            ),
            "set a time limit for the load: --budget 1m; or test fewer hosts",
        ));
    }
    let relayed = plan.estimate(load(args, 1)).relay_bytes;
    if relayed <= MAX_RELAYED {
        return Ok(());
    }
    let what = format!(
        "{} pairs would relay {} of messages through this host; the limit is {}",
        plan.count(),
        Value::Size(relayed),
        Value::Size(MAX_RELAYED),
    );
    let fix = "test each host with some peers only: --peers 16; or set a time limit: --budget 10m";
    Err(Advice::error(what, fix))
}

/// Reads a text file that users write. `fix` is the hint for a file of more than `max_bytes`.
pub(super) fn text_of(file: &Path, max_bytes: u64, fix: &str) -> anyhow::Result<String> {
    let name = file_name(file);
    let mut text = String::new();
    Input::open(file)
        .and_then(|open| open.take(max_bytes + 1).read_to_string(&mut text))
        .with_context(|| format!("cannot read {name}"))?;
    if text.len() as u64 > max_bytes {
        return Err(Advice::error(format!("{name} is larger than {max_bytes} bytes"), fix));
    }
    Ok(text)
}

/// Expands a host set of a text file for ping. Groups and other files are not looked up.
pub(super) fn expand(set: &str) -> Result<Vec<String>, String> {
    let hosts = HostSet::parse(set).map_err(|error| error.to_string())?;
    Ok(hosts.iter().map(ToString::to_string).collect())
}

pub(super) fn error_at(file: &Path, line: Option<usize>, what: &str, fix: String) -> anyhow::Error {
    let line = line.map_or(String::new(), |line| format!(":{line}"));
    Advice::error(format!("{}{line}: {what}", file_name(file)), fix)
}

pub(super) fn file_name(file: &Path) -> String {
    escape(&file.display().to_string()).into_owned()
}
