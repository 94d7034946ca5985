//! Lines of Ruby for a loaded application, one after the other: locals persist, waits park only the line. Reads no
//! terminal and prints nothing; what a line sees is Ruby's (prelude/console.rb).

use std::cell::Cell;
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;

use tsumugi_mruby::{ExceptionReport, Scope, SyntaxError};
use tsumugi_server::dispatch::StopSignal;

use crate::answer::answer;
use crate::app::App;
use crate::driver::{self, Bounds};
use crate::error::Error;
use crate::held_streams::HeldStreams;
use crate::host::JobResult;
use crate::load::{self, OwnFile, own_files};
use crate::test_file::CLIENT;

const CONSOLE: &[OwnFile] = own_files!("console");

/// What mruby's parser says first of a text that may go on in the next line: one that ends in the middle of an expression; of a
/// string, a list of `%w` or a pattern; behind `%q`; in a here document; in a comment of `=begin`. (An "unterminated here document
/// identifier" is none: no line ends in the middle of a name.)
const UNFINISHED: &[&str] = &[
    "unexpected end of file",
    "unterminated string",
    "unterminated quoted string",
    "can't find heredoc delimiter",
    "embedded document meets end of file",
];

/// A conversation with an application.
pub struct Console {
    app: Rc<App>,
    /// The number of the next line.
    line: Cell<u16>,
    /// What its lines have opened, for the lines that follow.
    streams: Rc<HeldStreams>,
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
        load::own(app.host(), CLIENT)?;
        load::own(app.host(), CONSOLE)?;
        Ok(Console {
            app: Rc::clone(app),
            line: Cell::new(1),
            streams: Rc::default(),
        })
    }

    /// Runs a text of one or more lines. It is cancelled when `interrupted` resolves.
    pub async fn run(&self, text: &str, interrupted: impl Future<Output = ()>) -> ConsoleReply {
        let host = self.app.host();
        let line = self.line.get();
        // A line has an end: behind a backslash it is the end that makes the text go on.
        let text = format!("{text}\n");
        if let Some(reply) = host.vm.enter(|scope| parse(scope, &text, line)) {
            return reply;
        }
        let lines = u16::try_from(text.lines().count()).unwrap_or(u16::MAX);
        self.line.set(line.saturating_add(lines));
        let signal = Rc::new(StopSignal::default());
        let bounds = Bounds {
            signal: Some(Rc::clone(&signal)),
            streams: Some(Rc::clone(&self.streams)),
            ..Bounds::default()
        };
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
    let Some(error) = first_error(scope, text, line) else {
        // A backslash outside of a comment takes the end of its line away.
        let open = text.trim_end_matches('\n');
        let is_open = open.ends_with('\\') && first_error(scope, open, line).is_some();
        return is_open.then_some(ConsoleReply::Unfinished);
    };
    let is_unfinished = UNFINISHED.iter().any(|words| error.message.contains(words));
    Some(match is_unfinished {
        true => ConsoleReply::Unfinished,
        false => ConsoleReply::Syntax(error),
    })
}

/// The first error decides: behind a mistake the parser may miss an `end` too.
fn first_error(scope: &Scope<'_>, text: &str, line: u16) -> Option<SyntaxError> {
    let errors = scope.compile(text.as_bytes(), "console", line).err()?;
    errors.into_iter().next()
}

fn finish(scope: &Scope<'_>, ended: JobResult<'_>) -> ConsoleReply {
    match ended {
        Ok(value) => match scope.text(value) {
            Some(text) => ConsoleReply::Value(text),
            None => {
                let rows = scope.elements(scope.array_at(value, 1));
                ConsoleReply::Rows {
                    columns: scope.texts(scope.array_at(value, 0)),
                    rows: rows.map(|row| scope.texts(row)).collect(),
                    more: scope.array_at(value, 2).truthy(),
                }
            }
        },
        Err(_) => driver::failure_of(scope, &ended)
            .map_or(ConsoleReply::Interrupted, ConsoleReply::Raised),
    }
}
