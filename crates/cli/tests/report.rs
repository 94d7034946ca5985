//! The report that the README links to: its page and the charts beside it are drawn from its figures, and from nothing else. A ratio in the
//! README is one that the report claims.

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

/// The numbers of a text that stand before a word for a ratio: `1.20 x`, `1.20 times`.
fn ratios(text: &str) -> Vec<&str> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let pairs = words.windows(2);
    let is_ratio = |pair: &&[&str]| {
        let sign = ["x", "×", "times", "倍"];
        pair[0].parse::<f64>().is_ok() && sign.contains(&pair[1].trim_end_matches([',', '.', ';']))
    };
    pairs.filter(is_ratio).map(|pair| pair[0]).collect()
}

#[test]
fn readme_quotes_no_ratio_that_its_report_does_not_claim() {
    assert_eq!(ratios("is 1.20 x nginx, and 3 times, x 2"), ["1.20", "3"]);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut command = Command::new(env!("CARGO_BIN_EXE_tsumugi"));
    command.args(["bench", "show"]);
    let output = command.arg(root.join("docs/bench/report.json")).output();
    let shown = String::from_utf8(output.unwrap().stdout).unwrap();
    let claims: Vec<&str> = shown
        .lines()
        .filter(|line| line.starts_with("claim: "))
        .collect();
    assert!(!claims.is_empty());
    for name in ["README.md", "README.ja.md"] {
        let readme = fs::read_to_string(root.join(name)).unwrap();
        for ratio in ratios(&readme) {
            let quoted = format!("({ratio} x)");
            let is_claimed = claims.iter().any(|claim| claim.contains(&quoted));
            assert!(is_claimed, "{name}: {ratio} x is no claim of the report");
        }
    }
}
