//! What the results of handlers become: statuses, redirects, refusals, streams and files.

use http::StatusCode;
use tsumugi::{
    AppFileError, AppFiles, Error, Event, Html, IntoResponse, Json, Path, Plugin, Redirect,
    Request, Response, Result, Router, Settings, Sse, State, StreamResponse, Worker, get, post,
    trial,
};

use crate::{Point, check};

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
