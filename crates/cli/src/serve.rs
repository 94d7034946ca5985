//! `tsumugi serve`: an application on all workers until a signal ends it.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use tsumugi_ruby::{LoadedFiles, Mode, Settings};
use tsumugi_server::Options;

use crate::kv::embedded;
use crate::{application, executable, watch};

/// Options of `serve`.
#[derive(clap::Args)]
pub struct Arguments {
    /// The application file
    #[arg(default_value_os_t = crate::bundle::default_application(), hide_default_value = crate::bundle::is_built_in())]
    app: PathBuf,
    #[command(flatten)]
    options: Options<tsumugi_ruby::Limits>,
    #[command(flatten)]
    kv: embedded::Options,
}

/// What was switched on when this was built, for the dashboard.
const FEATURES: &[&str] = match cfg!(feature = "mimalloc") {
    true => &["mimalloc"],
    false => &[],
};

/// Serves until a signal.
pub fn run(arguments: Arguments) -> Result<ExitCode> {
    application::find(&arguments.app)?;
    if arguments.options.mode() == Mode::Development {
        executable::ensure_sources(&arguments.app, "--dev")?;
    }
    let mut prepared = arguments.options.prepare()?;
    prepared.describe(&[("mruby", "3.2")], FEATURES);
    let kv = arguments.kv.prepare(&mut prepared)?;
    let settings = Settings {
        app: arguments.app,
        data_dir: prepared.data_dir.clone(),
        mode: prepared.mode,
        limits: prepared.limits.app.clone(),
        http: prepared.limits.http.clone(),
        loaded: match prepared.mode {
            Mode::Development => LoadedFiles::recording(),
            Mode::Production => LoadedFiles::default(),
        },
        ..Settings::default()
    };
    if settings.mode == Mode::Development {
        let folder = folder_of(&settings.app);
        tracing::info!("development: watching {}", folder.display());
        let loaded = settings.loaded.clone();
        watch::start(folder, settings.data_dir.clone(), loaded, prepared.handle())?;
    }
    let handle = prepared.handle();
    let kv = kv.map(|kv| kv.start(handle)).transpose()?;
    let code = tsumugi_ruby::serve(prepared, settings);
    let kv = kv.map(embedded::RunningService::finish).transpose();
    // What is wrong with the application is reported first.
    Ok(match (code?, kv?) {
        (code, None | Some(0)) => code,
        (_, Some(other)) => ExitCode::from(other),
    })
}

/// The folder a file is in.
pub fn folder_of(file: &Path) -> PathBuf {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}
