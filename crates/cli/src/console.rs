//! `tsumugi console`: reads lines, shows what they become. Evaluating them is the `ruby` crate's.
//! Lines are read on a thread of their own, so that the application's waits and timers go on meanwhile.

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, anyhow};
use rustyline::error::ReadlineError;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tsumugi_ruby::{App, Console, ConsoleReply};
use tsumugi_server::{DataAccess, DataFolder, table, without_hidden_folder};
use tsumugi_worker::WorkerLimits;

use crate::{application, bundle};

/// Options of `console`.
#[derive(clap::Args)]
pub struct Arguments {
    /// The application file
    #[arg(default_value_os_t = bundle::default_application(), hide_default_value = bundle::is_built_in())]
    app: PathBuf,
    /// Where the embedded databases of the application live
    #[arg(long = "data", value_name = "DIR", default_value = "data")]
    data: PathBuf,
}

/// What the line `help` shows.
const INSIDE: &str = "\
Any line of Ruby runs, with what handlers have:
  db[:notes].order(:id)       plugins by their names, helpers, constants and classes of the application
  get(\"/notes\").body         the client of tests: get post put patch delete head, with json: form: body:
                              query: headers:; response.status, .headers, .body, .json
  log.info \"a\"               log, jobs, http and worker
  _                           the value of the line before

An open block goes on in the next line. Ctrl-C interrupts a line or forgets what was begun; exit or Ctrl-D ends.";

const PROMPT: &str = "tsumugi> ";
const PROMPT_FURTHER: &str = "       * ";

/// What the reading thread is asked for.
enum ConsoleRequest {
    /// The first line of something.
    First,
    /// A further line of it.
    Further,
}

/// What was read.
enum Line {
    Text(String),
    /// Ctrl-C: forget what was begun.
    Interrupt,
    /// The end of the input.
    End,
    /// There may be more, which cannot be read.
    Unreadable(anyhow::Error),
}

/// Talks until the input ends.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    application::find(&arguments.app)?;
    let data = DataFolder::of(Some(&arguments.data))?;
    tsumugi_worker::alone(WorkerLimits::default(), async |worker| {
        let app = application::load(&worker, &arguments.app, &data, DataAccess::Shared).await?;
        let result = converse(&app).await;
        application::retire(&app).await;
        result
    })?
}

async fn converse(app: &std::rc::Rc<App>) -> Result<ExitCode> {
    let console = Console::open(app)?;
    let (ask, asked) = mpsc::channel(1);
    let (lines, mut read) = mpsc::channel(1);
    let reader = std::thread::Builder::new().name("tsumugi-console".to_owned());
    let terminal = std::io::stdin().is_terminal();
    if terminal {
        println!(
            "{} routes; helpers, plugins, get and post are here. help says more, exit or Ctrl-D ends.",
            app.routes().len()
        );
        reader.spawn(move || edit(asked, &lines))?;
    } else {
        reader.spawn(move || take(asked, &lines))?;
    }
    let mut text = String::new();
    let mut failed = false;
    loop {
        let wanted = if text.is_empty() {
            ConsoleRequest::First
        } else {
            ConsoleRequest::Further
        };
        if ask.send(wanted).await.is_err() {
            break;
        }
        match read.recv().await {
            None | Some(Line::End) => break,
            Some(Line::Unreadable(error)) => return Err(error),
            Some(Line::Interrupt) => text.clear(),
            Some(Line::Text(line)) => {
                text.push_str(&line);
                if text.is_empty() {
                    continue;
                }
                match text.trim() {
                    "exit" | "quit" => {
                        text.clear();
                        break;
                    }
                    // In the middle of something it is a part of that, and help() calls a helper of this name.
                    "help" => {
                        println!("{INSIDE}");
                        text.clear();
                        continue;
                    }
                    _ => {}
                }
                let reply = console.run(&text, interrupted()).await;
                failed |= matches!(reply, ConsoleReply::Raised(_) | ConsoleReply::Syntax(_));
                if show(&reply) == ShowOutcome::Unfinished {
                    text.push('\n');
                } else {
                    text.clear();
                }
            }
        }
    }
    if !text.trim().is_empty() {
        println!("the input ended in the middle of: {}", text.trim_end());
        return Ok(ExitCode::FAILURE);
    }
    // A script that feeds it is to learn of an error; a person has seen it.
    Ok(if failed && !terminal {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

/// Resolves at the first Ctrl-C after this call, also when it was not polled yet; never when the system reports none.
pub fn interrupted() -> impl Future<Output = ()> {
    let signals = signal(SignalKind::interrupt());
    async {
        match signals {
            Ok(mut signals) => drop(signals.recv().await),
            Err(_) => std::future::pending().await,
        }
    }
}

#[derive(PartialEq, Eq)]
enum ShowOutcome {
    Answer,
    Unfinished,
}

fn show(reply: &ConsoleReply) -> ShowOutcome {
    match reply {
        ConsoleReply::Unfinished => return ShowOutcome::Unfinished,
        ConsoleReply::Value(value) => println!("=> {value}"),
        ConsoleReply::Rows {
            columns,
            rows,
            more,
        } => {
            print!("{}", table::titled(columns, rows));
            match (rows.len(), more) {
                (1, false) => println!("1 row"),
                (shown, false) => println!("{shown} rows"),
                (shown, true) => println!("the first {shown} rows"),
            }
        }
        ConsoleReply::Interrupted => println!("interrupted"),
        ConsoleReply::Syntax(error) => println!("SyntaxError: {error}"),
        ConsoleReply::Raised(report) => {
            println!("{}", without_hidden_folder(&report.to_string()));
            let own = report
                .backtrace
                .iter()
                .filter(|frame| !frame.starts_with("tsumugi/"));
            for frame in own {
                println!("    from {}", without_hidden_folder(frame));
            }
        }
    }
    let _ = std::io::stdout().flush(); // there is no reader when it cannot be written
    ShowOutcome::Answer
}

/// Reads from a terminal, with editing and history.
fn edit(mut asked: mpsc::Receiver<ConsoleRequest>, lines: &mpsc::Sender<Line>) {
    let Ok(mut editor) = rustyline::DefaultEditor::new() else {
        return take(asked, lines);
    };
    while let Some(ask) = asked.blocking_recv() {
        let prompt = match ask {
            ConsoleRequest::First => PROMPT,
            ConsoleRequest::Further => PROMPT_FURTHER,
        };
        let line = match editor.readline(prompt) {
            Ok(text) => {
                let _ = editor.add_history_entry(&text); // a line that is not remembered runs all the same
                Line::Text(text)
            }
            Err(ReadlineError::Interrupted) => Line::Interrupt,
            Err(ReadlineError::Eof) => Line::End,
            // A person sees it and can write it again.
            Err(ReadlineError::Io(error)) if is_no_utf8(&error) => {
                println!("\nthis line is no UTF-8 and does not run");
                Line::Interrupt
            }
            Err(error) => Line::Unreadable(anyhow!(error).context("cannot read the terminal")),
        };
        if lines.blocking_send(line).is_err() {
            return;
        }
    }
}

/// Reads from a pipe or a file.
fn take(mut asked: mpsc::Receiver<ConsoleRequest>, lines: &mpsc::Sender<Line>) {
    let mut input = io::stdin().lock().lines().zip(1_usize..);
    while asked.blocking_recv().is_some() {
        let line = match input.next() {
            Some((Ok(text), _)) => Line::Text(text),
            Some((Err(error), number)) if is_no_utf8(&error) => Line::Unreadable(anyhow!(
                "line {number} of the input is no UTF-8; neither it nor what is behind it has run"
            )),
            Some((Err(error), number)) => {
                let what = format!("cannot read line {number} of the input");
                Line::Unreadable(anyhow!(error).context(what))
            }
            None => Line::End,
        };
        if lines.blocking_send(line).is_err() {
            return;
        }
    }
}

fn is_no_utf8(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::InvalidData
}
