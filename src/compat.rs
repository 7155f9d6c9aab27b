//! Output of older tools, byte for byte: what `ibstat` and similar tools print on this host.
//!
//! Each tool has a file. A tool reads raw answers from a [`Source`], as the original reads from
//! the kernel, and produces stdout, stderr and an exit code; nothing is printed here. Formats,
//! bugs included, come from runs of the originals and from their output code; docs/compat.md
//! lists the supported tools and options.

mod beegfs_net;
mod diags;
mod error;
mod file_reader;
mod getopt;
mod ibdev2netdev;
mod iblinkinfo;
mod ibnetdiscover;
mod ibnodes;
mod ibqueryerrors;
mod ibroute;
mod ibstat;
mod ibstatus;
mod ibtracert;
mod ibv_devices;
mod ibv_devinfo;
mod number;
mod perfquery;
mod release;
mod saquery;
mod show_gids;
mod sminfo;
mod smpquery;
mod transcript;
mod umad;

use crate::source::{Answer, Question, ReadError, Source};

pub use error::CompatError;
pub use release::Release;
pub use transcript::Transcript;

use file_reader::FileReader;

/// Directory of RDMA devices.
const CLASS: &str = "/sys/class/infiniband";
/// Directory of network interfaces.
const NETS: &str = "/sys/class/net";

/// A tool whose output this program can produce.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// `ibstat` of infiniband-diags.
    Ibstat,
    /// `ibstatus` of infiniband-diags.
    Ibstatus,
    /// `ibv_devices` of libibverbs.
    IbvDevices,
    /// `ibv_devinfo` of libibverbs.
    IbvDevinfo,
    /// `ibdev2netdev` of mlnx-tools.
    Ibdev2netdev,
    /// `show_gids` of mlnx-tools.
    ShowGids,
    /// `beegfs-net` of beegfs-utils, up to version 7.
    BeegfsNet,
    /// `ibnetdiscover` of infiniband-diags.
    Ibnetdiscover,
    /// `ibhosts` of infiniband-diags.
    Ibhosts,
    /// `ibswitches` of infiniband-diags.
    Ibswitches,
    /// `sminfo` of infiniband-diags.
    Sminfo,
    /// `smpquery` of infiniband-diags.
    Smpquery,
    /// `perfquery` of infiniband-diags.
    Perfquery,
    /// `iblinkinfo` of infiniband-diags.
    Iblinkinfo,
    /// `ibqueryerrors` of infiniband-diags.
    Ibqueryerrors,
    /// `ibroute` of infiniband-diags.
    Ibroute,
    /// `ibtracert` of infiniband-diags.
    Ibtracert,
    /// `saquery` of infiniband-diags.
    Saquery,
}

impl Tool {
    /// All tools.
    pub const ALL: [Self; 18] = [
        Self::Ibstat,
        Self::Ibstatus,
        Self::IbvDevices,
        Self::IbvDevinfo,
        Self::Ibdev2netdev,
        Self::ShowGids,
        Self::BeegfsNet,
        Self::Ibnetdiscover,
        Self::Ibhosts,
        Self::Ibswitches,
        Self::Sminfo,
        Self::Smpquery,
        Self::Perfquery,
        Self::Iblinkinfo,
        Self::Ibqueryerrors,
        Self::Ibroute,
        Self::Ibtracert,
        Self::Saquery,
    ];

    /// Returns the name of the original.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ibstat => "ibstat",
            Self::Ibstatus => "ibstatus",
            Self::IbvDevices => "ibv_devices",
            Self::IbvDevinfo => "ibv_devinfo",
            Self::Ibdev2netdev => "ibdev2netdev",
            Self::ShowGids => "show_gids",
            Self::BeegfsNet => "beegfs-net",
            Self::Ibnetdiscover => "ibnetdiscover",
            Self::Ibhosts => "ibhosts",
            Self::Ibswitches => "ibswitches",
            Self::Sminfo => "sminfo",
            Self::Smpquery => "smpquery",
            Self::Perfquery => "perfquery",
            Self::Iblinkinfo => "iblinkinfo",
            Self::Ibqueryerrors => "ibqueryerrors",
            Self::Ibroute => "ibroute",
            Self::Ibtracert => "ibtracert",
            Self::Saquery => "saquery",
        }
    }

    /// True for a tool that sends management datagrams to the fabric.
    #[must_use]
    pub fn queries_fabric(self) -> bool {
        let local = [
            Self::Ibstat,
            Self::Ibstatus,
            Self::IbvDevices,
            Self::IbvDevinfo,
            Self::Ibdev2netdev,
            Self::ShowGids,
            Self::BeegfsNet,
        ];
        !local.contains(&self)
    }

    /// Returns the tool with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }
}

/// Call of a tool.
#[derive(Debug, Clone)]
pub struct Call<'call> {
    /// Tool to run.
    pub tool: Tool,
    /// Program name in messages, as in `argv[0]`.
    pub program: &'call str,
    /// Arguments without the program name.
    pub args: &'call [String],
    /// Release of rdma-core whose output is requested; `None` for the installed release.
    pub release: Option<Release>,
    /// Process ID in some messages.
    pub pid: u32,
}

/// Returns the output of the original.
///
/// # Errors
/// The option is not supported, an answer is not recorded, or libibverbs is missing.
pub fn run(call: &Call<'_>, source: &dyn Source) -> Result<Transcript, CompatError> {
    let reading = FileReader::new(source);
    let release = match &call.release {
        Some(release) => release.clone(),
        None => Release::installed(source),
    };
    let mut out = Transcript::default();
    let job = Job { call, reading: &reading, release };
    match call.tool {
        Tool::Ibstat => ibstat::run(&job, &mut out),
        Tool::Ibstatus => {
            ibstatus::run(&job, &mut out);
            Ok(())
        }
        Tool::IbvDevices => ibv_devices::run(&job, &mut out),
        Tool::IbvDevinfo => ibv_devinfo::run(&job, &mut out),
        Tool::Ibdev2netdev => ibdev2netdev::run(&job, &mut out),
        Tool::ShowGids => {
            show_gids::run(&job, &mut out);
            Ok(())
        }
        Tool::BeegfsNet => beegfs_net::run(&job, &mut out),
        Tool::Ibnetdiscover => ibnetdiscover::run(&job, &mut out),
        Tool::Ibhosts | Tool::Ibswitches => ibnodes::run(&job, &mut out),
        Tool::Sminfo => sminfo::run(&job, &mut out),
        Tool::Smpquery => smpquery::run(&job, &mut out),
        Tool::Perfquery => perfquery::run(&job, &mut out),
        Tool::Iblinkinfo => iblinkinfo::run(&job, &mut out),
        Tool::Ibqueryerrors => ibqueryerrors::run(&job, &mut out),
        Tool::Ibroute => ibroute::run(&job, &mut out),
        Tool::Ibtracert => ibtracert::run(&job, &mut out),
        Tool::Saquery => saquery::run(&job, &mut out),
    }?;
    // Incomplete output would look complete.
    match reading.into_missing() {
        missing if missing.is_empty() => Ok(out),
        missing => Err(CompatError::NotRecorded { tool: call.tool.name(), missing }),
    }
}

/// Asks every question of the local tools, so that a recording contains their answers.
///
/// Omits tools of the fabric, because a capture of a host sends no requests to other nodes. Omits
/// data that only root can read and that is not about RDMA: the product data of cards, which
/// `ibdev2netdev -v` prints.
pub fn ask_everything(source: &dyn Source) {
    let source = WithoutProductData(source);
    let _ = Release::installed(&source);
    let verbose = ["-v".to_owned()];
    for tool in Tool::ALL.into_iter().filter(|tool| !tool.queries_fabric()) {
        let args = match tool {
            Tool::IbvDevinfo | Tool::Ibdev2netdev => &verbose[..],
            _ => &[],
        };
        // The newest release asks every question of the older releases.
        let release = Some(Release::newest());
        let call = Call { tool, program: tool.name(), args, release, pid: 0 };
        // Only the questions matter; failures are ignored.
        let _ = run(&call, &source);
    }
}

/// A source without the product data of cards.
struct WithoutProductData<'source>(&'source dyn Source);

impl Source for WithoutProductData<'_> {
    fn ask(&self, question: &Question) -> Answer {
        match question {
            Question::File(path) if path.ends_with("/vpd") => Err(ReadError::NotRecorded),
            question => self.0.ask(question),
        }
    }

    fn taken_ns(&self) -> Option<u64> {
        self.0.taken_ns()
    }

    fn answered_ns(&self, question: &Question) -> Option<u64> {
        self.0.answered_ns(question)
    }
}

/// A call, its source and its release.
struct Job<'job> {
    call: &'job Call<'job>,
    reading: &'job FileReader<'job>,
    release: Release,
}

impl Job<'_> {
    /// True if the requested release is this one or a later one.
    fn since(&self, major: u32) -> bool {
        self.release.major >= major
    }
}
