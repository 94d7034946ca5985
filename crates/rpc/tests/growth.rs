//! Messages of the service, at sizes apart: time grows with the bytes, not with their square. Client and server have a thread each, so
//! the CPU time of the process is compared: one test, beside which nothing runs. Limits of entries are met in tests/service/hostile.rs.

#[path = "service/raw_client.rs"]
#[allow(dead_code, reason = "each test file uses its own part")]
mod raw_client;
#[path = "service/rig.rs"]
mod rig;

use raw_client::{RawClient, b, frame, n, raw_reply};
use rig::{Rig, on_loop};
use tsumugi_kv::limits::BATCH_WRITES_MAX;
use tsumugi_testkit::growth::{CpuClock, excess_of_made};

/// The entry of this number.
type Entry = fn(usize) -> Vec<u8>;

/// Entries one after the other, as many as fit and as a message may have.
fn repeated(entry: Entry, size: usize) -> Vec<u8> {
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

/// What a call is answered: the code of gRPC, and that of the service in the last message.
type Codes = (i32, u64);

const UNIMPLEMENTED: Codes = (12, 0);
const OK: Codes = (0, 0);
const INVALID: Codes = (0, 5);
const NOT_FOUND: Codes = (0, 7);
const INFEASIBLE: Codes = (0, 9);
const DUPLICATION: Codes = (0, 10);

/// The code in field 1 of the status, which is field 1 of every answer and inside the one field of a stream's.
fn status(message: &[u8], is_stream: bool) -> u64 {
    let inner = |message: &[u8], field: Option<u8>| match message {
        [tag, length @ ..128, rest @ ..]
            if tag & 7 == 2 && field.is_none_or(|field| tag >> 3 == field) =>
        {
            rest.get(..usize::from(*length)).map(<[u8]>::to_vec)
        }
        _ => None,
    };
    let answer = match is_stream {
        true => inner(message, None).expect("a stream's answer is short"),
        false => message.to_vec(),
    };
    match inner(&answer, Some(1)).as_deref() {
        Some([8, code, ..]) => u64::from(*code),
        _ => 0,
    }
}

/// The call, its messages, and what it is answered, also by the largest of them.
struct GrowthCase {
    call: &'static str,
    make: Box<dyn Fn(usize) -> Vec<u8>>,
    expected: Codes,
    largest: Codes,
}

impl GrowthCase {
    fn new(
        call: &'static str,
        expected: Codes,
        make: impl Fn(usize) -> Vec<u8> + 'static,
    ) -> GrowthCase {
        GrowthCase {
            call,
            make: Box::new(make),
            expected,
            largest: expected,
        }
    }

    /// A list in one message.
    fn list(call: &'static str, expected: Codes, entry: Entry) -> GrowthCase {
        GrowthCase::new(call, expected, move |size| frame(&repeated(entry, size)))
    }

    /// Messages of one stream, an answer to each.
    fn stream(call: &'static str, expected: Codes, message: Entry) -> GrowthCase {
        GrowthCase::new(call, expected, move |size| {
            let mut messages = Vec::with_capacity(size);
            for number in 0.. {
                let next = frame(&message(number));
                if messages.len() + next.len() > size {
                    break;
                }
                messages.extend(next);
            }
            messages
        })
    }
}

/// How many messages these are.
fn count(mut framed: &[u8]) -> usize {
    let mut count = 0;
    while let Some((prefix, rest)) = framed.split_first_chunk::<5>() {
        let [_, length @ ..] = *prefix;
        framed = &rest[u32::from_be_bytes(length) as usize..];
        count += 1;
    }
    count
}

/// What grows faster than its bytes.
async fn excess(compared: &GrowthCase, label: &str) -> Option<String> {
    let rig = Rig::start();
    let bare = RawClient::with_window(rig.tcp(), 64 << 20).await;
    if compared.call == "Iterate" {
        let records = [(0..1_000).flat_map(record).collect()];
        assert_eq!(bare.call("SetMulti", &records).await.code, 0);
    }
    let ask = async |framed: &[u8]| {
        let path = format!("/tkrzw_rpc.DBMService/{}", compared.call);
        let (response, mut body) = bare.begin(&path).await.unwrap();
        body.send_data(framed.to_vec().into(), true).unwrap();
        let answer = raw_reply(response).await;
        let is_stream = compared.call == "Stream";
        let last = answer.messages.last().map_or(&[][..], Vec::as_slice);
        let codes = (answer.code, status(last, is_stream));
        let expected = match framed.len() {
            ..=100_000 => compared.expected,
            _ => compared.largest,
        };
        assert_eq!(codes, expected, "{label}: {}", answer.message);
        let answers = if answer.code == 0 { count(framed) } else { 0 };
        assert_eq!(answer.messages.len(), answers, "{label}");
    };
    excess_of_made(CpuClock::Process, label, &compared.make, ask).await
}

/// A record as lists of them have it.
fn record(number: usize) -> Vec<u8> {
    b(2, [b(1, key(number)), b(2, "value")].concat())
}

fn name(number: usize) -> Vec<u8> {
    b(2, key(number))
}

/// Lists in one message, and messages that are long by one field.
fn messages() -> Vec<(&'static str, GrowthCase)> {
    let overwriting: Entry = |number| match number {
        0 => n(3, 1),
        number => record(number),
    };
    let same: Entry = |_| b(2, [b(1, "key"), b(2, "value")].concat());
    let exchange: Entry = |number| b(2, [n(1, 1), b(2, key(number))].concat());
    let text = |size| frame(&b(1, "x".repeat(size - 16)));
    let pattern =
        |size: usize| frame(&[b(2, "regex"), b(3, "(a?)".repeat(size / 16)), n(4, 1)].concat());
    vec![
        ("records", GrowthCase::list("SetMulti", OK, overwriting)),
        ("one key", GrowthCase::list("SetMulti", DUPLICATION, same)),
        ("records", GrowthCase::list("AppendMulti", OK, record)),
        ("one key", GrowthCase::list("AppendMulti", OK, same)),
        ("keys", GrowthCase::list("GetMulti", NOT_FOUND, name)),
        ("keys", GrowthCase::list("RemoveMulti", NOT_FOUND, name)),
        (
            "records",
            GrowthCase {
                largest: INVALID,
                ..GrowthCase::list("CompareExchangeMulti", INFEASIBLE, exchange)
            },
        ),
        ("one field", GrowthCase::list("Echo", OK, |_| b(1, "x"))),
        ("a text", GrowthCase::new("Echo", OK, text)),
        (
            "a pattern",
            GrowthCase {
                largest: INVALID,
                ..GrowthCase::new("Search", OK, pattern)
            },
        ),
        // Not a call of this service.
        (
            "keys",
            GrowthCase::list("ProcessMulti", UNIMPLEMENTED, name),
        ),
    ]
}

/// Streams of short messages.
fn streams() -> Vec<(&'static str, GrowthCase)> {
    let set: Entry = |number| b(3, [b(2, key(number)), b(3, "value"), n(4, 1)].concat());
    let set_same: Entry = |_| b(3, [b(2, "key"), b(3, "value"), n(4, 1)].concat());
    let set_and_get: Entry = |number| match number % 2 {
        0 => b(3, [b(2, "key"), b(3, "value"), n(4, 1)].concat()),
        _ => b(2, b(2, "key")),
    };
    let append: Entry = |number| b(5, [b(2, key(number)), b(3, "value")].concat());
    // A value of a record that is not there is expected.
    let exchange: Entry = |number| b(6, [b(2, key(number)), n(3, 1), b(4, "x")].concat());
    let increment: Entry = |_| b(7, [b(2, "count"), n(3, 1)].concat());
    let step: Entry = |number| match number % 500 {
        0 => n(2, 1),
        _ => n(2, 11),
    };
    let get_next: Entry = |number| match number % 1_000 {
        0 => n(2, 1),
        number if number % 2 == 0 => n(2, 6),
        _ => n(2, 8),
    };
    let jump: Entry = |number| [n(2, 3), b(3, key(number % 1_000))].concat();
    let stream = |what, expected, message| (what, GrowthCase::stream("Stream", expected, message));
    let iterate = |what, message| (what, GrowthCase::stream("Iterate", OK, message));
    vec![
        stream("echoes", OK, |_| b(1, b(1, "x"))),
        stream("records", OK, set),
        stream("one key", OK, set_same),
        stream("reads behind writes", OK, set_and_get),
        stream("reads", NOT_FOUND, |number| b(2, b(2, key(number)))),
        stream("removals", NOT_FOUND, |number| b(4, b(2, key(number)))),
        stream("parts", OK, append),
        stream("exchanges", INFEASIBLE, exchange),
        stream("a counter", OK, increment),
        iterate("steps", step),
        iterate("jumps", jump),
        iterate("reads and next", get_next),
    ]
}

#[test]
fn time_for_messages_grows_with_their_bytes() {
    let found = on_loop(async {
        let mut found = Vec::new();
        for (what, compared) in messages().iter().chain(&streams()) {
            let label = format!("{} of {what}", compared.call);
            found.extend(excess(compared, &label).await);
        }
        found
    });
    assert!(found.is_empty(), "{}", found.join("\n"));
}
