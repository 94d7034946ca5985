//! `key=value key = 'a value'` into pairs, with libpq's quoting. It knows no key's meaning.
//! Rule: no error repeats the text: what looks like a key may be the second word of an unquoted password.

use crate::error::Error;

/// The pairs, in order.
pub fn parse(text: &str) -> Result<Vec<(String, String)>, Error> {
    let mut pairs = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let end = rest
            .find(|character: char| character == '=' || character.is_ascii_whitespace())
            .unwrap_or(rest.len());
        let (key, after) = rest.split_at(end);
        let value = after.trim_start().strip_prefix('=').ok_or_else(|| {
            Error::config(
                "connection string",
                "a word is not followed by `=`; quote values with spaces: key='a b'",
            )
        })?;
        if key.is_empty() {
            return Err(Error::config(
                "connection string",
                "a `=` has no key before it",
            ));
        }
        let (value, after) = self::value(value.trim_start())?;
        pairs.push((key.to_owned(), value));
        rest = after.trim_start();
    }
    Ok(pairs)
}

/// A value and what follows it. A backslash takes the next character as it is, with quotes and without.
fn value(text: &str) -> Result<(String, &str), Error> {
    let (quoted, text) = match text.strip_prefix('\'') {
        Some(text) => (true, text),
        None => (false, text),
    };
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => value.extend(characters.next().map(|(_, escaped)| escaped)),
            '\'' if quoted => {
                let after = text.get(at + 1..).unwrap_or_default();
                return Ok((value, after));
            }
            _ if !quoted && character.is_ascii_whitespace() => {
                return Ok((value, text.get(at..).unwrap_or_default()));
            }
            _ => value.push(character),
        }
    }
    if quoted {
        return Err(Error::config(
            "connection string",
            "a quoted value has no closing quote",
        ));
    }
    Ok((value, ""))
}
