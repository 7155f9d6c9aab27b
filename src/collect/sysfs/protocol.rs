//! Which RDMA protocol runs on a port.

use crate::model::{LinkLayer, NodeType, Protocol};

/// Derives the protocol; `None` where the facts at hand allow more than one.
pub(super) fn derive_protocol(
    node_type: Option<NodeType>,
    link_layer: Option<LinkLayer>,
    driver: Option<&str>,
) -> Option<Protocol> {
    match (node_type?, link_layer?, driver) {
        (NodeType::Rnic, _, _) => Some(Protocol::Iwarp),
        (NodeType::Usnic | NodeType::UsnicUdp, _, _) => Some(Protocol::Usnic),
        (_, _, Some("efa")) => Some(Protocol::Efa),
        // erdma in RoCE mode says InfiniBand, because it has no callback for the link layer (6.12).
        (_, LinkLayer::Ethernet, _) | (_, LinkLayer::Infiniband, Some("erdma")) => {
            Some(Protocol::Roce)
        }
        // Omni-Path says InfiniBand too: without the driver's name the two look alike.
        (_, LinkLayer::Infiniband, Some("hfi1")) => Some(Protocol::Opa),
        (_, LinkLayer::Infiniband, Some(_)) => Some(Protocol::Ib),
        (_, LinkLayer::Infiniband | LinkLayer::Unknown, _) => None,
    }
}

/// Whether ports have LIDs, of those that a subnet manager gives. Others have the file too: irdma and
/// `i40iw` show 1, and the kernels of the latter called its link layer `InfiniBand`.
pub(super) fn has_lids(
    protocol: Option<Protocol>,
    node_type: Option<NodeType>,
    link_layer: Option<LinkLayer>,
) -> bool {
    match protocol {
        Some(protocol) => protocol.has_subnet(),
        None => node_type.is_some() && link_layer == Some(LinkLayer::Infiniband),
    }
}

#[test]
fn lids_are_those_of_infiniband_and_omni_path() {
    let of = |protocol, layer| has_lids(protocol, Some(NodeType::Ca), Some(layer));
    let infiniband = LinkLayer::Infiniband;
    assert!(of(Some(Protocol::Ib), infiniband) && of(Some(Protocol::Opa), infiniband));
    assert!(of(None, infiniband) && !of(None, LinkLayer::Ethernet));
    assert!(!has_lids(None, None, Some(infiniband)), "it may be i40iw");
    assert!(!of(Some(Protocol::Iwarp), infiniband), "i40iw on old kernels");
    assert!(!of(Some(Protocol::Roce), infiniband), "erdma");
}

#[test]
fn omni_path_and_infiniband_differ_by_driver_only() {
    let of = |driver| derive_protocol(Some(NodeType::Ca), Some(LinkLayer::Infiniband), driver);
    assert_eq!(of(Some("hfi1")), Some(Protocol::Opa));
    assert_eq!(of(Some("mlx5_core")), Some(Protocol::Ib));
    assert_eq!(of(None), None);
}

#[test]
fn iwarp_is_known_by_its_node_type() {
    let of = |node| derive_protocol(Some(node), Some(LinkLayer::Ethernet), None);
    assert_eq!(of(NodeType::Rnic), Some(Protocol::Iwarp));
    assert_eq!(of(NodeType::Ca), Some(Protocol::Roce));
}
