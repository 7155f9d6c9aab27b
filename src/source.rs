//! Answers to typed questions about one machine: the only way facts enter the program.
//!
//! A question says what to read and never what it means; the raw answer, or the reason why there
//! is none, goes to `collect`. Live machines, other root directories and captures answer alike, so
//! that every decoder can be tested by replay.

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
mod neighbours;
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
pub use neighbours::NeighbourTable;
pub use netlink::{
    Attribute, Attributes, EthtoolCommand, EthtoolQuery, Message, Messages, RdmaCommand, RdmaQuery,
    RouteCommand, RouteQuery, SocketQuery, has_route,
};
pub use question::Question;
pub use rds::RdsList;
pub use recorded::Recorded;
pub use recorder::Recorder;
pub use secrets::without_secrets;
pub use verbs_child::VerbsChild;
pub use verbs_self::answer_verbs;

/// The last line of an answer to [`Question::Holders`] that is not whole.
pub const MORE_HOLDERS: &str = "more";

/// The raw bytes of an answer, or why there are none.
pub type Answer = Result<Vec<u8>, ReadError>;

/// Something that can be asked about one machine.
pub trait Source {
    /// Answers one question. Never waits without a deadline, never prints.
    ///
    /// # Errors
    /// The kernel's own answer, or why it could not be asked.
    fn ask(&self, question: &Question) -> Answer;

    /// Opens a port for requests by management datagrams; `umad` is a name that
    /// [`Question::MadPorts`] reported.
    ///
    /// # Errors
    /// The device file cannot be opened, or a capture does not hold the port.
    fn mads(&self, _umad: &str) -> Result<Box<dyn Mads + '_>, ReadError> {
        Err(ReadError::NotRecorded)
    }

    /// Says that a question will be asked: what takes its time may begin now.
    fn expect(&self, _question: &Question) {}

    /// The machine's own clock, in nanoseconds since 1970 UTC, when the reading began; `None` for
    /// answers that have no time stamp, as those of a bare directory tree.
    fn taken_ns(&self) -> Option<u64>;

    /// When a question that was just asked was answered, by the same clock; `None` as above.
    fn answered_ns(&self, question: &Question) -> Option<u64>;
}

impl<S: Source + ?Sized> Source for &S {
    fn ask(&self, question: &Question) -> Answer {
        (**self).ask(question)
    }

    fn mads(&self, umad: &str) -> Result<Box<dyn Mads + '_>, ReadError> {
        (**self).mads(umad)
    }

    fn expect(&self, question: &Question) {
        (**self).expect(question);
    }

    fn taken_ns(&self) -> Option<u64> {
        (**self).taken_ns()
    }

    fn answered_ns(&self, question: &Question) -> Option<u64> {
        (**self).answered_ns(question)
    }
}
