//! Compresses responses for clients that accept it: gzip or brotli, whole bodies and streams. Knows no route and no file.
//! Small bodies are encoded in place, larger ones off the worker, streams piece by piece with a flush, so that nothing waits for more.

use std::{cell::Cell, rc::Rc};

use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, StatusCode,
    header::{ACCEPT_RANGES, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_RANGE, CONTENT_TYPE, ETAG},
};

pub use crate::encoding::{AcceptedCodings, Coding, CompressionPolicy};
use crate::{
    encoding::{Encoding, encode, vary},
    limits::{COMPRESSED_BYTES_MIN, COMPRESSED_IN_PLACE_BYTES_MAX},
    media_type::shrinks,
    response::{HttpBody, HttpResponse},
    upload::Offload,
};

/// Compresses the responses of one worker.
#[derive(Debug)]
pub struct Compressor<O> {
    offload: O,
    streams: Rc<Cell<usize>>,
}

impl<O: Offload> Compressor<O> {
    /// Large bodies go through `offload`.
    pub fn new(offload: O) -> Compressor<O> {
        Compressor {
            offload,
            streams: Rc::default(),
        }
    }

    /// The response, encoded if the client accepts that and it is worth it.
    pub async fn encode(
        &self,
        mut response: HttpResponse,
        accepted: AcceptedCodings,
    ) -> HttpResponse {
        // Streams are gzip by choice: its encoder takes a quarter of a megabyte, that of brotli several times as much.
        let ours = match response.body {
            HttpBody::Stream(_) => Coding::Gzip,
            _ => Coding::Brotli,
        };
        let Some(coding) = accepted.best(ours).filter(|_| is_worth(&response)) else {
            return response;
        };
        match std::mem::take(&mut response.body) {
            HttpBody::Empty => return response,
            HttpBody::Switch(switch) => {
                response.body = HttpBody::Switch(switch);
                return response;
            }
            HttpBody::Full(bytes) if bytes.len() < COMPRESSED_BYTES_MIN => {
                response.body = HttpBody::Full(bytes);
                return response;
            }
            HttpBody::Full(bytes) => match self.whole(coding, bytes.clone()).await {
                Some(encoded) => response.body = HttpBody::Full(encoded),
                None => {
                    response.body = HttpBody::Full(bytes);
                    return response;
                }
            },
            HttpBody::Stream(mut receiver) => {
                let Some(encoding) = Encoding::begin(coding, &self.streams) else {
                    response.body = HttpBody::Stream(receiver);
                    return response;
                };
                receiver.encode(encoding);
                response.body = HttpBody::Stream(receiver);
            }
        }
        mark(&mut response.headers, coding);
        response
    }

    /// None when it did not shrink, or there was no room to do it.
    async fn whole(&self, coding: Coding, bytes: Bytes) -> Option<Bytes> {
        let length = bytes.len();
        let encoded = if length <= COMPRESSED_IN_PLACE_BYTES_MAX {
            encode(coding, &bytes)
        } else {
            // Boxed, since the future of every request would have room for it.
            Box::pin(self.offload.offload(move || encode(coding, &bytes))).await
        };
        encoded
            .ok()
            .filter(|encoded| encoded.len() < length)
            .map(Bytes::from)
    }
}

fn is_worth(response: &HttpResponse) -> bool {
    let headers = &response.headers;
    let text = |name| {
        headers
            .get(name)
            .and_then(|value: &HeaderValue| value.to_str().ok())
            .unwrap_or_default()
    };
    response.summary.compression == CompressionPolicy::Free
        && response.status != StatusCode::PARTIAL_CONTENT
        && !headers.contains_key(CONTENT_ENCODING)
        && !headers.contains_key(CONTENT_RANGE)
        && shrinks(text(CONTENT_TYPE))
        && !text(CACHE_CONTROL).contains("no-transform")
}

/// The encoded bytes are another representation: its tag is only weakly the same, and its parts cannot be asked for.
fn mark(headers: &mut HeaderMap, coding: Coding) {
    headers.insert(CONTENT_ENCODING, HeaderValue::from_static(coding.name()));
    headers.remove(ACCEPT_RANGES);
    vary(headers);
    let weak = headers
        .get(ETAG)
        .filter(|tag| !tag.as_bytes().starts_with(b"W/"))
        .and_then(|tag| HeaderValue::from_bytes(&[b"W/", tag.as_bytes()].concat()).ok());
    if let Some(weak) = weak {
        headers.insert(ETAG, weak);
    }
}
