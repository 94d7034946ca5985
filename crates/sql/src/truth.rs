//! Which truth values a condition can have, as far as its structure says: what decides whether a change has a condition at all.
//! Not a prover: what a row or raw SQL answers may be anything, and two such answers have nothing to do with each other.
//! Rule: an outcome that is possible is never left out; of conditions whose parts are independent none is added either.

use std::cmp::Ordering;
use std::ops::BitOr;

use crate::expr::{Binary, Expr, Is, Node};
use crate::name::Name;
use crate::order;
use crate::parts::{Body, JoinKind, Origin, Source};
use crate::query::Parts;
use crate::value::Value;

/// Some of the three truth values of SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outcomes(u8);

impl Outcomes {
    const NONE: Outcomes = Outcomes(0);
    const FALSE: Outcomes = Outcomes(1);
    const UNKNOWN: Outcomes = Outcomes(2);
    const TRUE: Outcomes = Outcomes(4);
    /// What is never NULL.
    const TWO: Outcomes = Outcomes(5);
    const ANY: Outcomes = Outcomes(7);

    fn has(self, outcome: Outcomes) -> bool {
        self.0 & outcome.0 != 0
    }

    /// These of `outcome`.
    fn only(self, outcome: Outcomes) -> Outcomes {
        Outcomes(self.0 & outcome.0)
    }

    fn not(self) -> Outcomes {
        let mut not = self.only(Outcomes::UNKNOWN);
        if self.has(Outcomes::TRUE) {
            not = not | Outcomes::FALSE;
        }
        if self.has(Outcomes::FALSE) {
            not = not | Outcomes::TRUE;
        }
        not
    }

    /// The lesser of each pair, where false is less than unknown and unknown less than true.
    fn and(self, other: Outcomes) -> Outcomes {
        let mut both = Outcomes::NONE;
        for one in [Outcomes::FALSE, Outcomes::UNKNOWN, Outcomes::TRUE] {
            for another in [Outcomes::FALSE, Outcomes::UNKNOWN, Outcomes::TRUE] {
                if self.has(one) && other.has(another) {
                    both = both | Outcomes(one.0.min(another.0));
                }
            }
        }
        both
    }

    fn or(self, other: Outcomes) -> Outcomes {
        self.not().and(other.not()).not()
    }
}

impl BitOr for Outcomes {
    type Output = Outcomes;

    fn bitor(self, other: Outcomes) -> Outcomes {
        Outcomes(self.0 | other.0)
    }
}

/// What NULL in a column is to a condition about values that says nothing of any: a range without ends, or one from 5 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Nulls {
    /// To a change: that it leaves NULL out was not asked for.
    Ignored,
    /// To the rows of a sub-select: what it is in SQL.
    Counted,
}

/// Where a condition stands.
#[derive(Clone, Copy)]
struct Place<'p> {
    nulls: Nulls,
    named: &'p Named<'p>,
}

/// What is known of the named queries that a query sees.
#[derive(Default)]
struct Named<'p> {
    /// Whether each has a row.
    own: Vec<(&'p Name, Outcomes)>,
    outer: Option<&'p Named<'p>>,
}

impl<'p> Named<'p> {
    /// Those of a query, which see each other. One that may read from itself, or from a later one, may have rows or not.
    fn of(parts: &'p Parts, outer: Option<&'p Named<'p>>) -> Self {
        let own = parts.ctes.iter().map(|cte| (&cte.name, Outcomes::TWO));
        let mut named = Named {
            own: own.collect(),
            outer,
        };
        for (index, cte) in parts.ctes.iter().enumerate() {
            if let (Body::Query(query), false) = (&cte.body, parts.recursive) {
                let has_rows = rows(query.parts(), &named);
                if let Some(own) = named.own.get_mut(index) {
                    own.1 = has_rows;
                }
            }
        }
        named
    }

    /// Whether what is called so has a row.
    fn rows(&self, name: &Name) -> Outcomes {
        let own = self.own.iter().rev().find(|(own, _)| *own == name);
        match (own, self.outer) {
            (Some((_, rows)), _) => *rows,
            (None, Some(outer)) => outer.rows(name),
            (None, None) => Outcomes::TWO,
        }
    }
}

/// Whether the conditions of a change leave no row out, whatever is in the rows: groups or lists of nothing, ranges without ends, what is
/// made of these; or none at all.
pub(crate) fn is_vacuous(change: &Parts) -> bool {
    let named = Named::of(change, None);
    let place = Place {
        nulls: Nulls::Ignored,
        named: &named,
    };
    every(&change.filters, place) == Outcomes::TRUE
}

/// What several conditions together can be.
fn every(conditions: &[Expr], place: Place<'_>) -> Outcomes {
    let outcomes = conditions.iter().map(|one| outcomes(one, place));
    outcomes.fold(Outcomes::TRUE, Outcomes::and)
}

/// What a condition can be.
fn outcomes(condition: &Expr, place: Place<'_>) -> Outcomes {
    let Place { nulls, named } = place;
    match condition.node() {
        Node::All(list) if list.array_windows().any(are_apart) => {
            every(list, place).and(nowhere(nulls))
        }
        Node::All(list) => every(list, place),
        Node::Any(list) => {
            let outcomes = list.iter().map(|one| outcomes(one, place));
            outcomes.fold(Outcomes::FALSE, Outcomes::or)
        }
        Node::Not(of) => outcomes(of, place).not(),
        Node::Unbounded(of, is) => match nulls {
            Nulls::Ignored => apply_negation(Outcomes::TRUE, *is),
            Nulls::Counted => outcomes(of, place),
        },
        Node::Null(of, is) => apply_negation(null(of, place), *is),
        Node::Between(of, is, from, to) => apply_negation(between(of, from, to, nulls), *is),
        Node::In(of, is, values) => apply_negation(among(of, values), *is),
        // Nothing is among the rows of a query that has none, NULL neither.
        Node::InQuery(of, is, query) => {
            apply_negation(rows(query.parts(), named).and(operand(of)), *is)
        }
        // Any text is like this.
        Node::Like(of, is, _, pattern) if !is_null(of) && is_wild(pattern) => {
            apply_negation(everywhere(nulls), *is)
        }
        Node::Like(of, ..) => operand(of),
        Node::Exists(query) => rows(query.parts(), named),
        Node::Value(Value::Boolean(true)) => Outcomes::TRUE,
        Node::Value(Value::Boolean(false)) => Outcomes::FALSE,
        Node::Value(Value::Null) => Outcomes::UNKNOWN,
        Node::Binary(left, operator, right) => match right.node() {
            Node::Value(right) => compared(left, *operator, right, nulls),
            _ => operand(left),
        },
        Node::Value(_)
        | Node::Column(_)
        | Node::Star
        | Node::Excluded(_)
        | Node::Negate(_)
        | Node::Query(_)
        | Node::Call(_)
        | Node::Raw(_)
        | Node::One
        | Node::After(..)
        | Node::TooDeep
        | Node::TooLarge => Outcomes::ANY,
    }
}

fn apply_negation(outcomes: Outcomes, is: Is) -> Outcomes {
    match is {
        Is::Affirmed => outcomes,
        Is::Not => outcomes.not(),
    }
}

/// Whether something is NULL. A condition is where it is unknown.
fn null(of: &Expr, place: Place<'_>) -> Outcomes {
    match of.node() {
        Node::Value(Value::Null) => Outcomes::TRUE,
        Node::Value(_) | Node::One => Outcomes::FALSE,
        Node::Query(query) if rows(query.parts(), place.named) == Outcomes::FALSE => Outcomes::TRUE,
        Node::All(_)
        | Node::Any(_)
        | Node::Not(_)
        | Node::Exists(_)
        | Node::Binary(..)
        | Node::In(..)
        | Node::InQuery(..)
        | Node::Like(..) => {
            let inner = outcomes(of, place);
            let unknown = inner.has(Outcomes::UNKNOWN);
            let known = inner.has(Outcomes::TWO);
            match (unknown, known) {
                (true, true) => Outcomes::TWO,
                (true, false) => Outcomes::TRUE,
                (false, _) => Outcomes::FALSE,
            }
        }
        _ => Outcomes::TWO,
    }
}

/// Whether a query has a row.
fn rows(parts: &Parts, outer: &Named<'_>) -> Outcomes {
    if parts.limit == Some(0) {
        return Outcomes::FALSE;
    }
    let named = Named::of(parts, Some(outer));
    let place = Place {
        nulls: Nulls::Counted,
        named: &named,
    };
    let found = from(parts, place).and(holds(every(&parts.filters, place)));
    let (numbers, is_grouped) = (numbers(parts), !parts.groups.is_empty());
    // A number about rows is one row, of no rows too, unless it is asked of each group.
    let is_number = !is_grouped && (numbers == Outcomes::TRUE || !parts.having.is_empty());
    let made = if is_number { Outcomes::TRUE } else { found };
    let made = match (numbers == Outcomes::TWO, is_grouped) {
        (false, _) => made,
        (true, true) => made.and(Outcomes::TWO),
        (true, false) => Outcomes::TWO,
    };
    let left = made.and(holds(every(&parts.having, place)));
    let is_of_nothing = parts.source.is_none() && parts.joins.is_empty() && !is_grouped;
    match parts.offset {
        0 => left,
        _ if is_number || is_of_nothing => Outcomes::FALSE,
        _ => left.and(Outcomes::TWO),
    }
}

/// Whether there is a row to which the conditions of a query are put.
fn from(parts: &Parts, place: Place<'_>) -> Outcomes {
    let of = |source: &Source| match &source.of {
        Origin::Table(name) => place.named.rows(name),
        Origin::Query(query) => rows(query.parts(), place.named),
        Origin::Raw(_) => Outcomes::TWO,
    };
    let first = parts.source.as_ref().map_or(Outcomes::TRUE, of);
    parts.joins.iter().fold(first, |before, join| {
        let other = of(&join.source);
        let on = join.on.as_ref();
        let on = on.map_or(Outcomes::TRUE, |on| holds(outcomes(on, place)));
        match join.kind {
            JoinKind::Inner | JoinKind::Cross => before.and(other).and(on),
            JoinKind::Left => before,
            JoinKind::Right => other,
        }
    })
}

/// Whether a row is found by a condition that can be this.
fn holds(condition: Outcomes) -> Outcomes {
    match condition {
        Outcomes::TRUE => Outcomes::TRUE,
        condition if condition.has(Outcomes::TRUE) => Outcomes::TWO,
        _ => Outcomes::FALSE,
    }
}

/// Whether a query asks for a number about its rows: what it selects, or orders by, has an aggregate.
fn numbers(parts: &Parts) -> Outcomes {
    let items = parts.items.iter().map(|item| &item.expr);
    any_number(items.chain(parts.orders.iter().map(|order| &order.expr)))
}

/// The same of several expressions. Raw SQL and functions that are not known here may be aggregates, and may be of several rows or none.
fn any_number<'e>(list: impl IntoIterator<Item = &'e Expr>) -> Outcomes {
    let each = list.into_iter().map(|expr| match expr.node() {
        Node::Raw(_) => Outcomes::TWO,
        Node::Call(call) => match (&*call.function, call.arguments.len()) {
            ("count" | "sum" | "avg", _) | ("min" | "max", 1) => Outcomes::TRUE,
            _ => Outcomes::TWO,
        },
        // A number about the rows of another query is a value here.
        node => any_number(node.children()),
    });
    each.fold(Outcomes::FALSE, |one, other| match (one, other) {
        (Outcomes::TWO, _) | (_, Outcomes::TWO) => Outcomes::TWO,
        _ => one.or(other),
    })
}

/// What is true of no value.
fn nowhere(nulls: Nulls) -> Outcomes {
    match nulls {
        Nulls::Ignored => Outcomes::FALSE,
        Nulls::Counted => Outcomes::FALSE | Outcomes::UNKNOWN,
    }
}

/// What is true of every value.
fn everywhere(nulls: Nulls) -> Outcomes {
    nowhere(nulls).not()
}

fn is_null(of: &Expr) -> bool {
    *of.node() == Node::Value(Value::Null)
}

fn is_constant(of: &Expr) -> bool {
    matches!(of.node(), Node::Value(_))
}

/// What a condition about this can be, of whose other side nothing is known.
fn operand(of: &Expr) -> Outcomes {
    match is_null(of) {
        true => Outcomes::UNKNOWN,
        false => Outcomes::ANY,
    }
}

/// Nothing is between a value and a lesser one.
fn between(of: &Expr, from: &Value, to: &Value, nulls: Nulls) -> Outcomes {
    if !is_constant(of) && order::of(from, to) == Some(Ordering::Greater) {
        return nowhere(nulls);
    }
    // Between infinity and itself is one value, not a range without an end.
    if order::of(from, to) == Some(Ordering::Equal) {
        return compared(of, Binary::Equal, from, nulls);
    }
    let lower = compared(of, Binary::GreaterOrEqual, from, nulls);
    lower.and(compared(of, Binary::LessOrEqual, to, nulls))
}

/// Whether two conditions are the ends of a range that has nothing in it: `a >= 5` and `a < 5`.
fn are_apart([lower, upper]: &[Expr; 2]) -> bool {
    use Binary::{Greater, GreaterOrEqual, Less, LessOrEqual};
    let (Node::Binary(of, above, from), Node::Binary(same, below, to)) =
        (lower.node(), upper.node())
    else {
        return false;
    };
    let (Node::Value(from), Node::Value(to)) = (from.node(), to.node()) else {
        return false;
    };
    let meets = match (above, below) {
        (GreaterOrEqual, LessOrEqual) => false,
        (Greater | GreaterOrEqual, Less | LessOrEqual) => true,
        _ => return false,
    };
    let is_apart = match order::of(from, to) {
        Some(Ordering::Greater) => true,
        Some(Ordering::Equal) => meets,
        _ => false,
    };
    is_apart && !is_constant(of) && of == same
}

/// Nothing is in a list of nothing, NULL neither.
fn among(of: &Expr, values: &[Value]) -> Outcomes {
    if !is_constant(of) && !values.is_empty() {
        return Outcomes::ANY;
    }
    let equal = |value| compared(of, Binary::Equal, value, Nulls::Counted);
    values.iter().map(equal).fold(Outcomes::FALSE, Outcomes::or)
}

/// Whether a pattern is one of every text.
fn is_wild(pattern: &str) -> bool {
    !pattern.is_empty() && pattern.bytes().all(|byte| byte == b'%')
}

/// A comparison with NULL is unknown; of two constants whose order is known the answer is here.
fn compared(left: &Expr, operator: Binary, right: &Value, nulls: Nulls) -> Outcomes {
    if *right == Value::Null {
        return Outcomes::UNKNOWN;
    }
    let Node::Value(left) = left.node() else {
        return match right {
            Value::Real(right) if right.is_infinite() => from_end(operator, *right, nulls),
            _ => Outcomes::ANY,
        };
    };
    if *left == Value::Null {
        return Outcomes::UNKNOWN;
    }
    let Some(order) = order::of(left, right) else {
        return Outcomes::ANY;
    };
    let holds = match operator {
        Binary::Equal => order.is_eq(),
        Binary::NotEqual => order.is_ne(),
        Binary::Less => order.is_lt(),
        Binary::LessOrEqual => order.is_le(),
        Binary::Greater => order.is_gt(),
        Binary::GreaterOrEqual => order.is_ge(),
        _ => return Outcomes::ANY,
    };
    match holds {
        true => Outcomes::TRUE,
        false => Outcomes::FALSE,
    }
}

/// A comparison with an infinite number, which is an end that a range does not have. To a change it does not matter whether that end is
/// included.
fn from_end(operator: Binary, end: f64, nulls: Nulls) -> Outcomes {
    use Binary::{Greater, GreaterOrEqual, Less, LessOrEqual};
    let is_top = end > 0.0;
    match (operator, nulls) {
        (GreaterOrEqual, _) if !is_top => everywhere(nulls),
        (LessOrEqual, _) if is_top => everywhere(nulls),
        (Greater, Nulls::Ignored) if !is_top => Outcomes::TRUE,
        (Less, Nulls::Ignored) if is_top => Outcomes::TRUE,
        (Greater | GreaterOrEqual | Less | LessOrEqual, Nulls::Ignored) => Outcomes::FALSE,
        _ => Outcomes::ANY,
    }
}
