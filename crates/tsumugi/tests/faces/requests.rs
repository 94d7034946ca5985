//! What a request meets before, beside and instead of its handler: no route, another method, files, too many at once, a deadline. One
//! application in each language, and one table for both.

use std::path::Path as FilePath;

use tsumugi::http::HeaderValue;
use tsumugi::prelude::*;
use tsumugi::{CachePolicy, Limits, Settings, trial};

const RUBY: &str = r#"
public "public", at: "/files"
public "public", at: "/hour", cache: 3600
public "public", at: "/words", cache: "private"
get("/item/:id") { |id| "item #{id}" }
get("/wait") { sleep 0.1; "waited" }
get("/slow") { sleep 60 }
"#;

fn native(folder: &FilePath) -> Router<()> {
    let wait = async || {
        sleep(Duration::from_millis(100)).await;
        "waited"
    };
    Router::new()
        .files("/files", folder.join("public"))
        .files_cached("/hour", folder.join("public"), CachePolicy::Seconds(3_600))
        .files_cached(
            "/words",
            folder.join("public"),
            CachePolicy::Header(HeaderValue::from_static("private")),
        )
        .route(
            "/item/{id}",
            get(async |Path(id): Path<String>| format!("item {id}")),
        )
        .route("/wait", get(wait))
        .route("/slow", get(async || sleep(Duration::from_secs(60)).await))
}

/// Runs a test with the application in each language, under these limits.
fn on_each_face(limits: Limits, test: impl AsyncFn(&str, &trial::Client<()>)) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("public")).unwrap();
    std::fs::write(folder.path().join("public/a.txt"), "file").unwrap();
    std::fs::write(folder.path().join("public/index.html"), "index").unwrap();
    let file = folder.path().join("app.rb");
    std::fs::write(&file, RUBY).unwrap();
    let ruby = tsumugi_ruby::Limits {
        requests_max: limits.requests_max,
        request_ms_max: limits.request_ms_max,
        ..tsumugi_ruby::Limits::default()
    };
    let settings = Settings {
        limits,
        ..Settings::default()
    };
    let routes = || native(folder.path());
    trial::run_with(settings, routes, async |client| test("rust", client).await);
    // The limits are those of the application that is mounted.
    let routes = || Router::<()>::new().mount("/", Ruby::new(&file).limits(ruby.clone()));
    trial::run(routes, async |client| test("ruby", client).await);
}

#[test]
fn request_without_a_route_has_the_same_answer_in_both_faces() {
    on_each_face(Limits::default(), async |face, client| {
        for (request, status, text, header) in [
            ("GET /item/7", 200, "item 7", None),
            ("HEAD /item/7", 200, "", None),
            ("GET /none", 404, "not found\n", None),
            (
                "POST /item/7",
                405,
                "method not allowed\n",
                Some(("allow", "GET, HEAD, OPTIONS")),
            ),
            (
                "OPTIONS /item/7",
                204,
                "",
                Some(("allow", "GET, HEAD, OPTIONS")),
            ),
            ("GET /item/%zz", 400, "malformed path\n", None),
            (
                "GET /files/a.txt",
                200,
                "file",
                Some(("cache-control", "no-cache")),
            ),
            (
                "GET /hour/a.txt",
                200,
                "file",
                Some(("cache-control", "public, max-age=3600")),
            ),
            (
                "GET /words/a.txt",
                200,
                "file",
                Some(("cache-control", "private")),
            ),
            ("GET /files/", 200, "index", None),
            // Links in the index are relative to the path with the slash.
            ("GET /files", 308, "", Some(("location", "/files/"))),
            ("HEAD /files/a.txt", 200, "", None),
            ("POST /files/a.txt", 404, "not found\n", None),
            ("GET /files/none", 404, "not found\n", None),
        ] {
            let (method, path) = request.split_once(' ').unwrap();
            let reply = client.request(method.parse().unwrap(), path).await;
            let found = header.and_then(|(name, _)| reply.header(name));
            assert_eq!(
                (reply.status.as_u16(), reply.text(), found),
                (status, text, header.map(|(_, value)| value)),
                "{face}: {request}"
            );
        }
    });
}

#[test]
fn request_beyond_requests_max_is_refused_until_one_ends() {
    let limits = Limits {
        requests_max: 1,
        ..Limits::default()
    };
    on_each_face(limits, async |face, client| {
        let (first, second) = tokio::join!(client.get("/wait"), client.get("/wait"));
        assert_eq!((first.status.as_u16(), first.text()), (200, "waited"));
        assert_eq!(
            (
                second.status.as_u16(),
                second.text(),
                second.header("retry-after")
            ),
            (503, "requests_max is reached; try again later\n", Some("1")),
            "{face}"
        );
        // One that does not wait is refused too: it cannot be known before.
        let (_, third) = tokio::join!(client.get("/wait"), client.get("/item/7"));
        assert_eq!(third.status.as_u16(), 503, "{face}");
        assert_eq!(client.get("/wait").await.status.as_u16(), 200, "{face}");
    });
}

#[test]
fn handler_beyond_request_ms_max_is_answered_504_and_names_the_limit() {
    let limits = Limits {
        request_ms_max: 50,
        ..Limits::default()
    };
    on_each_face(limits, async |face, client| {
        let reply = client.get("/slow").await;
        let text = "the handler took longer than request_ms_max (50 ms)\n";
        assert_eq!((reply.status.as_u16(), reply.text()), (504, text), "{face}");
    });
}
