//! Middleware: before a handler, after it, around it. Knows no route; a router composes it with its routes once, when it is loaded.
//! Rule: what comes from a layer is treated like what comes from a handler, errors included.

use std::rc::Rc;

use tsumugi_server::dispatch::RequestLine;

use crate::context::Context;
use crate::error::{Error, Result, report, story};
use crate::extract::Extract;
use crate::handler::{Endpoint, Handler};
use crate::response::{Answer, Response};

/// A layer: from what is inside it to what is outside.
pub(crate) type Layer<S> = Rc<dyn Fn(Endpoint<S>) -> Endpoint<S>>;

/// What turns errors into responses.
pub(crate) type Mapper = Rc<dyn Fn(Error) -> Response>;

/// What comes after a layer of [`Router::around`](crate::Router::around): the layers further in, and the handler.
pub struct Next<S>(Endpoint<S>);

impl<S> Next<S> {
    /// Goes on with this request.
    pub async fn run(self, context: Context<S>) -> Result<Response> {
        (self.0)(context).await
    }
}

/// What a layer of [`Router::before`](crate::Router::before) decides.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no verdict of middleware",
    note = "return `()`, `Result<()>`, `Option<Response>` or `Result<Option<Response>>`; a response ends the request"
)]
pub trait Verdict {
    /// The response that ends the request; none to go on.
    fn verdict(self) -> Result<Option<Response>>;
}

impl Verdict for () {
    fn verdict(self) -> Result<Option<Response>> {
        Ok(None)
    }
}

impl Verdict for Option<Response> {
    fn verdict(self) -> Result<Option<Response>> {
        Ok(self)
    }
}

impl<V: Verdict, E: Into<Error>> Verdict for Result<V, E> {
    fn verdict(self) -> Result<Option<Response>> {
        self.map_err(Into::into)?.verdict()
    }
}

pub(crate) fn before<S, A, H>(handler: H) -> Layer<S>
where
    S: 'static,
    A: Extract<S> + 'static,
    H: Handler<A>,
    H::Output: Verdict,
{
    let handler = Rc::new(handler);
    Rc::new(move |inner| {
        let handler = Rc::clone(&handler);
        Rc::new(move |mut context| {
            let (handler, inner) = (Rc::clone(&handler), Rc::clone(&inner));
            Box::pin(async move {
                let arguments = A::extract(&mut context).await?;
                match handler.call(arguments).await.verdict()? {
                    Some(response) => Ok(response),
                    None => inner(context).await,
                }
            })
        })
    })
}

pub(crate) fn after<S, F, R>(change: F) -> Layer<S>
where
    S: 'static,
    F: AsyncFn(Response) -> R + 'static,
    R: Answer,
{
    let change = Rc::new(change);
    Rc::new(move |inner| {
        let change = Rc::clone(&change);
        Rc::new(move |context| {
            let change = Rc::clone(&change);
            let answered = inner(context);
            Box::pin(async move { change(answered.await?).await.answer().await })
        })
    })
}

pub(crate) fn around<S, F, R>(layer: F) -> Layer<S>
where
    S: 'static,
    F: AsyncFn(Context<S>, Next<S>) -> R + 'static,
    R: Answer,
{
    let layer = Rc::new(layer);
    Rc::new(move |inner| {
        let layer = Rc::clone(&layer);
        Rc::new(move |context| {
            let (layer, next) = (Rc::clone(&layer), Next(Rc::clone(&inner)));
            Box::pin(async move { layer(context, next).await.answer().await })
        })
    })
}

/// Puts the layers around an endpoint, the first outermost, and the mapper of errors around them.
pub(crate) fn compose<S: 'static>(
    layers: &[Layer<S>],
    mapper: Option<&Mapper>,
    endpoint: Endpoint<S>,
) -> Endpoint<S> {
    let layered = layers
        .iter()
        .rev()
        .fold(endpoint, |inner, layer| layer(inner));
    let Some(mapper) = mapper.cloned() else {
        return layered;
    };
    Rc::new(move |context| {
        let line = RequestLine::of(context.request());
        let (mapper, answered) = (Rc::clone(&mapper), layered(context));
        Box::pin(async move {
            let mapped = |error| map(&mapper, error, &line);
            Ok(answered.await.unwrap_or_else(mapped))
        })
    })
}

/// What the mapper makes of an error. The log has the error when that is an error of the server, whatever the response says.
pub(crate) fn map(mapper: &Mapper, error: Error, line: &RequestLine) -> Response {
    let (class, story) = (error.class(), story(&error));
    let response = mapper(error);
    if response.status.is_server_error() {
        tracing::error!("{line}: {story}");
        report(class, &story, line);
    }
    response
}
