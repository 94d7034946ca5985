//! The report that the README links to: its page and the charts beside it are drawn from its figures, and from nothing else.

use std::fs;
use std::path::Path;
use std::process::Command;

/// The charts that the README shows.
const CHARTS: [&str; 2] = ["http-string.svg", "db-reads.svg"];

#[test]
fn the_page_and_the_charts_of_the_documentation_are_those_of_its_report() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let kept = root.join("docs/bench");
    let drawn = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tsumugi"));
    command
        .args(["bench", "show"])
        .arg(kept.join("report.json"));
    command.arg("--html").arg(drawn.path().join("report.html"));
    command.arg("--charts").arg(drawn.path());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    for name in ["report.html"].iter().chain(&CHARTS) {
        let read =
            |folder: &Path| fs::read(folder.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
        let same = read(&kept) == read(drawn.path());
        assert!(
            same,
            "docs/bench/{name} is another one; run: tsumugi bench show docs/bench/report.json --html … --charts …"
        );
    }
    for name in ["README.md", "README.ja.md"] {
        let readme = fs::read_to_string(root.join(name)).unwrap();
        for chart in CHARTS {
            assert!(
                readme.contains(&format!("docs/bench/{chart}")),
                "{name}: {chart}"
            );
        }
    }
}
