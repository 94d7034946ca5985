//! `tsumugi serve`: an application on all workers until a signal ends it.

use std::backtrace::Backtrace;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result};
use tsumugi_front::{Front, Service};
use tsumugi_script::{Mode, Program, Settings};
use tsumugi_worker::{Address, Config, ERRORS, OUTPUT, Server, Signals};

use crate::limit::Limit;
use crate::limits::{LAST_LINES_MS_MAX, WORKERS_MAX};
use crate::{application, front, watch};

/// Options of `serve`.
#[derive(clap::Args)]
pub struct Arguments {
    /// The application file
    #[arg(default_value = "app.rb")]
    app: PathBuf,
    /// Where to listen: 127.0.0.1:8080, [::1]:8080 or unix:/path; may be repeated
    #[arg(long = "listen", value_name = "ADDR", default_value = "127.0.0.1:8080")]
    listen: Vec<Address>,
    /// Worker threads; the number of cores by default
    #[arg(long, value_name = "N", value_parser = workers)]
    workers: Option<NonZeroUsize>,
    /// Where the embedded databases of the application live
    #[arg(long = "data", value_name = "DIR", default_value = "data")]
    data: PathBuf,
    /// Development: reload when a file changes, show errors in the page, make up a session secret
    #[arg(long)]
    dev: bool,
    #[command(flatten)]
    front: front::Options,
    /// Another value for a limit, under the name that its error message gives it; may be repeated
    #[arg(long = "limit", value_name = "NAME=VALUE")]
    limits: Vec<Limit>,
}

/// A number of workers.
pub fn workers(text: &str) -> Result<NonZeroUsize, String> {
    let number = text.parse().ok();
    number
        .filter(|number: &NonZeroUsize| number.get() <= WORKERS_MAX)
        .ok_or_else(|| format!("expected a whole number from 1 to {WORKERS_MAX}"))
}

/// Serves until a signal.
pub fn run(arguments: Arguments) -> Result<ExitCode> {
    application::find(&arguments.app)?;
    streams_apart()?;
    let mut config = Config {
        listen: arguments.listen,
        signals: Signals::Handle,
        ..Config::default()
    };
    if let Some(workers) = arguments.workers {
        config.workers = workers;
    }
    std::fs::create_dir_all(&arguments.data)
        .with_context(|| format!("cannot make the folder {}", arguments.data.display()))?;
    let mode = if arguments.dev {
        Mode::Development
    } else {
        Mode::Production
    };
    let front = arguments.front.open(mode)?;
    let mut settings = Settings {
        app: arguments.app,
        data_dir: arguments.data,
        mode,
        ..Settings::default()
    };
    let workers = config.workers;
    for limit in &arguments.limits {
        limit.apply(&mut config, &mut settings)?;
    }
    let server = Server::bind(config)?;
    if mode == Mode::Development {
        let folder = folder_of(&settings.app);
        tracing::info!("development: watching {}", folder.display());
        watch::start(folder, settings.data_dir.clone(), server.handle())?;
    }
    for address in server.addresses() {
        let plural = if workers.get() == 1 { "" } else { "s" };
        tracing::info!(
            "listening on {} with {workers} worker{plural}",
            url(address, &front)
        );
    }
    arguments.front.start_admin(server.handle(), &front)?;
    let access_log = front.access_log.clone();
    let exit = server.run(move |worker| {
        let program = Program::new(settings.clone());
        Service::new(worker, settings.http.clone(), program, front.clone())
    })?;
    if let Some(log) = access_log {
        log.close(Duration::from_millis(LAST_LINES_MS_MAX));
    }
    Ok(ExitCode::from(exit.code()))
}

/// Keeps workers from waiting for who reads the standard streams, also when one panics.
pub fn streams_apart() -> Result<()> {
    for stream in [&OUTPUT, &ERRORS] {
        stream.start().context("cannot start the log")?;
    }
    std::panic::set_hook(Box::new(|panic| {
        tracing::error!("{panic}\n{}", Backtrace::capture());
        // The process may be about to abort.
        ERRORS.drain(Duration::from_millis(LAST_LINES_MS_MAX));
    }));
    Ok(())
}

/// An address as it can be opened.
fn url(address: &Address, front: &Front) -> String {
    match address {
        Address::Tcp(address) if front.tls.is_some() => format!("https://{address}"),
        Address::Tcp(address) => format!("http://{address}"),
        Address::Unix(_) => address.to_string(),
    }
}

/// The folder a file is in.
pub fn folder_of(file: &Path) -> PathBuf {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}
