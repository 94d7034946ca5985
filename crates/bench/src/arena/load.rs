//! What each profile of the suite arena is loaded with: which requests in turn, on which connections. Sends nothing itself but the requests
//! whose answers the load then expects, byte for byte, from the same server.
//! Rule: mixes and depths are those of HttpArena; connections are fewer, as the machine is shared by all.

use anyhow::{Context as _, Result, ensure};
use http::Method;

use super::client::{ArenaCall, ArenaClient, ArenaPort};
use super::inputs::{FILES, ROWS};
use super::profile::Profile;
use crate::bench::CONNECTIONS;
use crate::limits::STREAMS_MAX;
use crate::load::{ConnectionUse, ExpectedBody, LoadProtocol, LoadRequest};

/// Connections of uploads, whose bodies are large.
const UPLOAD_CONNECTIONS: usize = 32;
/// Connections of HTTP/2.
const HTTP2_CONNECTIONS: usize = 16;
/// Streams of larger answers.
const STREAMS_OF_LARGE: usize = 32;
/// Items and factors that are asked for.
const PAIRS: [(usize, i64); 7] = [(1, 3), (5, 7), (10, 2), (15, 5), (25, 4), (40, 8), (50, 6)];
/// Those of compressed answers.
const COMPRESSED_PAIRS: [(usize, i64); 3] = [(25, 4), (40, 8), (50, 6)];
/// Ids that are read and updated.
const IDS: usize = ROWS / 2;

/// A load of a profile.
pub struct ProfileLoad {
    /// What is asked, in turn.
    pub requests: Vec<LoadRequest>,
    /// How connections of HTTP/1.1 are used.
    pub connection_use: ConnectionUse,
    /// How many connections there are.
    pub connections: usize,
    /// What is spoken.
    pub protocol: LoadProtocol,
}

impl ProfileLoad {
    /// The load of a profile; none when it is not measured.
    pub fn of(
        profile: Profile,
        client: &ArenaClient,
        port: ArenaPort,
    ) -> Result<Option<ProfileLoad>> {
        let kept = ConnectionUse::default();
        let ended = |requests| ConnectionUse {
            depth: 1,
            requests_max: Some(requests),
        };
        let answers = Answers { client, port };
        let (requests, connection_use) = match profile {
            Profile::Baseline => (sums(), kept),
            Profile::LimitedConn => (sums(), ended(10)),
            Profile::Pipelined => {
                let at_once = ConnectionUse { depth: 16, ..kept };
                (vec![answers.get("/pipeline", "")?], at_once)
            }
            Profile::Json | Profile::JsonTls | Profile::JsonH2c => {
                (answers.items(&PAIRS, "")?, kept)
            }
            Profile::JsonComp => {
                let accepting = "accept-encoding: gzip\r\n";
                (answers.items(&COMPRESSED_PAIRS, accepting)?, kept)
            }
            Profile::Upload => (uploads(), ended(5)),
            Profile::Static => (answers.files()?, ended(200)),
            Profile::StaticH2 => (answers.files()?, kept),
            Profile::AsyncDb => (answers.ranges()?, kept),
            Profile::Crud => (records(), ended(200)),
            Profile::BaselineH2 | Profile::BaselineH2c => {
                (vec![answers.get("/baseline2?a=1&b=1", "")?], kept)
            }
            Profile::EchoWs => return Ok(None),
        };
        let connections = match profile {
            Profile::Upload => UPLOAD_CONNECTIONS,
            _ if port.http2 => HTTP2_CONNECTIONS,
            _ => CONNECTIONS,
        };
        let streams = match profile {
            Profile::StaticH2 | Profile::JsonH2c => STREAMS_OF_LARGE,
            _ => STREAMS_MAX,
        };
        Ok(Some(ProfileLoad {
            requests,
            connection_use,
            connections,
            protocol: match port.http2 {
                true => LoadProtocol::Http2 { streams },
                false => LoadProtocol::Http1,
            },
        }))
    }
}

fn same(text: impl ToString) -> ExpectedBody {
    ExpectedBody::Same(text.to_string().into_bytes())
}

/// GET, POST with a length, POST in chunks.
fn sums() -> Vec<LoadRequest> {
    const PATH: &str = "/baseline11?a=13&b=42";
    let post = |fields: &str, body: &str| LoadRequest {
        method: Method::POST,
        fields: format!("content-type: text/plain\r\n{fields}"),
        body: body.as_bytes().to_vec(),
        ..LoadRequest::get(PATH, same(75))
    };
    vec![
        LoadRequest::get(PATH, same(55)),
        post("", "20"),
        post("transfer-encoding: chunked\r\n", "2\r\n20\r\n0\r\n\r\n"),
    ]
}

fn uploads() -> Vec<LoadRequest> {
    let sizes = [500 << 10, 2 << 20, 10 << 20, 20 << 20];
    let upload = |size: usize| LoadRequest {
        method: Method::POST,
        fields: "content-type: application/octet-stream\r\n".to_owned(),
        body: vec![b'u'; size],
        ..LoadRequest::get("/upload", same(size))
    };
    sizes.map(upload).to_vec()
}

/// Reads 75 %, updates 15 %, pages 5 %, upserts 5 %, of ids that lie apart.
fn records() -> Vec<LoadRequest> {
    const TYPE: &str = "content-type: application/json\r\n";
    let write = |method: Method, path: String, body: String, status: u16| LoadRequest {
        method,
        fields: TYPE.to_owned(),
        body: body.into_bytes(),
        status,
        ..LoadRequest::get(&path, ExpectedBody::Fits(|body| body.starts_with(b"{\"")))
    };
    let request = |at: usize| {
        // Each id comes by once in this many steps: both numbers have no divisor in common.
        let id = at * 7_919 % IDS + 1;
        match at % 20 {
            0..15 => {
                let item = ExpectedBody::Fits(|body| {
                    body.starts_with(b"{\"id\":") && body.ends_with(b"}}")
                });
                LoadRequest::get(&format!("/crud/items/{id}"), item)
            }
            15..18 => {
                let body = r#"{"name":"Updated Product","price":200,"quantity":25}"#.to_owned();
                write(Method::PUT, format!("/crud/items/{id}"), body, 200)
            }
            18 => {
                let page = at / 20 % 10 + 1;
                let path = format!("/crud/items?category=office&page={page}&limit=10");
                let list = ExpectedBody::Fits(|body| body.starts_with(b"{\"items\":[{\"id\":"));
                LoadRequest::get(&path, list)
            }
            _ => {
                let id = ROWS + 1 + at / 20;
                let body = format!(
                    r#"{{"id":{id},"name":"New Product","category":"test","price":150,"quantity":30}}"#
                );
                write(Method::POST, "/crud/items".to_owned(), body, 201)
            }
        }
    };
    (0..10_000).map(request).collect()
}

/// Asks once for what the load then expects.
struct Answers<'a> {
    client: &'a ArenaClient,
    port: ArenaPort,
}

impl Answers<'_> {
    fn get(&self, path: &str, fields: &'static str) -> Result<LoadRequest> {
        let named = fields.trim_end().split_once(": ");
        let call = ArenaCall {
            path,
            fields: named.as_slice(),
            ..ArenaCall::default()
        };
        let reply = self.client.call(self.port, &call)?;
        ensure!(reply.status == 200, "{path}: status {}", reply.status);
        Ok(LoadRequest {
            fields: fields.to_owned(),
            ..LoadRequest::get(path, ExpectedBody::Same(reply.body.to_vec()))
        })
    }

    fn items(&self, pairs: &[(usize, i64)], fields: &'static str) -> Result<Vec<LoadRequest>> {
        let get =
            |(count, factor): &(usize, i64)| self.get(&format!("/json/{count}?m={factor}"), fields);
        pairs.iter().map(get).collect()
    }

    fn files(&self) -> Result<Vec<LoadRequest>> {
        let get = |(name, ..): (&str, usize, &str)| self.get(&format!("/static/{name}"), "");
        FILES.into_iter().map(get).collect()
    }

    fn ranges(&self) -> Result<Vec<LoadRequest>> {
        let get = |limit| self.get(&format!("/async-db?min=10&max=50&limit={limit}"), "");
        let found: Result<_> = [5, 10, 20, 35, 50].into_iter().map(get).collect();
        found.context("no rows of items")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_have_the_shares_of_the_profile() {
        let requests = records();
        let share = |is: fn(&LoadRequest) -> bool| {
            requests.iter().filter(|request| is(request)).count() * 100 / requests.len()
        };
        let is_read =
            |request: &LoadRequest| request.method == Method::GET && !request.path.contains('?');
        let is_page =
            |request: &LoadRequest| request.method == Method::GET && request.path.contains('?');
        assert_eq!(share(is_read), 75);
        assert_eq!(share(is_page), 5);
        assert_eq!(share(|request| request.method == Method::PUT), 15);
        assert_eq!(share(|request| request.method == Method::POST), 5);
    }
}
