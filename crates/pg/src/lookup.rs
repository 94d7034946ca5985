//! What a statement's parameters and columns are: types that a database has besides the built-in ones (enums, domains, composites, ranges,
//! those of extensions) are asked of the server when a statement first has one. Rule: a type that cannot be looked up (as in a failed
//! transaction) is read as text, and asked for again next time.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use tsumugi_pg_proto::backend::Message;
use tsumugi_pg_proto::connection::StatementName;
use tsumugi_pg_proto::limits::TYPE_DEPTH_MAX;
use tsumugi_pg_proto::types::{Field, Format, Kind, Oid, Type, TypeRef};

use crate::connection::{Connection, ServerReply};
use crate::error::{Error, Result};
use crate::statement::{Column, Description};

const TYPE: &str = "select t.typname::text, t.typtype, t.typcategory, t.typelem, t.typbasetype, t.typrelid, \
     coalesce(r.rngsubtype, 0::oid) from pg_catalog.pg_type t \
     left join pg_catalog.pg_range r on r.rngtypid = t.oid where t.oid = $1";
const RANGE_OF: &str = "select rngtypid from pg_catalog.pg_range where rngmultitypid = $1";
const LABELS: &str =
    "select enumlabel::text from pg_catalog.pg_enum where enumtypid = $1 order by enumsortorder";
const FIELDS: &str = "select attname::text, atttypid from pg_catalog.pg_attribute \
     where attrelid = $1 and attnum > 0 and not attisdropped order by attnum";

impl Connection {
    /// Reads the answer to Parse and Describe; types that are not built in are asked of the server.
    pub(crate) async fn describe(
        &self,
        name: Option<StatementName>,
        reply: &ServerReply,
    ) -> Result<Description> {
        let (mut oids, mut described) = (Vec::new(), Vec::new());
        for message in reply.messages() {
            match message.map_err(Error::Protocol)? {
                Message::ParameterDescription(parameters) => oids.extend(parameters.types()),
                Message::RowDescription(row) => described.extend(
                    row.fields()
                        .map(|field| (field.name().into_owned(), field.type_oid, None)),
                ),
                _ => {}
            }
        }
        let mut parameters = Vec::with_capacity(oids.len());
        for oid in oids {
            parameters.push(self.type_of(oid).await?);
        }
        let columns = self.columns_of(described).await?;
        Ok(Description::new(name, parameters, columns))
    }

    /// Columns as the server has just described them.
    pub(crate) async fn columns_of(
        &self,
        described: impl IntoIterator<Item = (String, Oid, Option<Format>)>,
    ) -> Result<Vec<Column>> {
        let mut columns = Vec::new();
        for (name, oid, format) in described {
            let ty = self.type_of(oid).await?;
            columns.push(Column {
                name: name.into(),
                format: format.unwrap_or_else(|| ty.format()),
                ty,
            });
        }
        Ok(columns)
    }

    /// The type with this number.
    async fn type_of(&self, oid: Oid) -> Result<TypeRef> {
        match Type::from_oid(oid) {
            Some(builtin) => Ok(builtin.into()),
            None => self.described(oid, 0).await,
        }
    }

    /// A future in a box, because types are made of types.
    fn described(
        &self,
        oid: Oid,
        depth: usize,
    ) -> Pin<Box<dyn Future<Output = Result<TypeRef>> + '_>> {
        Box::pin(async move {
            if let Some(builtin) = Type::from_oid(oid) {
                return Ok(builtin.into());
            }
            if let Some(known) = self.0.driver.catalogue.known(oid) {
                return Ok(known.into());
            }
            if depth > TYPE_DEPTH_MAX {
                return Ok(Type::unknown(oid).into());
            }
            match self.look_up(oid, depth).await {
                Ok(Some(ty)) => {
                    let ty = Arc::new(ty);
                    self.0.driver.catalogue.keep(oid, &ty);
                    Ok(ty.into())
                }
                Ok(None) | Err(Error::Server(_)) => Ok(Type::unknown(oid).into()),
                Err(error) => Err(error),
            }
        })
    }

    async fn look_up(&self, oid: Oid, depth: usize) -> Result<Option<Type>> {
        let rows = self.query(TYPE, &[oid]).await?;
        let Some(row) = rows.first()? else {
            return Ok(None);
        };
        let name: String = row.value(0)?;
        let (category, element): (i8, Oid) = (row.value(2)?, row.value(3)?);
        let kind = match row.value::<i8>(1)?.cast_unsigned() {
            b'e' => Kind::Enum(self.labels(oid).await?),
            b'd' => Kind::Domain(self.described(row.value(4)?, depth + 1).await?),
            b'c' => Kind::Composite(self.fields(row.value(5)?, depth).await?),
            b'r' => Kind::Range(self.described(row.value(6)?, depth + 1).await?),
            b'm' => match self.range_of(oid).await? {
                Some(range) => Kind::Multirange(self.described(range, depth + 1).await?),
                None => Kind::Simple,
            },
            b'p' => Kind::Pseudo,
            _ if category.cast_unsigned() == b'A' && element != 0 => {
                Kind::Array(self.described(element, depth + 1).await?)
            }
            _ => Kind::Simple,
        };
        Ok(Some(Type::new(oid, name, kind)))
    }

    async fn labels(&self, oid: Oid) -> Result<Vec<String>> {
        let rows = self.query(LABELS, &[oid]).await?;
        rows.iter().map(|row| row?.value(0)).collect()
    }

    async fn range_of(&self, oid: Oid) -> Result<Option<Oid>> {
        let rows = self.query(RANGE_OF, &[oid]).await?;
        rows.first()?.map(|row| row.value(0)).transpose()
    }

    async fn fields(&self, relation: Oid, depth: usize) -> Result<Vec<Field>> {
        let rows = self.query(FIELDS, &[relation]).await?;
        let mut fields = Vec::with_capacity(rows.len());
        for row in rows.iter() {
            let row = row?;
            let ty = self.described(row.value(1)?, depth + 1).await?;
            fields.push(Field {
                name: row.value(0)?,
                ty,
            });
        }
        Ok(fields)
    }
}
