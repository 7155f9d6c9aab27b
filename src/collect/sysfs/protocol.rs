//! Derives the RDMA protocol of a port from node type, link layer and driver. `port` calls it.

use crate::model::{LinkLayer, NodeType, Protocol};

/// Derives the protocol; `None` if the facts allow more than one.
pub(super) fn derive_protocol(
    node_type: Option<NodeType>,
    link_layer: Option<LinkLayer>,
    driver: Option<&str>,
) -> Option<Protocol> {
    match (node_type?, link_layer?, driver) {
        (NodeType::Rnic, _, _) => Some(Protocol::Iwarp),
        (NodeType::Usnic | NodeType::UsnicUdp, _, _) => Some(Protocol::Usnic),
        (_, _, Some("efa")) => Some(Protocol::Efa),
        // erdma in RoCE mode reports InfiniBand: it has no callback for the link layer (6.12).
        (_, LinkLayer::Ethernet, _) | (_, LinkLayer::Infiniband, Some("erdma")) => {
            Some(Protocol::Roce)
        }
        // Omni-Path reports InfiniBand too: only the driver's name distinguishes them.
        (_, LinkLayer::Infiniband, Some("hfi1")) => Some(Protocol::Opa),
        (_, LinkLayer::Infiniband, Some(_)) => Some(Protocol::Ib),
        (_, LinkLayer::Infiniband | LinkLayer::Unknown, _) => None,
    }
}

/// True if the port has LIDs from a subnet manager. Other ports have the file too: irdma and
/// `i40iw` report LID 1, and the kernels of `i40iw` reported its link layer as `InfiniBand`.
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
