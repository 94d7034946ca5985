//! Tables as lines of text, for a terminal. Decides nothing about figures.
//! Rule: every line says what it is of, so that it can be searched and quoted alone.

use std::fmt::Write as _;

use super::grid::{Grid, published_text};
use super::{Latency, PublishedFigure, RatioRuns, ReportTable, Row};
pub use crate::samples::figure;
use crate::samples::{Ratio, Samples, thousands};

/// A title and a line for each row.
pub fn table(suite: &str, table: &ReportTable) -> String {
    let mut text = format!("{suite}: {} [{}]\n", table.heading(), table.unit);
    for note in &table.notes {
        line(&mut text, &format!("  # {note}"));
    }
    let grid = Grid::of(table);
    if let Some(grid) = &grid {
        draw(&mut text, grid);
    }
    let measured = || table.rows.iter().filter(|row| row.is_measured());
    let width = |of: &dyn Fn(&Row) -> usize| measured().map(of).max().unwrap_or_default();
    let cases = width(&|row| table.case(row).chars().count());
    let programs = width(&|row| row.program.chars().count());
    for row in measured() {
        let mut shown = format!(
            "  {:<cases$}  {:<programs$}  ",
            table.case(row),
            row.program
        );
        shown += &match &row.fault {
            Some(fault) => format!("{fault:>10}"),
            None => middle(row, &table.unit),
        };
        shown += &costs(row);
        for over in &row.over {
            shown += &format!("   {}", ratio(over));
        }
        // A grid has it already.
        let beside = row.published.as_ref().filter(|_| grid.is_none());
        shown += &beside.map(published).unwrap_or_default();
        shown += &row.latency.as_ref().map(latency).unwrap_or_default();
        line(&mut text, &shown);
    }
    for conclusion in &table.conclusions {
        line(&mut text, &format!("  = {conclusion}"));
    }
    text
}

/// The figure of a row with its range.
fn middle(row: &Row, unit: &str) -> String {
    let figures = Samples::from(row.runs.as_slice());
    format!(
        "{:>10} ({}-{}) {unit}",
        figure(figures.median()),
        figure(figures.min()),
        figure(figures.max()),
    )
}

/// A grid: for each of its rows a line of each program, and beneath them what was published of the same.
fn draw(text: &mut String, grid: &Grid<'_>) {
    let mut lines: Vec<[Vec<String>; 2]> = Vec::new();
    let heads = grid.columns.iter().map(|&column| column.to_owned());
    lines.push([vec![String::new(); 2], heads.collect()]);
    for line in &grid.lines {
        let mut add = |who: String, cells: Vec<Option<String>>| {
            if cells.iter().any(Option::is_some) {
                let shown = cells.into_iter().map(Option::unwrap_or_default);
                lines.push([vec![line.name.to_owned(), who], shown.collect()]);
            }
        };
        for program in &grid.programs {
            let cells = line.cells.iter().map(|cell| cell.of_program(program));
            add(program.clone(), cells.collect());
        }
        for source in &grid.sources {
            let cells = line.cells.iter().map(|cell| cell.of_source(source));
            let who = format!("published, {source}, other machine");
            add(who, cells.collect());
        }
    }
    let widest = |part: usize, at: usize| {
        let texts = lines.iter().filter_map(|line| line[part].get(at));
        texts.map(|text| text.chars().count()).max().unwrap_or(0)
    };
    for [heads, cells] in &lines {
        let heads = heads.iter().enumerate().map(|(at, head)| {
            let width = widest(0, at);
            format!("  {head:<width$}")
        });
        let cells = cells.iter().enumerate().map(|(at, cell)| {
            let width = widest(1, at);
            format!("  {cell:>width$}")
        });
        line(text, &heads.chain(cells).collect::<String>());
    }
}

fn line(text: &mut String, shown: &str) {
    // Writing to a string does not fail.
    let _ = writeln!(text, "{}", shown.trim_end());
}

/// The lowest and the highest of several figures.
pub fn range_of(runs: &[f64]) -> String {
    let runs = Samples::from(runs);
    format!("{}–{}", figure(runs.min()), figure(runs.max()))
}

/// `1.15 (1.10-1.20) x nginx+Lua`.
pub fn ratio(over: &RatioRuns) -> String {
    format!("{} x {}", Ratio::of(&over.runs), over.other())
}

/// Published figures, with their authors.
pub fn published(published: &PublishedFigure) -> String {
    let shown = published_text(published).replace('–', "-");
    format!(
        "   published: {shown}, {}, other machine",
        published.source()
    )
}

fn costs(row: &Row) -> String {
    let Some(cost) = &row.cost else {
        return String::new();
    };
    let mut shown = String::new();
    for (whose, us) in [("server", &cost.server_us), ("client", &cost.client_us)] {
        if !us.is_empty() {
            let middle = Samples::from(us.as_slice()).median();
            shown += &format!("   {whose} {} us", figure(middle));
        }
    }
    if let Some(bytes) = cost.resident_bytes {
        shown += &format!("   {} MiB", figure(bytes as f64 / f64::from(1 << 20)));
    }
    shown
}

fn latency(latency: &Latency) -> String {
    let mut shown = format!("   at {}/s:", thousands(latency.rate));
    for wanted in [50.0, 90.0, 99.0, 99.9, 100.0] {
        let found = latency.percentiles.iter().find(|(at, _)| *at == wanted);
        if let Some((_, ms)) = found {
            shown += &format!(" p{wanted} {} ms", figure(*ms));
        }
    }
    if latency.unanswered > 0 {
        shown += &format!(", {} never answered", latency.unanswered);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::super::{GridCell, SessionScope};
    use super::*;
    use crate::publications;

    fn row() -> Row {
        Row {
            case: "hello".to_owned(),
            program: "tsumugi".to_owned(),
            runs: vec![1000.0, 1200.0, 1100.0],
            ..Row::default()
        }
    }

    fn check(row: Row, expected: &str) {
        let shown = ReportTable {
            title: "string".to_owned(),
            unit: "req/s".to_owned(),
            rows: vec![row],
            ..ReportTable::default()
        };
        let expected = format!("http: string [req/s]\n{expected}");
        assert_eq!(table("http", &shown), expected);
    }

    #[test]
    fn a_row_is_median_and_range() {
        check(row(), "  hello  tsumugi       1 100 (1 000-1 200) req/s\n");
    }

    #[test]
    fn published_figure_stands_beside_its_row() {
        let over = RatioRuns {
            program: "nginx".to_owned(),
            place: None,
            runs: vec![2.0, 3.0, 4.0],
        };
        let row = Row {
            over: vec![over],
            published: Some(PublishedFigure::exactly(38_788.0, "ngx_mruby")),
            ..row()
        };
        check(
            row,
            "  hello  tsumugi       1 100 (1 000-1 200) req/s   3.00 (2.00-4.00) x nginx   published: 38 788, ngx_mruby, other machine\n",
        );
    }

    #[test]
    fn row_of_one_session_says_so() {
        let one = Row {
            sessions: SessionScope::One,
            ..row()
        };
        let shown = ReportTable {
            title: "string".to_owned(),
            unit: "req/s".to_owned(),
            rows: vec![row(), one],
            ..ReportTable::default()
        };
        let expected = "http: string [req/s]\n  \
            hello               tsumugi       1 100 (1 000-1 200) req/s\n  \
            hello, one session  tsumugi       1 100 (1 000-1 200) req/s\n";
        assert_eq!(table("http", &shown), expected);
    }

    #[test]
    fn grid_has_published_figures_beneath_those_measured() {
        let cell = |column: &str, figure: f64| Row {
            runs: vec![figure],
            published: publications::table(7)
                .unwrap()
                .cells()
                .next()
                .map(|(_, one)| one),
            ..Row::in_cell(GridCell::new("direct", column), "tsumugi")
        };
        let shown = ReportTable {
            title: "string".to_owned(),
            unit: "req/s".to_owned(),
            rows: vec![cell("quick", 90_000.0), cell("slow", 12.5)],
            ..ReportTable::default()
        };
        let text = table("http", &shown);
        let lines: Vec<&str> = text.lines().take(4).collect();
        let expected = [
            "http: string [req/s]",
            "                                                           quick      slow",
            "  direct  tsumugi                                         90 000      12.5",
            "  direct  published, ngx_mruby, 2017-18, other machine  38788.47  38788.47",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn crash_is_shown_in_place_of_a_figure() {
        let row = Row {
            runs: Vec::new(),
            fault: Some("crash: signal 11".to_owned()),
            ..row()
        };
        check(row, "  hello  tsumugi  crash: signal 11\n");
    }

    #[test]
    fn a_row_without_runs_is_not_shown() {
        check(Row::default(), "");
    }
}
