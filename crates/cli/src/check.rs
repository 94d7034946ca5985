//! `tsumugi check` and `tsumugi routes`: load an application, say what it declares. Neither serves anything.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use tsumugi_server::openapi::RouteOptions;
use tsumugi_server::{commands, without_hidden_folder};

use crate::{application, bundle, serve};

/// Options of `check`, and of `routes` too.
#[derive(clap::Args)]
pub struct Arguments {
    /// The application file
    #[arg(default_value_os_t = bundle::default_application(), hide_default_value = bundle::is_built_in())]
    app: PathBuf,
    /// The application's data; a temporary folder by default, so that a check changes nothing: stores elsewhere are empty ones in memory
    /// meanwhile. No migration is applied to a database that is there
    #[arg(long = "data", value_name = "DIR")]
    data: Option<PathBuf>,
}

/// Options of `routes`.
#[derive(clap::Args)]
pub struct RoutesArguments {
    #[command(flatten)]
    application: Arguments,
    #[command(flatten)]
    options: RouteOptions,
}

/// Says whether the application loads.
pub fn check(arguments: &Arguments) -> Result<ExitCode> {
    application::inspect(&arguments.app, arguments.data.as_deref(), async |app| {
        let app_file = arguments.app.display().to_string();
        let place = format!(" in {}", without_hidden_folder(&app_file));
        commands::print(commands::sound(app.routes().len(), place))?;
        Ok(ExitCode::SUCCESS)
    })
}

/// Prints the routes, one a line, or what describes them.
pub fn routes(arguments: &RoutesArguments) -> Result<ExitCode> {
    let Arguments { app, data } = &arguments.application;
    application::inspect(app, data.as_deref(), async |loaded| {
        let name = || name_of(app);
        let text = arguments
            .options
            .text(loaded.routes(), name, || loaded.operations())?;
        commands::print(without_hidden_folder(&text))?;
        Ok(ExitCode::SUCCESS)
    })
}

/// The name of an application: that of its file, or of the folder where an `app.rb` lies; of an executable with an application, its own.
pub fn name_of(app: &Path) -> String {
    let executable = || std::env::current_exe().ok();
    // `.` and `..` are no names: that of the folder for which they stand is taken.
    let in_its_folder = || {
        let folder = serve::folder_of(app).canonicalize().ok()?;
        Some(folder.join(app.file_name()?))
    };
    let path = match bundle::is_there() {
        true => executable(),
        false => in_its_folder(),
    };
    let path = path.unwrap_or_else(|| app.to_owned());
    let stem = path.file_stem().unwrap_or_default();
    let folder = path.parent().and_then(Path::file_name);
    let name = match folder {
        Some(folder) if stem == "app" => folder,
        _ => stem,
    };
    name.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn application_is_named_after_its_file_or_folder() {
        for (app, expected) in [
            ("/srv/shop/app.rb", "shop"),
            ("/srv/shop/blog.rb", "blog"),
            ("/app.rb", "app"),
        ] {
            assert_eq!(name_of(Path::new(app)), expected, "{app}");
        }
    }

    #[test]
    fn application_in_a_folder_above_is_named_after_that_folder() {
        let folder = tempfile::tempdir().unwrap();
        let views = folder.path().join("shop/views");
        std::fs::create_dir_all(&views).unwrap();
        assert_eq!(name_of(&views.join("../app.rb")), "shop");
        assert_eq!(name_of(&views.join("./../blog.rb")), "blog");
    }
}
