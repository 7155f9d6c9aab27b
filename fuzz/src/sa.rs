//! Fuzz target for tables of subnet administration (SA): complete, cut and padded.

use rdmactl::mad::{LinkRecord, MadAttribute, NodeRecord, PortInfoRecord, RecordTable, SaHeader};

/// Bytes before the records of a table.
const RECORDS: usize = 56;

/// Decodes the bytes as a table of each kind of record.
pub fn run(data: &[u8]) {
    table::<NodeRecord>(data);
    table::<PortInfoRecord>(data);
    table::<LinkRecord>(data);
}

/// Decodes a table. Its records take no more bytes than the table. The records of a cut table are
/// the first records of the complete table. Written records are read back.
fn table<A: MadAttribute + PartialEq + std::fmt::Debug>(data: &[u8]) {
    let mut data = data.to_vec();
    // One input is decoded as three tables, and each table needs its own attribute ID.
    if let Some(place) = data.get_mut(16..18) {
        place.copy_from_slice(&A::ID.to_be_bytes());
    }
    let whole = match RecordTable::<A>::decode(&data) {
        Ok(whole) => whole,
        Err(error) => {
            assert!(error.to_string().len() < 120, "{error}");
            return;
        }
    };
    assert!(whole.records.len() * A::BYTES <= data.len().saturating_sub(RECORDS));
    // The last six bytes of the input set where the table is cut.
    let places = data.iter().rev().take(6).map(|byte| usize::from(*byte) * data.len() / 256);
    for end in places.chain([data.len().saturating_sub(1)]) {
        if let Ok(cut) = RecordTable::<A>::decode(&data[..end]) {
            assert!(whole.records.starts_with(&cut.records), "{end} bytes");
        }
    }
    if !whole.records.is_empty() {
        read_back(&whole.records);
    }
}

fn read_back<A: MadAttribute + PartialEq + std::fmt::Debug>(records: &[A]) {
    let distance = A::BYTES.div_ceil(8) * 8;
    let mut written = vec![0; RECORDS];
    written[16..18].copy_from_slice(&A::ID.to_be_bytes());
    let record_words = u16::try_from(distance / 8).expect("a short record");
    let header = SaHeader { record_words, ..SaHeader::default() };
    header.encode(&mut written[24..]).expect("it is long enough");
    for record in records {
        let start = written.len();
        written.resize(start + distance, 0);
        record.encode(&mut written[start..]).expect("it is long enough");
    }
    let again = RecordTable::<A>::decode(&written).expect("a table");
    assert_eq!(again.records.len(), records.len());
    // A node name that is not UTF-8 gets replacement characters. The longer name may be cut when
    // it is written.
    let is_same = |bytes: &[A], other: &[A]| bytes == other;
    assert!(A::NAME == NodeRecord::NAME || is_same(&again.records, records));
}
