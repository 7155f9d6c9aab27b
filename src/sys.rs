//! Contains all `unsafe` code: owned handles of C libraries, device files and process calls.
//!
//! Other modules see no pointer, no C enum and no errno number. An absent library, kernel module
//! or device node is an ordinary error value at run time.
#![allow(
    clippy::missing_errors_doc,
    reason = "the error types of this module tell operation, object and cause"
)]

pub mod child;
pub mod cm;
mod descriptors;
pub mod device_file;
mod dl;
pub mod drops;
mod errno;
#[allow(
    dead_code,
    missing_docs,
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    unnameable_types,
    unreachable_pub,
    unused_qualifications,
    clippy::pedantic,
    reason = "generated from the C headers, names and all"
)]
mod ffi;
pub mod fork;
pub mod heap;
pub mod interfaces;
#[cfg(test)]
mod layout;
pub mod local_time;
mod plain;
pub mod poll;
pub mod port_counters;
pub mod rds;
pub mod readable;
pub(crate) mod ssh;
pub mod stdout;
pub mod umad;
pub mod verbs;

pub use dl::LoadError;
pub use errno::Errno;
