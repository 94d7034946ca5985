//! `tsumugi test`: runs the tests beside an application and says how they went. What a test can do is the `ruby`
//! crate's; this finds the files, gives every test an application and a data folder of its own, and counts.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use tsumugi_ruby::{TestFile, TestOutcome};
use tsumugi_server::DataFolder;
use tsumugi_worker::{WorkerHandle, WorkerLimits};

use crate::application;
use crate::limits::TEST_MS_MAX;
use crate::serve::folder_of;

/// Options of `test`.
#[derive(clap::Args)]
pub struct Arguments {
    /// The application file
    #[arg(default_value_os_t = crate::bundle::default_application())]
    app: PathBuf,
    /// Files of tests; test/*_test.rb beside the application by default
    files: Vec<PathBuf>,
    /// Run only the tests whose name contains this
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
}

#[derive(Default)]
struct Tally {
    passed: u32,
    failed: u32,
}

/// Runs the tests; the last line is `N passed, N failed`.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    application::find(&arguments.app)?;
    let files = if arguments.files.is_empty() {
        tests_beside(&arguments.app)?
    } else {
        arguments.files.clone()
    };
    let mut tally = Tally::default();
    for file in &files {
        println!("{}", file.display());
        tsumugi_worker::alone(WorkerLimits::default(), async |worker| {
            run_file(&worker, arguments, file, &mut tally).await;
        })?;
    }
    println!("{} passed, {} failed", tally.passed, tally.failed);
    if tally.failed > 0 {
        return Ok(ExitCode::FAILURE);
    }
    anyhow::ensure!(tally.passed > 0, "no test ran: {}", advice(arguments));
    Ok(ExitCode::SUCCESS)
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

/// Every test gets the application anew: what one leaves behind, the next does not see.
async fn run_file(worker: &WorkerHandle, arguments: &Arguments, file: &Path, tally: &mut Tally) {
    let mut index = 0;
    loop {
        match run_one(worker, arguments, file, index).await {
            Ok(Outcome::NoMore) => return,
            Ok(Outcome::Skipped) => {}
            Ok(Outcome::Passed) => tally.passed += 1,
            Ok(Outcome::Failed) => tally.failed += 1,
            Err(error) => {
                println!(
                    "  FAIL (load)\n{}",
                    indented(&tsumugi_server::story(error.as_ref()))
                );
                tally.failed += 1;
                return;
            }
        }
        index += 1;
    }
}

enum Outcome {
    Passed,
    Failed,
    /// Its name was not asked for.
    Skipped,
    /// The file has no test of this number.
    NoMore,
}

async fn run_one(
    worker: &WorkerHandle,
    arguments: &Arguments,
    file: &Path,
    index: usize,
) -> Result<Outcome> {
    let data = DataFolder::of(None)?;
    let app = application::load_for_test(worker, &arguments.app, &data).await?;
    let tests = TestFile::load(&app, file).await?;
    let outcome = match tests.names().get(index) {
        None => Outcome::NoMore,
        Some(name)
            if arguments
                .name
                .as_ref()
                .is_some_and(|part| !name.contains(part)) =>
        {
            Outcome::Skipped
        }
        Some(name) => {
            let started = Instant::now();
            let outcome = tests.run(index, Duration::from_millis(TEST_MS_MAX)).await;
            report(name, &outcome, started.elapsed(), file)
        }
    };
    application::retire(&app).await;
    Ok(outcome)
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
