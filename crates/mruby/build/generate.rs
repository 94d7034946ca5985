//! The C files that mruby's own build generates: the core and the gems that are written in Ruby, translated by mruby's compiler, and the numbers
//! of the symbols. They are kept in `generated`, so that a build needs neither Ruby nor that compiler. Compiles none of them.
//! Rule: they depend on nothing of the machine that generates them; a test compares them.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::SystemTime;

use super::source::files_below;

/// What the files in a folder were made of, see `source::fingerprint`.
pub const MADE_FROM: &str = "made_from.txt";
/// The C files of mruby that go into the library, by their paths among its sources.
pub const SOURCES: &str = "sources.txt";

/// Writes the generated files into `to`, a folder that has nothing else. `source` are mruby's corrected sources, `here` is the folder of
/// `build_config.rb`, `work` a folder for what is in between. Needs `ruby` and a C compiler.
pub fn generate(source: &Path, here: &Path, work: &Path, to: &Path, fingerprint: &str) {
    set_parser_up_to_date(source);
    // It writes beside its configuration, and does so whenever it runs.
    fs::create_dir_all(work).expect("the folder is writable");
    for file in ["build_config.rb", "defines.txt"] {
        copy_file(&here.join(file), &work.join(file));
    }
    run_minirake(source, work);
    let build = work.join("host");
    for header in ["id.h", "table.h"] {
        let path = Path::new("include/mruby/presym").join(header);
        copy_file(&build.join(&path), &to.join(&path));
    }
    // The symbols are gathered from all C files of the library, each of them preprocessed for it.
    let mut sources = Vec::new();
    for path in files_below(&build) {
        let path = path.strip_prefix(&build).expect("it is below");
        // The compiler that only translates has files of its own.
        if path.starts_with("mrbc") || path.extension().is_none_or(|extension| extension != "pi") {
            continue;
        }
        let file = path.with_extension("c");
        if source.join(&file).exists() {
            sources.push(format!("{}\n", file.display()));
        } else {
            copy_file(&build.join(&file), &to.join(&file));
        }
    }
    sources.sort();
    fs::write(to.join(SOURCES), sources.concat()).expect("the folder is writable");
    fs::write(to.join(MADE_FROM), fingerprint).expect("the folder is writable");
}

fn copy_file(from: &Path, to: &Path) {
    fs::create_dir_all(to.parent().expect("it is in a folder")).expect("the folder is writable");
    fs::copy(from, to).unwrap_or_else(|e| panic!("{}: {e}", from.display()));
}

/// Gives what the parser is generated from times before the parser's. When it looked newer, after an interrupted copy or a copy of the
/// whole build folder without times, mruby's build would generate the parser again, by tools that are not needed here.
fn set_parser_up_to_date(source: &Path) {
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
