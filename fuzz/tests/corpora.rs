//! Replays the corpora on stable Rust, as they are and with bytes changed: what a fuzzer once found stays found. Not a search.
//! Rule: the changes are the same in every run.

use std::fs;
use std::panic;
use std::path::Path;

use tsumugi_fuzz::TARGETS;

#[test]
fn every_file_of_the_corpora_keeps_the_promises() {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
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

/// How many variants of a file are tried.
const VARIANTS: u64 = 300;

/// A copy with a few bytes changed, chosen by `seed`.
fn variant(bytes: &[u8], seed: u64) -> Vec<u8> {
    let dice = tsumugi_testkit::Dice::new(seed);
    let mut bytes = bytes.to_vec();
    for _ in 0..=dice.below(3) {
        let at = dice.place(bytes.len().max(1));
        if let Some(byte) = bytes.get_mut(at) {
            // Boundaries of lengths and counts are where parsers go wrong.
            let edges = [0, 1, 0x7f, 0x80, 0xfe, 0xff, dice.byte()];
            *byte = dice.pick(&edges);
        }
    }
    bytes
}

#[test]
fn files_of_the_corpora_with_bytes_changed_keep_the_promises() {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    for (name, target) in TARGETS {
        for file in fs::read_dir(corpora.join(name)).unwrap() {
            let file = file.unwrap().path();
            let bytes = fs::read(&file).unwrap();
            for seed in 1..=VARIANTS {
                let changed = variant(&bytes, seed);
                let replayed = panic::catch_unwind(|| target(&changed));
                assert!(
                    replayed.is_ok(),
                    "variant {seed} of {} breaks the target {name}",
                    file.display()
                );
            }
        }
    }
}

#[test]
fn target_given_any_bytes_does_not_panic() {
    let bytes: Vec<u8> = (0..=255).collect();
    for (_, target) in TARGETS {
        for length in 0..bytes.len() {
            target(&bytes[..length]);
            target(&bytes[length..]);
        }
    }
}
