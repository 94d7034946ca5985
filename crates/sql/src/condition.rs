//! Conditions: groups, ranges, lists, patterns, and what a value of any shape means as a condition on a column.
//! Rule: a condition means the same on every database, with empty lists, NULL in lists and letters of either case too.

use std::ops::{Bound, RangeBounds};

use crate::error::{Error, Result, usage};
use crate::expr::{Binary, Case, Expr, Is, Node};
use crate::query::Query;
use crate::value::Value;

/// What a column is compared with, by its shape.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// Equal to it; NULL where it is NULL.
    Value(Value),
    /// One of these.
    List(Vec<Value>),
    /// Within these bounds, each included or not.
    Range(Bound<Value>, Bound<Value>),
    /// One of the rows of a query with one column.
    Query(Query),
    /// Equal to an expression.
    Expr(Expr),
}

impl<T: Into<Value>> From<T> for Operand {
    fn from(value: T) -> Self {
        match value.into() {
            Value::List(list) => Operand::List(list),
            value => Operand::Value(value),
        }
    }
}

impl From<Query> for Operand {
    fn from(query: Query) -> Self {
        Operand::Query(query)
    }
}

impl From<Expr> for Operand {
    fn from(expr: Expr) -> Self {
        Operand::Expr(expr)
    }
}

/// What a value may be one of.
#[derive(Clone, Debug, PartialEq)]
pub enum Set {
    /// These values.
    Values(Vec<Value>),
    /// The rows of a query with one column.
    Query(Query),
}

impl<T: Into<Value>> From<Vec<T>> for Set {
    fn from(values: Vec<T>) -> Self {
        Set::Values(values.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<Value>, const N: usize> From<[T; N]> for Set {
    fn from(values: [T; N]) -> Self {
        Set::Values(values.into_iter().map(Into::into).collect())
    }
}

impl From<Query> for Set {
    fn from(query: Query) -> Self {
        Set::Query(query)
    }
}

/// True where all of them are, and where there are none.
pub fn all(conditions: impl IntoIterator<Item = Expr>) -> Expr {
    Expr::new(Node::All(conditions.into_iter().collect()))
}

/// True where one of them is, so nowhere if there are none.
pub fn any(conditions: impl IntoIterator<Item = Expr>) -> Expr {
    Expr::new(Node::Any(conditions.into_iter().collect()))
}

/// True where the query has a row.
pub fn exists(query: Query) -> Expr {
    Expr::new(Node::Exists(query))
}

/// `text` as a pattern that matches exactly it: `%`, `_` and `\` get a `\` before them.
pub fn escape_like(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for character in text.chars() {
        if matches!(character, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern
}

impl Expr {
    /// Both.
    pub fn and(self, other: Expr) -> Self {
        let mut list = match self.node() {
            Node::All(_) => self.into_list(),
            _ => vec![self],
        };
        list.push(other);
        all(list)
    }

    /// One of both.
    pub fn or(self, other: Expr) -> Self {
        let mut list = match self.node() {
            Node::Any(_) => self.into_list(),
            _ => vec![self],
        };
        list.push(other);
        any(list)
    }

    /// What the shape of the operand says: equal to a value, NULL, one of a list, within a range, one of a query's rows.
    pub fn matches(self, operand: impl Into<Operand>) -> Self {
        match operand.into() {
            Operand::Value(value) => self.eq(value),
            Operand::List(list) => self.is_in(list),
            Operand::Range(from, to) => self.bounded(from, to),
            Operand::Query(query) => self.is_in(query),
            Operand::Expr(expr) => self.eq(expr),
        }
    }

    /// The same by the name of an operator: `=`, `<>`, `!=`, `<`, `<=`, `>`, `>=`, `like`, `ilike`, `in`, `is` and their negations
    /// with `not`. Fails on another operator, and on a list, range or query where the operator takes one value: [`Error::Value`] if what
    /// it got is a value.
    pub fn compare(self, operator: &str, operand: impl Into<Operand>) -> Result<Self> {
        let operand = operand.into();
        let words: Vec<String> = operator
            .split_ascii_whitespace()
            .map(str::to_ascii_lowercase)
            .collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let binary = match words.as_slice() {
            ["=" | "==" | "is" | "in"] => return Ok(self.matches(operand)),
            ["<>" | "!=" | "not"] | ["is", "not"] | ["not", "in"] => {
                return Ok(self.differs(operand));
            }
            ["like"] => return Ok(self.like(text(operator, operand)?)),
            ["not", "like"] => return Ok(self.not_like(text(operator, operand)?)),
            ["ilike"] => return Ok(self.ilike(text(operator, operand)?)),
            ["not", "ilike"] => return Ok(self.not_ilike(text(operator, operand)?)),
            ["<"] => Expr::lt,
            ["<="] => Expr::le,
            [">"] => Expr::gt,
            [">="] => Expr::ge,
            _ => {
                return usage(format!(
                    "{operator} is no operator of the builder: use = <> < <= > >= like, ilike, in, is or a raw condition"
                ));
            }
        };
        Ok(binary(self, single(operator, operand)?))
    }

    /// The opposite of [`Expr::matches`], for rows that have a value there.
    fn differs(self, operand: Operand) -> Self {
        match operand {
            Operand::Value(value) => self.ne(value),
            Operand::List(list) => self.not_in(list),
            Operand::Query(query) => self.not_in(query),
            Operand::Expr(expr) => self.ne(expr),
            range @ Operand::Range(..) => !self.matches(range),
        }
    }

    /// One of them. Of an empty list nothing is. NULL in a list finds NULL; to the opposite, in a change, a list of nothing else is empty.
    pub fn is_in(self, set: impl Into<Set>) -> Self {
        self.in_set(Is::Affirmed, set.into())
    }

    /// None of them. Everything is none of an empty list, NULL too; otherwise a row with NULL there is not found, as in SQL.
    pub fn not_in(self, set: impl Into<Set>) -> Self {
        self.in_set(Is::Not, set.into())
    }

    fn in_set(self, is: Is, set: Set) -> Self {
        let mut values = match set {
            Set::Query(query) => return Self::new(Node::InQuery(self, is, query)),
            Set::Values(values) => values,
        };
        let before = values.len();
        values.retain(|value| *value != Value::Null);
        let null = values.len() < before;
        let is_empty = values.is_empty();
        let found = Self::new(Node::In(self.clone(), is, values));
        let (found, opposite) = match (null, is) {
            (false, _) => return found,
            (true, Is::Affirmed) => (any([found, self.is_null()]), Is::Not),
            (true, Is::Not) => (all([found, self.is_not_null()]), Is::Affirmed),
        };
        match is_empty {
            true => found.unbounded(opposite),
            false => found,
        }
    }

    /// From the one to the other, both included.
    pub fn between(self, from: impl Into<Value>, to: impl Into<Value>) -> Self {
        Self::new(Node::Between(self, Is::Affirmed, from.into(), to.into()))
    }

    /// Below the one or above the other.
    pub fn not_between(self, from: impl Into<Value>, to: impl Into<Value>) -> Self {
        Self::new(Node::Between(self, Is::Not, from.into(), to.into()))
    }

    /// Within a range: `1..=5` includes its end, `1..5` does not, `..` is everything but NULL.
    pub fn within<T: Into<Value> + Clone>(self, range: impl RangeBounds<T>) -> Self {
        let own = |bound: Bound<&T>| bound.cloned().map(Into::into);
        self.bounded(own(range.start_bound()), own(range.end_bound()))
    }

    fn bounded(self, from: Bound<Value>, to: Bound<Value>) -> Self {
        if let (Bound::Included(from), Bound::Included(to)) = (&from, &to) {
            return self.between(from.clone(), to.clone());
        }
        let lower = match from {
            Bound::Included(from) => Some(self.clone().ge(from)),
            Bound::Excluded(from) => Some(self.clone().gt(from)),
            Bound::Unbounded => None,
        };
        let upper = match to {
            Bound::Included(to) => Some(self.clone().le(to)),
            Bound::Excluded(to) => Some(self.clone().lt(to)),
            Bound::Unbounded => None,
        };
        match (lower, upper) {
            (Some(lower), Some(upper)) => all([lower, upper]),
            (Some(bound), None) | (None, Some(bound)) => bound,
            (None, None) => self.is_not_null().unbounded(Is::Affirmed),
        }
    }

    fn unbounded(self, is: Is) -> Self {
        Self::new(Node::Unbounded(self, is))
    }

    /// Matches a pattern: `%` is any text, `_` any character, `\` takes the meaning of what follows it. Case matters.
    pub fn like(self, pattern: impl Into<String>) -> Self {
        self.matched(Is::Affirmed, Case::Matters, pattern.into())
    }

    /// Does not match it.
    pub fn not_like(self, pattern: impl Into<String>) -> Self {
        self.matched(Is::Not, Case::Matters, pattern.into())
    }

    /// Matches a pattern whatever the case of its letters. Of letters outside ASCII each database has its own idea.
    pub fn ilike(self, pattern: impl Into<String>) -> Self {
        self.matched(Is::Affirmed, Case::Ignored, pattern.into())
    }

    /// Does not match it, whatever the case.
    pub fn not_ilike(self, pattern: impl Into<String>) -> Self {
        self.matched(Is::Not, Case::Ignored, pattern.into())
    }

    fn matched(self, is: Is, case: Case, pattern: String) -> Self {
        Self::new(Node::Like(self, is, case, pattern))
    }

    /// Contains this text, whose characters mean themselves. Every text contains an empty one.
    pub fn contains(self, text: &str) -> Self {
        self.like(format!("%{}%", escape_like(text)))
    }

    /// Begins with this text, whose characters mean themselves.
    pub fn starts_with(self, text: &str) -> Self {
        self.like(format!("{}%", escape_like(text)))
    }

    /// Ends with this text, whose characters mean themselves.
    pub fn ends_with(self, text: &str) -> Self {
        self.like(format!("%{}", escape_like(text)))
    }
}

impl Binary {
    /// How it is written, where it is an operator.
    pub(crate) fn sign(self) -> &'static str {
        match self {
            Binary::Equal => " = ",
            Binary::NotEqual => " <> ",
            Binary::Less => " < ",
            Binary::LessOrEqual => " <= ",
            Binary::Greater => " > ",
            Binary::GreaterOrEqual => " >= ",
            Binary::Add => " + ",
            Binary::Subtract => " - ",
            Binary::Multiply => " * ",
            Binary::Divide => " / ",
            Binary::Remainder => " % ",
            Binary::Concatenate => " || ",
        }
    }
}

fn single(operator: &str, operand: Operand) -> Result<Expr> {
    match operand {
        Operand::Value(value) => Ok(value.into()),
        Operand::Expr(expr) => Ok(expr),
        Operand::Query(query) => Ok(query.into()),
        Operand::List(_) => Err(Error::Value(format!(
            "{operator} takes one value, not a list"
        ))),
        Operand::Range(..) => usage(format!("{operator} takes one value, not a range")),
    }
}

fn text(operator: &str, operand: Operand) -> Result<String> {
    match operand {
        Operand::Value(Value::Text(text)) => Ok(text),
        Operand::Value(_) | Operand::List(_) => Err(Error::Value(format!(
            "{operator} takes a pattern, which is text"
        ))),
        _ => usage(format!("{operator} takes a pattern, which is text")),
    }
}
