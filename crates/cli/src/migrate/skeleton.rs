//! `tsumugi migrate new`: a file with nothing to do yet. It writes no file that is there.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::SystemTime;

use anyhow::{Context as _, Result};
use time::OffsetDateTime;

/// Options of `migrate new`.
#[derive(clap::Args)]
pub struct Arguments {
    /// What it does, in small letters, digits and underscores: create_users
    name: String,
    /// The application file, beside which migrations are
    #[arg(default_value = "app.rb")]
    app: PathBuf,
}

/// Makes the file.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let name = &arguments.name;
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    anyhow::ensure!(
        !name.is_empty() && name.chars().all(is_plain),
        "{name:?} is no name of a migration: say what it does in small letters, digits and underscores, as in create_users"
    );
    let folder = super::folder(&arguments.app);
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let path = folder.join(format!("{}_{name}.rb", number(SystemTime::now())));
    let unwritable = || format!("cannot write {}", path.display());
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&path)
        .with_context(unwritable)?;
    file.write_all(text(name).as_bytes())
        .with_context(unwritable)?;
    println!("made {}", path.display());
    Ok(ExitCode::SUCCESS)
}

/// Seconds of the calendar, in UTC, so that names come in the order in which they were made.
fn number(now: SystemTime) -> String {
    let now = OffsetDateTime::from(now);
    let (year, month, day) = now.to_calendar_date();
    let (hour, minute, second) = now.to_hms();
    let month = u8::from(month);
    format!("{year:04}{month:02}{day:02}{hour:02}{minute:02}{second:02}")
}

fn text(name: &str) -> String {
    match name.strip_prefix("create_") {
        Some(table) => format!(
            "up do\n  db.create(:{table}) do\n    increments :id\n    timestamps\n  end\nend\n\ndown {{ db.drop :{table} }}\n"
        ),
        None => "up do\nend\n\ndown do\nend\n".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn the_number_is_the_time() {
        let at = |seconds| number(UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(0), "19700101000000");
        assert_eq!(at(1_709_209_845), "20240229123045");
    }
}
