//! What reads: rows, the first, whether there is one, how many, an aggregate. Not paging, which is made of these.
//! Rule: a query says what it reads; parts that only a change could use are refused, never left out.

use super::Writer;
use super::expr::{is_number, too_deep, too_large};
use crate::dialect::{Decimals, Dialect, EmptySource, Limit, Locks, Nulls as Default};
use crate::error::{Result, usage};
use crate::expr::{Distinct, Expr, Field, Node, call, col, count};
use crate::name::Name;
use crate::parts::{Body, Direction, Item, Join, JoinKind, Nulls, Order, Origin, Source, Wait};
use crate::query::{Parts, Query};
use crate::statement::{Aggregate, Statement};

impl Query {
    /// The rows.
    pub fn to_rows(&self, dialect: &Dialect) -> Result<Statement> {
        let mut writer = Writer::new(dialect);
        writer.select(self)?;
        writer.finish()
    }

    /// The first row.
    pub fn to_first(&self, dialect: &Dialect) -> Result<Statement> {
        let rows = self.parts().limit.map_or(1, |limit| limit.min(1));
        let mut writer = Writer::new(dialect);
        writer.select_up_to(self, Some(rows))?;
        writer.finish()
    }

    /// No row, for the names of the columns.
    pub fn to_columns(&self, dialect: &Dialect) -> Result<Statement> {
        self.clone().unordered().limit(0).to_rows(dialect)
    }

    /// A row if there is one.
    pub fn to_exists(&self, dialect: &Dialect) -> Result<Statement> {
        let parts = self.parts();
        // What is selected decides which rows are equal, or is what groups are asked about.
        let found = if parts.distinct == Distinct::Yes || !parts.having.is_empty() {
            self.clone()
        } else {
            let one = Expr::new(Node::One);
            self.clone().select(one.alias(Name::exact("found")))
        };
        let found = if parts.offset > 0 {
            found
        } else {
            found.unordered()
        };
        found.to_first(dialect)
    }

    /// One row with how many rows there are, as `count`. Of a grouped query it counts the groups.
    pub fn to_count(&self, dialect: &Dialect) -> Result<Statement> {
        let parts = self.parts();
        if parts.lock.is_some() {
            return usage("counted rows cannot be locked: select them");
        }
        if parts.is_plain() {
            let counted = self.clone().select(count()).unordered();
            return counted.to_rows(dialect);
        }
        self.enclosed("counted")?.select(count()).to_rows(dialect)
    }

    /// One row with a number about the rows: the sum of `total` as `sum_total`. Of a query with a limit, of distinct rows or
    /// groups, the number is about those rows, and the field is one of their columns.
    pub fn to_aggregate(
        &self,
        aggregate: Aggregate,
        field: impl Field,
        dialect: &Dialect,
    ) -> Result<Statement> {
        let parts = self.parts();
        if parts.lock.is_some() {
            return usage("rows cannot be locked for a number about them: select them");
        }
        let field = field.field();
        if parts.is_plain() {
            if let (Decimals::Text, Node::Column(name)) = (dialect.decimals, field.node())
                && let Some(order) = outermost(aggregate, &field)
            {
                // The column itself says what it holds, also out of a sub-select; an aggregate of it does not.
                let alias = Name::exact(&format!("{}_{}", aggregate.function(), name.last()));
                let there = self.clone().filter(field.clone().is_not_null());
                let one = there.select(field).reorder(order).limit(1);
                let one = Query::of_nothing().select(Expr::from(one).alias(alias));
                return one.to_rows(dialect);
            }
            let number = call(aggregate.function(), [field]);
            return self.clone().select(number).unordered().to_rows(dialect);
        }
        let Node::Column(name) = field.node() else {
            return usage(
                "name a column of the rows for a number about limited, distinct or grouped rows",
            );
        };
        let number = call(aggregate.function(), [col(Name::exact(name.last()))]);
        self.enclosed("rows_of")?.select(number).to_rows(dialect)
    }

    /// Its rows as a table to select from, in no order where that does not matter.
    fn enclosed(&self, alias: &str) -> Result<Query> {
        let parts = self.parts();
        let limited = parts.limit.is_some() || parts.offset > 0;
        let inner = if limited {
            self.clone()
        } else {
            self.clone().unordered()
        };
        Ok(crate::query::table(Source::query(inner, alias)))
    }
}

/// The order in which the smallest or the greatest comes first. Where NULL comes does not matter, so that an index serves.
fn outermost(aggregate: Aggregate, field: &Expr) -> Option<Order> {
    match aggregate {
        Aggregate::Min => Some(field.clone().asc().nulls_first()),
        Aggregate::Max => Some(field.clone().desc().nulls_last()),
        Aggregate::Count | Aggregate::Sum | Aggregate::Avg => None,
    }
}

impl Parts {
    /// Whether what is selected can be replaced by a number about it.
    fn is_plain(&self) -> bool {
        let limited = self.limit.is_some() || self.offset > 0;
        let merged = self.distinct == Distinct::Yes || !self.groups.is_empty();
        !limited && !merged && self.having.is_empty()
    }

    /// Refuses what only a change could use.
    fn reads(&self) -> Result<()> {
        // Without `..`: a new part does not compile until it is written by `select_up_to` or refused here.
        let Parts {
            sets,
            returning,
            conflict,
            ctes: _,
            recursive: _,
            source: _,
            distinct: _,
            items: _,
            joins: _,
            filters: _,
            groups: _,
            having: _,
            orders: _,
            limit: _,
            offset: _,
            lock: _,
            scope: _,
            depth: _,
        } = self;
        if !sets.is_empty() {
            return usage("set is for update");
        }
        if !returning.is_empty() || conflict.is_some() {
            return usage("returning and on_conflict are for insert, update and delete");
        }
        Ok(())
    }
}

impl Writer<'_> {
    /// A query in parentheses. Its names are its own.
    pub(super) fn nested(&mut self, query: &Query) -> Result<()> {
        let owner = self.owner.take();
        self.nested += 1;
        self.enclosed(|writer| writer.select(query))?;
        self.nested -= 1;
        self.owner = owner;
        Ok(())
    }

    fn select(&mut self, query: &Query) -> Result<()> {
        self.select_up_to(query, query.parts().limit)
    }

    /// The query with another limit.
    fn select_up_to(&mut self, query: &Query, limit: Option<u64>) -> Result<()> {
        if query.is_too_deep() {
            return too_deep();
        }
        if query.is_too_large() {
            return too_large();
        }
        self.fits()?;
        let parts = query.parts();
        parts.reads()?;
        self.ctes(parts)?;
        self.text("select ");
        if parts.distinct == Distinct::Yes {
            self.text("distinct ");
        }
        self.items(&parts.items)?;
        match (&parts.source, self.dialect.empty_source) {
            (Some(source), _) => {
                self.text(" from ");
                self.source(source)?;
            }
            (None, _) if parts.items.is_empty() => {
                return usage("a query without a table needs a select list");
            }
            (None, EmptySource::Table(table)) => {
                self.text(" from ");
                self.text(table);
            }
            (None, EmptySource::None) => {}
        }
        for join in &parts.joins {
            self.join(join)?;
        }
        self.conditions(" where ", &parts.filters)?;
        if !parts.groups.is_empty() {
            self.text(" group by ");
            self.list(&parts.groups, |writer, item| writer.beside(&item.expr))?;
        }
        self.conditions(" having ", &parts.having)?;
        if !parts.orders.is_empty() {
            self.text(" order by ");
            self.list(&parts.orders, Self::order)?;
        }
        self.limit(limit, parts.offset)?;
        self.lock(parts)
    }

    pub(super) fn ctes(&mut self, parts: &Parts) -> Result<()> {
        if parts.ctes.is_empty() {
            return Ok(());
        }
        self.text("with ");
        self.text(if parts.recursive { "recursive " } else { "" });
        self.list(&parts.ctes, |writer, cte| {
            writer.name(&cte.name)?;
            if !cte.columns.is_empty() {
                writer.text(" ");
                writer.columns(&cte.columns)?;
            }
            writer.text(" as ");
            match &cte.body {
                Body::Query(query) => {
                    let items = query.parts().items.iter();
                    for (item, name) in items.zip(&cte.columns) {
                        writer.note(&item.expr, name.last());
                    }
                    writer.nested(query)
                }
                Body::Raw(raw) => writer.enclosed(|writer| writer.raw_text(&raw.sql, &raw.values)),
            }
        })?;
        self.text(" ");
        Ok(())
    }

    /// What is selected or returned; everything if nothing is named.
    pub(super) fn items(&mut self, items: &[Item]) -> Result<()> {
        if items.is_empty() {
            self.text("*");
            return Ok(());
        }
        self.list(items, Self::item)
    }

    fn item(&mut self, item: &Item) -> Result<()> {
        match item.expr.node() {
            Node::Value(value) => self.alone(value),
            _ => self.beside(&item.expr)?,
        }
        self.ordered(&item.expr);
        if let Some(alias) = &item.alias {
            if self.nested > 0 {
                self.note(&item.expr, alias.last());
            }
            self.text(" as ");
            return self.bare_name(alias);
        }
        match item.expr.node() {
            Node::Column(_) | Node::Raw(_) => Ok(()),
            Node::Call(call) => {
                let column = call
                    .arguments
                    .iter()
                    .find_map(|argument| match argument.node() {
                        Node::Column(name) => Some(name.last()),
                        _ => None,
                    });
                let function = call.function.to_ascii_lowercase();
                let name = match column {
                    Some(column) if column != "*" => format!("{function}_{column}"),
                    _ => function,
                };
                if self.nested > 0 {
                    self.note(&item.expr, &name);
                }
                self.text(" as ");
                self.part(&name)
            }
            _ => usage(
                "a selected expression that is no column needs a name: give it one with alias",
            ),
        }
    }

    /// An expression between commas, where raw SQL needs no parentheses.
    fn beside(&mut self, expr: &Expr) -> Result<()> {
        match expr.node() {
            Node::Raw(raw) => self.raw_text(&raw.sql, &raw.values),
            _ => self.expr(expr),
        }
    }

    pub(super) fn source(&mut self, source: &Source) -> Result<()> {
        match &source.of {
            Origin::Table(name) => self.table(name)?,
            Origin::Query(query) => self.nested(query)?,
            Origin::Raw(raw) => self.raw_text(&raw.sql, &raw.values)?,
        }
        if let Some(alias) = &source.alias {
            self.text(" as ");
            self.bare_name(alias)?;
        }
        Ok(())
    }

    fn join(&mut self, join: &Join) -> Result<()> {
        self.text(match join.kind {
            JoinKind::Inner => " join ",
            JoinKind::Left => " left join ",
            JoinKind::Right => " right join ",
            JoinKind::Cross => " cross join ",
        });
        self.source(&join.source)?;
        if let Some(on) = &join.on {
            self.text(" on ");
            self.expr(on)?;
        }
        Ok(())
    }

    /// All of them, after a word.
    pub(super) fn conditions(&mut self, word: &str, conditions: &[Expr]) -> Result<()> {
        if conditions.is_empty() {
            return Ok(());
        }
        self.text(word);
        self.every(conditions)
    }

    /// Says that a sum, a least or a greatest value, which may be a number in text, is ordered as one, also by its alias.
    fn ordered(&mut self, expr: &Expr) {
        if self.dialect.decimals == Decimals::Text && is_number(expr) {
            self.text(" collate decimal");
        }
    }

    /// Keeps in mind by which name a query around this one sees an aggregate.
    fn note(&mut self, expr: &Expr, name: &str) {
        if self.dialect.decimals == Decimals::Text && is_number(expr) {
            self.numbers.push(name.to_owned());
        }
    }

    fn order(&mut self, order: &Order) -> Result<()> {
        self.beside(&order.expr)?;
        self.ordered(&order.expr);
        let descending = order.direction == Direction::Descending;
        if descending {
            self.text(" desc");
        }
        let usual = match (self.dialect.nulls, descending) {
            (Default::Great, false) | (Default::Small, true) => Nulls::Last,
            (Default::Great, true) | (Default::Small, false) => Nulls::First,
        };
        let wanted = order.nulls();
        if wanted != usual {
            self.text(match wanted {
                Nulls::First => " nulls first",
                Nulls::Last => " nulls last",
            });
        }
        Ok(())
    }

    fn limit(&mut self, limit: Option<u64>, offset: u64) -> Result<()> {
        if self.dialect.limit == Limit::Fetch {
            if offset > 0 {
                self.text(" offset ");
                self.bind_rows(offset)?;
                self.text(" rows");
            }
            if let Some(limit) = limit {
                self.text(if offset > 0 {
                    " fetch next "
                } else {
                    " fetch first "
                });
                self.at_most(limit)?;
                self.text(" rows only");
            }
            return Ok(());
        }
        if let Some(limit) = limit {
            self.text(" limit ");
            self.at_most(limit)?;
        } else if offset > 0 && self.dialect.limit == Limit::Negative {
            self.text(" limit -1");
        }
        if offset > 0 {
            self.text(" offset ");
            self.bind_rows(offset)?;
        }
        Ok(())
    }

    fn lock(&mut self, parts: &Parts) -> Result<()> {
        let Some(lock) = parts.lock else {
            return Ok(());
        };
        let merged = parts.distinct == Distinct::Yes || !parts.groups.is_empty();
        if merged || !parts.having.is_empty() {
            return usage("rows can be locked, not groups or distinct values of them");
        }
        match (self.dialect.locks, lock.wait) {
            (Locks::Database, _) => {}
            (Locks::Rows, Wait::Block) => self.text(" for update"),
            (Locks::Rows, Wait::Skip) => self.text(" for update skip locked"),
            (Locks::Rows, Wait::Fail) => self.text(" for update nowait"),
            (Locks::WithLock, Wait::Block) => self.text(" for update with lock"),
            (Locks::WithLock, Wait::Skip) => return self.unsupported("skip locked"),
            (Locks::WithLock, Wait::Fail) => {
                return self.unsupported("nowait of a statement: say it of the transaction");
            }
        }
        Ok(())
    }
}
