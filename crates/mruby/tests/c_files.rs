//! The C files in `generated/`: equal to what mruby's own build generates now. `UPDATE_GENERATED=1` writes them anew.
//! They are kept, so that neither Ruby nor mruby's compiler is needed to build the server.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

#[path = "../build/corrections.rs"]
mod corrections;
#[path = "../build/generate.rs"]
mod generate;
#[path = "../build/source.rs"]
mod source;

/// The texts of all files below a folder, by their paths in it.
fn texts(folder: &Path) -> BTreeMap<PathBuf, String> {
    let files = source::files_below(folder).into_iter();
    let text = |file: PathBuf| {
        let path = file.strip_prefix(folder).unwrap().to_owned();
        (path, fs::read_to_string(&file).unwrap())
    };
    files.map(text).collect()
}

#[test]
fn generated_code_is_what_mruby_generates() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let original = source::find(here);
    let folder = tempfile::tempdir().unwrap();
    let [sources, work, made] = ["source", "build", "made"].map(|name| folder.path().join(name));
    source::copy_corrected(&original, &sources);
    generate::generate(
        &sources,
        here,
        &work,
        &made,
        &source::fingerprint(here, &original),
    );
    let expected = texts(&made);
    // An empty folder would be equal to one that is not there.
    let count = expected.len();
    assert!(count > 30, "{count} files were generated");
    let kept = here.join("generated");
    if std::env::var_os("UPDATE_GENERATED").is_some() {
        if kept.exists() {
            fs::remove_dir_all(&kept).unwrap();
        }
        for (path, text) in &expected {
            let path = kept.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }
    let present = texts(&kept);
    let names = |texts: &BTreeMap<PathBuf, String>| texts.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&present), names(&expected));
    for (path, text) in &expected {
        assert!(
            present[path] == *text,
            "generated/{} is out of date: UPDATE_GENERATED=1 cargo test --package tsumugi-mruby --test c_files",
            path.display()
        );
    }
}
