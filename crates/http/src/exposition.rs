//! Writes figures in the text format that Prometheus reads (exposition format 0.0.4). Knows the format, not what the figures mean.
//! Whoever has figures adds families to one text; a label's value is escaped here and nowhere else.

use std::fmt::{Display, Write};

/// A text that grows family by family.
#[derive(Debug, Default)]
pub struct Exposition(String);

/// What a family counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Only grows.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Counts by upper bound, with `_bucket`, `_sum` and `_count`.
    Histogram,
}

impl Exposition {
    /// The media type of the text.
    pub const MEDIA_TYPE: &'static str = "text/plain; version=0.0.4; charset=utf-8";

    /// Begins a family; its samples follow.
    pub fn family(&mut self, name: &str, kind: Kind, help: &str) {
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        // Writing into a String cannot fail, here and below.
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    /// One sample. Times are in seconds, sizes in bytes.
    pub fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        self.0.push_str(name);
        for (index, (label, text)) in labels.iter().enumerate() {
            self.0.push(if index == 0 { '{' } else { ',' });
            let _ = write!(self.0, "{label}=\"");
            for character in text.chars() {
                match character {
                    '\\' => self.0.push_str("\\\\"),
                    '"' => self.0.push_str("\\\""),
                    '\n' => self.0.push_str("\\n"),
                    other => self.0.push(other),
                }
            }
            self.0.push('"');
        }
        let end = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.0, "{end} {value}");
    }

    /// A family of one sample without labels.
    pub fn single(&mut self, name: &str, kind: Kind, help: &str, value: impl Display) {
        self.family(name, kind, help);
        self.sample(name, &[], value);
    }

    /// The text so far.
    pub fn into_text(self) -> String {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_escaped() {
        let mut text = Exposition::default();
        text.single("up", Kind::Gauge, "Whether it runs.", 1);
        text.sample("files", &[("path", "a\"b\\c\nd"), ("worker", "0")], 0.5);
        assert_eq!(
            text.into_text(),
            "# HELP up Whether it runs.\n# TYPE up gauge\nup 1\nfiles{path=\"a\\\"b\\\\c\\nd\",worker=\"0\"} 0.5\n"
        );
    }
}
