//! Follows a page word for word, in an empty folder: a sample that names a file (```` ```ruby app.rb ````) is put there, a shell sample is run, and what the
//! next sample of text shows has to be among what came out, in this order. The server of the page runs with two workers. Not a test.
//! Rule: a sample of a file goes to its end, a route that the file has already takes its place, and a file that is not Ruby is written anew: what a reader
//! is told to do, and no more.

use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::document;
use crate::rig::Served;

/// Where a page says that its server is.
const ADDRESS: &str = "127.0.0.1:8080";

/// A sample of a page, with the line at which it begins.
struct Sample {
    line: usize,
    language: String,
    file: Option<String>,
    text: String,
}

/// A reader of a page.
pub struct Walk {
    pub folder: TempDir,
    page: String,
    /// Whether the page has its server running.
    is_serving: bool,
    output: String,
    /// How many shell samples were run.
    pub runs: usize,
}

impl Walk {
    /// Does all that a page says.
    pub fn follow(page: &str) -> Walk {
        let mut walk = Walk {
            folder: tempfile::tempdir().unwrap(),
            page: page.to_owned(),
            is_serving: false,
            output: String::new(),
            runs: 0,
        };
        for sample in samples(&document(page)) {
            walk.take(&sample);
        }
        walk
    }

    fn take(&mut self, sample: &Sample) {
        match (&*sample.language, &sample.file) {
            (_, Some(file)) => self.write(file, &sample.text),
            ("sh", None) if sample.text.contains("tsumugi serve") => self.is_serving = true,
            ("sh", None) => {
                let is_asked = sample.text.contains(ADDRESS);
                assert!(!is_asked || self.is_serving, "{}", self.place(sample));
                let server = is_asked.then(|| self.serve());
                self.output = self.run(sample, server.as_ref().map(|(_, address)| &**address));
                self.runs += 1;
            }
            ("text", None) => self.compare(sample),
            _ => {}
        }
    }

    fn place(&self, sample: &Sample) -> String {
        format!("{}:{}", self.page, sample.line)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, file: &str, sample: &str) {
        let path = self.path(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let text = match std::fs::read_to_string(&path) {
            Ok(text) if file.ends_with(".rb") => add(&text, sample),
            _ => sample.to_owned(),
        };
        std::fs::write(path, text).unwrap();
    }

    /// A server of the files as they are now: one that goes on would load them at a moment that nobody knows.
    fn serve(&self) -> (Served, String) {
        let mut child = command(Path::new(env!("CARGO_BIN_EXE_tsumugi")), self.folder.path())
            .args([
                "serve",
                "--dev",
                "--workers",
                "2",
                "--listen",
                "127.0.0.1:0",
            ])
            .env("TSUMUGI_LOG", "info")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let log = BufReader::new(child.stderr.take().unwrap());
        let folder = tempfile::tempdir().unwrap();
        let mut served = Served { child, log, folder };
        let address = served.word_after("listening on http://");
        (served, address)
    }

    fn run(&self, sample: &Sample, address: Option<&str>) -> String {
        let script = sample.text.replace(ADDRESS, address.unwrap_or(ADDRESS));
        let output = command(Path::new("sh"), self.folder.path())
            .args(["-ec", &script])
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        let text = String::from_utf8_lossy(&output.stdout);
        let place = self.place(sample);
        assert!(output.status.success(), "{place}: {text}{errors}");
        text.replace(address.unwrap_or(ADDRESS), ADDRESS)
    }

    fn compare(&self, sample: &Sample) {
        let mut rest = &*self.output;
        for line in sample.text.lines() {
            let found = rest.find(line);
            let place = self.place(sample);
            let at = found.unwrap_or_else(|| panic!("{place}: no {line:?} in {}", self.output));
            rest = &rest[at + line.len()..];
        }
    }
}

/// A program that finds ours by its name, and no database but that of the page.
pub fn command(program: &Path, folder: &Path) -> Command {
    let own = Path::new(env!("CARGO_BIN_EXE_tsumugi")).parent().unwrap();
    let others = std::env::var_os("PATH").unwrap_or_default();
    let paths = [own.to_owned()]
        .into_iter()
        .chain(std::env::split_paths(&others));
    let mut command = Command::new(program);
    command
        .current_dir(folder)
        .env("PATH", std::env::join_paths(paths).unwrap())
        .env("NO_COLOR", "1")
        .env("TSUMUGI_LOG", "warn")
        .env_remove("DATABASE_URL")
        .env_remove("TSUMUGI_SECRET");
    command
}

fn samples(text: &str) -> Vec<Sample> {
    let mut found = Vec::new();
    let mut open: Option<Sample> = None;
    for (line, number) in text.lines().zip(1..) {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(words)) => {
                let mut words = words.split_whitespace().map(str::to_owned);
                open = Some(Sample {
                    line: number,
                    language: words.next().unwrap_or_default(),
                    file: words.next(),
                    text: String::new(),
                });
            }
            (Some(_), Some("")) => found.extend(open.take()),
            (Some(sample), _) => {
                sample.text.push_str(line);
                sample.text.push('\n');
            }
            (None, None) => {}
        }
    }
    found
}

/// The text of a file of Ruby with a sample: at its end, but for routes that it has.
fn add(text: &str, sample: &str) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    let mut rest = sample.lines();
    while let Some(line) = rest.next() {
        let mut piece = vec![line];
        if route(line).is_some() && is_open(line) {
            for line in rest.by_ref() {
                piece.push(line);
                if line == "end" {
                    break;
                }
            }
        }
        let is_same = |it: &&str| route(line).is_some() && route(it) == route(line);
        match lines.iter().position(is_same) {
            Some(at) if is_open(lines[at]) => {
                let length = lines[at..].iter().position(|it| *it == "end").unwrap();
                lines.splice(at..=at + length, piece);
            }
            Some(at) => drop(lines.splice(at..=at, piece)),
            None => lines.extend(piece),
        }
    }
    lines.join("\n") + "\n"
}

/// Whether the block of this line ends at an `end` further down.
fn is_open(line: &str) -> bool {
    line.ends_with(" do") || line.ends_with('|') && line.contains(" do |")
}

/// The method and the path of a line that declares a route at the top of a file.
fn route(line: &str) -> Option<(&str, &str)> {
    let at = line.find([' ', '('])?;
    let (method, rest) = line.split_at(at);
    let is_method = ["get", "post", "put", "patch", "delete"].contains(&method);
    let path = rest[1..].strip_prefix('"')?.split('"').next()?;
    is_method.then_some((method, path))
}

#[test]
fn sample_is_added_and_a_route_takes_the_place_of_the_earlier_one() {
    let text = "get(\"/\") { 1 }\nget \"/a\" do |a|\n  2\nend\nx\n";
    let sample =
        "helpers do\n  y\nend\nget \"/\" do\n  3\nend\nget(\"/a\") { 4 }\npost(\"/a\") { 5 }\n";
    assert_eq!(
        add(text, sample),
        "get \"/\" do\n  3\nend\nget(\"/a\") { 4 }\nx\nhelpers do\n  y\nend\npost(\"/a\") { 5 }\n"
    );
}
