//! `tsumugi check` and `tsumugi routes`: load an application, say what it declares. Neither serves anything.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use tsumugi_script::RouteLine;

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

/// Columns as wide as their widest entry.
fn table(routes: &[RouteLine]) -> String {
    let rows: Vec<[String; 4]> = routes
        .iter()
        .map(|route| {
            [
                route.method.to_string(),
                route.pattern.clone(),
                route.types.clone(),
                route.location.clone(),
            ]
        })
        .collect();
    let width = |column: usize| {
        let widths = rows.iter().map(|row| row[column].chars().count());
        widths.max().unwrap_or(0)
    };
    let widths = [width(0), width(1), width(2)];
    let mut text = String::new();
    for [method, pattern, types, location] in &rows {
        let [a, b, c] = widths;
        text.push_str(&format!(
            "{method:<a$}  {pattern:<b$}  {types:<c$}  {location}\n"
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_entry() {
        let line = |method: &str, pattern: &str, types: &str| RouteLine {
            method: method.parse().unwrap(),
            pattern: pattern.to_owned(),
            types: types.to_owned(),
            location: "app.rb:1".to_owned(),
        };
        let routes = [
            line("GET", "/", ""),
            line("DELETE", "/users/:id", "id: Integer"),
        ];
        let expected = "GET     /                        app.rb:1\n\
                        DELETE  /users/:id  id: Integer  app.rb:1\n";
        assert_eq!(table(&routes), expected);
    }
}
