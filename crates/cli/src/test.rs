//! `tsumugi test`: runs the tests beside an application and says how they went. What a test can do is the `ruby`
//! crate's; this finds the files, gives every test an application, a data folder and a database of its own, and counts.
//! Rule: what a run has made is gone when it ends, by an interrupt too.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;
use tsumugi_db::{TestContents, TestDatabase, TestDatabases};
use tsumugi_ruby::{App, Maintenance, MaintenanceOutcome, Mode, Settings, TestFile, TestOutcome};
use tsumugi_server::TestFolder;
use tsumugi_server::commands::{DATABASE_URL, RunMode, Task, database_url};
use tsumugi_worker::{WorkerHandle, WorkerLimits};

use crate::limits::TEST_MS_MAX;
use crate::serve::folder_of;
use crate::{application, executable, migrate};

/// The exit code of a run that a signal ended, as shells have it for Ctrl-C.
const INTERRUPTED: u8 = 130;

/// Options of `test`.
#[derive(clap::Args)]
pub struct Arguments {
    /// The application file
    #[arg(default_value_os_t = crate::bundle::default_application(), hide_default_value = crate::bundle::is_built_in())]
    app: PathBuf,
    /// Files of tests; test/*_test.rb beside the application by default
    files: Vec<PathBuf>,
    /// Run only the tests whose name contains this
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
    /// Run all tests over the database of DATABASE_URL as it is: none is made for a test, and what a test leaves there stays
    #[arg(long)]
    shared_database: bool,
}

#[derive(Default)]
struct Tally {
    passed: u32,
    failed: u32,
}

/// One run of tests.
struct TestRun<'a> {
    worker: WorkerHandle,
    arguments: &'a Arguments,
    folder: &'a TestFolder,
    /// None where all tests share that of `DATABASE_URL`.
    databases: Option<TestDatabases>,
    /// What is migrated, if there is such a folder.
    has_migrations: bool,
    tally: &'a mut Tally,
}

/// Runs the tests; the last line is `N passed, N failed`.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    executable::ensure_sources(&arguments.app, "`test`")?;
    let name = arguments.app.file_name().unwrap_or_default();
    anyhow::ensure!(
        !name.to_string_lossy().ends_with("_test.rb"),
        "{0} is a file of tests: name the application first, as in `tsumugi test app.rb {0}`",
        arguments.app.display()
    );
    application::find(&arguments.app)?;
    if arguments.shared_database {
        let url = database_url()
            .context("--shared-database takes the database of DATABASE_URL, which is not set")?;
        println!("over {} as it is", place_of(&url));
    }
    let files = if arguments.files.is_empty() {
        tests_beside(&arguments.app)?
    } else {
        arguments.files.clone()
    };
    let folder = TestFolder::make()?;
    let stop = stop_signal()?;
    let mut tally = Tally::default();
    let (outcome, removed) = tsumugi_worker::alone(WorkerLimits::default(), async |worker| {
        let databases = match arguments.shared_database || files.is_empty() {
            true => None,
            false => Some(TestDatabases::open(database_url().as_deref(), folder.path()).await?),
        };
        let mut run = TestRun {
            worker,
            arguments,
            folder: &folder,
            databases,
            has_migrations: migrate::folder(&arguments.app).is_dir(),
            tally: &mut tally,
        };
        let outcome = tokio::select! {
            biased;
            // Its sender is kept by a thread that ends with the process.
            _ = stop => Ok(Completion::Interrupted),
            outcome = run.run_all(&files) => outcome,
        };
        let removed = match run.databases.take() {
            Some(databases) => databases.end().await,
            None => Ok(()),
        };
        anyhow::Ok((outcome, removed))
    })??;
    if let Err(error) = removed {
        // What the tests have shown holds all the same.
        tracing::warn!("the next run removes the databases of this one: {error}");
    }
    let completed = outcome?;
    if completed == Completion::Interrupted {
        println!("interrupted");
    }
    println!("{} passed, {} failed", tally.passed, tally.failed);
    if completed == Completion::Interrupted {
        return Ok(ExitCode::from(INTERRUPTED));
    }
    if tally.failed > 0 {
        return Ok(ExitCode::FAILURE);
    }
    anyhow::ensure!(tally.passed > 0, "no test ran: {}", advice(arguments));
    Ok(ExitCode::SUCCESS)
}

/// Whether a run came to its end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Completion {
    All,
    Interrupted,
}

/// Where the database of a URL is, without user, password and options.
fn place_of(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.split('?').next().unwrap_or(url).to_owned();
    };
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let server = authority.rsplit('@').next().unwrap_or(authority);
    let server = server.split('?').next().unwrap_or(server);
    let path = path.split('?').next().unwrap_or(path);
    match path.contains('@') {
        // A password with a sign that ought to be escaped.
        true => format!("{scheme}://…"),
        false => format!("{scheme}://{server}/{path}"),
    }
}

/// The variables of an application on this database. Where none is named it finds the file without being told.
fn environment(url: &str) -> HashMap<String, String> {
    let named = database_url().map(|_| (DATABASE_URL.to_owned(), url.to_owned()));
    named.into_iter().collect()
}

/// Resolves at the first signal that ends programs, so that what was made for tests is removed. A second one ends the process at once: a test may hold
/// the worker. They are waited for on a thread of their own for the same reason.
fn stop_signal() -> Result<oneshot::Receiver<()>> {
    let (given, stop) = oneshot::channel();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    let mut signals = {
        let _entered = runtime.enter();
        [
            signal(SignalKind::interrupt())?,
            signal(SignalKind::terminate())?,
        ]
    };
    let wait = move || {
        let mut next = || {
            let [interrupt, terminate] = &mut signals;
            runtime.block_on(async {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                }
            });
        };
        next();
        // Nobody waits for it once the tests have run.
        let _ = given.send(());
        next();
        std::process::exit(i32::from(INTERRUPTED));
    };
    let thread = std::thread::Builder::new().name("tsumugi-signals".to_owned());
    thread.spawn(wait)?;
    Ok(stop)
}

fn advice(arguments: &Arguments) -> String {
    match &arguments.name {
        Some(name) => format!("no name contains {name:?}"),
        None => {
            let folder = folder_of(&arguments.app).join("test");
            format!(
                "write {} with: test(\"home answers\") {{ assert get(\"/\").ok? }}",
                folder.join("app_test.rb").display()
            )
        }
    }
}

/// `test/*_test.rb` beside the application, by name.
fn tests_beside(app: &Path) -> Result<Vec<PathBuf>> {
    let folder = app.parent().unwrap_or(Path::new("")).join("test");
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let unreadable = || format!("cannot read the folder {}", folder.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(&folder).with_context(unreadable)? {
        let path = entry.with_context(unreadable)?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        if name.is_some_and(|name| name.ends_with("_test.rb")) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

impl TestRun<'_> {
    async fn run_all(&mut self, files: &[PathBuf]) -> Result<Completion> {
        if self.has_migrations
            && let Some(databases) = &mut self.databases
            && let Some(url) = databases.template().await?
        {
            self.migrate(&url).await?;
        }
        for file in files {
            println!("{}", file.display());
            self.run_file(file).await;
        }
        Ok(Completion::All)
    }

    /// Applies the migrations beside the application.
    async fn migrate(&self, url: &str) -> Result<()> {
        let settings = Settings {
            app: self.arguments.app.clone(),
            data_dir: self.folder.path().to_owned(),
            mode: Mode::Development,
            in_test: true,
            environment: environment(url),
            ..Settings::default()
        };
        let maintenance = Maintenance::open(&self.worker, Rc::new(settings), |_| {})?;
        let (task, url) = (Task::Up(None), Some(url.to_owned()));
        let migrating = maintenance.run(task, RunMode::Commit, url, std::future::pending());
        if let MaintenanceOutcome::Raised(report) = migrating.await {
            anyhow::bail!(
                "the migrations, before the tests: {}",
                migrate::describe(&report)
            );
        }
        Ok(())
    }

    /// Every test gets the application anew: what one leaves behind, the next does not see. The first one says which tests there are.
    async fn run_file(&mut self, file: &Path) {
        let mut next = Some(0);
        while let Some(index) = next {
            let ran = match self.run_test(file, index).await {
                Ok(ran) => ran,
                Err(error) => {
                    println!(
                        "  FAIL (load)\n{}",
                        indented(&tsumugi_server::story(error.as_ref()))
                    );
                    self.tally.failed += 1;
                    return;
                }
            };
            match ran.outcome {
                Some(Outcome::Passed) => self.tally.passed += 1,
                Some(Outcome::Failed) => self.tally.failed += 1,
                None => {}
            }
            let mut rest = ran.names.iter().enumerate().skip(index + 1);
            let wanted = rest.find(|(_, name)| self.is_wanted(name));
            next = wanted.map(|(index, _)| index);
        }
    }

    /// Whether the name was asked for.
    fn is_wanted(&self, name: &str) -> bool {
        let part = self.arguments.name.as_ref();
        part.is_none_or(|part| name.contains(part))
    }

    /// One test with a database and a folder of its own.
    async fn run_test(&mut self, file: &Path, index: usize) -> Result<RanTest> {
        let data = self.folder.data()?;
        let database = match &mut self.databases {
            Some(databases) => Some(databases.create(&data).await?),
            None => None,
        };
        let outcome = self.run_over(file, index, &data, database.as_ref()).await;
        if let (Some(databases), Some(database)) = (&mut self.databases, database)
            && let Err(error) = databases.remove(database).await
        {
            // Tried again at the end of the run.
            tracing::warn!("the database of a test stays for now: {error}");
        }
        // With the folder of the run at the latest.
        let _ = std::fs::remove_dir_all(&data);
        outcome
    }

    /// One test over this database and this folder.
    async fn run_over(
        &self,
        file: &Path,
        index: usize,
        data: &Path,
        database: Option<&TestDatabase>,
    ) -> Result<RanTest> {
        let environment = database.map(|database| environment(database.url()));
        if let Some(database) = database
            && self.has_migrations
            && database.contents() == TestContents::Nothing
        {
            self.migrate(database.url()).await?;
        }
        let environment = environment.unwrap_or_default();
        let app = &self.arguments.app;
        let app = application::load_for_test(&self.worker, app, data, environment).await?;
        let outcome = self.run_body(&app, file, index).await;
        application::retire(&app).await;
        outcome
    }

    /// Runs the test that is at this index of its file, if its name was asked for.
    async fn run_body(&self, app: &Rc<App>, file: &Path, index: usize) -> Result<RanTest> {
        let tests = TestFile::load(app, file).await?;
        let names = tests.names().to_vec();
        let wanted = names.get(index).filter(|name| self.is_wanted(name));
        let outcome = match wanted {
            Some(name) => {
                let started = Instant::now();
                let outcome = tests.run(index, Duration::from_millis(TEST_MS_MAX)).await;
                Some(report(name, &outcome, started.elapsed(), file))
            }
            None => None,
        };
        Ok(RanTest { outcome, names })
    }
}

/// What became of the test at one index of a file.
struct RanTest {
    /// None where its name was not asked for, and where there is none.
    outcome: Option<Outcome>,
    /// The names of all tests of the file.
    names: Vec<String>,
}

enum Outcome {
    Passed,
    Failed,
}

/// Prints one line for the test, and for a failure where and why.
fn report(name: &str, outcome: &TestOutcome, took: Duration, file: &Path) -> Outcome {
    let ms = took.as_millis();
    match outcome {
        TestOutcome::Passed { .. } => {
            println!("  ok   {name} ({ms} ms)");
            Outcome::Passed
        }
        TestOutcome::Failed { report } => {
            println!("  FAIL {name} ({ms} ms)");
            println!("{}", indented(&reason(report, file)));
            Outcome::Failed
        }
        TestOutcome::Overdue => {
            println!("  FAIL {name} ({ms} ms)");
            println!("       cancelled: test_ms_max ({TEST_MS_MAX} ms) is over");
            Outcome::Failed
        }
    }
}

/// An assertion is reported with its line in the test; another exception with every frame.
fn reason(report: &tsumugi_ruby::ExceptionReport, file: &Path) -> String {
    let file = file.to_string_lossy();
    let of_the_test = |frame: &&String| frame.starts_with(&*file);
    if report.class == "Tsumugi::Failure" {
        let place = report.backtrace.iter().find(of_the_test);
        let place = place.map_or("", |frame| frame.split(":in ").next().unwrap_or(frame));
        return format!("{place}: {}", report.message);
    }
    let own = report
        .backtrace
        .iter()
        .filter(|frame| !frame.starts_with("tsumugi/"));
    let frames: Vec<String> = own.map(|frame| format!("\n    from {frame}")).collect();
    format!("{report}{}", frames.concat())
}

fn indented(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| format!("       {line}")).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn place_of_a_url_has_no_user_password_or_option() {
        let check = |url, expected: &str| assert_eq!(place_of(url), expected);
        check("sqlite:data/app.db?mode=rw", "sqlite:data/app.db");
        check("sqlite::memory:", "sqlite::memory:");
        check(
            "postgres://u:p@q@h:1/shop?password=x@y",
            "postgres://h:1/shop",
        );
        check("postgres://h?user=u&password=p", "postgres://h/");
        check("postgres://u:p?q@h/shop", "postgres://h/shop");
        check("postgres://u:p/q@h/shop", "postgres://…");
        check("firebird://u:p@h//srv/a.fdb", "firebird://h//srv/a.fdb");
    }
}
