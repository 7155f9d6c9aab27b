//! Sends one netlink request and receives all messages of its reply.
//!
//! All netlink families share the codec: RDMA, ethtool (generic netlink), routes with DCB, and
//! sockets. The modules do not interpret attributes; `collect` does. `live` and `ping` use this
//! module.

/// Declares the read commands of a protocol, each with its number and the words of messages.
macro_rules! commands {
    (
        $(#[$of_enum:meta])*
        pub enum $name:ident {
            $($(#[$of_variant:meta])* $variant:ident = ($number:literal, $words:literal),)*
        }
    ) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        $(#[$of_enum])*
        pub enum $name {
            $($(#[$of_variant])* $variant = $number,)*
        }

        impl $name {
            fn words(self) -> &'static str {
                match self {
                    $(Self::$variant => $words,)*
                }
            }
        }
    };
}

mod attributes;
mod ethtool;
mod exchange;
mod lookup;
mod message;
mod queue_pairs;
mod rdma;
mod route;
mod sockets;

pub use attributes::{Attribute, Attributes};
pub use ethtool::{EthtoolCommand, EthtoolQuery};
pub use lookup::{Leaves, has_route, leaves_through};
pub(crate) use message::bytes_at;
pub use message::{Message, Messages};
pub use queue_pairs::{CountedQueuePairs, has_other_queue_pairs};
pub use rdma::{CORE_MODULE, RdmaCommand, RdmaQuery};
pub use route::{RouteCommand, RouteQuery};
pub use sockets::SocketQuery;

pub(super) use ethtool::{ask as ask_ethtool, family as ethtool_family};
pub(super) use exchange::Exchange;
pub(super) use rdma::ask as ask_rdma;
pub(super) use route::ask as ask_route;
pub(super) use sockets::ask as ask_sockets;

/// Address families of `include/linux/socket.h`.
const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;
