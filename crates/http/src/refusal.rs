//! Answers to what hyper cannot read as a request: it sends a status and no text, so its head gets a body that says what is wrong.
//! Reads no request. Rule: only bytes that are hyper's own answer, from the first to the last, are made another.

use crate::limits::HttpLimits;

const STATUSES: [&[u8]; 3] = [
    b" 400 Bad Request\r\n",
    b" 414 URI Too Long\r\n",
    b" 431 Request Header Fields Too Large\r\n",
];
const NO_BODY: &[u8] = b"content-length: 0\r\n";
const VERSIONS: [&[u8]; 2] = [b"HTTP/1.1", b"HTTP/1.0"];

/// Where in these bytes hyper's answer begins, when they end with one.
pub(crate) fn begin(bytes: &[u8]) -> Option<usize> {
    let is_begin = |at: &usize| is_refusal(bytes.get(*at..).unwrap_or_default());
    // A status line, two or three fields and an empty line.
    let first = bytes.len().saturating_sub(HEAD_BYTES_MAX);
    (first..bytes.len()).find(is_begin)
}

/// The longest of such heads: a status line, `connection: close`, `content-length: 0` and a date.
const HEAD_BYTES_MAX: usize = 160;

fn is_refusal(head: &[u8]) -> bool {
    let is_own = |field: &str| {
        field == "content-length: 0" || field == "connection: close" || field.starts_with("date: ")
    };
    fields_of(head).is_some_and(|fields| {
        fields.contains("content-length: 0") && fields.split("\r\n").all(is_own)
    })
}

/// The fields of a head with one of hyper's statuses.
fn fields_of(head: &[u8]) -> Option<&str> {
    let status = VERSIONS
        .iter()
        .find_map(|known| head.strip_prefix(*known))?;
    let fields = STATUSES
        .iter()
        .find_map(|known| status.strip_prefix(*known))?;
    std::str::from_utf8(fields.strip_suffix(b"\r\n\r\n")?).ok()
}

/// What is wrong with it.
pub(crate) fn reason(error: &hyper::Error, limits: &HttpLimits) -> String {
    if error.is_parse_too_large() {
        return format!(
            "the head of the request is larger than header_bytes_max ({} bytes), or has more than {} fields\n",
            limits.header_bytes_max, limits.headers_max
        );
    }
    let text = error.to_string();
    let advice = match text.as_str() {
        "invalid URI" => {
            ": in the target of a request spaces, control characters, <, >, \" and what is no ASCII are written as %XX"
        }
        "invalid HTTP header parsed" => {
            ": each field is a name, a colon directly behind it, and a value without control characters"
        }
        _ => "",
    };
    format!("malformed request: {text}{advice}\n")
}

/// Hyper's head with a body.
pub(crate) fn with_body(head: &[u8], body: &str) -> Vec<u8> {
    let fields = format!(
        "content-type: text/plain; charset=utf-8\r\ncontent-length: {}\r\n",
        body.len()
    );
    let at = head
        .windows(NO_BODY.len())
        .position(|field| field == NO_BODY);
    let (before, after) = head.split_at(at.unwrap_or(head.len()));
    let after = after.get(NO_BODY.len()..).unwrap_or_default();
    [before, fields.as_bytes(), after, body.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_answer_of_hyper_is_one() {
        let own = "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\ndate: Wed, 25 Nov 2026 16:01:38 GMT\r\n\r\n";
        assert_eq!(begin(own.as_bytes()), Some(0));
        assert_eq!(
            begin(format!("HTTP/1.1 200 OK\r\n\r\n{own}").as_bytes()),
            Some(19)
        );
        for other in [
            "",
            "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
            &own.replace("date", "x-date"),
            &own.replace("0\r\n", "1\r\n"),
            &format!("{own}x"),
        ] {
            assert_eq!(begin(other.as_bytes()), None, "{other}");
        }
        let answer = String::from_utf8(with_body(own.as_bytes(), "why\n")).unwrap();
        assert!(
            answer.contains("\r\ncontent-length: 4\r\ndate: "),
            "{answer}"
        );
        assert!(answer.ends_with(" GMT\r\n\r\nwhy\n"), "{answer}");
    }
}
