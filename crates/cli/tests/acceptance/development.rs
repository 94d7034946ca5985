//! What somebody sees who writes an application under `serve --dev`: answers to errors, the first load, what is remarked on in the log.
//! Not the pages of browsers in their details (`returning`).

use crate::rig::{Reply, Site, pause};

const APP: &str = r#"
helper = 1

get("/raise") do
  raise ArgumentError, "wrong <b>argument</b>"
end
get("/notes") { "all" }
post("/notes") { "made" }
get("/notes/:id", id: Integer) { |id| "note #{id}" }
"#;

fn ask(site: &Site, method: &str, path: &str, accept: &str) -> Reply {
    let mut client = site.connect();
    let accept = match accept {
        "" => String::new(),
        ranges => format!("accept: {ranges}\r\n"),
    };
    client.send(method, path, &accept, "");
    client.receive()
}

#[track_caller]
fn check(reply: &Reply, status: u16, media_type: &str, pieces: &[&str]) {
    let text = reply.text();
    assert_eq!(reply.status, status, "{text}");
    let found = reply.header("content-type").unwrap_or_default();
    assert!(found.starts_with(media_type), "{found}: {text}");
    for piece in pieces {
        assert!(text.contains(piece), "no {piece:?} in {text}");
    }
}

const BROWSER: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

#[test]
fn error_is_text_unless_the_client_names_html() {
    let site = Site::start_with(APP, &["--dev"]);
    let plain = [
        "500 ArgumentError: wrong <b>argument</b>\napp.rb:5\n",
        ">    5    raise ArgumentError",
    ];
    for accept in ["", "*/*", "application/json"] {
        let reply = ask(&site, "GET", "/raise", accept);
        check(&reply, 500, "text/plain", &plain);
        assert!(!reply.text().contains("helper"), "{}", reply.text());
    }
    let pieces = ["<h1>ArgumentError</h1>", "wrong &lt;b&gt;", "helper = 1"];
    let reply = ask(&site, "GET", "/raise", BROWSER);
    check(&reply, 500, "text/html", &pieces);
}

#[test]
fn path_without_a_route_is_answered_with_those_that_there_are() {
    let site = Site::start_with(APP, &["--dev"]);
    let near = [
        "404 not found: GET /note\n",
        "GET   /notes\n  POST  /notes\n",
    ];
    check(&ask(&site, "GET", "/note", "*/*"), 404, "text/plain", &near);
    let reply = ask(&site, "GET", "/note", BROWSER);
    check(&reply, 404, "text/html", &["GET   /notes\nPOST  /notes\n"]);
    let reply = ask(&site, "DELETE", "/notes", "*/*");
    let pieces = ["405 method not allowed: DELETE /notes", "POST  /notes"];
    check(&reply, 405, "text/plain", &pieces);
    assert!(!reply.text().contains("/notes/:id"), "{}", reply.text());
    assert_eq!(reply.header("allow"), Some("GET, HEAD, POST, OPTIONS"));

    let site = Site::start(APP);
    for (method, path, expected) in [
        ("GET", "/note", "not found\n"),
        ("DELETE", "/notes", "method not allowed\n"),
    ] {
        assert_eq!(ask(&site, method, path, BROWSER).text(), expected);
    }
}

/// Applications that do not load, and what is said of each.
const UNLOADABLE: &[(&str, &[&str])] = &[
    (
        "get('/') { ",
        &["500 the application does not load: app.rb:1"],
    ),
    (
        "a = 1\nraise 'no settings'\n",
        &["500 RuntimeError: no settings\napp.rb:2\n", ">    2  raise"],
    ),
    (
        "db = DB.connect 'sqlite:a.db'\ndb.migrate",
        &["500 DB::", "migrations/001_wrong.rb:1"],
    ),
    (
        "get('/a') { 1 }\nget('/a') { 2 }",
        &["500 the application does not load: app.rb:2", "app.rb:1"],
    ),
];

#[test]
fn application_that_does_not_load_at_first_is_loaded_when_it_is_mended() {
    let workers = ["--dev", "--workers", "2"];
    for (app, pieces) in UNLOADABLE {
        let folder = std::sync::Arc::new(tempfile::tempdir().unwrap());
        let migrations = folder.path().join("migrations");
        std::fs::create_dir(&migrations).unwrap();
        std::fs::write(migrations.join("001_wrong.rb"), "up { raise 'wrong' }").unwrap();
        std::fs::write(folder.path().join("app.rb"), app).unwrap();
        let site = Site::run_in(folder, &workers).listening();
        site.expect_log("serving");
        let told = site.log().matches("the application does not load").count();
        assert_eq!(told, 1, "{}", site.log());
        for _ in 0..4 {
            check(&ask(&site, "GET", "/a", "*/*"), 500, "text/plain", pieces);
        }
        check(&ask(&site, "POST", "/any", BROWSER), 500, "text/html", &[]);
        site.write("app.rb", "raise 'still not'");
        site.expect_log("not reloaded");
        let still = ["500 RuntimeError: still not"];
        while !ask(&site, "GET", "/", "").text().contains(still[0]) {
            pause(20);
        }
        site.write("app.rb", "get('/') { 'mended' }");
        site.until("/", "mended");
    }
}

#[test]
fn application_that_does_not_load_ends_a_server_of_production() {
    let folder = std::sync::Arc::new(tempfile::tempdir().unwrap());
    std::fs::write(folder.path().join("app.rb"), "raise 'no settings'").unwrap();
    let mut site = Site::run_in(folder, &[]);
    assert_eq!(site.exit_code(), 1);
    site.expect_log("no settings");
}

#[test]
fn files_of_tests_reload_only_what_loads_them() {
    let site = Site::start_with("get('/') { 'one' }", &["--dev"]);
    std::fs::create_dir(site.folder().join("test")).unwrap();
    site.write("test/app_test.rb", "test('x') { }");
    site.write("test/support.rb", "SAID = 'support'");
    // Twice as long as files are looked at.
    pause(1_000);
    assert!(!site.log().contains("has changed"), "{}", site.log());
    site.write(
        "app.rb",
        "require_relative 'test/support'\nget('/') { SAID }",
    );
    site.until("/", "support");
    site.write("test/support.rb", "SAID = 'another support'");
    site.until("/", "another support");
    assert!(!site.log().contains("app_test.rb"), "{}", site.log());
}

#[test]
fn file_of_tests_that_the_first_load_lacked_is_loaded_when_it_is_there() {
    let folder = std::sync::Arc::new(tempfile::tempdir().unwrap());
    std::fs::create_dir(folder.path().join("test")).unwrap();
    let app = "require_relative 'test/support'\nget('/') { SAID }";
    std::fs::write(folder.path().join("app.rb"), app).unwrap();
    let site = Site::run_in(folder, &["--dev"]).listening();
    site.expect_log("the application does not load");
    site.write("test/support.rb", "SAID = 'support'");
    site.until("/", "support");
}

#[test]
fn timers_of_an_application_that_does_not_load_never_tick() {
    let folder = std::sync::Arc::new(tempfile::tempdir().unwrap());
    // One job more than there may be is noticed last.
    let app = "jobs DB.connect('sqlite:a.db')\nevery(0.1) { log.info 'tick' }\n501.times { |i| job(\"j#{i}\") { 1 } }";
    std::fs::write(folder.path().join("app.rb"), app).unwrap();
    let site = Site::run_in(folder, &["--dev"]).listening();
    site.expect_log("the application does not load");
    pause(1_000);
    assert!(!site.log().contains("tick"), "{}", site.log());
}

#[test]
fn process_that_serves_is_not_replaced_by_one_that_does_not_load() {
    let folder = std::sync::Arc::new(tempfile::tempdir().unwrap());
    std::fs::write(folder.path().join("app.rb"), "get('/') { 'one' }").unwrap();
    let socket = folder.path().join("handover").display().to_string();
    let arguments = ["--dev", "--handover", &socket];
    let first = Site::run_in(std::sync::Arc::clone(&folder), &arguments).listening();
    first.expect_log("serving");
    first.write("app.rb", "raise 'wrong'");
    let mut second = Site::run_in(folder, &arguments);
    assert_eq!(second.exit_code(), 1);
    first.check("/", "one");
}

const RESULTS: &str = r#"
get("/integer") { 404 }
get("/triple") { [404, { "x" => "y" }, ["gone"]] }
get("/list") { [404, 1, 2] }
get("/number") { 42 }
get("/meant") { status 201; 404 }
"#;

#[test]
fn result_that_looks_like_a_status_is_remarked_on_once() {
    let site = Site::start_with(RESULTS, &["--dev"]);
    for _ in 0..2 {
        site.check("/integer", "404");
        site.check("/triple", r#"[404,{"x":"y"},["gone"]]"#);
        site.check("/list", "[404,1,2]");
        site.check("/number", "42");
        assert_eq!(site.check_status("/meant", 201).text(), "404");
    }
    site.expect_log("the handler at app.rb:2 returned what looks like a status alone");
    site.expect_log("the handler at app.rb:3 returned what looks like status, headers and body");
    let remarks = site.log().matches("looks like").count();
    assert_eq!(remarks, 2, "{}", site.log());

    let site = Site::start(RESULTS);
    site.check("/integer", "404");
    assert!(!site.log().contains("looks like"), "{}", site.log());
}

#[test]
fn frames_have_no_names_that_the_author_has_not_given() {
    let app = r#"
before { raise "in a filter" if query[:filter] }
get("/view") { render "wrong" }
get("/") { "" }
"#;
    let site = Site::start_with(app, &["--dev"]);
    std::fs::create_dir(site.folder().join("views")).unwrap();
    site.write("views/wrong.erb", "<p>\n<%= raise 'in a view' %>");
    let text = site.check_status("/view", 500).text();
    let frames = "Backtrace\n  views/wrong.erb:2\n  app.rb:3\n";
    assert!(text.contains(frames), "{text}");
    let text = site.check_status("/?filter=1", 500).text();
    assert!(text.contains("Backtrace\n  app.rb:2\n"), "{text}");
    assert!(!site.log().contains(":in __"), "{}", site.log());
}

#[test]
fn long_migration_is_not_logged_as_a_stall() {
    let folder = tempfile::tempdir().unwrap();
    let migrations = folder.path().join("migrations");
    std::fs::create_dir(&migrations).unwrap();
    let slow = "up do\n  i = 0\n  i += 1 while i < 20_000_000\nend\n";
    std::fs::write(migrations.join("20260101120000_slow.rb"), slow).unwrap();
    std::fs::write(folder.path().join("app.rb"), "").unwrap();
    let mut migrate = std::process::Command::new(env!("CARGO_BIN_EXE_tsumugi"));
    migrate.args(["migrate", "up"]).current_dir(folder.path());
    let ended = migrate.env("TSUMUGI_LOG", "warn").output().unwrap();
    assert!(ended.status.success(), "{ended:?}");
    let log = String::from_utf8_lossy(&ended.stderr);
    assert!(!log.contains("held") && !log.contains("holds"), "{log}");
}
