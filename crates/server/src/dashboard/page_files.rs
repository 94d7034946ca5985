//! The files of the dashboard's page: their bytes, plain and packed, and what a browser that has them already is answered. Knows no data.
//! Rule: a tag names the bytes that are sent (RFC 9110 section 8.8.3), so the packed form has another one; browsers ask each time, as a new
//! program has new files.

use std::hash::{DefaultHasher, Hasher as _};
use std::io::Write as _;
use std::sync::LazyLock;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, VARY};
use http::{HeaderMap, HeaderValue, StatusCode};
use tsumugi_http::compress::{AcceptedCodings, Coding};
use tsumugi_http::{HttpResponse, entity_tag_known};

/// Path, media type, bytes.
const SOURCES: [(&str, &str, &str); 3] = [
    (
        "/dashboard/",
        "text/html; charset=utf-8",
        include_str!("page/index.html"),
    ),
    (
        "/dashboard/app.js",
        "text/javascript; charset=utf-8",
        include_str!("page/app.js"),
    ),
    (
        "/dashboard/style.css",
        "text/css; charset=utf-8",
        include_str!("page/style.css"),
    ),
];

struct PageFile {
    path: &'static str,
    media_type: &'static str,
    plain: Representation,
    packed: Option<Representation>,
}

struct Representation {
    bytes: Bytes,
    /// With its quotes.
    tag: String,
}

/// Packed when the first of them is asked for.
static FILES: LazyLock<[PageFile; 3]> = LazyLock::new(|| {
    SOURCES.map(|(path, media_type, text)| {
        let mut hasher = DefaultHasher::new();
        hasher.write(text.as_bytes());
        let number = hasher.finish();
        let packed = gzip(text.as_bytes()).map(|bytes| Representation {
            bytes,
            tag: format!("\"{number:016x}-gzip\""),
        });
        PageFile {
            path,
            media_type,
            plain: Representation {
                bytes: Bytes::from_static(text.as_bytes()),
                tag: format!("\"{number:016x}\""),
            },
            packed,
        }
    })
});

fn gzip(bytes: &[u8]) -> Option<Bytes> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).ok()?;
    encoder.finish().ok().map(Bytes::from)
}

/// The file of this path, as a client wants it that sends these header fields; none where there is none.
pub(super) fn page_file(path: &str, headers: &HeaderMap) -> Option<HttpResponse> {
    let file = FILES.iter().find(|file| file.path == path)?;
    let takes_packed = AcceptedCodings::of(headers).takes(Coding::Gzip);
    let packed = file.packed.as_ref().filter(|_| takes_packed);
    let chosen = packed.unwrap_or(&file.plain);
    let is_known = entity_tag_known(headers, &chosen.tag);
    let mut response = match is_known {
        true => HttpResponse::new(StatusCode::NOT_MODIFIED, ""),
        false => HttpResponse::new(StatusCode::OK, chosen.bytes.clone())
            .with(CONTENT_TYPE, HeaderValue::from_static(file.media_type)),
    };
    if let (Some(_), false) = (packed, is_known) {
        let coding = HeaderValue::from_static(Coding::Gzip.name());
        response = response.with(CONTENT_ENCODING, coding);
    }
    let tag = HeaderValue::from_str(&chosen.tag).ok()?;
    Some(
        response
            .with(ETAG, tag)
            .with(VARY, HeaderValue::from_static("accept-encoding"))
            .with(CACHE_CONTROL, HeaderValue::from_static("no-cache")),
    )
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use flate2::read::GzDecoder;
    use http::header::{ACCEPT_ENCODING, IF_NONE_MATCH};
    use tsumugi_http::HttpBody;

    use super::*;

    fn ask(fields: &[(http::HeaderName, &str)]) -> HttpResponse {
        let fields = fields
            .iter()
            .map(|(name, value)| (name.clone(), HeaderValue::from_str(value).unwrap()));
        page_file("/dashboard/app.js", &fields.collect()).unwrap()
    }

    fn tag(response: &HttpResponse) -> String {
        response.headers[ETAG].to_str().unwrap().to_owned()
    }

    fn bytes(response: HttpResponse) -> Bytes {
        match response.into_parts().body {
            HttpBody::Full(bytes) => bytes,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn packed_file_has_a_tag_of_its_own_and_the_same_text() {
        let plain = ask(&[]);
        let packed = ask(&[(ACCEPT_ENCODING, "br, gzip;q=0.5")]);
        assert_eq!(packed.headers[CONTENT_ENCODING], "gzip");
        assert!(!plain.headers.contains_key(CONTENT_ENCODING));
        assert_ne!(tag(&plain), tag(&packed));
        let (plain, packed) = (bytes(plain), bytes(packed));
        assert!(packed.len() * 2 < plain.len());
        let mut text = Vec::new();
        GzDecoder::new(&*packed).read_to_end(&mut text).unwrap();
        assert_eq!(text, plain);
    }

    #[test]
    fn file_that_is_known_is_not_sent_again() {
        let gzip = (ACCEPT_ENCODING, "gzip");
        let (plain, packed) = (tag(&ask(&[])), tag(&ask(std::slice::from_ref(&gzip))));
        let check = |known: &str, fields: &[(http::HeaderName, &str)], status: u16| {
            let fields = [&[(IF_NONE_MATCH, known)], fields].concat();
            let answer = ask(&fields);
            assert_eq!(answer.status, status, "{fields:?}");
            assert!(answer.headers.contains_key(ETAG) && answer.headers.contains_key(VARY));
            assert_eq!(answer.headers.contains_key(CONTENT_TYPE), status == 200);
        };
        check(&plain, &[], 304);
        check(&packed, std::slice::from_ref(&gzip), 304);
        check(&format!("\"x\", W/{plain}"), &[], 304);
        check("*", &[], 304);
        check("\"x\"", &[], 200);
        // What is known is another form of it.
        check(&plain, &[gzip], 200);
        check(&packed, &[], 200);
    }
}
