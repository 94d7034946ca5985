//! The C files that mruby's own build generates: the core and the gems that are written in Ruby, translated by mruby's compiler, and the numbers
//! of the symbols. They are kept in `generated`, so that a build needs neither Ruby nor that compiler; a test compares them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

/// What the files in a folder were made of, see `source::mark`.
pub const MADE_FROM: &str = "made_from.txt";
/// The C files of mruby that go into the library, by their paths among its sources.
pub const SOURCES: &str = "sources.txt";

/// Writes the generated files into `to`, a folder that has nothing else. `source` are mruby's corrected sources, `here` is the folder of
/// `build_config.rb`, `work` a folder for what is in between. Needs `ruby` and a C compiler.
pub fn generate(source: &Path, here: &Path, work: &Path, to: &Path, mark: &str) {
    keep_parser(source);
    // It writes beside its configuration, and does so whenever it runs.
    fs::create_dir_all(work).expect("the folder is writable");
    for file in ["build_config.rb", "defines.txt"] {
        keep(&here.join(file), &work.join(file));
    }
    run_minirake(source, work);
    let build = work.join("host");
    for header in ["id.h", "table.h"] {
        let path = Path::new("include/mruby/presym").join(header);
        keep(&build.join(&path), &to.join(&path));
    }
    // The symbols are gathered from all C files of the library, each of them preprocessed for it.
    let mut sources = Vec::new();
    for path in preprocessed(&build, &build) {
        let file = path.with_extension("c");
        if source.join(&file).exists() {
            sources.push(format!("{}\n", file.display()));
        } else {
            keep(&build.join(&file), &to.join(&file));
        }
    }
    sources.sort();
    fs::write(to.join(SOURCES), sources.concat()).expect("the folder is writable");
    fs::write(to.join(MADE_FROM), mark).expect("the folder is writable");
}

fn keep(from: &Path, to: &Path) {
    fs::create_dir_all(to.parent().expect("it is in a folder")).expect("the folder is writable");
    fs::copy(from, to).unwrap_or_else(|e| panic!("{}: {e}", from.display()));
}

/// The preprocessed files below a folder, by their paths from `root`; not those of the compiler that only translates.
fn preprocessed(root: &Path, folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("it was built").flatten() {
        let path = entry.path();
        if path.is_dir() {
            if path != root.join("mrbc") {
                found.extend(preprocessed(root, &path));
            }
        } else if path.extension().is_some_and(|extension| extension == "pi") {
            found.push(path.strip_prefix(root).expect("it is below").to_owned());
        }
    }
    found
}

/// Gives what the parser is generated from times before the parser's. When it looked newer, after an interrupted copy or a copy of the
/// whole build folder without times, mruby's build would generate the parser again, by tools that are not needed here.
fn keep_parser(source: &Path) {
    for file in ["keywords", "lex.def", "parse.y"] {
        let path = source.join("mrbgems/mruby-compiler/core").join(file);
        fs::File::options()
            .write(true)
            .open(path)
            .and_then(|file| file.set_modified(SystemTime::UNIX_EPOCH))
            .expect("the folder is writable");
    }
}

fn run_minirake(source: &Path, work: &Path) {
    let jobs = std::thread::available_parallelism().map_or(2, usize::from);
    let output = Command::new("ruby")
        .arg("minirake")
        .arg("--multitask")
        .arg(format!("-j{jobs}"))
        .arg("gensym")
        .current_dir(source)
        .env("MRUBY_CONFIG", work.join("build_config.rb"))
        .env("MRUBY_BUILD_DIR", work)
        .env_remove("CFLAGS")
        .output()
        .unwrap_or_else(|e| {
            panic!("cannot run `ruby` ({e}); it generates C files of mruby, which is needed when crates/mruby has been changed: install it")
        });
    let log = work.with_extension("log");
    fs::write(&log, [output.stdout, output.stderr].concat()).expect("the folder is writable");
    assert!(
        output.status.success(),
        "generating C files of mruby failed; the output is in {}",
        log.display()
    );
}
