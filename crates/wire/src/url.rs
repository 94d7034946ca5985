//! The URL of a database server, `user:password@host:port,[v6]:port/database?key=value&…`, into pairs. Knows no scheme and no key's meaning.
//! Rule: no error repeats the text: a password with an unescaped character may be anywhere in it.

const ESCAPE: &str = "write special characters of names and passwords as % and two hexadecimal digits (%40 is @, %2F is /)";

/// The pairs in a URL without its scheme, later ones over earlier ones: `user`, `password`, `host` and `port` as lists with commas, then what
/// follows the first `/` as `database_key`, then the query. What is not there has no pair.
///
/// # Errors
/// Why it cannot be read.
pub fn url_pairs(text: &str, database_key: &str) -> Result<Vec<(String, String)>, String> {
    let mut pairs = Vec::new();
    let end = text.find(['/', '?']).unwrap_or(text.len());
    let (authority, rest) = text.split_at(end);
    let hosts = match authority.rsplit_once('@') {
        Some((login, hosts)) => {
            let (user, password) = login.split_once(':').unwrap_or((login, ""));
            push(&mut pairs, "user", user)?;
            push(&mut pairs, "password", password)?;
            hosts
        }
        None => authority,
    };
    if !hosts.is_empty() {
        self::hosts(&mut pairs, hosts)?;
    }
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    // A password with a bare slash would show up as a host and a database, also where it has an @ before the slash.
    if path.contains('@') {
        return Err(format!("an @ comes after the first /; {ESCAPE}"));
    }
    push(
        &mut pairs,
        database_key,
        path.strip_prefix('/').unwrap_or(path),
    )?;
    for part in query.split('&').filter(|part| !part.is_empty()) {
        let (key, value) = part
            .split_once('=')
            .ok_or("a part of the query has no `=`; write ?key=value&key=value")?;
        pairs.push((decode(key)?, decode(value)?));
    }
    Ok(pairs)
}

fn push(pairs: &mut Vec<(String, String)>, key: &str, value: &str) -> Result<(), String> {
    if !value.is_empty() {
        pairs.push((key.to_owned(), decode(value)?));
    }
    Ok(())
}

/// `host:port,[v6]:port` as the lists that the keys host and port take.
fn hosts(pairs: &mut Vec<(String, String)>, text: &str) -> Result<(), String> {
    let (mut names, mut ports) = (Vec::new(), Vec::new());
    for part in text.split(',') {
        let (name, port) = match part.strip_prefix('[') {
            Some(bracketed) => {
                let (name, after) = bracketed
                    .split_once(']')
                    .ok_or("an IPv6 address has no closing bracket")?;
                let port = match after {
                    "" => "",
                    _ => after
                        .strip_prefix(':')
                        .ok_or("only :port may follow an IPv6 address in brackets")?,
                };
                (name, port)
            }
            None => part.split_once(':').unwrap_or((part, "")),
        };
        if !port.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(format!("a port is not a number; {ESCAPE}"));
        }
        let name = decode(name)?;
        if name.contains(',') {
            return Err("a host name has a comma".to_owned());
        }
        names.push(name);
        ports.push(port);
    }
    pairs.push(("host".to_owned(), names.join(",")));
    if ports.iter().any(|port| !port.is_empty()) {
        pairs.push(("port".to_owned(), ports.join(",")));
    }
    Ok(())
}

fn decode(text: &str) -> Result<String, String> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            decoded.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        match (digit(bytes.next()), digit(bytes.next())) {
            (Some(0), Some(0)) => return Err("%00 cannot be part of a value".to_owned()),
            // Two digits of four bits each.
            (Some(high), Some(low)) => decoded.push((high * 16 + low) as u8),
            _ => {
                return Err(format!(
                    "a % is not followed by two hexadecimal digits; {ESCAPE}"
                ));
            }
        }
    }
    String::from_utf8(decoded).map_err(|_| "a value is not UTF-8".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_sign_after_the_first_slash_is_refused_and_nothing_of_the_text_is_shown() {
        for text in [
            "ann:Kq/Kq@h:1/own",
            "ann:1/Kq@h:1/own",
            "ann:p@Kq/Kq@h:1/own",
            "ann:p@Kq/Kq@h?x=y",
            "ann:p@Kq:1/Kq@Kq@h",
            "ann@h/Kq@Kq",
        ] {
            let reason = url_pairs(text, "dbname").unwrap_err();
            assert!(reason.contains("(%40 is @, %2F is /)"), "{text}: {reason}");
            assert!(!reason.contains("Kq"), "{text}: {reason}");
        }
    }

    #[test]
    fn database_name_writes_its_at_sign_escaped_and_an_option_as_it_is() {
        let pairs = url_pairs("ann:p@s@h/a%40b?x=y@z", "dbname").unwrap();
        let pairs: Vec<_> = pairs
            .iter()
            .map(|(key, value)| (&**key, &**value))
            .collect();
        assert_eq!(
            pairs,
            [
                ("user", "ann"),
                ("password", "p@s"),
                ("host", "h"),
                ("dbname", "a@b"),
                ("x", "y@z"),
            ]
        );
    }
}
