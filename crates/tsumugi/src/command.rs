//! The command line of a native application: `serve` with the options of `tsumugi serve`, `check`, `routes`, `migrate` and `seed`.
//! Exit codes: 0 ok, 1 failed, 2 wrong usage.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::rc::Rc;

use crate::{AppInstance, Db, Migration, Plugin, Program, Router, Settings, Worker};
use anyhow::{Result, anyhow};
use clap::{CommandFactory as _, Parser, Subcommand};
use tsumugi_server::commands;
use tsumugi_server::openapi::RouteOptions;
use tsumugi_server::{DataAccess, DataFolder, Mode, Options};
use tsumugi_worker::ERRORS;

use crate::maintain::{DatabaseCommands, MaintenanceTarget, MigrateCommand};

/// A server of its own.
#[derive(Parser)]
#[command(arg_required_else_help = true, after_help = AFTER)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

const AFTER: &str = "\
The log goes to standard error. TSUMUGI_LOG=debug shows more, TSUMUGI_LOG=error less;
TSUMUGI_LOG_FORMAT=json writes each event as a JSON object.
Signals: SIGTERM or SIGINT lets running requests finish, a second one ends at once;
SIGHUP makes the plugins anew and swaps them in if they start.
Exit codes: 0 ok, 1 failed, 2 wrong usage.";

const ROUTES: &str = "\
Examples:
  shop routes
  shop routes --openapi > openapi.json
  shop routes --openapi --title Shop --api-version 2.1

The description names captures, what the arguments of handlers ask for, and with which statuses they refuse a request.";

#[derive(Subcommand)]
enum Command {
    /// Serve
    Serve(Box<Options<crate::Limits>>),
    /// Say whether the plugin starts
    Check {
        /// The application's data; a temporary folder by default, so that a check changes nothing: stores elsewhere are empty ones in memory
        /// meanwhile. No migration is applied to a database that is there
        #[arg(long = "data", value_name = "DIR")]
        data: Option<PathBuf>,
    },
    /// List the routes
    #[command(after_help = ROUTES)]
    Routes(RouteOptions),
    /// Change the tables of the database step by step
    Migrate {
        #[command(subcommand)]
        command: MigrateCommand,
    },
    /// Fill the database with what it begins with
    Seed(MaintenanceTarget),
}

/// Does what the arguments of the process ask for; the options `--acme…` are there with the feature `acme`. `routes` is called once on every worker, and
/// again at each reload. Wrong arguments are printed with exit code 2, and help with 0; the process is not ended.
pub fn main<S, F>(routes: F) -> ExitCode
where
    S: Plugin,
    F: Fn() -> Router<S> + Clone + Send + Sync + 'static,
{
    Commands::new(routes).main()
}

/// The command line of an application that has more to say than its routes.
pub struct Commands<F> {
    routes: F,
    database: DatabaseCommands,
}

impl<F> Commands<F> {
    /// Of an application with these routes.
    pub fn new(routes: F) -> Commands<F> {
        Commands {
            routes,
            database: DatabaseCommands::default(),
        }
    }

    /// How `migrate` and `seed` reach the database; the function that the plugin connects with.
    #[must_use]
    pub fn database<C>(mut self, connect: C) -> Commands<F>
    where
        C: AsyncFn(&Worker) -> crate::Result<Db> + 'static,
    {
        let connect = Rc::new(connect);
        self.database.connect = Some(Box::new(move |worker| {
            let connect = Rc::clone(&connect);
            Box::pin(async move { connect(&worker).await })
        }));
        self
    }

    /// What `migrate` applies and undoes.
    #[must_use]
    pub fn migrations(mut self, migrations: fn() -> Vec<Migration>) -> Commands<F> {
        self.database.migrations = Some(migrations);
        self
    }

    /// What `seed` runs: with [`Db::seed`] a table is filled only if it is empty.
    #[must_use]
    pub fn seeds<R>(mut self, seeds: R) -> Commands<F>
    where
        R: AsyncFn(&Db) -> crate::Result<()> + 'static,
    {
        let seeds = Rc::new(seeds);
        self.database.seeds = Some(Box::new(move |db| {
            let seeds = Rc::clone(&seeds);
            Box::pin(async move { seeds(&db).await })
        }));
        self
    }

    /// Does what the arguments of the process ask for; see [`main`].
    pub fn main<S>(self) -> ExitCode
    where
        S: Plugin,
        F: Fn() -> Router<S> + Clone + Send + Sync + 'static,
    {
        self.main_with(std::env::args_os())
    }

    /// The same with other arguments than those of the process, the name of the program first. Wrong arguments are printed with exit code 2, and help with 0;
    /// the process is not ended.
    pub fn main_with<S>(self, arguments: impl IntoIterator<Item = OsString>) -> ExitCode
    where
        S: Plugin,
        F: Fn() -> Router<S> + Clone + Send + Sync + 'static,
    {
        match Arguments::try_parse_from(arguments) {
            Ok(arguments) => run(self.routes, self.database, arguments),
            Err(usage) => tsumugi_server::print_usage(usage),
        }
    }
}

fn run<S, F>(routes: F, database: DatabaseCommands, arguments: Arguments) -> ExitCode
where
    S: Plugin,
    F: Fn() -> Router<S> + Clone + Send + Sync + 'static,
{
    let level = match &arguments.command {
        Command::Serve(_) => "info,tsumugi_db=debug",
        _ => "warn,tsumugi_db=debug",
    };
    let code = tsumugi_server::begin_log(level, None)
        .and_then(|()| run_command(arguments.command, routes, database))
        .unwrap_or_else(|error| {
            let (text, code) = tsumugi_server::failure(error, "", Arguments::command());
            // A failure to write the error cannot be reported either.
            let _ = write!(&ERRORS, "{text}");
            code
        });
    tsumugi_server::end_log();
    code
}

fn run_command<S, F>(command: Command, routes: F, database: DatabaseCommands) -> Result<ExitCode>
where
    S: Plugin,
    F: Fn() -> Router<S> + Clone + Send + Sync + 'static,
{
    match command {
        Command::Serve(options) => serve(*options, routes),
        Command::Check { data } => check(data.as_deref(), routes).and_then(printed),
        Command::Routes(options) => {
            let router = routes();
            let text = options.text(&router.lines(), program_name, || router.operations());
            printed(text.map_err(|error| anyhow!("{}", crate::story(&error)))?)
        }
        Command::Migrate { command } => {
            let has_jobs = !routes().jobs.is_empty();
            let database = DatabaseCommands {
                has_jobs,
                ..database
            };
            database.migrate(command)
        }
        Command::Seed(target) => database.seed(target),
    }
}

fn serve<S, F>(options: Options<crate::Limits>, routes: F) -> Result<ExitCode>
where
    S: Plugin,
    F: Fn() -> Router<S> + Clone + Send + Sync + 'static,
{
    let prepared = options.prepare()?;
    let settings = Settings {
        data_dir: prepared.data_dir.clone(),
        mode: prepared.mode,
        limits: prepared.limits.app.clone(),
        http: prepared.limits.http.clone(),
        ..Settings::default()
    };
    prepared.run(move |_| Program::new(settings.clone(), routes.clone()))
}

fn check<S: Plugin>(data: Option<&Path>, routes: impl Fn() -> Router<S>) -> Result<String> {
    // What a user names is others', too.
    let access = match data {
        Some(_) => DataAccess::Shared,
        None => DataAccess::Own,
    };
    let data = DataFolder::of(data)?;
    let settings = Settings {
        data_dir: data.path().to_owned(),
        mode: Mode::Development,
        access,
        ..Settings::default()
    };
    let limits = tsumugi_worker::WorkerLimits::default();
    let outcome = tsumugi_worker::alone(limits, async |worker| {
        let loading = AppInstance::load(&worker, Rc::new(settings), routes);
        let loaded = access.within(data.path(), loading).await;
        let loaded = loaded.map_err(|error| anyhow!("{}", crate::story(&error)))?;
        loaded.retire().await;
        anyhow::Ok(loaded.routes().len())
    });
    Ok(commands::sound(outcome??, ""))
}

/// The name of the executable, which is what a description of the routes is called.
fn program_name() -> String {
    let path = std::env::current_exe().ok();
    let name = path.as_deref().and_then(Path::file_stem);
    name.map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

fn printed(text: String) -> Result<ExitCode> {
    commands::print(text)?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Sessions, get};

    #[test]
    fn check_without_a_secret_says_that_serve_would_not_start_and_leaves_no_folder() {
        async fn hello() -> &'static str {
            "hello"
        }
        let routes = || {
            let router = Router::<()>::new().route("/", get(hello));
            router.sessions(Sessions::in_cookie())
        };
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        for data in [None, Some(data.as_path())] {
            let text = check(data, routes).unwrap();
            let serve = "serve does not start here: it needs TSUMUGI_SECRET";
            assert!(text.starts_with(&format!("ok: 1 route\n{serve}")), "{text}");
        }
        assert!(!data.exists());
    }
}
