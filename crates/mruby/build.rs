//! Builds mruby with our own configuration, and the C shim, as static libraries.
//! The sources are those carried by the package `mruby3-sys`; nothing of that crate's own build is used. Needs a C compiler, and `ruby` only
//! where what `generated` was made of has been changed.
//! `CFLAGS` counts, as in every C library that cargo builds.

use std::path::{Path, PathBuf};
use std::{env, fs};

#[path = "build/corrections.rs"]
mod corrections;
#[path = "build/generate.rs"]
mod generate;
#[path = "build/source.rs"]
mod source;

const SHIM: [&str; 8] = [
    "shim/value.c",
    "shim/vm.c",
    "shim/guard.c",
    "shim/frames.c",
    "shim/names.c",
    "shim/code.c",
    "shim/number.c",
    "shim/raise.c",
];

/// Files of mruby whose functions the shim has instead.
const REPLACED: [&str; 1] = ["src/readfloat.c"];

/// What other versions have and known defects are in, by file: SECURITY.md says of these that they are not here.
const ABSENT: &[(&str, &str)] = &[
    ("mrbgems/mruby-array-ext/src/array.c", "ary_fill_exec"),
    ("src/array.c", "sort_cmp"),
    ("mrbgems/mruby-compiler/core/codegen.c", "NODE_PAT_PIN"),
    ("mrbgems/mruby-compiler/core/parse.y", "prism"),
];

fn main() {
    for input in [
        "build.rs",
        "build",
        "build_config.rb",
        "defines.txt",
        "generated",
        "shim",
    ] {
        println!("cargo:rerun-if-changed={input}");
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let here =
        PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR"));
    let original = source::find(&here);
    let mruby = Sources {
        corrected: out.join("source"),
        generated: generated(&here, &original, &out),
    };
    source::copy_corrected(&original, &mruby.corrected);
    for (file, name) in ABSENT {
        let text =
            fs::read_to_string(mruby.corrected.join(file)).expect("mruby's sources are text");
        assert!(
            !text.contains(name),
            "{file} of mruby has {name}: look into SECURITY.md, which says it has not"
        );
    }
    mruby.build();
    mruby.build_shim();
    println!("cargo:rustc-link-lib=m");
}

/// The folder with the generated files: the one that is kept, or one that is made now, when those are of another mruby.
fn generated(here: &Path, original: &source::Original, out: &Path) -> PathBuf {
    let kept = here.join("generated");
    let fingerprint = source::fingerprint(here, original);
    if fs::read_to_string(kept.join(generate::MADE_FROM)).is_ok_and(|made| made == fingerprint) {
        return kept;
    }
    println!(
        "cargo:warning=crates/mruby/generated is out of date: UPDATE_GENERATED=1 cargo test --package tsumugi-mruby --test c_files"
    );
    // Sources of its own: what mruby's build leaves among them would be taken for up to date the next time.
    let made = out.join("generated");
    for folder in [&made, &out.join("generating")] {
        if folder.exists() {
            fs::remove_dir_all(folder).expect("OUT_DIR is writable");
        }
    }
    let source = out.join("generating/source");
    source::copy_corrected(original, &source);
    generate::generate(
        &source,
        here,
        &out.join("generating/build"),
        &made,
        &fingerprint,
    );
    made
}

/// Two folders: mruby's sources with our corrections, and the C files that its own build generates from them.
struct Sources {
    corrected: PathBuf,
    generated: PathBuf,
}

impl Sources {
    /// The library: the core, the gems that `build_config.rb` names, and what is generated for both.
    fn build(&self) {
        let list = fs::read_to_string(self.generated.join(generate::SOURCES));
        let list = list.expect("it is among the generated files");
        let (core, gems): (Vec<&str>, Vec<&str>) =
            (list.lines().filter(|file| !REPLACED.contains(file)))
                .partition(|file| file.starts_with("src/"));
        let (level_of_core, level_of_rest) = levels();
        let mut rest: Vec<PathBuf> = gems.iter().map(|file| self.corrected.join(file)).collect();
        rest.extend(c_files(&self.generated));
        let objects = self
            .compiler(level_of_rest)
            .files(rest)
            .compile_intermediates();
        self.compiler(level_of_core)
            .files(core.iter().map(|file| self.corrected.join(file)))
            .objects(objects)
            .compile("mruby");
    }

    fn compiler(&self, level: u32) -> cc::Build {
        let mut compiler = self.settings();
        compiler
            .std("gnu99")
            .opt_level(level)
            .warnings(false)
            .debug(false);
        for flag in [
            "-g1",
            "-fno-function-sections",
            "-fno-data-sections",
            "-fno-semantic-interposition",
            "-fvisibility=hidden",
            "-fno-strict-aliasing",
            "-w",
        ] {
            compiler.flag(flag);
        }
        // No path of the machine that builds comes into what is built: the last that fits counts. The first is where the compiler runs.
        let here = env::current_dir().expect("cargo runs it beside Cargo.toml");
        for (folder, name) in [
            (&here, "mruby"),
            (&self.corrected, "mruby"),
            (&self.generated, "mruby-generated"),
        ] {
            compiler.flag(format!("-ffile-prefix-map={}={name}", folder.display()));
        }
        for folder in self.includes() {
            compiler.include(folder);
        }
        // Its header is beside its sources, not in them.
        compiler.include(self.corrected.join("mrbgems/mruby-time/include"));
        compiler
    }

    fn includes(&self) -> [PathBuf; 2] {
        [&self.corrected, &self.generated].map(|folder| folder.join("include"))
    }

    /// What C files of mruby and of the shim are both compiled with: struct layouts depend on it.
    fn settings(&self) -> cc::Build {
        let mut settings = cc::Build::new();
        let defines =
            fs::read_to_string("defines.txt").expect("defines.txt stands beside build.rs");
        for define in defines
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
        {
            let (name, value) = define
                .split_once('=')
                .map_or((define, None), |(name, value)| (name, Some(value)));
            settings.define(name, value);
        }
        // What the gems bigint and rational define for the build they are in.
        settings
            .define("MRB_USE_BIGINT", None)
            .define("MRB_USE_RATIONAL", None);
        settings
    }

    fn build_shim(&self) {
        let mut shim = self.settings();
        shim.files(SHIM)
            .std("gnu11")
            .opt_level(2)
            .warnings(true)
            .extra_warnings(true);
        shim.flag("-fno-strict-aliasing")
            .flag("-Wno-unused-parameter");
        for folder in self.includes() {
            shim.flag(format!("-isystem{}", folder.display()));
        }
        shim.compile("tsumugi_mruby_shim");
    }
}

/// How far the core and the rest are optimised. At level 1, that of the profile `quick`, little. At every other level, also in debug builds, fully: an
/// unoptimised VM is too slow for tests.
fn levels() -> (u32, u32) {
    match env::var("OPT_LEVEL").expect("cargo sets it").as_str() {
        "1" => (1, 0),
        _ => (3, 3),
    }
}

fn c_files(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let files = source::files_below(folder).into_iter();
    files.filter(|file| file.extension().is_some_and(|extension| extension == "c"))
}
