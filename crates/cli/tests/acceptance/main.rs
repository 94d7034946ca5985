//! Acceptance of the Ruby face, black box: the real binary serves an application file, the tests talk to it over sockets
//! and read its log. Where servers in Rust stand beside it they are processes of this program; beyond them it knows no crate of the product. One worker unless a
//! test says otherwise.

mod bank;
mod cluster;
mod concurrency;
mod development;
mod events;
mod handover;
mod isolation;
mod memory;
mod process;
mod returning;
mod rig;
mod stores;
mod succession;
mod unknown_commits;
mod waiting;
