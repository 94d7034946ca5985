//! A client in the same process, for tests of applications: no socket, no thread, the same answers. Serves no other client.
//! Rule: what a request meets here is what it meets on a worker of a server, but connections and their limits.

use std::future::IntoFuture;
use std::rc::Rc;
use std::time::Instant;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Version};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::DuplexStream;
use tsumugi_client::{CallMode, StubAnswer, StubOutcome, StubbedCall};
use tsumugi_http::{
    HttpBody, Request, RequestBody, RequestNumber, ResponseParts, StreamAborted, websocket,
};
use tsumugi_server::Mode;
use tsumugi_worker::LocalTask;

use crate::app_instance::AppInstance;
use crate::plugin::Plugin;
use crate::router::Router;
use crate::settings::Settings;
use crate::trial_environment;

/// Loads the application in development mode on a worker of its own, runs the test and stops the plugin. Its [`Worker::data_dir`](crate::Worker::data_dir) is
/// empty, and goes with the test. Where the process has a `DATABASE_URL`, the test's names a database of its own beside the one that is named, which has
/// to be empty: it is made for the test, empty too, and removed after it.
///
/// # Panics
/// When the application does not load, when the test panics, and inside an asynchronous runtime. Where `DATABASE_URL` names a database with tables that no test has
/// made.
pub fn run<S: Plugin, T>(
    routes: impl Fn() -> Router<S>,
    test: impl AsyncFnOnce(&Client<S>) -> T,
) -> T {
    let settings = Settings {
        mode: Mode::Development,
        calls: CallMode::Stubbed,
        ..Settings::default()
    };
    run_with(settings, routes, test)
}

/// The same with settings. A folder that they name stays, and so does a `DATABASE_URL` of their own, with what is in its database.
///
/// # Panics
/// See [`run`].
pub fn run_with<S: Plugin, T>(
    settings: Settings,
    routes: impl Fn() -> Router<S>,
    test: impl AsyncFnOnce(&Client<S>) -> T,
) -> T {
    let limits = tsumugi_worker::WorkerLimits::default();
    let outcome = tsumugi_worker::alone(limits, async |worker| {
        let running = async |settings| {
            let loaded = AppInstance::load(&worker, Rc::new(settings), routes).await;
            let loaded =
                loaded.unwrap_or_else(|error| panic!("the application does not load: {error}"));
            let client = Client { loaded };
            let value = test(&client).await;
            client.loaded.retire().await;
            value
        };
        trial_environment::within(settings, running).await
    });
    outcome.unwrap_or_else(|error| panic!("no worker for the test: {error}"))
}

/// Calls the application.
pub struct Client<S> {
    loaded: Rc<AppInstance<S>>,
}

/// A request in the making; await it.
#[must_use = "a request is sent when it is awaited"]
pub struct Call<S> {
    loaded: Rc<AppInstance<S>>,
    method: Method,
    target: String,
    headers: HeaderMap,
    body: Bytes,
    trailers: HeaderMap,
}

/// A whole response.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The status.
    pub status: StatusCode,
    /// The header fields.
    pub headers: HeaderMap,
    /// The body, or that it was broken off.
    pub body: Result<Bytes, StreamAborted>,
    /// The fields behind the body.
    pub trailers: HeaderMap,
}

macro_rules! calls {
    ($($name:ident $method:ident)*) => {
        $(
            #[doc = concat!("A request with ", stringify!($method), ".")]
            pub fn $name(&self, target: &str) -> Call<S> {
                self.request(Method::$method, target)
            }
        )*
    };
}

impl<S: 'static> Client<S> {
    calls!(get GET post POST put PUT patch PATCH delete DELETE head HEAD options OPTIONS);

    /// A request with any method.
    pub fn request(&self, method: Method, target: &str) -> Call<S> {
        Call {
            loaded: Rc::clone(&self.loaded),
            method,
            target: target.to_owned(),
            headers: HeaderMap::new(),
            body: Bytes::new(),
            trailers: HeaderMap::new(),
        }
    }

    /// Answers the application's calls to other servers in place of these: `client.stub_http(Method::GET, "https://api.example.org/users/:id", |call| …)`.
    /// In the URL `:name` stands for a segment of the path and `*name` for the rest. The last stub that fits answers; a call without one fails.
    ///
    /// # Panics
    /// When the URL is none.
    pub fn stub_http(
        &self,
        method: Method,
        url: &str,
        answer: impl Fn(&StubbedCall) -> StubOutcome + 'static,
    ) {
        let answer: StubAnswer = Box::new(move |call| {
            let outcome = answer(&call);
            Box::pin(async move { Ok(outcome) })
        });
        let added = self.loaded.worker().stubs().add(Some(method), url, answer);
        added.unwrap_or_else(|error| panic!("{error}"));
    }

    /// The calls to other servers so far, those of what is mounted in the application too.
    pub fn http_calls(&self) -> Vec<StubbedCall> {
        self.loaded.worker().stubs().calls()
    }

    /// The mails that the application, and what is mounted in it, has sent so far; none of them leaves the test. Needs the feature `mail`.
    #[cfg(feature = "mail")]
    pub fn mails(&self) -> Vec<crate::Mail> {
        self.loaded.worker().mails().list()
    }

    /// Lets calls out to the servers that they name.
    pub fn allow_http(&self) {
        self.loaded.worker().stubs().open();
    }

    /// The plugin, to look at what requests have done to it.
    pub fn state(&self) -> &S {
        self.loaded.state()
    }
}

impl<S> Call<S> {
    /// With a header field more.
    ///
    /// # Panics
    /// When it is none.
    pub fn header(mut self, name: &str, value: &str) -> Call<S> {
        let name: HeaderName = name.parse().expect("the name of a header field");
        let value = HeaderValue::from_str(value).expect("the value of a header field");
        self.headers.append(name, value);
        self
    }

    /// With a field more behind the body. As with a server's clients, those that mean something before a body only do not arrive.
    ///
    /// # Panics
    /// When it is none; when the request is sent, and they are more or longer than those of a request may be.
    pub fn trailer(mut self, name: &str, value: &str) -> Call<S> {
        let name: HeaderName = name.parse().expect("the name of a trailer");
        let value = HeaderValue::from_str(value).expect("the value of a trailer");
        self.trailers.append(name, value);
        self
    }

    /// With this body.
    pub fn body(mut self, content_type: &'static str, body: impl Into<Bytes>) -> Call<S> {
        self.headers
            .insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        self.body = body.into();
        self
    }

    /// With a body of JSON.
    ///
    /// # Panics
    /// When JSON cannot hold the value.
    pub fn json(self, value: &impl Serialize) -> Call<S> {
        let body = serde_json::to_vec(value).expect("a value that JSON can hold");
        self.body("application/json", body)
    }

    /// With a form, already encoded: `a=1&b=2`.
    pub fn form(self, body: impl Into<Bytes>) -> Call<S> {
        self.body("application/x-www-form-urlencoded", body)
    }
}

/// The client's end of a WebSocket; dropping it is a client that goes.
pub type Socket = websocket::WebSocketClient<DuplexStream>;

impl<S: 'static> Call<S> {
    /// Opens a WebSocket; the response when it is refused.
    pub async fn websocket(self) -> Result<Socket, Reply> {
        let loaded = Rc::clone(&self.loaded);
        let wish = websocket::WEBSOCKET_WISH;
        let call = wish
            .iter()
            .fold(self, |call, (name, value)| call.header(name, value));
        let mut response = call.send().await;
        let switch = match std::mem::take(&mut response.body) {
            HttpBody::Switch(switch) => switch,
            body => {
                response.body = body;
                return Err(Reply::of(response).await);
            }
        };
        let (socket, talking) = Socket::in_process(switch).await;
        drop(loaded.worker().spawn(talking));
        Ok(socket)
    }

    async fn send(self) -> tsumugi_http::HttpResponse {
        let body = RequestBody::in_memory(self.body).with_trailers(self.trailers);
        let request = Request {
            method: self.method,
            uri: self.target.parse().expect("the target of a request"),
            version: Version::HTTP_11,
            headers: self.headers.into(),
            body: body.unwrap_or_else(|error| panic!("trailers of a request: {error}")),
            peer: None,
            scheme: Default::default(),
            received_at: Instant::now(),
            number: RequestNumber::default(),
            mounted_path: None,
            activity: None,
        };
        self.loaded.answer(Box::new(request)).await
    }
}

impl<S: 'static> IntoFuture for Call<S> {
    type Output = Reply;
    type IntoFuture = LocalTask<Reply>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let is_head = self.method == Method::HEAD;
            let mut response = self.send().await;
            if is_head {
                response.body = HttpBody::Empty;
            }
            Reply::of(response).await
        })
    }
}

impl Reply {
    async fn of(response: tsumugi_http::HttpResponse) -> Reply {
        let ResponseParts {
            status,
            headers,
            body,
            ..
        } = response.into_parts();
        let (body, trailers) = match body.read_with_trailers().await {
            Ok((bytes, trailers)) => (Ok(bytes), trailers),
            Err(aborted) => (Err(aborted), HeaderMap::new()),
        };
        Reply {
            status,
            headers,
            body,
            trailers,
        }
    }

    /// The body as text.
    ///
    /// # Panics
    /// When it was broken off or is not UTF-8.
    pub fn text(&self) -> &str {
        let bytes = self.body.as_ref().expect("a body that came to its end");
        std::str::from_utf8(bytes).expect("a body of UTF-8")
    }

    /// The body as a value of JSON.
    ///
    /// # Panics
    /// When it is none of this type.
    pub fn json<T: DeserializeOwned>(&self) -> T {
        let text = self.text();
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    /// A header field as text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}
