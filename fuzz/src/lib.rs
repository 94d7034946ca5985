//! What is fuzzed: every parser of ours that reads what a client or a database sent, as a function of bytes that panics when a promise is broken.
//! Called by the fuzzer (`programs/`, nightly Rust) and, on every file of the corpora, by a test on stable Rust.
//! An error of a parser is an answer; a panic, a result beyond its bound or a result that depends on where input was cut is a finding.

#![forbid(unsafe_code)]

mod firebird;
mod json;
mod kv;
mod postgres;
mod proxies;
mod rpc;
mod sql;
mod traces;
mod values;

use std::borrow::Cow;
use std::sync::LazyLock;

use http::Method;
use tsumugi_http::multipart::{FormEvent, Parser};
use tsumugi_http::percent::{Plus, decode};
use tsumugi_http::{CaptureKind, HttpLimits, Match, RouteTable, Value, cookie, query};

pub use firebird::{firebird_answers, firebird_describe, firebird_events, firebird_handshake};
pub use json::json;
pub use kv::{kv_record, kv_spec};
pub use postgres::{pg_backend, pg_scram};
pub use proxies::{forwarding, proxy_header};
pub use rpc::{rpc_frames, rpc_own};
pub use sql::{sql_names, sql_raw};
pub use traces::trace_parent;
pub use values::pg_value;

/// A target: its name, which is the name of its corpus, and the function.
pub type Target = (&'static str, fn(&[u8]));

/// All targets.
pub const TARGETS: [Target; 22] = [
    ("cookies", cookies),
    ("firebird_answers", firebird_answers),
    ("firebird_describe", firebird_describe),
    ("firebird_events", firebird_events),
    ("firebird_handshake", firebird_handshake),
    ("forwarding", forwarding),
    ("json", json),
    ("kv_record", kv_record),
    ("kv_spec", kv_spec),
    ("multipart", multipart),
    ("percent", percent),
    ("pg_backend", pg_backend),
    ("pg_scram", pg_scram),
    ("pg_value", pg_value),
    ("proxy_header", proxy_header),
    ("query", queries),
    ("router", router),
    ("rpc_frames", rpc_frames),
    ("rpc_own", rpc_own),
    ("sql_names", sql_names),
    ("sql_raw", sql_raw),
    ("trace_parent", trace_parent),
];

const PAIRS_MAX: usize = 16;
const BOUNDARY: &str = "multipart/form-data; boundary=cut";

static ROUTER: LazyLock<RouteTable<usize>> = LazyLock::new(|| {
    let id = [("id", CaptureKind::Integer)];
    let price = [("price", CaptureKind::Float)];
    let key = [("key", CaptureKind::Uuid)];
    let routes: [(&str, &[(&str, CaptureKind)]); 7] = [
        ("/", &[]),
        ("/users/:id", &id),
        ("/users/:name", &[]),
        ("/users/:id/posts/:post", &id),
        ("/prices/:price", &price),
        ("/keys/:key", &key),
        ("/files/*path", &[]),
    ];
    let mut router = RouteTable::new();
    for (number, (pattern, types)) in routes.into_iter().enumerate() {
        let inserted = router.insert(Method::GET, pattern, types, number);
        assert!(inserted.is_ok(), "the routes of the target are sound");
    }
    router
});

/// A `Cookie` header.
pub fn cookies(bytes: &[u8]) {
    let Ok(pairs) = cookie::pairs(bytes, PAIRS_MAX) else {
        return;
    };
    assert!(pairs.len() <= PAIRS_MAX);
    let length: usize = pairs
        .iter()
        .map(|(name, value)| name.len() + value.len())
        .sum();
    assert!(length <= bytes.len());
    for (name, value) in pairs {
        // What a client may send back must not be able to break a header of ours.
        if let Ok(header) = cookie::SetCookie::new(name, value).header() {
            assert!(!header.as_bytes().contains(&b'\n'));
        }
    }
}

/// A path, percent-encoded.
pub fn percent(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    for plus in [Plus::Plus, Plus::Space] {
        if let Ok(decoded) = decode(text, plus) {
            assert!(decoded.len() <= text.len());
            if let Cow::Borrowed(same) = decoded {
                assert_eq!(same, text);
            }
        }
    }
}

/// A query string, and the same bytes as a form.
pub fn queries(bytes: &[u8]) {
    let form = query::form(bytes, PAIRS_MAX);
    if let Ok(pairs) = &form {
        assert!(pairs.len() <= PAIRS_MAX);
    }
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    if let (Ok(pairs), Ok(form)) = (query::pairs(text, PAIRS_MAX), form) {
        assert_eq!(pairs, form);
    }
}

/// A request's path.
pub fn router(bytes: &[u8]) {
    let Ok(path) = std::str::from_utf8(bytes) else {
        return;
    };
    if let Match::Found(found) = ROUTER.find(&Method::GET, path) {
        assert_eq!(found.names.len(), found.captures.len());
        for capture in &found.captures {
            if let Value::Text(text) = capture {
                assert!(text.len() <= path.len());
            }
        }
    }
}

/// A multipart body: whole, byte by byte, and cut in two where the first byte says, it must mean the same.
pub fn multipart(bytes: &[u8]) {
    let Some((&cut, body)) = bytes.split_first() else {
        return;
    };
    let whole = parts([body]);
    let cut = usize::from(cut).min(body.len());
    assert_eq!(whole, parts([&body[..cut], &body[cut..]]));
    assert_eq!(whole, parts(body.chunks(1)));
}

/// The parts with their content joined, and whether the body was sound to its end.
fn parts<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<(String, Vec<u8>)>, bool) {
    let limits = HttpLimits {
        parts_max: PAIRS_MAX,
        ..HttpLimits::default()
    };
    let mut found: Vec<(String, Vec<u8>)> = Vec::new();
    let Ok(mut parser) = Parser::new(BOUNDARY, &limits) else {
        return (found, false);
    };
    for piece in pieces {
        parser.feed(piece);
        loop {
            match parser.event() {
                Ok(Some(FormEvent::Part(head))) => found.push((format!("{head:?}"), Vec::new())),
                Ok(Some(FormEvent::Data(data))) => {
                    assert!(!data.is_empty());
                    if let Some((_, content)) = found.last_mut() {
                        content.extend_from_slice(&data);
                    }
                }
                Ok(Some(FormEvent::PartEnd | FormEvent::End)) => {}
                Ok(None) => break,
                Err(_) => return (found, false),
            }
        }
    }
    assert!(found.len() <= PAIRS_MAX);
    (found, parser.finish().is_ok())
}
