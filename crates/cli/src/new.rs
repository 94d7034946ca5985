//! `tsumugi new`: writes the files of a first application, which are in `template/`, into a new or empty folder only.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result};

/// Options of `new`.
#[derive(clap::Args)]
pub struct Arguments {
    /// The folder to make
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// What is made. NAME in a text is the folder's name.
const FILES: &[(&str, &str)] = &[
    ("app.rb", include_str!("../template/app.rb")),
    (
        "migrations/20260101090000_create_notes.rb",
        include_str!("../template/migrations/20260101090000_create_notes.rb"),
    ),
    ("views/home.erb", include_str!("../template/views/home.erb")),
    (
        "public/style.css",
        include_str!("../template/public/style.css"),
    ),
    (
        "test/app_test.rb",
        include_str!("../template/test/app_test.rb"),
    ),
    ("README.md", include_str!("../template/README.md")),
    (".gitignore", include_str!("../template/gitignore")),
];

/// Makes the folder and its files.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let folder = &arguments.folder;
    let is_empty = match std::fs::read_dir(folder) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => true,
        Err(error) => {
            return Err(error).with_context(|| format!("cannot use {}", folder.display()));
        }
    };
    anyhow::ensure!(
        is_empty,
        "{} is not empty; name a folder that is new",
        folder.display()
    );
    let full = std::path::absolute(folder)?;
    let name = full
        .file_name()
        .map_or_else(|| "app".into(), |name| name.to_string_lossy());
    for (path, text) in FILES {
        write(&folder.join(path), &text.replace("NAME", &name))?;
    }
    let tsumugi = quoted(&invoked());
    println!("made {}", folder.display());
    println!("  cd {}", quoted(&folder.to_string_lossy()));
    println!("  {tsumugi} serve --dev     # http://127.0.0.1:8080");
    println!("  {tsumugi} test");
    Ok(ExitCode::SUCCESS)
}

/// How this program is called from another folder: by its name when it was found by name.
fn invoked() -> String {
    let by_path = std::env::args_os().next();
    let by_path = by_path.is_some_and(|name| name.as_encoded_bytes().contains(&b'/'));
    match std::env::current_exe() {
        Ok(path) if by_path => path.to_string_lossy().into_owned(),
        _ => "tsumugi".to_owned(),
    }
}

/// As a shell takes it for one word.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-+@:".contains(c);
    match word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

fn write(path: &Path, text: &str) -> Result<()> {
    let unwritable = || format!("cannot write {}", path.display());
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).with_context(unwritable)?;
    }
    std::fs::write(path, text).with_context(unwritable)
}
