//! Messages of the service, at sizes apart: time grows with the bytes, not with their square. Client and server have a thread each, so
//! the CPU time of the process is compared: one test, beside which nothing runs. Limits of entries are met in tests/service/hostile.rs.

#[path = "service/bare.rs"]
#[allow(dead_code, reason = "each test file uses its own part")]
mod bare;
#[path = "service/rig.rs"]
mod rig;

use bare::{RawClient, b, frame, n, raw_reply};
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

/// Entry of the list, the call, its messages, and what it is answered, also by the largest of them.
struct Compared<'a> {
    call: &'a str,
    make: Box<dyn Fn(usize) -> Vec<u8> + 'a>,
    expected: Codes,
    largest: Codes,
}

/// A list in one message.
fn list<'a>(call: &'a str, entry: &'a Entry<'a>, expected: Codes) -> Compared<'a> {
    Compared {
        call,
        make: Box::new(move |size| frame(&repeated(entry, size))),
        expected,
        largest: expected,
    }
}

/// Messages of one stream, an answer to each.
fn stream<'a>(call: &'a str, message: &'a Entry<'a>, expected: Codes) -> Compared<'a> {
    Compared {
        call,
        make: Box::new(move |size| {
            let mut messages = Vec::with_capacity(size);
            for number in 0.. {
                let next = frame(&message(number));
                if messages.len() + next.len() > size {
                    break;
                }
                messages.extend(next);
            }
            messages
        }),
        expected,
        largest: expected,
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
async fn excess(compared: &Compared<'_>, label: &str) -> Option<String> {
    let rig = Rig::start();
    let bare = RawClient::with_window(rig.tcp(), 64 << 20).await;
    let record = |number: usize| b(2, [b(1, key(number)), b(2, "value")].concat());
    if compared.call == "Iterate" {
        let records = (0..1_000).flat_map(record).collect();
        assert_eq!(bare.call("SetMulti", &[records]).await.code, 0);
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

#[test]
fn time_for_messages_grows_with_their_bytes() {
    let record = |number: usize| b(2, [b(1, key(number)), b(2, "value")].concat());
    let overwriting = |number: usize| match number {
        0 => n(3, 1),
        number => record(number),
    };
    let same = |_: usize| b(2, [b(1, "key"), b(2, "value")].concat());
    let name = |number: usize| b(2, key(number));
    let exchange = |number: usize| b(2, [n(1, 1), b(2, key(number))].concat());
    let echo = |_: usize| b(1, "x");
    let echoed = |number: usize| b(1, echo(number));
    let pattern = Compared {
        call: "Search",
        make: Box::new(|size| {
            frame(&[b(2, "regex"), b(3, "(a?)".repeat(size / 16)), n(4, 1)].concat())
        }),
        expected: OK,
        largest: INVALID,
    };
    let text = Compared {
        call: "Echo",
        make: Box::new(|size| frame(&b(1, "x".repeat(size - 16)))),
        expected: OK,
        largest: OK,
    };
    let set = |number: usize| b(3, [b(2, key(number)), b(3, "value"), n(4, 1)].concat());
    let set_same = |_: usize| b(3, [b(2, "key"), b(3, "value"), n(4, 1)].concat());
    let set_and_get = |number: usize| match number % 2 {
        0 => set(0),
        _ => b(2, b(2, key(0))),
    };
    let get = |number: usize| b(2, b(2, key(number)));
    let remove = |number: usize| b(4, b(2, key(number)));
    let append = |number: usize| b(5, [b(2, key(number)), b(3, "value")].concat());
    let exchange_one = |number: usize| b(6, [b(2, key(number)), n(3, 1), b(4, "x")].concat());
    let increment = |_: usize| b(7, [b(2, "count"), n(3, 1)].concat());
    let step = |number: usize| match number % 500 {
        0 => n(2, 1),
        _ => n(2, 11),
    };
    let jump = |number: usize| [n(2, 3), b(3, key(number % 1_000))].concat();
    let get_next = |number: usize| match number % 1_000 {
        0 => n(2, 1),
        number if number % 2 == 0 => n(2, 6),
        _ => n(2, 8),
    };
    let compared = [
        ("records", list("SetMulti", &overwriting, OK)),
        (
            "one key again and again",
            list("SetMulti", &same, DUPLICATION),
        ),
        ("records", list("AppendMulti", &record, OK)),
        ("one key again and again", list("AppendMulti", &same, OK)),
        ("keys", list("GetMulti", &name, NOT_FOUND)),
        ("keys", list("RemoveMulti", &name, NOT_FOUND)),
        (
            "records",
            list("CompareExchangeMulti", &exchange, INFEASIBLE),
        ),
        ("a field again and again", list("Echo", &echo, OK)),
        ("a text", text),
        // Not a call of this service.
        ("keys", list("ProcessMulti", &name, UNIMPLEMENTED)),
        ("a pattern", pattern),
        ("echoes", stream("Stream", &echoed, OK)),
        ("records", stream("Stream", &set, OK)),
        ("one key", stream("Stream", &set_same, OK)),
        ("reads behind writes", stream("Stream", &set_and_get, OK)),
        ("reads", stream("Stream", &get, NOT_FOUND)),
        ("removals", stream("Stream", &remove, NOT_FOUND)),
        ("parts", stream("Stream", &append, OK)),
        ("exchanges", stream("Stream", &exchange_one, INFEASIBLE)),
        ("a counter", stream("Stream", &increment, OK)),
        ("steps", stream("Iterate", &step, OK)),
        ("jumps", stream("Iterate", &jump, OK)),
        ("reads and next", stream("Iterate", &get_next, OK)),
    ];
    let found = on_loop(async {
        let mut found = Vec::new();
        for (what, compared) in &compared {
            let label = format!("{} of {what}", compared.call);
            found.extend(excess(compared, &label).await);
        }
        found
    });
    assert!(found.is_empty(), "{}", found.join("\n"));
}
