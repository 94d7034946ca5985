//! A report as a page: one file, which loads nothing and runs no script. Shows what the report holds and adds no figure.

use std::fmt::Write as _;

use super::chart::{draw, escape};
use super::claims::{ReportClaim, Standing, claims};
use super::grid::{Grid, measured_text, published_text};
use super::page_grid::drawn_grid;
use super::print::{figure, range_of};
use super::{BenchReport, Better, RatioRuns, ReportTable, Row, SessionScope, Suite, SuiteOutcome};
use crate::samples::{Ratio, Samples, thousands};

/// Ratios that stand at the top, at most.
const CARDS_MAX: usize = 12;
/// Claims of one table on one peer that are named one by one, at most.
const SUBJECTS_MAX: usize = 3;
/// A table with more rows than this is folded.
const ROWS_SHOWN: usize = 12;

const STYLE: [&str; 2] = [include_str!("chart.css"), include_str!("page.css")];

/// Two threads, spun into one.
const THREAD: &str = r#"<svg class="thread" viewBox="0 0 920 34" preserveAspectRatio="none" aria-hidden="true"><path d="M0 9C60 2 90 32 150 26S240 8 300 15s90 9 150 2 120-5 470-1"/><path d="M0 25C60 33 90 3 150 9s90 17 150 10 90-8 150-1 120 3 470-1"/></svg>"#;

/// The whole page.
pub fn page(report: &BenchReport) -> String {
    let mut html = String::new();
    let claims = claims(report);
    head(&mut html, report, &claims);
    html.push_str("<main>\n");
    claimed(&mut html, &claims);
    for suite in &report.suites {
        section(&mut html, suite);
    }
    measured(&mut html, report);
    html.push_str("</main>\n");
    add(
        &mut html,
        format_args!(
            "<footer>Made by <code>tsumugi bench</code> {}. Figures of one run on one machine: repeat them on yours.</footer>\n</body>\n</html>",
            escape(&report.version)
        ),
    );
    html
}

fn add(html: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string does not fail.
    let _ = writeln!(html, "{text}");
}

fn head(html: &mut String, report: &BenchReport, claims: &[ReportClaim<'_>]) {
    let machine = &report.machine;
    add(
        html,
        format_args!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>Tsumugi, measured</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>\n{}{}</style>\n</head>\n<body>",
            STYLE[0], STYLE[1]
        ),
    );
    let date = report.began.split('T').next().unwrap_or_default();
    add(
        html,
        format_args!(
            "<header>\n<h1>Tsumugi, measured<small>紡ぎ</small></h1>\n<p class=\"faint\">{} · {}, {} cores · {} · {} runs of {} s for each figure</p>\n{THREAD}",
            escape(date),
            escape(&machine.processor),
            machine.cores,
            escape(&machine.system),
            report.length.rounds,
            report.length.seconds,
        ),
    );
    cards(html, claims);
    html.push_str("<nav>");
    for suite in &report.suites {
        add(
            html,
            format_args!("<a href=\"#{0}\">{1}</a>", suite.name, escape(&suite.title)),
        );
    }
    html.push_str("<a href=\"#measured\">How it was measured</a></nav>\n</header>\n");
}

/// What ours is beside others, at a glance: of each suite the first claim that is one, and the one by which a peer is most ahead.
fn chosen<'a, 'c>(claims: &'c [ReportClaim<'a>]) -> Vec<(&'c ReportClaim<'a>, f64)> {
    let mut cards: Vec<(&ReportClaim<'_>, f64)> = Vec::new();
    for suite in claims.chunk_by(|one, other| one.suite.name == other.suite.name) {
        // Of a ratio of times a reader does not know at a glance which end is the good one.
        let rates = suite
            .iter()
            .filter(|claim| claim.table.better == Better::More);
        let mut quoted = rates.filter_map(|claim| Some((claim, claim.figure()?)));
        let Some(first) = quoted.next() else {
            continue;
        };
        let behind = quoted.filter(|(claim, _)| claim.standing == Standing::Behind);
        let worst = behind.min_by(|(_, one), (_, other)| one.total_cmp(other));
        let is_worse = |(_, figure): &(&ReportClaim<'_>, f64)| {
            first.0.standing != Standing::Behind || *figure < first.1
        };
        cards.push(first);
        cards.extend(worst.filter(is_worse));
    }
    cards
}

fn cards(html: &mut String, claims: &[ReportClaim<'_>]) {
    let cards = chosen(claims);
    if cards.is_empty() {
        return;
    }
    html.push_str("<ul class=\"cards\">\n");
    for (claim, figure) in cards.into_iter().take(CARDS_MAX) {
        let conditions = claim.ratios.iter().map(|(sessions, ratio)| {
            let words = sessions.words();
            format!("<br><small>{words} {:.2}</small>", ratio.median)
        });
        let class = match claim.standing {
            Standing::Behind => " class=\"behind\"",
            _ => "",
        };
        let reason = claim
            .reason()
            .map(|reason| format!("<br>{}", escape(&reason)));
        add(
            html,
            format_args!(
                "<li{class}><strong>{figure:.2} ×</strong><span>{}<br>{}<br>{} ({}){}{}</span></li>",
                escape(claim.peer),
                escape(&claim.suite.title),
                escape(claim.case),
                escape(&claim.table.unit),
                conditions.collect::<String>(),
                reason.unwrap_or_default()
            ),
        );
    }
    html.push_str("</ul>\n");
}

/// In words where a peer is ahead and where nothing is claimed, and all claims as a table.
fn claimed(html: &mut String, claims: &[ReportClaim<'_>]) {
    if claims.is_empty() {
        return;
    }
    html.push_str("<section id=\"claims\">\n<h2>What it says</h2>\n");
    for (standing, words) in [
        (Standing::Behind, "A peer is ahead"),
        (
            Standing::Disputed,
            "Nothing is claimed, because own sessions and one session differ",
        ),
    ] {
        let found = claims.iter().filter(|claim| claim.standing == standing);
        let found = subjects(found);
        if !found.is_empty() {
            let lines = found
                .iter()
                .map(|subject| format!("<li>{}</li>", escape(subject)));
            add(
                html,
                format_args!(
                    "<p><b>{words}:</b></p>\n<ul>{}</ul>",
                    lines.collect::<String>()
                ),
            );
        }
    }
    add(
        html,
        format_args!(
            "<details><summary>{} comparisons with peers</summary>\n<div class=\"scroll\"><table>\n<tr><th>of</th><th>{}</th><th>{}</th><th>claim</th></tr>",
            claims.len(),
            SessionScope::Own.words(),
            SessionScope::One.words()
        ),
    );
    for claim in claims {
        let reason = claim.reason();
        let reason = reason.map(|reason| format!("<br><small>{}</small>", escape(&reason)));
        let ratio = |wanted: SessionScope| {
            let mut ratios = claim.ratios.iter();
            let found = ratios.find(|(sessions, _)| *sessions == wanted);
            found.map_or_else(String::new, |(_, ratio)| ratio.to_string())
        };
        add(
            html,
            format_args!(
                "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}{}</td></tr>",
                escape(&claim.subject()),
                ratio(SessionScope::Own),
                ratio(SessionScope::One),
                claim.verdict(),
                reason.unwrap_or_default()
            ),
        );
    }
    html.push_str("</table></div>\n</details>\n</section>\n");
}

/// What claims are of, those of many cells of a table beside a peer as one, in the order of their first ones.
fn subjects<'c, 'a: 'c>(claims: impl Iterator<Item = &'c ReportClaim<'a>>) -> Vec<String> {
    let mut groups: Vec<Vec<&ReportClaim<'_>>> = Vec::new();
    for claim in claims {
        let key = |claim: &ReportClaim<'a>| (&claim.suite.name, &claim.table.title, claim.peer);
        match groups.iter_mut().find(|group| key(group[0]) == key(claim)) {
            Some(group) => group.push(claim),
            None => groups.push(vec![claim]),
        }
    }
    let mut found = Vec::new();
    for group in groups {
        match group.as_slice() {
            [first, ..] if group.len() > SUBJECTS_MAX => {
                let (suite, table) = (&first.suite.title, &first.table.title);
                let (count, peer) = (group.len(), first.peer);
                found.push(format!("{suite}: {table}, {count} cases, beside {peer}"));
            }
            few => found.extend(few.iter().map(|claim| claim.subject())),
        }
    }
    found
}

fn section(html: &mut String, suite: &Suite) {
    let badge = match suite.outcome {
        SuiteOutcome::Passed => "",
        SuiteOutcome::Failed => "<span class=\"badge failed\">failed</span>",
        SuiteOutcome::Interrupted => "<span class=\"badge interrupted\">interrupted</span>",
        SuiteOutcome::Skipped => "<span class=\"badge skipped\">not measured</span>",
    };
    add(
        html,
        format_args!(
            "<section id=\"{}\">\n<h2>{}{badge}</h2>",
            suite.name,
            escape(&suite.title)
        ),
    );
    if !suite.source.is_empty() {
        add(
            html,
            format_args!(
                "<p class=\"source\">{}.</p>",
                escape(&capital(&suite.source))
            ),
        );
    }
    if let Some(fault) = &suite.fault {
        add(
            html,
            format_args!("<p class=\"failed\">{}</p>", escape(fault)),
        );
    }
    notes(html, &suite.notes);
    if !suite.missing.is_empty() {
        html.push_str("<ul class=\"missing\">\n");
        for missing in &suite.missing {
            add(
                html,
                format_args!(
                    "<li>Not measured: {}. To have it: {}.</li>",
                    inline(&missing.what),
                    inline(&missing.remedy)
                ),
            );
        }
        html.push_str("</ul>\n");
    }
    for table in &suite.tables {
        figures(html, suite, table);
    }
    add(
        html,
        format_args!("<pre>{}</pre>\n</section>", escape(&suite.command)),
    );
}

fn notes(html: &mut String, notes: &[String]) {
    for note in notes {
        add(
            html,
            format_args!(
                "<p class=\"notes\" style=\"padding:0\">{}</p>",
                escape(note)
            ),
        );
    }
}

/// Text in which what stands between backticks is code.
fn inline(text: &str) -> String {
    let mut html = String::new();
    for (at, part) in text.split('`').enumerate() {
        let part = escape(part);
        html += &if at % 2 == 1 {
            format!("<code>{part}</code>")
        } else {
            part
        };
    }
    html
}

/// A chart and its table.
fn figures(html: &mut String, suite: &Suite, table: &ReportTable) {
    add(
        html,
        format_args!(
            "<h3 id=\"{}-{}\">{} <span class=\"faint\">{}</span></h3>",
            suite.name,
            escape(&table.name),
            escape(&capital(&table.heading())),
            escape(&table.unit)
        ),
    );
    notes(html, &table.notes);
    let grid = Grid::of(table);
    if let Some(grid) = &grid {
        html.push_str(&drawn_grid(grid));
    } else if let Some(chart) = draw(table) {
        add(html, format_args!("<figure>\n{chart}\n</figure>"));
    }
    for conclusion in &table.conclusions {
        add(
            html,
            format_args!("<p class=\"conclusion\">{}</p>", escape(conclusion)),
        );
    }
    let count = table.rows.iter().filter(|row| row.is_measured()).count();
    if count == 0 {
        return;
    }
    let folds = grid.is_some() || count > ROWS_SHOWN;
    if folds {
        add(
            html,
            format_args!("<details><summary>{count} rows of figures</summary>"),
        );
    }
    rows(html, table);
    if folds {
        html.push_str("</details>\n");
    }
}

fn capital(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next().map(char::to_uppercase);
    first.into_iter().flatten().chain(characters).collect()
}

/// A column, and what it has to say of a row, as HTML.
struct Column<'a> {
    head: &'a str,
    class: &'static str,
    cell: Box<dyn Fn(&Row) -> String + 'a>,
}

fn column<'a>(
    head: &'a str,
    class: &'static str,
    cell: impl Fn(&Row) -> String + 'a,
) -> Column<'a> {
    Column {
        head,
        class,
        cell: Box::new(cell),
    }
}

fn rows(html: &mut String, table: &ReportTable) {
    let columns = [
        column("", "", |row| escape(&table.case(row))),
        column("", "", |row| escape(&row.program)),
        column(&table.unit, "n", |row| {
            format!("<b>{}</b>", escape(&measured_text(row)))
        }),
        column("lowest–highest", "n", |row| {
            if row.runs.len() > 1 {
                range_of(&row.runs)
            } else {
                String::new()
            }
        }),
        column("ratio", "", |row| {
            let lines = row.over.iter().map(over).collect::<Vec<_>>();
            lines.join("<br>")
        }),
        column("server µs", "n", |row| cost(row, |cost| &cost.server_us)),
        column("client µs", "n", |row| cost(row, |cost| &cost.client_us)),
        column("MiB", "n", |row| {
            let bytes = row.cost.as_ref().and_then(|cost| cost.resident_bytes);
            bytes.map_or_else(String::new, |bytes| {
                figure(bytes as f64 / f64::from(1 << 20))
            })
        }),
        column("p50 / p99 / p99.9 ms", "n", latency),
        column("published, other machine", "", published),
    ];
    let measured: Vec<&Row> = table.rows.iter().filter(|row| row.is_measured()).collect();
    let shown: Vec<&Column<'_>> = columns
        .iter()
        .filter(|column| measured.iter().any(|row| !(column.cell)(row).is_empty()))
        .collect();
    html.push_str("<div class=\"scroll\"><table>\n<tr>");
    for column in &shown {
        let head = escape(column.head);
        add(
            html,
            format_args!("<th class=\"{}\">{head}</th>", column.class),
        );
    }
    html.push_str("</tr>\n");
    for row in measured {
        html.push_str("<tr>");
        for (at, column) in shown.iter().enumerate() {
            let ours = if at == 1 && row.ours { "us" } else { "" };
            add(
                html,
                format_args!(
                    "<td class=\"{} {ours}\">{}</td>",
                    column.class,
                    (column.cell)(row)
                ),
            );
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</table></div>\n");
}

fn over(over: &RatioRuns) -> String {
    let Ratio { median, min, max } = Ratio::of(&over.runs);
    format!(
        "<b>{median:.2}</b> <small>({min:.2}–{max:.2})</small> × {}",
        escape(&over.other())
    )
}

fn cost(row: &Row, of: fn(&super::Cost) -> &Vec<f64>) -> String {
    let us = row.cost.as_ref().map(of).filter(|us| !us.is_empty());
    us.map_or_else(String::new, |us| {
        figure(Samples::from(us.as_slice()).median())
    })
}

fn latency(row: &Row) -> String {
    let Some(latency) = &row.latency else {
        return String::new();
    };
    let at = |wanted: f64| {
        let mut all = latency.percentiles.iter();
        let found = all.find(|(percentile, _)| *percentile == wanted);
        found.map_or_else(String::new, |(_, ms)| figure(*ms))
    };
    format!("{} / {} / {}", at(50.0), at(99.0), at(99.9))
}

fn published(row: &Row) -> String {
    let Some(published) = &row.published else {
        return String::new();
    };
    let shown = escape(&published_text(published));
    let source = escape(&published.source());
    format!("{shown} <small>{source}</small>")
}

/// Where programs ran, and whether that matters on this machine.
fn sessions(report: &BenchReport) -> String {
    let tables = report.suites.iter().flat_map(|suite| &suite.tables);
    let mut rows = tables.flat_map(|table| &table.rows);
    if !rows.any(|row| row.sessions == SessionScope::Own) {
        return "Servers and load shared one session, as programs do that one shell starts."
            .to_owned();
    }
    let matters = if report.machine.shares_by_session() {
        "This machine shares its cores between sessions first, so it matters"
    } else {
        "This machine does not share its cores between sessions, so it matters little here"
    };
    format!(
        "Every program, server, database or load, was in a session of its own, as service managers and containers start programs. What says \
         <i>one session</i> was measured a second time with servers and load in one, as one shell starts them. {matters}. What is claimed holds in \
         every condition in which it was measured, and in every pair of runs; where the two differ, nothing is claimed."
    )
}

/// Machine, method, commands.
fn measured(html: &mut String, report: &BenchReport) {
    let machine = &report.machine;
    let gib = machine.memory_bytes as f64 / f64::from(1 << 30);
    add(
        html,
        format_args!(
            "<section id=\"measured\">\n<h2>How it was measured</h2>\n\
             <p>Programs beside each other were measured in turn, there and back again (A B B A), {} runs of {} s each. A figure is the middle of the runs \
             with the lowest and the highest; a ratio is of two runs next to each other, so that whatever else the machine did fell on both. The whiskers of \
             bars are lowest and highest. Every answer was checked, but those to wrk where a table says that the load was its. Servers, load and databases shared the cores; where processor time is told, it is what \
             the kernel counted for one request.</p>\n\
             <p>At a steady rate requests leave by the clock, whatever the server does, and their time begins when they are due: a server that stalls is \
             charged for all who would have come meanwhile.</p>\n\
             <p>{}</p>\n\
             <p>Published figures are from other machines and other days. They show what their authors saw, not who is faster.</p>\n<dl>",
            report.length.rounds,
            report.length.seconds,
            sessions(report)
        ),
    );
    for (name, value) in [
        (
            "Processor",
            format!("{}, {} cores", machine.processor, machine.cores),
        ),
        ("Memory", format!("{gib:.1} GiB")),
        (
            "System",
            format!("{}, Linux {}", machine.system, machine.kernel),
        ),
        ("Cores are shared by", machine.sharing()),
        ("Load average before", format!("{:.2}", machine.load_before)),
        ("Began", report.began.clone()),
        ("Took", format!("{} s", thousands(report.took_s))),
        ("Tsumugi", report.version.clone()),
    ] {
        add(
            html,
            format_args!("<dt>{name}</dt><dd>{}</dd>", escape(&value)),
        );
    }
    add(
        html,
        format_args!(
            "</dl>\n<h3>Again</h3>\n<pre>{}</pre>\n<p class=\"faint\">In the repository, <code>make bench REPORT=report</code> builds the server and its peers, \
             measures everything and writes such a page.</p>\n</section>",
            escape(&report.command)
        ),
    );
}
