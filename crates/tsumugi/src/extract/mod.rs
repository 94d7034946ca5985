//! Extractors: types that a handler's arguments may have, each made from the request. Knows no route.
//! Rule: they run in the order of the arguments, and the first that fails ends the request with its error.

mod app_files;
mod body;
mod head;
mod probe;
mod texts;
mod valid;
mod websocket;

use std::ops::Deref;
use std::rc::Rc;

use http::StatusCode;
use tsumugi_server::openapi::OperationShape;

use crate::context::{Context, unfit};
use crate::error::{Error, Result};
use crate::plugin::Worker;
use crate::session::Session;

pub use app_files::AppFiles;
pub use body::{BodyStream, Form, Multipart, Trailers, Upload};
pub use head::{BaseUrl, ClientIp, Cookies, FromHeader, Header, Headers, LastEventId, Path, Query};
pub use valid::{FieldMessages, Valid, ValidQuery, Validate};
pub use websocket::{WebSocketResponse, WebSocketUpgrade};

/// A type that can be made from a request.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an argument of a handler",
    label = "this argument is no extractor",
    note = "extractors are `State<App>`, `Path<T>`, `Query<T>`, `Json<T>`, `Form<T>`, `Multipart`, `Header<T>`, `Headers`, `Cookies`, \
            `Extension<T>`, `Session`, `Worker`, `Valid<T>`, `ValidQuery<T>`, `FieldMessages`, `WebSocketUpgrade`, `AppFiles`, `Request`, `BodyStream`, `Bytes`, `String`, `Trailers`, and `Result` of one of these; \
            `State<T>` is one for the plugin's own type only"
)]
pub trait Extract<S>: Sized {
    /// Makes it, or says why the request has none.
    fn extract(context: &mut Context<S>) -> impl Future<Output = Result<Self>>;

    /// Says what it asks of a request, and with which statuses it refuses one, for `routes --openapi`. Nothing unless it is said.
    fn describe(operation: &mut OperationShape) {
        let _ = operation;
    }
}

/// The plugin of this worker.
#[derive(Debug)]
pub struct State<S>(Rc<S>);

impl<S> Deref for State<S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.0
    }
}

impl<S> Clone for State<S> {
    fn clone(&self) -> State<S> {
        State(Rc::clone(&self.0))
    }
}

impl<S> Extract<S> for State<S> {
    async fn extract(context: &mut Context<S>) -> Result<State<S>> {
        Ok(State(Rc::clone(context.state())))
    }
}

impl<S> Extract<S> for Worker {
    async fn extract(context: &mut Context<S>) -> Result<Worker> {
        Ok(context.worker().clone())
    }
}

impl<S> Extract<S> for Session {
    async fn extract(context: &mut Context<S>) -> Result<Session> {
        context.session().await
    }
}

/// A value that middleware left with [`Context::put`].
#[derive(Clone, Debug)]
pub struct Extension<T>(pub T);

impl<S, T: Clone + 'static> Extract<S> for Extension<T> {
    async fn extract(context: &mut Context<S>) -> Result<Extension<T>> {
        let value = context.find::<T>().cloned().map(Extension);
        value.ok_or_else(|| {
            let name = std::any::type_name::<T>();
            Error::Usage(format!("no middleware has left a {name} for this request: add one that calls Context::put").into())
        })
    }
}

/// The failure of an extractor, for handlers that go on without it.
impl<S, T: Extract<S>> Extract<S> for Result<T> {
    async fn extract(context: &mut Context<S>) -> Result<Result<T>> {
        Ok(T::extract(context).await)
    }

    fn describe(operation: &mut OperationShape) {
        T::describe(operation);
    }
}

fn bad(what: &str, reason: impl std::fmt::Display) -> Error {
    unfit(StatusCode::BAD_REQUEST, what, reason)
}
