//! The page of `tsumugi bench` in a real browser: its charts are there and nothing in them lies on anything else; it asks nobody for
//! anything, in light and dark, wide and narrow. What it shows is a report that lies beside this file.

use std::path::Path;
use std::process::Command;

use serde_json::json;

use super::{browser, photograph};

/// Charts of the report: bars, a curve of latency, lines by workers and by threads, bars with published figures, bars by case.
const CHARTS: i64 = 6;

/// Names of texts that are cut off or lie on another text of their chart.
const UNTIDY: &str = r"[...document.querySelectorAll('svg.chart')].flatMap(chart => {
    const frame = chart.getBoundingClientRect();
    const texts = [...chart.querySelectorAll('text')].map(text => [text.textContent, text.getBoundingClientRect()]);
    return texts.filter(([, box], at) =>
        box.left < frame.left - 1 || box.right > frame.right + 1 || box.bottom > frame.bottom + 1 ||
        texts.some(([, other], to) => to < at && box.left < other.right - 1 && other.left < box.right - 1
            && box.top < other.bottom - 3 && other.top < box.bottom - 3)
    ).map(([text]) => text);
})";

#[test]
fn a_report_is_a_page_of_charts() {
    let Some(mut browser) = browser("en") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("report.html");
    let report = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser/report.json");
    let mut command = Command::new(env!("CARGO_BIN_EXE_tsumugi"));
    command.args(["bench", "show"]).arg(report);
    command.arg("--html").arg(&page);
    command.arg("--charts").arg(folder.path());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");

    let url = format!("file://{}", page.display());
    browser.dress(1000, 1400, "light");
    browser.open(&url);
    let charts = "[...document.querySelectorAll('svg.chart')].filter(chart => chart.getBoundingClientRect().height > 50).length";
    assert_eq!(browser.evaluate(charts), CHARTS);
    assert_eq!(browser.evaluate(UNTIDY), json!([]));
    photograph(&mut browser, "report-light");
    browser.dress(1000, 1400, "dark");
    photograph(&mut browser, "report-dark");
    browser.dress(390, 860, "light");
    let narrow = "document.documentElement.scrollWidth <= 390";
    assert_eq!(browser.evaluate(narrow), true);

    let chart = format!("file://{}", folder.path().join("http-string.svg").display());
    browser.dress(800, 300, "light");
    browser.open(&chart);
    assert_eq!(
        browser.evaluate("document.querySelectorAll('rect.fill').length"),
        3
    );
    let outside: Vec<_> = browser
        .requests
        .iter()
        .filter(|asked| **asked != url && **asked != chart && !asked.starts_with("data:"))
        .collect();
    assert!(outside.is_empty(), "{outside:?}");
    assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
}
