//! `postgres://user:password@host:port,host:port/database?key=value&…` into pairs. It knows no key's meaning.
//! Rule: no error repeats the text: a password with an unescaped character may be anywhere in it.

use crate::error::Error;

const ESCAPE: &str = "write special characters of names and passwords as % and two hexadecimal digits (%40 is @, %2F is /)";

/// What follows `postgres://`, if this is a URL.
pub fn strip_scheme(text: &str) -> Option<&str> {
    text.strip_prefix("postgresql://")
        .or_else(|| text.strip_prefix("postgres://"))
}

/// The pairs in a URL without its scheme, later ones over earlier ones.
pub fn parse(text: &str) -> Result<Vec<(String, String)>, Error> {
    let mut pairs = Vec::new();
    let end = text.find(['/', '?']).unwrap_or(text.len());
    let (authority, rest) = text.split_at(end);
    let hosts = match authority.rsplit_once('@') {
        Some((login, hosts)) => {
            let (user, password) = match login.split_once(':') {
                Some((user, password)) => (user, Some(password)),
                None => (login, None),
            };
            push(&mut pairs, "user", user)?;
            push(&mut pairs, "password", password.unwrap_or_default())?;
            hosts
        }
        None => authority,
    };
    if !hosts.is_empty() {
        self::hosts(&mut pairs, hosts)?;
    }
    let (path, query) = match rest.split_once('?') {
        Some((path, query)) => (path, query),
        None => (rest, ""),
    };
    // A password with a bare slash would show up as a host and a database.
    if !authority.contains('@') && path.contains('@') {
        return Err(Error::config(
            "url",
            format!("an @ comes after the first /; {ESCAPE}"),
        ));
    }
    push(&mut pairs, "dbname", path.strip_prefix('/').unwrap_or(path))?;
    for part in query.split('&').filter(|part| !part.is_empty()) {
        let (key, value) = part.split_once('=').ok_or_else(|| {
            Error::config(
                "url",
                "a part of the query has no `=`; write ?key=value&key=value",
            )
        })?;
        let (key, value) = (decode(key)?, decode(value)?);
        match (key.as_str(), value.as_str()) {
            // What Java's driver calls it.
            ("ssl", "true") => pairs.push(("sslmode".to_owned(), "require".to_owned())),
            _ => pairs.push((key, value)),
        }
    }
    Ok(pairs)
}

fn push(pairs: &mut Vec<(String, String)>, key: &str, value: &str) -> Result<(), Error> {
    if !value.is_empty() {
        pairs.push((key.to_owned(), decode(value)?));
    }
    Ok(())
}

/// `host:port,[v6]:port` as the lists that the keys host and port take.
fn hosts(pairs: &mut Vec<(String, String)>, text: &str) -> Result<(), Error> {
    let (mut names, mut ports) = (Vec::new(), Vec::new());
    for part in text.split(',') {
        let (name, port) = match part.strip_prefix('[') {
            Some(bracketed) => {
                let (name, after) = bracketed.split_once(']').ok_or_else(|| {
                    Error::config("url", "an IPv6 address has no closing bracket")
                })?;
                let port = match after {
                    "" => "",
                    _ => after.strip_prefix(':').ok_or_else(|| {
                        Error::config("url", "only :port may follow an IPv6 address in brackets")
                    })?,
                };
                (name, port)
            }
            None => part.split_once(':').unwrap_or((part, "")),
        };
        if !port.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(Error::config(
                "url",
                format!("a port is not a number; {ESCAPE}"),
            ));
        }
        let name = decode(name)?;
        if name.contains(',') {
            return Err(Error::config("url", "a host name has a comma"));
        }
        names.push(name);
        ports.push(port);
    }
    pairs.push(("host".to_owned(), list(names)));
    if ports.iter().any(|port| !port.is_empty()) {
        pairs.push(("port".to_owned(), list(ports)));
    }
    Ok(())
}

fn list<T: AsRef<str>>(parts: Vec<T>) -> String {
    let mut joined = String::new();
    for (at, part) in parts.iter().enumerate() {
        if at > 0 {
            joined.push(',');
        }
        joined.push_str(part.as_ref());
    }
    joined
}

fn decode(text: &str) -> Result<String, Error> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            decoded.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        match (digit(bytes.next()), digit(bytes.next())) {
            (Some(0), Some(0)) => {
                return Err(Error::config("url", "%00 cannot be part of a value"));
            }
            // Two digits of four bits each.
            (Some(high), Some(low)) => decoded.push((high * 16 + low) as u8),
            _ => {
                let reason = format!("a % is not followed by two hexadecimal digits; {ESCAPE}");
                return Err(Error::config("url", reason));
            }
        }
    }
    String::from_utf8(decoded).map_err(|_| Error::config("url", "a value is not UTF-8"))
}
