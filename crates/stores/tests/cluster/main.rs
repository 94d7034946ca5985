//! Stores in etcd while its members die, are stopped in their tracks, forget their past, ask for passwords and speak TLS. Each test that does
//! harm has a cluster of its own.

#[path = "../engines/mod.rs"]
#[expect(dead_code, reason = "of the engines it is one here")]
mod engines;
#[path = "../../../kv/tests/history/mod.rs"]
#[expect(
    dead_code,
    reason = "there are as many histories as faults leave time for"
)]
mod history;
#[path = "../../../kv/tests/history/writes.rs"]
mod writes;

mod access;
mod faults;
mod harm;
mod linear;
