//! Names of hosts: the host sets that a user types, and the files and programs of a site that
//! name hosts and groups.
//!
//! - [`HostSet`] parses an expression such as `n[1-4],@gpu` and folds it again.
//! - [`lists`] parses the files that list hosts: MPI host files, genders, Ansible inventories.
//! - [`Site`] finds the groups of this machine: `ClusterShell`, dsh, Slurm.
//! - [`named_hosts`] returns the names that shell completion offers.
//!
//! The module connects to no host, because `fleet` does.

pub mod lists;
mod named;
mod set;
mod site;

pub use named::{NamedHost, named_hosts};
pub use set::{
    AllowedTerms, GroupName, Host, HostSet, HostSetError, Lookup, LookupError, ResolvedLine,
    ResolvedLineError, ResolvedLines,
};
pub use site::{Site, SitePaths};
