//! `tsumugi migrate new`: a file with nothing to do yet. It writes no file that is there.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, Result};
use time::OffsetDateTime;

/// Options of `migrate new`.
#[derive(clap::Args)]
pub struct Arguments {
    /// What it does, in small letters, digits and underscores: create_users
    name: String,
    /// The application file, beside which migrations are
    #[arg(default_value_os_t = crate::bundle::default_application(), hide_default_value = crate::bundle::is_built_in())]
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
    anyhow::ensure!(
        !crate::bundle::is_there(),
        "a migration is made beside the sources: run `tsumugi migrate new {name}` there and build again"
    );
    let folder = super::folder(&arguments.app);
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let taken = file_names(&folder)?;
    if let Some(same) = taken.iter().find(|file| has_name(file, name)) {
        anyhow::bail!(
            "{} has this name already: write into that, or name this one for what it does besides",
            folder.join(same).display()
        );
    }
    let path = folder.join(format!("{}_{name}.rb", free_number(&taken)));
    let unwritable = || format!("cannot write {}", path.display());
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&path)
        .with_context(unwritable)?;
    file.write_all(text(name).as_bytes())
        .with_context(unwritable)?;
    tsumugi_server::commands::print(format_args!("made {}\n", path.display()))?;
    Ok(ExitCode::SUCCESS)
}

fn file_names(folder: &Path) -> Result<Vec<String>> {
    let entries = std::fs::read_dir(folder)
        .with_context(|| format!("cannot read the folder {}", folder.display()))?;
    let names = entries.flatten().map(|entry| entry.file_name());
    Ok(names.filter_map(|name| name.into_string().ok()).collect())
}

/// Whether a file is a migration of this name, whatever its number is.
fn has_name(file: &str, name: &str) -> bool {
    let named = file.strip_suffix(".rb");
    let named = named.map(|file| file.trim_start_matches(|c: char| c.is_ascii_digit()));
    named.and_then(|named| named.strip_prefix('_')) == Some(name)
}

/// The number of now, or of the first second after it that none of these files has.
fn free_number(taken: &[String]) -> String {
    let mut now = SystemTime::now();
    loop {
        let number = number(now);
        if !taken.iter().any(|name| name.starts_with(&number)) {
            return number;
        }
        now += Duration::from_secs(1);
    }
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
    let table = name.strip_prefix("create_");
    // What begins with a digit is no Symbol that Ruby reads without quotes, and hardly a table.
    let begins_well =
        |table: &&str| !table.is_empty() && !table.starts_with(|c: char| c.is_ascii_digit());
    match table.filter(begins_well) {
        Some(table) => format!(
            "up do\n  db.create(:{table}) do\n    increments :id\n    timestamps\n  end\nend\n\ndown {{ db.drop :{table} }}\n"
        ),
        None => {
            let table = altered_table(name).unwrap_or("notes");
            format!(
                "up do\n  # db.alter(:{table}) {{ add.string :title, 100, nullable: true }}\nend\n\ndown do\n  # db.alter(:{table}) {{ drop_column :title }}\nend\n"
            )
        }
    }
}

/// The table that a name such as `add_title_to_notes` is about.
fn altered_table(name: &str) -> Option<&str> {
    let (_, table) = name.rsplit_once("_to_").or(name.rsplit_once("_from_"))?;
    table
        .starts_with(|c: char| c.is_ascii_lowercase())
        .then_some(table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn only_a_name_that_ruby_reads_becomes_a_table() {
        let check = |name: &str, makes: bool| assert_eq!(text(name).contains("db.create"), makes);
        check("create_users", true);
        check("create__users", true);
        check("create_2fa", false);
        check("create_", false);
        check("add_nick", false);
    }

    #[test]
    fn name_of_a_change_gives_the_table_of_its_example() {
        assert!(text("add_nick_to_users").contains("# db.alter(:users) { add."));
        assert!(text("drop_nick_from_users").contains("# db.alter(:users) { drop_column"));
        for name in ["add_nick", "add_x_to_", "add_x_to_2fa"] {
            assert!(text(name).contains("# db.alter(:notes)"), "{name}");
        }
    }

    #[test]
    fn migration_of_the_same_name_is_one_with_another_number() {
        assert!(has_name("20260131120000_add_nick.rb", "add_nick"));
        assert!(has_name("7_add_nick.rb", "add_nick"));
        for other in [
            "7_add_nick",
            "7_add_nicks.rb",
            "7_1_add_nick.rb",
            "add_nick.rb",
        ] {
            assert!(!has_name(other, "add_nick"), "{other}");
        }
    }

    #[test]
    fn the_number_is_the_time() {
        let at = |seconds| number(UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(0), "19700101000000");
        assert_eq!(at(1_709_209_845), "20240229123045");
    }
}
