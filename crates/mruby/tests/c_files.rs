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

/// All files below a folder, by their paths in it.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    fn gather(root: &Path, folder: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                gather(root, &path, found);
            } else {
                let content = fs::read(&path).unwrap();
                found.insert(path.strip_prefix(root).unwrap().to_owned(), content);
            }
        }
    }
    let mut found = BTreeMap::new();
    gather(folder, folder, &mut found);
    found
}

#[test]
fn generated_code_is_what_mruby_generates() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let original = source::find(here);
    let folder = tempfile::tempdir().unwrap();
    let [sources, work, made] = ["source", "build", "made"].map(|name| folder.path().join(name));
    source::copy_corrected(&original, &sources);
    generate::generate(&sources, here, &work, &made, &source::mark(here, &original));
    let made = files(&made);
    assert!(made.len() > 30, "{} files were generated", made.len());
    let kept = here.join("generated");
    if std::env::var_os("UPDATE_GENERATED").is_some() {
        if kept.exists() {
            fs::remove_dir_all(&kept).unwrap();
        }
        for (path, content) in &made {
            let path = kept.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
    }
    let kept = files(&kept);
    let names = |files: &BTreeMap<PathBuf, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&kept), names(&made));
    for (path, content) in &made {
        assert!(
            kept[path] == *content,
            "generated/{} is out of date: UPDATE_GENERATED=1 cargo test --package tsumugi-mruby --test c_files",
            path.display()
        );
    }
}
