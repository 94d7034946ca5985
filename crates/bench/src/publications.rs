//! The tables that others published, as they printed them, from `data/published.toml`: the only place where figures of others come from.
//! Measures nothing. Rule: a cell that is asked for must be there; a name that the data does not have is a fault of the program.

use std::sync::LazyLock;

use anyhow::{Context as _, Result};
use serde::Deserialize;

use crate::report::{GridCell, PublishedFigure, ReportTable, Row};

/// All of them, in the order of their numbers.
static TABLES: LazyLock<Vec<PublishedTable>> = LazyLock::new(|| {
    #[derive(Deserialize)]
    struct PublishedTables {
        table: Vec<PublishedTable>,
    }
    let tables: PublishedTables = basic_toml::from_str(include_str!("../data/published.toml"))
        .expect("the data file is a part of this program, and a test reads it");
    tables.table
});

/// A table of an author's, or a part of one.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct PublishedTable {
    /// Its number in the data file; parts of one table share it.
    pub number: u32,
    /// Which part of the table, where it has several.
    pub part: Option<String>,
    /// What it is about.
    pub title: String,
    /// The work it is from, as its author calls it.
    pub work: String,
    /// Where the work is.
    pub link: String,
    /// When it was published, where that is known.
    pub year: Option<String>,
    /// The unit of its figures.
    pub unit: String,
    /// How it was measured.
    pub run: String,
    /// What its author says of it or asks.
    pub said: Option<String>,
    /// What was run, in the author's own lines.
    #[serde(default)]
    pub text: Vec<String>,
    /// Heads of its columns.
    #[serde(default)]
    pub columns: Vec<String>,
    #[serde(default)]
    rows: Vec<PublishedRow>,
}

/// A row of it, a cell for each column.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
struct PublishedRow {
    name: String,
    cells: Vec<String>,
}

/// A table by its number; of one with several parts the first.
pub fn table(number: u32) -> Result<&'static PublishedTable> {
    let found = TABLES.iter().find(|table| table.number == number);
    found.with_context(|| format!("there is no published table {number}"))
}

/// A part of a table.
pub fn part(number: u32, part: &str) -> Result<&'static PublishedTable> {
    let is_it =
        |table: &&PublishedTable| table.number == number && table.part.as_deref() == Some(part);
    let found = TABLES.iter().find(is_it);
    found.with_context(|| format!("there is no part {part} of the published table {number}"))
}

impl PublishedTable {
    /// A cell: its figure, or the words that stand in the place of one.
    #[cfg(test)]
    pub fn cell(&self, row: &str, column: &str) -> Result<PublishedFigure> {
        let cell = || {
            let at = self.columns.iter().position(|name| name == column)?;
            let row = self.rows.iter().find(|found| found.name == row)?;
            row.cells.get(at)
        };
        let text = cell().with_context(|| {
            format!(
                "the published table {} has no cell {row}, {column}",
                self.number
            )
        })?;
        Ok(self.figure(text))
    }

    /// All cells, with where they are, row by row.
    pub fn cells(&self) -> impl Iterator<Item = (GridCell, PublishedFigure)> {
        self.rows.iter().flat_map(|row| {
            let cells = self.columns.iter().zip(&row.cells);
            cells.map(|(column, text)| (GridCell::new(&row.name, column), self.figure(text)))
        })
    }

    /// A row of a report for each cell, in the author's order and without a figure of ours. A table that begins with them is drawn as the
    /// author drew his; `Bench::contest` puts what it measures of the same cell in their place.
    pub fn rows(&self) -> Vec<Row> {
        let row = |(cell, published): (GridCell, PublishedFigure)| Row {
            published: Some(published),
            ..Row::in_cell(cell, &self.work)
        };
        self.cells().map(row).collect()
    }

    /// A report's table like the author's: his title, unit and cells, and a note that says how he measured.
    pub fn report(&self, name: &str) -> ReportTable {
        ReportTable {
            name: name.to_owned(),
            title: self.title.clone(),
            unit: self.unit.clone(),
            notes: vec![self.note()],
            rows: self.rows(),
            ..ReportTable::default()
        }
    }

    /// Whose figures stand beneath ours, and how they were measured.
    pub fn note(&self) -> String {
        let year = self.year.iter().map(|year| format!(", {year}"));
        let year: String = year.collect();
        format!(
            "published: {}{year}, another machine: {}",
            self.work, self.run
        )
    }

    fn figure(&self, text: &str) -> PublishedFigure {
        let plain = text.strip_prefix("about ").unwrap_or(text);
        let figure: Option<f64> = plain.parse().ok();
        PublishedFigure {
            year: self.year.clone(),
            words: Some(text.to_owned()),
            ..PublishedFigure::exactly(figure.unwrap_or_default(), &self.work)
        }
    }
}

/// Where a work is that its author calls so.
pub fn link(work: &str) -> Option<&'static str> {
    let found = TABLES.iter().find(|table| table.work == work);
    found.map(|table| table.link.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_has_all_of_its_cells() {
        let expected = [
            (1, 12),
            (2, 2),
            (3, 4),
            (4, 16),
            (5, 8),
            (6, 0),
            (7, 10),
            (8, 75),
        ];
        for (number, cells) in expected {
            let parts = TABLES.iter().filter(|table| table.number == number);
            let found: usize = parts.map(|table| table.cells().count()).sum();
            assert_eq!(found, cells, "table {number}");
        }
        assert_eq!(TABLES.len(), 12);
    }

    #[test]
    fn reports_have_the_cells_of_the_file_in_its_order() {
        let lines = include_str!("../data/published.toml").lines();
        let lines = lines.filter_map(|line| line.strip_prefix("cells = [")?.strip_suffix(']'));
        let printed = lines.flat_map(|line| line.split(", "));
        let printed: Vec<&str> = printed.map(|cell| cell.trim_matches('"')).collect();
        let rows = TABLES.iter().flat_map(|table| table.report("table").rows);
        let shown: Vec<PublishedFigure> = rows.filter_map(|row| row.published).collect();
        assert_eq!(shown.len(), printed.len());
        for (figure, text) in shown.iter().zip(printed) {
            assert_eq!(figure.words.as_deref(), Some(text));
            let plain = text.strip_prefix("about ").unwrap_or(text);
            assert_eq!(figure.range.0, plain.parse().unwrap_or(0.0), "{text}");
            assert_eq!(figure.range.0, figure.range.1);
        }
    }

    #[test]
    fn every_row_has_a_cell_for_each_column_and_a_name_of_its_own() {
        for table in TABLES.iter() {
            for (at, row) in table.rows.iter().enumerate() {
                assert_eq!(row.cells.len(), table.columns.len(), "{}", row.name);
                let mut before = table.rows[..at].iter();
                assert!(before.all(|other| other.name != row.name), "{}", row.name);
            }
        }
    }

    #[test]
    fn every_table_names_its_work_and_how_it_was_measured() {
        for table in TABLES.iter() {
            let facts = [&table.title, &table.work, &table.unit, &table.run];
            assert!(facts.iter().all(|fact| !fact.is_empty()), "{table:?}");
            assert!(table.link.starts_with("https://"), "{table:?}");
        }
    }

    fn check(number: u32, row: &str, column: &str, range: (f64, f64), words: Option<&str>) {
        let found = table(number).unwrap().cell(row, column).unwrap();
        assert_eq!((found.range, found.words.as_deref()), (range, words));
    }

    #[test]
    fn cell_is_a_figure_and_the_text_that_its_author_printed() {
        check(
            1,
            "arc, threads off",
            "return string",
            (228_683.0, 228_683.0),
            Some("228683"),
        );
        check(
            1,
            "orc, threads on",
            "return string",
            (0.0, 0.0),
            Some("crash"),
        );
        check(
            5,
            "10 rows (about 1 KB), 4 cores for the database: synchronous",
            "requests/s",
            (200.0, 200.0),
            Some("about 200"),
        );
        let ipv6 = part(8, "IPv6").unwrap();
        let echo = ipv6.cell("4 threads, separate", "Echo").unwrap();
        assert_eq!(echo.range, (25_576.0, 25_576.0));
        assert_eq!(
            (echo.of.as_str(), echo.year.as_deref()),
            ("Tkrzw-RPC", Some("2021"))
        );
    }

    #[test]
    fn cell_that_was_not_published_is_an_error() {
        let error = table(8).unwrap().cell("3 threads", "Echo").unwrap_err();
        assert_eq!(
            error.to_string(),
            "the published table 8 has no cell 3 threads, Echo"
        );
        assert!(table(9).is_err() && part(8, "IPv5").is_err());
    }
}
