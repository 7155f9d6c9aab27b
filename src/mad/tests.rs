//! Compares the positions of all fields with the positions in libibmad, from `libibmad.tsv`.
//! Encodes and decodes every attribute.

use proptest::prelude::*;

use super::*;

/// Returns the positions of the fields of an attribute, found by setting one bit at a time.
fn places<A: MadAttribute>(fields: impl Fn(&A) -> Vec<FieldValue>) -> Vec<(&'static str, String)> {
    let mut places: Vec<(&'static str, usize, usize)> = Vec::new();
    for bit in 0..A::BYTES * 8 {
        let mut bytes = vec![0; A::BYTES];
        bytes[bit / 8] = 0x80 >> (bit % 8);
        let decoded = A::decode(&bytes).unwrap();
        for field in fields(&decoded).into_iter().filter(|field| field.value != 0) {
            match places.last_mut() {
                Some((name, _, width)) if *name == field.name => *width += 1,
                _ => places.push((field.name, bit, 1)),
            }
        }
    }
    let text = |(name, bit, width)| (name, format!("{}.{}/{width}", bit / 8, bit % 8));
    places.into_iter().map(text).collect()
}

#[test]
fn fields_lie_where_libibmad_reads_them() {
    let ours = [
        (NodeInfo::NAME, places(NodeInfo::fields)),
        (SwitchInfo::NAME, places(SwitchInfo::fields)),
        (PortInfo::NAME, places(PortInfo::fields)),
        (SmInfo::NAME, places(SmInfo::fields)),
        (PortCounters::NAME, places(PortCounters::fields)),
        (PortCountersExtended::NAME, places(PortCountersExtended::fields)),
    ];
    for (attribute, ours) in ours {
        let lines = include_str!("libibmad.tsv").lines().filter(|line| !line.starts_with('#'));
        let theirs: Vec<&str> = lines
            .filter_map(|line| line.strip_prefix(attribute)?.strip_prefix('\t')?.split('\t').nth(1))
            .collect();
        for (name, place) in ours {
            match name {
                // libibmad reads `QP1Dropped` from the bytes of `VL15Dropped`. In the kernel it
                // precedes them (`struct ib_pma_portcounters` in include/rdma/ib_pma.h).
                "qp1_dropped" if attribute == PortCounters::NAME => assert_eq!(place, "20.0/16"),
                // libibmad has these three fields since version 5.6 (rdma-core 60).
                name if name.starts_with("speed_ext_2_") => {}
                name => assert!(theirs.contains(&&*place), "{attribute}: {name} at {place}"),
            }
        }
    }
}

/// Size of the longest attribute, in bytes.
const LONGEST: usize = 184;

/// Decodes an attribute and encodes it over zeros, over ones and over its own bytes.
fn is_read_back<A: MadAttribute + PartialEq + std::fmt::Debug>(bytes: &[u8]) {
    let decoded = A::decode(bytes).unwrap();
    for reserved in [0, 0xff] {
        let mut written = vec![reserved; A::BYTES + 1];
        decoded.encode(&mut written).unwrap();
        assert_eq!(A::decode(&written).unwrap(), decoded, "{}", A::NAME);
        assert_eq!(written[A::BYTES], reserved, "{} writes beyond its end", A::NAME);
    }
    let mut kept = bytes.to_vec();
    decoded.encode(&mut kept).unwrap();
    assert_eq!(kept, bytes, "{} changes reserved bits", A::NAME);
}

/// Decodes and encodes with every number of bytes up to the size of the attribute.
fn needs_its_bytes<A: MadAttribute + std::fmt::Debug>() {
    let whole = A::decode(&[0; LONGEST]).unwrap();
    for length in 0..=A::BYTES {
        let mut bytes = vec![0; length];
        let short = Short { name: A::NAME, needed: A::BYTES, found: length };
        let expected = if length < A::BYTES { Err(short) } else { Ok(()) };
        assert_eq!(A::decode(&bytes).map(|_| ()), expected);
        assert_eq!(whole.encode(&mut bytes), expected);
    }
}

/// Calls a function for each attribute that consists of numbers.
macro_rules! for_each_attribute {
    ($function:ident($($argument:expr)?)) => {
        $function::<ClassPortInfo>($($argument)?);
        $function::<ForwardingBlock>($($argument)?);
        $function::<LinkRecord>($($argument)?);
        $function::<NodeInfo>($($argument)?);
        $function::<PartitionBlock>($($argument)?);
        $function::<PortCounters>($($argument)?);
        $function::<PortCountersExtended>($($argument)?);
        $function::<PortInfo>($($argument)?);
        $function::<PortInfoRecord>($($argument)?);
        $function::<PortReceiveErrorDetails>($($argument)?);
        $function::<PortTransmitDiscardDetails>($($argument)?);
        $function::<SaHeader>($($argument)?);
        $function::<SmInfo>($($argument)?);
        $function::<SwitchInfo>($($argument)?);
    };
}

#[test]
fn every_attribute_needs_its_bytes() {
    for_each_attribute!(needs_its_bytes());
    needs_its_bytes::<NodeDescription>();
    needs_its_bytes::<NodeRecord>();
}

proptest! {
    #[test]
    fn every_attribute_is_read_back(bytes in prop::collection::vec(any::<u8>(), LONGEST)) {
        for_each_attribute!(is_read_back(&bytes));
    }

    #[test]
    fn a_description_is_read_back(name in "[^\\x00]{0,80}", bytes: [u8; 64]) {
        let mut written = bytes;
        NodeDescription(name.clone()).encode(&mut written).unwrap();
        let read = NodeDescription::decode(&written).unwrap().0;
        // A longer name is truncated, possibly within a character.
        if name.len() <= 64 {
            prop_assert_eq!(read, name);
        } else {
            let whole = read.trim_end_matches(char::REPLACEMENT_CHARACTER);
            prop_assert!(name.starts_with(whole));
        }
        prop_assert!(NodeDescription::decode(&bytes).unwrap().0.chars().count() <= 64);
    }

    #[test]
    fn requests_are_read_back(
        ports in prop::collection::vec(any::<u8>(), 0..=LONGEST_PATH),
        modifier: u32,
        port: u8,
    ) {
        let path = ports.iter().try_fold(DirectedPath::own(), |path, port| path.through(*port));
        let path = path.unwrap();
        prop_assert_eq!(path.ports(), &ports[..]);
        let mad = directed_smp::<PortInfo>(&path, modifier);
        let header = Header::decode(&mad).unwrap();
        prop_assert_eq!((header.class, header.method), (Class::SUBNET_DIRECTED, Method::GET));
        prop_assert_eq!((header.attribute, header.modifier), (PortInfo::ID, modifier));
        prop_assert_eq!(usize::from(header.class_specific), ports.len());
        prop_assert_eq!(&mad[129..129 + ports.len()], &ports[..]);
        prop_assert_eq!(smp_attribute::<PortInfo>(&mad), Some(PortInfo::default()));
        let header = Header::decode(&smp::<PortInfo>(modifier)).unwrap();
        prop_assert_eq!((header.class, header.modifier), (Class::SUBNET_LID, modifier));
        let mad = performance_request::<PortCounters>(port);
        prop_assert_eq!(performance_attribute::<PortCounters>(&mad).unwrap().port, port);
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        fn decode<A: MadAttribute>(bytes: &[u8]) {
            let _ = A::decode(bytes);
            let _ = smp_attribute::<A>(bytes);
            let _ = performance_attribute::<A>(bytes);
            let _ = RecordTable::<A>::decode(bytes);
        }
        for_each_attribute!(decode(&bytes));
        decode::<NodeDescription>(&bytes);
        decode::<NodeRecord>(&bytes);
        let _ = (Header::decode(&bytes), Header::decode_start(&bytes), smp_data(&bytes));
    }
}
