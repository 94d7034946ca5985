//! The `tsumugi` command: reads arguments, sets the log level (`TSUMUGI_LOG`, or that of each command), starts what they ask for. Knows
//! neither HTTP nor Ruby itself.
//! Exit codes: 0 ok, 1 failed, 2 wrong usage.

#![forbid(unsafe_code)]

mod application;
#[cfg(feature = "bench")]
mod bench;
mod build;
mod bundle;
mod check;
mod console;
mod executable;
mod features;
mod health;
mod jobs;
mod kv;
mod limits;
mod manuals;
mod migrate;
mod new;
mod progress;
mod serve;
mod test;
mod watch;

use std::io::Write as _;
use std::process::ExitCode;
use std::sync::LazyLock;

use clap::{CommandFactory as _, Parser, Subcommand};
use executable::CommandLine;
use tsumugi_worker::{ERRORS, unblock_signals};

#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: tsumugi_allocator::Allocator = tsumugi_allocator::Allocator;

/// An application server: handlers in Ruby, written as if they blocked, on workers that never do.
#[derive(Parser)]
#[command(name = "tsumugi", version = version(), arg_required_else_help = true, after_help = FIRST_STEPS)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

/// For clap, which keeps no text of its own.
fn version() -> &'static str {
    static VERSION: LazyLock<String> = LazyLock::new(features::version);
    &VERSION
}

const FIRST_STEPS: &str = "\
First steps:
  tsumugi new blog                  an application with a page, a database and tests
  cd blog
  tsumugi serve --dev               on http://127.0.0.1:8080, reloading as you edit
  tsumugi test                      its tests

The log goes to standard error. TSUMUGI_LOG=debug shows more, TSUMUGI_LOG=error less;
TSUMUGI_LOG_FORMAT=json writes each event as a JSON object.
Exit codes: 0 ok, 1 failed, 2 wrong usage.";

const SERVE: &str = "\
Examples:
  tsumugi serve                               app.rb on http://127.0.0.1:8080, a worker per core
  tsumugi serve --dev                         while you write it
  tsumugi serve blog.rb --listen 0.0.0.0:80 --listen unix:/run/blog.sock --workers 4

Signals: SIGTERM or SIGINT lets running requests finish, a second one ends at once;
SIGHUP loads the application anew and swaps it in if it loads.";

const CHECK: &str = "\
Examples:
  tsumugi check                 ok: 12 routes in app.rb
  tsumugi check blog.rb         or file, line and reason, and exit code 1

The file is evaluated, plugins included, with a temporary data folder. Stores on disk elsewhere are empty ones in
memory meanwhile, and no migration is applied to a database that is there: a server that runs is not disturbed.";

const ROUTES: &str = "\
Examples:
  tsumugi routes
  GET   /             app.rb:3
  GET   /users/:id    id: Integer  app.rb:8
  tsumugi routes --openapi > openapi.json
  tsumugi routes --openapi --title Shop --api-version 2.1

The description names captures, what handlers ask for by body.require, body.check, query.int and the like, and
the statuses that they answer. Handlers are read for it and not run.";

const TEST: &str = "\
Examples:
  tsumugi test                                    test/*_test.rb beside app.rb
  tsumugi test blog.rb test/post_test.rb --name login
  DATABASE_URL=postgres://localhost/blog_test tsumugi test

A file of tests:
  test \"a task is added\" do
    post \"/tasks\", form: {title: \"Milk\"}
    assert_status 303
    assert_match \"Milk\", follow_redirect.body
  end

Each test runs on an application loaded anew, with an empty data folder and a database of its own,
to which migrations/ is applied: a file, or one beside the empty database that DATABASE_URL names. There are
get post put patch delete head (json: form: body: query: headers:), response.status, headers,
body, json, pieces(n) and events(n) of streams; assert, refute, assert_equal, assert_match,
refute_match, assert_raises, assert_status, flunk; setup and teardown.";

const CONSOLE: &str = "\
Example:
  tsumugi console
  tsumugi> db[:notes].order(:id)
  id  text
  --  -----
  1   bread
  1 row
  tsumugi> db[:notes].where(id: 1).sql
  => \"select * from `notes` where `id` = ?\"
  tsumugi> get(\"/\").status
  => 200

Lines run in the application, with its helpers and plugins (db above is one), log, jobs, http and worker, and the client
of its tests: get post put patch delete head with json: form: body: query: headers:. _ is the last value; help as a line
says this again. Waits work; Ctrl-C interrupts a line, exit or Ctrl-D ends. Lines can be piped: echo 'worker.id' | tsumugi console
Beside a running server its stores on disk are used through its --kv-listen; without that their calls raise KV::Locked.
What the application migrates while it loads is left as it is; db.migrate as a line is done.";

const NEW: &str = "\
Example:
  tsumugi new blog && cd blog && tsumugi serve --dev";

#[derive(Subcommand)]
enum Command {
    /// Serve an application
    #[command(after_help = SERVE)]
    Serve(Box<serve::Arguments>),
    /// Say whether an application loads
    #[command(after_help = CHECK)]
    Check(check::Arguments),
    /// List an application's routes
    #[command(after_help = ROUTES)]
    Routes(check::RoutesArguments),
    /// Run lines of Ruby in an application
    #[command(after_help = CONSOLE)]
    Console(console::Arguments),
    /// Run an application's tests
    #[command(after_help = TEST)]
    Test(test::Arguments),
    /// Apply, undo and make migrations of the database
    #[command(after_help = migrate::HELP)]
    Migrate(migrate::Arguments),
    /// Fill empty tables with what an application begins with
    #[command(after_help = migrate::SEED_HELP)]
    Seed(migrate::MigrateTarget),
    /// Show jobs, try them again, drop them
    #[command(after_help = jobs::HELP)]
    Jobs(jobs::Arguments),
    /// Serve key-value databases to clients of Tkrzw-RPC, or be such a client
    #[command(after_help = kv::HELP)]
    Kv(Box<kv::Arguments>),
    /// Measure this server beside others on this machine
    #[cfg(feature = "bench")]
    #[command(after_help = bench::HELP)]
    Bench(Box<bench::Arguments>),
    /// Make a new application
    #[command(after_help = NEW)]
    New(new::Arguments),
    /// Put an application into one executable
    #[command(after_help = build::HELP)]
    Build(build::Arguments),
    /// Ask a running server whether it takes requests
    #[command(after_help = health::HELP)]
    Health(health::Arguments),
    /// Print what a shell completes
    #[command(hide = true)]
    Completions(manuals::CompletionArguments),
    /// Write the pages of the manual
    #[command(hide = true)]
    Man(manuals::PageArguments),
}

/// Reports why a command has failed; its exit code.
fn report(error: anyhow::Error, is_in_file: bool) -> ExitCode {
    let (text, code) = tsumugi_server::failure(error, "tsumugi: ", Arguments::command());
    let text = features::with_advice(&tsumugi_server::without_hidden_folder(&text));
    // There is no reader when it cannot be written.
    let _ = write!(&ERRORS, "{text}");
    if is_in_file {
        let _ = write!(std::io::stderr(), "{text}");
    }
    code
}

/// What is logged where `TSUMUGI_LOG` does not say it.
fn log_level(command: &Command) -> &'static str {
    // Commands that look at an application say themselves what they found, and nothing of how it loads.
    match command {
        Command::Serve(_) => "info,tsumugi_db=debug",
        Command::Kv(arguments) if arguments.is_server() => "info",
        // Between the lines of tests and of a console nothing else is read; what these are about can be shown with TSUMUGI_LOG.
        Command::Test(_)
        | Command::Console(_)
        | Command::Check(_)
        | Command::Routes(_)
        | Command::Jobs(_)
        | Command::Build(_) => "warn",
        _ => "warn,tsumugi_db=debug",
    }
}

fn main() -> ExitCode {
    // Where the system refuses it, they stay as the parent has left them.
    let _ = unblock_signals();
    // What was unpacked is removed at the end.
    let (words, _unpacked) = match executable::command_line(Arguments::command) {
        Ok(CommandLine::Words(words, unpacked)) => (words, unpacked),
        Ok(CommandLine::Help(help)) => return tsumugi_server::print_usage(help),
        Err(error) => return report(error, false),
    };
    let arguments = match Arguments::try_parse_from(words) {
        Ok(arguments) => arguments,
        Err(usage) => {
            let refusal = features::refusal(&usage);
            return tsumugi_server::print_usage(refusal.unwrap_or(usage));
        }
    };
    let level = log_level(&arguments.command);
    let log_file = match &arguments.command {
        Command::Kv(arguments) => arguments.log_file(),
        _ => None,
    };
    if let Err(error) = tsumugi_server::begin_log(level, log_file) {
        return report(error, false);
    }
    let is_in_file = log_file.is_some();
    let result = match arguments.command {
        Command::Serve(arguments) => serve::run(*arguments),
        Command::Check(arguments) => check::check(&arguments),
        Command::Routes(arguments) => check::routes(&arguments),
        Command::Console(arguments) => console::run(&arguments),
        Command::Test(arguments) => test::run(&arguments),
        Command::Migrate(arguments) => migrate::run(&arguments),
        Command::Seed(place) => migrate::seed(&place),
        Command::Jobs(arguments) => jobs::run(&arguments),
        Command::Kv(arguments) => kv::run(*arguments),
        #[cfg(feature = "bench")]
        Command::Bench(arguments) => bench::run(*arguments),
        Command::New(arguments) => new::run(&arguments),
        Command::Build(arguments) => build::run(&arguments),
        Command::Health(arguments) => health::run(&arguments),
        Command::Completions(arguments) => manuals::completions(&arguments, Arguments::command()),
        Command::Man(arguments) => manuals::pages(&arguments, Arguments::command()),
    };
    let code = result.unwrap_or_else(|error| report(error, is_in_file));
    tsumugi_server::end_log();
    code
}
