//! The methods of `DB::Query` that answer another query: narrowing, joining, grouping, ordering, paging, locking. Nothing is sent to
//! a database here. Rule: a senseless query is refused when it is run, before any SQL, unless a Ruby type shows it earlier.

use tsumugi_mruby::{Kind, NativeCall, Result, Value};
use tsumugi_sql::{
    Conflict, Expr, Item, Name, Query, QueryOrRaw, Source, all, col, exists, raw, table,
};

use super::arguments::Reader;
use super::methods::Methods;
use super::parts::{BuiltQuery, ExpressionPart};
use crate::natives::arguments::wrong_type;
use crate::natives::database::vm_database::vm_database;

pub(super) fn install<'s>(methods: &Methods<'_, 's>) -> Result<'s, ()> {
    beginning(methods)?;
    conditions(methods)?;
    columns(methods)?;
    joins(methods)?;
    orders(methods)?;
    rest(methods)?;
    for_changes(methods)
}

fn beginning<'s>(methods: &Methods<'_, 's>) -> Result<'s, ()> {
    let natives = methods.natives;
    natives.plain("db_table", |host, scope, call| {
        let database = std::rc::Rc::clone(vm_database(scope, call.argument(0))?);
        let query = table(Reader::new(host, scope).source(call.argument(1))?);
        scope.wrap_as("DB::Query", BuiltQuery { query, database })
    })?;
    natives.plain("order_name", |host, scope, call| {
        let name = Reader::new(host, scope).order_name(call.argument(0))?;
        scope.string(name)
    })?;
    natives.plain("db_nothing", |_, scope, call| {
        let database = std::rc::Rc::clone(vm_database(scope, call.argument(0))?);
        let query = Query::of_nothing();
        scope.wrap_as("DB::Query", BuiltQuery { query, database })
    })
}

/// A condition about a column or another expression, with the arguments behind it.
type Condition = for<'c> fn(&Reader<'c>, Expr, &[Value<'c>]) -> Result<'c, Expr>;

/// The word behind `where_` and `or_where_`, the method of an expression, and what both say.
pub(super) const CONDITIONS: [(&str, &str, Condition); 6] = [
    ("between", "between", |reader, own, values| {
        let (from, to) = reader.bounds(values)?;
        Ok(own.between(from, to))
    }),
    ("not_between", "not_between", |reader, own, values| {
        let (from, to) = reader.bounds(values)?;
        Ok(own.not_between(from, to))
    }),
    ("in", "in", |reader, own, values| {
        Ok(own.is_in(reader.set(values)?))
    }),
    ("not_in", "not_in", |reader, own, values| {
        Ok(own.not_in(reader.set(values)?))
    }),
    ("null", "is_null", |_, own, _| Ok(own.is_null())),
    ("not_null", "is_not_null", |_, own, _| Ok(own.is_not_null())),
];

fn conditions<'s>(methods: &Methods<'_, 's>) -> Result<'s, ()> {
    type Read = for<'c> fn(&Reader<'c>, &NativeCall<'c>) -> Result<'c, Expr>;
    type Narrow = fn(Query, Expr) -> Query;
    let ways: [(&str, Narrow); 2] = [
        ("where", |query, condition| query.filter(condition)),
        ("or_where", |query, condition| query.or_filter(condition)),
    ];
    for (word, narrow) in ways {
        let define = |end: &str, read: Read| {
            methods.derive(&format!("{word}{end}"), move |reader, call, query| {
                Ok(narrow(query, read(reader, call)?))
            })
        };
        define("", |reader, call| reader.condition(call))?;
        define("_not", |reader, call| Ok(!reader.condition(call)?))?;
        define("_raw", sql)?;
        define("_exists", exists_condition)?;
        for (end, _, condition) in CONDITIONS {
            methods.derive(&format!("{word}_{end}"), move |reader, call, query| {
                let column = reader.field(call.argument(0))?;
                let rest = call.arguments().get(1..).unwrap_or_default();
                Ok(narrow(query, condition(reader, column, rest)?))
            })?;
        }
    }
    methods.derive("where_not_exists", |reader, call, query| {
        Ok(query.filter(!exists_condition(reader, call)?))
    })?;
    methods.derive("having", |reader, call, query| {
        Ok(query.having(reader.condition(call)?))
    })?;
    methods.derive("or_having", |reader, call, query| {
        Ok(query.or_having(reader.condition(call)?))
    })
}

/// Whether another query has a row.
fn exists_condition<'c>(reader: &Reader<'c>, call: &NativeCall<'c>) -> Result<'c, Expr> {
    match reader.query(call.argument(0)) {
        Some(other) => Ok(exists(other.clone())),
        None => reader.usage("where_exists and where_not_exists take a query"),
    }
}

/// SQL and the values for it.
pub(super) fn sql<'c>(reader: &Reader<'c>, call: &NativeCall<'c>) -> Result<'c, Expr> {
    let sql = reader.name_text(call.argument(0))?;
    let values = call.arguments().get(1..).unwrap_or_default();
    Ok(raw(sql, reader.values(values)?))
}

fn columns<'s>(methods: &Methods<'_, 's>) -> Result<'s, ()> {
    type Change = fn(Query, Vec<Item>) -> Query;
    let items: [(&str, Change); 4] = [
        ("select", |query, items| query.select(items)),
        ("select_append", |query, items| query.select_append(items)),
        ("group", |query, items| query.group(items)),
        ("regroup", |query, items| query.regroup(items)),
    ];
    for (name, change) in items {
        methods.derive(name, move |reader, call, query| {
            Ok(change(query, reader.items(call.arguments())?))
        })?;
    }
    methods.derive("distinct", |_, _, query| Ok(query.distinct()))?;
    methods.plain("as", |reader, call, built| {
        let source = Source::query(built.query.clone(), reader.name(call.argument(0))?);
        let part = ExpressionPart::Source(source);
        reader.scope.wrap_as("DB::Expression", part)
    })
}

fn joins<'s>(methods: &Methods<'_, 's>) -> Result<'s, ()> {
    type Join = fn(Query, Source, Expr) -> Query;
    let joins: [(&str, Join); 3] = [
        ("join", |query, source, on| query.join(source, on)),
        ("left_join", |query, source, on| query.left_join(source, on)),
        ("right_join", |query, source, on| {
            query.right_join(source, on)
        }),
    ];
    for (name, join) in joins {
        methods.derive(name, move |reader, call, query| {
            let (source, on) = read_join(reader, call, &query)?;
            Ok(join(query, source, on))
        })?;
    }
    methods.derive("cross_join", |reader, call, query| {
        Ok(query.cross_join(reader.source(call.argument(0))?))
    })
}

/// What is joined, and on what: a condition, two columns with or without an operator, or a Hash of its columns and the first
/// table's.
fn read_join<'c>(
    reader: &Reader<'c>,
    call: &NativeCall<'c>,
    query: &Query,
) -> Result<'c, (Source, Expr)> {
    let source = reader.source(call.argument(0))?;
    let columns = |left, operator: &str, right| -> Result<'c, Expr> {
        let (left, right) = (reader.field(left)?, reader.field(right)?);
        reader.accept(left.compare(operator, right))
    };
    let on = match call.arguments().get(1..).unwrap_or_default() {
        [hash] if hash.kind() == Kind::Hash => on_pairs(reader, *hash, &source, query)?,
        [condition] => match reader.part(*condition) {
            Some(ExpressionPart::Expr(expr)) => expr.clone(),
            _ => {
                let (what, wanted) = ("the condition of a join", "an expression or a Hash");
                return Err(wrong_type(reader.scope, *condition, what, wanted));
            }
        },
        [left, right] => columns(*left, "=", *right)?,
        [left, operator, right] => columns(*left, &reader.name_text(*operator)?, *right)?,
        _ => return reader.usage("a join needs a condition: `join(:orders, user_id: :id)`"),
    };
    Ok((source, on))
}

/// `user_id: :id` means `orders.user_id = users.id`; a value that is no Symbol is bound.
fn on_pairs<'c>(
    reader: &Reader<'c>,
    hash: Value<'c>,
    source: &Source,
    query: &Query,
) -> Result<'c, Expr> {
    let of = |owner: Option<&Name>, column: String| match owner {
        Some(owner) if !column.contains('.') => col(format!("{}.{column}", owner.as_str())),
        _ => col(column),
    };
    let mut pairs = Vec::new();
    for (own, other) in reader.scope.entries(hash)? {
        let own = of(source.name(), reader.name_text(own)?);
        let other = match other.kind() {
            Kind::Symbol => of(query.source_name(), reader.name_text(other)?).into(),
            _ => reader.operand(other)?,
        };
        pairs.push(own.matches(other));
    }
    Ok(all(pairs))
}

fn orders<'s>(methods: &Methods<'_, 's>) -> Result<'s, ()> {
    methods.derive("order", |reader, call, query| {
        Ok(query.order(reader.orders(call.arguments())?))
    })?;
    methods.derive("reorder", |reader, call, query| {
        Ok(query.reorder(reader.orders(call.arguments())?))
    })?;
    methods.derive("unordered", |_, _, query| Ok(query.unordered()))?;
    methods.derive("limit", |reader, call, query| {
        Ok(query.limit(reader.count(call.argument(0), "limit")?))
    })?;
    methods.derive("offset", |reader, call, query| {
        Ok(query.offset(reader.count(call.argument(0), "offset")?))
    })
}

fn rest<'s>(methods: &Methods<'_, 's>) -> Result<'s, ()> {
    methods.derive("with", |reader, call, query| {
        let name = reader.name(call.argument(0))?;
        Ok(query.with_query(name, read_named_query(reader, call.argument(1))?))
    })?;
    methods.derive("with_recursive", |reader, call, query| {
        let name = reader.name(call.argument(0))?;
        let columns = reader.names(&[call.argument(1)])?;
        Ok(query.with_recursive(name, columns, read_named_query(reader, call.argument(2))?))
    })?;
    methods.derive("for_update", |_, _, query| Ok(query.for_update()))?;
    methods.derive("skip_locked", |_, _, query| Ok(query.skip_locked()))?;
    methods.derive("no_wait", |_, _, query| Ok(query.no_wait()))
}

fn read_named_query<'c>(reader: &Reader<'c>, value: Value<'c>) -> Result<'c, QueryOrRaw> {
    match (reader.query(value), reader.part(value)) {
        (Some(query), _) => Ok(query.clone().into()),
        (None, Some(ExpressionPart::Expr(expr))) => Ok(expr.clone().into()),
        _ => reader.usage("with takes a name and a query, or SQL: sql(\"select …\")"),
    }
}

fn for_changes<'s>(methods: &Methods<'_, 's>) -> Result<'s, ()> {
    methods.derive("returning", |reader, call, query| match call.arguments() {
        [] => Ok(query.returning("*")),
        items => Ok(query.returning(reader.items(items)?)),
    })?;
    methods.derive("all_rows!", |_, _, query| Ok(query.all_rows()))?;
    // The columns of the key, then what to update: nil, true for all, an Array of columns, a Hash.
    methods.derive("__on_conflict", |reader, call, query| {
        let target = reader.names(&[call.argument(0)])?;
        let conflict = if target.is_empty() {
            Conflict::ignore()
        } else {
            Conflict::on(target)
        };
        let update = call.argument(1);
        Ok(query.on_conflict(match update.kind() {
            Kind::Nil | Kind::False => conflict,
            Kind::True => conflict.replace(),
            Kind::Hash => conflict.update(reader.record(update)?),
            _ => {
                let columns = reader.names(&[update])?;
                let pairs = columns
                    .into_iter()
                    .map(|column| (column.clone(), tsumugi_sql::excluded(column)));
                conflict.update(pairs.collect::<tsumugi_sql::Record>())
            }
        }))
    })
}
