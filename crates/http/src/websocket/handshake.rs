//! The opening handshake of a WebSocket (RFC 6455 section 4.2): what a client must have sent, and the answer. Pure.
//! Rule: pages of another origin get none unless the application names them, because browsers send them the user's cookies all the same.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Version,
    header::{
        CONNECTION, HOST, ORIGIN, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL,
        SEC_WEBSOCKET_VERSION, UPGRADE,
    },
};
use ring::digest;

use crate::{
    error::{Error, Result},
    header_fields::{only_value, words},
    request::Request,
    response::{HttpBody, HttpResponse},
};

/// What every accepted key is hashed with (RFC 6455 section 1.3).
const GUID: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// Bytes of a key, decoded.
const KEY_BYTES: usize = 16;

/// The fields of a request for a WebSocket, for clients that are no browser. The key is RFC 6455's own sample: it guards nothing.
pub const WEBSOCKET_WISH: [(&str, &str); 4] = [
    ("connection", "upgrade"),
    ("upgrade", "websocket"),
    ("sec-websocket-version", "13"),
    ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
];

/// Whom an application lets in, and what it speaks.
#[derive(Clone, Debug, Default)]
pub struct WebSocketTerms {
    /// The first of these that the client knows is spoken; without one of them none.
    pub protocols: Vec<String>,
    /// Whose pages are let in.
    pub origins: PageOrigins,
}

/// The pages that may open a WebSocket. A client that is no browser says none.
#[derive(Clone, Debug)]
pub enum PageOrigins {
    /// Those of the host itself, and of these origins (`https://example.com`).
    Named(Vec<String>),
    /// All: for what needs no cookie.
    Any,
}

impl Default for PageOrigins {
    fn default() -> PageOrigins {
        PageOrigins::Named(Vec::new())
    }
}

impl WebSocketTerms {
    /// The answer that begins the conversation, once it has its [`HttpBody::Switch`], and the protocol that is spoken.
    ///
    /// # Errors
    /// [`Error::ForeignOrigin`], see [`WebSocketOffer::check_origin`].
    pub fn accept(&self, offer: WebSocketOffer) -> Result<(HttpResponse, Option<String>)> {
        if let PageOrigins::Named(origins) = &self.origins {
            offer.check_origin(origins)?;
        }
        let protocol = offer.agreed(&self.protocols);
        Ok((offer.accept(protocol.as_deref()), protocol))
    }
}

/// A client's wish for a WebSocket.
#[derive(Clone, Debug)]
pub struct WebSocketOffer {
    accept: HeaderValue,
    protocols: Vec<String>,
    /// Empty where there are several, or one that cannot be read: of no host that is known.
    origin: Option<String>,
    host: Option<String>,
}

impl WebSocketOffer {
    /// The wish of this request; [`Error::NoUpgrade`] when it has none that can be met, [`Error::Malformed`] when its key is none.
    pub fn of(request: &Request) -> Result<WebSocketOffer> {
        let headers = &request.headers;
        if request.version >= Version::HTTP_2 {
            return Err(Error::NoUpgrade("a WebSocket needs HTTP/1.1"));
        }
        if request.method != Method::GET
            || !words(headers, UPGRADE).any(|name| name.eq_ignore_ascii_case("websocket"))
            || !words(headers, CONNECTION).any(|name| name.eq_ignore_ascii_case("upgrade"))
        {
            return Err(Error::NoUpgrade("a WebSocket is asked for by an upgrade"));
        }
        if text(headers, SEC_WEBSOCKET_VERSION) != Some("13") {
            return Err(Error::NoUpgrade("the version of WebSocket is 13"));
        }
        let key = text(headers, SEC_WEBSOCKET_KEY).unwrap_or_default().trim();
        match STANDARD.decode(key) {
            Ok(bytes) if bytes.len() == KEY_BYTES => {}
            _ => return Err(Error::Malformed("sec-websocket-key")),
        }
        let accept = HeaderValue::try_from(accept(key));
        Ok(WebSocketOffer {
            accept: accept.map_err(|_| Error::Malformed("sec-websocket-key"))?,
            protocols: words(headers, SEC_WEBSOCKET_PROTOCOL)
                .map(str::to_owned)
                .collect(),
            origin: headers
                .contains_key(ORIGIN)
                .then(|| text(headers, ORIGIN).unwrap_or_default().to_owned()),
            host: text(headers, HOST).map(str::to_owned),
        })
    }

    /// The first of the application's protocols that the client knows too.
    pub fn agreed(&self, ours: &[String]) -> Option<String> {
        let known = |name: &&String| self.protocols.contains(name);
        ours.iter().find(known).cloned()
    }

    /// [`Error::ForeignOrigin`] when the request comes from a page of another host than it went to, and of none of `origins`
    /// (`https://example.com`). A client that is no browser sends no origin.
    pub fn check_origin(&self, origins: &[String]) -> Result<()> {
        let Some(origin) = &self.origin else {
            return Ok(());
        };
        let authority = origin.split_once("://").map(|(_, authority)| authority);
        let same = authority
            .zip(self.host.as_deref())
            .is_some_and(|(authority, host)| authority.eq_ignore_ascii_case(host));
        let mut named = origins.iter().filter(|known| !known.is_empty());
        match same || named.any(|known| known.eq_ignore_ascii_case(origin)) {
            true => Ok(()),
            false => Err(Error::ForeignOrigin),
        }
    }

    /// The answer that begins the conversation, once it has its [`HttpBody::Switch`].
    pub fn accept(self, protocol: Option<&str>) -> HttpResponse {
        let mut response = HttpResponse::new(StatusCode::SWITCHING_PROTOCOLS, HttpBody::Empty)
            .with(CONNECTION, HeaderValue::from_static("upgrade"))
            .with(UPGRADE, HeaderValue::from_static("websocket"))
            .with(SEC_WEBSOCKET_ACCEPT, self.accept);
        if let Some(Ok(protocol)) = protocol.map(HeaderValue::from_str) {
            response.headers.insert(SEC_WEBSOCKET_PROTOCOL, protocol);
        }
        response
    }
}

fn accept(key: &str) -> String {
    let keyed = format!("{key}{GUID}");
    let hash = digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, keyed.as_bytes());
    STANDARD.encode(hash)
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    only_value(headers, name)?.to_str().ok()
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::request::{RequestBody, RequestNumber};

    const WISH: &str = "host: a.example\nconnection: keep-alive, Upgrade\nupgrade: websocket\n\
                        sec-websocket-version: 13\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==";

    fn request(head: &str) -> Request {
        let mut headers = HeaderMap::new();
        for line in head.lines() {
            let (name, value) = line.split_once(": ").unwrap();
            let name: HeaderName = name.parse().unwrap();
            headers.append(name, value.parse().unwrap());
        }
        Request {
            method: Method::GET,
            uri: "/".parse().unwrap(),
            version: Version::HTTP_11,
            headers: headers.into(),
            body: RequestBody::in_memory(bytes::Bytes::new()),
            peer: None,
            scheme: Default::default(),
            received_at: Instant::now(),
            number: RequestNumber::default(),
            mounted_path: None,
            activity: None,
        }
    }

    /// A wish without the lines of one name, and with another one.
    fn check(without: &str, with: &str, expected: &str) {
        let kept = WISH.lines().filter(|line| !line.starts_with(without));
        let lines: Vec<&str> = kept.chain(with.lines()).collect();
        let outcome = match WebSocketOffer::of(&request(&lines.join("\n"))) {
            Ok(offer) => offer.accept.to_str().unwrap().to_owned(),
            Err(error) => format!("{} {error}", error.status().as_u16()),
        };
        assert!(
            outcome.starts_with(expected),
            "{without} / {with}: {outcome}"
        );
    }

    #[test]
    fn handshake_is_accepted_only_when_it_is_whole() {
        check("-", "", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        check("connection", "connection: close", "426 ");
        check("upgrade", "upgrade: h2c", "426 ");
        check("sec-websocket-version", "sec-websocket-version: 8", "426 ");
        check("sec-websocket-version", "", "426 ");
        check("sec-websocket-key", "", "400 malformed");
        check("sec-websocket-key", "sec-websocket-key: AAAA", "400 ");
        check("-", "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==", "400 ");
    }

    #[test]
    fn only_pages_of_this_host_or_of_named_origins_are_met() {
        for (origin, allowed, expected) in [
            ("https://a.example", "", true),
            ("http://A.example", "", true),
            ("https://b.example", "", false),
            ("https://a.example.b.example", "", false),
            ("https://a.example:8443", "", false),
            ("null", "", false),
            ("https://b.example", "https://b.example", true),
            ("http://b.example", "https://b.example", false),
            ("https://a.example\norigin: https://b.example", "", false),
            (
                "https://b.example\norigin: https://b.example",
                "https://b.example",
                false,
            ),
            ("https://a.example/\u{e9}", "", false),
        ] {
            let offer = WebSocketOffer::of(&request(&format!("{WISH}\norigin: {origin}"))).unwrap();
            let passed = offer.check_origin(&[allowed.to_owned()]).is_ok();
            assert_eq!(passed, expected, "{origin}");
        }
        let plain = WebSocketOffer::of(&request(WISH)).unwrap();
        assert!(plain.check_origin(&[]).is_ok());
    }

    #[test]
    fn the_application_chooses_among_the_protocols_of_the_client() {
        let head = format!("{WISH}\nsec-websocket-protocol: a, b\nsec-websocket-protocol: c");
        let offer = WebSocketOffer::of(&request(&head)).unwrap();
        let agreed = |ours: &[&str]| {
            let ours: Vec<String> = ours.iter().map(|name| (*name).to_owned()).collect();
            offer.agreed(&ours)
        };
        assert_eq!(agreed(&["d", "c", "a"]).as_deref(), Some("c"));
        assert_eq!(agreed(&["d"]), None);
        assert_eq!(agreed(&[]), None);
    }
}
