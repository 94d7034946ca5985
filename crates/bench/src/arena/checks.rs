//! Looks at the answers of a server, profile by profile, before any of them is measured: what the suite HttpArena demands of an entry, and
//! what it leaves open (bytes of files, order of echoes). Rule: numbers are drawn anew each time, so that no answer can be a constant.

use std::collections::hash_map::RandomState;
use std::fs;
use std::hash::BuildHasher as _;
use std::io::Read as _;
use std::net::SocketAddr;

use anyhow::{Context as _, Result, ensure};
use flate2::read::GzDecoder;
use http::{Method, Version};
use serde_json::Value;

use super::client::{ArenaCall, ArenaClient, ArenaPort, ArenaReply};
use super::inputs::{ArenaInputs, FILES};
use super::profile::Profile;
use super::socket::{BINARY, TEXT, WebSocketProbe, first_line, fragmented};

/// Reads of an item, one of which must come soon enough after the last.
const SOON_ENOUGH_MAX: usize = 20;

/// Where a server listens.
#[derive(Clone, Copy, Debug)]
pub struct ArenaPorts {
    /// HTTP/1.1.
    pub plain: SocketAddr,
    /// HTTP/1.1 within TLS, and nothing else agreed on.
    pub tls_http1: SocketAddr,
    /// HTTP/2 within TLS.
    pub tls: SocketAddr,
    /// HTTP/2 without TLS, and nothing else.
    pub h2c: SocketAddr,
}

impl ArenaPorts {
    /// The port of a profile.
    pub fn of(&self, profile: Profile) -> ArenaPort {
        let (address, http2, tls) = match profile {
            Profile::JsonTls => (self.tls_http1, false, true),
            Profile::BaselineH2 | Profile::StaticH2 => (self.tls, true, true),
            Profile::BaselineH2c | Profile::JsonH2c => (self.h2c, true, false),
            _ => (self.plain, false, false),
        };
        ArenaPort {
            address,
            http2,
            tls,
        }
    }
}

/// What the checks of a server came to.
#[derive(Debug, Default)]
pub struct CheckTally {
    /// How many passed.
    pub passed: usize,
    /// What failed, each with its reason.
    pub failures: Vec<String>,
}

/// The checks of one profile of one server.
pub struct ArenaChecks<'a> {
    profile: Profile,
    client: &'a ArenaClient,
    port: ArenaPort,
    inputs: &'a ArenaInputs,
    tally: CheckTally,
}

/// Looks at all answers of a profile.
pub fn look(
    profile: Profile,
    client: &ArenaClient,
    ports: &ArenaPorts,
    inputs: &ArenaInputs,
) -> CheckTally {
    let mut checks = ArenaChecks {
        profile,
        client,
        port: ports.of(profile),
        inputs,
        tally: CheckTally::default(),
    };
    match profile {
        // The same endpoint; connections that end belong to the load.
        Profile::Baseline | Profile::LimitedConn => checks.baseline(),
        Profile::Pipelined => checks.pipelined(),
        Profile::Json => checks.json(&[(12, 3), (22, 7), (31, 2), (50, 5)]),
        Profile::JsonComp => checks.compressed(),
        Profile::JsonTls => {
            checks.agreement();
            checks.json(&[(7, 2), (23, 11), (50, 1)]);
        }
        Profile::Upload => checks.upload(),
        Profile::Static | Profile::StaticH2 => checks.files(),
        Profile::AsyncDb => checks.range(),
        Profile::Crud => checks.crud(),
        Profile::BaselineH2 => checks.sum(),
        Profile::BaselineH2c => {
            checks.only_http2();
            checks.sum();
        }
        Profile::JsonH2c => checks.json(&[(12, 3), (22, 7), (31, 2), (50, 5)]),
        Profile::EchoWs => checks.echo(),
    }
    checks.tally
}

/// A number that was not drawn before, of three digits.
fn drawn(salt: usize) -> u64 {
    RandomState::new().hash_one(salt) % 900 + 100
}

/// Status 200 and this body, ended by white space or not.
fn is_text(reply: &ArenaReply, expected: &str) -> Result<()> {
    ensure!(reply.status == 200, "status {}", reply.status);
    let text = reply.text();
    ensure!(text.trim() == expected, "{text} instead of {expected}");
    is_media_type(reply, "text/plain")
}

/// A media type, with parameters or without. JavaScript has two names (RFC 9239).
fn is_media_type(reply: &ArenaReply, expected: &str) -> Result<()> {
    let found = reply.field("content-type");
    let essence = found.split(';').next().unwrap_or_default().trim();
    let essence = match essence {
        "text/javascript" => "application/javascript",
        essence => essence,
    };
    ensure!(essence == expected, "content-type is {found:?}");
    Ok(())
}

fn parsed(body: &[u8]) -> Result<Value> {
    serde_json::from_slice(body).context("this is no JSON")
}

/// So many items, each with what its price, its quantity and the factor come to.
fn are_priced(body: &[u8], count: usize, factor: i64) -> Result<()> {
    let answer = parsed(body)?;
    let items = answer["items"].as_array().context("no items")?;
    ensure!(
        items.len() == count && answer["count"] == count,
        "{} items, count {}",
        items.len(),
        answer["count"]
    );
    for item in items {
        let number = |name: &str| {
            item[name]
                .as_i64()
                .with_context(|| format!("{item}: {name}"))
        };
        let total = number("price")? * number("quantity")? * factor;
        ensure!(number("total")? == total, "{item}: total is not {total}");
        is_whole(item)?;
    }
    Ok(())
}

/// An item with all that belongs to it.
fn is_whole(item: &Value) -> Result<()> {
    let is_whole = item["id"].is_i64()
        && item["name"].is_string()
        && item["category"].is_string()
        && item["active"].is_boolean()
        && item["tags"]
            .as_array()
            .is_some_and(|tags| tags.iter().all(Value::is_string))
        && item["rating"]["score"].is_i64()
        && item["rating"]["count"].is_i64();
    ensure!(is_whole, "{item} is no item");
    Ok(())
}

impl ArenaChecks<'_> {
    fn check(&mut self, label: &str, outcome: Result<()>) {
        match outcome {
            Ok(()) => self.tally.passed += 1,
            Err(error) => {
                let failure = format!("{}: {label}: {error:#}", self.profile.name());
                self.tally.failures.push(failure);
            }
        }
    }

    fn get(&self, path: &str) -> Result<ArenaReply> {
        self.client.get(self.port, path)
    }

    fn send(
        &self,
        method: Method,
        path: &str,
        media_type: &'static str,
        body: impl Into<Vec<u8>>,
    ) -> Result<ArenaReply> {
        let call = ArenaCall {
            method,
            path,
            fields: &[("content-type", media_type)],
            body: body.into(),
        };
        self.client.call(self.port, &call)
    }

    fn post_text(&self, path: &str, body: &str) -> Result<ArenaReply> {
        self.send(Method::POST, path, "text/plain", body)
    }

    fn baseline(&mut self) {
        const PATH: &str = "/baseline11?a=13&b=42";
        let found = self.get(PATH).and_then(|reply| is_text(&reply, "55"));
        self.check("GET", found);
        let found = self.post_text(PATH, "20");
        self.check("POST", found.and_then(|reply| is_text(&reply, "75")));
        let (a, b) = (drawn(1), drawn(2));
        let found = self.get(&format!("/baseline11?a={a}&b={b}"));
        let expected = (a + b).to_string();
        self.check(
            "drawn numbers",
            found.and_then(|reply| is_text(&reply, &expected)),
        );
        for body in [drawn(3), drawn(4) + 1_000] {
            let found = self.post_text(PATH, &body.to_string());
            let expected = (55 + body).to_string();
            self.check(
                "drawn body",
                found.and_then(|reply| is_text(&reply, &expected)),
            );
        }
        self.fragments();
    }

    /// Requests that come in pieces, one of them chunked.
    fn fragments(&mut self) {
        const POST: &str = "POST /baseline11?a=13&b=42 HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n";
        let length = format!("{POST}Content-Length: 2\r\nConnection: close\r\n\r\n");
        let chunked = format!(
            "{POST}Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n2\r\n20\r\n0\r\n\r\n"
        );
        let cases: [(&str, &[&str], &str); 5] = [
            (
                "split request line",
                &[
                    "GET /baseli",
                    "ne11?a=13&b=42 HTTP/1.1\r\n",
                    "Host: localhost\r\nConnection: close\r\n\r\n",
                ],
                "55",
            ),
            (
                "split before headers",
                &[
                    "GET /baseline11?a=13&b=42 HTTP/1.1\r\n",
                    "Host: localhost\r\n",
                    "User-Agent: bench\r\n",
                    "Connection: close\r\n\r\n",
                ],
                "55",
            ),
            ("split before body", &[&length, "20"], "75"),
            ("split body", &[&length, "2", "0"], "75"),
            ("chunked body", &[&chunked], "75"),
        ];
        for (label, pieces, expected) in cases {
            let found = fragmented(self.port.address, pieces).and_then(|(status, text)| {
                ensure!(status == 200 && text.trim() == expected, "{status} {text}");
                Ok(())
            });
            self.check(label, found);
        }
    }

    fn pipelined(&mut self) {
        let found = self
            .get("/pipeline")
            .and_then(|reply| is_text(&reply, "ok"));
        self.check("GET", found);
    }

    /// Sums over HTTP/2.
    fn sum(&mut self) {
        let found = self.get("/baseline2?a=13&b=42");
        let version = found.as_ref().map(|reply| reply.version).ok();
        self.check("GET", found.and_then(|reply| is_text(&reply, "55")));
        let is_http2 = version == Some(Version::HTTP_2);
        let outcome = if is_http2 {
            Ok(())
        } else {
            Err(anyhow::anyhow!("{version:?}"))
        };
        self.check("version", outcome);
        let (a, b) = (drawn(5), drawn(6));
        let found = self.get(&format!("/baseline2?a={a}&b={b}"));
        let expected = (a + b).to_string();
        self.check(
            "drawn numbers",
            found.and_then(|reply| is_text(&reply, &expected)),
        );
    }

    /// The port refuses HTTP/1.1, so that no load is answered in it by mistake.
    fn only_http2(&mut self) {
        let request =
            "GET /baseline2?a=1&b=1 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        let found = first_line(self.port.address, request).and_then(|line| {
            ensure!(!line.contains(" 200"), "HTTP/1.1 is answered with {line}");
            Ok(())
        });
        self.check("HTTP/1.1 is refused", found);
    }

    fn json(&mut self, pairs: &[(usize, i64)]) {
        for (count, factor) in pairs {
            let found = self.get(&format!("/json/{count}?m={factor}"));
            let found = found.and_then(|reply| {
                ensure!(reply.status == 200, "status {}", reply.status);
                is_media_type(&reply, "application/json")?;
                ensure!(reply.field("content-encoding").is_empty(), "it is encoded");
                are_priced(&reply.body, *count, *factor)
            });
            self.check(&format!("{count} items times {factor}"), found);
        }
    }

    fn compressed(&mut self) {
        let accepting = |encodings: &'static str, path: &str| {
            let call = ArenaCall {
                path,
                fields: &[("accept-encoding", encodings)],
                ..ArenaCall::default()
            };
            self.client.call(self.port, &call)
        };
        let either = accepting("gzip, br", "/json/50?m=1").and_then(|reply| {
            let encoding = reply.field("content-encoding");
            ensure!(["gzip", "br"].contains(&encoding), "it is {encoding:?}");
            Ok(())
        });
        let mut outcomes = vec![("gzip or br".to_owned(), either)];
        for (count, factor) in [(25, 3), (40, 7), (50, 2)] {
            let path = format!("/json/{count}?m={factor}");
            let found = accepting("gzip", &path).and_then(|reply| {
                let encoding = reply.field("content-encoding");
                ensure!(encoding == "gzip", "it is {encoding:?}");
                let mut body = Vec::new();
                GzDecoder::new(&reply.body[..]).read_to_end(&mut body)?;
                are_priced(&body, count, factor)
            });
            outcomes.push((format!("{count} items times {factor}"), found));
        }
        for (label, outcome) in outcomes {
            self.check(&label, outcome);
        }
        // Who does not ask for it gets none.
        self.json(&[(50, 1)]);
    }

    fn agreement(&mut self) {
        let agreed = |protocols: &[&str]| self.client.agree(self.port.address, protocols);
        let found = agreed(&["http/1.1"]).and_then(|agreed| {
            ensure!(
                agreed.as_deref() == Some("http/1.1"),
                "agreed on {agreed:?}"
            );
            Ok(())
        });
        self.check("agrees on HTTP/1.1", found);
    }

    fn upload(&mut self) {
        let size = usize::try_from(drawn(7)).unwrap_or_default();
        for size in [17, size, 500 << 10, 2 << 20, 10 << 20, 20 << 20] {
            let body = vec![b'u'; size];
            let found = self.send(Method::POST, "/upload", "application/octet-stream", body);
            let expected = size.to_string();
            let found = found.and_then(|reply| is_text(&reply, &expected));
            self.check(&format!("{size} bytes"), found);
        }
    }

    fn files(&mut self) {
        for (name, _, media_type) in FILES {
            let found = self.get(&format!("/static/{name}")).and_then(|reply| {
                ensure!(reply.status == 200, "status {}", reply.status);
                is_media_type(&reply, media_type)?;
                let expected = fs::read(self.inputs.files.join(name))?;
                ensure!(reply.body == expected, "other bytes: {}", reply.body.len());
                Ok(())
            });
            self.check(name, found);
        }
        let found = self.get("/static/nonexistent.txt").and_then(|reply| {
            ensure!(reply.status == 404, "status {}", reply.status);
            Ok(())
        });
        self.check("a file that is not there", found);
    }

    fn range(&mut self) {
        for (min, max, limit) in [(5, 80, 7), (20, 150, 18), (100, 400, 33), (10, 50, 50)] {
            let found = self.get(&format!("/async-db?min={min}&max={max}&limit={limit}"));
            let found = found.and_then(|reply| {
                is_media_type(&reply, "application/json")?;
                let answer = parsed(&reply.body)?;
                let items = answer["items"].as_array().context("no items")?;
                ensure!(
                    items.len() == limit && answer["count"] == limit,
                    "{} items",
                    items.len()
                );
                let in_range = |item: &Value| {
                    item["price"]
                        .as_i64()
                        .is_some_and(|price| (min..=max).contains(&price))
                };
                ensure!(items.iter().all(in_range), "a price is out of range");
                items.iter().try_for_each(is_whole)
            });
            self.check(&format!("{limit} rows"), found);
        }
        let found = self
            .get("/async-db?min=9999&max=9999&limit=50")
            .and_then(|reply| {
                let answer = parsed(&reply.body)?;
                ensure!(
                    answer["count"] == 0 && answer["items"] == Value::Array(Vec::new()),
                    "{answer}"
                );
                Ok(())
            });
        self.check("no rows", found);
    }

    fn crud(&mut self) {
        let found = self
            .get("/crud/items?category=electronics&page=1&limit=5")
            .and_then(|reply| {
                let answer = parsed(&reply.body)?;
                let items = answer["items"].as_array().context("no items")?;
                let is_page = items.len() == 5 && answer["total"] == 5 && answer["page"] == 1;
                ensure!(
                    is_page && items.iter().all(|item| item["category"] == "electronics"),
                    "{answer}"
                );
                items.iter().try_for_each(is_whole)
            });
        self.check("list", found);
        self.check("read", self.is_cached(42, "MISS"));
        self.check("read from the cache", self.is_found_again(42));
        let missing = self.get("/crud/items/999999").and_then(|reply| {
            ensure!(reply.status == 404, "status {}", reply.status);
            Ok(())
        });
        self.check("no such item", missing);
        // Other runs have other items, as the table may be an old one.
        let id = 200_000 + drawn(8) * 1_000 + drawn(9);
        self.check(
            "create",
            self.write(
                Method::POST,
                "/crud/items",
                &format!(
                    r#"{{"id":{id},"name":"Made here","category":"test","price":25,"quantity":10}}"#
                ),
                201,
            ),
        );
        self.check("read what was created", self.is_cached(id, "MISS"));
        self.check("and again", self.is_found_again(id));
        let change = r#"{"name":"Changed here","price":30,"quantity":5}"#;
        self.check(
            "update",
            self.write(Method::PUT, &format!("/crud/items/{id}"), change, 200),
        );
        let found = self.is_cached(id, "MISS");
        self.check("the cache forgets what was updated", found);
        let found = self.get(&format!("/crud/items/{id}")).and_then(|reply| {
            let answer = parsed(&reply.body)?;
            ensure!(
                answer["name"] == "Changed here" && answer["price"] == 30,
                "{answer}"
            );
            Ok(())
        });
        self.check("read what was updated", found);
        let found = self.write(Method::PUT, "/crud/items/999999", change, 404);
        self.check("update of no item", found);
    }

    /// An item is there, read as `x-cache` says.
    fn is_cached(&self, id: u64, cache: &str) -> Result<()> {
        let reply = self.get(&format!("/crud/items/{id}"))?;
        ensure!(reply.status == 200, "status {}", reply.status);
        is_media_type(&reply, "application/json")?;
        let found = reply.field("x-cache");
        ensure!(found == cache, "x-cache is {found:?} instead of {cache}");
        let item = parsed(&reply.body)?;
        ensure!(item["id"] == id, "{item} is another item");
        is_whole(&item)
    }

    /// An item that is read again soon comes from the cache. On a busy machine it may not be soon enough, and is read once more.
    fn is_found_again(&self, id: u64) -> Result<()> {
        let mut found = Ok(());
        for _ in 0..SOON_ENOUGH_MAX {
            found = self.is_cached(id, "HIT");
            if found.is_ok() {
                break;
            }
        }
        found
    }

    fn write(&self, method: Method, path: &str, body: &str, status: u16) -> Result<()> {
        let reply = self.send(method, path, "application/json", body)?;
        ensure!(
            reply.status == status,
            "status {} {}",
            reply.status,
            reply.text()
        );
        Ok(())
    }

    fn echo(&mut self) {
        let address = self.port.address;
        let found = conversation(address);
        self.check("echoes in order, and a close", found);
        // Four hundreds say that it is the client's doing.
        let found = self.get("/ws").and_then(|reply| {
            ensure!(
                (400..500).contains(&reply.status),
                "status {}",
                reply.status
            );
            Ok(())
        });
        self.check("a request that is none", found);
        self.check("another conversation", conversation(address));
    }
}

/// Texts and bytes are sent back as they were, in their order; then both sides close.
fn conversation(address: SocketAddr) -> Result<()> {
    let mut socket = WebSocketProbe::open(address, "/ws")?;
    let text = format!("hello {}", drawn(10));
    let bytes: Vec<u8> = (0..=255).rev().collect();
    for (operation, payload) in [(TEXT, text.as_bytes()), (BINARY, &bytes)] {
        socket.send(operation, payload)?;
        let found = socket.receive()?;
        ensure!(
            found == (operation, payload.to_vec()),
            "{found:?} came back"
        );
    }
    let messages: Vec<String> = (0..5).map(|at| format!("{at} {}", drawn(at))).collect();
    for message in &messages {
        socket.send(TEXT, message.as_bytes())?;
    }
    for message in messages {
        let found = socket.receive()?;
        ensure!(found == (TEXT, message.into_bytes()), "{found:?} came back");
    }
    socket.close()
}
