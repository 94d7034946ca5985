//! A query in the making: a value that each method takes and gives back changed. What it becomes in SQL is in `write/`.
//! Rule: a clone is cheap and independent; a query derived from another never changes it.

use std::sync::Arc;

use crate::condition::all;
use crate::expr::{Distinct, Expr, Node, TreeSize, tree_size};
use crate::limits::{DEPTH_MAX, NODES_MAX};
use crate::name::Name;
use crate::parts::{
    Conflict, Cte, Item, Join, JoinKind, Lock, Order, Origin, QueryOrRaw, Several, Source, Wait,
};
use crate::record::Record;

/// A table's rows, narrowed down step by step, to be read, updated or deleted, or a table to be inserted into.
#[derive(Clone, Debug, PartialEq)]
pub struct Query(Arc<Parts>);

/// Everything a query says. Each statement takes what it can use and refuses what it would have to leave out.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Parts {
    pub(crate) ctes: Vec<Cte>,
    pub(crate) recursive: bool,
    pub(crate) source: Option<Source>,
    pub(crate) distinct: Distinct,
    pub(crate) items: Vec<Item>,
    pub(crate) joins: Vec<Join>,
    pub(crate) filters: Vec<Expr>,
    pub(crate) groups: Vec<Item>,
    pub(crate) having: Vec<Expr>,
    pub(crate) orders: Vec<Order>,
    pub(crate) limit: Option<u64>,
    pub(crate) offset: u64,
    pub(crate) lock: Option<Lock>,
    pub(crate) sets: Record,
    pub(crate) returning: Vec<Item>,
    pub(crate) conflict: Option<Conflict>,
    pub(crate) scope: Scope,
    /// How deep the deepest expression or sub-select is.
    pub(crate) depth: u16,
}

/// Whether an update or delete without a condition is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Scope {
    #[default]
    Conditions,
    AllRows,
}

impl Parts {
    /// Of all there is in it; as deep as the deepest that ever was.
    fn size(&self) -> TreeSize {
        // Without `..`: a new part does not compile until it is counted or has nothing to count.
        let Parts {
            ctes,
            recursive: _,
            source,
            distinct: _,
            items,
            joins,
            filters,
            groups,
            having,
            orders,
            limit: _,
            offset: _,
            lock: _,
            sets,
            returning,
            conflict,
            scope: _,
            depth,
        } = self;
        let items = items.iter().chain(groups).chain(returning);
        let exprs = items.map(|item| &item.expr);
        let exprs = exprs.chain(filters).chain(having);
        let exprs = exprs.chain(orders.iter().map(|order| &order.expr));
        let rest = [
            source.as_ref().map(Source::size),
            conflict.as_ref().map(Conflict::size),
            Some(sets.size()),
        ];
        let rest = rest.into_iter().flatten();
        let rest = rest.chain(ctes.iter().map(Cte::size));
        let rest = rest.chain(joins.iter().map(Join::size));
        let all = rest.fold(tree_size(exprs), TreeSize::and);
        TreeSize {
            depth: *depth,
            nodes: all.nodes,
        }
    }
}

/// The rows of a table: `users`, `app.users`, `users as u`, or of a [`Source`].
pub fn table(source: impl Into<Source>) -> Query {
    let source = source.into();
    Query::of_nothing().with_part(source.size(), |parts| parts.source = Some(source))
}

impl Query {
    /// One row without columns, to select expressions from.
    pub fn of_nothing() -> Self {
        Self(Arc::default())
    }

    /// The table whose rows they are; none of a query of a query, of raw SQL or of nothing.
    pub fn table_name(&self) -> Option<&Name> {
        match &self.0.source.as_ref()?.of {
            Origin::Table(name) => Some(name),
            Origin::Query(_) | Origin::Raw(_) => None,
        }
    }

    /// The name by which its columns are qualified: of its table, or what it is called here.
    pub fn source_name(&self) -> Option<&Name> {
        self.0.source.as_ref()?.name()
    }

    /// The column of its own source that an order is by. None of an expression or of another table's column, and none where a right
    /// join answers rows without the source's.
    pub fn own_column<'o>(&self, order: &'o Order) -> Option<&'o str> {
        let Node::Column(name) = order.expr.node() else {
            return None;
        };
        let is_own = match name.as_str().strip_suffix(name.last())?.strip_suffix('.') {
            None => true,
            Some(source) => self.source_name().is_some_and(|own| own.as_str() == source),
        };
        let is_there = self.0.joins.iter().all(|join| join.kind != JoinKind::Right);
        (is_own && is_there).then(|| name.last())
    }

    /// Whether a change of it answers rows.
    pub fn is_returning(&self) -> bool {
        !self.0.returning.is_empty()
    }

    /// Everything that its rows must meet, as one condition.
    pub fn condition(&self) -> Expr {
        match self.0.filters.as_slice() {
            [only] => only.clone(),
            several => all(several.iter().cloned()),
        }
    }

    pub(crate) fn parts(&self) -> &Parts {
        &self.0
    }

    /// One more than all there is in it.
    pub(crate) fn size(&self) -> TreeSize {
        self.0.size().within()
    }

    /// Whether something in it is deeper than may be; then it has been left out, and no SQL is made.
    pub(crate) fn is_too_deep(&self) -> bool {
        self.0.depth >= DEPTH_MAX
    }

    /// Whether it would be written as more than may be; then no SQL is made either.
    pub(crate) fn is_too_large(&self) -> bool {
        self.size().nodes > NODES_MAX
    }

    /// Changes the parts, on a copy if they are shared.
    fn with(mut self, change: impl FnOnce(&mut Parts)) -> Self {
        change(Arc::make_mut(&mut self.0));
        self
    }

    /// The same for a part of this size, which is left out if it is too deep.
    fn with_part(self, TreeSize { depth, .. }: TreeSize, change: impl FnOnce(&mut Parts)) -> Self {
        self.with(|parts| {
            parts.depth = parts.depth.max(depth.min(DEPTH_MAX));
            if depth < DEPTH_MAX {
                change(parts);
            }
        })
    }

    /// The name by which the query's own conditions speak of the table.
    #[must_use]
    pub fn alias(self, name: impl Into<Name>) -> Self {
        self.with(|parts| {
            if let Some(source) = &mut parts.source {
                source.alias = Some(name.into());
            }
        })
    }

    /// What to select, instead of what was to be selected before; everything if nothing is said.
    #[must_use]
    pub fn select(self, items: impl Several<Item>) -> Self {
        self.with(|parts| parts.items.clear()).select_append(items)
    }

    /// What to select as well.
    #[must_use]
    pub fn select_append(self, items: impl Several<Item>) -> Self {
        let items = several(items);
        self.with_part(items_size(&items), |parts| parts.items.extend(items))
    }

    /// Equal rows once.
    #[must_use]
    pub fn distinct(self) -> Self {
        self.with(|parts| parts.distinct = Distinct::Yes)
    }

    /// Only rows for which this is true as well.
    #[must_use]
    pub fn filter(self, condition: Expr) -> Self {
        self.with_part(condition.size(), |parts| parts.filters.push(condition))
    }

    /// Also rows for which this is true: all conditions so far, or this one. The first condition of a query is just that.
    #[must_use]
    pub fn or_filter(self, condition: Expr) -> Self {
        let either = either(&self.0.filters, condition);
        self.with_part(either.size(), |parts| parts.filters = vec![either])
    }

    /// All rows again.
    #[must_use]
    pub fn unfiltered(self) -> Self {
        self.with(|parts| parts.filters.clear())
    }

    /// Rows of both for which the condition is true.
    #[must_use]
    pub fn join(self, source: impl Into<Source>, on: Expr) -> Self {
        self.joined(JoinKind::Inner, source.into(), Some(on))
    }

    /// The same, and rows of the left side for which there is none on the right.
    #[must_use]
    pub fn left_join(self, source: impl Into<Source>, on: Expr) -> Self {
        self.joined(JoinKind::Left, source.into(), Some(on))
    }

    /// The same, and rows of the right side for which there is none on the left.
    #[must_use]
    pub fn right_join(self, source: impl Into<Source>, on: Expr) -> Self {
        self.joined(JoinKind::Right, source.into(), Some(on))
    }

    /// Each row with each.
    #[must_use]
    pub fn cross_join(self, source: impl Into<Source>) -> Self {
        self.joined(JoinKind::Cross, source.into(), None)
    }

    fn joined(self, kind: JoinKind, source: Source, on: Option<Expr>) -> Self {
        let join = Join { kind, source, on };
        self.with_part(join.size(), |parts| parts.joins.push(join))
    }

    /// One row for all that have the same of these, after those it is grouped by already.
    #[must_use]
    pub fn group(self, fields: impl Several<Item>) -> Self {
        let fields = several(fields);
        self.with_part(items_size(&fields), |parts| parts.groups.extend(fields))
    }

    /// One row for all that have the same of these, and of nothing else.
    #[must_use]
    pub fn regroup(self, fields: impl Several<Item>) -> Self {
        self.with(|parts| parts.groups.clear()).group(fields)
    }

    /// Only groups for which this is true as well.
    #[must_use]
    pub fn having(self, condition: Expr) -> Self {
        self.with_part(condition.size(), |parts| parts.having.push(condition))
    }

    /// Also groups for which this is true.
    #[must_use]
    pub fn or_having(self, condition: Expr) -> Self {
        let either = either(&self.0.having, condition);
        self.with_part(either.size(), |parts| parts.having = vec![either])
    }

    /// The order, after what it is ordered by already. NULL counts as greater than everything, on every database.
    #[must_use]
    pub fn order(self, by: impl Several<Order>) -> Self {
        let by: Vec<Order> = several(by);
        let size = tree_size(by.iter().map(|order| &order.expr));
        self.with_part(size, |parts| parts.orders.extend(by))
    }

    /// The order, instead of any before.
    #[must_use]
    pub fn reorder(self, by: impl Several<Order>) -> Self {
        self.unordered().order(by)
    }

    /// In no order.
    #[must_use]
    pub fn unordered(self) -> Self {
        self.with(|parts| parts.orders.clear())
    }

    /// At most so many rows.
    #[must_use]
    pub fn limit(self, rows: u64) -> Self {
        self.with(|parts| parts.limit = Some(rows))
    }

    /// Without the first so many rows.
    #[must_use]
    pub fn offset(self, rows: u64) -> Self {
        self.with(|parts| parts.offset = rows)
    }

    /// A named query that this one can read from.
    #[must_use]
    pub fn with_query(self, name: impl Into<Name>, query: impl Into<QueryOrRaw>) -> Self {
        self.cte(name.into(), Vec::new(), query.into())
    }

    /// The same with names for its columns, and it may read from itself.
    #[must_use]
    pub fn with_recursive<N: Into<Name>>(
        self,
        name: impl Into<Name>,
        columns: impl IntoIterator<Item = N>,
        query: impl Into<QueryOrRaw>,
    ) -> Self {
        let columns = columns.into_iter().map(Into::into).collect();
        self.cte(name.into(), columns, query.into())
            .with(|parts| parts.recursive = true)
    }

    fn cte(self, name: Name, columns: Vec<Name>, QueryOrRaw(body): QueryOrRaw) -> Self {
        let cte = Cte::new(name, columns, body);
        self.with_part(cte.size(), |parts| parts.ctes.push(cte))
    }

    /// Locks the rows for this transaction; waits for the transaction that has locked them.
    #[must_use]
    pub fn for_update(self) -> Self {
        self.with(|parts| parts.lock = Some(Lock { wait: Wait::Block }))
    }

    /// Locks the rows for this transaction, without those that another one has locked.
    #[must_use]
    pub fn skip_locked(self) -> Self {
        self.with(|parts| parts.lock = Some(Lock { wait: Wait::Skip }))
    }

    /// Locks the rows for this transaction; fails if another one has locked one.
    #[must_use]
    pub fn no_wait(self) -> Self {
        self.with(|parts| parts.lock = Some(Lock { wait: Wait::Fail }))
    }

    /// What an update sets, beside what it sets already. Expressions see the row as it was.
    #[must_use]
    pub fn set(self, column: impl Into<Name>, value: impl Into<Expr>) -> Self {
        let (column, value) = (column.into(), value.into());
        self.with_part(value.size(), |parts| parts.sets.push(column, value))
    }

    /// The same for several columns.
    #[must_use]
    pub fn set_all(self, record: impl Into<Record>) -> Self {
        let record = record.into();
        self.with_part(record.size(), |parts| parts.sets.extend(record))
    }

    /// What an insert, update or delete answers of each row.
    #[must_use]
    pub fn returning(self, items: impl Several<Item>) -> Self {
        let items = several(items);
        self.with_part(items_size(&items), |parts| parts.returning = items)
    }

    /// What an insert does where a row with the same key exists.
    #[must_use]
    pub fn on_conflict(self, conflict: Conflict) -> Self {
        self.with_part(conflict.size(), |parts| parts.conflict = Some(conflict))
    }

    /// Says that an update or delete without any condition is meant, or with conditions that every row meets.
    #[must_use]
    pub fn all_rows(self) -> Self {
        self.with(|parts| parts.scope = Scope::AllRows)
    }
}

fn several<T>(of: impl Several<T>) -> Vec<T> {
    let mut list = Vec::new();
    of.append_to(&mut list);
    list
}

fn items_size(items: &[Item]) -> TreeSize {
    tree_size(items.iter().map(|item| &item.expr))
}

/// What was there, or this.
fn either(conditions: &[Expr], or: Expr) -> Expr {
    match conditions {
        [] => or,
        [only] => only.clone().or(or),
        several => all(several.iter().cloned()).or(or),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{asc, call, col};

    #[test]
    fn order_by_another_table_has_no_own_column() {
        let check = |query: &Query, order: Order, expected: Option<&str>| {
            assert_eq!(query.own_column(&order), expected);
        };
        let users = table("users as u");
        check(&users, asc("id"), Some("id"));
        check(&users, asc("u.id"), Some("id"));
        check(&users, asc("posts.id"), None);
        check(&users, call("lower", [col("id")]).asc(), None);
        let right = users.right_join("posts", col("posts.user_id").eq(col("u.id")));
        check(&right, asc("u.id"), None);
    }
}
