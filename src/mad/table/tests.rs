//! Tests tables that are whole, truncated, padded or refused, and impossible headers.

use proptest::prelude::*;

use super::super::{LinkRecord, MAD_BYTES, NodeDescription, NodeInfo, NodeRecord, PortInfoRecord};
use super::*;

/// Header of a joined reply: data, active, first and last segment.
const DATA: SaHeader = SaHeader {
    rmpp_version: 1,
    rmpp_type: 1,
    rmpp_flags: 7,
    rmpp_status: 0,
    payload_bytes: 0,
    record_words: 14,
};

/// Returns a reply with records of 108 bytes, 112 bytes apart.
fn answer(header: SaHeader, records: &[NodeRecord]) -> Vec<u8> {
    let mut bytes = vec![0; 56];
    bytes[..4].copy_from_slice(&[1, 3, 2, 0x92]);
    bytes[16..18].copy_from_slice(&NodeRecord::ID.to_be_bytes());
    header.encode(&mut bytes[24..]).unwrap();
    for record in records {
        let mut place = vec![0; 112];
        record.encode(&mut place).unwrap();
        bytes.extend(place);
    }
    bytes
}

fn record(lid: u16) -> NodeRecord {
    let info = NodeInfo { node_type: 1, ports: 1, node_guid: 7, ..NodeInfo::default() };
    NodeRecord { lid, info, description: NodeDescription(format!("node{lid}")) }
}

fn decode(bytes: &[u8]) -> RecordTable<NodeRecord> {
    RecordTable::decode(bytes).unwrap()
}

fn error(bytes: &[u8]) -> String {
    RecordTable::<NodeRecord>::decode(bytes).unwrap_err().to_string()
}

#[test]
fn every_record_of_a_table_is_read() {
    let records = [record(1), record(2), record(0xffff)];
    let without_rmpp = SaHeader { record_words: 14, ..SaHeader::default() };
    for header in [DATA, without_rmpp] {
        let table = decode(&answer(header, &records));
        assert_eq!((table.records.as_slice(), table.left_bytes), (records.as_slice(), 0));
    }
}

#[test]
fn a_table_without_records_is_empty() {
    let header = SaHeader { record_words: 0, ..DATA };
    assert_eq!(decode(&answer(header, &[])).records, []);
    // A MAD that the kernel did not shorten has padding.
    let mut padded = answer(header, &[]);
    padded.resize(MAD_BYTES, 0);
    assert_eq!(decode(&padded).records, []);
    let header = SaHeader { payload_bytes: 20, ..DATA };
    assert_eq!(decode(&answer(header, &[])).records, []);
}

#[test]
fn a_table_that_was_cut_says_so() {
    let mut bytes = answer(DATA, &[record(1), record(2)]);
    bytes.truncate(bytes.len() - 1);
    let table = decode(&bytes);
    assert_eq!((table.records.len(), table.left_bytes), (1, 111));
}

#[test]
fn a_table_that_was_cut_between_records_is_refused() {
    // 336 bytes in two segments, each with a header of 20 bytes.
    let header = SaHeader { payload_bytes: 376, ..DATA };
    let bytes = answer(header, &[record(1), record(2), record(3)]);
    assert_eq!(decode(&bytes).records.len(), 3);
    assert_eq!(error(&bytes[..56 + 224]), "336 bytes of records were announced, and 224 arrived");
    assert_eq!(error(&bytes[..56]), "336 bytes of records were announced, and 0 arrived");
}

#[test]
fn padding_of_the_last_segment_is_no_record() {
    // One record in a MAD with 88 bytes of padding. Two more records would fit if they were
    // short.
    let header = SaHeader { payload_bytes: 20 + 112, ..DATA };
    let mut bytes = answer(header, &[record(1)]);
    bytes.resize(MAD_BYTES, 0);
    assert_eq!(decode(&bytes), RecordTable { records: vec![record(1)], left_bytes: 0 });
    let mut links = bytes;
    links[16..18].copy_from_slice(&LinkRecord::ID.to_be_bytes());
    SaHeader { payload_bytes: 20 + 16, record_words: 1, ..DATA }.encode(&mut links[24..]).unwrap();
    assert_eq!(RecordTable::<LinkRecord>::decode(&links).unwrap().records.len(), 2);
    // Padding after several segments is reported, because no header contains its start.
    let mut long = answer(DATA, &[record(1), record(2)]);
    long.extend([0; 7]);
    assert_eq!((decode(&long).records.len(), decode(&long).left_bytes), (2, 7));
}

#[test]
fn a_length_of_one_segment_does_not_cut_a_long_table() {
    let header = SaHeader { payload_bytes: 220, ..DATA };
    assert_eq!(decode(&answer(header, &[record(1), record(2), record(3)])).records.len(), 3);
}

#[test]
fn a_length_of_zero_is_unknown_and_an_impossible_one_is_refused() {
    assert_eq!(decode(&answer(DATA, &[record(1)])).records.len(), 1);
    let with = |payload_bytes| error(&answer(SaHeader { payload_bytes, ..DATA }, &[record(1)]));
    assert_eq!(with(19), "a payload of 19 bytes has no room for the header of 20 bytes");
    assert_eq!(with(221), "181 bytes of records were announced, and 112 arrived");
    assert!(with(u32::MAX).ends_with(" bytes of records were announced, and 112 arrived"));
}

#[test]
fn an_answer_without_data_is_refused() {
    let of = |rmpp_type, rmpp_status| {
        error(&answer(SaHeader { rmpp_type, rmpp_status, ..DATA }, &[record(1)]))
    };
    assert_eq!(
        of(4, 126),
        "the answer is an RMPP abort packet (status 126: too many retries), and has no data"
    );
    assert_eq!(
        of(3, 1),
        "the answer is an RMPP stop packet (status 1: resources exhausted), and has no data"
    );
    assert!(of(2, 0).starts_with("the answer is an RMPP acknowledgement packet"));
    assert!(of(0, 0).starts_with("the answer is an RMPP type 0 packet"), "active");
    assert!(of(200, 255).contains("type 200 packet (status 255: reserved)"));
    assert_eq!(of(1, 118), "the transfer failed with RMPP status 118: total time too long");
    let inactive = SaHeader { rmpp_flags: 0, rmpp_type: 4, ..DATA };
    assert!(error(&answer(inactive, &[record(1)])).contains("abort"));
    let later = SaHeader { rmpp_version: 2, ..DATA };
    assert_eq!(error(&answer(later, &[])), "the answer has RMPP version 2, and version 1 is known");
}

#[test]
fn every_status_of_rmpp_has_words() {
    for status in 0..=u8::MAX {
        assert!(!reason(status).is_empty());
    }
    assert_eq!(
        (reason(119).len(), reason(130), reason(200)),
        (42, "defined by the class", "defined by the vendor")
    );
}

#[test]
fn a_wrong_distance_is_refused() {
    let with = |record_words| error(&answer(SaHeader { record_words, ..DATA }, &[record(1)]));
    assert_eq!(with(0), "records of 108 bytes lie 0 bytes apart");
    assert_eq!(with(13), "records of 108 bytes lie 104 bytes apart");
    assert_eq!(with(0xffff), "records of 108 bytes lie 524280 bytes apart");
    // A later version of the specification can have longer records.
    let mut bytes =
        answer(SaHeader { record_words: 28, ..DATA }, &[record(1), record(9), record(2)]);
    bytes.truncate(56 + 3 * 112);
    let table = decode(&bytes);
    assert_eq!((table.records, table.left_bytes), (vec![record(1)], 112));
}

#[test]
fn an_answer_that_is_a_refusal_or_another_attribute_is_refused() {
    let mut bytes = answer(DATA, &[record(1)]);
    bytes[4..6].copy_from_slice(&[2, 0]);
    assert_eq!(error(&bytes), "subnet administration replied: class status 2");
    bytes[4..6].copy_from_slice(&[0, 0x0c]);
    assert_eq!(error(&bytes), "subnet administration replied: unsupported attribute");
    let bytes = answer(DATA, &[record(1)]);
    let error = RecordTable::<PortInfoRecord>::decode(&bytes).unwrap_err();
    assert_eq!(error.to_string(), "attribute 0x0011 arrived, and 0x0012 was requested");
}

#[test]
fn an_answer_without_its_headers_is_refused() {
    let bytes = answer(DATA, &[]);
    for length in [0, 23, 24, 35, 36, 55] {
        let error = RecordTable::<NodeRecord>::decode(&bytes[..length]).unwrap_err();
        assert_eq!(error, RecordTableError::Short(length));
    }
    assert_eq!(
        error(&[]),
        "an answer of subnet administration has 56 bytes at least, and 0 arrived"
    );
}

proptest! {
    #[test]
    fn no_bytes_panic(
        mut bytes in proptest::collection::vec(any::<u8>(), 0..600),
        is_data: bool,
        words in 0_u16..40,
    ) {
        if is_data && bytes.len() >= 56 {
            let header = SaHeader { record_words: words, ..DATA };
            header.encode(&mut bytes[24..]).unwrap();
            bytes[4..6].fill(0);
            bytes[16..18].copy_from_slice(&NodeRecord::ID.to_be_bytes());
        }
        if let Ok(table) = RecordTable::<NodeRecord>::decode(&bytes) {
            prop_assert!(table.records.len() * 108 + table.left_bytes <= bytes.len() - 56);
        }
        let _ = RecordTable::<PortInfoRecord>::decode(&bytes);
        let _ = RecordTable::<LinkRecord>::decode(&bytes);
    }

    #[test]
    fn a_table_is_read_back(lids in proptest::collection::vec(any::<u16>(), 0..20)) {
        let records: Vec<NodeRecord> = lids.into_iter().map(record).collect();
        let data = records.len() * 112;
        let segments = data.div_ceil(200).max(1);
        let payload_bytes = u32::try_from(data + segments * 20).unwrap();
        let bytes = answer(SaHeader { payload_bytes, ..DATA }, &records);
        prop_assert_eq!(decode(&bytes), RecordTable { records, left_bytes: 0 });
        // Every truncation is an error or leaves bytes.
        let cut = &bytes[..bytes.len() - 1];
        prop_assert!(RecordTable::<NodeRecord>::decode(cut).is_err());
    }
}
