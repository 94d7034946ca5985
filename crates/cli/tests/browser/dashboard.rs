//! The page of the dashboard in a real browser, against a live application under load: the token, each view, what an operator does there,
//! both languages, a phone. Not what the data means, which `serving/dashboard.rs` tests.
//! Rule: one browser and one application for all of it. What the application says looks like markup wherever it can, and is shown as text.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::chromium::Browser;
use crate::{browser, photograph};

const TOKEN: &str = "a-token-of-the-tests-long-enough";

/// What would run if anything of the page took it for markup.
const HOSTILE: &str = "<img src=x onerror='window.broken=1'>";

const APP: &str = r##"HOSTILE = "<img src=x onerror='window.broken=1'>"
plugin(:db) { DB.connect "sqlite:#{Tsumugi.data_dir}/notes.db", pool: 4 }
plugin(:cache) { KV.open "memory:cache" }
db.execute "create table if not exists notes(id integer primary key, title text not null)"
3.times { |n| db.execute "insert into notes(title) values (?)", "note #{n}" }
jobs db
NEWS = channel("news")

get("/") { { notes: db.query("select count(*) as n from notes").first[:n] } }
get("/notes/:id", id: Integer) do |id|
  note = db.query("select id, title from notes where id = ?", id).first or halt 404
  note.merge(related: db.query("select id, title from notes where id <> ? order by title limit 20", id))
end
get("/search") { cache.fetch("found:1", ttl: 600) { sleep 0.01; db.query("select title from notes where title like ?", "note%") } }
post("/notes") { status 201 }
get("/hostile") do
  cache.set(HOSTILE, HOSTILE)
  db.query("select 1 as \"#{HOSTILE}\"").first.size
end
get("/raise") { raise ArgumentError, HOSTILE }
get("/push") { jobs.push :thumbnail; "pushed" }
get("/ended") { cache.get("ended") || "no" }
get("/slow") do
  begin
    sleep 3600
  ensure
    cache.set "ended", "yes"
  end
end
get("/news") { NEWS.subscribe { |text| text } }
get("/board") do
  cache.get("found:1")
  parallel notes: -> { db.query("select id, title from notes order by title limit 20").size },
           count: -> { db.query("select count(*) as n from notes").first[:n] }, rest: -> { sleep 0.002 }
  { ended: cache.get("ended") }
end
job(:thumbnail, retries: 0) { raise HOSTILE unless cache.get("mended") == "yes" }
get("/mended/:is") { |is| cache.set("mended", is); is }
every(3600) { log.info "rare" }
"##;

/// Keeps what the page says of actions.
const NOTICES: &str = "window.notices = [];
    new MutationObserver(() => notices.push(document.getElementById('notice').textContent))
        .observe(document.getElementById('notice'), { childList: true, characterData: true, subtree: true })";

/// Tables of which a part is out of sight, or that are no tables any more for lack of room, in a window that is 1,200 pixels wide.
const SCROLLED_SIDEWAYS: &str = "[...document.querySelectorAll('.scroll')]
    .filter(e => e.scrollWidth > e.clientWidth || e.closest('.cards'))
    .map(e => e.querySelector('table').dataset.table)";

/// Texts of charts that lie on their lines.
const COVERED_LABELS: &str = "[...document.querySelectorAll('figure.chart')].flatMap(chart => {
    const { left, bottom } = chart.querySelector('.plot').getBoundingClientRect();
    const isOver = (e) => { const box = e.getBoundingClientRect(); return box.right > left && box.top < bottom; };
    return [...chart.querySelectorAll('.scale span, .plot span, .axis span')].filter(isOver).map(e => e.textContent);
})";

/// The views, with the first words of their headings in both languages.
const VIEWS: &[(&str, &str, &str)] = &[
    ("overview", "Overview", "概要"),
    ("requests", "Under way", "処理中"),
    ("traces", "Traces", "トレース"),
    ("errors", "Errors", "エラー"),
    ("statements", "Statements", "SQL 文"),
    ("databases", "Pools", "接続プール"),
    ("stores", "Stores", "ストア"),
    ("work", "Work", "ジョブ等"),
    ("reloads", "Reloads", "再読み込み"),
    ("server", "Server", "サーバー"),
];

/// An application that is served, and asked for something all the time.
struct Application {
    child: Child,
    folder: TempDir,
    address: String,
    admin: String,
    stopped: Arc<AtomicBool>,
    load: Vec<JoinHandle<()>>,
}

impl Application {
    fn start() -> Application {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("app.rb"), APP).unwrap();
        fs::write(folder.path().join("token"), TOKEN).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_tsumugi"))
            .args(["serve", "app.rb", "--workers", "1", "--data", "data"])
            .args(["--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"])
            .args(["--admin-token-file", "token"])
            .current_dir(folder.path())
            .env("NO_COLOR", "1")
            .env_remove("DATABASE_URL")
            .env_remove("TSUMUGI_LOG")
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let mut address = None;
        let mut admin = None;
        let mut all = String::new();
        while address.is_none() || admin.is_none() {
            let begin = all.len();
            let read = log.read_line(&mut all).unwrap();
            assert!(read > 0, "the application does not start:\n{all}");
            address = address.or(word_after(&all[begin..], "listening on http://"));
            admin = admin.or(word_after(&all[begin..], "admin pages on http://"));
        }
        // What it logs later is read so that it never waits for room.
        std::thread::spawn(move || log.lines().map_while(Result::ok).for_each(drop));
        let mut application = Application {
            child,
            folder,
            address: address.unwrap(),
            admin: admin.unwrap(),
            stopped: Arc::default(),
            load: Vec::new(),
        };
        application.begin_load();
        application
    }

    /// Two clients that ask one thing after the other.
    fn begin_load(&mut self) {
        const PATHS: [&str; 8] = [
            "/board", "/", "/notes/1", "/notes/2", "/search", "/", "/notes/3", "/none",
        ];
        for first in 0..2 {
            let (address, stopped) = (self.address.clone(), Arc::clone(&self.stopped));
            self.load.push(std::thread::spawn(move || {
                for path in PATHS.iter().cycle().skip(first) {
                    if stopped.load(Ordering::Relaxed) {
                        return;
                    }
                    get(&address, path);
                    tsumugi_testkit::pause();
                }
            }));
        }
    }

    fn end_load(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
        for client in self.load.drain(..) {
            let _ = client.join();
        }
    }

    fn get(&self, path: &str) -> String {
        get(&self.address, path)
    }

    /// A request that is answered in its own time.
    fn begin(&self, path: &str) -> JoinHandle<String> {
        let (address, path) = (self.address.clone(), path.to_owned());
        std::thread::spawn(move || get(&address, &path))
    }
}

impl Drop for Application {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.end_load();
    }
}

fn word_after(line: &str, piece: &str) -> Option<String> {
    let (_, rest) = line.split_once(piece)?;
    rest.split_whitespace().next().map(str::to_owned)
}

/// The whole answer; nothing from a server that is gone.
fn get(address: &str, path: &str) -> String {
    let mut answer = String::new();
    if let Ok(mut stream) = TcpStream::connect(address) {
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        let _ = stream.write_all(request.as_bytes());
        let _ = stream.read_to_string(&mut answer);
    }
    answer
}

/// The page, and the application it shows.
struct Page {
    browser: Browser,
    application: Application,
}

impl Page {
    /// Opens a view and waits until it has its data.
    fn view(&mut self, view: &str) {
        let script = format!("location.hash = {}", json!(format!("#/{view}")));
        self.browser.evaluate(&script);
        // The heading that stood there before may be of the view that is left.
        self.browser.until(&format!(
            "document.querySelector('#nav [aria-current]')?.hash === {} && document.querySelector('#view[aria-busy=false] h1') !== null
                && document.getElementById('state').dataset.state === 'live'",
            json!(format!("#/{view}"))
        ));
    }

    fn until(&mut self, expression: &str) {
        self.browser.until(expression);
    }

    fn is(&mut self, expression: &str, expected: Value) {
        assert_eq!(self.browser.evaluate(expression), expected, "{expression}");
    }

    /// Waits for a row of a table that has a text in it.
    fn row(&mut self, table: &str, words: &str) {
        let rows = row_script(table, words);
        self.until(&format!("{rows} !== undefined"));
    }

    /// Presses a button of that row.
    fn press(&mut self, table: &str, words: &str, button: &str) {
        self.row(table, words);
        let row = row_script(table, words);
        let buttons = format!("[...{row}.querySelectorAll('button, a')]");
        let pressed = format!(
            "{buttons}.find(e => e.textContent.includes({})).click()",
            json!(button)
        );
        self.browser.evaluate(&pressed);
    }

    fn click(&mut self, selector: &str) {
        let script = format!("document.querySelector({}).click()", json!(selector));
        self.browser.evaluate(&script);
    }

    fn key(&mut self, key: &str, code: u32) {
        for kind in ["keyDown", "keyUp"] {
            let event =
                json!({ "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code });
            self.browser.ask("Input.dispatchKeyEvent", event);
        }
    }

    /// A picture of a view that is not high.
    fn picture(&mut self, name: &str) {
        self.browser
            .evaluate("document.getElementById('notice').textContent = ''");
        self.browser.dress(1200, 440, "light");
        photograph(&mut self.browser, name);
        self.browser.dress(1200, 800, "light");
    }

    /// Waits until the page has said something of an action, which it shows for a moment only.
    fn notice(&mut self, words: &str) {
        let noticed = format!(
            "window.notices.some(notice => notice.includes({}))",
            json!(words)
        );
        self.until(&noticed);
    }

    fn choose(&mut self, select: &str, value: &str) {
        let script = format!(
            "(() => {{ const select = document.getElementById('{select}'); select.value = '{value}'; select.dispatchEvent(new Event('change')); }})()"
        );
        self.browser.evaluate(&script);
    }
}

fn row_script(table: &str, words: &str) -> String {
    format!(
        "[...document.querySelectorAll('table[data-table={table}] tbody tr')].find(row => row.textContent.includes({}))",
        json!(words)
    )
}

#[test]
fn dashboard_of_a_live_application_shows_and_does_what_it_says() {
    let Some(mut browser) = browser("en") else {
        return;
    };
    let application = Application::start();
    browser.dress(1200, 800, "light");
    browser.open(&format!("http://{}/", application.admin));
    let mut page = Page {
        browser,
        application,
    };
    page.browser.evaluate(NOTICES);
    log_in(&mut page);
    overview(&mut page);
    requests(&mut page);
    statements_and_pools(&mut page);
    stores(&mut page);
    work(&mut page);
    errors_and_reloads(&mut page);
    traces(&mut page);
    languages(&mut page);
    phone(&mut page);

    page.is("window.broken === undefined", json!(true));
    let own = format!("http://{}/", page.application.admin);
    let outside = page.browser.requests.iter();
    let outside: Vec<_> = outside
        .filter(|url| !url.starts_with(&own) && !url.starts_with("data:") && *url != "about:blank")
        .collect();
    assert!(outside.is_empty(), "{outside:?}");
    let complaints = &page.browser.complaints;
    assert!(complaints.is_empty(), "{complaints:?}");
    server_gone(&mut page);
}

/// The page asks for the token, refuses another one, and goes on with the right one.
fn log_in(page: &mut Page) {
    page.until("document.activeElement?.id === 'token'");
    for (token, then) in [
        (
            "not this one",
            "document.getElementById('login-error').textContent !== ''",
        ),
        (
            TOKEN,
            "document.querySelectorAll('figure.chart').length === 6",
        ),
    ] {
        let script = format!(
            "document.getElementById('token').value = {}; document.querySelector('#login button').click()",
            json!(token)
        );
        page.browser.evaluate(&script);
        page.until(then);
    }
    page.is("document.cookie", json!(""));
    // The browser itself notes each answer of 401.
    let complaints = &mut page.browser.complaints;
    complaints.retain(|complaint| !complaint.contains("401"));
}

fn overview(page: &mut Page) {
    page.view("overview");
    page.row("routes", "GET /notes/:id");
    page.row("routes", "GET /search");
    page.until("document.querySelector('figure.chart .line').getAttribute('d').includes('L')");
    page.until("document.querySelector('#facts .chip').textContent === 'ready'");
    if std::env::var_os("TSUMUGI_PICTURES").is_some() {
        // Charts that have something to show.
        page.until("(document.querySelector('figure.chart .line').getAttribute('d').match(/L/g) ?? []).length > 35");
    }
    page.is(COVERED_LABELS, json!([]));
    page.is(
        "document.querySelectorAll('.scale span').length",
        json!(3 * 6),
    );
    photograph(&mut page.browser, "dashboard-overview");
    page.click("[data-name=hour]");
    page.until("document.querySelector('figure.chart .axis').textContent.includes('59 min')");
    page.click("[data-name=minute]");
    // Rows are sorted by the header that is pressed, and a reader of the screen is told.
    page.is(
        "document.querySelectorAll('table[data-table=routes] th')[1].getAttribute('aria-sort')",
        json!("descending"),
    );
    page.click("table[data-table=routes] th:first-child button");
    page.is(
        "document.querySelector('table[data-table=routes] th').getAttribute('aria-sort')",
        json!("ascending"),
    );
    // A chart is read by keys.
    page.browser
        .evaluate("document.querySelector('.plot').focus()");
    page.key("ArrowLeft", 37);
    page.key("ArrowLeft", 37);
    page.until("document.querySelector('figure.chart .moment').textContent.includes('ago')");
    page.is("document.querySelector('.plot').getAttribute('aria-label').startsWith('Requests per second.')", json!(true));
    // The first link leads past the views.
    page.click(".skip");
    page.is("document.activeElement.id", json!("view"));
}

/// A request under way is seen, left alone at first, then cancelled: its `ensure` runs.
fn requests(page: &mut Page) {
    let slow = page.application.begin("/slow");
    let _waits = page.application.begin("/news");
    page.view("requests");
    page.row("requests", "GET /slow");
    page.row("requests", "GET /news");
    page.until(
        "document.querySelector('table[data-table=requests]').textContent.includes('sleep')",
    );
    page.until(
        "document.querySelector('table[data-table=requests]').textContent.includes('app.rb:')",
    );
    page.picture("dashboard-requests");
    page.press("requests", "GET /slow", "Cancel");
    page.until(
        "document.getElementById('question').open && document.activeElement.id === 'question-no'",
    );
    page.key("Escape", 27);
    page.until("!document.getElementById('question').open");
    page.row("requests", "GET /slow");
    assert!(page.application.get("/ended").ends_with("no"));
    page.press("requests", "GET /slow", "Cancel");
    page.until("document.getElementById('question-subject').textContent.includes('/slow')");
    page.click("#question-yes");
    let gone = format!("{} === undefined", row_script("requests", "GET /slow"));
    page.until(&gone);
    page.notice("/slow");
    let answer = slow.join().unwrap();
    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
    let mut asked = 0;
    while !page.application.get("/ended").ends_with("yes") {
        asked += 1;
        assert!(asked < 2_000, "ensure has not run");
        tsumugi_testkit::pause();
    }
    // The filter leaves what has its words.
    page.browser.evaluate(
        "(() => { const filter = document.querySelector('.filter'); filter.value = 'no such thing'; filter.dispatchEvent(new Event('input')); })()",
    );
    page.is(
        "document.querySelectorAll('table[data-table=requests] tbody tr').length",
        json!(0),
    );
}

fn statements_and_pools(page: &mut Page) {
    page.application.get("/hostile");
    page.view("statements");
    page.row("statements", "select ? as");
    page.row("statements", "select id, title from notes where id = ?");
    page.click("[data-name=calls]");
    page.is(
        "document.querySelector('[data-name=calls]').getAttribute('aria-pressed')",
        json!("true"),
    );
    page.press(
        "statements",
        "select id, title from notes where id = ?",
        "Details",
    );
    page.until("document.getElementById('drawer').open");
    page.click("#drawer button.primary");
    page.until("/notes/i.test(document.querySelector('#drawer .plan').textContent)");
    page.key("Escape", 27);
    page.until("!document.getElementById('drawer').open");
    // The drawer is of its view, which an address may leave.
    let sql = "select id, title from notes where id = ?";
    page.press("statements", sql, "Details");
    page.until("document.getElementById('drawer').open");
    page.view("databases");
    page.is("document.getElementById('drawer').open", json!(false));
    page.row("databases", "notes.db");
    page.view("server");
    page.row("limits", "request_ms_max");
    page.row("options", "admin");
    let shown = format!("document.body.textContent.includes({})", json!(TOKEN));
    page.is(&shown, json!(false));
}

fn stores(page: &mut Page) {
    page.view("stores");
    page.press("stores", "cache", "cache");
    page.row("records", HOSTILE);
    page.row("records", "found:1");
    page.browser
        .evaluate("document.getElementById('prefix').value = 'found:'; document.querySelector('form.asking button').click()");
    page.until("location.hash.includes('prefix=')");
    page.row("records", "found:1");
    let hidden = format!("{} === undefined", row_script("records", HOSTILE));
    page.until(&hidden);
}

/// A job that has died is tried again, and is done; one that dies then is dropped.
fn work(page: &mut Page) {
    page.application.get("/push");
    page.view("work");
    page.row("dead", HOSTILE);
    page.row("queues", "thumbnail");
    page.row("timers", "app.rb");
    page.row("channels", "news");
    let none = "document.querySelectorAll('table[data-table=dead] tbody tr').length === 0";
    page.application.get("/mended/yes");
    page.press("dead", "thumbnail", "Retry");
    page.notice("Ready again");
    page.until(none);
    page.application.get("/mended/no");
    page.application.get("/push");
    page.press("dead", "thumbnail", "Drop");
    page.until("document.getElementById('question').open");
    page.click("#question-yes");
    page.notice("Dropped");
    page.until(none);
}

fn errors_and_reloads(page: &mut Page) {
    page.application.get("/raise");
    page.view("errors");
    let group = "[...document.querySelectorAll('details')].find(e => e.textContent.includes('ArgumentError'))";
    page.until(&format!("{group} !== undefined"));
    page.browser
        .evaluate(&format!("{group}.querySelector('summary').click()"));
    page.until(&format!(
        "{group}.open && {group}.querySelector('.backtrace li').textContent.includes('app.rb:')"
    ));
    let message = format!("{group}.querySelector('.error-message').textContent");
    page.is(&message, json!(HOSTILE));

    let app = page.application.folder.path().join("app.rb");
    fs::write(&app, format!("{APP}raise {}\n", json!(HOSTILE))).unwrap();
    let id = page.application.child.id().to_string();
    let reload = Command::new("kill").args(["-HUP", &id]).status().unwrap();
    assert!(reload.success());
    page.view("reloads");
    page.row("reloads", HOSTILE);
    page.row("reloads", "failed");
}

/// No further trace takes the place of the one that is opened.
fn traces(page: &mut Page) {
    page.application.end_load();
    page.view("traces");
    page.row("traces", "GET /notes/:id");
    page.press("traces", "GET /board", "/board");
    page.until("document.querySelectorAll('.waterfall tbody tr').length >= 4");
    page.until("document.querySelector('.waterfall').textContent.includes('select id, title')");
    page.is(
        "document.querySelector('nav [aria-current]').hash",
        json!("#/traces"),
    );
    page.picture("dashboard-trace");
    page.click(".waterfall tbody tr:last-child button");
    page.until("document.getElementById('drawer').open");
    page.key("Escape", 27);
}

/// Each view in Japanese and in English; a word that is missing is a complaint of the page.
fn languages(page: &mut Page) {
    for language in ["ja", "en"] {
        page.choose("language", language);
        page.is("document.documentElement.lang", json!(language));
        for (view, english, japanese) in VIEWS {
            page.view(view);
            let heading = if language == "ja" { japanese } else { english };
            page.is("document.querySelector('h1').textContent", json!(heading));
            page.is(SCROLLED_SIDEWAYS, json!([]));
        }
        if language == "ja" {
            page.view("stores");
            page.until(
                "/iB$/.test(document.querySelector('table[data-table=stores] td[data-label=容量]')?.textContent)",
            );
            page.is(
                "/[A-Z]/.test(document.querySelector('table[data-table=stores] thead').textContent)",
                json!(false),
            );
            page.view("overview");
            photograph(&mut page.browser, "dashboard-overview-ja");
        }
    }
    page.choose("theme", "dark");
    page.is(
        "getComputedStyle(document.documentElement).colorScheme",
        json!("dark"),
    );
    page.view("overview");
    photograph(&mut page.browser, "dashboard-dark");
    page.choose("theme", "auto");
}

fn phone(page: &mut Page) {
    page.browser.dress(390, 844, "dark");
    for (view, ..) in VIEWS {
        page.view(view);
        page.is("document.documentElement.scrollWidth <= 390", json!(true));
        page.is("[...document.querySelectorAll('.sheet:has(table[data-table])')].every(e => e.matches('.cards'))", json!(true));
    }
    page.view("overview");
    photograph(&mut page.browser, "dashboard-phone");
}

/// The page says that nobody answers any more, and from when what it shows is.
fn server_gone(page: &mut Page) {
    page.application.child.kill().unwrap();
    page.until("!document.getElementById('trouble').hidden && document.getElementById('state').dataset.state === 'failing'");
}

#[test]
fn words_of_the_page_are_there_in_both_languages_and_used() {
    let page = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../server/src/dashboard/page");
    let script = fs::read_to_string(page.join("app.js")).unwrap();
    let frame = fs::read_to_string(page.join("index.html")).unwrap();
    let (_, words) = script.split_once("const WORDS = {\n").unwrap();
    let (words, code) = words.split_once("\n};\n").unwrap();
    let mut keys = Vec::new();
    for line in words.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (key, both) = line.split_once(": ").unwrap();
        let both: Vec<String> = serde_json::from_str(both.trim_end_matches(',')).unwrap();
        assert_eq!(both.len(), 2, "{key}");
        assert!(both.iter().all(|word| !word.is_empty()), "{key}");
        let places = |word: &str| word.matches('{').count();
        assert_eq!(places(&both[0]), places(&both[1]), "{key}");
        assert!(!keys.contains(&key), "{key} stands twice");
        keys.push(key);
    }
    // Names that the server chooses are put behind these.
    let families = ["kind_", "wait_", "outcome_", "state_", "by_", "column_"];
    for key in &keys {
        let is_used = code.contains(&format!("\"{key}\""))
            || frame.contains(&format!("\"{key}\""))
            || families.iter().any(|family| key.starts_with(family));
        assert!(is_used, "{key} is used nowhere");
    }
    for (at, call) in code.match_indices("t(\"") {
        let is_other =
            code[..at].ends_with(|before: char| before.is_alphanumeric() || before == '.');
        let (key, _) = code[at + call.len()..].split_once('"').unwrap();
        assert!(is_other || keys.contains(&key), "no word for {key}");
    }
    // Markup is never made of a text, and nothing inline would pass the policy.
    for forbidden in [
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "new Function",
    ] {
        assert!(!script.contains(forbidden), "{forbidden}");
    }
    for inline in [" style=", "<style", " onclick", "<script>"] {
        assert!(!frame.contains(inline), "{inline}");
    }
}
