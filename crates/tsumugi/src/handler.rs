//! Handlers: async functions whose arguments are extractors, and the methods of a path that they answer.
//! Rule: each argument has its own bound, so that the compiler names the one that is wrong.

use std::future::Future;
use std::rc::Rc;

use http::Method;
use tsumugi_server::openapi::OperationShape;
use tsumugi_worker::LocalTask;

use crate::context::Context;
use crate::error::Result;
use crate::extract::Extract;
use crate::response::{Answer, Response};

/// What answers a request of one route, middleware included.
pub(crate) type Endpoint<S> = Rc<dyn Fn(Context<S>) -> LocalTask<Result<Response>>>;

/// An async function of up to eight arguments. `A` are its arguments, as a tuple.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no handler",
    label = "expected an async function of up to eight extractors",
    note = "a handler is `async fn(State<App>, Path<i64>, …) -> …`; its future need not be Send"
)]
pub trait Handler<A>: 'static {
    /// What it gives: anything that is an [`Answer`].
    type Output;

    /// Calls it.
    fn call(&self, arguments: A) -> impl Future<Output = Self::Output>;
}

macro_rules! handlers {
    ($($argument:ident)*) => {
        impl<F, R, $($argument,)*> Handler<($($argument,)*)> for F
        where
            F: AsyncFn($($argument),*) -> R + 'static,
        {
            type Output = R;

            #[allow(non_snake_case, reason = "the type parameters name the arguments")]
            async fn call(&self, ($($argument,)*): ($($argument,)*)) -> R {
                self($($argument),*).await
            }
        }

        impl<S, $($argument: Extract<S>,)*> Extract<S> for ($($argument,)*) {
            #[allow(unused_variables, clippy::unused_unit, reason = "no argument, no extraction")]
            async fn extract(context: &mut Context<S>) -> Result<Self> {
                Ok(($($argument::extract(context).await?,)*))
            }

            #[allow(unused_variables, reason = "no argument, no description")]
            fn describe(operation: &mut OperationShape) {
                $($argument::describe(operation);)*
            }
        }
    };
}

handlers!();
handlers!(A);
handlers!(A B);
handlers!(A B C);
handlers!(A B C D);
handlers!(A B C D E);
handlers!(A B C D E F_);
handlers!(A B C D E F_ G);
handlers!(A B C D E F_ G H);

pub(crate) fn endpoint<S, A, H>(handler: H) -> Endpoint<S>
where
    S: 'static,
    A: Extract<S> + 'static,
    H: Handler<A>,
    H::Output: Answer,
{
    let handler = Rc::new(handler);
    Rc::new(move |mut context| {
        let handler = Rc::clone(&handler);
        Box::pin(async move {
            let arguments = A::extract(&mut context).await?;
            drop(context);
            handler.call(arguments).await.answer().await
        })
    })
}

/// The handlers of one path, by method.
pub struct Methods<S> {
    pub(crate) endpoints: Vec<(Method, Endpoint<S>, ShapeWriter)>,
}

/// Says what the arguments of a handler ask of a request.
pub(crate) type ShapeWriter = fn(&mut OperationShape);

macro_rules! methods {
    ($($name:ident $method:ident;)*) => {
        $(
            #[doc = concat!("Answers ", stringify!($method), " with this handler.")]
            pub fn $name<S, A, H>(handler: H) -> Methods<S>
            where
                S: 'static,
                A: Extract<S> + 'static,
                H: Handler<A>,
                H::Output: Answer,
            {
                Methods { endpoints: Vec::new() }.$name(handler)
            }
        )*

        impl<S: 'static> Methods<S> {
            $(
                #[doc = concat!("Answers ", stringify!($method), " with this handler.")]
                pub fn $name<A, H>(mut self, handler: H) -> Methods<S>
                where
                    A: Extract<S> + 'static,
                    H: Handler<A>,
                    H::Output: Answer,
                {
                    self.endpoints
                        .push((Method::$method, endpoint(handler), A::describe));
                    self
                }
            )*
        }
    };
}

methods! {
    get GET;
    post POST;
    put PUT;
    patch PATCH;
    delete DELETE;
    head HEAD;
    options OPTIONS;
}

/// Answers GET, POST, PUT, PATCH, DELETE and OPTIONS with this handler.
pub fn any<S, A, H>(handler: H) -> Methods<S>
where
    S: 'static,
    A: Extract<S> + 'static,
    H: Handler<A>,
    H::Output: Answer,
{
    let endpoint = endpoint(handler);
    let methods = [
        Method::GET,
        Method::POST,
        Method::PUT,
        Method::PATCH,
        Method::DELETE,
        Method::OPTIONS,
    ];
    Methods {
        endpoints: methods
            .map(|method| (method, Rc::clone(&endpoint), A::describe as ShapeWriter))
            .into(),
    }
}
