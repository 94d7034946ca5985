//! `tsumugi check` and `tsumugi routes`: load an application, say what it declares. Neither serves anything.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use tsumugi_server::commands;

use crate::application;

/// Options of `check` and `routes`.
#[derive(clap::Args)]
pub struct Arguments {
    /// The application file
    #[arg(default_value_os_t = crate::bundle::default_application())]
    app: PathBuf,
    /// The application's data; a temporary folder by default, so that a check changes nothing: stores elsewhere are empty ones in memory
    /// meanwhile. No migration is applied to a database that is there
    #[arg(long = "data", value_name = "DIR")]
    data: Option<PathBuf>,
}

/// Says whether the application loads.
pub fn check(arguments: &Arguments) -> Result<ExitCode> {
    application::inspect(&arguments.app, arguments.data.as_deref(), async |app| {
        let place = format!(" in {}", arguments.app.display());
        commands::print(commands::sound(app.routes().len(), place))?;
        Ok(ExitCode::SUCCESS)
    })
}

/// Prints the routes, one a line.
pub fn routes(arguments: &Arguments) -> Result<ExitCode> {
    application::inspect(&arguments.app, arguments.data.as_deref(), async |app| {
        commands::print(commands::routes(app.routes()))?;
        Ok(ExitCode::SUCCESS)
    })
}
