//! Origin of the data of `top`: hosts, a capture, a recording or a matrix. Starts the matching
//! source.

use std::os::unix::fs::FileTypeExt as _;
use std::path::PathBuf;
use std::sync::mpsc::Sender;
use std::time::Duration;

use anyhow::Context as _;

use super::input::{Input, InputSender};
use super::latest_snapshot::LatestSnapshot;
use super::matrix::Saved;
use super::player::Player;
use super::sampler::{SampledHosts, Sampler};
use super::source::{Channels, SampleSource, SourceResult, SourceState};
use crate::capture::{PingRun, TopRecording};
use crate::cli::{Global, TopArgs};
use crate::cmd::{Advice, fleet, host_selection, local};
use crate::fleet::{LiveAgents, Watchdog};
use crate::hosts::Host;
use crate::model::Parts;
use crate::query::LIVE_PARTS;
use crate::render::Note;
use crate::tui::Timeline;

const DEFAULT_INTERVAL: Duration = Duration::from_secs(1);

type SampleWork = Box<dyn FnOnce(&Channels) -> SourceResult + Send>;

pub(super) enum SampleOrigin {
    /// This host or another root, with the interval.
    Local(Duration),
    /// Other hosts, with the interval.
    Hosts(Vec<Host>, Duration),
    /// Capture, which is one sample.
    Capture,
    Recording(PathBuf),
    /// Saved ping matrix without samples.
    Matrix(Saved),
}

impl SampleOrigin {
    /// Returns the origin that the flags name.
    pub(super) fn of(global: &Global, args: &TopArgs) -> anyhow::Result<Self> {
        // --watch sets the interval of `top`, as it does for listings.
        let watch = global.watch.flatten();
        if args.every.is_some() && global.watch.is_some() {
            let fix = "remove one of them: top --every 5s is top --watch 5";
            return Err(Advice::error("--watch and --every both set the interval", fix));
        }
        let every = args.every.or(watch).or(global.configured.interval).unwrap_or(DEFAULT_INTERVAL);
        if let Some(path) = &global.from {
            if args.every.is_some() {
                let fix = "remove --every: a recording plays at its original speed";
                return Err(Advice::error("--every contradicts --from", fix));
            }
            if std::fs::metadata(path).is_ok_and(|there| there.file_type().is_fifo()) {
                let what = format!("{} is not a regular file", path.display());
                let fix = "save the data in a file first: top reads it again";
                return Err(Advice::error(what, fix));
            }
            let is_other = TopRecording::is_at(path) || PingRun::is_at(path);
            if is_other && global.names_hosts() {
                let fix = "select hosts with a filter expression, for example -w 'host==n1'";
                return Err(Advice::error("-H selects hosts of a capture only", fix));
            }
            if TopRecording::is_at(path) {
                return Ok(Self::Recording(path.clone()));
            }
            // Read before full-screen mode, so that an error appears on the normal screen.
            if PingRun::is_at(path) {
                return Ok(Self::Matrix(Saved::read(path)?));
            }
            local::read_capture(global, path)?;
            return Ok(Self::Capture);
        }
        Ok(match host_selection::hosts(global)? {
            Some(hosts) => Self::Hosts(hosts, every),
            None => Self::Local(every),
        })
    }

    /// Returns the text for the first wait: `64 hosts`.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Local(_) => "this host".into(),
            Self::Hosts(hosts, _) => match &hosts[..] {
                [host] => host.to_string(),
                hosts => format!("{} hosts", hosts.len()),
            },
            Self::Capture => "the capture".into(),
            Self::Recording(_) => "the recording".into(),
            Self::Matrix(_) => "the matrix".into(),
        }
    }

    pub(super) fn timeline(&self) -> Timeline {
        match self {
            Self::Local(every) | Self::Hosts(_, every) => Timeline::Live(*every),
            Self::Capture | Self::Matrix(_) => Timeline::Capture,
            Self::Recording(_) => Timeline::Recording,
        }
    }

    /// Returns true if agents run on other hosts; they are ended while this process is suspended.
    pub(super) fn has_agents(&self) -> bool {
        matches!(self, Self::Hosts(..))
    }

    /// Starts the source of samples, which continues from the state of an earlier one.
    pub(super) fn source(
        &self,
        global: &Global,
        source_state: SourceState,
        latest: LatestSnapshot,
        inputs: Sender<Input>,
    ) -> anyhow::Result<SampleSource> {
        let watchdog = Watchdog::start().context("cannot start a thread")?;
        let with_agents: &[Host] = if let Self::Hosts(hosts, _) = self { hosts } else { &[] };
        let parts = Parts::from(LIVE_PARTS);
        let local = || SampledHosts::Local(Box::new(global.clone()), Parts::from(LIVE_PARTS));
        let gather = |subject, every| -> SampleWork {
            let sampler = Sampler { subject, every, source_state };
            Box::new(|channels| sampler.run(channels))
        };
        let work: SampleWork = match self {
            Self::Local(every) => gather(local(), Some(*every)),
            Self::Capture => gather(local(), None),
            Self::Hosts(hosts, every) => {
                let upload = fleet::upload(global);
                let input_sender = InputSender(inputs.clone());
                let notify = move |note: Note| input_sender.say(note.text);
                let starter =
                    fleet::agent_starter_beside_screen(&watchdog, global, upload, hosts, notify)?;
                let fanout = usize::from(global.fanout);
                let (hosts, watchdog) = (hosts.clone(), watchdog.clone());
                let hosts = LiveAgents::new(hosts, starter, watchdog, parts, fanout, "--every");
                gather(SampledHosts::Hosts(hosts), Some(*every))
            }
            Self::Recording(path) => {
                let player = Player::new(TopRecording::open(path)?);
                Box::new(|channels| player.run(channels))
            }
            Self::Matrix(saved) => {
                let saved = saved.clone();
                Box::new(|channels| saved.show(channels))
            }
        };
        SampleSource::start(work, with_agents, watchdog, latest, inputs)
    }
}
