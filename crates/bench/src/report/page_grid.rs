//! A grid as HTML: a part of the page. Shows what is in its cells, and where the works are whose figures are in it.

use std::fmt::Write as _;

use super::Row;
use super::chart::escape;
use super::grid::{Grid, measured_text, published_text};
use crate::publications;

fn add(html: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string does not fail.
    let _ = writeln!(html, "{text}");
}

/// A table as its author drew it: what was measured, and small beneath it what was published. It scrolls in a box of its own.
pub fn drawn_grid(grid: &Grid<'_>) -> String {
    let mut text = String::new();
    let html = &mut text;
    html.push_str("<div class=\"scroll\" tabindex=\"0\"><table class=\"grid\">\n<tr><th></th>");
    for column in &grid.columns {
        add(
            html,
            format_args!("<th scope=\"col\">{}</th>", escape(column)),
        );
    }
    html.push_str("</tr>\n");
    for line in &grid.lines {
        add(
            html,
            format_args!("<tr><th scope=\"row\">{}</th>", escape(line.name)),
        );
        for cell in &line.cells {
            html.push_str("<td>");
            for (program, row) in &cell.measured {
                let is_said = grid.programs.len() < 2 || line.name.starts_with(program.as_str());
                cell_of(html, row, (!is_said).then_some(program));
            }
            for published in &cell.published {
                let several = grid.sources.len() > 1;
                let of = several.then(|| format!(" {}", escape(&published.source())));
                let text = escape(&published_text(published));
                let of = of.unwrap_or_default();
                add(html, format_args!("<div class=\"theirs\">{text}{of}</div>"));
            }
            html.push_str("</td>");
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</table></div>\n");
    if !grid.sources.is_empty() {
        let sources: Vec<String> = grid.sources.iter().map(|source| linked(source)).collect();
        add(
            html,
            format_args!(
                "<p class=\"theirs\">Small in a cell: published, {}, other machine.</p>",
                sources.join("; ")
            ),
        );
    }
    text
}

/// A work and its year, with a link to the work where the published tables have one.
fn linked(source: &str) -> String {
    let work = source.split(", ").next().unwrap_or_default();
    let rest = &source[work.len()..];
    match publications::link(work) {
        Some(link) => format!(
            "<a href=\"{}\">{}</a>{}",
            escape(link),
            escape(work),
            escape(rest)
        ),
        None => escape(source),
    }
}

/// What a program did, in a cell.
fn cell_of(html: &mut String, row: &Row, program: Option<&String>) {
    let class = match (&row.fault, row.ours) {
        (Some(_), _) => "fault",
        (None, true) => "ours",
        (None, false) => "peer",
    };
    let name = program.map(|program| format!(" <small>{}</small>", escape(program)));
    add(
        html,
        format_args!(
            "<div class=\"{class}\"><b>{}</b>{}</div>",
            escape(&measured_text(row)),
            name.unwrap_or_default()
        ),
    );
}
