//! The PROXY protocol, versions 1 and 2: who the client is, told by a balancer before the first byte of the client (HAProxy's proxy-protocol.txt).
//! Knows no listener and no trust. Rule: not a byte beyond the header is read, since what follows belongs to TLS or HTTP; what is not understood
//! ends the connection.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _};

use crate::{
    error::{Error, Result, check_limit},
    limits::{HttpLimits, PROXY_LINE_BYTES_MAX},
    request::RequestScheme,
};

/// What a header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProxyHeader {
    /// Who the client is.
    pub source: ProxySource,
    /// Whether the client speaks TLS with the balancer, where the header says it (version 2).
    pub scheme: RequestScheme,
    /// Bytes of the header.
    pub length: usize,
}

/// Who is at the other end of a connection, by its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxySource {
    /// The balancer itself, which looks whether the server is well.
    Balancer,
    /// A client of which the balancer has no address to give.
    Concealed,
    /// This client.
    Client(SocketAddr),
}

/// How far a header has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyStep {
    /// At least so many bytes of it are still to come.
    Needs(usize),
    /// It is there.
    Whole(ProxyHeader),
}

const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";
const LINE: &[u8] = b"PROXY ";

/// The shortest header of either version: `PROXY UNKNOWN` with its end of line.
const SHORTEST: usize = 15;

/// Bytes of version 2 before the addresses.
const FIXED: usize = 16;

/// The type of the record about TLS in version 2, and the bit in it that says that the client speaks it.
const TLS_RECORD: u8 = 0x20;
const TLS_CLIENT: u8 = 0x01;

/// Reads the header from a stream, and not more.
///
/// # Errors
/// When it does not come within `proxy_header_ms`, is longer than `proxy_header_bytes_max`, or is none.
pub async fn accept<I: AsyncRead + Unpin>(io: &mut I, limits: &HttpLimits) -> Result<ProxyHeader> {
    let limit_ms = limits.proxy_header_ms;
    let received = receive(io, limits.proxy_header_bytes_max);
    let received = tokio::time::timeout(Duration::from_millis(limit_ms), received).await;
    received.unwrap_or(Err(Error::ProxyHeaderTimeout { limit_ms }))
}

async fn receive<I: AsyncRead + Unpin>(io: &mut I, bytes_max: usize) -> Result<ProxyHeader> {
    let mut bytes = Vec::new();
    loop {
        let needed = match read(&bytes, bytes_max)? {
            ProxyStep::Whole(header) => return Ok(header),
            ProxyStep::Needs(needed) => needed,
        };
        let at = bytes.len();
        bytes.resize(at + needed, 0);
        let piece = bytes.get_mut(at..).unwrap_or_default();
        io.read_exact(piece).await.map_err(|_| Error::Closed)?;
    }
}

/// Reads the beginning of a stream.
///
/// # Errors
/// When it is no header, or one of more than `bytes_max` bytes.
pub fn read(bytes: &[u8], bytes_max: usize) -> Result<ProxyStep> {
    let begins = |mark: &[u8]| {
        let known = bytes.len().min(mark.len());
        bytes.get(..known) == mark.get(..known)
    };
    if begins(SIGNATURE) && !bytes.is_empty() {
        return version_2(bytes, bytes_max);
    }
    match begins(LINE) {
        true => version_1(bytes),
        false => Err(Error::ProxyHeader("it begins with no PROXY header")),
    }
}

fn version_1(bytes: &[u8]) -> Result<ProxyStep> {
    let too_long = Error::ProxyHeader("its line has more than 107 bytes");
    let Some(end) = bytes.iter().position(|byte| matches!(byte, b'\r' | b'\n')) else {
        // Both bytes of the end are still to come.
        return match bytes.len() + 2 > PROXY_LINE_BYTES_MAX {
            true => Err(too_long),
            false => Ok(ProxyStep::Needs(
                SHORTEST.saturating_sub(bytes.len()).max(2),
            )),
        };
    };
    let (line, rest) = bytes.split_at(end);
    if end + 2 > PROXY_LINE_BYTES_MAX {
        return Err(too_long);
    }
    match rest {
        [b'\r'] => return Ok(ProxyStep::Needs(1)),
        [b'\r', b'\n', ..] => {}
        _ => return Err(Error::ProxyHeader("its line ends without CR LF")),
    }
    let line = std::str::from_utf8(line).map_err(|_| Error::ProxyHeader("its line is no text"))?;
    let source = if line == "PROXY UNKNOWN" || line.starts_with("PROXY UNKNOWN ") {
        ProxySource::Concealed
    } else {
        line_source(line).ok_or(Error::ProxyHeader("its line cannot be read"))?
    };
    Ok(ProxyStep::Whole(ProxyHeader {
        source,
        scheme: RequestScheme::Http,
        length: end + 2,
    }))
}

/// `PROXY TCP4 192.0.2.1 192.0.2.2 4711 443`
fn line_source(line: &str) -> Option<ProxySource> {
    let words: Vec<&str> = line.split(' ').collect();
    let &[
        "PROXY",
        family,
        source,
        destination,
        source_port,
        destination_port,
    ] = words.as_slice()
    else {
        return None;
    };
    let address = |text: &str| -> Option<IpAddr> {
        match family {
            "TCP4" => text.parse::<Ipv4Addr>().ok().map(IpAddr::V4),
            "TCP6" => text.parse::<Ipv6Addr>().ok().map(IpAddr::V6),
            _ => None,
        }
    };
    let port = |text: &str| -> Option<u16> {
        let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| text.parse().ok()).flatten()
    };
    let (source, source_port) = (address(source)?, port(source_port)?);
    address(destination).zip(port(destination_port))?;
    let source = SocketAddr::new(source.to_canonical(), source_port);
    Some(ProxySource::Client(source))
}

fn version_2(bytes: &[u8], bytes_max: usize) -> Result<ProxyStep> {
    let Some(&[command, family, high, low]) = bytes.get(SIGNATURE.len()..FIXED) else {
        return Ok(ProxyStep::Needs(FIXED - bytes.len()));
    };
    if command >> 4 != 2 {
        return Err(Error::ProxyHeader("its version is unknown"));
    }
    let length = FIXED + usize::from(u16::from_be_bytes([high, low]));
    check_limit("proxy_header_bytes_max", length, bytes_max as u64)?;
    let Some(body) = bytes.get(FIXED..length) else {
        return Ok(ProxyStep::Needs(length - bytes.len()));
    };
    let header = |source, scheme| {
        Ok(ProxyStep::Whole(ProxyHeader {
            source,
            scheme,
            length,
        }))
    };
    match command & 0x0f {
        0 => return header(ProxySource::Balancer, RequestScheme::Http),
        1 => {}
        _ => return Err(Error::ProxyHeader("its command is unknown")),
    }
    let short = || Error::ProxyHeader("its addresses are cut off");
    let (source, records) = match family {
        0x00 => (ProxySource::Concealed, &[][..]),
        0x11 => {
            let (ends, records) = body.split_first_chunk::<12>().ok_or_else(short)?;
            let [a, b, c, d, _, _, _, _, high, low, _, _] = *ends;
            (
                client(Ipv4Addr::new(a, b, c, d).into(), [high, low]),
                records,
            )
        }
        0x21 => {
            let (source, rest) = body.split_first_chunk::<16>().ok_or_else(short)?;
            let (rest, records) = rest.split_first_chunk::<20>().ok_or_else(short)?;
            let [.., high, low, _, _] = *rest;
            (client(Ipv6Addr::from(*source).into(), [high, low]), records)
        }
        // Two paths of UNIX sockets.
        0x31 => (ProxySource::Concealed, body.get(216..).ok_or_else(short)?),
        _ => return Err(Error::ProxyHeader("its family of addresses is unknown")),
    };
    header(source, scheme(records)?)
}

fn client(address: IpAddr, port: [u8; 2]) -> ProxySource {
    let port = u16::from_be_bytes(port);
    ProxySource::Client(SocketAddr::new(address.to_canonical(), port))
}

/// What the records after the addresses say about TLS; the others are skipped.
fn scheme(mut records: &[u8]) -> Result<RequestScheme> {
    let cut_off = || Error::ProxyHeader("a record of it is cut off");
    let mut scheme = RequestScheme::Http;
    while !records.is_empty() {
        let (head, rest) = records.split_first_chunk::<3>().ok_or_else(cut_off)?;
        let [kind, high, low] = *head;
        let length = usize::from(u16::from_be_bytes([high, low]));
        let (value, rest) = rest.split_at_checked(length).ok_or_else(cut_off)?;
        if kind == TLS_RECORD && value.first().is_some_and(|bits| bits & TLS_CLIENT != 0) {
            scheme = RequestScheme::Https;
        }
        records = rest;
    }
    Ok(scheme)
}

#[cfg(test)]
mod tests;
