//! Which transfer codings a body may have: RFC 9112 sections 6.1 and 6.3. Knows no body; hyper takes its chunks apart, and refuses a
//! coding that does not end with chunks.
//! Rule: a handler gets a body as it was before it was coded; what is coded otherwise than once in chunks is refused.

use http::{HeaderMap, header::TRANSFER_ENCODING};

use crate::error::{Error, Result};

/// Sees that the body is coded in chunks or not at all.
pub(crate) fn check(headers: &HeaderMap) -> Result<()> {
    // A name among few is found sooner than a hash is made of it, and it is rarely there.
    if !headers.keys().any(|name| *name == TRANSFER_ENCODING) {
        return Ok(());
    }
    let mut chunked = 0;
    for field in headers.get_all(TRANSFER_ENCODING) {
        let codings = field.as_bytes().split(|byte| *byte == b',');
        let codings = codings.map(<[u8]>::trim_ascii);
        for coding in codings.filter(|coding| !coding.is_empty()) {
            if !coding.eq_ignore_ascii_case(b"chunked") {
                return Err(Error::TransferCoding);
            }
            chunked += 1;
        }
    }
    match chunked {
        0 | 1 => Ok(()),
        _ => Err(Error::Malformed("request: it is chunked more than once")),
    }
}
