//! What a load measured, as the author's table and as JSON. Measures nothing.
//! A column is an operation and a row a group of callers, with latencies and the load's own processor time beneath.

use std::fmt::Write as _;

use hdrhistogram::Histogram;
use serde_json::{Value, json};
use tsumugi_bench::{KvOperation, figure, thousands};

use super::plan::{CallForm, KvLoadPlan};

/// Percentiles that are shown.
const PERCENTILES: [f64; 4] = [50.0, 99.0, 99.9, 100.0];
/// Width of a column.
const WIDTH: usize = 10;

/// A cell: what was measured of one operation.
#[derive(Clone, Debug)]
pub struct MeasuredOperation {
    /// The call.
    pub operation: KvOperation,
    /// Records that were called for, and rightly answered.
    pub records: u64,
    /// The most records of one thread.
    pub thread_records_max: u64,
    /// From the first call to the last answer, in seconds: of the thread that took longest.
    pub seconds: f64,
    /// Processor time of the load, in microseconds, all of it.
    pub client_us: f64,
    /// Nanoseconds of each call.
    pub latency: Histogram<u64>,
}

impl MeasuredOperation {
    fn per_second(&self) -> f64 {
        self.records as f64 / self.seconds.max(f64::MIN_POSITIVE)
    }

    fn client_us_each(&self) -> f64 {
        self.client_us / self.records.max(1) as f64
    }

    fn latency_ms(&self, percentile: f64) -> f64 {
        self.latency.value_at_percentile(percentile) as f64 / 1e6
    }
}

/// A row.
#[derive(Clone, Debug)]
pub struct MeasuredRow {
    /// The heading of the row.
    pub label: String,
    /// The number of callers.
    pub callers: u64,
    /// The number of connections.
    pub connections: u64,
    /// What was measured of each operation, in their order.
    pub cells: Vec<MeasuredOperation>,
}

/// The table of calls of this form.
pub fn text(form: CallForm, operations: &[KvOperation], rows: &[MeasuredRow]) -> String {
    let labels = rows.iter().map(|row| row.label.chars().count());
    let width = labels.max().unwrap_or_default().max(20);
    let headings: Vec<String> = operations
        .iter()
        .map(|one| one.heading().to_owned())
        .collect();
    let mut table = String::new();
    // Where a call is for many records, the figures above count these.
    let of_what = match form {
        CallForm::Batches(_) => " of a call",
        CallForm::Unary | CallForm::Stream => "",
    };
    line(&mut table, form.unit(), width, &headings);
    for row in rows {
        let cells = |of: &dyn Fn(&MeasuredOperation) -> f64| -> Vec<String> {
            row.cells.iter().map(|cell| figure(of(cell))).collect()
        };
        let rates = row.cells.iter().map(|cell| thousands(cell.per_second()));
        line(&mut table, &row.label, width, &rates.collect::<Vec<_>>());
        for percentile in PERCENTILES {
            let name = match percentile {
                100.0 => format!("  longest{of_what}, ms"),
                percentile => format!("  p{percentile}{of_what}, ms"),
            };
            let latency = cells(&|cell| cell.latency_ms(percentile));
            line(&mut table, &name, width, &latency);
        }
        let client = cells(&MeasuredOperation::client_us_each);
        line(&mut table, "  client, us", width, &client);
    }
    table
}

fn line(table: &mut String, name: &str, width: usize, cells: &[String]) {
    let mut line = format!("{name:<width$}");
    for cell in cells {
        // Writing to a string does not fail.
        let _ = write!(line, " {cell:>WIDTH$}");
    }
    table.push_str(line.trim_end());
    table.push('\n');
}

/// The same for programs.
pub fn json(target: &str, index: i32, plan: &KvLoadPlan, rows: &[MeasuredRow]) -> Value {
    let rows: Vec<Value> = rows.iter().map(row_json).collect();
    json!({
        "schema": 1,
        "version": env!("CARGO_PKG_VERSION"),
        "server": target,
        "index": index,
        "value_bytes": plan.size,
        "call_records": plan.form.records(),
        "unit": plan.form.unit(),
        "rows": rows,
    })
}

fn row_json(row: &MeasuredRow) -> Value {
    let cell = |cell: &MeasuredOperation| {
        let latency = [50.0, 90.0, 99.0, 99.9, 99.99, 100.0].map(|at| (at, cell.latency_ms(at)));
        json!({
            "operation": cell.operation.heading(),
            "records": cell.records,
            "thread_records_max": cell.thread_records_max,
            "seconds": cell.seconds,
            "per_second": cell.per_second(),
            "client_us": cell.client_us_each(),
            "latency_ms": latency,
        })
    };
    json!({
        "case": row.label,
        "threads": row.callers,
        "connections": row.connections,
        "cells": row.cells.iter().map(cell).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::plan::{KeyOrder, LoadExtent};
    use super::super::tally;
    use super::*;

    fn row() -> MeasuredRow {
        let mut latency = tally::empty().unwrap();
        latency.record(2_000_000).unwrap();
        let cell = |operation| MeasuredOperation {
            operation,
            records: 20_000,
            thread_records_max: 10_000,
            seconds: 0.5,
            client_us: 400_000.0,
            latency: latency.clone(),
        };
        MeasuredRow {
            label: "2 threads, same connection".to_owned(),
            callers: 2,
            connections: 1,
            cells: vec![cell(KvOperation::Echo), cell(KvOperation::Set)],
        }
    }

    #[test]
    fn table_has_operations_as_columns_and_callers_as_rows() {
        let operations = [KvOperation::Echo, KvOperation::Set];
        let expected = "\
queries/s                        Echo        Set
2 threads, same connection     40 000     40 000
  p50, ms                        2.00       2.00
  p99, ms                        2.00       2.00
  p99.9, ms                      2.00       2.00
  longest, ms                    2.00       2.00
  client, us                     20.0       20.0
";
        assert_eq!(text(CallForm::Unary, &operations, &[row()]), expected);
    }

    #[test]
    fn table_of_batches_counts_records_and_has_latencies_of_calls() {
        let mut row = row();
        row.cells.truncate(1);
        let expected = "\
records/s                        Echo
2 threads, same connection     40 000
  p50 of a call, ms              2.00
  p99 of a call, ms              2.00
  p99.9 of a call, ms            2.00
  longest of a call, ms          2.00
  client, us                     20.0
";
        let operations = [KvOperation::Echo];
        assert_eq!(text(CallForm::Batches(10), &operations, &[row]), expected);
    }

    #[test]
    fn programs_find_every_cell_with_its_figures() {
        let plan = KvLoadPlan {
            operations: Vec::new(),
            groups: Vec::new(),
            form: CallForm::Batches(10),
            depth: 1,
            extent: LoadExtent::Records(20_000),
            records: None,
            size: 8,
            order: KeyOrder::Sequential,
        };
        let value = json("tkrzw://localhost:1978", 1, &plan, &[row()]);
        assert_eq!(value["server"], "tkrzw://localhost:1978");
        assert_eq!(value["unit"], "records/s");
        assert_eq!(value["call_records"], 10);
        assert_eq!(value["value_bytes"], 8);
        let cell = &value["rows"][0]["cells"][1];
        assert_eq!(cell["operation"], "Set");
        assert_eq!(cell["per_second"], 40_000.0);
        assert_eq!(cell["latency_ms"][0][0], 50.0);
    }
}
