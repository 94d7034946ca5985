//! mruby's sources as they are compiled: those that the package `mruby3-sys` carries, found with `cargo metadata`, with our corrections.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use super::corrections::CORRECTED;

const PACKAGE: &str = "mruby3-sys";

/// The folder with mruby's sources inside the unpacked package. Downloads the package when it is not here yet.
pub fn find(here: &Path) -> PathBuf {
    let metadata = ["--offline", "--locked"]
        .iter()
        .find_map(|&mode| metadata(here, mode));
    let metadata = metadata.unwrap_or_else(|| {
        panic!("`cargo metadata` failed: cannot find the sources of {PACKAGE}; run `cargo fetch` and build again")
    });
    let manifest = metadata["packages"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|package| package["name"] == PACKAGE)
        .and_then(|package| package["manifest_path"].as_str())
        .unwrap_or_else(|| panic!("{PACKAGE} is not among the workspace's packages"));
    Path::new(manifest).with_file_name("mruby")
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

/// Copies the sources, with the corrections.
pub fn copy_corrected(original: &Path, source: &Path) {
    copy(original, source, &corrected(original));
}

/// The files that have corrections, as they should be, by their paths in the package.
fn corrected(original: &Path) -> BTreeMap<PathBuf, String> {
    let mut texts = BTreeMap::<PathBuf, String>::new();
    for (file, wrong, right) in CORRECTED.into_iter().flatten() {
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
pub fn mark(here: &Path, original: &Path) -> String {
    let package = original.parent().and_then(Path::file_name);
    let mut parts = vec![
        package
            .expect("it is in a package")
            .to_string_lossy()
            .into_owned(),
    ];
    for file in ["build_config.rb", "defines.txt"] {
        parts.push(fs::read_to_string(here.join(file)).expect("stands beside build.rs"));
    }
    for (file, wrong, right) in CORRECTED.into_iter().flatten() {
        parts.extend([file, wrong, right].map(|part| (*part).to_owned()));
    }
    let bytes = parts.iter().flat_map(|part| part.bytes().chain([0]));
    let number = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |number, byte| {
        (number ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{number:016x}\n")
}
