//! Replays the corpora on stable Rust: what a fuzzer once found stays found. Not a search for anything new.

use std::fs;
use std::panic;
use std::path::Path;

use tsumugi_fuzz::TARGETS;

#[test]
fn every_file_of_the_corpora_keeps_the_promises() {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    for (name, target) in TARGETS {
        let files: Vec<_> = fs::read_dir(corpora.join(name))
            .unwrap_or_else(|error| panic!("the corpus of {name}: {error}"))
            .map(|entry| entry.unwrap().path())
            .collect();
        assert!(!files.is_empty(), "the corpus of {name} is empty");
        for file in files {
            let bytes = fs::read(&file).unwrap();
            let replayed = panic::catch_unwind(|| target(&bytes));
            assert!(
                replayed.is_ok(),
                "{} breaks the target {name}",
                file.display()
            );
        }
    }
}

#[test]
fn a_target_takes_any_bytes() {
    let bytes: Vec<u8> = (0..=255).collect();
    for (_, target) in TARGETS {
        for length in 0..bytes.len() {
            target(&bytes[..length]);
            target(&bytes[length..]);
        }
    }
}
