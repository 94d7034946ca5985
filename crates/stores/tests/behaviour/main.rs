//! What a store does, on every engine: one suite, so that a call means the same wherever the records are. A difference between engines is a
//! test that names it.

#[path = "../engines/mod.rs"]
mod engines;

mod expiry;
mod limits;
mod queues;
mod records;
mod scans;
mod watching;
