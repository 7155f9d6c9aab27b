//! Compares the places of all fields with those of libibmad, which `libibmad.tsv` has recorded.

use super::*;

/// Places of the fields of an attribute, found by setting one bit after the other.
fn places<A: Attribute>(fields: impl Fn(&A) -> Vec<FieldValue>) -> Vec<(&'static str, String)> {
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
        let mut ours = ours;
        if attribute == PortCounters::NAME {
            // libibmad reads QP1Dropped from the bytes of VL15Dropped. The kernel has it before
            // them (struct ib_pma_portcounters in include/rdma/ib_pma.h).
            let place = ours.iter().position(|(name, _)| *name == "qp1_dropped").unwrap();
            let (_, place) = ours.remove(place);
            assert_eq!(
                (place.as_str(), theirs.iter().filter(|it| **it == "22.0/16").count()),
                ("20.0/16", 2)
            );
        }
        if attribute == PortInfo::NAME {
            // libibmad has these three fields since version 5.6 (rdma-core 60).
            ours.retain(|(name, _)| !name.starts_with("speed_ext_2_"));
        }
        let mut theirs = theirs;
        theirs.dedup();
        let names: Vec<&str> = ours.iter().map(|(name, _)| *name).collect();
        let ours: Vec<&str> = ours.iter().map(|(_, place)| place.as_str()).collect();
        assert_eq!(ours, theirs, "{attribute}: {names:?}");
    }
}
