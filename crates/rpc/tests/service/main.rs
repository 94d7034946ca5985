//! The service as its clients meet it: a server in this process, real sockets, our client and bare HTTP/2. Not the engine's own rules.

mod ask;
mod calls;
mod engines;
mod guarded;
#[path = "../../../kv/tests/history/mod.rs"]
mod history;
mod hostile;
mod kill;
mod linear;
mod memory;
mod own;
mod queues;
mod raw_client;
mod rig;
mod streams;
mod watching;
mod wire;
