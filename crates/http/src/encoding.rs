//! What a client accepts as `content-encoding`, and the encoders: gzip and brotli, whole bodies and streams. Knows no response.
//! Small pieces of a large body are encoded at a time, and a stream is flushed after each piece, so that nothing waits for more.

use std::{
    cell::Cell,
    io::{self, Write},
    rc::Rc,
};

use bytes::{Buf, Bytes};
use flate2::{Compression, write::GzEncoder};
use http::{
    HeaderMap, HeaderValue,
    header::{ACCEPT_ENCODING, VARY},
};

use crate::{
    header_fields::words,
    limits::{COMPRESSED_STREAMS_MAX, COMPRESSED_TURN_BYTES},
};

/// A way to encode a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Coding {
    /// RFC 1952.
    Gzip,
    /// RFC 7932.
    Brotli,
}

impl Coding {
    /// As in `content-encoding`.
    pub fn name(self) -> &'static str {
        match self {
            Coding::Gzip => "gzip",
            Coding::Brotli => "br",
        }
    }
}

/// What a client accepts, each with its weight in thousandths; 0 is not at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct AcceptedCodings {
    gzip: u16,
    brotli: u16,
}

impl AcceptedCodings {
    /// Of a request's header fields.
    pub fn of(headers: &HeaderMap) -> AcceptedCodings {
        let (mut any, mut gzip, mut brotli) = (0, None, None);
        for item in words(headers, ACCEPT_ENCODING) {
            let (name, parameters) = item.split_once(';').unwrap_or((item, ""));
            let weight = weight(parameters);
            match name.trim().to_ascii_lowercase().as_str() {
                "gzip" | "x-gzip" => gzip = Some(weight),
                "br" => brotli = Some(weight),
                "*" => any = weight,
                _ => {}
            }
        }
        AcceptedCodings {
            gzip: gzip.unwrap_or(any),
            brotli: brotli.unwrap_or(any),
        }
    }

    /// Whether this one is accepted.
    pub fn takes(self, coding: Coding) -> bool {
        match coding {
            Coding::Gzip => self.gzip > 0,
            Coding::Brotli => self.brotli > 0,
        }
    }

    /// The coding to encode in: what the client likes best, ours where it does not mind.
    pub fn best(self, ours: Coding) -> Option<Coding> {
        let brotli = match cfg!(feature = "brotli") {
            true => self.brotli,
            false => 0,
        };
        match (self.gzip, brotli) {
            (0, 0) => None,
            (gzip, brotli) if gzip > brotli => Some(Coding::Gzip),
            (gzip, brotli) if brotli > gzip => Some(Coding::Brotli),
            _ => Some(ours),
        }
    }
}

/// The `q` of `;q=0.5`. What cannot be read is not accepted.
fn weight(parameters: &str) -> u16 {
    let q = parameters
        .split(';')
        .find_map(|parameter| parameter.trim().strip_prefix("q="));
    match q.map(str::parse::<f32>) {
        None => 1000,
        Some(Ok(q)) if (0.0..=1.0).contains(&q) => (q * 1000.0) as u16,
        Some(_) => 0,
    }
}

/// Whether a response may be compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CompressionPolicy {
    /// It may.
    #[default]
    Free,
    /// It is sent as it is.
    AsIs,
}

/// Tells caches that the response depends on what is accepted.
pub(crate) fn vary(headers: &mut HeaderMap) {
    let is_name = |word: &str| word.eq_ignore_ascii_case("accept-encoding") || word == "*";
    if !words(headers, VARY).any(is_name) {
        headers.append(VARY, HeaderValue::from_static("accept-encoding"));
    }
}

/// Fast rather than small: the time is the worker's.
const GZIP_LEVEL: u32 = 5;
/// Logarithm of the window of whole bodies.
const BROTLI_WINDOW: u32 = 20;
/// Logarithm of the window of streams, which keep it while they last.
const BROTLI_STREAM_WINDOW: u32 = 16;

pub(crate) fn encode(coding: Coding, bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = encoder(coding, BROTLI_WINDOW).ok_or(io::ErrorKind::Unsupported)?;
    encoder.write_all(bytes)?;
    encoder.finish()
}

/// Encodes into memory.
trait Encoder: Write {
    /// What has come out so far.
    fn take(&mut self) -> Vec<u8>;

    fn finish(self: Box<Self>) -> io::Result<Vec<u8>>;
}

/// None of a coding that is not built in.
fn encoder(coding: Coding, window: u32) -> Option<Box<dyn Encoder>> {
    match coding {
        Coding::Gzip => {
            let level = Compression::new(GZIP_LEVEL);
            Some(Box::new(GzEncoder::new(Vec::new(), level)))
        }
        Coding::Brotli => brotli_encoder(window),
    }
}

#[cfg(feature = "brotli")]
fn brotli_encoder(window: u32) -> Option<Box<dyn Encoder>> {
    /// Fast rather than small, as the level of gzip.
    const QUALITY: u32 = 4;
    let encoder = brotli::CompressorWriter::new(Vec::new(), 4096, QUALITY, window);
    Some(Box::new(encoder))
}

#[cfg(not(feature = "brotli"))]
fn brotli_encoder(_: u32) -> Option<Box<dyn Encoder>> {
    None
}

impl Encoder for GzEncoder<Vec<u8>> {
    fn take(&mut self) -> Vec<u8> {
        std::mem::take(self.get_mut())
    }

    fn finish(self: Box<Self>) -> io::Result<Vec<u8>> {
        GzEncoder::finish(*self)
    }
}

#[cfg(feature = "brotli")]
impl Encoder for brotli::CompressorWriter<Vec<u8>> {
    fn take(&mut self) -> Vec<u8> {
        std::mem::take(self.get_mut())
    }

    fn finish(self: Box<Self>) -> io::Result<Vec<u8>> {
        Ok(self.into_inner())
    }
}

/// A stream on its way through an encoder.
pub(crate) struct Encoding {
    /// None at the end.
    encoder: Option<Box<dyn Encoder>>,
    /// Of the present piece, what has not been encoded.
    rest: Bytes,
    streams: Rc<Cell<usize>>,
}

impl Encoding {
    /// None when as many streams as allowed are being encoded, and of a coding that is not built in.
    pub(crate) fn begin(coding: Coding, streams: &Rc<Cell<usize>>) -> Option<Box<Encoding>> {
        if streams.get() >= COMPRESSED_STREAMS_MAX {
            return None;
        }
        let encoder = encoder(coding, BROTLI_STREAM_WINDOW)?;
        streams.set(streams.get() + 1);
        Some(Box::new(Encoding {
            encoder: Some(encoder),
            rest: Bytes::new(),
            streams: Rc::clone(streams),
        }))
    }

    pub(crate) fn feed(&mut self, piece: Bytes) {
        self.rest = piece;
    }

    /// What comes of the present piece: of a large one a part at a time. None when it has all been encoded and flushed.
    pub(crate) fn next(&mut self) -> Option<Bytes> {
        while !self.rest.is_empty() {
            let encoder = self.encoder.as_mut()?;
            let now = self.rest.len().min(COMPRESSED_TURN_BYTES);
            // Writing into memory cannot fail.
            let _ = encoder.write_all(self.rest.get(..now)?);
            self.rest.advance(now);
            if self.rest.is_empty() {
                let _ = encoder.flush();
            }
            let out = encoder.take();
            if !out.is_empty() {
                return Some(out.into());
            }
        }
        None
    }

    /// The end of the encoded stream, once.
    pub(crate) fn finish(&mut self) -> Option<Bytes> {
        let out = self.encoder.take()?.finish().unwrap_or_default();
        Some(Bytes::from(out)).filter(|out| !out.is_empty())
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.encoder.is_none()
    }
}

impl Drop for Encoding {
    fn drop(&mut self) {
        self.streams.set(self.streams.get().saturating_sub(1));
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    /// `expected` is the coding for a whole body and for a stream.
    fn check(accept: &str, expected: [Option<Coding>; 2]) {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_str(accept).unwrap());
        let accepted = AcceptedCodings::of(&headers);
        let best = [Coding::Brotli, Coding::Gzip].map(|ours| accepted.best(ours));
        assert_eq!(best, expected, "{accept}");
    }

    #[test]
    fn the_clients_weights_decide_and_ours_where_they_are_equal() {
        let gzip = Some(Coding::Gzip);
        let brotli = match cfg!(feature = "brotli") {
            true => Some(Coding::Brotli),
            false => gzip,
        };
        check("gzip, deflate, br, zstd", [brotli, gzip]);
        check("gzip;q=1.0, br;q=0.5", [gzip, gzip]);
        check("br;q=1.0, gzip;q=0.8, *;q=0.1", [brotli, brotli]);
        check("GZIP", [gzip, gzip]);
        check("*", [brotli, gzip]);
        check("*;q=1, br;q=0", [gzip, gzip]);
        for none in ["identity", "gzip;q=0", "br;q=2", "gzip;q=x", ""] {
            check(none, [None, None]);
        }
    }

    fn all_of(mut decoder: impl Read) -> Vec<u8> {
        let mut out = Vec::new();
        decoder.read_to_end(&mut out).unwrap();
        out
    }

    fn check_decoded(coding: Coding, decode: fn(&[u8]) -> Vec<u8>) {
        let text: Vec<u8> = (0..50_000u32)
            .flat_map(|n| n.to_string().into_bytes())
            .collect();
        assert_eq!(decode(&encode(coding, &text).unwrap()), text);
        let mut encoding = Encoding::begin(coding, &Rc::default()).unwrap();
        let mut out = Vec::new();
        for piece in text.chunks(30_000) {
            encoding.feed(Bytes::copy_from_slice(piece));
            while let Some(bytes) = encoding.next() {
                out.extend_from_slice(&bytes);
            }
        }
        assert!(!encoding.is_finished());
        out.extend_from_slice(&encoding.finish().unwrap_or_default());
        assert_eq!(decode(&out), text);
    }

    #[test]
    fn encoded_body_decodes_to_the_same_whole_or_in_pieces() {
        check_decoded(Coding::Gzip, |bytes| {
            all_of(flate2::read::GzDecoder::new(bytes))
        });
        #[cfg(feature = "brotli")]
        check_decoded(Coding::Brotli, |bytes| {
            all_of(brotli::Decompressor::new(bytes, 4096))
        });
    }

    #[test]
    fn one_stream_more_than_the_limit_is_not_encoded() {
        let streams = Rc::default();
        let begun: Vec<_> = (0..COMPRESSED_STREAMS_MAX)
            .filter_map(|_| Encoding::begin(Coding::Gzip, &streams))
            .collect();
        assert_eq!(begun.len(), COMPRESSED_STREAMS_MAX);
        assert!(Encoding::begin(Coding::Gzip, &streams).is_none());
        drop(begun);
        assert!(Encoding::begin(Coding::Gzip, &streams).is_some());
    }
}
