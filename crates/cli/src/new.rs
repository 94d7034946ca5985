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

/// What stands for the folder's name in a text.
const NAME: &str = "APPLICATION";

/// What is made.
const FILES: &[(&str, &str)] = &[
    ("app.rb", include_str!("../template/app.rb")),
    (
        "migrations/20260101090000_create_notes.rb",
        include_str!("../template/migrations/20260101090000_create_notes.rb"),
    ),
    ("seeds.rb", include_str!("../template/seeds.rb")),
    ("views/home.erb", include_str!("../template/views/home.erb")),
    (
        "public/style.css",
        include_str!("../template/public/style.css"),
    ),
    (
        "test/app_test.rb",
        include_str!("../template/test/app_test.rb"),
    ),
    ("sig/tsumugi.rbs", tsumugi_ruby::SIGNATURES),
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
        write(&folder.join(path), &text.replace(NAME, &title(path, &name)))?;
    }
    let tsumugi = quoted(&invoked());
    println!("made {}", folder.display());
    println!("  cd {}", quoted(&folder.to_string_lossy()));
    println!("  {tsumugi} serve --dev     # http://127.0.0.1:8080");
    println!("  {tsumugi} test");
    Ok(ExitCode::SUCCESS)
}

/// The folder's name on one line, as a file of this kind shows it.
fn title(path: &str, name: &str) -> String {
    let line: String = name
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    match Path::new(path).extension().and_then(|kind| kind.to_str()) {
        Some("erb") => in_html(&line),
        Some("md") => in_markdown(&line),
        _ => line,
    }
}

/// Text between tags. Without `<` it begins no tag of a template either.
fn in_html(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            c => html.push(c),
        }
    }
    html
}

/// The text of a heading: what Markdown could read as more than a character gets a backslash (CommonMark section 2.4). An underscore
/// inside of a word is none of it.
fn in_markdown(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let is_word = |at: Option<usize>| {
        at.and_then(|at| chars.get(at))
            .is_some_and(|c| c.is_alphanumeric())
    };
    let mut markdown = String::with_capacity(text.len());
    for (at, c) in chars.iter().enumerate() {
        let is_inside = is_word(at.checked_sub(1)) && is_word(Some(at + 1));
        if "\\`*[]<>&#~".contains(*c) || (*c == '_' && !is_inside) {
            markdown.push('\\');
        }
        markdown.push(*c);
    }
    markdown
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
