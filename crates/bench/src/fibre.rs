//! The suite fibre: what a fibre costs beside a direct call and beside Rust, and what thousands of sleeping ones take.
//! The programs it is compared with exist for this suite alone; what ships is measured as it ships.

use anyhow::Result;

use crate::bench::{Bench, HttpLoad};
use crate::http::{PATH, hello};
use crate::parked;
use crate::report::{PublishedFigure, ReportTable, Row};

/// Whose figures stand beside ours.
const SOURCE: &str = "ngx_mruby";
/// What was published of a handler that is called directly, and of one in a fibre.
const PUBLISHED: [(&str, f64); 2] = [("direct call", 38_788.0), ("fibre", 30_147.0)];

/// Runs the suite.
pub fn run(bench: &mut Bench) -> Result<()> {
    tax(bench)?;
    parked::run(bench)
}

fn tax(bench: &mut Bench) -> Result<()> {
    let (ours, folder) = (bench.ours(), bench.folder().to_owned());
    let mut servers = Vec::new();
    if ours.tax.is_file() {
        servers.push(("direct call", PATH, ours.start_case("direct", &folder)?));
        servers.push(("no Ruby", PATH, ours.start_case("native", &folder)?));
    } else {
        bench.miss(
            "direct call and no Ruby",
            "`cargo build --release --package tsumugi-ruby --example tax` builds their server",
        );
    }
    servers.push(("fibre", PATH, ours.start("hello.rb", &folder)?));
    servers.push((
        "fibre that waits once",
        "/wait",
        ours.start("hello.rb", &folder)?,
    ));
    let mut entries = Vec::new();
    for (at, (case, path, process)) in servers.iter().enumerate() {
        let published = PUBLISHED.iter().find(|(name, _)| name == case);
        let row = Row {
            case: (*case).to_owned(),
            program: "tsumugi".to_owned(),
            ours: true,
            published: published.map(|(_, figure)| PublishedFigure::exactly(*figure, SOURCE)),
            ..Row::default()
        };
        let entry = bench.http(row, HttpLoad::fast(process, path, hello()));
        entries.push(entry.over((at > 0).then_some(0)));
    }
    let table = ReportTable {
        name: "tax".to_owned(),
        title: "what a fibre costs".to_owned(),
        unit: "req/s".to_owned(),
        ..ReportTable::default()
    };
    bench.contest(table, entries).map(drop)
}
