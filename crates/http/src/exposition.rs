//! Writes figures in the text format that Prometheus reads (exposition format 0.0.4). Knows the format, not what the figures mean.
//! Each source of figures adds families to one text; a label's value is escaped here and nowhere else.

use std::fmt::{Display, Write};

use tsumugi_worker::{ServerSnapshot, WorkerSnapshot};

/// A text that grows family by family.
#[derive(Debug, Default)]
pub struct Exposition(String);

impl Exposition {
    /// The media type of the text.
    pub const MEDIA_TYPE: &'static str = "text/plain; version=0.0.4; charset=utf-8";

    /// Begins a family; its samples follow. What only grows is called a total; all else goes up and down.
    pub fn family(&mut self, name: &str, help: &str) {
        let is_counter = name.ends_with("_total");
        self.begin(name, if is_counter { "counter" } else { "gauge" }, help);
    }

    /// Begins a family of histograms: they count by upper bound, with `_bucket`, `_sum` and `_count`.
    pub fn histograms(&mut self, name: &str, help: &str) {
        self.begin(name, "histogram", help);
    }

    fn begin(&mut self, name: &str, kind: &str, help: &str) {
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

    /// A family with a sample for each row that has a value, named by its label; nothing when none has.
    pub fn rows<'a>(
        &mut self,
        (name, help): (&str, &str),
        label: &str,
        rows: impl Iterator<Item = (&'a str, Option<u64>)>,
    ) {
        let mut begun = false;
        for (row, value) in rows {
            let Some(value) = value else { continue };
            if !std::mem::replace(&mut begun, true) {
                self.family(name, help);
            }
            self.sample(name, &[(label, row)], value);
        }
    }

    /// A family with a sample for each worker, by its number.
    pub fn per_worker(
        &mut self,
        name: &str,
        help: &str,
        values: impl Iterator<Item = (usize, u64)>,
    ) {
        self.family(name, help);
        for (worker, value) in values {
            self.sample(name, &[("worker", &worker.to_string())], value);
        }
    }

    /// The samples of a histogram, without the beginning of its family: counts by upper bound in seconds, the last without one.
    pub fn histogram(
        &mut self,
        name: &str,
        labels: &[(&str, &str)],
        buckets: impl Iterator<Item = (impl AsRef<str>, u64)>,
        sum_seconds: f64,
    ) {
        let bucket = format!("{name}_bucket");
        let mut up_to = 0;
        for (bound, count) in buckets {
            up_to += count;
            let labels: Vec<_> = labels
                .iter()
                .copied()
                .chain([("le", bound.as_ref())])
                .collect();
            self.sample(&bucket, &labels, up_to);
        }
        self.sample(&format!("{name}_sum"), labels, sum_seconds);
        self.sample(&format!("{name}_count"), labels, up_to);
    }

    /// What the workers of a server and its pool for blocking work count.
    pub fn workers(&mut self, snapshot: &ServerSnapshot) {
        for (name, help, of) in WORKER_FIGURES {
            let values = snapshot.workers.iter().map(of).enumerate();
            self.per_worker(name, help, values);
        }
        let offload = &snapshot.offload;
        let help = "Threads for blocking work.";
        self.single("tsumugi_offload_threads", help, offload.threads);
        let help = "Blocking jobs that wait for a thread.";
        self.single("tsumugi_offload_queued", help, offload.queued);
        let help = "Blocking jobs refused because offload_queue_max were waiting.";
        self.single("tsumugi_offload_refused_total", help, offload.refused);
    }

    /// A family of one sample without labels.
    pub fn single(&mut self, name: &str, help: &str, value: impl Display) {
        self.family(name, help);
        self.sample(name, &[], value);
    }

    /// The text so far.
    pub fn into_text(self) -> String {
        self.0
    }
}

type WorkerFigure = (&'static str, &'static str, fn(&WorkerSnapshot) -> u64);

#[rustfmt::skip]
const WORKER_FIGURES: &[WorkerFigure] = &[
    ("tsumugi_connections_open", "Connections open now.", |of| of.open as u64),
    ("tsumugi_connections_accepted_total", "Connections that the worker accepted, whoever serves them.", |of| of.accepted),
    ("tsumugi_connections_handed_over_total", "Of these, connections given to a worker that had fewer.", |of| of.handed_over),
    ("tsumugi_connections_refused_total", "Connections closed at once because every worker had connections_max.", |of| of.refused),
    ("tsumugi_accept_errors_total", "Accepts that failed for want of a resource, such as file descriptors.", |of| of.accept_errors),
    ("tsumugi_worker_stalls_total", "Loop turns that used stall_ms of CPU or slept as long in a system call.", |of| of.stalled),
    ("tsumugi_worker_turns_total", "Loop turns.", |of| of.turns),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_escaped() {
        let mut text = Exposition::default();
        text.single("up", "Whether it runs.", 1);
        text.sample("files", &[("path", "a\"b\\c\nd"), ("worker", "0")], 0.5);
        assert_eq!(
            text.into_text(),
            "# HELP up Whether it runs.\n# TYPE up gauge\nup 1\nfiles{path=\"a\\\"b\\\\c\\nd\",worker=\"0\"} 0.5\n"
        );
    }
}
