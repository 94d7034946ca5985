//! The Ruby of the README and of the documentation loads: every block is an application of its own.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The Ruby blocks of a document, each with the line it begins at.
fn blocks(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for (i, line) in text.lines().enumerate() {
        match &mut open {
            None if line == "```ruby" => open = Some((i + 2, String::new())),
            None => {}
            Some(_) if line == "```" => found.extend(open.take()),
            Some((_, block)) => {
                block.push_str(line);
                block.push('\n');
            }
        }
    }
    found
}

fn check(document: &str, blocks_min: usize) {
    check_with(document, blocks_min, "");
}

/// `database` is what the applications find as `DATABASE_URL`.
fn check_with(document: &str, blocks_min: usize, database: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join(document)).unwrap();
    let blocks = blocks(&text);
    assert!(
        blocks.len() >= blocks_min,
        "{document} has {} blocks",
        blocks.len()
    );
    for (line, block) in blocks {
        let folder = tempfile::tempdir().unwrap();
        // Folders that the documents speak of.
        for beside in ["public", "assets", "views"] {
            std::fs::create_dir(folder.path().join(beside)).unwrap();
        }
        let app: PathBuf = folder.path().join("app.rb");
        std::fs::write(&app, block).unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_tsumugi"))
            .args(["check", "app.rb"])
            .env(
                "TSUMUGI_SECRET",
                "a secret of the documents' test of 32 bytes",
            )
            .env("DATABASE_URL", database)
            .current_dir(folder.path())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "{document}:{line} does not load: {said}"
        );
    }
}

#[test]
fn the_readmes_application_loads() {
    check("README.md", 1);
    check("README.ja.md", 1);
}

#[test]
fn every_application_of_the_guide_loads() {
    check("docs/guide.md", 6);
}

#[test]
fn every_application_of_the_page_on_databases_loads() {
    let database = tsumugi_testkit::postgres::Server::shared().database();
    check_with("docs/databases.md", 7, &database.url());
}

#[test]
fn every_application_of_the_page_on_tables_loads_on_both_databases() {
    check_with("docs/schema.md", 3, "sqlite::memory:");
    let database = tsumugi_testkit::postgres::Server::shared().database();
    check_with("docs/schema.md", 3, &database.url());
}
