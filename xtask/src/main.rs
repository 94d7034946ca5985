//! `cargo xtask VERB`: what this repository checks about itself. Not part of the product: nothing links it, nor what it
//! depends on.
//! Rule: every verb reads the checkout and cargo's output; `files` and `reference` write pages, no other changes anything but the build directory.
#![forbid(unsafe_code)]

mod reference;
mod sbom;
mod site;
mod source;
mod suite;
mod tidy;
mod tree;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask VERB
  tidy              check crate edges, circles of files, file heads, names, lengths, leftovers, unsafe, links, READMEs, signatures, the map, the list of files
  circles           show the circles of files inside each crate, and the names that tie them
  files             write docs/files.md: every source file with the first sentence of its head
  reference         write docs/reference: the methods of Ruby, the limits and the metrics as the sources have them
  site FOLDER       gather the pages of docs/ for mdBook there; `make docs` calls it
  site-links FOLDER check the links of the site that mdBook has built there; `make docs` calls it
  sbom TARGET TIME  print what is inside the executable for a target, as CycloneDX
  test              format, clippy, tidy and all tests in turn; the last line is `N passed, N failed`";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["tidy"] => tidy::run(&root()),
        ["circles"] => tidy::show_circles(&root()),
        ["files"] => tidy::write_files(&root()),
        ["reference"] => tidy::write_reference(&root()),
        ["site", folder] => site::gather(&root(), Path::new(folder)),
        ["site-links", folder] => site::check_links(Path::new(folder)),
        ["sbom", target, time] => sbom::run(&root(), target, time),
        ["test"] => suite::run(&root()),
        ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(Verdict::Clean) => ExitCode::SUCCESS,
        Ok(Verdict::Failed) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}

/// How a verb ended when it could do its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing to complain about.
    Clean,
    /// At least one finding or failure, already printed.
    Failed,
}

impl Verdict {
    fn of(is_clean: bool) -> Self {
        if is_clean { Self::Clean } else { Self::Failed }
    }
}

/// The checkout's root. cargo sets the variable at run time, so a moved checkout is still found.
fn root() -> PathBuf {
    std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from("."), |dir| PathBuf::from(dir).join(".."))
}
