//! A table as a grid, as its author drew it: which rows and columns it has, and what is in each cell. Draws nothing.
//! Rule: heads stand in the order in which the table's rows first name them; a published figure stands in a cell once.

use super::{PublishedFigure, ReportTable, Row};
use crate::samples::figure;

/// A table by its cells.
#[derive(Debug)]
pub struct Grid<'a> {
    /// Heads of the columns.
    pub columns: Vec<&'a str>,
    /// Its rows, a cell for each column.
    pub lines: Vec<GridLine<'a>>,
    /// The programs that were measured, in order.
    pub programs: Vec<String>,
    /// Whose published figures are in it, in order.
    pub sources: Vec<String>,
}

/// A row of a grid.
#[derive(Debug)]
pub struct GridLine<'a> {
    /// Its head.
    pub name: &'a str,
    /// What is in its cells.
    pub cells: Vec<CellContent<'a>>,
}

/// What is in a cell.
#[derive(Debug, Default)]
pub struct CellContent<'a> {
    /// What was measured: a program, and its row.
    pub measured: Vec<(String, &'a Row)>,
    /// What was published of the same.
    pub published: Vec<&'a PublishedFigure>,
}

impl<'a> Grid<'a> {
    /// The grid of a table; none when its rows have no cells.
    pub fn of(table: &'a ReportTable) -> Option<Grid<'a>> {
        let mut grid = Grid {
            columns: Vec::new(),
            lines: Vec::new(),
            programs: Vec::new(),
            sources: Vec::new(),
        };
        let cells = || {
            let rows = table.rows.iter();
            rows.filter_map(|row| Some((row.cell.as_ref()?, row)))
        };
        for (cell, _) in cells() {
            add(&mut grid.columns, &cell.column.as_str());
        }
        for (cell, row) in cells() {
            let content = grid.content(&cell.row, &cell.column)?;
            if row.is_measured() {
                content.measured.push((table.program(row), row));
            }
            if let Some(figure) = &row.published {
                add(&mut content.published, &figure);
            }
            if row.is_measured() {
                add(&mut grid.programs, &table.program(row));
            }
            if let Some(figure) = &row.published {
                add(&mut grid.sources, &figure.source());
            }
        }
        (!grid.lines.is_empty()).then_some(grid)
    }

    /// A cell; its row is made when it is not there yet.
    fn content(&mut self, row: &'a str, column: &str) -> Option<&mut CellContent<'a>> {
        let column = self.columns.iter().position(|name| *name == column)?;
        let found = self.lines.iter().position(|line| line.name == row);
        let at = found.unwrap_or(self.lines.len());
        if found.is_none() {
            let cells = self.columns.iter().map(|_| CellContent::default());
            let cells = cells.collect();
            self.lines.push(GridLine { name: row, cells });
        }
        self.lines.get_mut(at)?.cells.get_mut(column)
    }
}

fn add<T: Clone + PartialEq>(all: &mut Vec<T>, one: &T) {
    if !all.contains(one) {
        all.push(one.clone());
    }
}

impl CellContent<'_> {
    /// What a program did here, if it was measured.
    pub fn of_program(&self, program: &str) -> Option<String> {
        let mut measured = self.measured.iter();
        let found = measured.find(|(name, _)| name == program);
        found.map(|(_, row)| measured_text(row))
    }

    /// What a work published of this.
    pub fn of_source(&self, source: &str) -> Option<String> {
        let mut published = self.published.iter();
        let found = published.find(|figure| figure.source() == source);
        found.map(|figure| published_text(figure))
    }
}

/// The figure of a row, or what happened in its place.
pub fn measured_text(row: &Row) -> String {
    match &row.fault {
        Some(fault) => fault.clone(),
        None => figure(row.median()),
    }
}

/// A published figure, or the words in its place.
pub fn published_text(published: &PublishedFigure) -> String {
    let (low, high) = published.range;
    match &published.words {
        Some(words) => words.clone(),
        None if low < high => format!("{}–{}", figure(low), figure(high)),
        None => figure(low),
    }
}

#[cfg(test)]
mod tests {
    use super::super::GridCell;
    use super::*;
    use crate::publications;

    /// A row of a program in a cell with a figure.
    fn measured(row: &str, column: &str, program: &str, figure: f64) -> Row {
        Row {
            runs: vec![figure],
            ..Row::in_cell(GridCell::new(row, column), program)
        }
    }

    /// The texts of a grid, row by row: what programs did, and what was published.
    fn shown(table: &ReportTable) -> Vec<String> {
        let grid = Grid::of(table).unwrap();
        let line = |line: &GridLine<'_>| {
            let cells = line.cells.iter().map(|cell| {
                let of_programs = grid.programs.iter().map(|one| cell.of_program(one));
                let of_sources = grid.sources.iter().map(|one| cell.of_source(one));
                let texts: Vec<String> = of_programs.chain(of_sources).flatten().collect();
                texts.join("/")
            });
            format!("{}: {}", line.name, cells.collect::<Vec<_>>().join(" | "))
        };
        grid.lines.iter().map(line).collect()
    }

    #[test]
    fn published_table_is_drawn_in_its_own_order_with_ours_in_its_cells() {
        let mut table = publications::table(2).unwrap().report("pool");
        let pool = "pool of 96 connections, not prepared";
        let rows = [
            measured("CPU seconds", pool, "tsumugi", 0.02),
            measured("seconds", "pipelined", "tsumugi", 0.01),
        ];
        table.rows.extend(rows);
        let expected = [
            "CPU seconds: 0.5787295 | 0.0200/0.0545952 | ",
            "seconds:  |  | 0.0100",
        ];
        assert_eq!(shown(&table), expected);
    }

    #[test]
    fn crash_stands_where_a_figure_would() {
        let mut table = publications::table(1).unwrap().report("nim");
        let cell = GridCell::new("orc, threads on", "DB access");
        table.rows.push(Row {
            fault: Some("crash: signal 11".to_owned()),
            ..Row::in_cell(cell, "asynchttpserver")
        });
        let orc = &shown(&table)[4];
        assert_eq!(orc, "orc, threads on: crash: signal 11/81 | crash");
    }

    #[test]
    fn same_published_figure_of_two_rows_stands_once() {
        let cell = |program: &str| Row {
            published: Some(PublishedFigure::exactly(9.0, "somebody")),
            ..measured("row", "column", program, 1.0)
        };
        let table = ReportTable {
            rows: vec![cell("one"), cell("two")],
            ..ReportTable::default()
        };
        assert_eq!(shown(&table), ["row: 1.00/1.00/9.00"]);
    }

    #[test]
    fn table_without_cells_is_no_grid() {
        assert!(Grid::of(&ReportTable::default()).is_none());
    }
}
