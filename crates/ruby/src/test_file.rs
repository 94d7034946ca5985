//! Tests of an application, written in Ruby and run in its own VM by `tsumugi test`. What a test may do is Ruby's
//! (prelude/test.rb); this loads a file of tests, runs one of them and says how it ended.

use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

use tsumugi_mruby::{ExceptionReport, Scope};

use crate::answer::answer;
use crate::app::App;
use crate::driver::{self, Bounds};
use crate::error::Error;
use crate::host::JobResult;
use crate::load::{self, OwnFile, own_files};

/// The Ruby of the client in the same process, for tests and consoles.
pub(crate) const CLIENT: &[OwnFile] = own_files!("client");

/// The words of test files.
const TEST: &[OwnFile] = own_files!("test", "test_stubs");

/// The tests of one file, on one application.
pub struct TestFile {
    app: Rc<App>,
    names: Vec<String>,
}

/// How a test ended.
#[derive(Clone, Debug)]
pub enum TestOutcome {
    /// It came to its end with so many assertions.
    Passed {
        /// Assertions made.
        assertions: i64,
    },
    /// An assertion failed, or it raised.
    Failed {
        /// The exception; an assertion's is a `Tsumugi::Failure`.
        report: ExceptionReport,
    },
    /// It took longer than it may and was cancelled.
    Overdue,
}

impl TestFile {
    /// Loads a file of tests beside the application.
    pub async fn load(app: &Rc<App>, file: &Path) -> Result<TestFile, Error> {
        let host = app.host();
        app.offer_client()?;
        load::own(host, CLIENT)?;
        load::own(host, TEST)?;
        load::program(host, file).await?;
        let names = host.vm.enter(names).map_err(Error::Prelude)?;
        Ok(TestFile {
            app: Rc::clone(app),
            names,
        })
    }

    /// The names of the tests in the order of the file.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Runs one test to its end, or cancels it after `limit`.
    pub async fn run(&self, index: usize, limit: Duration) -> TestOutcome {
        let deadline = Instant::now() + limit;
        let bounds = Bounds {
            deadline: Some(deadline),
            ..Bounds::default()
        };
        let job = answer(move |scope| {
            let index = scope.integer(i64::try_from(index).unwrap_or(i64::MAX));
            scope.call(scope.constant("Tsumugi::Tests")?, "job", &[index])
        });
        let finish = |scope: &Scope<'_>, ended: JobResult<'_>| match ended {
            Ok(assertions) => TestOutcome::Passed {
                assertions: assertions.as_integer().unwrap_or_default(),
            },
            Err(_) => match driver::failure_of(scope, &ended) {
                Some(report) => TestOutcome::Failed { report },
                None => TestOutcome::Overdue,
            },
        };
        driver::run(self.app.host(), job, &bounds, finish).await
    }
}

fn names(scope: &Scope<'_>) -> Result<Vec<String>, String> {
    let wrong = |raised| format!("{:?}", scope.report(raised));
    let tests = scope.constant("Tsumugi::Tests").map_err(wrong)?;
    let names = scope.call(tests, "names", &[]).map_err(wrong)?;
    Ok(scope.texts(names))
}
