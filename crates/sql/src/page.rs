//! Pages of rows: by number, with how many there are, and by key, from where the last page ended.
//! Not cursors on a connection. Rule: the order of a page by key is total as its caller gives it: the last key is unique.

use crate::condition::{all, any};
use crate::dialect::Dialect;
use crate::error::{Result, usage};
use crate::expr::{Binary, Expr, Field, Node};
use crate::limits::PAGE_ROWS_MAX;
use crate::parts::{Direction, Nulls, Order, Several};
use crate::query::Query;
use crate::statement::Statement;
use crate::value::Value;

/// The two statements of a page.
#[derive(Clone, Debug, PartialEq)]
pub struct Page {
    /// The statement that selects the page's rows.
    pub rows: Statement,
    /// One row with how many rows there are on all pages, as `count`.
    pub total: Statement,
}

/// What is known about the pages when the total is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pages {
    /// This page, from 1.
    pub page: u64,
    /// Rows on a full page.
    pub per_page: u64,
    /// Rows on all pages.
    pub total: u64,
    /// How many pages there are; none without rows.
    pub pages: u64,
    /// Whether there are rows after this page.
    pub has_more: bool,
}

impl Pages {
    /// Of this many rows altogether.
    pub fn of(page: u64, per_page: u64, total: u64) -> Self {
        let pages = total.div_ceil(per_page.max(1));
        Self {
            page,
            per_page,
            total,
            pages,
            has_more: page < pages,
        }
    }
}

/// What a page by key is ordered by.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    order: Order,
    empty: Empty,
}

/// Whether a key may be NULL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Empty {
    Possible,
    Never,
}

impl Key {
    /// It may be NULL: rows where it is come where the order has them, at the cost of a condition that uses an index less well.
    pub fn new(order: impl Into<Order>) -> Self {
        let (order, empty) = (order.into(), Empty::Possible);
        Self { order, empty }
    }

    /// It is never NULL, as a primary key is not.
    #[must_use]
    pub fn never_null(mut self) -> Self {
        self.empty = Empty::Never;
        self
    }

    fn field(&self) -> Expr {
        self.order.expr.clone()
    }

    /// Where it is the same.
    fn same(&self, value: &Value) -> Expr {
        self.field().eq(value.clone())
    }

    /// Where it comes after this value.
    fn after(&self, value: &Value) -> Expr {
        let nulls = self.order.nulls();
        if *value == Value::Null {
            return match nulls {
                Nulls::Last => any([]),
                Nulls::First => self.field().is_not_null(),
            };
        }
        let beyond = match self.order.direction {
            Direction::Ascending => self.field().gt(value.clone()),
            Direction::Descending => self.field().lt(value.clone()),
        };
        if self.empty == Empty::Possible && nulls == Nulls::Last {
            return beyond.or(self.field().is_null());
        }
        beyond
    }
}

impl From<Order> for Key {
    fn from(order: Order) -> Self {
        Self::new(order)
    }
}

impl From<&str> for Key {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}

impl Several<Key> for Key {
    fn append_to(self, list: &mut Vec<Key>) {
        list.push(self);
    }
}

impl Several<Key> for &str {
    fn append_to(self, list: &mut Vec<Key>) {
        list.push(Key::new(self.field()));
    }
}

impl Query {
    /// A page by its number, from 1, of so many rows. Order the query, by something unique last: otherwise pages may overlap.
    pub fn to_page(&self, page: u64, per_page: u64, dialect: &Dialect) -> Result<Page> {
        self.pages(per_page)?;
        if page == 0 {
            return usage("pages are counted from 1");
        }
        let Some(offset) = (page - 1).checked_mul(per_page) else {
            return usage(format!("there is no page {page}: offsets are 64 bits wide"));
        };
        let rows = self.clone().limit(per_page).offset(offset);
        Ok(Page {
            rows: rows.to_rows(dialect)?,
            total: self.to_count(dialect)?,
        })
    }

    /// The rows after that with these values of the keys, or the first ones, in the order of the keys: one more than a page has,
    /// which says that there is another. Fails if there are more or fewer values than keys.
    pub fn page_after(
        self,
        keys: impl Several<Key>,
        after: Option<&[Value]>,
        per_page: u64,
    ) -> Result<Query> {
        self.pages(per_page)?;
        if !self.parts().orders.is_empty() {
            return usage("a page by key is ordered by its keys: leave out order");
        }
        let mut list = Vec::new();
        keys.append_to(&mut list);
        if list.is_empty() {
            return usage("a page by key needs a key, the last of them unique");
        }
        let query = match after {
            None => self,
            Some(values) if values.len() == list.len() => self.filter(beyond(&list, values)),
            Some(values) => {
                let (keys, values) = (list.len(), values.len());
                return usage(format!("{keys} keys and {values} values of the last row"));
            }
        };
        let orders: Vec<Order> = list.into_iter().map(|key| key.order).collect();
        Ok(query.order(orders).limit(per_page + 1))
    }

    fn pages(&self, per_page: u64) -> Result<()> {
        if self.parts().limit.is_some() || self.parts().offset > 0 {
            return usage("a query with a limit or an offset has no pages");
        }
        if per_page == 0 || per_page > PAGE_ROWS_MAX {
            return usage(format!(
                "a page has 1 to PAGE_ROWS_MAX ({PAGE_ROWS_MAX}) rows, not {per_page}"
            ));
        }
        Ok(())
    }
}

/// Where the keys together come after the values.
fn beyond(keys: &[Key], values: &[Value]) -> Expr {
    let direction = keys.first().map(|key| key.order.direction);
    let alike = |key: &Key| key.empty == Empty::Never && Some(key.order.direction) == direction;
    if keys.iter().all(alike) && !values.contains(&Value::Null) {
        let operator = match direction {
            Some(Direction::Descending) => Binary::Less,
            _ => Binary::Greater,
        };
        let fields = keys.iter().map(Key::field).collect();
        return Expr::new(Node::After(fields, operator, values.to_vec()));
    }
    let pairs = || keys.iter().zip(values);
    any((0..keys.len()).map(|last| {
        let same = pairs().take(last).map(|(key, value)| key.same(value));
        let next = pairs().nth(last).map(|(key, value)| key.after(value));
        all(same.chain(next))
    }))
}
