//! The questions to a database's catalog about one table. Asking them is not here; what the answers mean is in `describe.rs`.
//! Rule: the answers look the same whatever the database, but for what its own types and defaults are called.

use std::borrow::Cow;

use crate::dialect::{Dialect, Family};
use crate::error::Result;
use crate::name::Name;
use crate::statement::Statement;
use crate::value::Value;
use crate::write::{Writer, stored};

/// Questions to a database's catalog about one table. Each answers rows of text and NULL only.
#[derive(Clone, Debug, PartialEq)]
pub struct Catalog {
    /// Name, type, `yes` if it may be NULL, default, `yes` if the database gives the numbers. No row: there is no such table.
    pub columns: Statement,
    /// Name of the index, `primary`, `unique`, `index` or `partial`, column; of one index in order.
    pub keys: Statement,
    /// Which, column, table, column there, what happens when it is deleted.
    pub foreign_keys: Statement,
    /// Name or NULL, SQL with checks in it; NULL if the name says what else there is, such as a trigger.
    pub checks: Statement,
}

/// The answers, each value as text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CatalogRows {
    /// Of [`Catalog::columns`].
    pub columns: Vec<Vec<Option<String>>>,
    /// Of [`Catalog::keys`].
    pub keys: Vec<Vec<Option<String>>>,
    /// Of [`Catalog::foreign_keys`].
    pub foreign_keys: Vec<Vec<Option<String>>>,
    /// Of [`Catalog::checks`].
    pub checks: Vec<Vec<Option<String>>>,
}

impl Catalog {
    /// About this table.
    pub fn of(table: impl Into<Name>, dialect: &Dialect) -> Result<Self> {
        let table = table.into();
        let mut writer = Writer::new(dialect);
        writer.table(&table)?;
        let (bound, texts) = match dialect.family {
            Family::Sqlite => (table.last().to_owned(), SQLITE),
            Family::Postgres => (writer.finish()?.sql, POSTGRES),
            Family::Firebird => (stored(table.last()).into_owned(), FIREBIRD),
        };
        let places = |sql: &str| match dialect.family {
            Family::Firebird => sql.matches('?').count(),
            // Theirs have a number, which is the same.
            Family::Sqlite | Family::Postgres => 1,
        };
        let [columns, keys, foreign_keys, checks] = texts.map(|sql| Statement {
            sql: sql.to_owned(),
            binds: vec![Value::Text(bound.clone()); places(sql)],
        });
        Ok(Self {
            columns,
            keys,
            foreign_keys,
            checks,
        })
    }
}

/// A name of Firebird's catalog as the builder says it: what can be written without quotes in small letters.
pub(super) fn said(name: &str) -> Cow<'_, str> {
    let small = name.to_ascii_lowercase();
    if stored(&small) == name {
        Cow::Owned(small)
    } else {
        Cow::Borrowed(name)
    }
}

const SQLITE: [&str; 4] = [
    "select name, lower(type), iif(\"notnull\", 'no', 'yes'), dflt_value, iif(pk = 1 and exists (select 1 from sqlite_schema s where s.type = 'table' and s.name = ?1 and s.sql like '%autoincrement%'), 'yes', 'no') from pragma_table_info(?1) order by cid",
    "select name, kind, field from (select '' as name, 'primary' as kind, name as field, pk as place from pragma_table_info(?1) where pk > 0 union all select i.name, iif(i.partial, 'partial', iif(i.\"unique\", 'unique', 'index')), x.name, x.seqno from pragma_index_list(?1) i join pragma_index_info(i.name) x where i.origin <> 'pk') order by name, place",
    "select id || '', \"from\", \"table\", \"to\", lower(on_delete) from pragma_foreign_key_list(?1) order by id, seq",
    "select null, sql from sqlite_schema where type = 'table' and name = ?1 union all select 'the trigger ' || name, null from sqlite_schema where type = 'trigger' and tbl_name = ?1",
];

const POSTGRES: [&str; 4] = [
    "select a.attname::text, format_type(a.atttypid, a.atttypmod), case when a.attnotnull then 'no' else 'yes' end, pg_get_expr(d.adbin, d.adrelid), case when a.attidentity <> '' then 'yes' else 'no' end from pg_attribute a left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum where a.attrelid = to_regclass($1::text) and a.attnum > 0 and not a.attisdropped order by a.attnum",
    "select c.relname::text, case when i.indisprimary then 'primary' when i.indpred is not null then 'partial' when i.indisunique then 'unique' else 'index' end, a.attname::text from pg_index i join pg_class c on c.oid = i.indexrelid cross join lateral unnest(i.indkey::int2[]) with ordinality k(number, place) left join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.number and k.number > 0 where i.indrelid = to_regclass($1::text) and k.place <= i.indnkeyatts order by c.relname, k.place",
    "select c.conname::text, a.attname::text, f.relname::text, b.attname::text, case c.confdeltype when 'r' then 'restrict' when 'c' then 'cascade' when 'n' then 'set null' when 'd' then 'set default' else 'no action' end from pg_constraint c join pg_class f on f.oid = c.confrelid cross join lateral unnest(c.conkey, c.confkey) with ordinality k(own, other, place) join pg_attribute a on a.attrelid = c.conrelid and a.attnum = k.own join pg_attribute b on b.attrelid = c.confrelid and b.attnum = k.other where c.contype = 'f' and c.conrelid = to_regclass($1::text) order by c.conname, k.place",
    "select c.conname::text, pg_get_constraintdef(c.oid) from pg_constraint c where c.contype = 'c' and c.conrelid = to_regclass($1::text) order by c.conname",
];

// Names are filled up with spaces there.
const FIREBIRD: [&str; 4] = [
    "select trim(c.rdb$field_name), trim(case when f.rdb$field_type in (7, 8, 16) and f.rdb$field_sub_type > 0 then iif(f.rdb$field_sub_type = 1, 'numeric(', 'decimal(') || f.rdb$field_precision || ',' || abs(f.rdb$field_scale) || ')' when f.rdb$field_type = 261 then 'blob sub_type ' || case f.rdb$field_sub_type when 1 then 'text' when 0 then 'binary' else '' || f.rdb$field_sub_type end || iif(f.rdb$segment_length = 80, '', ' segment size ' || f.rdb$segment_length) else case f.rdb$field_type when 7 then 'smallint' when 8 then 'integer' when 16 then 'bigint' when 10 then 'float' when 27 then 'double precision' when 12 then 'date' when 13 then 'time' when 35 then 'timestamp' when 23 then 'boolean' when 14 then 'char(' || f.rdb$character_length || ')' when 37 then 'varchar(' || f.rdb$character_length || ')' else 'type ' || f.rdb$field_type end end), trim(iif(coalesce(c.rdb$null_flag, f.rdb$null_flag) = 1, 'no', 'yes')), coalesce(c.rdb$default_source, f.rdb$default_source), trim(iif(c.rdb$identity_type is null, 'no', 'yes')) from rdb$relation_fields c join rdb$fields f on f.rdb$field_name = c.rdb$field_source where c.rdb$relation_name = ? order by c.rdb$field_position",
    "select trim(i.rdb$index_name), trim(case when c.rdb$constraint_type = 'PRIMARY KEY' then 'primary' when i.rdb$unique_flag = 1 then 'unique' else 'index' end), trim(s.rdb$field_name) from rdb$indices i left join rdb$index_segments s on s.rdb$index_name = i.rdb$index_name left join rdb$relation_constraints c on c.rdb$index_name = i.rdb$index_name where i.rdb$relation_name = ? and i.rdb$foreign_key is null order by i.rdb$index_name, s.rdb$field_position",
    "select trim(c.rdb$constraint_name), trim(s.rdb$field_name), trim(o.rdb$relation_name), trim(t.rdb$field_name), trim(iif(r.rdb$delete_rule = 'RESTRICT', 'no action', lower(r.rdb$delete_rule))) from rdb$relation_constraints c join rdb$ref_constraints r on r.rdb$constraint_name = c.rdb$constraint_name join rdb$relation_constraints o on o.rdb$constraint_name = r.rdb$const_name_uq join rdb$index_segments s on s.rdb$index_name = c.rdb$index_name join rdb$index_segments t on t.rdb$index_name = o.rdb$index_name and t.rdb$field_position = s.rdb$field_position where c.rdb$relation_name = ? and c.rdb$constraint_type = 'FOREIGN KEY' order by c.rdb$constraint_name, s.rdb$field_position",
    "select trim(c.rdb$constraint_name), t.rdb$trigger_source from rdb$relation_constraints c join rdb$check_constraints k on k.rdb$constraint_name = c.rdb$constraint_name join rdb$triggers t on t.rdb$trigger_name = k.rdb$trigger_name where c.rdb$relation_name = ? and c.rdb$constraint_type = 'CHECK' and t.rdb$trigger_type = 1 union all select 'the trigger ' || trim(t.rdb$trigger_name), cast(null as blob sub_type text) from rdb$triggers t where t.rdb$relation_name = ? and t.rdb$system_flag = 0",
];
