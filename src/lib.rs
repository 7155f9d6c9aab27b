//! rdmactl: inspect, test and diagnose RDMA on one host or a whole cluster.
//!
//! ARCHITECTURE.md describes each module; `src/layers.txt` lists the allowed dependencies. A
//! value flows one way: source, collect, model, analyse, query, render.

pub mod agent;
pub mod analyse;
pub mod capture;
pub mod cli;
pub mod clock;
pub mod cmd;
pub mod collect;
pub mod compat;
pub mod config;
pub mod fleet;
pub mod hosts;
pub mod input;
pub mod mad;
pub mod model;
pub mod names;
pub mod ping;
pub mod query;
pub mod render;
pub mod source;
pub mod sys;
pub mod term;
pub mod threads;
pub mod topology;
pub mod tui;
mod user_namespace;
pub mod wire;
