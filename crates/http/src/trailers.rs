//! Trailers: the fields behind a body, of requests and of responses. Knows no body and no connection.
//! Rule: what frames, routes, authorizes, controls or describes a message is no trailer (RFC 9110 section 6.5.1). Of a request such fields are left
//! out, a response has to do without them.

use http::{HeaderMap, HeaderName, HeaderValue, header::TRAILER};

use crate::{
    error::{Result, check_limit},
    header_fields::words,
    limits::{TRAILER_BYTES_MAX, TRAILER_FIELDS_MAX},
};

/// Why a response cannot have a trailer. Fix the code.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TrailerError {
    /// The name is none that a field can have.
    #[error("{0:?} is no name of a trailer")]
    Name(String),
    /// The value has a control character.
    #[error("the value of the trailer {0} has a control character, which would end the field")]
    Value(HeaderName),
    /// The field means something before the body only.
    #[error("{0} cannot come behind the body (RFC 9110 section 6.5.1): send it as a header")]
    Forbidden(HeaderName),
    /// The head has gone, and did not say that the field would come.
    #[error("the trailer {0} was not announced: announce it with the stream's trailers")]
    Unannounced(HeaderName),
    /// More fields than a response may announce.
    #[error("a response has at most {TRAILER_FIELDS_MAX} trailers (trailer_fields_max, built in)")]
    TooMany,
    /// More bytes than they may have together.
    #[error(
        "names and values of a response's trailers have at most {TRAILER_BYTES_MAX} bytes together (trailer_bytes_max, built in)"
    )]
    TooLong,
}

/// What a response sends behind its body: fields that its head has announced.
#[derive(Clone, Debug, Default)]
pub(crate) struct ResponseTrailers {
    announced: Vec<HeaderName>,
    fields: HeaderMap,
}

impl ResponseTrailers {
    /// None of them yet; the head has announced what its field `Trailer` names.
    pub fn announced_by(head: &HeaderMap) -> ResponseTrailers {
        let names = words(head, TRAILER);
        let names = names.filter_map(|name| HeaderName::from_bytes(name.as_bytes()).ok());
        ResponseTrailers {
            announced: names.collect(),
            fields: HeaderMap::new(),
        }
    }

    /// Adds a field in place of one of the same name.
    pub fn set(&mut self, name: HeaderName, value: HeaderValue) -> Result<(), TrailerError> {
        if is_forbidden(&name) {
            return Err(TrailerError::Forbidden(name));
        }
        if !self.announced.contains(&name) {
            return Err(TrailerError::Unannounced(name));
        }
        if self.fields.len() >= TRAILER_FIELDS_MAX && !self.fields.contains_key(&name) {
            return Err(TrailerError::TooMany);
        }
        let replaced = self
            .fields
            .get(&name)
            .map_or(0, |old| field_bytes(&name, old));
        let bytes = bytes(&self.fields) - replaced + field_bytes(&name, &value);
        if bytes > TRAILER_BYTES_MAX {
            return Err(TrailerError::TooLong);
        }
        self.fields.insert(name, value);
        Ok(())
    }

    /// The same for a name and a value that come as texts.
    pub fn set_text(&mut self, name: &str, value: &str) -> Result<(), TrailerError> {
        let parsed = HeaderName::from_bytes(name.as_bytes());
        let name = parsed.map_err(|_| TrailerError::Name(name.to_owned()))?;
        let Ok(value) = HeaderValue::from_bytes(value.as_bytes()) else {
            return Err(TrailerError::Value(name));
        };
        self.set(name, value)
    }

    pub fn into_fields(self) -> HeaderMap {
        self.fields
    }
}

/// The value of a head's field `Trailer` that announces these names; none for no name.
///
/// # Errors
/// When one of them cannot be a trailer, or there are too many.
pub fn announcement<'n>(
    names: impl IntoIterator<Item = &'n str>,
) -> Result<Option<HeaderValue>, TrailerError> {
    let mut announced: Vec<HeaderName> = Vec::new();
    for name in names {
        let parsed = HeaderName::from_bytes(name.as_bytes());
        let parsed = parsed.map_err(|_| TrailerError::Name(name.to_owned()))?;
        if is_forbidden(&parsed) {
            return Err(TrailerError::Forbidden(parsed));
        }
        if announced.contains(&parsed) {
            continue;
        }
        if announced.len() >= TRAILER_FIELDS_MAX {
            return Err(TrailerError::TooMany);
        }
        announced.push(parsed);
    }
    let names: Vec<&str> = announced.iter().map(HeaderName::as_str).collect();
    let value = names.join(", ");
    if value.len() > TRAILER_BYTES_MAX {
        return Err(TrailerError::TooLong);
    }
    Ok(HeaderValue::try_from(value)
        .ok()
        .filter(|value| !value.is_empty()))
}

/// The fields that a client has sent behind its body, without those that mean nothing there.
pub(crate) fn received(fields: HeaderMap) -> Result<HeaderMap> {
    check_limit(
        "trailer_fields_max",
        fields.len(),
        TRAILER_FIELDS_MAX as u64,
    )?;
    check_limit(
        "trailer_bytes_max",
        bytes(&fields),
        TRAILER_BYTES_MAX as u64,
    )?;
    if !fields.keys().any(is_forbidden) {
        return Ok(fields);
    }
    let mut allowed = HeaderMap::with_capacity(fields.len());
    for (name, value) in &fields {
        if !is_forbidden(name) {
            allowed.append(name, value.clone());
        }
    }
    Ok(allowed)
}

fn bytes(fields: &HeaderMap) -> usize {
    let bytes = fields.iter().map(|(name, value)| field_bytes(name, value));
    bytes.sum()
}

fn field_bytes(name: &HeaderName, value: &HeaderValue) -> usize {
    name.as_str().len() + value.len()
}

/// Whether a field means something before a body only: framing, routing, authentication, conditions, controls of caches and content, cookies.
fn is_forbidden(name: &HeaderName) -> bool {
    let name = name.as_str();
    name.starts_with("if-")
        || matches!(
            name,
            "accept-ranges"
                | "age"
                | "allow"
                | "authorization"
                | "cache-control"
                | "connection"
                | "content-encoding"
                | "content-language"
                | "content-length"
                | "content-location"
                | "content-range"
                | "content-type"
                | "cookie"
                | "date"
                | "expect"
                | "expires"
                | "forwarded"
                | "host"
                | "keep-alive"
                | "location"
                | "max-forwards"
                | "pragma"
                | "proxy-authenticate"
                | "proxy-authorization"
                | "proxy-connection"
                | "range"
                | "retry-after"
                | "set-cookie"
                | "te"
                | "trailer"
                | "transfer-encoding"
                | "upgrade"
                | "vary"
                | "www-authenticate"
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> HeaderName {
        HeaderName::from_bytes(text.as_bytes()).unwrap()
    }

    fn value(length: usize) -> HeaderValue {
        HeaderValue::try_from("v".repeat(length)).unwrap()
    }

    fn announced(names: &str) -> ResponseTrailers {
        let mut head = HeaderMap::new();
        head.insert(TRAILER, HeaderValue::from_str(names).unwrap());
        ResponseTrailers::announced_by(&head)
    }

    #[test]
    fn only_announced_fields_that_may_stand_behind_a_body_are_set() {
        let mut trailers = announced("X-Sum, etag, content-length");
        assert_eq!(trailers.set(name("x-sum"), value(1)), Ok(()));
        assert_eq!(trailers.set(name("x-sum"), value(2)), Ok(()));
        assert_eq!(trailers.set(name("etag"), value(3)), Ok(()));
        let refused = trailers.set(name("content-length"), value(1));
        assert_eq!(
            refused,
            Err(TrailerError::Forbidden(name("content-length")))
        );
        let refused = trailers.set(name("x-other"), value(1));
        assert_eq!(refused, Err(TrailerError::Unannounced(name("x-other"))));
        let fields = trailers.into_fields();
        assert_eq!((fields.len(), &fields["x-sum"]), (2, &value(2)));
    }

    #[test]
    fn texts_that_are_no_field_are_refused() {
        let mut trailers = announced("x-sum, x-word");
        assert_eq!(trailers.set_text("X-Sum", "7"), Ok(()));
        assert_eq!(trailers.set_text("x-word", "\u{e9}"), Ok(()));
        let refused = trailers.set_text("x sum", "7");
        assert_eq!(refused, Err(TrailerError::Name("x sum".to_owned())));
        let refused = trailers.set_text("x-sum", "7\r\nx: 1");
        assert_eq!(refused, Err(TrailerError::Value(name("x-sum"))));
        let refused = trailers.set_text("x-other", "7").unwrap_err();
        assert_eq!(
            refused.to_string(),
            "the trailer x-other was not announced: announce it with the stream's trailers"
        );
        assert_eq!(trailers.into_fields()["x-sum"], "7");
    }

    #[test]
    fn one_field_beyond_the_limit_is_refused() {
        // A handler may write the header `Trailer` itself, with any number of names.
        let names: Vec<String> = (0..=TRAILER_FIELDS_MAX).map(|n| format!("x-{n}")).collect();
        let mut trailers = announced(&names.join(", "));
        let last = names.len() - 1;
        for name in &names[..last] {
            assert_eq!(trailers.set_text(name, "1"), Ok(()));
        }
        let refused = trailers.set_text(&names[last], "1");
        assert_eq!(refused, Err(TrailerError::TooMany));
        assert_eq!(trailers.set_text(&names[0], "2"), Ok(()));
    }

    #[test]
    fn one_byte_beyond_the_limit_is_refused() {
        let mut trailers = announced("x-a, x-b");
        assert_eq!(
            trailers.set(name("x-a"), value(TRAILER_BYTES_MAX - 7)),
            Ok(())
        );
        assert_eq!(trailers.set(name("x-b"), value(1)), Ok(()));
        let refused = trailers.set(name("x-b"), value(2));
        assert_eq!(refused, Err(TrailerError::TooLong));
        assert_eq!(trailers.set(name("x-a"), value(1)), Ok(()));
        assert_eq!(trailers.set(name("x-b"), value(2)), Ok(()));
    }

    #[test]
    fn one_name_beyond_the_limit_is_refused() {
        let names: Vec<String> = (0..=TRAILER_FIELDS_MAX).map(|n| format!("x-{n}")).collect();
        let announce = |count: usize| announcement(names[..count].iter().map(String::as_str));
        assert!(announce(TRAILER_FIELDS_MAX).unwrap().is_some());
        assert_eq!(announce(TRAILER_FIELDS_MAX + 1), Err(TrailerError::TooMany));
        assert_eq!(announce(0), Ok(None));
        assert_eq!(
            announcement(["Host"]),
            Err(TrailerError::Forbidden(name("host")))
        );
        let spaced = announcement(["a b"]);
        assert_eq!(spaced, Err(TrailerError::Name("a b".to_owned())));
    }

    #[test]
    fn received_trailers_are_bounded_and_without_forbidden_fields() {
        let mut fields = HeaderMap::new();
        fields.append("x-sum", value(1));
        fields.append("x-sum", value(2));
        fields.append("authorization", value(3));
        let allowed = received(fields).unwrap();
        assert_eq!(allowed.get_all("x-sum").iter().count(), 2);
        assert_eq!(allowed.len(), 2);
        let many = |count: usize| (0..count).map(|n| (name(&format!("x-{n}")), value(1)));
        assert!(received(many(TRAILER_FIELDS_MAX).collect()).is_ok());
        let refused = received(many(TRAILER_FIELDS_MAX + 1).collect());
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("trailer_fields_max"), "{refused}");
        let long = |length: usize| received([(name("x"), value(length))].into_iter().collect());
        assert!(long(TRAILER_BYTES_MAX - 1).is_ok());
        let refused = long(TRAILER_BYTES_MAX).unwrap_err().to_string();
        assert!(refused.contains("trailer_bytes_max"), "{refused}");
    }
}
