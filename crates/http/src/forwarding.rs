//! Who the client of a request is that came through proxies: `Forwarded` (RFC 7239) and `X-Forwarded-For`, `-Proto`, `-Host`, `-Port`. Knows no socket.
//! Rule: read from the right, where the nearest proxy writes; the first address that is not a trusted proxy's is the client, and what stands left of
//! it was written by the client. A `Forwarded` that cannot be read refuses the request, since a quote left open by a client hides what the proxy said.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use http::{HeaderMap, HeaderName, HeaderValue, header::FORWARDED, header::HOST};

use crate::{
    error::{Error, Result, check_limit},
    host,
    request::RequestScheme,
    trusted_proxies::{ForwardingField, TrustedProxies},
};

/// Where a request comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RequestSource {
    /// The client's address; its port is 0 where no proxy says it.
    pub(crate) client: Option<SocketAddr>,
    /// How the client reached the outermost proxy.
    pub(crate) scheme: RequestScheme,
}

/// What one proxy says of its client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ForwardedHop {
    /// Its address. None of one that the proxy does not know or conceals.
    pub client: Option<SocketAddr>,
    /// Over http or https.
    pub scheme: Option<RequestScheme>,
    /// The host that was asked for.
    pub host: Option<String>,
}

/// The source of a request that a peer has sent, by what trusted proxies say; has `Host` name the host that the client asked for.
pub(crate) fn settle(
    proxies: &TrustedProxies,
    headers: &mut HeaderMap,
    own: RequestSource,
    hops_max: usize,
) -> Result<RequestSource> {
    let peer = own.client.map(|address| address.ip());
    let Some(fields) = proxies.fields(peer) else {
        return Ok(own);
    };
    let has = |field| fields.contains(&field);
    let (client, hop, port) = if has(ForwardingField::Forwarded) {
        let hops = forwarded_hops(headers, hops_max)?;
        let addresses: Vec<_> = hops.iter().map(|hop| hop.client).collect();
        let (client, walked) = client(proxies, own.client, &addresses);
        let hop = nth_from_right(hops, walked).unwrap_or_default();
        (client, hop, None)
    } else {
        let addresses = match has(ForwardingField::For) {
            true => list(headers, &X_FORWARDED_FOR, hops_max)?,
            false => Vec::new(),
        };
        let addresses: Vec<_> = addresses.into_iter().map(address).collect();
        let (client, walked) = client(proxies, own.client, &addresses);
        let value = |field, name| match has(field) {
            true => Ok(nth_from_right(list(headers, name, hops_max)?, walked)),
            false => Ok(None),
        };
        let scheme = value(ForwardingField::Proto, &X_FORWARDED_PROTO)?;
        let host = value(ForwardingField::Host, &X_FORWARDED_HOST)?;
        let port = value(ForwardingField::Port, &X_FORWARDED_PORT)?;
        let hop = ForwardedHop {
            client,
            scheme: scheme.and_then(RequestScheme::from_name),
            host: host.map(str::to_owned),
        };
        (client, hop, port.and_then(port_number))
    };
    let scheme = hop.scheme.unwrap_or(own.scheme);
    set_host(headers, hop.host, port, scheme)?;
    Ok(RequestSource { client, scheme })
}

static X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
static X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
static X_FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
static X_FORWARDED_PORT: HeaderName = HeaderName::from_static("x-forwarded-port");

/// The client, and how many addresses from the right lead to it. An address that cannot be read ends the way: the client is then the last
/// proxy that is known.
fn client(
    proxies: &TrustedProxies,
    peer: Option<SocketAddr>,
    addresses: &[Option<SocketAddr>],
) -> (Option<SocketAddr>, usize) {
    let (mut client, mut walked) = (peer, 0);
    for address in addresses.iter().rev() {
        walked += 1;
        let Some(address) = address else {
            break;
        };
        client = Some(*address);
        if !proxies.contains(Some(address.ip())) {
            break;
        }
    }
    (client, walked)
}

/// The value that belongs to the hop of the client. A proxy that overwrites the field leaves one value for all hops.
fn nth_from_right<T>(values: Vec<T>, nth: usize) -> Option<T> {
    let at = values.len().saturating_sub(nth.max(1));
    values.into_iter().nth(at)
}

/// The values of a field that is a list, from all of its lines.
fn list<'h>(headers: &'h HeaderMap, name: &HeaderName, hops_max: usize) -> Result<Vec<&'h str>> {
    let mut values = Vec::new();
    for line in headers.get_all(name) {
        // What is no text is nothing that can be read, but it is in its place.
        let line = line.to_str().unwrap_or("?");
        for value in line.split(',') {
            values.push(value.trim_matches([' ', '\t']));
            check_limit("forwarded_hops_max", values.len(), hops_max as u64)?;
        }
    }
    Ok(values)
}

fn forwarded_hops(headers: &HeaderMap, hops_max: usize) -> Result<Vec<ForwardedHop>> {
    let mut hops = Vec::new();
    for line in headers.get_all(FORWARDED) {
        hops.extend(read_forwarded(line.as_bytes(), hops_max)?);
        check_limit("forwarded_hops_max", hops.len(), hops_max as u64)?;
    }
    Ok(hops)
}

/// Reads one line of `Forwarded`: what each proxy says, the nearest one last.
///
/// # Errors
/// [`Error::Malformed`], and [`Error::TooLarge`] for more than `forwarded_hops_max` hops.
pub fn read_forwarded(line: &[u8], hops_max: usize) -> Result<Vec<ForwardedHop>> {
    let wrong = || Error::Malformed("Forwarded");
    let mut rest = Cursor(line);
    let mut hops = Vec::new();
    while !rest.is_at_end() {
        if let Some(hop) = element(&mut rest).ok_or_else(wrong)? {
            hops.push(hop);
            check_limit("forwarded_hops_max", hops.len(), hops_max as u64)?;
        }
    }
    Ok(hops)
}

/// One element with the comma after it. Some(None) is an empty one, which RFC 9110 section 5.6.1 has readers skip.
fn element(rest: &mut Cursor<'_>) -> Option<Option<ForwardedHop>> {
    let (mut hop, mut seen) = (ForwardedHop::default(), Vec::new());
    loop {
        rest.skip_spaces();
        match rest.first() {
            None => break,
            Some(b',') => {
                rest.skip();
                break;
            }
            Some(b';') => {
                rest.skip();
                continue;
            }
            Some(_) => {}
        }
        let name = rest.take_while(is_token).to_ascii_lowercase();
        if name.is_empty() || seen.contains(&name) || !rest.skip_if(b'=') {
            return None;
        }
        let value = rest.value()?;
        match name.as_slice() {
            b"for" => hop.client = address(&value),
            b"proto" => hop.scheme = RequestScheme::from_name(&value),
            b"host" => hop.host = Some(value),
            _ => {}
        }
        seen.push(name);
        rest.skip_spaces();
        if !matches!(rest.first(), None | Some(b',' | b';')) {
            return None;
        }
    }
    Some((!seen.is_empty()).then_some(hop))
}

/// What is left of a line.
struct Cursor<'l>(&'l [u8]);

impl<'l> Cursor<'l> {
    fn is_at_end(&self) -> bool {
        self.0.is_empty()
    }

    fn first(&self) -> Option<u8> {
        self.0.first().copied()
    }

    fn skip(&mut self) {
        self.0 = self.0.get(1..).unwrap_or_default();
    }

    fn skip_if(&mut self, byte: u8) -> bool {
        let is = self.first() == Some(byte);
        if is {
            self.skip();
        }
        is
    }

    fn skip_spaces(&mut self) {
        self.take_while(|byte| matches!(byte, b' ' | b'\t'));
    }

    fn take_while(&mut self, is: impl Fn(u8) -> bool) -> &'l [u8] {
        let end = self.0.iter().position(|byte| !is(*byte));
        let (taken, rest) = self.0.split_at(end.unwrap_or(self.0.len()));
        self.0 = rest;
        taken
    }

    /// A quoted string, or what stands before the next delimiter: addresses with colons are often sent without their quotes.
    fn value(&mut self) -> Option<String> {
        if !self.skip_if(b'"') {
            let plain = self.take_while(|byte| byte.is_ascii_graphic() && !b",;\"".contains(&byte));
            return String::from_utf8(plain.to_vec()).ok();
        }
        let mut value = Vec::new();
        loop {
            let byte = self.first()?;
            self.skip();
            match byte {
                b'"' => return String::from_utf8(value).ok(),
                b'\\' => {
                    value.push(self.first()?);
                    self.skip();
                }
                byte => value.push(byte),
            }
        }
    }
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// The address of a node: `192.0.2.1`, `192.0.2.1:80`, `[2001:db8::1]`, `[2001:db8::1]:80`, or an address of version 6 without its brackets.
/// None of `unknown`, and of names that conceal one. The port is 0 when it is not given or concealed.
pub fn address(text: &str) -> Option<SocketAddr> {
    let of = |ip: IpAddr, port| SocketAddr::new(ip.to_canonical(), port);
    if let Ok(ip) = text.parse::<IpAddr>() {
        return Some(of(ip, 0));
    }
    let (ip, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (literal, port) = rest.split_once(']')?;
            let ip = IpAddr::V6(literal.parse::<Ipv6Addr>().ok()?);
            match port {
                "" => return Some(of(ip, 0)),
                port => (ip, port.strip_prefix(':')?),
            }
        }
        None => {
            let (address, port) = text.split_once(':')?;
            (IpAddr::V4(address.parse().ok()?), port)
        }
    };
    let concealed = port.starts_with('_');
    Some(of(ip, if concealed { 0 } else { port_number(port)? }))
}

fn port_number(text: &str) -> Option<u16> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

/// Has `Host` name the host and the port that the client asked for, as far as they are known.
fn set_host(
    headers: &mut HeaderMap,
    host: Option<String>,
    port: Option<u16>,
    scheme: RequestScheme,
) -> Result<()> {
    let usual = |port: &u16| *port != scheme.usual_port();
    let port = port.filter(usual);
    if host.is_none() && port.is_none() {
        return Ok(());
    }
    let host = match (host, headers.get(HOST)) {
        (Some(host), _) => host,
        (None, Some(own)) => String::from_utf8_lossy(own.as_bytes()).into_owned(),
        (None, None) => return Ok(()),
    };
    let wrong = || Error::Malformed("host that a proxy has forwarded");
    if host.is_empty() || !host::is_valid(host.as_bytes()) {
        return Err(wrong());
    }
    let has_port = host.rsplit(']').next().is_some_and(|end| end.contains(':'));
    let host = match port.filter(|_| !has_port) {
        Some(port) => format!("{host}:{port}"),
        None => host,
    };
    let host = HeaderValue::try_from(host).map_err(|_| wrong())?;
    headers.insert(HOST, host);
    Ok(())
}

#[cfg(test)]
mod tests;
