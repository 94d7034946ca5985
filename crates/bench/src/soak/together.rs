//! The part `together` of the suite soak: one process serves the demo on PostgreSQL, streams its rows and its count, and has the key-value
//! store on a port of its own, while the database's backends die under it. Every answer is looked at.
//! Rule: what was acknowledged is done, and done once; a request that met a dead backend may fail, with the application's own page,
//! and nothing else may.

use std::io::{self, BufRead as _, BufReader, ErrorKind, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context as _, Result, bail, ensure};

use super::tail;
use crate::bench::Bench;
use crate::client::{ProbeClient, ProbeResponse};
use crate::limits::{ANSWER_MS_MAX, BROKEN_MS_MAX, KILL_MS, SETTLE_MS, TASKS_KEPT_MAX};
use crate::process::{Process, free_address, pause};
use crate::programs::find;
use crate::psql::Psql;
use crate::samples::thousands;
use crate::servers::WORKERS;
use crate::stop::StopFlag;

/// How the demo's connections are known among the database's.
const NAME: &str = "tsumugi-soak";
const DEMO: &str = "examples/demo/app.rb";
/// What the page of an error says.
const BROKEN: &str = "The thread has snapped";
const READERS: usize = 4;
const WRITERS: usize = 4;
const LISTENERS: usize = 4;
/// Ends the backends of the demo and says how many they were.
const KILL: &str =
    "select count(pg_terminate_backend(pid)) from pg_stat_activity where application_name = '";

/// A request, and when it was made.
struct SentRequest<'a> {
    path: &'a str,
    at: Instant,
}

impl SentRequest<'_> {
    fn now(path: &str) -> SentRequest<'_> {
        SentRequest {
            path,
            at: Instant::now(),
        }
    }
}

/// When backends were ended last. On a busy machine the program that ends them takes seconds itself, in which they may die at any moment.
#[derive(Clone, Copy)]
enum Kill {
    None,
    Running,
    Ended(Instant),
}

/// What the clients saw.
struct ClientTally {
    /// Titles of this run's tasks begin so.
    mark: String,
    last_kill: Mutex<Kill>,
    answered: AtomicU64,
    broken: AtomicU64,
    events: AtomicU64,
    /// Titles of tasks that were added, and of those that may have been.
    added: Mutex<Vec<String>>,
    unsure: Mutex<Vec<String>>,
    faults: Mutex<Vec<String>>,
    ended: AtomicBool,
}

impl ClientTally {
    fn new() -> ClientTally {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        ClientTally {
            mark: format!("soak {:x}", since.unwrap_or_default().as_millis()),
            last_kill: Mutex::new(Kill::None),
            answered: AtomicU64::default(),
            broken: AtomicU64::default(),
            events: AtomicU64::default(),
            added: Mutex::default(),
            unsure: Mutex::default(),
            faults: Mutex::default(),
            ended: AtomicBool::default(),
        }
    }

    /// Counts what broke because a backend died while it was asked for or shortly before; what broke otherwise is a fault.
    fn broke(&self, asked: &SentRequest<'_>, what: &str) {
        let expected = match self.last_kill.lock().map_or(Kill::None, |last| *last) {
            Kill::None => false,
            Kill::Running => true,
            Kill::Ended(at) => at + Duration::from_millis(BROKEN_MS_MAX) > asked.at,
        };
        if expected {
            self.broken.fetch_add(1, Ordering::Relaxed);
        } else {
            let path = asked.path;
            self.fault(format!("{path}: {what} though no backend had just died"));
        }
    }

    fn note_kill(&self, kill: Kill) {
        if let Ok(mut last) = self.last_kill.lock() {
            *last = kill;
        }
    }

    fn is_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    fn fault(&self, what: String) {
        if let Ok(mut faults) = self.faults.lock() {
            faults.push(what);
        }
        self.ended.store(true, Ordering::Relaxed);
    }

    fn note(list: &Mutex<Vec<String>>, title: &str) {
        if let Ok(mut list) = list.lock() {
            list.push(title.to_owned());
        }
    }

    /// Whether a page is the one that was asked for; the page of an error is counted, anything else is a fault.
    fn judge(
        &self,
        asked: &SentRequest<'_>,
        answer: &ProbeResponse,
        holds: impl Fn(&str) -> bool,
    ) -> bool {
        let text = String::from_utf8_lossy(&answer.body);
        match answer.status {
            200 | 302 | 303 if holds(&text) => {
                self.answered.fetch_add(1, Ordering::Relaxed);
                true
            }
            500 if text.contains(BROKEN) => {
                self.broke(asked, "the page of an error");
                false
            }
            status => {
                let shown: String = text.chars().take(200).collect();
                self.fault(format!("{}: {status}: {shown}", asked.path));
                false
            }
        }
    }
}

/// Runs for so many seconds.
pub fn run(bench: &mut Bench, seconds: u64) -> Result<Option<String>> {
    let Some(url) = bench.database()? else {
        return Ok(None);
    };
    let Some(program) = find("psql") else {
        bench.miss("together", "install the Debian package postgresql-client");
        return Ok(None);
    };
    if !Path::new(DEMO).is_file() {
        bench.miss(
            "together",
            "run it in the repository, which has examples/demo",
        );
        return Ok(None);
    }
    let psql = Psql::new(program, &url);
    let mark = if url.contains('?') { '&' } else { '?' };
    let named = format!("{url}{mark}application_name={NAME}");
    let (process, store) = start(bench, &named)?;
    let (stop, seen) = (bench.stop.clone(), ClientTally::new());
    let killed = thread::scope(|scope| {
        for at in 0..READERS.max(WRITERS).max(LISTENERS) {
            let (seen, address) = (&seen, process.address);
            scope.spawn(move || read(address, seen));
            scope.spawn(move || write(address, at, seconds, seen));
            scope.spawn(move || listen(address, seen));
        }
        let (stored, clients) = (&seen, stop.clone());
        let program = &bench.programs.server;
        scope.spawn(move || call(program, &store, seconds, stored, &clients));
        let killed = kill(&psql, seconds, &seen, &stop);
        // The last that met a dead backend have their answers by now.
        stop.pause_until(Instant::now() + Duration::from_millis(SETTLE_MS));
        seen.ended.store(true, Ordering::Relaxed);
        killed
    })?;
    stop.check()?;
    let faults = seen.faults.lock().map(|faults| faults.clone());
    if let Some(fault) = faults.unwrap_or_default().first() {
        bail!("{fault}\n{}", tail(&process));
    }
    let tasks = settled(process.address, &seen).with_context(|| tail(&process))?;
    psql.ask(
        &format!("delete from tasks where title like '{} %'", seen.mark),
        &stop,
    )?;
    Ok(Some(format!(
        "{} answers   {} pages of errors   {killed} backends ended   {} tasks added, all of them there once   {} events",
        thousands(seen.answered.load(Ordering::Relaxed) as f64),
        seen.broken.load(Ordering::Relaxed),
        thousands(tasks as f64),
        thousands(seen.events.load(Ordering::Relaxed) as f64),
    )))
}

/// The demo, and where the key-value store is called.
fn start(bench: &Bench, database: &str) -> Result<(Process, String)> {
    let folder = tempfile::tempdir_in(bench.folder())?.keep();
    let (address, store) = (free_address()?, free_address()?);
    let mut command = Command::new(&bench.programs.server);
    command.args(["serve", DEMO, "--workers", &WORKERS.to_string()]);
    command.args(["--listen", &address.to_string()]);
    command.arg("--data").arg(folder.join("data"));
    command.args(["--kv-listen", &store.to_string(), "--kv-database"]);
    command.arg(folder.join("store"));
    command.env("DATABASE_URL", database);
    command.env(
        "TSUMUGI_SECRET",
        "a secret of no worth that is long enough to be taken",
    );
    let process = Process::start("together", command, address, &folder)?;
    Ok((process, format!("tkrzw://{store}")))
}

/// Ends the demo's backends again and again; returns how many.
fn kill(psql: &Psql, seconds: u64, seen: &ClientTally, stop: &StopFlag) -> Result<u64> {
    let until = Instant::now() + Duration::from_secs(seconds);
    let mut killed = 0;
    while Instant::now() < until && !seen.is_ended() {
        stop.pause_until(Instant::now() + Duration::from_millis(KILL_MS));
        stop.check()?;
        let sql = format!("{KILL}{NAME}'");
        seen.note_kill(Kill::Running);
        let text = psql.ask(&sql, stop)?;
        let count: u64 = text
            .trim()
            .parse()
            .with_context(|| format!("psql said {text}"))?;
        killed += count;
        seen.note_kill(Kill::Ended(Instant::now()));
    }
    ensure!(killed > 0, "not one backend was ended");
    Ok(killed)
}

/// Pages, and rows as they stream.
fn read(address: SocketAddr, seen: &ClientTally) {
    while !seen.is_ended() {
        let Ok(mut client) = ProbeClient::connect(address) else {
            return seen.fault("the demo takes no connection".to_owned());
        };
        for path in ["/", "/board", "/tasks.csv", "/?q=soak"]
            .iter()
            .cycle()
            .take(200)
        {
            if seen.is_ended() {
                return;
            }
            let asked = SentRequest::now(path);
            match client.fetch_in(path, "en") {
                Ok(answer) if *path == "/tasks.csv" => {
                    seen.judge(&asked, &answer, is_table);
                }
                Ok(answer) => {
                    seen.judge(&asked, &answer, |text| {
                        text.contains("class=\"columns\"") || text.contains("class=\"nothing\"")
                    });
                }
                // A stream whose backend dies can only break off.
                Err(error) if *path == "/tasks.csv" && is_broken_off(&error) => {
                    seen.broke(&asked, "broke off");
                    break;
                }
                Err(error) => return seen.fault(format!("{path}: {error}")),
            }
        }
    }
}

fn is_broken_off(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe
    )
}

/// Whether every line has the four columns.
fn is_table(text: &str) -> bool {
    let mut lines = text.lines();
    let head = lines.next() == Some("id,title,colour,done");
    head && lines.all(|line| line.split(',').count() == 4)
}

/// Adds tasks, each under a title of its own, evenly over the whole time.
fn write(address: SocketAddr, at: usize, seconds: u64, seen: &ClientTally) {
    let most = (TASKS_KEPT_MAX / WRITERS) as u64;
    let pause_ms = (seconds * 1_000 / most).max(1);
    let mut number = 0;
    while !seen.is_ended() {
        let Ok(mut client) = ProbeClient::connect(address) else {
            return seen.fault("the demo takes no connection".to_owned());
        };
        let asked = SentRequest::now("/");
        let page = match client.fetch_in(asked.path, "en") {
            Ok(page) => page,
            Err(error) => return seen.fault(format!("/: {error}")),
        };
        if !seen.judge(&asked, &page, |_| true) {
            continue;
        }
        let Some((cookie, token)) = session(&page) else {
            return seen.fault("the form has no session or no token".to_owned());
        };
        for _ in 0..50 {
            if seen.is_ended() || number >= most {
                return;
            }
            number += 1;
            add(
                &mut client,
                &cookie,
                &token,
                &format!("{} {at} {number}", seen.mark),
                seen,
            );
            pause(pause_ms);
        }
    }
}

/// Adds one. It is in one of both lists afterwards.
fn add(client: &mut ProbeClient, cookie: &str, token: &str, title: &str, seen: &ClientTally) {
    let body = format!("_csrf={token}&colour=ai&title={}", title.replace(' ', "+"));
    let asked = SentRequest::now("/tasks");
    match client.submit(asked.path, cookie, &body) {
        Ok(answer) if matches!(answer.status, 302 | 303) => {
            seen.judge(&asked, &answer, |_| true);
            ClientTally::note(&seen.added, title);
        }
        Ok(answer) => {
            ClientTally::note(&seen.unsure, title);
            seen.judge(&asked, &answer, |_| false);
        }
        Err(error) => seen.fault(format!("{}: {error}", asked.path)),
    }
}

/// The cookie of the session, and the token of its forms, percent-encoded.
fn session(page: &ProbeResponse) -> Option<(String, String)> {
    let cookie = page
        .head
        .lines()
        .find_map(|line| line.strip_prefix("set-cookie: "))?;
    let cookie = cookie.split(';').next()?.to_owned();
    let text = String::from_utf8_lossy(&page.body);
    let (_, rest) = text.split_once("name=\"_csrf\" value=\"")?;
    let (token, _) = rest.split_once('"')?;
    let token = token
        .replace('+', "%2B")
        .replace('/', "%2F")
        .replace('=', "%3D");
    Some((cookie, token))
}

/// Hears of the count as it changes, for some seconds each time.
fn listen(address: SocketAddr, seen: &ClientTally) {
    while !seen.is_ended() {
        match hear(address, seen) {
            Ok(()) => {}
            Err(error) => return seen.fault(format!("/events: {error:#}")),
        }
    }
}

fn hear(address: SocketAddr, seen: &ClientTally) -> Result<()> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_millis(ANSWER_MS_MAX)))?;
    stream.write_all(b"GET /events HTTP/1.1\r\nhost: bench\r\n\r\n")?;
    let mut lines = BufReader::new(stream).lines();
    let status = lines.next().context("no answer")??;
    ensure!(status.starts_with("HTTP/1.1 200"), "{status}");
    let until = Instant::now() + Duration::from_secs(5);
    while Instant::now() < until && !seen.is_ended() {
        let Some(line) = lines.next() else {
            bail!("the stream ended");
        };
        if let Some(data) = line?.strip_prefix("data: ") {
            let count: serde_json::Value = serde_json::from_str(data)?;
            let is_count = count["open"].is_u64() && count["done"].is_u64();
            ensure!(is_count, "{data} is no count");
            seen.events.fetch_add(1, Ordering::Relaxed);
        }
    }
    Ok(())
}

/// Calls the key-value store all the time; its program checks every answer.
fn call(program: &Path, store: &str, seconds: u64, seen: &ClientTally, stop: &StopFlag) {
    const FILL: &str = "set --iter 10000 --batch 1000";
    const CALLS: &str =
        "--seconds 4 --records 10000 --threads 2 --separate --async --depth 4 --yes";
    let calls = ["get", "set", "iterate"].map(|operation| format!("{operation} {CALLS}"));
    let until = Instant::now() + Duration::from_secs(seconds);
    for operation in std::iter::once(FILL).chain(calls.iter().map(String::as_str).cycle()) {
        if Instant::now() > until || seen.is_ended() {
            return;
        }
        let mut command = Command::new(program);
        command.args(["bench", "kv", "--address", store, "--only"]);
        match stop.run(command.args(operation.split(' '))) {
            Ok(output) if output.status.success() => {
                seen.answered.fetch_add(1, Ordering::Relaxed);
            }
            Ok(output) => {
                let errors = String::from_utf8_lossy(&output.stderr);
                return seen.fault(format!("{operation} of the key-value store: {errors}"));
            }
            // The end was asked for.
            Err(_) => return,
        }
    }
}

/// Once no backend is ended any more: every task that was acknowledged is there once, and no other.
fn settled(address: SocketAddr, seen: &ClientTally) -> Result<usize> {
    let answer = ProbeClient::connect(address)?.fetch("/tasks.csv")?;
    ensure!(answer.status == 200, "/tasks.csv: {}", answer.status);
    let text = String::from_utf8(answer.body)?;
    ensure!(is_table(&text), "/tasks.csv is no table");
    let mut there: Vec<&str> = text
        .lines()
        .filter_map(|line| line.split(',').nth(1))
        .filter(|title| title.starts_with(&seen.mark))
        .collect();
    there.sort_unstable();
    let total = there.len();
    there.dedup();
    ensure!(there.len() == total, "a task was added more than once");
    let list = |list: &Mutex<Vec<String>>| list.lock().map(|list| list.clone()).unwrap_or_default();
    let (added, unsure) = (list(&seen.added), list(&seen.unsure));
    for title in &added {
        let found = there.binary_search(&title.as_str());
        ensure!(found.is_ok(), "{title:?} was acknowledged and is not there");
    }
    let known: std::collections::HashSet<&str> =
        added.iter().chain(&unsure).map(String::as_str).collect();
    let stray = there.iter().find(|title| !known.contains(*title));
    ensure!(stray.is_none(), "{stray:?} was added by no client");
    Ok(added.len())
}
