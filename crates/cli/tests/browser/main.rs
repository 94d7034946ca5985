//! The demo, the page of a new application and the dashboard in a real browser.
//! The demo loads without a complaint and without a request to another server, its forms work, its count is
//! live, its pages look like pages. Needs Chromium: without one it says so loudly, and fails where CI is set.

mod chromium;
mod cluster;
mod dashboard;
mod report;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use chromium::Browser;
use serde_json::json;
use tempfile::TempDir;

/// The demo or another application, served in production mode on a port of its own.
struct ServedApp {
    child: Child,
    url: String,
    _data: TempDir,
}

impl ServedApp {
    fn start(workers: &str) -> ServedApp {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        ServedApp::of(&root.join("examples/demo/app.rb"), workers)
    }

    fn of(app: &Path, workers: &str) -> ServedApp {
        let data = tempfile::tempdir().unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_tsumugi"))
            .arg("serve")
            .arg(app)
            .args(["--listen", "127.0.0.1:0", "--workers", workers, "--data"])
            .arg(data.path())
            .env(
                "TSUMUGI_SECRET",
                "not a secret but only as long as one has to be",
            )
            .env("NO_COLOR", "1")
            .env_remove("DATABASE_URL")
            .env_remove("TSUMUGI_LOG")
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let mut all = String::new();
        let url = loop {
            let begin = all.len();
            let read = log.read_line(&mut all).unwrap();
            assert!(read > 0, "the demo does not start:\n{all}");
            if let Some((_, rest)) = all[begin..].split_once("http://") {
                break format!("http://{}", rest.split(' ').next().unwrap());
            }
        };
        // What it logs later is read so that it never waits for room.
        std::thread::spawn(move || {
            log.lines()
                .map_while(Result::ok)
                .for_each(|line| eprintln!("{line}"))
        });
        ServedApp {
            child,
            url,
            _data: data,
        }
    }
}

impl Drop for ServedApp {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Pictures are kept in this folder when it is given.
fn photograph(browser: &mut Browser, name: &str) {
    let folder = std::env::var_os("TSUMUGI_PICTURES").map(PathBuf::from);
    let temporary = tempfile::tempdir().unwrap();
    let folder = folder.as_deref().unwrap_or(temporary.path());
    let bytes = browser.photograph(&folder.join(format!("{name}.png")));
    assert!(bytes > 10_000, "{name} is an empty picture: {bytes} bytes");
}

/// The program; `None` when there is none and that is allowed.
fn browser(language: &str) -> Option<Browser> {
    match chromium::installed() {
        Some(program) => Some(Browser::start(program, language)),
        None => {
            assert!(
                std::env::var_os("CI").is_none(),
                "Chromium is missing; make setup installs it"
            );
            eprintln!("\n*** NOT TESTED: Chromium is missing; make setup installs it ***\n");
            None
        }
    }
}

/// Adds a task as a user does: fills in the form and submits it.
fn add(browser: &mut Browser, title: &str, colour: &str) {
    let script = format!(
        "document.querySelector('.add input[name=title]').value = {};
         document.querySelector('.add input[value={colour}]').checked = true;
         document.querySelector('.add .primary').click();",
        json!(title)
    );
    browser.evaluate(&script);
    let listed = format!(
        "[...document.querySelectorAll('.open .title')].some(e => e.textContent === {})",
        json!(title)
    );
    browser.until(&listed);
}

const TASKS: &[(&str, &str)] = &[
    ("糸を買いに行く", "ai"),
    ("Write the README in two languages", "kurenai"),
    ("<b>藍</b>で染める & 乾かす", "fuji"),
    ("Bind off the last row", "kohaku"),
    ("庭の松に水をやる", "matsu"),
];

#[test]
fn task_added_and_ticked_in_a_browser_is_shown_and_counted() {
    let Some(mut browser) = browser("ja") else {
        return;
    };
    let demo = ServedApp::start("2");
    browser.dress(1200, 860, "light");
    browser.open(&demo.url);
    assert_eq!(browser.evaluate("document.documentElement.lang"), "ja");
    photograph(&mut browser, "empty");
    for (title, colour) in TASKS {
        add(&mut browser, title, colour);
    }
    browser.until("document.getElementById('count-open').textContent === '5'");
    browser.evaluate("document.querySelector('.open .tick').click()");
    browser.until("document.getElementById('count-done').textContent === '1'");
    browser.until("document.querySelectorAll('.done .task').length === 1");
    photograph(&mut browser, "light");
    browser.dress(1200, 860, "dark");
    photograph(&mut browser, "dark");
    browser.dress(390, 860, "light");
    photograph(&mut browser, "small");
    assert_eq!(
        browser.evaluate("document.documentElement.scrollWidth <= 390"),
        true
    );

    browser.open(&format!("{}/?q=README", demo.url));
    assert_eq!(
        browser.evaluate("document.querySelectorAll('.task').length"),
        1
    );
    let outside: Vec<_> = browser
        .requests
        .iter()
        .filter(|url| !url.starts_with(&demo.url))
        .collect();
    assert!(outside.is_empty(), "{outside:?}");
    assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
}

#[test]
fn page_of_a_new_application_shows_its_whole_command() {
    let Some(mut browser) = browser("en") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let made = Command::new(env!("CARGO_BIN_EXE_tsumugi"))
        .args(["new", "shop"])
        .current_dir(folder.path())
        .stdout(Stdio::null())
        .status();
    assert!(made.unwrap().success());
    let shop = ServedApp::of(&folder.path().join("shop/app.rb"), "1");
    for width in [1200, 390] {
        browser.dress(width, 800, "light");
        browser.open(&shop.url);
        let (command, cut) = (
            "document.querySelector('pre').textContent",
            "(() => { const e = document.querySelector('pre'); return e.scrollWidth > e.clientWidth; })()",
        );
        let command = browser.evaluate(command);
        assert!(
            command.as_str().unwrap().starts_with("curl -d"),
            "{command}"
        );
        assert_eq!(browser.evaluate(cut), false, "at {width}");
    }
    assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
}

#[test]
fn a_change_from_elsewhere_arrives_by_itself() {
    let Some(mut browser) = browser("en") else {
        return;
    };
    let demo = ServedApp::start("2");
    browser.open(&demo.url);
    assert_eq!(
        browser.evaluate("document.getElementById('count-open').textContent"),
        "0"
    );
    let page = browser.evaluate("window.mark = 1; document.title");
    assert!(page.as_str().unwrap().contains("Board"));
    // Another client, without cookies, maybe on another worker.
    let other = "fetch('/tasks', { method: 'POST', credentials: 'omit', body: new URLSearchParams({ title: 'From afar' }) }).then(r => r.ok)";
    assert_eq!(browser.evaluate(other), true);
    browser.until("document.getElementById('count-open').textContent === '1'");
    browser.until("document.querySelector('.open .title')?.textContent === 'From afar'");
    assert_eq!(
        browser.evaluate("window.mark"),
        1,
        "the page was not loaded again"
    );
}

#[test]
fn sources_and_error_pages_render_with_their_headings() {
    let Some(mut browser) = browser("en") else {
        return;
    };
    let demo = ServedApp::start("1");
    browser.dress(1200, 860, "light");
    browser.open(&format!("{}/sources", demo.url));
    assert_eq!(
        browser.evaluate("parseFloat(document.getElementById('took').textContent) >= 0.9"),
        true
    );
    photograph(&mut browser, "sources");
    assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
    for (path, heading) in [
        ("/oops", "The thread has snapped"),
        ("/nowhere", "There is no such path"),
    ] {
        browser.open(&format!("{}{path}", demo.url));
        assert_eq!(
            browser.evaluate("document.querySelector('h1').textContent"),
            heading
        );
    }
    photograph(&mut browser, "lost");
    browser.evaluate("document.querySelector('.language').click()");
    browser.until("document.documentElement?.lang === 'ja'");
}
