//! Header fields: those that an application adds to a message, at most so many, as the map of the `http` crate ends in a panic where it is
//! full; and how a request's are read, the same for all who look at them.

use http::{HeaderMap, HeaderName, HeaderValue};

use crate::limits::HEADER_FIELDS_MAX;

/// The value of a field that is there once: of several another reader might take another one.
pub(crate) fn only_value(headers: &HeaderMap, name: HeaderName) -> Option<&HeaderValue> {
    let mut values = headers.get_all(name).iter();
    values.next().filter(|_| values.next().is_none())
}

/// The words of a field that is a list, of all its values that are text.
pub(crate) fn words(headers: &HeaderMap, name: HeaderName) -> impl Iterator<Item = &str> {
    let values = headers.get_all(name).into_iter();
    let texts = values.filter_map(|value| value.to_str().ok());
    let words = texts.flat_map(|text| text.split(',')).map(str::trim);
    words.filter(|word| !word.is_empty())
}

/// A media type without its parameters, in small letters.
pub(crate) fn essence(media_type: &[u8]) -> Vec<u8> {
    let essence = media_type.split(|byte| *byte == b';').next();
    essence
        .unwrap_or_default()
        .trim_ascii()
        .to_ascii_lowercase()
}

/// The value of a field that names an address, as Location: a space, a byte beyond ASCII and ``"<>\^`{|}`` become escapes (RFC 3986 section 2.1).
/// All else stays, `%` too, so that what is escaped already stays as it is. None where there is a control character.
pub fn location_value(address: &[u8]) -> Option<HeaderValue> {
    let mut value = Vec::with_capacity(address.len());
    for &byte in address {
        match byte {
            byte if byte.is_ascii_control() => return None,
            b' ' | b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}' | 0x80.. => {
                value.extend_from_slice(format!("%{byte:02X}").as_bytes());
            }
            byte => value.push(byte),
        }
    }
    HeaderValue::from_bytes(&value).ok()
}

/// A message has as many header fields as it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a message has at most {HEADER_FIELDS_MAX} header fields (header_fields_max, built in)")]
pub struct HeadersFull;

/// Adds a field behind those of the same name.
pub fn append_field(
    headers: &mut HeaderMap,
    name: HeaderName,
    value: HeaderValue,
) -> Result<(), HeadersFull> {
    if headers.len() >= HEADER_FIELDS_MAX {
        return Err(HeadersFull);
    }
    headers.append(name, value);
    Ok(())
}

/// Adds a field in place of those of the same name.
pub fn insert_field(
    headers: &mut HeaderMap,
    name: HeaderName,
    value: HeaderValue,
) -> Result<(), HeadersFull> {
    if headers.len() >= HEADER_FIELDS_MAX && !headers.contains_key(&name) {
        return Err(HeadersFull);
    }
    headers.insert(name, value);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(number: usize) -> HeaderName {
        HeaderName::from_bytes(format!("x-{number}").as_bytes()).unwrap()
    }

    #[test]
    fn address_is_escaped_where_a_field_may_not_have_it_and_no_second_time() {
        let written = |address: &str| {
            let value = location_value(address.as_bytes())?;
            Some(value.to_str().unwrap().to_owned())
        };
        for (address, expected) in [
            ("", ""),
            ("/a?b=c&d=[e]#f~!$'()*+,;:@", "/a?b=c&d=[e]#f~!$'()*+,;:@"),
            (
                "https://a.org/日本 x",
                "https://a.org/%E6%97%A5%E6%9C%AC%20x",
            ),
            ("/%E6%97%A5%20%", "/%E6%97%A5%20%"),
            ("\"<>\\^`{|}", "%22%3C%3E%5C%5E%60%7B%7C%7D"),
        ] {
            assert_eq!(written(address).as_deref(), Some(expected), "{address}");
        }
        for control in ["/a\r\nb: c", "/\0", "/\t", "/\u{7f}"] {
            assert_eq!(written(control), None, "{control:?}");
        }
    }

    #[test]
    fn field_beyond_the_limit_is_refused_and_the_others_stay() {
        let value = HeaderValue::from_static("1");
        let mut headers = HeaderMap::new();
        for number in 0..HEADER_FIELDS_MAX {
            append_field(&mut headers, name(number), value.clone()).unwrap();
        }
        let append = append_field(&mut headers, name(0), value.clone());
        assert_eq!(append, Err(HeadersFull));
        let insert = insert_field(&mut headers, name(HEADER_FIELDS_MAX), value.clone());
        assert_eq!(insert, Err(HeadersFull));
        assert_eq!(insert_field(&mut headers, name(0), value), Ok(()));
        assert_eq!(headers.len(), HEADER_FIELDS_MAX);
    }
}
