//! What Ruby gives to the builder's methods as parts of queries: names, values, conditions, orders, records. Decides no SQL.
//! Rule: a Symbol is a name where a name can be; a String is one too, unless it is said to be SQL; everything else is bound.

use std::cell::Cell;
use std::ops::Bound;

use tsumugi_db::BindRoom;
use tsumugi_mruby::{Kind, NativeCall, Result, Scope, Value};
use tsumugi_sql::{
    Expr, Item, Name, Operand, Order, Query, Record, Set, Source, Value as Bind, all, col, raw,
};

use super::parts::{BuiltQuery, ExpressionPart, built, built_query, refused};
use crate::host::Host;
use crate::natives::arguments::{text, whole, wrong_type};
use crate::natives::database::binds::bind;

/// Reads arguments of one call.
pub(super) struct Reader<'c> {
    pub(super) scope: &'c Scope<'c>,
    json_depth_max: usize,
    /// For the values of the call.
    room: Cell<BindRoom>,
}

impl<'c> Reader<'c> {
    pub(super) fn new(host: &Host, scope: &'c Scope<'c>) -> Reader<'c> {
        Reader {
            scope,
            json_depth_max: host.settings.limits.json_depth_max,
            room: Cell::default(),
        }
    }

    pub(super) fn json_depth_max(&self) -> usize {
        self.json_depth_max
    }

    /// A query like the receiver.
    pub(super) fn derive(
        &self,
        call: &NativeCall<'c>,
        from: &BuiltQuery,
        query: Query,
    ) -> Result<'c, Value<'c>> {
        let database = std::rc::Rc::clone(&from.database);
        let class = self.scope.class_of(call.this);
        self.scope.wrap(class, BuiltQuery { query, database })
    }

    /// The exception for a misuse.
    pub(super) fn usage<T>(&self, message: impl AsRef<[u8]>) -> Result<'c, T> {
        Err(self.scope.error("ArgumentError", message))
    }

    /// What the builder made, or its refusal as an exception.
    pub(super) fn accept<T>(&self, made: tsumugi_sql::Result<T>) -> Result<'c, T> {
        made.map_err(|error| refused(self.scope, error))
    }

    pub(super) fn is_name(&self, value: Value<'c>) -> bool {
        matches!(value.kind(), Kind::Symbol | Kind::String)
    }

    pub(super) fn name_text(&self, value: Value<'c>) -> Result<'c, String> {
        text(self.scope, value, "a name")
    }

    pub(super) fn name(&self, value: Value<'c>) -> Result<'c, Name> {
        self.name_text(value).map(Name::from)
    }

    /// Names, one by one or in an Array.
    pub(super) fn names(&self, values: &[Value<'c>]) -> Result<'c, Vec<Name>> {
        let values = self.flat(values);
        values.into_iter().map(|value| self.name(value)).collect()
    }

    /// The arguments, with what is in Arrays among them in the Arrays' place.
    pub(super) fn flat(&self, values: &[Value<'c>]) -> Vec<Value<'c>> {
        let mut list = Vec::with_capacity(values.len());
        for value in values {
            match value.kind() {
                Kind::Array => list.extend(self.scope.elements(*value)),
                _ => list.push(*value),
            }
        }
        list
    }

    /// A value to be bound.
    pub(super) fn value(&self, value: Value<'c>) -> Result<'c, Bind> {
        let mut room = self.room.get();
        let bind = bind(self.scope, value, self.json_depth_max, &mut room)?;
        self.room.set(room);
        Ok(bind)
    }

    pub(super) fn values(&self, values: &[Value<'c>]) -> Result<'c, Vec<Bind>> {
        values.iter().map(|value| self.value(*value)).collect()
    }

    pub(super) fn part(&self, value: Value<'c>) -> Option<&'c ExpressionPart> {
        match value.kind() {
            Kind::Data => self.scope.data::<ExpressionPart>(value),
            _ => None,
        }
    }

    pub(super) fn query(&self, value: Value<'c>) -> Option<&'c Query> {
        built_query(self.scope, value).map(|built| &built.query)
    }

    /// An expression; a value that is none is bound.
    pub(super) fn expr(&self, value: Value<'c>) -> Result<'c, Expr> {
        match (self.part(value), self.query(value)) {
            (Some(ExpressionPart::Expr(expr)), _) => Ok(expr.clone()),
            (Some(_), _) => self.usage("an order, an alias or a source is no expression"),
            (None, Some(query)) => Ok(query.clone().into()),
            (None, None) => Ok(tsumugi_sql::value(self.value(value)?)),
        }
    }

    /// The text of a pattern. What a client may have sent in its place is a wrong value, not a wrong call.
    pub(super) fn pattern(&self, value: Value<'c>) -> Result<'c, String> {
        match value.kind() {
            Kind::Nil
            | Kind::True
            | Kind::False
            | Kind::Integer
            | Kind::BigInteger
            | Kind::Float
            | Kind::Array
            | Kind::Hash => self.wrong_value("a pattern is a text"),
            _ => text(self.scope, value, "a pattern"),
        }
    }

    fn wrong_value<T>(&self, message: &str) -> Result<'c, T> {
        self.accept(Err(tsumugi_sql::Error::Value(message.to_owned())))
    }

    /// A column by its name, or an expression.
    pub(super) fn field(&self, value: Value<'c>) -> Result<'c, Expr> {
        match self.part(value) {
            Some(ExpressionPart::Expr(expr)) => Ok(expr.clone()),
            _ if self.is_name(value) => Ok(col(self.name(value)?)),
            _ => Err(wrong_type(
                self.scope,
                value,
                "a column",
                "a Symbol or an expression",
            )),
        }
    }

    /// What a column is compared with.
    pub(super) fn operand(&self, value: Value<'c>) -> Result<'c, Operand> {
        if let Some(ExpressionPart::Expr(expr)) = self.part(value) {
            return Ok(Operand::Expr(expr.clone()));
        }
        if let Some(query) = self.query(value) {
            return Ok(Operand::Query(query.clone()));
        }
        if value.kind() == Kind::Range {
            let (from, to) = self.range(value)?;
            return Ok(Operand::Range(from, to));
        }
        Ok(self.value(value)?.into())
    }

    fn range(&self, range: Value<'c>) -> Result<'c, (Bound<Bind>, Bound<Bind>)> {
        let scope = self.scope;
        let from = scope.call(range, "begin", &[])?;
        let to = scope.call(range, "end", &[])?;
        let excludes = scope.call(range, "exclude_end?", &[])?.truthy();
        let from = match from.kind() {
            Kind::Nil => Bound::Unbounded,
            _ => Bound::Included(self.value(from)?),
        };
        let to = match to.kind() {
            Kind::Nil => Bound::Unbounded,
            _ if excludes => Bound::Excluded(self.value(to)?),
            _ => Bound::Included(self.value(to)?),
        };
        Ok((from, to))
    }

    /// From and to, as two arguments, an Array or a Range that includes its end.
    pub(super) fn bounds(&self, values: &[Value<'c>]) -> Result<'c, (Bind, Bind)> {
        if let [range] = values
            && range.kind() == Kind::Range
        {
            return match self.range(*range)? {
                (Bound::Included(from), Bound::Included(to)) => Ok((from, to)),
                _ => self.usage("between takes a Range with both ends, which it includes"),
            };
        }
        match self.flat(values).as_slice() {
            [from, to] => Ok((self.value(*from)?, self.value(*to)?)),
            _ if matches!(values, [list] if list.kind() == Kind::Array) => {
                self.wrong_value("between takes two values")
            }
            _ => self.usage("between takes two values or a Range"),
        }
    }

    /// What a value may be one of.
    pub(super) fn set(&self, values: &[Value<'c>]) -> Result<'c, Set> {
        if let [query] = values
            && let Some(query) = self.query(*query)
        {
            return Ok(query.clone().into());
        }
        Ok(self.values(&self.flat(values))?.into())
    }

    /// The condition that the arguments of `where` and its like say:
    /// a Hash, an expression, a column and a value, a column, an operator and a value, SQL and its values; or a block.
    pub(super) fn condition(&self, call: &NativeCall<'c>) -> Result<'c, Expr> {
        let mut parts = Vec::new();
        if !call.block.is_nil() {
            parts.push(self.group(call)?);
        }
        match call.arguments() {
            [] if parts.is_empty() => return self.usage("a condition or a block is missing"),
            [] => {}
            arguments => parts.push(self.condition_of(arguments)?),
        }
        Ok(match parts.len() {
            1 => parts.swap_remove(0),
            _ => all(parts),
        })
    }

    /// What the block adds to a query without conditions.
    fn group(&self, call: &NativeCall<'c>) -> Result<'c, Expr> {
        let receiver = built(self.scope, call.this)?;
        let empty = receiver.query.clone().unfiltered();
        let empty = self.derive(call, receiver, empty)?;
        let given = self.scope.call(call.block, "call", &[empty])?;
        match (self.query(given), self.part(given)) {
            (Some(query), _) => Ok(query.condition()),
            (None, Some(ExpressionPart::Expr(expr))) => Ok(expr.clone()),
            _ => self.usage("the block of a condition answers the query it was given, narrowed down, or a condition"),
        }
    }

    fn condition_of(&self, arguments: &[Value<'c>]) -> Result<'c, Expr> {
        let [first, rest @ ..] = arguments else {
            return self.usage("a condition is missing");
        };
        if first.kind() == Kind::Hash && rest.is_empty() {
            return self.pairs(*first);
        }
        if let ([], Some(ExpressionPart::Expr(expr))) = (rest, self.part(*first)) {
            return Ok(expr.clone());
        }
        if first.kind() == Kind::String {
            let sql = self.name_text(*first)?;
            if rest.is_empty() || sql.contains('?') {
                return Ok(raw(sql, self.values(rest)?));
            }
        }
        match rest {
            [value] => Ok(self.field(*first)?.matches(self.operand(*value)?)),
            [operator, value] if self.is_name(*operator) => {
                let operator = self.name_text(*operator)?;
                let compared = self.field(*first)?.compare(&operator, self.operand(*value)?);
                self.accept(compared)
            }
            _ => self.usage(
                "a condition is a Hash, an expression, a column and a value, a column, an operator and a value, or SQL and its values",
            ),
        }
    }

    fn pairs(&self, hash: Value<'c>) -> Result<'c, Expr> {
        let entries = self.scope.entries(hash)?;
        let pairs = entries
            .into_iter()
            .map(|(key, value)| Ok(self.field(key)?.matches(self.operand(value)?)));
        let mut pairs = pairs.collect::<Result<'c, Vec<Expr>>>()?;
        Ok(match pairs.len() {
            1 => pairs.swap_remove(0),
            _ => all(pairs),
        })
    }

    /// What is selected: names, `"name as alias"`, expressions, and `alias: expression`.
    pub(super) fn items(&self, values: &[Value<'c>]) -> Result<'c, Vec<Item>> {
        let mut items = Vec::with_capacity(values.len());
        for value in self.flat(values) {
            if value.kind() == Kind::Hash {
                for (alias, value) in self.scope.entries(value)? {
                    let alias = Name::exact(&self.name_text(alias)?);
                    items.push(self.item(value)?.alias(alias));
                }
            } else {
                items.push(self.item(value)?);
            }
        }
        Ok(items)
    }

    fn item(&self, value: Value<'c>) -> Result<'c, Item> {
        match (self.part(value), self.query(value)) {
            (Some(ExpressionPart::Expr(expr)), _) => Ok(expr.clone().into()),
            (Some(ExpressionPart::Item(item)), _) => Ok(item.clone()),
            (None, Some(query)) => Ok(query.clone().into()),
            _ if self.is_name(value) => Ok(self.name_text(value)?.into()),
            _ => Err(wrong_type(
                self.scope,
                value,
                "what is selected",
                "a Symbol or an expression",
            )),
        }
    }

    /// Orders: `:a`, `desc(:a)`, `a: :desc`, or `:a, :desc`.
    pub(super) fn orders(&self, values: &[Value<'c>]) -> Result<'c, Vec<Order>> {
        if let [column, direction] = values
            && direction.kind() == Kind::Symbol
            && let Some(order) = self.order_with_direction(*column, *direction)?
        {
            return Ok(vec![order]);
        }
        let mut orders = Vec::with_capacity(values.len());
        for value in self.flat(values) {
            if value.kind() == Kind::Hash {
                for (column, direction) in self.scope.entries(value)? {
                    match self.order_with_direction(column, direction)? {
                        Some(order) => orders.push(order),
                        None => return self.usage("an order is :asc or :desc"),
                    }
                }
            } else if let Some(ExpressionPart::Order(order)) = self.part(value) {
                orders.push(order.clone());
            } else {
                orders.push(self.field(value)?.into());
            }
        }
        Ok(orders)
    }

    /// The column that an order is by, as its rows call it.
    pub(super) fn order_name(&self, value: Value<'c>) -> Result<'c, String> {
        let orders = self.orders(&[value])?;
        match orders.as_slice() {
            [order] if let Some(name) = order.column() => Ok(name.last().to_owned()),
            _ => self.usage("a key of a page is a column: :id, or desc(:id)"),
        }
    }

    /// None if the direction is none.
    fn order_with_direction(
        &self,
        column: Value<'c>,
        direction: Value<'c>,
    ) -> Result<'c, Option<Order>> {
        let direction = self.scope.text(direction).unwrap_or_default();
        Ok(match direction.as_str() {
            "asc" | "ASC" => Some(self.field(column)?.asc()),
            "desc" | "DESC" => Some(self.field(column)?.desc()),
            _ => None,
        })
    }

    /// Where rows come from.
    pub(super) fn source(&self, value: Value<'c>) -> Result<'c, Source> {
        match self.part(value) {
            Some(ExpressionPart::Source(source)) => Ok(source.clone()),
            _ if self.is_name(value) => Ok(self.name_text(value)?.into()),
            _ => Err(wrong_type(
                self.scope,
                value,
                "a table",
                "a Symbol, or a query with a name: query.as(:name)",
            )),
        }
    }

    /// One row's columns and values.
    pub(super) fn record(&self, hash: Value<'c>) -> Result<'c, Record> {
        if hash.kind() != Kind::Hash {
            return Err(wrong_type(
                self.scope,
                hash,
                "a row",
                "a Hash of columns and values",
            ));
        }
        let entries = self.scope.entries(hash)?.into_iter();
        let pairs = entries.map(|(column, value)| Ok((self.name(column)?, self.expr(value)?)));
        Ok(pairs
            .collect::<Result<'c, Vec<(Name, Expr)>>>()?
            .into_iter()
            .collect())
    }

    /// A number of rows.
    pub(super) fn count(&self, value: Value<'c>, what: &str) -> Result<'c, u64> {
        whole(value).ok_or_else(|| {
            let message = format!("{what} takes a number of rows that is not negative");
            self.scope.error("ArgumentError", message)
        })
    }
}
