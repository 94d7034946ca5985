//! Charts as SVG: bars with their range, lines over an axis, curves of latency. Knows tables, not pages, and no other machine's fonts:
//! what must not overlap has a column of its own.
//! Colours are classes (`c0` is ours), so that a page or a file of its own can dress them for light and dark.

use std::fmt::Write as _;

use super::print::figure;
use super::{Latency, ReportTable, Row};
use crate::samples::Samples;

/// Width of every chart, in its own units; it is shown as wide as there is room.
const WIDTH: f64 = 760.0;
/// The column of names.
const NAMES: f64 = 190.0;
/// The column of figures, at the right.
const FIGURES: f64 = 182.0;
/// Characters of a name that fit its column.
const NAME_CHARACTERS: usize = 27;
/// From one bar to the next.
const STEP: f64 = 26.0;
const BAR: f64 = 16.0;
/// A case's heading above its programs.
const HEADING: f64 = 24.0;
/// Of charts with two axes.
const PLOT: f64 = 260.0;
/// How far the lines of programs are beside each other.
const ASIDE: f64 = 5.0;
/// Colours that differ; more programs than that share the last.
const COLOURS: usize = 5;
/// Latencies that span more than this are drawn by their logarithm.
const LOGARITHMIC: f64 = 20.0;

/// What stands in a file of its own, where no page dresses it. `page.css` says the same with its own names.
const ALONE: &str = include_str!("chart.css");

/// The programs of a table in the order of their colours.
struct Palette(Vec<String>);

impl Palette {
    /// Ours is first, the others as they come.
    fn of(rows: &[&Row]) -> Palette {
        let mut programs: Vec<String> = Vec::new();
        let mut add = |row: &Row| {
            if !programs.contains(&row.program) {
                programs.push(row.program.clone());
            }
        };
        rows.iter().filter(|row| row.ours).for_each(|row| add(row));
        rows.iter().filter(|row| !row.ours).for_each(|row| add(row));
        Palette(programs)
    }

    /// The class of a program.
    fn class(&self, program: &str) -> usize {
        let found = self.0.iter().position(|other| other == program);
        found.unwrap_or_default().min(COLOURS - 1)
    }
}

/// The chart of a table; none when nothing was measured.
pub fn draw(table: &ReportTable) -> Option<String> {
    let measured: Vec<&Row> = table
        .rows
        .iter()
        .filter(|row| !row.runs.is_empty())
        .collect();
    if measured.is_empty() {
        return None;
    }
    let palette = &Palette::of(&measured);
    let series = measured.iter().filter(|row| row.x.is_some()).count();
    Some(if measured.iter().any(|row| row.latency.is_some()) {
        latencies(table, &measured, palette)
    } else if let (Some(axis), true) = (&table.axis, series > 1) {
        lines(table, &measured, axis, palette)
    } else {
        bars(table, &measured, palette)
    })
}

/// A chart as a file of its own.
pub fn alone(chart: &str, title: &str) -> String {
    let opening = "<svg ";
    let styled = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" font-family=\"system-ui, sans-serif\" {}",
        chart.strip_prefix(opening).unwrap_or(chart)
    );
    let end = styled.find('>').map_or(0, |end| end + 1);
    let (head, rest) = styled.split_at(end);
    format!(
        "{head}\n<title>{}</title>\n<style>\n{ALONE}</style>\n{rest}\n",
        escape(title)
    )
}

/// Text as it may stand in a page or a chart.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '"' => escaped.push_str("&quot;"),
            _ => escaped.push(character),
        }
    }
    escaped
}

/// An SVG that grows.
struct Canvas {
    text: String,
    height: f64,
}

impl Canvas {
    fn new() -> Canvas {
        Canvas {
            text: String::new(),
            height: 0.0,
        }
    }

    fn add(&mut self, element: std::fmt::Arguments<'_>) {
        // Writing to a string does not fail.
        let _ = writeln!(self.text, "{element}");
    }

    fn word(&mut self, at: (f64, f64), class: &str, text: &str) {
        let (x, y) = at;
        self.add(format_args!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" class=\"{class}\">{}</text>",
            escape(text)
        ));
    }

    fn line(&mut self, from: (f64, f64), to: (f64, f64), class: &str) {
        self.add(format_args!(
            "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" class=\"{class}\"/>",
            from.0, from.1, to.0, to.1
        ));
    }

    fn end(self, title: &str) -> String {
        format!(
            "<svg viewBox=\"0 0 {WIDTH} {:.0}\" class=\"chart\" role=\"img\" aria-label=\"{}\">\n{}</svg>",
            self.height,
            escape(title),
            self.text
        )
    }
}

/// A scale from 0 to a round number, and where its marks are.
struct Scale {
    top: f64,
    step: f64,
}

impl Scale {
    fn to(highest: f64) -> Scale {
        let highest = if highest > 0.0 { highest } else { 1.0 };
        let rough = highest / 4.0;
        let power = 10_f64.powf(rough.log10().floor());
        let steps = [1.0, 2.0, 2.5, 5.0, 10.0].map(|step| step * power);
        let step = steps.into_iter().find(|step| *step >= rough);
        let step = step.unwrap_or(rough);
        Scale {
            top: (highest / step).ceil() * step,
            step,
        }
    }

    fn marks(&self) -> impl Iterator<Item = f64> + use<> {
        let (step, count) = (self.step, (self.top / self.step).round() as u32);
        (0..=count).map(move |mark| f64::from(mark) * step)
    }

    fn part(&self, value: f64) -> f64 {
        (value / self.top).clamp(0.0, 1.0)
    }
}

/// A mark as it is written at an axis.
fn mark(value: f64) -> String {
    if value >= 10_000.0 {
        format!("{} k", trimmed(value / 1_000.0))
    } else {
        trimmed(value)
    }
}

fn trimmed(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn shortened(name: &str) -> String {
    if name.chars().count() <= NAME_CHARACTERS {
        return name.to_owned();
    }
    let kept: String = name.chars().take(NAME_CHARACTERS - 1).collect();
    format!("{}…", kept.trim_end())
}

/// Bars, the programs of a case together.
fn bars(table: &ReportTable, rows: &[&Row], palette: &Palette) -> String {
    let mut canvas = Canvas::new();
    let plot = WIDTH - NAMES - FIGURES;
    let cases = rows
        .iter()
        .any(|row| table.case(row) != table.case(rows[0]));
    let programs = rows.iter().any(|row| row.program != rows[0].program);
    let highest = rows.iter().map(|row| {
        let published = row.published.as_ref().map_or(0.0, |other| other.range.1);
        Samples::from(row.runs.as_slice()).max().max(published)
    });
    let scale = Scale::to(highest.fold(0.0, f64::max));
    let (mut y, mut last) = (6.0, String::new());
    for row in rows {
        let case = table.case(row);
        if cases && programs && case != last {
            y += if last.is_empty() { 0.0 } else { 8.0 };
            canvas.word((0.0, y + 14.0), "heading", &case);
            y += HEADING;
        }
        let name = if programs { &row.program } else { &case };
        bar(&mut canvas, row, name, y, &scale, palette);
        last = case;
        y += STEP;
    }
    let bars = std::mem::take(&mut canvas.text);
    for value in scale.marks() {
        let x = NAMES + plot * scale.part(value);
        canvas.line((x, 4.0), (x, y), "grid");
        canvas.word((x, y + 15.0), "mark middle", &mark(value));
    }
    canvas.word((WIDTH, y + 15.0), "mark end", &table.unit);
    canvas.text.push_str(&bars);
    canvas.height = y + 22.0;
    if rows.iter().any(|row| row.published.is_some()) {
        diamond(&mut canvas, NAMES + 6.0, y + 33.0);
        canvas.word(
            (NAMES + 18.0, y + 37.0),
            "mark",
            "published elsewhere: another machine, another day",
        );
        canvas.height = y + 44.0;
    }
    canvas.end(&table.heading())
}

fn bar(canvas: &mut Canvas, row: &Row, name: &str, y: f64, scale: &Scale, palette: &Palette) {
    let plot = WIDTH - NAMES - FIGURES;
    let runs = Samples::from(row.runs.as_slice());
    let (low, middle, high) = (runs.min(), runs.median(), runs.max());
    let (at, centre) = (
        |value: f64| NAMES + plot * scale.part(value),
        y + STEP / 2.0,
    );
    canvas.word((0.0, centre + 4.5), "name", &shortened(name));
    let class = palette.class(&row.program);
    let length = (at(middle) - NAMES).max(1.0);
    canvas.add(format_args!(
        "<rect x=\"{NAMES}\" y=\"{:.1}\" width=\"{length:.1}\" height=\"{BAR}\" rx=\"3\" class=\"fill c{class}\"><title>{}: {} ({}-{})</title></rect>",
        centre - BAR / 2.0,
        escape(name),
        figure(middle),
        figure(low),
        figure(high)
    ));
    if row.runs.len() > 1 {
        canvas.line((at(low), centre), (at(high), centre), "range");
        for end in [low, high] {
            canvas.line((at(end), centre - 4.0), (at(end), centre + 4.0), "range");
        }
    }
    if let Some(published) = &row.published {
        diamond(canvas, at(published.middle()), centre);
    }
    let x = WIDTH - FIGURES + 14.0;
    let range = if row.runs.len() > 1 {
        format!(
            "<tspan class=\"faint\" dx=\"7\">{}–{}</tspan>",
            compact(low),
            compact(high)
        )
    } else {
        String::new()
    };
    canvas.add(format_args!(
        "<text x=\"{x}\" y=\"{:.1}\" class=\"figure\">{}{range}</text>",
        centre + 4.5,
        figure(middle)
    ));
}

/// A figure where there is little room.
fn compact(value: f64) -> String {
    if value >= 10_000_000.0 {
        format!("{:.1}M", value / 1_000_000.0)
    } else if value >= 1_000_000.0 {
        format!("{:.2}M", value / 1_000_000.0)
    } else if value >= 10_000.0 {
        format!("{:.0}k", value / 1_000.0)
    } else {
        figure(value)
    }
}

fn diamond(canvas: &mut Canvas, x: f64, y: f64) {
    canvas.add(format_args!(
        "<path d=\"M{x:.1} {:.1}l5.5 5.5-5.5 5.5-5.5-5.5z\" class=\"published\"/>",
        y - 5.5
    ));
}

/// The frame of a chart with two axes.
struct Frame {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

const FRAME: Frame = Frame {
    left: 62.0,
    right: WIDTH - 170.0,
    top: 12.0,
    bottom: 12.0 + PLOT,
};

impl Frame {
    fn x(&self, part: f64) -> f64 {
        self.left + (self.right - self.left) * part
    }

    fn y(&self, part: f64) -> f64 {
        self.bottom - (self.bottom - self.top) * part
    }
}

/// Where names at the right ends of lines go: as near as they fit.
fn name_ends(canvas: &mut Canvas, mut ends: Vec<(f64, String, usize)>) {
    ends.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut free = FRAME.top;
    for (y, name, class) in ends {
        let y = y.max(free);
        free = y + 17.0;
        let dot = (FRAME.right + 16.0, y);
        canvas.add(format_args!(
            "<circle cx=\"{}\" cy=\"{y:.1}\" r=\"4.5\" class=\"fill c{class}\"/>",
            dot.0
        ));
        canvas.word((dot.0 + 11.0, y + 4.5), "name", &shortened(&name));
    }
}

fn polyline(canvas: &mut Canvas, points: &[(f64, f64)], class: usize) {
    let path: Vec<String> = points
        .iter()
        .map(|(x, y)| format!("{x:.1},{y:.1}"))
        .collect();
    canvas.add(format_args!(
        "<polyline points=\"{}\" class=\"stroke c{class}\"/>",
        path.join(" ")
    ));
}

fn programs<'a>(rows: &[&'a Row]) -> Vec<&'a str> {
    let mut programs: Vec<&str> = Vec::new();
    for row in rows {
        if !programs.contains(&row.program.as_str()) {
            programs.push(&row.program);
        }
    }
    programs
}

/// A line for each program over the table's axis.
fn lines(table: &ReportTable, rows: &[&Row], axis: &str, palette: &Palette) -> String {
    let mut canvas = Canvas::new();
    let highest = rows
        .iter()
        .map(|row| Samples::from(row.runs.as_slice()).max());
    let scale = Scale::to(highest.fold(0.0, f64::max));
    for value in scale.marks() {
        let y = FRAME.y(scale.part(value));
        canvas.line((FRAME.left, y), (FRAME.right, y), "grid");
        canvas.word((FRAME.left - 8.0, y + 4.0), "mark end", &mark(value));
    }
    // Counts that double lie evenly.
    let mut places: Vec<f64> = rows.iter().filter_map(|row| row.x).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    let (first, last) = (places[0], places[places.len() - 1]);
    let width = (last / first).ln();
    let across = |x: f64| {
        let part = if width > 0.0 {
            (x / first).ln() / width
        } else {
            0.5
        };
        FRAME.x(0.04 + 0.92 * part)
    };
    for place in &places {
        canvas.word(
            (across(*place), FRAME.bottom + 18.0),
            "mark middle",
            &trimmed(*place),
        );
    }
    let middle = FRAME.x(0.5);
    canvas.word((middle, FRAME.bottom + 36.0), "mark middle", axis);
    canvas.word((WIDTH, FRAME.bottom + 18.0), "mark end", &table.unit);
    let mut ends = Vec::new();
    for program in programs(rows) {
        let class = palette.class(program);
        let mut points = Vec::new();
        for row in rows.iter().filter(|row| row.program == program) {
            let Some(x) = row.x.map(across) else {
                continue;
            };
            let runs = Samples::from(row.runs.as_slice());
            let y = |value: f64| FRAME.y(scale.part(value));
            // Beside each other, as programs often lie at the same place.
            let x = x + ASIDE * class as f64;
            let whisker = format!("whisker c{class}");
            canvas.line((x, y(runs.min())), (x, y(runs.max())), &whisker);
            points.push((x, y(runs.median())));
        }
        polyline(&mut canvas, &points, class);
        for (x, y) in &points {
            canvas.add(format_args!(
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" class=\"fill c{class}\"/>"
            ));
        }
        ends.extend(points.last().map(|end| (end.1, program.to_owned(), class)));
    }
    name_ends(&mut canvas, ends);
    canvas.height = FRAME.bottom + 44.0;
    canvas.end(&table.heading())
}

/// How far to the right a percentile is: each further nine takes the same room.
fn nines(percentile: f64) -> f64 {
    -(1.0 - percentile / 100.0).log10()
}

/// Latency over percentiles, by their nines.
fn latencies(table: &ReportTable, rows: &[&Row], palette: &Palette) -> String {
    let mut canvas = Canvas::new();
    let curves: Vec<(&Row, &Latency)> = rows
        .iter()
        .filter_map(|row| Some((*row, row.latency.as_ref()?)))
        .collect();
    let fewest = curves.iter().map(|(_, latency)| latency.requests).min();
    // Of so many requests, the last percentile that more than a few are beyond.
    let furthest = (fewest.unwrap_or(1).max(100) as f64 / 10.0)
        .log10()
        .clamp(1.0, 5.0);
    let shown = |at: f64| at > 0.0 && nines(at) <= furthest + 1e-9;
    let points = |latency: &Latency| {
        let points = latency.percentiles.iter().copied();
        points.filter(|(at, _)| shown(*at)).collect::<Vec<_>>()
    };
    let all: Vec<f64> = curves
        .iter()
        .flat_map(|(_, latency)| points(latency))
        .map(|(_, ms)| ms.max(1e-3))
        .collect();
    let low = all.iter().copied().fold(f64::INFINITY, f64::min);
    let high = all.iter().copied().fold(1e-3, f64::max);
    let logarithmic = high / low > LOGARITHMIC;
    let scale = Scale::to(high);
    let (bottom, top) = (low.log10().floor(), high.log10().ceil());
    let up = |ms: f64| {
        let part = if logarithmic {
            (ms.max(1e-3).log10() - bottom) / (top - bottom)
        } else {
            scale.part(ms)
        };
        FRAME.y(part.clamp(0.0, 1.0))
    };
    let marks: Vec<f64> = if logarithmic {
        let powers = (bottom as i32)..=(top as i32);
        powers.map(|power| 10_f64.powi(power)).collect()
    } else {
        scale.marks().collect()
    };
    for value in marks {
        let y = up(value);
        canvas.line((FRAME.left, y), (FRAME.right, y), "grid");
        canvas.word((FRAME.left - 8.0, y + 4.0), "mark end", &mark(value));
    }
    let across = |at: f64| FRAME.x(nines(at) / furthest);
    for at in [50.0, 90.0, 99.0, 99.9, 99.99, 99.999] {
        if shown(at) {
            let x = across(at);
            canvas.line((x, FRAME.top), (x, FRAME.bottom), "grid");
            let name = format!("p{at}");
            canvas.word((x, FRAME.bottom + 18.0), "mark middle", &name);
        }
    }
    canvas.word((WIDTH, FRAME.bottom + 18.0), "mark end", "ms");
    let mut ends = Vec::new();
    for (row, latency) in &curves {
        let class = palette.class(&row.program);
        let path: Vec<(f64, f64)> = points(latency)
            .iter()
            .map(|(at, ms)| (across(*at), up(*ms)))
            .collect();
        polyline(&mut canvas, &path, class);
        ends.extend(path.last().map(|end| (end.1, row.program.clone(), class)));
    }
    name_ends(&mut canvas, ends);
    canvas.height = FRAME.bottom + 26.0;
    canvas.end(&table.heading())
}
