//! `tsumugi serve`: an application on all workers until a signal ends it.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use tsumugi_script::{Service, Settings};
use tsumugi_worker::{Address, Config, Server, Signals};

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
    #[arg(long, value_name = "N")]
    workers: Option<NonZeroUsize>,
    /// Where the embedded databases of the application live
    #[arg(long = "data", value_name = "DIR", default_value = "data")]
    data: PathBuf,
}

/// Serves until a signal.
pub fn run(arguments: Arguments) -> Result<ExitCode> {
    let mut config = Config {
        listen: arguments.listen,
        signals: Signals::Handle,
        ..Config::default()
    };
    if let Some(workers) = arguments.workers {
        config.workers = workers;
    }
    std::fs::create_dir_all(&arguments.data)?;
    let settings = Settings {
        app: arguments.app,
        data_dir: arguments.data,
        ..Settings::default()
    };
    let server = Server::bind(config)?;
    for address in server.addresses() {
        tracing::info!("listening on {address}");
    }
    let exit = server.run(move |worker| Service::new(worker, settings.clone()))?;
    Ok(ExitCode::from(exit.code()))
}
