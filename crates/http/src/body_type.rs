//! How the body of a request is read by its content type, the same for all who look at it. Reads no body.
//! Rule: of several content types none counts, because another reader might take another one.

use http::header::{CONTENT_TYPE, HeaderMap};

use crate::header_fields::{essence, only_value};

/// The form of a request's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyType {
    /// `application/json`, or another type of `application/…+json`.
    Json,
    /// `application/x-www-form-urlencoded`
    Urlencoded,
    /// `multipart/form-data`
    Multipart,
}

impl BodyType {
    /// What the request says of its body; none when it says nothing, says it several times, or says another type.
    pub fn of(headers: &HeaderMap) -> Option<BodyType> {
        let only = only_value(headers, CONTENT_TYPE)?;
        match essence(only.as_bytes()).as_slice() {
            b"application/json" => Some(BodyType::Json),
            b"application/x-www-form-urlencoded" => Some(BodyType::Urlencoded),
            b"multipart/form-data" => Some(BodyType::Multipart),
            other if other.starts_with(b"application/") && other.ends_with(b"+json") => {
                Some(BodyType::Json)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn check(types: &[&'static str], expected: Option<BodyType>) {
        let mut headers = HeaderMap::new();
        for text in types {
            headers.append(CONTENT_TYPE, HeaderValue::from_static(text));
        }
        assert_eq!(BodyType::of(&headers), expected, "{types:?}");
    }

    #[test]
    fn type_is_known_in_any_case_and_with_parameters() {
        check(
            &["Application/X-WWW-Form-Urlencoded ; charset=utf-8"],
            Some(BodyType::Urlencoded),
        );
        check(
            &["multipart/form-data; boundary=x"],
            Some(BodyType::Multipart),
        );
        check(&["application/json"], Some(BodyType::Json));
        check(&["application/problem+json"], Some(BodyType::Json));
    }

    #[test]
    fn other_or_several_types_are_none() {
        check(&["application/x-www-form-urlencodedx"], None);
        check(&["application/json", "application/json"], None);
        check(&["text/json", "application/json; charset=utf-8"], None);
        check(&["text/plain"], None);
        check(&[], None);
    }
}
