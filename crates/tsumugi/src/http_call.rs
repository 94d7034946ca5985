//! Calls to other servers as an author writes them: `worker.http().get(url).await?`. Pool, TLS, redirects and limits are the client's.
//! Rule: nothing is sent before the call is awaited; a status such as 404 is an answer and no error.

use std::future::IntoFuture;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tsumugi_client::{ClientRequest, HttpClient, Reach, TargetUrl, append_pair};
use tsumugi_worker::LocalTask;

use crate::error::{Error, Result};

/// How many redirects are followed unless the call says it.
const REDIRECTS: usize = 5;

/// Calls other servers from one worker. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Http {
    client: Rc<HttpClient>,
    reach: Reach,
}

/// A call in the making; await it.
#[must_use = "a call is sent when it is awaited"]
pub struct HttpCall {
    client: Rc<HttpClient>,
    request: Result<ClientRequest>,
}

/// What a server answered.
#[derive(Clone, Debug)]
pub struct HttpReply {
    /// The status.
    pub status: StatusCode,
    /// The header fields.
    pub headers: HeaderMap,
    /// The whole body.
    pub body: Bytes,
    /// Where it came from in the end, without credentials.
    pub url: String,
}

macro_rules! calls {
    ($($name:ident $method:ident)*) => {
        $(
            #[doc = concat!("A call with ", stringify!($method), ".")]
            pub fn $name(&self, url: &str) -> HttpCall {
                self.request(Method::$method, url)
            }
        )*
    };
}

impl Http {
    pub(crate) fn over(client: &Rc<HttpClient>) -> Http {
        Http {
            client: Rc::clone(client),
            reach: Reach::Anywhere,
        }
    }

    /// The same for URLs that strangers choose: calls go to addresses of the public internet only, redirects included. Keep it in the plugin
    /// where all calls are such.
    #[must_use]
    pub fn public_only(&self) -> Http {
        Http {
            client: Rc::clone(&self.client),
            reach: Reach::PublicOnly,
        }
    }

    calls!(get GET post POST put PUT patch PATCH delete DELETE head HEAD);

    /// A call with any method but CONNECT.
    pub fn request(&self, method: Method, url: &str) -> HttpCall {
        let limits = self.client.limits();
        let request = |target| ClientRequest {
            method,
            target,
            headers: HeaderMap::new(),
            body: Bytes::new(),
            timeout: Duration::from_millis(limits.call_ms_max),
            reach: self.reach,
            redirects_max: REDIRECTS,
            response_bytes_max: limits.response_bytes_max,
        };
        HttpCall {
            request: TargetUrl::parse(url).map(request).map_err(Error::from),
            client: Rc::clone(&self.client),
        }
    }
}

impl HttpCall {
    fn with(mut self, change: impl FnOnce(ClientRequest) -> Result<ClientRequest>) -> HttpCall {
        self.request = self.request.and_then(change);
        self
    }

    /// With a header field more.
    pub fn header(self, name: &str, value: &str) -> HttpCall {
        self.with(|mut request| {
            let name: Option<HeaderName> = name.parse().ok();
            let (Some(name), Ok(value)) = (name, HeaderValue::from_str(value)) else {
                return Err(Error::Usage(
                    "a header field of a call has a name or a value that is none".into(),
                ));
            };
            let added = tsumugi_http::append_field(&mut request.headers, name, value);
            added.map_err(|full| Error::Usage(full.to_string().into()))?;
            Ok(request)
        })
    }

    /// With these parameters behind those of the URL.
    pub fn query(self, pairs: &[(&str, &str)]) -> HttpCall {
        self.with(|mut request| {
            request.target = request.target.with_query(&encoded(pairs))?;
            Ok(request)
        })
    }

    /// With this body.
    pub fn body(self, content_type: &'static str, body: impl Into<Bytes>) -> HttpCall {
        self.with(|mut request| {
            let content_type = HeaderValue::from_static(content_type);
            request.headers.insert(CONTENT_TYPE, content_type);
            request.body = body.into();
            Ok(request)
        })
    }

    /// With a body of JSON.
    pub fn json(self, value: &impl Serialize) -> HttpCall {
        match serde_json::to_vec(value) {
            Ok(body) => self.body("application/json", body),
            Err(error) => self.with(|_| Err(Error::other(error))),
        }
    }

    /// With a form.
    pub fn form(self, pairs: &[(&str, &str)]) -> HttpCall {
        self.body("application/x-www-form-urlencoded", encoded(pairs))
    }

    /// Within this time, redirects and body included; `client.call_ms_max` unless it is said.
    pub fn timeout(self, timeout: Duration) -> HttpCall {
        self.with(|request| Ok(ClientRequest { timeout, ..request }))
    }

    /// With at most so many redirects, 5 unless it is said; with 0 a redirect is an answer.
    pub fn redirects(self, redirects_max: usize) -> HttpCall {
        self.with(|request| {
            Ok(ClientRequest {
                redirects_max,
                ..request
            })
        })
    }

    /// With at most so many bytes of body in the answer; `client.response_bytes_max` unless it is said.
    pub fn bytes_max(self, response_bytes_max: usize) -> HttpCall {
        self.with(|request| {
            Ok(ClientRequest {
                response_bytes_max,
                ..request
            })
        })
    }
}

fn encoded(pairs: &[(&str, &str)]) -> String {
    let mut out = String::new();
    for (name, value) in pairs {
        append_pair(&mut out, name.as_bytes(), value.as_bytes());
    }
    out
}

impl IntoFuture for HttpCall {
    type Output = Result<HttpReply>;
    type IntoFuture = LocalTask<Result<HttpReply>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let request = self.request?;
            if request.method == Method::CONNECT {
                return Err(Error::Usage(
                    "CONNECT asks for a tunnel; no call is one".into(),
                ));
            }
            let reply = self.client.call(request).await?;
            Ok(HttpReply {
                status: reply.status,
                headers: reply.headers,
                body: reply.body,
                url: reply.url,
            })
        })
    }
}

impl HttpReply {
    /// The body as text.
    ///
    /// # Errors
    /// When it is not UTF-8.
    pub fn text(&self) -> Result<&str> {
        std::str::from_utf8(&self.body).map_err(Error::other)
    }

    /// The body as a value of JSON.
    ///
    /// # Errors
    /// When it is none of this type.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T> {
        serde_json::from_slice(&self.body).map_err(Error::other)
    }

    /// The first value of a header field, if it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}
