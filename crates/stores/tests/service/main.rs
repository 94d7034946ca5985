//! What engines keep, served to clients of Tkrzw-RPC: the table of behaviours of `crates/rpc/tests/service` over etcd, Redis and another service, what they refuse,
//! times to live and watches, and their servers killed, stopped and started again behind a service that goes on.

#[path = "../../../rpc/tests/service/ask.rs"]
mod ask;
#[path = "../../../rpc/tests/service/calls.rs"]
mod calls;
mod faults;
#[path = "../cluster/harm.rs"]
mod harm;
#[path = "../../../kv/tests/history/mod.rs"]
#[expect(
    dead_code,
    reason = "there are as many histories as faults leave time for"
)]
mod history;
mod linear;
mod own;
#[path = "../../../rpc/tests/service/queues.rs"]
mod queues;
mod rig;
#[path = "../../../rpc/tests/service/streams.rs"]
mod streams;
