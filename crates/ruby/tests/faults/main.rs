//! Every allocation of a VM fails once, at every place of an application's handlers, and while it loads: each request is answered, and
//! the same one then as before; the process goes on, nothing is kept. `TSUMUGI_FAULTS=full` takes every allocation and more kinds of
//! failure, where a usual run takes some; `TSUMUGI_FAULTS=NUMBER` takes so many places of each, `TSUMUGI_FAULTS=/PATH/NUMBER` one place
//! of one request.

use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

use http::{HeaderMap, HeaderName, HeaderValue, Method, Version};
use tempfile::TempDir;
use tsumugi_http::{Request, RequestBody, RequestNumber};
use tsumugi_mruby::faults::{FaultPlan, Faults};
use tsumugi_ruby::{App, Mode, Secret, Settings};

const APP: &str = include_str!("app.rb");
const VIEWS: &[(&str, &str)] = &[
    ("layout.erb", "<title><%= @title %></title><%= yield %>."),
    (
        "page.erb",
        "<% names.each do |name| -%>\n<%= render 'item', name: name %>\n<% end -%>\n",
    ),
    ("item.erb", "[<%= shout name %>]"),
];

/// Places of one request, and of a load, that a usual run tries; a full one tries all of a request, and many more of a load.
const PLACES: u64 = 25;
const PLACES_OF_A_LOAD: u64 = 40;
const PLACES_OF_A_FULL_LOAD: u64 = 4_000;

/// A page of objects more or less, and the tables that grow once.
const SLACK_BYTES: usize = 256 << 10;

const JSON: &str = "application/json";
const FORM: &str = "application/x-www-form-urlencoded";

/// Method, path, content type, body, and the status of its answer when nothing fails.
type Visit = (&'static str, &'static str, &'static str, &'static str, u16);

const VISITS: &[Visit] = &[
    (
        "POST",
        "/echo",
        "text/plain",
        "a body of some length, which becomes a String",
        200,
    ),
    (
        "POST",
        "/json",
        JSON,
        "{\"list\":[1,2,3.5],\"people\":[{\"name\":\"a\"},{\"name\":\"b\"}],\"deep\":[[[{\"x\":[null,true]}]]]}",
        200,
    ),
    ("POST", "/json", JSON, "{\"list\":", 400),
    ("POST", "/form", FORM, "text=some+text&more=1&more=2", 200),
    (
        "POST",
        "/form",
        "multipart/form-data; boundary=x",
        "--x\r\ncontent-disposition: form-data; name=\"text\"\r\n\r\nin a part\r\n--x--\r\n",
        200,
    ),
    ("POST", "/require", JSON, "{\"name\":\"n\",\"age\":3}", 200),
    ("POST", "/require", JSON, "{\"name\":1}", 422),
    ("POST", "/pieces", "text/plain", "in pieces", 200),
    ("GET", "/search?q=text&page=2", "", "", 200),
    ("GET", "/search?page=none", "", "", 400),
    ("GET", "/people/3", "", "", 200),
    ("GET", "/rows", "", "", 200),
    ("GET", "/values", "", "", 200),
    ("GET", "/transaction", "", "", 200),
    ("GET", "/taken", "", "", 200),
    ("GET", "/builder", "", "", 200),
    ("GET", "/stream_rows", "", "", 200),
    ("GET", "/page", "", "", 200),
    ("GET", "/session", "", "", 200),
    ("GET", "/kv", "", "", 200),
    ("GET", "/parallel", "", "", 200),
    ("GET", "/failing", "", "", 400),
    ("GET", "/stream", "", "", 200),
    ("GET", "/events", "", "", 200),
    ("GET", "/ensure", "", "", 200),
    ("GET", "/raises", "", "", 500),
    ("GET", "/halts", "", "", 418),
    ("GET", "/regexp", "", "", 200),
    ("GET", "/texts", "", "", 200),
    ("GET", "/channel", "", "", 200),
    ("GET", "/eval", "", "", 200),
    ("GET", "/cookies", "", "", 200),
    ("GET", "/absent", "", "", 404),
];

fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("app.rb"), APP).expect("the file is written");
    let views = folder.path().join("views");
    std::fs::create_dir(&views).expect("the folder is made");
    for (name, text) in VIEWS {
        std::fs::write(views.join(name), text).expect("the file is written");
    }
    folder
}

fn settings(folder: &Path) -> Rc<Settings> {
    Rc::new(Settings {
        app: folder.join("app.rb"),
        data_dir: folder.to_owned(),
        mode: Mode::Production,
        secret: Some(Secret::new("a secret of these tests that is long enough")),
        ..Settings::default()
    })
}

fn request((method, path, content_type, body, _): Visit) -> Box<Request> {
    let mut headers = HeaderMap::new();
    headers.insert("host", HeaderValue::from_static("example.org"));
    if !content_type.is_empty() {
        let name = HeaderName::from_static("content-type");
        headers.insert(name, HeaderValue::from_static(content_type));
    }
    Box::new(Request {
        method: method.parse::<Method>().expect("a method"),
        uri: path.parse().expect("a path"),
        version: Version::HTTP_11,
        headers: headers.into(),
        body: RequestBody::in_memory(bytes::Bytes::from_static(body.as_bytes())),
        peer: None,
        received_at: Instant::now(),
        number: RequestNumber::default(),
        mounted_path: None,
        activity: None,
        scheme: tsumugi_http::RequestScheme::default(),
    })
}

/// Status and body; a stream that was broken off says so.
async fn visit(app: &Rc<App>, visit: Visit) -> String {
    let response = app.answer(request(visit)).await;
    let status = response.status.as_u16();
    match response.into_parts().body.read_all().await {
        Ok(body) => format!("{status} {}", String::from_utf8_lossy(&body)),
        Err(_) => format!("{status} (broken off)"),
    }
}

/// A client that goes away while its handler waits.
async fn leave(app: &Rc<App>) {
    let waiting = app.answer(request(("GET", "/waits", "", "", 200)));
    let _ = tokio::time::timeout(Duration::from_millis(1), waiting).await;
    until("its handler has ended", || app.requests() == 0).await;
}

async fn until(what: &str, done: impl Fn() -> bool) {
    for _ in 0..5_000 {
        if done() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    panic!("waited for ever: {what}");
}

fn is_full() -> bool {
    std::env::var("TSUMUGI_FAULTS").is_ok_and(|text| text == "full")
}

/// How many places the environment asks for.
fn places() -> Option<u64> {
    std::env::var("TSUMUGI_FAULTS").ok()?.parse().ok()
}

/// The request and the allocation that the environment names.
fn only() -> Option<(String, u64)> {
    let text = std::env::var("TSUMUGI_FAULTS").ok()?;
    let (path, number) = text.rsplit_once('/')?;
    Some((path.to_owned(), number.parse().ok()?))
}

fn plans(path: &str, seen: u64) -> Vec<FaultPlan> {
    let runs = |step: u64, count| {
        (1..=seen)
            .step_by(usize::try_from(step.max(1)).unwrap_or(1))
            .map(move |first| FaultPlan::Run { first, count })
    };
    let chances = |seeds, one_in| (1..=seeds).map(move |seed| FaultPlan::Random { seed, one_in });
    match only() {
        Some((only, _)) if only != path => Vec::new(),
        Some((_, first)) => vec![FaultPlan::Run { first, count: 2 }],
        None if is_full() => runs(1, 2)
            .chain(runs(1, 1))
            .chain(runs(2, 6))
            .chain(runs(5, 80))
            .chain(chances(100, 40))
            .chain(chances(100, 4))
            .collect(),
        None => {
            let step = seen.div_ceil(places().unwrap_or(PLACES));
            runs(step, 2)
                .chain(runs(5 * step, 1))
                .chain(runs(5 * step, 30))
                .chain(chances(4, 10))
                .collect()
        }
    }
}

/// Bytes and roots that are left when nothing runs.
async fn level(app: &Rc<App>) -> (usize, usize) {
    until("no request runs", || app.requests() == 0).await;
    for _ in 0..3 {
        tokio::task::yield_now().await;
    }
    app.vm().enter(|scope| scope.collect());
    app.vm().enter(|scope| scope.collect());
    (app.vm().memory_used(), app.vm().live_roots())
}

/// What may be answered instead where an allocation failed: an error, or a response that was broken off.
fn is_refused(found: &str) -> bool {
    found.starts_with("500 ") || found.starts_with("503 ") || found.ends_with(" (broken off)")
}

async fn check(app: &Rc<App>, faults: &Faults, one: Visit) {
    let expected = visit(app, one).await;
    assert!(
        expected.starts_with(&format!("{} ", one.4)),
        "{one:?}: {expected}"
    );
    for _ in 0..3 {
        assert_eq!(visit(app, one).await, expected, "{one:?}");
    }
    faults.plan(FaultPlan::Never);
    visit(app, one).await;
    let seen = faults.allocations();
    let before = level(app).await;
    for plan in plans(one.1, seen) {
        if std::env::var_os("TSUMUGI_FAULTS").is_some() {
            eprintln!("{} {plan:?} of {seen}", one.1);
        }
        faults.plan(plan);
        let found = visit(app, one).await;
        if let FaultPlan::Run { first, .. } = plan
            && first % 7 == 1
        {
            leave(app).await;
        }
        let failed = faults.failed();
        faults.plan(FaultPlan::Never);
        assert!(
            found == expected || failed > 0 && is_refused(&found),
            "{one:?} with {plan:?}: {found} instead of {expected}"
        );
        assert_eq!(visit(app, one).await, expected, "{one:?} after {plan:?}");
    }
    let after = level(app).await;
    assert!(
        after.0 <= before.0 + SLACK_BYTES,
        "{one:?}: {after:?} bytes and roots, {before:?} before"
    );
    assert!(
        after.1 <= before.1 + 2,
        "{one:?}: {after:?} bytes and roots, {before:?} before"
    );
}

async fn load(worker: &tsumugi_worker::WorkerHandle, folder: &Path) -> Rc<App> {
    let app = App::load(worker, settings(folder)).await;
    app.unwrap_or_else(|error| panic!("{error}"))
}

/// Works with the application, in whose VM allocations may be made to fail.
fn with_faults(work: impl AsyncFnOnce(&Rc<App>, &Faults)) {
    let folder = folder();
    alone(async |worker| {
        let faults = Faults::default();
        let app = {
            let _guard = faults.for_this_thread();
            load(&worker, folder.path()).await
        };
        work(&app, &faults).await;
        app.retire().await;
    });
}

fn alone(work: impl AsyncFnOnce(tsumugi_worker::WorkerHandle)) {
    // A tool that runs the program slowly is no reason to stop it.
    let limits = tsumugi_worker::WorkerLimits {
        turn_cpu_ms_max: 3_600_000,
        ..tsumugi_worker::WorkerLimits::default()
    };
    tsumugi_worker::alone(limits, async move |worker| {
        work(worker).await;
    })
    .expect("a worker starts");
}

#[test]
fn request_that_runs_out_of_memory_anywhere_is_answered_and_the_next_as_before() {
    with_faults(async |app, faults| {
        for one in VISITS {
            check(app, faults, *one).await;
        }
    });
}

#[test]
fn timers_and_requests_together_outlive_failures_by_chance() {
    with_faults(async |app, faults| {
        app.start_timers().unwrap_or_else(|error| panic!("{error}"));
        let mut expected = Vec::new();
        for one in VISITS {
            expected.push(visit(app, *one).await);
        }
        for seed in 0..if is_full() { 300 } else { 6 } {
            faults.plan(FaultPlan::Random { seed, one_in: 30 });
            let together = VISITS.iter().map(|one| visit(app, *one));
            let found = futures_util::future::join_all(together).await;
            faults.plan(FaultPlan::Never);
            for ((one, expected), found) in VISITS.iter().zip(&expected).zip(&found) {
                assert!(
                    found == expected || is_refused(found),
                    "{one:?} with {seed}: {found} instead of {expected}"
                );
            }
            for (one, expected) in VISITS.iter().zip(&expected) {
                assert_eq!(&visit(app, *one).await, expected, "{one:?} after {seed}");
            }
        }
        let ticks = || visit(app, ("GET", "/ticks", "", "", 200));
        for _ in 0..5_000 {
            if ticks().await == "200 5" {
                break;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        assert_eq!(ticks().await, "200 5", "the timer goes on");
    });
}

#[test]
fn application_that_runs_out_of_memory_while_it_loads_is_refused_and_loads_later() {
    let folder = folder();
    alone(async |worker| {
        let faults = Faults::default();
        let _guard = faults.for_this_thread();
        faults.plan(FaultPlan::Never);
        load(&worker, folder.path()).await.retire().await;
        let seen = faults.allocations();
        let usual = if is_full() {
            PLACES_OF_A_FULL_LOAD
        } else {
            PLACES_OF_A_LOAD
        };
        let step = seen.div_ceil(places().unwrap_or(usual));
        let mut refused = 0;
        for first in (1..=seen).step_by(usize::try_from(step).unwrap_or(1)) {
            faults.plan(FaultPlan::Run { first, count: 2 });
            let app = App::load(&worker, settings(folder.path())).await;
            faults.plan(FaultPlan::Never);
            match app {
                Ok(app) => app.retire().await,
                Err(_) => refused += 1,
            }
        }
        assert!(refused > 0, "none of {seen} allocations matters");
        let app = load(&worker, folder.path()).await;
        assert!(visit(&app, VISITS[0]).await.starts_with("200 "));
        app.retire().await;
    });
}
