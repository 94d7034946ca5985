//! What applications in Rust answer: routes, extractors, responses, middleware, errors, streams, plugins.
//! Every test runs an application on a worker of its own, through the client of the same process.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use tsumugi::{
    AppFileError, AppFiles, BodyStream, Context, Cookies, Error, Event, Extension, Form,
    FromHeader, Header, Headers, Html, HttpResponse, IntoResponse, Json, Limits, LocalTask, Mount,
    MountedApp, Multipart, Next, On, Output, Path, Plugin, Query, Redirect, Request, Response,
    Result, Router, Settings, Sse, State, StreamResponse, Trailers, Worker, any, get, post, put,
    trial,
};

/// Sends each request and compares status and text: `GET /path` or `POST /path body`, of JSON.
fn check<S: Plugin>(routes: impl Fn() -> Router<S>, cases: &[(&str, &str)]) {
    trial::run(routes, async |client| {
        for (request, expected) in cases {
            let mut words = request.splitn(3, ' ');
            let method = words.next().unwrap().parse().unwrap();
            let call = client.request(method, words.next().unwrap());
            let reply = match words.next() {
                Some(body) => call.body("application/json", body.to_owned()).await,
                None => call.await,
            };
            let answer = format!("{} {}", reply.status.as_u16(), reply.text().trim_end());
            assert_eq!(answer.trim_end(), *expected, "{request}");
        }
    });
}

#[derive(Deserialize, Serialize)]
struct Point {
    x: i64,
    y: i64,
}

#[test]
fn arguments_are_made_from_the_request() {
    #[derive(Deserialize)]
    struct Paging {
        page: Option<u32>,
    }
    async fn path(Path((a, b)): Path<(String, u8)>) -> String {
        format!("{a}:{b}")
    }
    async fn query(Query(paging): Query<Paging>) -> String {
        format!("{:?}", paging.page)
    }
    async fn json(Json(point): Json<Point>) -> Json<i64> {
        Json(point.x + point.y)
    }
    async fn raw(request: Request) -> String {
        format!("{} {}", request.method, request.uri)
    }
    async fn lenient(json: Result<Json<Point>>) -> String {
        json.map_or_else(
            |error| format!("none: {}", error.status()),
            |_| "one".into(),
        )
    }
    let routes = || {
        Router::<()>::new()
            .route("/path/{a}/{b}", get(path))
            .route("/rest/{*rest}", get(async |Path(rest): Path<String>| rest))
            .route("/query", get(query))
            .route("/json", post(json).put(lenient))
            .route("/raw/{x}", any(raw))
            .route("/text", post(async |text: String| text))
            .route(
                "/worker",
                get(async |worker: Worker| worker.id().to_string()),
            )
    };
    check(
        routes,
        &[
            ("GET /path/x%20y/7", "200 x y:7"),
            ("GET /path/x/256", "404 not found"),
            ("GET /rest/a/b%2Fc", "200 a/b/c"),
            ("GET /query?page=3", "200 Some(3)"),
            ("GET /query", "200 None"),
            (
                "GET /query?page=x",
                "400 query: \"x\" is not a natural number of 32 bits",
            ),
            ("POST /json {\"x\":1,\"y\":2}", "200 3"),
            (
                "POST /json {\"x\":1}",
                "422 body: missing field `y` at line 1 column 7",
            ),
            (
                "POST /json {",
                "400 body: EOF while parsing an object at line 1 column 1",
            ),
            ("POST /json", "415 content type is not application/json"),
            ("PUT /json", "200 none: 415 Unsupported Media Type"),
            ("DELETE /raw/7?a=b", "200 DELETE /raw/7?a=b"),
            ("POST /text hello", "200 hello"),
            ("GET /worker", "200 0"),
            ("GET /json", "405 method not allowed"),
            ("OPTIONS /json", "204"),
            ("GET /nothing", "404 not found"),
            ("GET /path/%zz/1", "400 malformed path"),
        ],
    );
}

#[test]
fn header_fields_and_cookies_are_arguments() {
    struct Version(u32);
    impl std::str::FromStr for Version {
        type Err = std::num::ParseIntError;
        fn from_str(text: &str) -> Result<Version, Self::Err> {
            text.parse().map(Version)
        }
    }
    impl FromHeader for Version {
        const NAME: &'static str = "x-version";
    }
    async fn show(Header(version): Header<Version>, headers: Headers, cookies: Cookies) -> String {
        let agent = headers.text("user-agent").unwrap_or("nobody").to_owned();
        format!("{} {agent} {:?}", version.0, cookies.find("theme"))
    }
    let routes = || Router::<()>::new().route("/", get(show));
    trial::run(routes, async |client| {
        let reply = client.get("/").header("x-version", "4");
        let reply = reply.header("cookie", "a=1; theme=dark").await;
        assert_eq!(reply.text(), "4 nobody Some(\"dark\")");
        let reply = client.get("/").await;
        assert_eq!(reply.text(), "x-version: the header field is missing\n");
        assert_eq!(reply.status, 400);
    });
}

#[test]
fn forms_and_uploads_are_arguments() {
    #[derive(Deserialize)]
    struct Task {
        title: String,
        #[serde(default)]
        tag: Vec<String>,
    }
    async fn form(Form(task): Form<Task>) -> String {
        format!("{} {:?}", task.title, task.tag)
    }
    async fn upload(form: Multipart) -> String {
        let file = form.find("file").unwrap();
        let name = file.head.filename.as_deref().unwrap_or_default();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kept");
        file.save(path.clone()).await.unwrap();
        assert!(file.save(path.clone()).await.is_err());
        file.replace(path.clone()).await.unwrap();
        assert_eq!(std::fs::read(path).unwrap(), b"12345");
        format!("{:?} {name} {}", form.text("title"), file.content.length())
    }
    async fn stream(mut body: BodyStream) -> Result<String> {
        let mut bytes = 0;
        while let Some(piece) = body.piece().await? {
            bytes += piece.len();
        }
        Ok(bytes.to_string())
    }
    let routes = || {
        Router::<()>::new()
            .route("/form", post(form))
            .route("/upload", post(upload))
            .route("/stream", put(stream))
    };
    trial::run(routes, async |client| {
        let reply = client
            .post("/form")
            .form("title=Milk+now&tag=a&tag=b")
            .await;
        assert_eq!(reply.text(), "Milk now [\"a\", \"b\"]");
        assert_eq!(client.post("/form").form("tag=a").await.status, 422);
        let body = "--B\r\ncontent-disposition: form-data; name=title\r\n\r\nMilk\r\n--B\r\n\
                    content-disposition: form-data; name=file; filename=a.txt\r\n\r\n12345\r\n--B--\r\n";
        let upload = client.post("/upload");
        let reply = upload.body("multipart/form-data; boundary=B", body).await;
        assert_eq!(reply.text(), "Some(\"Milk\") a.txt 5");
        let stream = client.put("/stream").body("text/plain", "123").await;
        assert_eq!(stream.text(), "3");
    });
}

#[test]
#[should_panic(expected = "trailer_fields_max")]
fn request_of_a_test_with_too_many_trailers_is_none() {
    trial::run(Router::<()>::new, async |client| {
        let fields = 0..=64;
        let call = fields.fold(client.post("/"), |call, n| {
            call.trailer(&format!("x-{n}"), "1")
        });
        call.await
    });
}

#[test]
fn trailers_stand_behind_the_bodies_of_requests_and_streams() {
    async fn whole(body: String, trailers: Trailers) -> String {
        format!("{body} {:?}", trailers.text("x-sum"))
    }
    async fn fields(mut body: BodyStream) -> Result<String> {
        while body.piece().await?.is_some() {}
        Ok(body
            .trailers()
            .map_or(0, |trailers| trailers.len())
            .to_string())
    }
    async fn pieces(mut body: BodyStream) -> Result<String> {
        let before = body.trailers().is_none();
        while body.piece().await?.is_some() {}
        let sum = body.trailers().map(|trailers| trailers["x-sum"].clone());
        Ok(format!("{before} {sum:?}"))
    }
    async fn early(_trailers: Trailers, body: String) -> String {
        body
    }
    async fn stream(name: Path<String>) -> StreamResponse {
        let name = name.0;
        let write = async move |out: &mut Output| {
            out.write("abc").await?;
            out.trailer("x-sum", "2")?;
            out.trailer(&name, "3")
        };
        StreamResponse::new("text/plain", write).trailers(["x-sum", "X-Size"])
    }
    let refused = async || {
        StreamResponse::new("text/plain", async |out| out.write("abc").await).trailers(["host"])
    };
    let routes = move || {
        Router::<()>::new()
            .route("/whole", post(whole))
            .route("/fields", post(fields))
            .route("/pieces", post(pieces))
            .route("/early", post(early))
            .route("/stream/{name}", get(stream))
            .route("/refused", get(refused))
    };
    trial::run(routes, async |client| {
        let post = |path: &str| client.post(path).body("text/plain", "ab");
        let reply = post("/whole").trailer("x-sum", "7").await;
        assert_eq!(reply.text(), "ab Some(\"7\")");
        assert_eq!(post("/whole").await.text(), "ab None");
        // What a server leaves out is not there in a test either.
        let reply = post("/fields").trailer("x-sum", "7");
        let reply = reply.trailer("authorization", "x").await;
        assert_eq!(reply.text(), "1");
        let reply = post("/pieces").trailer("x-sum", "7").await;
        assert_eq!(reply.text(), "true Some(\"7\")");
        let reply = post("/early").await;
        assert!(reply.text().contains("stands behind an argument"));
        let reply = client.get("/stream/x-size").await;
        assert_eq!(reply.header("trailer"), Some("x-sum, x-size"));
        assert_eq!(reply.text(), "abc");
        assert_eq!(reply.trailers["x-sum"], "2");
        assert_eq!(reply.trailers["x-size"], "3");
        let reply = client.get("/stream/x-other").await;
        assert!(reply.body.is_err(), "it was not announced");
        assert_eq!(client.get("/refused").await.status, 500);
    });
}

#[test]
fn two_arguments_cannot_have_the_body() {
    async fn greedy(a: String, b: Bytes) -> String {
        format!("{a}{}", b.len())
    }
    let routes = || Router::<()>::new().route("/", post(greedy));
    trial::run(routes, async |client| {
        let reply = client.post("/").body("text/plain", "x").await;
        assert_eq!(reply.status, 500);
        assert!(reply.text().contains("only one can have it"));
    });
}

#[test]
fn handler_result_is_a_response() {
    let routes = || {
        Router::<()>::new()
            .route("/text", get(async || "text"))
            .route("/nothing", get(async || ()))
            .route("/html", get(async || Html("<p>")))
            .route("/json", get(async || Json(Point { x: 1, y: 2 })))
            .route("/status", post(async || (201, Json(7))))
            .route("/wrong", get(async || (42, "x")))
            .route("/none", get(async || None::<String>))
            .route("/away", get(async || Redirect("/text".to_owned())))
            .route(
                "/refused",
                get(async || Err::<(), _>(Error::conflict("taken"))),
            )
            .route(
                "/failed",
                get(async || Err::<(), _>(Error::other(std::fmt::Error))),
            )
    };
    let cases = [
        ("GET /text", "200 text"),
        ("GET /nothing", "204"),
        ("GET /html", "200 <p>"),
        ("GET /json", "200 {\"x\":1,\"y\":2}"),
        ("POST /status", "201 7"),
        ("GET /wrong", "500 internal server error"),
        ("GET /none", "404 not found"),
        ("GET /away", "303"),
        ("GET /refused", "409 taken"),
        (
            "GET /failed",
            "500 an error occurred when formatting an argument",
        ),
    ];
    check(routes, &cases);
    trial::run_with(Settings::default(), routes, async |client| {
        let reply = client.get("/failed").await;
        assert_eq!(reply.text(), "internal server error\n");
    });
}

#[test]
fn redirect_escapes_what_no_location_may_have() {
    let routes = || {
        let far = async || Redirect("https://a.org/日本 x?y=%20".to_owned());
        let broken = async || Redirect("/x\r\nset-cookie: a=b".to_owned());
        Router::<()>::new()
            .route("/far", get(far))
            .route("/broken", get(broken))
    };
    trial::run(routes, async |client| {
        let reply = client.get("/far").await;
        assert_eq!(
            reply.headers["location"],
            "https://a.org/%E6%97%A5%E6%9C%AC%20x?y=%20"
        );
        let reply = client.get("/broken").await;
        assert_eq!(reply.status, 500);
        assert!(!reply.headers.contains_key("location"));
    });
}

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
fn handler_that_takes_too_long_is_dropped() {
    struct Dropped(Rc<Cell<bool>>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.set(true);
        }
    }
    struct App(Rc<Cell<bool>>);
    impl Plugin for App {
        async fn start(_: &Worker) -> Result<App> {
            Ok(App(Rc::default()))
        }
    }
    async fn slow(app: State<App>) {
        let _held = Dropped(Rc::clone(&app.0));
        tokio::time::sleep(Duration::from_secs(3600)).await;
    }
    let settings = Settings {
        limits: Limits {
            request_ms_max: 20,
            ..Limits::default()
        },
        ..Settings::default()
    };
    let routes = || Router::<App>::new().route("/", get(slow));
    trial::run_with(settings, routes, async |client| {
        let reply = client.get("/").await;
        assert_eq!(reply.status, 504);
        assert!(reply.text().contains("request_ms_max (20 ms)"));
        assert!(client.state().0.get());
    });
}

#[test]
fn one_waiting_request_more_than_the_limit_is_refused() {
    let settings = Settings {
        limits: Limits {
            requests_max: 1,
            ..Limits::default()
        },
        ..Settings::default()
    };
    let begun = Rc::new(Cell::new(0));
    let routes = || {
        let begun = Rc::clone(&begun);
        let slow = async move || {
            begun.set(begun.get() + 1);
            tokio::time::sleep(Duration::from_millis(50)).await;
        };
        Router::<()>::new().route("/slow", get(slow))
    };
    trial::run_with(settings, routes, async |client| {
        let (first, second) = tokio::join!(client.get("/slow"), client.get("/slow"));
        assert_eq!(first.status, 204);
        assert_eq!(second.status, 503);
        assert!(second.text().contains("requests_max"));
        assert_eq!(begun.get(), 1);
        assert_eq!(client.get("/slow").await.status, 204);
    });
}

#[test]
fn bodies_are_written_while_they_are_sent() {
    let routes = || {
        let pieces = async || {
            StreamResponse::new("text/plain", async |out| {
                for piece in ["a", "b", "c"] {
                    out.write(piece).await?;
                    tokio::task::yield_now().await;
                }
                Ok(())
            })
        };
        let broken = async || {
            StreamResponse::new("text/plain", async |out| {
                out.write("a").await?;
                Err(Error::Usage("no more".into()))
            })
        };
        let events = async || {
            Sse::new(async |events| {
                events.send("one").await?;
                let event = Event {
                    name: Some("two".to_owned()),
                    reconnect_ms: Some(500),
                    ..Event::default()
                };
                events.send_event(event).await
            })
        };
        Router::<()>::new()
            .route("/pieces", get(pieces))
            .route("/broken", get(broken))
            .route("/events", get(events))
    };
    trial::run(routes, async |client| {
        assert_eq!(client.get("/pieces").await.text(), "abc");
        assert!(client.get("/broken").await.body.is_err());
        let events = client.get("/events").await;
        assert_eq!(events.header("content-type"), Some("text/event-stream"));
        assert_eq!(events.header("cache-control"), Some("no-store"));
        assert_eq!(
            events.text(),
            "data: one\n\nevent: two\nretry: 500\ndata: \n\n"
        );
    });
}

#[test]
fn plugin_stops_after_timers_and_streams() {
    thread_local!(static LOG: RefCell<Vec<String>> = RefCell::default());
    fn log(what: impl Into<String>) {
        LOG.with_borrow_mut(|log| log.push(what.into()));
    }
    struct App(Cell<u32>);
    impl Plugin for App {
        async fn start(_: &Worker) -> Result<App> {
            log("start");
            Ok(App(Cell::new(0)))
        }
        async fn stop(&self) {
            log(format!("stop after a tick: {}", self.0.get() > 0));
        }
    }
    impl Drop for App {
        fn drop(&mut self) {
            log("drop");
        }
    }
    let routes = || {
        Router::<App>::new()
            .every(
                Duration::from_millis(1),
                On::OneWorker,
                async |app: &App| {
                    app.0.set(app.0.get() + 1);
                },
            )
            .route("/", get(async |app: State<App>| app.0.get().to_string()))
    };
    trial::run(routes, async |client| {
        while client.get("/").await.text() == "0" {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    });
    let log = LOG.take();
    assert_eq!(log, ["start", "stop after a tick: true", "drop"]);
}

#[test]
fn files_are_served_where_no_route_is() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.txt"), "file").unwrap();
    let path = folder.path().to_owned();
    let routes = move || {
        Router::<()>::new()
            .files("/public", path.clone())
            .route("/public/b.txt", get(async || "route"))
            .not_found(async |request: Request| {
                (404, format!("no {}", request.uri)).into_response()
            })
    };
    check(
        routes,
        &[
            ("GET /public/a.txt", "200 file"),
            ("GET /public/b.txt", "200 route"),
            ("GET /public/c.txt", "404 no /public/c.txt"),
        ],
    );
}

#[test]
#[should_panic(expected = "tests/routes.rs")]
fn wrong_pattern_is_reported_with_its_line() {
    let routes = || Router::<()>::new().route("/{a}x", get(async || ""));
    trial::run(routes, async |_| {});
}

/// What an application says that cannot load for the period of its timer.
fn refused_period(period: Duration) -> String {
    let load = move || {
        let routes = move || Router::<()>::new().every(period, On::AllWorkers, async |_: &()| {});
        trial::run(routes, async |_| {});
    };
    let panic = std::panic::catch_unwind(load).expect_err("it loads");
    panic.downcast_ref::<String>().unwrap().clone()
}

#[test]
fn timer_with_a_period_no_clock_can_keep_is_refused_with_its_line() {
    for (period, shown) in [
        (Duration::ZERO, "0.0"),
        (Duration::from_nanos(1), "1e-9"),
        (Duration::from_secs(1 << 40), "1099511627776.0"),
        (Duration::MAX, "1.8446744073709552e19"),
    ] {
        let refusal = refused_period(period);
        let reason = format!(
            "every takes from 0.001 to timer_seconds_max (1000000000) seconds, not {shown}"
        );
        assert!(refusal.ends_with(&reason), "{refusal}");
        assert!(refusal.contains("tests/routes.rs:"), "{refusal}");
    }
}

#[test]
fn refusal_of_a_handler_says_when_to_come_back() {
    let routes = || {
        let refuses = async || {
            let busy = StatusCode::SERVICE_UNAVAILABLE;
            Err::<(), _>(Error::refused(busy, "not now"))
        };
        Router::<()>::new().route("/", get(refuses))
    };
    // In development mode, too.
    trial::run(routes, async |client| {
        let reply = client.get("/").await;
        assert_eq!(
            (reply.status.as_u16(), reply.header("retry-after")),
            (503, Some("1"))
        );
        assert_eq!(reply.text(), "not now\n");
    });
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

#[test]
fn files_of_the_application_are_read_and_sent_from_their_folder_alone() {
    struct App(String);
    impl Plugin for App {
        async fn start(worker: &Worker) -> Result<App> {
            let words = worker.read_file("words.txt").await?;
            let outside = worker.read_file("../words.txt").await;
            assert!(outside.unwrap_err().to_string().contains("is no path"));
            let outside = worker.read_file("/etc/passwd").await.unwrap_err();
            assert!(
                matches!(&outside, Error::File(AppFileError::Outside { path, .. }) if path == "/etc/passwd")
            );
            let none = worker.read_file("none.txt").await.unwrap_err();
            assert!(
                matches!(none, Error::File(AppFileError::Io { .. })),
                "{none}"
            );
            Ok(App(String::from_utf8_lossy(&words).into_owned()))
        }
    }
    async fn words(app: State<App>) -> String {
        app.0.clone()
    }
    async fn report(files: AppFiles, Path(name): Path<String>) -> Result<Response> {
        files.send("reports", &name).await
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("reports")).unwrap();
    std::fs::write(folder.path().join("reports/may.txt"), "0123456789").unwrap();
    std::fs::write(folder.path().join("words.txt"), "hello").unwrap();
    let settings = Settings {
        folder: folder.path().to_owned(),
        ..Settings::default()
    };
    let routes = || {
        Router::<App>::new()
            .route("/words", get(words))
            .route("/reports/{*path}", get(report))
    };
    trial::run_with(settings, routes, async |client| {
        assert_eq!(client.get("/words").await.text(), "hello");
        let reply = client.get("/reports/may.txt").await;
        assert_eq!(reply.text(), "0123456789");
        let kind = reply.header("content-type").unwrap();
        assert!(kind.starts_with("text/plain"), "{kind}");
        let part = client.get("/reports/may.txt").header("range", "bytes=2-4");
        let part = part.await;
        assert_eq!((part.status.as_u16(), part.text()), (206, "234"));
        // Who may put files into the folder does not change what others get.
        std::fs::write(folder.path().join("reports/may.txt.gz"), "other").unwrap();
        let whole = client.get("/reports/may.txt");
        let whole = whole.header("accept-encoding", "gzip, br").await;
        assert_eq!((whole.status.as_u16(), whole.text()), (200, "0123456789"));
        for path in [
            "none.txt",
            "../words.txt",
            "%2e%2e/words.txt",
            "%00",
            "%2F",
            "%2F%2F",
        ] {
            let reply = client.get(&format!("/reports/{path}")).await;
            assert_eq!(reply.status, 404, "{path}");
        }
    });
}

/// The document of these routes.
fn described<S: 'static>(routes: &Router<S>) -> serde_json::Value {
    let info = tsumugi::openapi::DocumentInfo {
        title: "shop".to_owned(),
        version: "0".to_owned(),
    };
    let operations = routes.operations().unwrap();
    tsumugi_testkit::openapi::read(&tsumugi::openapi::document(&info, &operations))
}

#[test]
fn routes_are_described_by_what_their_arguments_ask_for() {
    struct Key;
    impl std::str::FromStr for Key {
        type Err = ();
        fn from_str(_: &str) -> std::result::Result<Key, ()> {
            Ok(Key)
        }
    }
    impl FromHeader for Key {
        const NAME: &'static str = "x-key";
    }
    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only its fields are looked at")]
    struct Listing {
        page: Option<u32>,
        #[serde(default)]
        tag: Vec<String>,
    }
    async fn guard(_: Header<Key>) {}
    async fn list(_: Query<Listing>) {}
    async fn add(_: Path<String>, _: Result<Json<Point>>) {}
    async fn change(_: Form<Point>) {}
    let inner = Router::<()>::new()
        .before(guard)
        .route("/{name}", post(add).put(change));
    let routes = Router::new().route("/", get(list)).nest("/points", inner);
    let document = described(&routes);
    assert_eq!(
        document["paths"]["/"]["get"]["parameters"],
        serde_json::json!([
            {"name": "page", "in": "query", "schema": {"type": "integer", "minimum": 0}},
            {"name": "tag", "in": "query", "schema": {"type": "array", "items": {"type": "string"}}},
        ])
    );
    let path = &document["paths"]["/points/{name}"];
    let header = serde_json::json!({
        "name": "x-key", "in": "header", "required": true, "schema": {"type": "string"},
    });
    for (method, media_type) in [
        ("post", "application/json"),
        ("put", "application/x-www-form-urlencoded"),
    ] {
        assert_eq!(path[method]["parameters"][1], header, "{method}");
        let content = &path[method]["requestBody"]["content"][media_type];
        let reference = &content["schema"]["$ref"];
        assert_eq!(reference, "#/components/schemas/Point", "{method}");
        let statuses = path[method]["responses"].as_object().unwrap();
        let statuses: Vec<&String> = statuses.keys().collect();
        assert_eq!(statuses, ["200", "400", "422"], "{method}");
    }
    assert_eq!(
        document["components"]["schemas"]["Point"],
        serde_json::json!({
            "type": "object",
            "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}},
            "required": ["x", "y"],
        })
    );
}

#[test]
fn pattern_that_is_wrong_is_named_instead_of_described() {
    async fn none() {}
    let routes = Router::<()>::new().route("/{id}.json", get(none));
    let error = routes.operations().unwrap_err().to_string();
    assert!(error.contains("not a whole segment"), "{error}");
}
