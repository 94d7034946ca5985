//! Messages of the service, at sizes apart: time grows with the bytes, not with their square. Client and server have a thread each, so
//! the CPU time of the process is compared: one test, beside which nothing runs. Limits of entries are met in tests/service/hostile.rs.

#[path = "service/raw_client.rs"]
#[allow(dead_code, reason = "each test file uses its own part")]
mod raw_client;
#[path = "service/rig.rs"]
mod rig;

use raw_client::{RawClient, b, n};
use rig::{Rig, on_loop};
use tsumugi_kv::limits::BATCH_WRITES_MAX;
use tsumugi_testkit::growth::{CpuClock, excess_of_made};

/// The entry of this number.
type Entry<'a> = dyn Fn(usize) -> Vec<u8> + 'a;

/// Entries one after the other, as many as fit and as a message may have.
fn repeated(entry: &Entry<'_>, size: usize) -> Vec<u8> {
    let mut message = Vec::with_capacity(size);
    for number in 0..BATCH_WRITES_MAX {
        let next = entry(number);
        if message.len() + next.len() > size {
            break;
        }
        message.extend(next);
    }
    message
}

/// A name as long as all others.
fn key(number: usize) -> String {
    format!("key-{number:08}")
}

#[test]
fn time_for_messages_grows_with_their_bytes() {
    let record = |number: usize| b(2, [b(1, key(number)), b(2, "value")].concat());
    let same = |_: usize| b(2, [b(1, "key"), b(2, "value")].concat());
    let name = |number: usize| b(2, key(number));
    let exchange = |number: usize| b(2, [n(1, 1), b(2, key(number))].concat());
    // Call, entry, and what makes the whole of one piece.
    let calls: [(&str, &Entry<'_>); 8] = [
        ("SetMulti", &|number| [record(number), n(3, 1)].concat()),
        ("SetMulti", &same),
        ("AppendMulti", &record),
        ("GetMulti", &name),
        ("RemoveMulti", &name),
        ("CompareExchangeMulti", &exchange),
        ("Search", &|_| Vec::new()),
        ("Echo", &|_| b(1, "x")),
    ];
    let found = on_loop(async {
        let mut found = Vec::new();
        for (call, entry) in calls {
            let rig = Rig::start();
            let bare = RawClient::with_window(rig.tcp(), 64 << 20).await;
            let make = |size| match call {
                "Search" => [b(2, "regex"), b(3, "(a?)".repeat(size / 16)), n(4, 1)].concat(),
                _ => repeated(entry, size),
            };
            let ask = async |message: &[u8]| {
                // A refusal is an answer too: of a pattern that is too long, of a record that is not there.
                bare.call(call, &[message.to_vec()]).await;
            };
            found.extend(excess_of_made(CpuClock::Process, call, make, ask).await);
        }
        found
    });
    assert!(found.is_empty(), "{}", found.join("\n"));
}
