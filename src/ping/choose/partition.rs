//! Chooses the partition of two ports.

use super::candidate::Candidate;
use super::{NoMatch, Overrides};
use crate::model::PKey;

/// Index and `P_Key` in the table of one port; (0, `None`) if the index has over 16 bits.
pub(super) type Partition = (u16, Option<u16>);

/// Returns the partition at both ends, the source first; `None` if a table is unknown.
///
/// Takes the requested partition. Without a request, takes the partition at index 0 if both ends
/// may communicate in it, otherwise the first partition in which both ends may communicate. At
/// least one of two members must be a full member (IBA 10.9.1.1).
pub(super) fn common_partition<'a>(
    a: &Candidate<'a>,
    b: &Candidate<'a>,
    wanted: &Overrides,
) -> Result<Option<(Partition, Partition)>, NoMatch> {
    // The highest bit marks a full member; the other bits are the partition.
    const BASE: u16 = 0x7fff;
    let find = |one: &Candidate<'_>, end: &str| -> Result<Option<PKey>, NoMatch> {
        // Tables may be unreadable, and iWARP has none.
        let table = one.port.pkeys.as_deref().unwrap_or_default();
        let Some(wanted) = wanted.pkey else {
            return Ok(table.iter().find(|key| key.index == 0).or(table.first()).copied());
        };
        let found = table.iter().find(|key| key.value & BASE == wanted & BASE);
        found.copied().map(Some).ok_or_else(|| {
            let (device, port) = one.place();
            let keys: Vec<String> = table.iter().map(ToString::to_string).collect();
            NoMatch::PKey(if keys.is_empty() {
                format!("{device}/{port} of the {end} reports no P_Keys; {wanted:#06x} is requested")
            } else {
                format!(
                    "{device}/{port} of the {end} is not in partition {wanted:#06x}; its P_Keys are {}",
                    keys.join(", ")
                )
            })
        })
    };
    let (Some(mut mine), Some(mut theirs)) = (find(a, "source")?, find(b, "target")?) else {
        return Ok(None);
    };
    let may_communicate = |x: u16, y: u16| x & BASE == y & BASE && (x | y) & !BASE != 0;
    if wanted.pkey.is_none() && !may_communicate(mine.value, theirs.value) {
        let keys = |one: &Candidate<'a>| one.port.pkeys.iter().flatten().copied();
        let common = keys(a)
            .flat_map(|mine| keys(b).map(move |theirs| (mine, theirs)))
            .filter(|(mine, theirs)| may_communicate(mine.value, theirs.value))
            .min_by_key(|(mine, theirs)| (mine.index, theirs.index));
        (mine, theirs) = common.unwrap_or((mine, theirs));
    }
    let (x, y) = (mine.value, theirs.value);
    if x & BASE != y & BASE {
        return Err(NoMatch::PKey(format!(
            "the P_Keys {x:#06x} of the source and {y:#06x} of the target are different partitions"
        )));
    }
    if (x | y) & !BASE == 0 {
        return Err(NoMatch::PKey(format!(
            "both ends are limited members of partition {x:#06x}; limited members cannot communicate with each other"
        )));
    }
    let partition =
        |key: PKey| u16::try_from(key.index).map_or((0, None), |index| (index, Some(key.value)));
    Ok(Some((partition(mine), partition(theirs))))
}
