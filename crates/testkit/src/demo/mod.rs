//! The demo as a cluster on one machine, and the commands that kill, stop and start its parts. Knows of the demo how it is served, and nothing else.

mod cluster;
pub mod command;
pub mod control;
mod process;

pub use self::cluster::DemoCluster;
pub use self::process::DemoProgram;
