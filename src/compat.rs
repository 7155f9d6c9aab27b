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
mod word;

use crate::source::{Answer, Question, ReadError, Source};

pub use error::CompatError;
pub use release::Release;
pub use transcript::Transcript;

use error::{ToolError, ended};
use file_reader::FileReader;

const CLASS: &str = "/sys/class/infiniband";
const NETS: &str = "/sys/class/net";

/// Declares the tools: a variant with its documentation, and its row.
macro_rules! tools {
    ($(#[doc = $doc:literal] $name:ident = $row:expr;)*) => {
        /// A tool whose output this program can produce.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Tool {
            $(#[doc = $doc] $name,)*
        }

        impl Tool {
            /// All tools.
            pub const ALL: [Self; [$(Self::$name),*].len()] = [$(Self::$name),*];

            fn row(self) -> Row {
                match self {
                    $(Self::$name => $row,)*
                }
            }
        }
    };
}

tools! {
    /// `ibstat` of infiniband-diags.
    Ibstat = Row::of_host("ibstat", ibstat::run);
    /// `ibstatus` of infiniband-diags.
    Ibstatus = Row::of_host("ibstatus", ibstatus::run);
    /// `ibv_devices` of libibverbs.
    IbvDevices = Row::of_host("ibv_devices", ibv_devices::run);
    /// `ibv_devinfo` of libibverbs.
    IbvDevinfo = Row::of_host("ibv_devinfo", ibv_devinfo::run);
    /// `ibdev2netdev` of mlnx-tools.
    Ibdev2netdev = Row::of_host("ibdev2netdev", ibdev2netdev::run);
    /// `show_gids` of mlnx-tools.
    ShowGids = Row::of_host("show_gids", |job, out| {
        show_gids::run(job, out);
        Ok(())
    });
    /// `beegfs-net` of beegfs-utils, up to version 7.
    BeegfsNet = Row::of_host("beegfs-net", beegfs_net::run);
    /// `ibnetdiscover` of infiniband-diags.
    Ibnetdiscover = Row::of_fabric("ibnetdiscover", ibnetdiscover::run);
    /// `ibhosts` of infiniband-diags.
    Ibhosts = Row::of_fabric("ibhosts", ibnodes::run);
    /// `ibswitches` of infiniband-diags.
    Ibswitches = Row::of_fabric("ibswitches", ibnodes::run);
    /// `sminfo` of infiniband-diags.
    Sminfo = Row::of_fabric("sminfo", sminfo::run);
    /// `smpquery` of infiniband-diags.
    Smpquery = Row::of_fabric("smpquery", smpquery::run);
    /// `perfquery` of infiniband-diags.
    Perfquery = Row::of_fabric("perfquery", perfquery::run);
    /// `iblinkinfo` of infiniband-diags.
    Iblinkinfo = Row::of_fabric("iblinkinfo", iblinkinfo::run);
    /// `ibqueryerrors` of infiniband-diags.
    Ibqueryerrors = Row::of_fabric("ibqueryerrors", ibqueryerrors::run);
    /// `ibroute` of infiniband-diags.
    Ibroute = Row::of_fabric("ibroute", ibroute::run);
    /// `ibtracert` of infiniband-diags.
    Ibtracert = Row::of_fabric("ibtracert", ibtracert::run);
    /// `saquery` of infiniband-diags.
    Saquery = Row::of_fabric("saquery", saquery::run);
}

impl Tool {
    /// Returns the name of the original.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// True for a tool that sends management datagrams to the fabric.
    pub fn queries_fabric(self) -> bool {
        self.row().queries_fabric
    }

    /// Returns the tool with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }
}

/// Name of a tool, and the function that appends its output to a transcript.
struct Row {
    name: &'static str,
    queries_fabric: bool,
    run: Run,
}

type Run = fn(&Job<'_>, &mut Transcript) -> Result<(), ToolError>;

impl Row {
    fn of_host(name: &'static str, run: Run) -> Self {
        Self { name, queries_fabric: false, run }
    }

    fn of_fabric(name: &'static str, run: Run) -> Self {
        Self { name, queries_fabric: true, run }
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
    let release = call.release.clone().unwrap_or_else(|| Release::installed(source));
    let mut out = Transcript::default();
    let job = Job { call, reading: &reading, release };
    ended((call.tool.row().run)(&job, &mut out))?;
    // Incomplete output would look complete.
    match reading.missing.into_inner() {
        missing if missing.is_empty() => Ok(out),
        missing => Err(CompatError::NotRecorded { tool: call.tool.name(), missing }),
    }
}

/// Asks every question of the local tools, so that a recording contains their answers.
///
/// Omits tools of the fabric, because a capture of a host sends no requests to other nodes. Omits
/// the product data of cards (`ibdev2netdev -v`), which only root can read.
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

    /// Formats a warning of a function like libibmad.
    fn warning(&self, function: &str, message: &str) -> String {
        format!("ibwarn: [{}] {function}: {message}\n", self.call.pid)
    }

    /// Returns the error for an option that only the original has.
    fn refused(&self, option: impl Into<String>, instead: Option<&'static str>) -> ToolError {
        let (tool, option) = (self.call.tool.name(), option.into());
        ToolError::Refused(CompatError::NotOffered { tool, option, instead })
    }
}
