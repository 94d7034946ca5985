//! What the arguments of handlers are made from, and how routes are described by them.

use bytes::Bytes;
use serde::Deserialize;
use tsumugi::{
    BodyStream, Cookies, Form, FromHeader, Header, Headers, Json, Multipart, Output, Path, Query,
    Request, Result, Router, StreamResponse, Trailers, Worker, any, get, post, put, trial,
};

use crate::{Point, check};

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
