//! What a database does, the same for every engine: each test runs over all of them. Not what is left after a crash.

mod cursors;
#[path = "../engines/mod.rs"]
mod engines;
mod expiry;
mod model;
mod order;
mod queues;
mod words;
mod writes;
