//! Transport that the environment variables of a process request.

use crate::model::Holder;

/// Byte transfer layers (BTL) of Open MPI that use RDMA or may use it.
const RDMA_BTLS: [&str; 5] = ["openib", "uct", "ofi", "ugni", "usnic"];

/// Prefixes of the transports of UCX that use RDMA or may use it.
const RDMA_TLS: [&str; 6] = ["rc", "ud", "dc", "ib", "all", "rdmacm"];

/// Returns the setting that requests TCP instead of RDMA.
pub(super) fn requests_tcp(holder: &Holder) -> Option<&str> {
    let is_tcp = |setting: &&String| {
        let Some((name, value)) = setting.split_once('=') else { return false };
        let words: Vec<&str> = value.split([',', ';', '+']).map(str::trim).collect();
        match name {
            "UCX_TLS" => {
                let is_rdma = |word: &&str| RDMA_TLS.iter().any(|kind| word.starts_with(kind));
                !value.starts_with('^') && !words.iter().any(is_rdma)
            }
            "NCCL_NET" => value.eq_ignore_ascii_case("socket"),
            "NCCL_IB_DISABLE" => value == "1",
            "FI_PROVIDER" => {
                words.iter().all(|word| matches!(*word, "tcp" | "sockets" | "ofi_rxm" | "shm"))
            }
            "OMPI_MCA_btl" => {
                let has_rdma = words.iter().any(|word| RDMA_BTLS.contains(word));
                !value.starts_with('^') && words.contains(&"tcp") && !has_rdma
            }
            _ => false,
        }
    };
    holder.environment.iter().flatten().find(is_tcp).map(String::as_str)
}
