//! `tsumugi check` and `tsumugi routes`: load an application, say what it declares. Neither serves anything.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use tsumugi_ruby::{RouteLine, Secret};

use crate::application;

/// Options of `check` and `routes`.
#[derive(clap::Args)]
pub struct Arguments {
    /// The application file
    #[arg(default_value = "app.rb")]
    app: PathBuf,
    /// The application's data; a temporary folder by default, so that a check changes nothing
    #[arg(long = "data", value_name = "DIR")]
    data: Option<PathBuf>,
}

/// Says whether the application loads.
pub fn check(arguments: &Arguments) -> Result<ExitCode> {
    application::inspect(&arguments.app, arguments.data.as_deref(), async |app| {
        let routes = app.routes().len();
        let plural = if routes == 1 { "route" } else { "routes" };
        println!("ok: {routes} {plural} in {}", arguments.app.display());
        if Secret::is_made_up() {
            println!(
                "serve does not start here: it needs TSUMUGI_SECRET, which only --dev makes up; `openssl rand -hex 32` makes one"
            );
        }
        Ok(ExitCode::SUCCESS)
    })
}

/// Prints the routes, one a line.
pub fn routes(arguments: &Arguments) -> Result<ExitCode> {
    application::inspect(&arguments.app, arguments.data.as_deref(), async |app| {
        print!("{}", table(app.routes()));
        Ok(ExitCode::SUCCESS)
    })
}

/// One line a route.
fn table(routes: &[RouteLine]) -> String {
    let row = |route: &RouteLine| {
        [
            route.method.to_string(),
            route.pattern.clone(),
            route.types.clone(),
            route.location.clone(),
        ]
    };
    let rows: Vec<[String; 4]> = routes.iter().map(row).collect();
    crate::table::aligned(&rows)
}
