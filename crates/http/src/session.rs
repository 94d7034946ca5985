//! Sessions: what an application declares, the cookie that carries one or its id, and which requests must prove that they
//! come from a page of this application. Knows no defaults, not of the cookie's name either: each face has them. A content in a cookie is
//! signed, not secret: the client can read it, not change it. Of a session that is kept in a store the cookie has an id, and the store
//! knows it by that id's hash only.
//!
//! The proof against forged forms (CSRF). A browser attaches the cookie to a form that another site submits, so a request with a
//! valid session is checked when its method changes things and its body is of a type that a page of another site can send unasked:
//! urlencoded, multipart, text/plain or none. All other types, JSON among them, make browsers ask first (CORS), and that answer is no.
//! It passes when the browser says `Sec-Fetch-Site: same-origin`, which no script can forge, or when it brings the session's token.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::header::{CONTENT_TYPE, COOKIE, HeaderMap, HeaderValue};
use http::{HeaderName, Method};
use ring::{digest, hmac};

use crate::cookie::{self, SameSite, SetCookie};
use crate::header_fields::{essence, only_value};
use crate::limits::{COOKIE_BYTES_MAX, CSRF_BYTES, SESSION_ID_BYTES};
use crate::secret::{Purpose, SecretError, Signer, random};

/// The sessions that an application declares.
pub struct SessionSettings {
    /// The name of the cookie.
    pub name: String,
    /// The paths that it is sent to.
    pub path: String,
    /// The domain whose hosts it is sent to; only the host that set it without.
    pub domain: Option<String>,
    /// The requests of other sites that it is sent with.
    pub same_site: SameSite,
    /// How long a session lasts after it was last written.
    pub max_age_seconds: u64,
    /// The connections that it is sent over.
    pub transport: Transport,
    /// Whether forms of other sites are kept out.
    pub forms: Forms,
    /// Where the content is.
    pub keeping: SessionStorage,
}

/// Where the token of forms is in a session's content.
pub const TOKEN: &str = "_csrf";

/// The header that has the token where no form field can.
pub const TOKEN_HEADER: &str = "x-csrf-token";

/// What a request is answered that does not show the token, with 403.
pub const FORGERY_REFUSAL: &str = "this form does not come from a page of this site, or that page is too old: load it again. (For its author: \
     the form needs the field _csrf with the session's token, which csrf_field writes in Ruby, or the request the header x-csrf-token.)";

/// Where the content of sessions is.
pub enum SessionStorage {
    /// In the cookie, signed by this.
    Cookie(std::rc::Rc<Signer>),
    /// In a store, which is the business of the application's face.
    Store,
}

/// Over which connections a browser sends a cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// Over TLS.
    TlsOnly,
    /// Over all.
    Any,
}

/// Are forms checked?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forms {
    /// Of requests with a session.
    Checked,
    /// None are.
    Unchecked,
}

/// What a client keeps of what its next reads of databases have to have seen, each part in a cookie of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecencyPart {
    /// What it has written.
    Written,
    /// What it has seen.
    Seen,
}

/// Why a session is not written.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// It is too large for a cookie. Keep it in a store, or less in it.
    #[error(
        "the session makes a cookie of {bytes} bytes; session_cookie_bytes_max is {COOKIE_BYTES_MAX}, which is what browsers keep: \
         store the data elsewhere and its key in the session"
    )]
    TooLarge {
        /// Bytes of the cookie.
        bytes: usize,
    },
    /// No browser would take the cookie. Fix what is declared.
    #[error(transparent)]
    Cookie(#[from] crate::Error),
}

/// Seconds since 1970.
pub fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

impl SessionSettings {
    /// The content of the request's session, as JSON. A cookie that was changed or has expired is none.
    pub fn read(&self, headers: &HeaderMap, cookies_max: usize) -> Option<Vec<u8>> {
        let SessionStorage::Cookie(signer) = &self.keeping else {
            return None;
        };
        let now = now();
        self.sent(&self.name, headers, cookies_max)
            .find_map(|value| signer.open(Purpose::Session, &self.name, value, now))
    }

    /// What the client was given by [`SessionSettings::write_recency`]. One that was changed or has expired is none.
    pub fn read_recency(
        &self,
        signer: &Signer,
        part: RecencyPart,
        headers: &HeaderMap,
        cookies_max: usize,
    ) -> Option<String> {
        let (name, now) = (self.recency_name(part), now());
        let text = self
            .sent(&name, headers, cookies_max)
            .find_map(|value| signer.open(Purpose::Recency, &name, value, now));
        String::from_utf8(text?).ok()
    }

    /// The `Set-Cookie` that gives a client what its next reads of databases have to have seen, for so many seconds. It goes where the session's cookie
    /// goes, and begins no session.
    pub fn write_recency(
        &self,
        signer: &Signer,
        part: RecencyPart,
        text: &str,
        seconds: u32,
    ) -> Result<HeaderValue, WriteError> {
        let (name, expires) = (
            self.recency_name(part),
            now().saturating_add(seconds.into()),
        );
        let value = signer.sign(Purpose::Recency, &name, text.as_bytes(), expires);
        let cookie = self.cookie(&name, &value).max_age(seconds.into());
        Ok(cookie.header()?)
    }

    fn recency_name(&self, part: RecencyPart) -> String {
        let part = match part {
            RecencyPart::Written => "written",
            RecencyPart::Seen => "seen",
        };
        format!("{}_{part}", self.name)
    }

    /// The id of the request's session, whether the store knows it or not.
    pub fn read_id<'h>(&self, headers: &'h HeaderMap, cookies_max: usize) -> Option<&'h str> {
        let is_id = |value: &&str| {
            let decoded = URL_SAFE_NO_PAD.decode(value);
            decoded.is_ok_and(|bytes| bytes.len() == SESSION_ID_BYTES)
        };
        self.sent(&self.name, headers, cookies_max).find(is_id)
    }

    /// Does the request bring a cookie of this name, valid or not?
    pub fn is_sent(&self, headers: &HeaderMap, cookies_max: usize) -> bool {
        self.sent(&self.name, headers, cookies_max).next().is_some()
    }

    fn sent<'h>(
        &self,
        wanted: &str,
        headers: &'h HeaderMap,
        cookies_max: usize,
    ) -> impl Iterator<Item = &'h str> {
        headers
            .get_all(COOKIE)
            .iter()
            .filter_map(move |header| cookie::pairs(header.as_bytes(), cookies_max).ok())
            .flatten()
            .filter(move |(name, _)| *name == wanted)
            .map(|(_, value)| value)
    }

    /// The `Set-Cookie` that stores this content, or this id.
    pub fn write(&self, content: &[u8]) -> Result<HeaderValue, WriteError> {
        let expires = now().saturating_add(self.max_age_seconds);
        let value = match &self.keeping {
            SessionStorage::Cookie(signer) => {
                signer.sign(Purpose::Session, &self.name, content, expires)
            }
            SessionStorage::Store => String::from_utf8_lossy(content).into_owned(),
        };
        let seconds = i64::try_from(self.max_age_seconds).unwrap_or(i64::MAX);
        let header = self.cookie(&self.name, &value).max_age(seconds);
        let header = header.header()?;
        match header.len() {
            bytes if bytes > COOKIE_BYTES_MAX => Err(WriteError::TooLarge { bytes }),
            _ => Ok(header),
        }
    }

    /// The `Set-Cookie` that ends the session in the browser.
    pub fn end(&self) -> Result<HeaderValue, WriteError> {
        Ok(self.cookie(&self.name, "").max_age(0).header()?)
    }

    /// An error when no browser would take the cookie.
    pub fn check(&self) -> Result<(), WriteError> {
        self.write(b"-").map(drop)
    }

    fn cookie<'a>(&'a self, name: &'a str, value: &'a str) -> SetCookie<'a> {
        let mut cookie = SetCookie::new(name, value)
            .path(&self.path)
            .http_only()
            .same_site(self.same_site);
        if let Some(domain) = &self.domain {
            cookie = cookie.domain(domain);
        }
        match self.transport {
            Transport::TlsOnly => cookie.secure(),
            Transport::Any => cookie,
        }
    }

    /// Must this request show the session's token before it is handled?
    pub fn guards(&self, method: &Method, headers: &HeaderMap, cookies_max: usize) -> bool {
        self.forms == Forms::Checked
            && !method.is_safe()
            && is_sent_unasked(headers)
            && !is_same_origin(headers)
            && match self.keeping {
                SessionStorage::Cookie(_) => self.read(headers, cookies_max).is_some(),
                // The check itself asks the store.
                SessionStorage::Store => self.read_id(headers, cookies_max).is_some(),
            }
    }
}

/// Could a page of another site have sent this without asking first? Fetch standard, CORS-safelisted content types.
fn is_sent_unasked(headers: &HeaderMap) -> bool {
    let Some(only) = only_value(headers, CONTENT_TYPE) else {
        return true; // none, or several, of which a reader may take another one than we
    };
    match essence(only.as_bytes()).as_slice() {
        b"application/x-www-form-urlencoded" | b"multipart/form-data" | b"text/plain" => true,
        other => !other.contains(&b'/'),
    }
}

fn is_same_origin(headers: &HeaderMap) -> bool {
    const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
    only_value(headers, SEC_FETCH_SITE).is_some_and(|site| site == "same-origin")
}

/// A new id for a session that a store keeps.
pub fn new_id() -> Result<String, SecretError> {
    Ok(URL_SAFE_NO_PAD.encode(random::<SESSION_ID_BYTES>()?))
}

/// The key under which a store keeps the session of an id: a reader of the store does not learn the ids.
pub fn key_of(id: &str) -> String {
    let hash = digest::digest(&digest::SHA256, id.as_bytes());
    format!("session:{}", URL_SAFE_NO_PAD.encode(hash))
}

/// A new token for a session, as it is stored.
pub fn new_token() -> Result<String, SecretError> {
    Ok(URL_SAFE_NO_PAD.encode(random::<CSRF_BYTES>()?))
}

/// The token as it is written into one page: another text each time, so that compression cannot give it away.
pub fn masked_token(stored: &str) -> Result<Option<String>, SecretError> {
    let Some(token) = decoded(stored) else {
        return Ok(None);
    };
    let pad = random::<CSRF_BYTES>()?;
    let mut masked = [0; 2 * CSRF_BYTES];
    let (front, back) = masked.split_at_mut(CSRF_BYTES);
    front.copy_from_slice(&pad);
    for ((byte, token), pad) in back.iter_mut().zip(token).zip(pad) {
        *byte = token ^ pad;
    }
    Ok(Some(URL_SAFE_NO_PAD.encode(masked)))
}

/// Is `sent` the session's token under any mask? Takes the same time wherever they differ.
pub fn is_token(stored: &str, sent: &str) -> bool {
    let (Some(token), Ok(masked)) = (decoded(stored), URL_SAFE_NO_PAD.decode(sent)) else {
        return false;
    };
    if masked.len() != 2 * CSRF_BYTES {
        return false;
    }
    let (pad, back) = masked.split_at(CSRF_BYTES);
    let unmasked: Vec<u8> = back.iter().zip(pad).map(|(byte, pad)| byte ^ pad).collect();
    // Equal tags under one key mean equal tokens; `verify` compares tags in constant time.
    let key = hmac::Key::new(hmac::HMAC_SHA256, &token);
    hmac::verify(
        &key,
        b"csrf",
        hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &unmasked), b"csrf").as_ref(),
    )
    .is_ok()
}

fn decoded(stored: &str) -> Option<[u8; CSRF_BYTES]> {
    URL_SAFE_NO_PAD.decode(stored).ok()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(types: &[&str], expected: bool) {
        let mut headers = HeaderMap::new();
        for text in types {
            headers.append(CONTENT_TYPE, HeaderValue::from_str(text).unwrap());
        }
        assert_eq!(is_sent_unasked(&headers), expected, "{types:?}");
    }

    #[test]
    fn types_that_a_form_of_another_site_can_have_are_checked() {
        check(&["application/x-www-form-urlencoded"], true);
        check(&["Multipart/Form-Data; boundary=x"], true);
        check(&["text/plain;charset=utf-8"], true);
        check(&["text/plain; application/json"], true);
        check(&[], true);
        check(&[""], true);
        check(&["nonsense"], true);
        check(&["application/json", "text/plain"], true);
    }

    #[test]
    fn content_type_that_needs_a_preflight_is_not_guarded() {
        check(&["application/json"], false);
        check(&["application/json; charset=utf-8"], false);
        check(&["text/html"], false);
        check(&["application/octet-stream"], false);
    }

    #[test]
    fn a_token_is_known_under_every_mask_and_no_other_is() {
        let (token, other) = (new_token().unwrap(), new_token().unwrap());
        let first = masked_token(&token).unwrap().unwrap();
        let second = masked_token(&token).unwrap().unwrap();
        assert_ne!(first, second);
        assert!(is_token(&token, &first) && is_token(&token, &second));
        assert!(!is_token(&other, &first));
        for wrong in ["", "x", &token, &first[1..], "é"] {
            assert!(!is_token(&token, wrong), "{wrong}");
        }
        assert!(masked_token("broken").unwrap().is_none());
        assert!(!is_token("", ""));
    }

    #[test]
    fn single_sec_fetch_site_of_same_origin_passes_others_do_not() {
        for (values, expected) in [
            (vec!["same-origin"], true),
            (vec!["same-site"], false),
            (vec!["cross-site"], false),
            (vec!["none"], false),
            (vec!["same-origin", "cross-site"], false),
            (vec![], false),
        ] {
            let mut headers = HeaderMap::new();
            for value in &values {
                headers.append("sec-fetch-site", HeaderValue::from_static(value));
            }
            assert_eq!(is_same_origin(&headers), expected, "{values:?}");
        }
    }
}
