//! Requests to subnet administration for records, and the records of a reply.
//!
//! Prints only failures. Used by `saquery` and `queries`.

use crate::compat::ToolError;
use crate::compat::diags::{NodeNames, PortId, Session};
use crate::mad::{Class, Header, MAD_BYTES, Method};
use crate::source::MadError;

/// Offset of the records in a reply, of the record size, and of the component mask.
const RECORDS: usize = 56;
const RECORD_SIZE: usize = 44;
const MASK: usize = 48;
/// Exit codes: errno values EIO and ETIMEDOUT.
const IO: u8 = 5;
const TIMED_OUT: u8 = 110;

#[derive(Default)]
pub(super) struct Conditions {
    modifier: u32,
    mask: u64,
    /// Record with the values of the conditions.
    record: Vec<u8>,
}

impl Conditions {
    pub(super) fn with_modifier(modifier: u32) -> Self {
        Self { modifier, ..Self::default() }
    }

    /// Adds a condition: the bit of the mask, and the value at an offset of the record.
    pub(super) fn set(&mut self, bit: u32, at: usize, value: &[u8]) {
        self.mask |= 1 << bit;
        let end = at + value.len();
        if self.record.len() < end {
            self.record.resize(end, 0);
        }
        self.record[at..end].copy_from_slice(value);
    }
}

pub(super) struct Administration<'job> {
    pub(super) session: Session<'job>,
    pub(super) manager: PortId,
    pub(super) names: NodeNames,
}

impl Administration<'_> {
    pub(super) fn all(&mut self, attribute: u16) -> Result<Vec<Vec<u8>>, ToolError> {
        self.table(attribute, &Conditions::default())
    }

    pub(super) fn table(
        &mut self,
        attribute: u16,
        conditions: &Conditions,
    ) -> Result<Vec<Vec<u8>>, ToolError> {
        self.ask(Method::GET_TABLE, attribute, conditions)
    }

    /// Requests records with a method: one record, or a table.
    pub(super) fn ask(
        &mut self,
        method: Method,
        attribute: u16,
        conditions: &Conditions,
    ) -> Result<Vec<Vec<u8>>, ToolError> {
        let class = Class::SUBNET_ADMINISTRATION;
        let mut mad = Header::request(class, method, attribute, conditions.modifier).to_mad();
        mad[MASK..RECORDS].copy_from_slice(&conditions.mask.to_be_bytes());
        let end = MAD_BYTES.min(RECORDS + conditions.record.len());
        mad[RECORDS..end].copy_from_slice(&conditions.record[..end - RECORDS]);
        match self.session.answer(Some(self.manager.lid), mad) {
            Ok(answer) => Ok(records(&answer, method == Method::GET_TABLE)),
            Err(MadError::Refused(status)) => Err(self.session.out.end(IO, refusal(status.0))),
            Err(_) => {
                Err(self.session.out.end(TIMED_OUT, "Query SA failed: Connection timed out\n"))
            }
        }
    }
}

/// Returns the records of a reply. The reply has the record size in units of 8 bytes.
fn records(answer: &[u8], is_table: bool) -> Vec<Vec<u8>> {
    let data = answer.get(RECORDS..).unwrap_or_default();
    if !is_table {
        return vec![data.to_vec()];
    }
    let size = answer.get(RECORD_SIZE..RECORD_SIZE + 2).unwrap_or(&[0, 0]);
    let size = usize::from(u16::from_be_bytes([size[0], size[1]])) * 8;
    if size == 0 {
        return Vec::new();
    }
    data.chunks_exact(size).map(<[u8]>::to_vec).collect()
}

fn refusal(status: u16) -> String {
    const FIELDS: [&str; 9] = [
        "MAD No invalid fields",
        "MAD Bad version",
        "MAD Method specified is not supported",
        "MAD Method/MadAttribute combination is not supported",
        "MAD Reserved",
        "MAD Reserved",
        "MAD Reserved",
        "MAD Invalid value in MadAttribute field(s) or MadAttribute Modifier",
        "MAD UNKNOWN ERROR",
    ];
    const CLASS: [&str; 10] = [
        "SA_NO_ERROR",
        "SA_ERR_NO_RESOURCES",
        "SA_ERR_REQ_INVALID",
        "SA_ERR_NO_RECORDS",
        "SA_ERR_TOO_MANY_RECORDS",
        "SA_ERR_REQ_INVALID_GID",
        "SA_ERR_REQ_INSUFFICIENT_COMPONENTS",
        "SA_ERR_REQ_DENIED",
        "SA_ERR_STATUS_PRIO_SUGGESTED",
        "SA_ERR_UNKNOWN",
    ];
    let (general, class) = (usize::from(status & 0xff), usize::from(status >> 8));
    let general = if general == 0 {
        String::new()
    } else {
        let busy = if general & 1 == 1 { "BUSY" } else { "" };
        let redirected = if general & 2 == 2 { "Redirection Required" } else { "" };
        let field = FIELDS[(general >> 2).min(FIELDS.len() - 1)];
        format!(" ({busy}; {redirected}; {field})")
    };
    let class = match class {
        0 => String::new(),
        class => format!(" SA({})", CLASS[class.min(CLASS.len() - 1)]),
    };
    format!("ERROR: Query result returned 0x{status:04x}, {general}{class}\n")
}

#[test]
fn an_answer_is_cut_into_records_of_the_size_that_it_names() {
    let mut answer = vec![0; RECORDS + 40];
    assert!(records(&answer, true).is_empty(), "no size, no record");
    answer[RECORD_SIZE + 1] = 2;
    answer[RECORDS + 16] = 7;
    let found = records(&answer, true);
    assert_eq!((found.len(), found[1][0]), (2, 7), "what is left over is no record");
    assert_eq!(records(&answer, false).len(), 1);
    assert!(records(&answer[..20], true).is_empty());
    answer[RECORD_SIZE] = 0xff;
    assert!(records(&answer, true).is_empty(), "a record that is larger than the answer");
}

#[test]
fn a_refusal_is_in_the_words_of_the_original() {
    assert_eq!(refusal(0x0300), "ERROR: Query result returned 0x0300,  SA(SA_ERR_NO_RECORDS)\n");
    assert_eq!(
        refusal(0x000d),
        "ERROR: Query result returned 0x000d,  (BUSY; ; MAD Method/MadAttribute combination is not \
         supported)\n"
    );
    assert_eq!(refusal(0xffff).matches("UNKNOWN").count(), 2);
}
