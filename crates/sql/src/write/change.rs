//! What changes rows: insert one or many, insert or update, update, delete. Rule: nothing changes every row of a table unless it
//! says so, and what a database cannot do is refused before there is SQL.

use super::Writer;
use super::expr::{too_deep, too_large};
use crate::dialect::{Dialect, Inserts, Returning, Upsert};
use crate::error::{Result, exceeded, usage};
use crate::expr::excluded;
use crate::limits::{COLUMNS_MAX, NODES_MAX};
use crate::name::Name;
use crate::parts::{Action, Conflict, Origin};
use crate::query::{Parts, Query, Scope};
use crate::record::Record;
use crate::statement::Statement;
use crate::truth::is_vacuous;

impl Query {
    /// Inserts a row; one of defaults if the record is empty.
    pub fn to_insert(&self, record: &Record, dialect: &Dialect) -> Result<Statement> {
        let parts = self.changed(Change::Insert)?;
        let mut writer = Writer::new(dialect);
        let columns = columns(record)?;
        if self.size().and(record.size()).nodes > NODES_MAX {
            return too_large();
        }
        writer.insert_into(parts, &columns)?;
        if columns.is_empty() {
            writer.text(" default values");
        } else {
            writer.text(" values ");
            writer.row(record, &columns)?;
        }
        writer.insert_end(parts, &columns)?;
        writer.finish()
    }

    /// Inserts rows, whose columns may come in any order but are the same in all. As many statements as the database needs, to
    /// be run in one transaction; none for no rows.
    pub fn to_insert_all(&self, records: &[Record], dialect: &Dialect) -> Result<Vec<Statement>> {
        let parts = self.changed(Change::Insert)?;
        let Some(first) = records.first() else {
            return Ok(Vec::new());
        };
        let columns = columns(first)?;
        for record in records {
            same_columns(record, &columns)?;
        }
        if dialect.inserts == Inserts::One || columns.is_empty() {
            let each = records.iter().map(|record| self.to_insert(record, dialect));
            return each.collect();
        }
        let mut end = Writer::new(dialect);
        end.insert_end(parts, &columns)?;
        let nodes_max = NODES_MAX.saturating_sub(self.size().nodes);
        let (mut statements, mut rest) = (Vec::new(), records);
        while !rest.is_empty() {
            let mut writer = Writer::new(dialect);
            let room = writer.room;
            writer.room = room.beside(&end);
            writer.insert_into(parts, &columns)?;
            writer.text(" values ");
            rest = writer.rows(rest, &columns, nodes_max)?;
            writer.room = room;
            writer.insert_end(parts, &columns)?;
            statements.push(writer.finish()?);
        }
        Ok(statements)
    }

    /// Updates the rows with what was [`set`](Query::set). Without a condition it needs [`all_rows`](Query::all_rows), also where all
    /// conditions are true of every row: groups and lists of nothing, ranges without ends, and what is made of these.
    pub fn to_update(&self, dialect: &Dialect) -> Result<Statement> {
        let parts = self.changed(Change::Update)?;
        if parts.sets.is_empty() {
            return usage("this update sets nothing");
        }
        let mut writer = Writer::new(dialect);
        writer.change_ctes(parts)?;
        writer.text("update ");
        writer.target(parts)?;
        writer.text(" set ");
        columns(&parts.sets)?;
        writer.assignments(&parts.sets)?;
        writer.change_end(parts)?;
        writer.finish()
    }

    /// Deletes the rows. What a condition is: as in [`Query::to_update`].
    pub fn to_delete(&self, dialect: &Dialect) -> Result<Statement> {
        let parts = self.changed(Change::Delete)?;
        let mut writer = Writer::new(dialect);
        writer.change_ctes(parts)?;
        writer.text("delete from ");
        writer.target(parts)?;
        writer.change_end(parts)?;
        writer.finish()
    }

    /// The parts, if this change can use all that would matter.
    fn changed(&self, change: Change) -> Result<&Parts> {
        if self.is_too_deep() {
            return too_deep();
        }
        if self.is_too_large() {
            return too_large();
        }
        let parts = self.parts();
        if let Some(clause) = parts.unusable(change) {
            let change = change.word();
            return usage(format!(
                "{change} knows no {clause}: name the rows by a condition on their key"
            ));
        }
        let needs_condition = change != Change::Insert && parts.scope == Scope::Conditions;
        if needs_condition && is_vacuous(parts) {
            let change = change.word();
            return usage(format!(
                "this {change} has no condition that a row could fail: say all_rows (in Ruby all_rows!) if every row is meant"
            ));
        }
        Ok(parts)
    }
}

impl Parts {
    /// The first clause that is there and that this change would have to leave out. Each part is named here, so that the compiler asks
    /// of a new one what a change does with it.
    fn unusable(&self, change: Change) -> Option<&'static str> {
        let Parts {
            ctes,
            // Means nothing without `ctes`.
            recursive: _,
            // `target` refuses what is no table.
            source: _,
            distinct,
            // What a select gives; a change gives what is `returning`.
            items: _,
            joins,
            filters,
            groups,
            having,
            // Of all rows that a change finds, in whatever order.
            orders: _,
            limit,
            offset,
            lock,
            sets,
            returning: _,
            conflict,
            // Says that no condition is meant.
            scope: _,
            depth: _,
        } = self;
        let inserts = change == Change::Insert;
        let refused = [
            (!joins.is_empty(), "join"),
            (!groups.is_empty() || !having.is_empty(), "group"),
            (*distinct != Default::default(), "distinct"),
            (limit.is_some() || *offset > 0, "limit"),
            (lock.is_some(), "for_update"),
            (inserts && !filters.is_empty(), "filter"),
            (inserts && !ctes.is_empty(), "with_query"),
            (change != Change::Update && !sets.is_empty(), "set"),
            (!inserts && conflict.is_some(), "on_conflict"),
        ];
        let found = refused.into_iter().find(|(used, _)| *used);
        found.map(|(_, clause)| clause)
    }
}

/// What is done to the rows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    Insert,
    Update,
    Delete,
}

impl Change {
    fn word(self) -> &'static str {
        match self {
            Change::Insert => "insert",
            Change::Update => "update",
            Change::Delete => "delete",
        }
    }
}

/// The columns of a record, each once.
fn columns(record: &Record) -> Result<Vec<Name>> {
    if record.iter().len() > COLUMNS_MAX {
        return exceeded("COLUMNS_MAX", COLUMNS_MAX);
    }
    let columns: Vec<Name> = record.iter().map(|(name, _)| name.clone()).collect();
    for (index, column) in columns.iter().enumerate() {
        if columns.iter().skip(index + 1).any(|other| other == column) {
            let column = column.as_str();
            return usage(format!("the column {column} is given twice"));
        }
    }
    Ok(columns)
}

/// Whether a record has these columns and no others.
fn same_columns(record: &Record, columns: &[Name]) -> Result<()> {
    if let Some(missing) = columns.iter().find(|column| record.of(column).is_none()) {
        let missing = missing.as_str();
        return usage(format!(
            "a row has no {missing} and another has: rows inserted together have the same columns"
        ));
    }
    let extra = record.iter().find(|(name, _)| !columns.contains(name));
    if let Some((extra, _)) = extra {
        let extra = extra.as_str();
        return usage(format!(
            "a row has {extra} and another has not: rows inserted together have the same columns"
        ));
    }
    if record.iter().len() > columns.len() {
        return usage("a row has a column twice");
    }
    Ok(())
}

impl Writer<'_> {
    /// The table that is changed.
    fn target(&mut self, parts: &Parts) -> Result<()> {
        match &parts.source {
            Some(source) if matches!(source.of, Origin::Table(_)) => self.source(source),
            _ => usage("rows of a table can be changed, not of a query or of nothing"),
        }
    }

    fn change_ctes(&mut self, parts: &Parts) -> Result<()> {
        if !parts.ctes.is_empty() && self.dialect.returning == Returning::One {
            return self.unsupported("with before an update or delete");
        }
        self.ctes(parts)
    }

    /// Which rows, and what is answered of them.
    fn change_end(&mut self, parts: &Parts) -> Result<()> {
        self.conditions(" where ", &parts.filters)?;
        if !parts.returning.is_empty() && self.dialect.returning == Returning::One {
            return self.unsupported("returning of an update or delete of several rows");
        }
        self.returning(parts)
    }

    fn returning(&mut self, parts: &Parts) -> Result<()> {
        if parts.returning.is_empty() {
            return Ok(());
        }
        self.text(" returning ");
        self.items(&parts.returning)
    }

    fn assignments(&mut self, record: &Record) -> Result<()> {
        self.list(record.iter(), |writer, (column, value)| {
            writer.bare_name(column)?;
            writer.text(" = ");
            writer.expr(value)
        })
    }

    fn insert_into(&mut self, parts: &Parts, columns: &[Name]) -> Result<()> {
        let matching = parts.conflict.is_some() && self.dialect.upsert == Upsert::Matching;
        self.text(if matching { "update or " } else { "" });
        self.text("insert into ");
        self.target(parts)?;
        if columns.is_empty() {
            return Ok(());
        }
        self.text(" ");
        self.columns(columns)
    }

    /// One row's values, in the order of the columns.
    fn row(&mut self, record: &Record, columns: &[Name]) -> Result<()> {
        self.enclosed(|writer| {
            writer.list(columns, |writer, column| match record.of(column) {
                Some(value) => writer.expr(value),
                None => usage("a row has no value for a column"),
            })
        })
    }

    /// As many rows as one statement takes; the others.
    fn rows<'r>(
        &mut self,
        records: &'r [Record],
        columns: &[Name],
        nodes_max: u32,
    ) -> Result<&'r [Record]> {
        let mut nodes = 0_u32;
        for (index, record) in records.iter().enumerate() {
            let (text, binds, binds_bytes) = (self.sql.len(), self.binds.len(), self.binds_bytes);
            nodes = nodes.saturating_add(record.size().nodes);
            if index > 0 {
                self.text(", ");
            }
            let written = match nodes > nodes_max {
                true => too_large(),
                false => self.row(record, columns).and_then(|()| self.fits()),
            };
            match written {
                Ok(()) => {}
                // The next statement begins with it, and has the error if that is not about their number.
                Err(_) if index > 0 => {
                    self.sql.truncate(text);
                    self.binds.truncate(binds);
                    self.binds_bytes = binds_bytes;
                    return Ok(records.get(index..).unwrap_or_default());
                }
                Err(error) => return Err(error),
            }
        }
        Ok(&[])
    }

    fn insert_end(&mut self, parts: &Parts, columns: &[Name]) -> Result<()> {
        if let Some(conflict) = &parts.conflict {
            match self.dialect.upsert {
                Upsert::OnConflict => self.on_conflict(parts, conflict, columns)?,
                Upsert::Matching => self.matching(conflict, columns)?,
            }
        }
        self.returning(parts)
    }

    fn on_conflict(&mut self, parts: &Parts, conflict: &Conflict, columns: &[Name]) -> Result<()> {
        self.text(" on conflict");
        if !conflict.target.is_empty() {
            self.text(" ");
            self.columns(&conflict.target)?;
        }
        let sets = match &conflict.action {
            Action::Ignore => Record::new(),
            Action::Replace => replaced(conflict, columns),
            Action::Update(record) if record.is_empty() => {
                return usage(
                    "on_conflict updates nothing: leave out update to keep the row that is there",
                );
            }
            Action::Update(record) => record.clone(),
        };
        if sets.is_empty() {
            self.text(" do nothing");
            return Ok(());
        }
        if conflict.target.is_empty() {
            return usage("name the columns of the key on which a conflict updates");
        }
        crate::write::change::columns(&sets)?;
        self.text(" do update set ");
        self.owner = parts
            .source
            .as_ref()
            .and_then(|source| source.name().cloned());
        self.assignments(&sets)?;
        self.owner = None;
        Ok(())
    }

    fn matching(&mut self, conflict: &Conflict, columns: &[Name]) -> Result<()> {
        match &conflict.action {
            Action::Replace if !conflict.target.is_empty() && !columns.is_empty() => {
                self.text(" matching ");
                self.columns(&conflict.target)
            }
            Action::Replace => usage("name the columns of the key on which a conflict updates"),
            Action::Ignore => self.unsupported("insert that leaves a row with the same key alone"),
            Action::Update(_) => self
                .unsupported("insert that sets other values where a row with the same key exists"),
        }
    }
}

/// What was to be inserted, but the key.
fn replaced(conflict: &Conflict, columns: &[Name]) -> Record {
    columns
        .iter()
        .filter(|column| !conflict.target.contains(column))
        .map(|column| (column.clone(), excluded(column.clone())))
        .collect()
}
