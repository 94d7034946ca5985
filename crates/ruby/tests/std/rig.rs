//! Loads application files in this process and asks them for pages. Not a server: requests are values.

use std::path::Path;
use std::rc::Rc;
use std::time::Instant;

use http::{HeaderMap, Method, Version};
use tsumugi_http::{Request, RequestBody, RequestScheme};
use tsumugi_ruby::{App, Settings};

/// Captures what a snippet prints; `GET /` answers it.
const CAPTURE: &str = "$out = ''; \
    def puts(*v) = (v.empty? ? $out << \"\\n\" : v.flatten.each { |l| l = l.to_s; $out << l; $out << \"\\n\" unless l.end_with?(\"\\n\") }); \
    def p(*v) = (v.each { |l| $out << l.inspect << \"\\n\" }; v.size > 1 ? v : v[0]); \
    get('/') { $out };";

/// Runs `work` with the application of this file.
pub fn with_app<T>(path: &Path, work: impl AsyncFnOnce(Rc<App>) -> T) -> Result<T, String> {
    let settings = Settings {
        app: path.to_owned(),
        ..Settings::default()
    };
    tsumugi_worker::alone(
        tsumugi_worker::WorkerLimits::default(),
        async move |worker| {
            let app = App::load(&worker, Rc::new(settings)).await;
            let app = app.map_err(|error| error.to_string())?;
            Ok(work(app).await)
        },
    )
    .expect("a worker starts")
}

/// The body (and the status, unless it is 200) of a page.
pub async fn page(app: &Rc<App>, path: &str) -> String {
    let request = Request {
        method: Method::GET,
        uri: path.parse().expect("a path"),
        version: Version::HTTP_11,
        headers: HeaderMap::new().into(),
        body: RequestBody::in_memory(bytes::Bytes::new()),
        peer: None,
        received_at: Instant::now(),
        number: tsumugi_http::RequestNumber::default(),
        mounted_path: None,
        activity: None,
        scheme: RequestScheme::default(),
    };
    let response = app.answer(Box::new(request)).await;
    let status = response.status;
    let body = response
        .into_parts()
        .body
        .read_all()
        .await
        .expect("a whole body");
    let body = String::from_utf8_lossy(&body).into_owned();
    match status.as_u16() {
        200 => body,
        code => format!("{code} {body}"),
    }
}

/// What a program prints while it loads, or why it does not load.
pub fn output(program: &str) -> String {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("app.rb");
    std::fs::write(&path, format!("{CAPTURE}{program}")).expect("the file is written");
    with_app(&path, async |app| page(&app, "/").await).unwrap_or_else(|error| error)
}
