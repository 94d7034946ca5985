//! Lines of Ruby for a loaded application, one after the other: locals persist, waits park only the line. Reads no
//! terminal and prints nothing; what a line sees is Ruby's (prelude/console.rb).

use std::cell::Cell;
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;

use tsumugi_mruby::{ExceptionReport, Raise, Scope, SyntaxError, Value};
use tsumugi_server::dispatch::StopSignal;

use crate::answer::answer;
use crate::app::App;
use crate::driver::{self, Bounds};
use crate::error::Error;
use crate::host::JobResult;
use crate::load;
use crate::test_file::CLIENT;

const CONSOLE: (&str, &str) = ("tsumugi/console.rb", include_str!("../prelude/console.rb"));

/// What the parser says of a text that may go on in the next line.
const UNFINISHED: &[&str] = &[
    "unexpected end of file",
    "unterminated",
    "can't find string",
];

/// A conversation with an application.
pub struct Console {
    app: Rc<App>,
    /// The number of the next line.
    line: Cell<u16>,
}

/// What became of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConsoleReply {
    /// It ran; its value, inspected.
    Value(String),
    /// It ran; its value is rows, of which these are the first.
    Rows {
        /// The names of the columns.
        columns: Vec<String>,
        /// The values as text.
        rows: Vec<Vec<String>>,
        /// Whether there are more.
        more: bool,
    },
    /// It raised.
    Raised(ExceptionReport),
    /// It was interrupted.
    Interrupted,
    /// It is the beginning of something: ask again with the next line added.
    Unfinished,
    /// It is no Ruby.
    Syntax(SyntaxError),
}

impl Console {
    /// Opens a console on a loaded application.
    pub fn open(app: &Rc<App>) -> Result<Console, Error> {
        app.offer_client()?;
        load::own(app.host(), &[CLIENT, CONSOLE])?;
        Ok(Console {
            app: Rc::clone(app),
            line: Cell::new(1),
        })
    }

    /// Runs a text of one or more lines. It is cancelled when `interrupted` resolves.
    pub async fn run(&self, text: &str, interrupted: impl Future<Output = ()>) -> ConsoleReply {
        let host = self.app.host();
        let line = self.line.get();
        if let Some(reply) = host.vm.enter(|scope| parse(scope, text, line)) {
            return reply;
        }
        let lines = u16::try_from(text.lines().count()).unwrap_or(u16::MAX);
        self.line.set(line.saturating_add(lines));
        let signal = Rc::new(StopSignal::default());
        let bounds = Bounds {
            signal: Some(Rc::clone(&signal)),
            ..Bounds::default()
        };
        let text = text.to_owned();
        let job = answer(move |scope| {
            let arguments = [scope.string(&text)?, scope.integer(line.into())];
            scope.call(scope.constant("Tsumugi::Evaluator")?, "job", &arguments)
        });
        let mut run = pin!(driver::run(host, job, &bounds, finish));
        tokio::select! {
            biased;
            reply = &mut run => reply,
            () = interrupted => {
                signal.give();
                run.await
            }
        }
    }
}

/// Why the text cannot run; `None` when it can.
fn parse(scope: &Scope<'_>, text: &str, line: u16) -> Option<ConsoleReply> {
    let error = scope.compile(text.as_bytes(), "console", line).err()?;
    let unfinished =
        |error: &SyntaxError| UNFINISHED.iter().any(|words| error.message.contains(words));
    if error.iter().any(unfinished) {
        return Some(ConsoleReply::Unfinished);
    }
    error.into_iter().next().map(ConsoleReply::Syntax)
}

fn finish(scope: &Scope<'_>, ended: JobResult<'_>) -> ConsoleReply {
    match ended {
        JobResult::Value(value) => match scope.text(value) {
            Some(text) => ConsoleReply::Value(text),
            None => {
                let rows = elements(scope, scope.array_at(value, 1));
                let row = |row: &Value<'_>| texts(scope, *row);
                ConsoleReply::Rows {
                    columns: texts(scope, scope.array_at(value, 0)),
                    rows: rows.iter().map(row).collect(),
                    more: scope.array_at(value, 2).truthy(),
                }
            }
        },
        JobResult::Raised(exception) => {
            let report = scope.report(Raise(exception));
            if report.class == "Tsumugi::Cancelled" {
                ConsoleReply::Interrupted
            } else {
                ConsoleReply::Raised(report)
            }
        }
    }
}

fn elements<'s>(scope: &'s Scope<'_>, array: Value<'s>) -> Vec<Value<'s>> {
    (0..scope.array_len(array))
        .map(|index| scope.array_at(array, index))
        .collect()
}

fn texts(scope: &Scope<'_>, array: Value<'_>) -> Vec<String> {
    elements(scope, array)
        .into_iter()
        .map(|element| scope.text(element).unwrap_or_default())
        .collect()
}
