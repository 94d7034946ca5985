//! Changes of a table that is there, step by step. What SQLite cannot change in place is made anew with what was in it.
//! Rule: a step means the same in every database, or is refused before any of the steps has become SQL.

use super::column::{Column, Kind, Nulls};
use super::commands::{add_check, alter_column, altered, drop_index};
use super::describe::Description;
use super::known_table::KnownTable;
use super::{Index, Keys, Table};
use crate::dialect::{Dialect, Family};
use crate::error::{Error, Result, usage};
use crate::name::Name;
use crate::write::{Writer, one};

/// What is to change about a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Alteration {
    table: Name,
    steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq)]
enum Step {
    Add(Column),
    Change(Column),
    RenameColumn(Name, Name),
    DropColumn(Name),
    AddIndex(Index),
    DropIndex(Index),
    DropIndexNamed(Name),
    Rename(Name),
}

/// The statements of an alteration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlterationSql {
    /// One after the other, in one transaction.
    pub statements: Vec<String>,
    /// Whether a table is made anew.
    pub rebuild: Rebuild,
}

/// Whether a table is made anew and the old one dropped, which rows of other tables may refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rebuild {
    /// The table stays.
    No,
    /// Run the statements on a connection with `pragma foreign_keys = off`, which only works outside a transaction; otherwise
    /// dropping the old table deletes what refers to it. `pragma foreign_key_check` before the commit says whether all is well.
    Yes,
}

/// Changes this table.
pub fn alter(table: impl Into<Name>) -> Alteration {
    Alteration {
        table: table.into(),
        steps: Vec::new(),
    }
}

/// The statement that drops a table with everything in it.
pub fn drop_table(table: impl Into<Name>, dialect: &Dialect) -> Result<String> {
    one(dialect, |writer| {
        writer.text("drop table ");
        writer.table(&table.into())
    })
}

impl Alteration {
    /// The name of the table, as it is before.
    pub fn table(&self) -> &str {
        self.table.as_str()
    }

    /// Adds a column, with its keys and what it refers to. What rows that are there have in it is its default or NULL.
    #[must_use]
    pub fn add_column(self, column: Column) -> Self {
        self.step(Step::Add(column))
    }

    /// Gives the column of this name this type, default and nullability. Its keys and what it refers to stay as they are.
    #[must_use]
    pub fn change_column(self, column: Column) -> Self {
        self.step(Step::Change(column))
    }

    /// Gives a column another name. Its indexes and checks keep theirs.
    #[must_use]
    pub fn rename_column(self, from: impl Into<Name>, to: impl Into<Name>) -> Self {
        self.step(Step::RenameColumn(from.into(), to.into()))
    }

    /// Drops a column with what is in it.
    #[must_use]
    pub fn drop_column(self, name: impl Into<Name>) -> Self {
        self.step(Step::DropColumn(name.into()))
    }

    /// Rows are looked up by these columns together.
    #[must_use]
    pub fn add_index<N: Into<Name>>(self, columns: impl IntoIterator<Item = N>) -> Self {
        self.step(Step::AddIndex(Index::new(columns, Keys::Any)))
    }

    /// No two rows have the same of these columns together.
    #[must_use]
    pub fn add_unique<N: Into<Name>>(self, columns: impl IntoIterator<Item = N>) -> Self {
        self.step(Step::AddIndex(Index::new(columns, Keys::Unique)))
    }

    /// Drops the index that was made of these columns while table and columns had the names they have here.
    #[must_use]
    pub fn drop_index<N: Into<Name>>(self, columns: impl IntoIterator<Item = N>) -> Self {
        self.step(Step::DropIndex(Index::new(columns, Keys::Any)))
    }

    /// The same for an index that allows each value once.
    #[must_use]
    pub fn drop_unique<N: Into<Name>>(self, columns: impl IntoIterator<Item = N>) -> Self {
        self.step(Step::DropIndex(Index::new(columns, Keys::Unique)))
    }

    /// Drops an index by its name.
    #[must_use]
    pub fn drop_index_named(self, name: impl Into<Name>) -> Self {
        self.step(Step::DropIndexNamed(name.into()))
    }

    /// Gives the table another name. Its indexes and checks keep theirs.
    #[must_use]
    pub fn rename(self, to: impl Into<Name>) -> Self {
        self.step(Step::Rename(to.into()))
    }

    fn step(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    /// The statements for the table that was found: what it is now decides how SQLite and Firebird change it.
    pub fn statements_for(&self, found: &Description, dialect: &Dialect) -> Result<AlterationSql> {
        match dialect.family {
            Family::Postgres => self.statements(dialect, None),
            Family::Firebird => self.statements_knowing(KnownTable::of(found), dialect),
            Family::Sqlite => {
                let restored = found.table(self.table.clone(), dialect);
                match (self.statements(dialect, restored.as_ref().ok()), restored) {
                    // What stands in the way is what the table has, not what was asked for.
                    (Err(Error::Unsupported { .. }), Err(strange)) => Err(strange),
                    (altered, _) => altered,
                }
            }
        }
    }

    /// In Firebird, where what depends on a column is dropped before the column.
    fn statements_knowing(
        &self,
        mut known: KnownTable,
        dialect: &Dialect,
    ) -> Result<AlterationSql> {
        let mut statements = Vec::new();
        for step in &self.steps {
            match step {
                Step::Change(column) => {
                    changes_no_key(column)?;
                    statements.extend(known.change(&self.table, column, dialect)?);
                }
                Step::DropColumn(name) => {
                    statements.extend(known.drop_column(&self.table, name, dialect)?);
                    statements.extend(step.statements(&self.table, dialect, None)?);
                }
                Step::DropIndex(index) => {
                    statements.push(known.drop_index(&self.table, index, dialect)?);
                }
                _ => statements.extend(step.statements(&self.table, dialect, None)?),
            }
            match step {
                Step::Add(column) => known.add(&self.table, column, dialect),
                Step::AddIndex(index) => known.add_index(&self.table, index, dialect),
                Step::RenameColumn(from, to) => known.rename(from, to),
                _ => {}
            }
        }
        Ok(AlterationSql {
            statements,
            rebuild: Rebuild::No,
        })
    }

    /// The statements. SQLite changes a column only by making the table anew, and needs to know for that what it is now.
    pub fn statements(&self, dialect: &Dialect, current: Option<&Table>) -> Result<AlterationSql> {
        let mut table = self.table.clone();
        let mut current = current.cloned();
        let (mut statements, mut rebuild) = (Vec::new(), Rebuild::No);
        for step in &self.steps {
            if let Step::Change(column) = step {
                changes_no_key(column)?;
            }
            let next = current
                .as_ref()
                .map(|current| step.apply(current))
                .transpose()?;
            if step.rebuilds(dialect, current.as_ref()) {
                let (Some(from), Some(to)) = (&current, &next) else {
                    return Writer::new(dialect).unsupported(
                        "change of a column in place: say what the whole table is now",
                    );
                };
                statements.extend(anew(from, to, dialect)?);
                rebuild = Rebuild::Yes;
            } else {
                statements.extend(step.statements(&table, dialect, current.as_ref())?);
            }
            if let Step::Rename(to) = step {
                table = to.clone();
            }
            current = next;
        }
        Ok(AlterationSql {
            statements,
            rebuild,
        })
    }
}

impl Step {
    /// Whether the table has to be made anew.
    fn rebuilds(&self, dialect: &Dialect, current: Option<&Table>) -> bool {
        if dialect.family != Family::Sqlite {
            return false;
        }
        let of = |name: &Name| current.and_then(|table| find(table, name));
        match self {
            Step::Change(_) => true,
            Step::DropColumn(name) => of(name).is_some_and(|column| column.foreign.is_some()),
            _ => false,
        }
    }

    /// What the table is after it.
    fn apply(&self, current: &Table) -> Result<Table> {
        let mut table = current.clone();
        match self {
            Step::Add(column) => table.columns.push(column.clone()),
            Step::Change(column) => {
                let old = found(&mut table, &column.name)?;
                let (key, foreign) = (old.key, old.foreign.take());
                *old = column.clone();
                (old.key, old.foreign) = (key, foreign);
            }
            Step::RenameColumn(from, to) => {
                found(&mut table, from)?.name = to.clone();
                let indexed = table
                    .indexes
                    .iter_mut()
                    .flat_map(|index| &mut index.columns);
                for name in indexed
                    .chain(&mut table.primary)
                    .filter(|name| *name == from)
                {
                    *name = to.clone();
                }
            }
            Step::DropColumn(name) => {
                found(&mut table, name)?;
                table.columns.retain(|column| column.name != *name);
                table.indexes.retain(|index| !index.columns.contains(name));
            }
            Step::AddIndex(index) => table.indexes.push(index.clone()),
            Step::DropIndex(index) => {
                table.indexes.retain(|other| other != index);
                for column in &mut table.columns {
                    if column.own_index().as_ref() == Some(index) {
                        column.key = None;
                    }
                }
            }
            Step::DropIndexNamed(_) => {}
            Step::Rename(to) => table.name = to.clone(),
        }
        Ok(table)
    }

    fn statements(
        &self,
        table: &Name,
        dialect: &Dialect,
        current: Option<&Table>,
    ) -> Result<Vec<String>> {
        let firebird = dialect.family == Family::Firebird;
        match self {
            Step::Add(column) => add(table, column, dialect),
            Step::Change(column) => change(table, column, dialect),
            Step::RenameColumn(from, to) => Ok(vec![altered(table, dialect, |writer| {
                writer.text(if firebird { "alter" } else { "rename" });
                writer.text(" column ");
                writer.bare_name(from)?;
                writer.text(" to ");
                writer.bare_name(to)
            })?]),
            Step::DropColumn(name) => {
                // The others drop the indexes of a column with it.
                let with_it = |index: &Index| index.columns.contains(name);
                let indexes = current
                    .filter(|_| dialect.family == Family::Sqlite)
                    .map(Table::all_indexes);
                let indexes = indexes.into_iter().flatten().filter(with_it);
                let mut statements = indexes
                    .map(|index| drop_index(table, &index, dialect))
                    .collect::<Result<Vec<String>>>()?;
                statements.push(altered(table, dialect, |writer| {
                    writer.text("drop ");
                    writer.text(if firebird { "" } else { "column " });
                    writer.bare_name(name)
                })?);
                Ok(statements)
            }
            Step::AddIndex(index) => Ok(vec![index.create(table, dialect)?]),
            Step::DropIndex(index) => Ok(vec![drop_index(table, index, dialect)?]),
            Step::DropIndexNamed(name) => Ok(vec![one(dialect, |writer| {
                writer.text("drop index ");
                writer.table(name)
            })?]),
            Step::Rename(_) if firebird => {
                Writer::new(dialect).unsupported("other name for a table that is there")
            }
            Step::Rename(to) => Ok(vec![altered(table, dialect, |writer| {
                writer.text("rename to ");
                writer.bare_name(to)
            })?]),
        }
    }
}

fn find<'t>(table: &'t Table, name: &Name) -> Option<&'t Column> {
    table.columns.iter().find(|column| column.name == *name)
}

fn found<'t>(table: &'t mut Table, name: &Name) -> Result<&'t mut Column> {
    let of = table.name.as_str().to_owned();
    match table.columns.iter_mut().find(|column| column.name == *name) {
        Some(column) => Ok(column),
        None => usage(format!("{of} has no column {}", name.as_str())),
    }
}

fn add(table: &Name, column: &Column, dialect: &Dialect) -> Result<Vec<String>> {
    let name = column.name.as_str();
    if column.is_primary() {
        return usage(format!(
            "{name} cannot become the primary key of a table that is there"
        ));
    }
    if column.nulls == Nulls::Refused && column.default.is_none() {
        return usage(format!(
            "the rows that are there need something in {name}: give it a default or make it nullable"
        ));
    }
    let sqlite = dialect.family == Family::Sqlite;
    if sqlite && column.default.is_some() && !column.has_constant_default() {
        return Writer::new(dialect)
            .unsupported("column with a default that is calculated for a table that is there");
    }
    let mut statements = vec![altered(table, dialect, |writer| {
        let firebird = dialect.family == Family::Firebird;
        writer.text(if firebird { "add " } else { "add column " });
        writer.column_definition(table, column)?;
        match &column.foreign {
            Some(foreign) if sqlite => writer.references(column, foreign),
            _ => Ok(()),
        }
    })?];
    if let Some(foreign) = column.foreign.as_ref().filter(|_| !sqlite) {
        statements.push(altered(table, dialect, |writer| {
            writer.text("add ");
            writer.foreign_key(table, column, foreign)
        })?);
    }
    if let Some(index) = column.own_index() {
        statements.push(index.create(table, dialect)?);
    }
    statements.extend(column.comment_on(table, dialect)?);
    Ok(statements)
}

/// Refuses a change of what stays as it is.
fn changes_no_key(column: &Column) -> Result<()> {
    if column.kind == Kind::Increments || column.key.is_some() || column.foreign.is_some() {
        let name = column.name.as_str();
        return usage(format!(
            "change_column leaves the keys of {name} as they are: say its type, default and nullability"
        ));
    }
    Ok(())
}

/// Type, nullability, default and checks, in PostgreSQL, and in Firebird where it is not known what the column is.
fn change(table: &Name, column: &Column, dialect: &Dialect) -> Result<Vec<String>> {
    let postgres = dialect.family == Family::Postgres;
    if !postgres && !column.checks(dialect)?.is_empty() {
        return Writer::new(dialect).unsupported("change of a column to an enum or to unsigned");
    }
    let part = |what: &str| alter_column(table, column, what, dialect);
    let kind = column.kind.written(dialect)?;
    let mut statements = Vec::new();
    let mut using = String::new();
    if postgres {
        // What was checked of the old type, and its default, may mean nothing for the new one.
        for word in ["unsigned", "enum"] {
            statements.push(altered(table, dialect, |writer| {
                writer.text("drop constraint if exists ");
                writer.made_name(table, &[&column.name], word)
            })?);
        }
        statements.push(part(" drop default")?);
        let name = one(dialect, |writer| writer.bare_name(&column.name))?;
        using = format!(" using {name}::{kind}");
    }
    statements.push(part(&format!(" type {kind}{using}"))?);
    if let Some(default) = column.default_text(dialect)? {
        statements.push(part(&format!(" set default {default}"))?);
    }
    statements.push(part(match column.nulls {
        Nulls::Refused => " set not null",
        Nulls::Taken => " drop not null",
    })?);
    for check in column.checks(dialect)? {
        statements.push(add_check(table, column, &check, dialect)?);
    }
    statements.extend(column.comment_on(table, dialect)?);
    Ok(statements)
}

/// Makes a table anew and copies what both have.
fn anew(from: &Table, to: &Table, dialect: &Dialect) -> Result<Vec<String>> {
    let name = Name::from(format!("{}__new", to.name.as_str()));
    let copied: Vec<&Name> = to
        .columns
        .iter()
        .map(|column| &column.name)
        .filter(|name| find(from, name).is_some())
        .collect();
    let copy = one(dialect, |writer| {
        writer.text("insert into ");
        writer.table(&name)?;
        writer.text(" ");
        writer.columns(copied.iter().copied())?;
        writer.text(" select ");
        writer.list(&copied, |writer, name| writer.bare_name(name))?;
        writer.text(" from ");
        writer.table(&from.name)
    })?;
    let renamed = altered(&name, dialect, |writer| {
        writer.text("rename to ");
        writer.part(to.name.last())
    })?;
    // What refers to the table itself refers to the new one at once: dropping the old one would delete its rows there.
    let mut made = to.clone();
    for foreign in made
        .columns
        .iter_mut()
        .filter_map(|column| column.foreign.as_mut())
    {
        let is_own = |table: &Name| table.as_str().eq_ignore_ascii_case(to.name.as_str());
        if let Some(table) = foreign.table.as_mut().filter(|table| is_own(table)) {
            *table = name.clone();
        }
    }
    let mut statements = vec![
        made.create_as(&name, dialect)?,
        copy,
        drop_table(from.name.clone(), dialect)?,
        renamed,
    ];
    for index in to.all_indexes() {
        statements.push(index.create(&to.name, dialect)?);
    }
    Ok(statements)
}
