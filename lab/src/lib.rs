//! Experiments: the demo, the user's own runs, and the reports both print.
#![forbid(unsafe_code)]

pub mod area;
pub mod asked;
pub mod audit;
pub mod babol;
pub mod channel;
pub mod compare;
pub mod cosmos;
pub mod demo;
mod doubt;
pub mod experiment;
pub mod explain;
pub mod figure;
pub mod hostftl;
mod latency;
pub mod lateness;
pub mod lifetime;
pub mod limits;
pub mod measure;
mod merged;
pub mod namespace;
pub mod ocssd;
pub mod own;
pub mod perfetto;
pub mod provenance;
pub mod pts;
pub mod report;
pub mod softssd;
pub mod spare;
pub mod torture;
pub mod traces;
mod tree;
pub mod waf;
pub mod warning;
pub mod watch;
pub mod wave;
pub mod words;
