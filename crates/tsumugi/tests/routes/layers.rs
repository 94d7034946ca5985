//! What stands around handlers: layers, mappers of errors, nested routers, and applications that are mounted in them.

use std::cell::RefCell;
use std::rc::Rc;

use bytes::Bytes;
use http::StatusCode;
use tsumugi::{
    Context, Error, Extension, Headers, HttpResponse, LocalTask, Mount, MountedApp, Next, Plugin,
    Request, Response, Result, Router, State, Worker, get, trial,
};

use crate::check;

/// The order in which layers and handlers of a request ran.
#[derive(Default)]
struct Trace(RefCell<Vec<&'static str>>);

impl Plugin for Trace {
    async fn start(_: &Worker) -> Result<Trace> {
        Ok(Trace::default())
    }
}

impl Trace {
    fn note(&self, what: &'static str) {
        self.0.borrow_mut().push(what);
    }
}

async fn outer(context: Context<Trace>, next: Next<Trace>) -> Result<Response> {
    let trace = Rc::clone(context.state());
    trace.note("outer in");
    let answered = next.run(context).await;
    trace.note("outer out");
    answered
}

#[test]
fn layers_run_from_the_outside_in_and_back() {
    async fn guard(trace: State<Trace>, headers: Headers) -> Result<()> {
        trace.note("guard");
        match headers.text("authorization") {
            Some(_) => Ok(()),
            None => Err(Error::unauthorized("who are you")),
        }
    }
    async fn handler(trace: State<Trace>) -> &'static str {
        trace.note("handler");
        "in"
    }
    let routes = || {
        let inside = Router::new()
            .before(guard)
            .after(async |mut response: Response| {
                response.status = http::StatusCode::ACCEPTED;
                response
            })
            .route("/", get(handler));
        Router::<Trace>::new().around(outer).nest("/admin", inside)
    };
    trial::run(routes, async |client| {
        let reply = client.get("/admin").header("authorization", "me").await;
        assert_eq!((reply.status.as_u16(), reply.text()), (202, "in"));
        let seen = client.state().0.take();
        assert_eq!(seen, ["outer in", "guard", "handler", "outer out"]);
        assert_eq!(client.get("/admin").await.status, 401);
        assert_eq!(client.state().0.take(), ["outer in", "guard", "outer out"]);
    });
}

#[test]
fn middleware_leaves_values_for_the_handler() {
    #[derive(Clone)]
    struct User(&'static str);
    async fn login(mut context: Context<()>, next: Next<()>) -> Result<Response> {
        if context.headers().contains_key("x-user") {
            context.put(User("Ada"));
        }
        next.run(context).await
    }
    let routes = || {
        Router::<()>::new()
            .around(login)
            .route("/", get(async |Extension(user): Extension<User>| user.0))
    };
    trial::run(routes, async |client| {
        assert_eq!(client.get("/").header("x-user", "1").await.text(), "Ada");
        assert_eq!(client.get("/").await.status, 500);
    });
}

/// An application that answers with the path and the body that it is given.
struct Echo;

impl Mount for Echo {
    fn load(&self, _: &Worker) -> LocalTask<Result<Rc<dyn MountedApp>>> {
        Box::pin(async { Ok(Rc::new(Echo) as Rc<dyn MountedApp>) })
    }
}

impl MountedApp for Echo {
    fn answer(&self, mut request: Box<Request>) -> LocalTask<HttpResponse> {
        Box::pin(async move {
            let body = request.body.read_all().await.unwrap();
            let text = format!("{} {}", request.uri.path(), String::from_utf8_lossy(&body));
            HttpResponse::text(StatusCode::OK, text)
        })
    }

    fn retire(&self) -> LocalTask<()> {
        Box::pin(async {})
    }
}

#[test]
fn layers_of_nested_routers_stand_before_their_mounts() {
    async fn guard(headers: Headers) -> Result<()> {
        match headers.text("x-name") {
            Some(_) => Ok(()),
            None => Err(Error::unauthorized("who are you?")),
        }
    }
    let routes = || {
        let inner = Router::<()>::new()
            .before(guard)
            .map_err(|error| (error.status().as_u16(), format!("inner: {error}")))
            .mount("/echo", Echo);
        let outer = Router::new().after(async |mut response: Response| {
            response.headers.insert("x-outer", "1".parse().unwrap());
            response
        });
        Router::new().nest("/a", outer.nest("/b", inner))
    };
    trial::run(routes, async |client| {
        let reply = client.get("/a/b/echo/c").await;
        assert_eq!(
            (reply.status.as_u16(), reply.text()),
            (401, "inner: who are you?")
        );
        let reply = client.get("/a/b/echo/c").header("x-name", "Ada").await;
        assert_eq!((reply.text(), reply.header("x-outer")), ("/c ", Some("1")));
    });
}

#[test]
fn mounted_application_is_not_given_a_request_without_its_body() {
    let routes = || {
        let greedy = Router::<()>::new().before(async |_: Bytes| ());
        greedy.mount("/", Echo)
    };
    trial::run(routes, async |client| {
        let reply = client.post("/").body("text/plain", "x").await;
        assert_eq!(reply.status, 500);
        assert!(reply.text().contains("only one can have it"));
    });
}

#[test]
fn innermost_mapper_has_the_last_word_on_an_error() {
    let fails = || get(async || Err::<(), _>(Error::not_found("x")));
    let routes = move || {
        let inside = Router::new()
            .map_err(|error| (410, format!("inside: {error}")))
            .route("/a", fails());
        Router::<()>::new()
            .map_err(|error| (418, format!("outside: {error}")))
            .nest("/in", inside)
            .route("/a", fails())
    };
    check(
        routes,
        &[("GET /in/a", "410 inside: x"), ("GET /a", "418 outside: x")],
    );
}

#[test]
fn path_of_a_mounted_application_is_what_was_sent_too() {
    struct Shown;
    impl Mount for Shown {
        fn load(&self, _: &Worker) -> LocalTask<Result<Rc<dyn MountedApp>>> {
            Box::pin(async { Ok(Rc::new(Shown) as Rc<dyn MountedApp>) })
        }
    }
    impl MountedApp for Shown {
        fn answer(&self, request: Box<Request>) -> LocalTask<HttpResponse> {
            let text = format!("{} {}", request.uri.path(), request.sent_path());
            Box::pin(async { HttpResponse::text(StatusCode::OK, text) })
        }

        fn retire(&self) -> LocalTask<()> {
            Box::pin(async {})
        }
    }
    check(
        || {
            let inner = Router::<()>::new().mount("/b", Shown);
            Router::new().nest("/a", inner).mount("/", Shown)
        },
        &[
            ("GET /a/b/c?x=1", "200 /c /a/b/c"),
            ("GET /a/b", "200 / /a/b"),
            ("GET /c", "200 /c /c"),
        ],
    );
}
