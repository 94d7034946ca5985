//! mruby's sources as they are compiled: those that the package `mruby3-sys` carries, found with `cargo metadata`, with our corrections.
//! Compiles nothing. Rule: a correction whose text is not found exactly once ends the build.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use super::corrections;

const PACKAGE: &str = "mruby3-sys";

/// mruby's sources inside the unpacked package.
pub struct Original {
    pub folder: PathBuf,
    /// The version of the package.
    version: String,
}

/// Finds mruby's sources. Downloads the package when it is not here yet.
pub fn find(here: &Path) -> Original {
    let metadata = ["--offline", "--locked"]
        .iter()
        .find_map(|&mode| metadata(here, mode));
    let metadata = metadata.unwrap_or_else(|| {
        panic!("`cargo metadata` failed: cannot find the sources of {PACKAGE}; run `cargo fetch` and build again")
    });
    let package = metadata["packages"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|package| package["name"] == PACKAGE)
        .unwrap_or_else(|| panic!("{PACKAGE} is not among the workspace's packages"));
    let text = |key: &str| package[key].as_str().expect("cargo says it");
    Original {
        folder: Path::new(text("manifest_path")).with_file_name("mruby"),
        version: text("version").to_owned(),
    }
}

fn metadata(here: &Path, mode: &str) -> Option<serde_json::Value> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", mode])
        .current_dir(here)
        .output()
        .ok()?;
    output
        .status
        .success()
        .then(|| serde_json::from_slice(&output.stdout).ok())?
}

/// All files below a folder, sorted.
pub fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => files.extend(files_below(&path)),
            false => files.push(path),
        }
    }
    files.sort();
    files
}

/// Copies the sources, with the corrections.
pub fn copy_corrected(original: &Original, source: &Path) {
    copy(&original.folder, source, &corrected(&original.folder));
}

/// The files that have corrections, as they should be, by their paths in the package.
fn corrected(original: &Path) -> BTreeMap<PathBuf, String> {
    let mut texts = BTreeMap::<PathBuf, String>::new();
    for (file, wrong, right) in corrections::ALL.into_iter().flatten() {
        let path = original.join(file);
        let text = texts
            .entry(path)
            .or_insert_with_key(|path| fs::read_to_string(path).expect("mruby's sources are text"));
        assert_eq!(
            text.matches(wrong).count(),
            1,
            "{file} of mruby is not as this correction expects: {wrong}"
        );
        *text = text.replace(wrong, right);
    }
    texts
}

/// Copies a folder, with the corrections; files that are the same stay as they are, so that nothing is built again.
fn copy(from: &Path, to: &Path, corrected: &BTreeMap<PathBuf, String>) {
    fs::create_dir_all(to).expect("the folder is writable");
    for entry in fs::read_dir(from)
        .expect("the package is unpacked")
        .flatten()
    {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy(&from, &to, corrected);
            continue;
        }
        let content = match corrected.get(&from) {
            Some(text) => text.clone().into_bytes(),
            None => fs::read(&from).expect("the package is unpacked"),
        };
        if fs::read(&to).is_ok_and(|present| present == content) {
            continue;
        }
        fs::write(&to, content).expect("the folder is writable");
    }
}

/// What the C files that mruby's own build generates are made of, as one number in hexadecimal digits: the package, our corrections,
/// the choice of gems and the defines. Equal on every machine and for every target (64-bit FNV-1a).
pub fn fingerprint(here: &Path, original: &Original) -> String {
    let mut parts = vec![original.version.clone()];
    for file in ["build_config.rb", "defines.txt"] {
        parts.push(fs::read_to_string(here.join(file)).expect("stands beside build.rs"));
    }
    for (file, wrong, right) in corrections::ALL.into_iter().flatten() {
        parts.extend([file, wrong, right].map(|part| (*part).to_owned()));
    }
    let bytes = parts.iter().flat_map(|part| part.bytes().chain([0]));
    let number = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |number, byte| {
        (number ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{number:016x}\n")
}
