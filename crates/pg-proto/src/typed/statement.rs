//! Parse, Bind and Execute as values. Not a statement cache: names are the caller's.
//! Rule: building sends nothing, and a value can be sent again.

use std::borrow::Cow;
use std::marker::PhantomData;

use super::{Answers, Column, Row, Rows, Step, Values};
use crate::backend::{Message, RowDescription};
use crate::connection::Request;
use crate::error::{Mismatch, Result};
use crate::frontend::{BindWriter, ResultFormats};
use crate::types::{Format, TypeRef};

/// A statement with parameters `P` and rows `R`. As a step of its own it prepares the statement under its name;
/// [`Parse::bind`] makes it a part of one run instead.
#[derive(Debug, Clone)]
pub struct Parse<P, R> {
    name: String,
    sql: String,
    types: PhantomData<fn(P) -> R>,
}

/// A statement `sql` with parameters `P` and rows `R`, both tuples. Its name is `""`: the unnamed statement.
pub fn parse<P, R>(sql: impl Into<String>) -> Parse<P, R> {
    Parse {
        name: String::new(),
        sql: sql.into(),
        types: PhantomData,
    }
}

impl<P: Values, R> Parse<P, R> {
    /// The same statement under this name, which the connection must not know yet.
    pub fn named(self, name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ..self
        }
    }

    /// With values, to run without being described first: their Rust types decide the types of the parameters. Columns
    /// whose types are not built in cannot be read this way; prepare the statement for those.
    pub fn bind<'s>(self, values: P) -> Bind<'s, P, R> {
        Bind {
            source: Source::Parse(self),
            portal: String::new(),
            values,
        }
    }
}

impl<P: Values, R: for<'r> Row<'r>> Step for Parse<P, R> {
    type Answer<'a>
        = TypedStatement<P, R>
    where
        Self: 'a;

    fn write<T: Copy>(&self, request: &mut Request<'_, T>) -> Result<()> {
        request.parse(&self.name, &self.sql, &[])?;
        Ok(request.describe_statement(&self.name)?)
    }

    fn read<'a>(&'a self, answers: &mut Answers<'a>) -> Result<TypedStatement<P, R>> {
        let Message::ParseComplete = answers.next()? else {
            return Err(answers.unexpected());
        };
        let Message::ParameterDescription(described) = answers.next()? else {
            return Err(answers.unexpected());
        };
        let mut columns = read_columns(answers)?;
        for column in &mut columns {
            column.format = column.ty.format();
        }
        let parameters: Vec<_> = described.types().map(|oid| answers.resolve(oid)).collect();
        P::check(&parameters)?;
        check_row::<R>(&columns)?;
        Ok(TypedStatement {
            name: self.name.clone(),
            parameters,
            columns,
            types: PhantomData,
        })
    }
}

/// A RowDescription, or the NoData that says there is none.
fn read_columns(answers: &mut Answers<'_>) -> Result<Vec<Column>> {
    let described: RowDescription<'_> = match answers.next()? {
        Message::NoData => return Ok(Vec::new()),
        Message::RowDescription(described) => described,
        _ => return Err(answers.unexpected()),
    };
    let column = |field: crate::backend::Field<'_>| Column {
        name: field.name().into_owned(),
        ty: answers.resolve(field.type_oid),
        format: field.format,
    };
    Ok(described.fields().map(column).collect())
}

fn check_row<R: for<'r> Row<'r>>(columns: &[Column]) -> Result<(), Mismatch> {
    <R as Row<'_>>::check(columns)
}

/// A statement the server knows and has described; parameters and columns are what the Rust types say.
#[derive(Debug, Clone)]
pub struct TypedStatement<P, R> {
    name: String,
    parameters: Vec<TypeRef>,
    columns: Vec<Column>,
    types: PhantomData<fn(P) -> R>,
}

impl<P: Values, R> TypedStatement<P, R> {
    /// With values.
    pub fn bind(&self, values: P) -> Bind<'_, P, R> {
        Bind {
            source: Source::Prepared(self),
            portal: String::new(),
            values,
        }
    }

    /// The name the server knows it by.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The types of the parameters.
    pub fn parameters(&self) -> &[TypeRef] {
        &self.parameters
    }

    /// The columns.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }
}

/// What values are bound to.
#[derive(Debug, Clone)]
enum Source<'s, P, R> {
    Parse(Parse<P, R>),
    Prepared(&'s TypedStatement<P, R>),
}

/// A statement with its values.
#[derive(Debug, Clone)]
pub struct Bind<'s, P, R> {
    source: Source<'s, P, R>,
    portal: String,
    values: P,
}

impl<'s, P, R> Bind<'s, P, R> {
    /// The same under this portal's name instead of the unnamed one.
    pub fn portal(self, portal: impl Into<String>) -> Self {
        Self {
            portal: portal.into(),
            ..self
        }
    }

    /// To be run for at most `rows_max` rows; 0 is all of them.
    pub fn execute(self, rows_max: u32) -> Execute<'s, P, R> {
        Execute {
            bind: self,
            rows_max,
        }
    }
}

/// A statement with its values, to be run.
#[derive(Debug, Clone)]
pub struct Execute<'s, P, R> {
    bind: Bind<'s, P, R>,
    rows_max: u32,
}

impl<P: Values, R: for<'r> Row<'r>> Step for Execute<'_, P, R> {
    type Answer<'a>
        = Rows<'a, R>
    where
        Self: 'a;

    fn write<T: Copy>(&self, request: &mut Request<'_, T>) -> Result<()> {
        let Bind {
            source,
            portal,
            values,
        } = &self.bind;
        match source {
            Source::Parse(parse) => {
                request.parse(&parse.name, &parse.sql, &P::hints())?;
                let mut writer: BindWriter<'_> = request.bind(portal, &parse.name, P::COUNT)?;
                values.write_as_hinted(&mut writer)?;
                writer.finish(ResultFormats::All(Format::Binary))?;
                request.describe_portal(portal)?;
            }
            Source::Prepared(prepared) => {
                let mut writer = request.bind(portal, &prepared.name, P::COUNT)?;
                values.write(&prepared.parameters, &mut writer)?;
                let formats: Vec<_> = prepared
                    .columns
                    .iter()
                    .map(|column| column.format)
                    .collect();
                writer.finish(ResultFormats::Each(&formats))?;
            }
        }
        Ok(request.execute(portal, self.rows_max)?)
    }

    fn read<'a>(&'a self, answers: &mut Answers<'a>) -> Result<Rows<'a, R>> {
        let parsed = matches!(self.bind.source, Source::Parse(_));
        if parsed && !matches!(answers.next()?, Message::ParseComplete) {
            return Err(answers.unexpected());
        }
        let Message::BindComplete = answers.next()? else {
            return Err(answers.unexpected());
        };
        let columns = match &self.bind.source {
            Source::Prepared(prepared) => Cow::Borrowed(prepared.columns.as_slice()),
            Source::Parse(_) => {
                let columns = read_columns(answers)?;
                check_row::<R>(&columns)?;
                Cow::Owned(columns)
            }
        };
        let mut rows = Rows::new(answers.messages(), columns);
        loop {
            match answers.next()? {
                Message::DataRow(_) => rows.left += 1,
                Message::CommandComplete(tag) => {
                    rows.affected = tag.rows();
                    return Ok(rows);
                }
                Message::EmptyQueryResponse => return Ok(rows),
                Message::PortalSuspended => {
                    rows.suspended = true;
                    return Ok(rows);
                }
                _ => return Err(answers.unexpected()),
            }
        }
    }
}
