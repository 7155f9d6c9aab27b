//! Replies to typed questions about one machine: the only way by which facts enter the program.
//!
//! A question names data to read, not its meaning. The raw reply or the error goes to `collect`.
//! Live machines, other root directories and captures have the same interface, so that replay
//! tests every decoder.

mod capability;
mod entry;
mod environment;
mod error;
pub mod fixes;
mod holders;
mod kernel_files;
mod kernel_log;
mod live;
mod mad_ports;
mod mad_record;
mod mads;
mod neighbors;
mod netlink;
mod question;
mod rds;
mod recorded;
mod recorder;
mod secrets;
mod verbs_child;
mod verbs_self;

pub use crate::sys::umad::UmadError;
pub use capability::has_capability;
pub use entry::{Entry, Recording, WrittenAnswer};
pub use error::ReadError;
pub use live::Live;
pub use mad_ports::{MadPortFacts, parse_mad_ports};
pub use mad_record::{MadRecordError, RecordedMads};
pub use mads::{
    MadAnswer, MadError, MadLimits, MadPort, MadTicket, Mads, ended_mads, set_mad_window, stop_mads,
};
pub use neighbors::NeighborTable;
pub(crate) use netlink::bytes_at;
pub use netlink::{
    Attribute, Attributes, CORE_MODULE, CountedQueuePairs, EthtoolCommand, EthtoolQuery, Leaves,
    Message, Messages, RdmaCommand, RdmaQuery, RouteCommand, RouteQuery, SocketQuery,
    has_other_queue_pairs, has_route, leaves_through,
};
pub use question::Question;
pub use rds::RdsList;
pub use recorded::Recorded;
pub use recorder::Recorder;
pub use secrets::without_secrets;
pub use verbs_child::VerbsChild;
pub use verbs_self::answer_verbs;

/// Last line of an incomplete reply to [`Question::Holders`].
pub const MORE_HOLDERS: &str = "more";

/// Raw bytes of a reply, or the error.
pub type Answer = Result<Vec<u8>, ReadError>;

/// Machine, directory tree or capture that replies to questions about one machine.
pub trait Source {
    /// Returns the reply to one question. Never waits without a deadline, never prints.
    ///
    /// # Errors
    /// The kernel's own error, or the reason why the kernel could not be queried.
    fn ask(&self, question: &Question) -> Answer;

    /// Opens a port for requests by management datagrams (MADs). `umad` is a name in the reply to
    /// [`Question::MadPorts`].
    ///
    /// # Errors
    /// The device file cannot be opened, or a capture does not hold the port.
    fn mads(&self, _umad: &str) -> Result<Box<dyn Mads + '_>, ReadError> {
        Err(ReadError::NotRecorded)
    }

    /// Announces a question, so that slow work for its reply can start early.
    fn expect(&self, _question: &Question) {}

    /// Returns the time at which the reading began, by the machine's own clock, in nanoseconds
    /// since 1970 UTC; `None` if replies have no time stamp, as in a directory tree.
    fn taken_ns(&self) -> Option<u64>;

    /// Returns the time of the reply to a question that was just asked, by the same clock; `None`
    /// if replies have no time stamp.
    fn answered_ns(&self, question: &Question) -> Option<u64>;
}
