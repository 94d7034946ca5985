//! `firebird://user:password@host:port/database?key=value&…` into pairs. It knows no key's meaning.
//! What follows the first `/` is the database: an alias, or a path when it begins with another `/`.
//! Rule: no error repeats the text: a password with an unescaped character may be anywhere in it.

use crate::error::Error;

const ESCAPE: &str = "write special characters of names and passwords as % and two hexadecimal digits (%40 is @, %2F is /)";

/// The pairs in a URL, later ones over earlier ones.
pub fn parse(text: &str) -> Result<Vec<(String, String)>, Error> {
    let rest = text
        .strip_prefix("firebird://")
        .ok_or_else(|| wrong("it does not begin with firebird://".to_owned()))?;
    let mut pairs = Vec::new();
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, rest) = rest.split_at(end);
    let host = match authority.rsplit_once('@') {
        Some((login, host)) => {
            let (user, password) = login.split_once(':').unwrap_or((login, ""));
            push(&mut pairs, "user", user)?;
            push(&mut pairs, "password", password)?;
            host
        }
        None => authority,
    };
    self::host(&mut pairs, host)?;
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    // A password with a bare slash would show up as a host and a database.
    if !authority.contains('@') && path.contains('@') {
        return Err(wrong(format!("an @ comes after the first /; {ESCAPE}")));
    }
    push(
        &mut pairs,
        "database",
        path.strip_prefix('/').unwrap_or(path),
    )?;
    for part in query.split('&').filter(|part| !part.is_empty()) {
        let (key, value) = part.split_once('=').ok_or_else(|| {
            wrong("a part of the query has no `=`; write ?key=value&key=value".to_owned())
        })?;
        pairs.push((decoded(key)?, decoded(value)?));
    }
    Ok(pairs)
}

fn push(pairs: &mut Vec<(String, String)>, key: &str, value: &str) -> Result<(), Error> {
    if !value.is_empty() {
        pairs.push((key.to_owned(), decoded(value)?));
    }
    Ok(())
}

/// `host:port` or `[v6]:port`.
fn host(pairs: &mut Vec<(String, String)>, text: &str) -> Result<(), Error> {
    let (name, port) = match text.strip_prefix('[') {
        Some(bracketed) => {
            let (name, after) = bracketed
                .split_once(']')
                .ok_or_else(|| wrong("an IPv6 address has no closing bracket".to_owned()))?;
            (name, after.strip_prefix(':').unwrap_or(after))
        }
        None => text.split_once(':').unwrap_or((text, "")),
    };
    if !port.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(wrong(format!("a port is not a number; {ESCAPE}")));
    }
    push(pairs, "host", name)?;
    push(pairs, "port", port)
}

fn decoded(text: &str) -> Result<String, Error> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            decoded.push(byte);
            continue;
        }
        let mut digit = || char::from(bytes.next()?).to_digit(16);
        match (digit(), digit()) {
            (Some(0), Some(0)) => return Err(wrong("%00 cannot be part of a value".to_owned())),
            (Some(high), Some(low)) => {
                decoded.extend(u8::try_from(high * 16 + low));
            }
            _ => {
                return Err(wrong(format!(
                    "a % is not followed by two hexadecimal digits; {ESCAPE}"
                )));
            }
        }
    }
    String::from_utf8(decoded).map_err(|_| wrong("a value is not UTF-8".to_owned()))
}

fn wrong(reason: String) -> Error {
    Error::config("url", reason)
}
