//! Which truth values a condition can have, as far as its structure says: what decides whether a change has a condition at all.
//! Not a prover: what a row or raw SQL answers may be anything, and two such answers have nothing to do with each other.
//! Rule: an outcome that is possible is never left out; of conditions whose parts are independent none is added either.

use std::cmp::Ordering;
use std::ops::BitOr;

use crate::expr::{Binary, Expr, Is, Node};
use crate::order;
use crate::parts::Item;
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

/// Whether a condition leaves no row out, whatever is in the rows: a group or list of nothing, a range without ends, what is made of these.
pub(crate) fn is_vacuous(condition: &Expr) -> bool {
    outcomes(condition, Nulls::Ignored) == Outcomes::TRUE
}

/// What a condition can be.
fn outcomes(condition: &Expr, nulls: Nulls) -> Outcomes {
    let each = |list: &[Expr], start, join: fn(Outcomes, Outcomes) -> Outcomes| {
        let outcomes = list.iter().map(|one| outcomes(one, nulls));
        outcomes.fold(start, join)
    };
    match condition.node() {
        Node::All(list) if list.array_windows().any(are_apart) => {
            each(list, nowhere(nulls), Outcomes::and)
        }
        Node::All(list) => each(list, Outcomes::TRUE, Outcomes::and),
        Node::Any(list) => each(list, Outcomes::FALSE, Outcomes::or),
        Node::Not(of) => outcomes(of, nulls).not(),
        Node::Unbounded(of, is) => match nulls {
            Nulls::Ignored => apply_negation(Outcomes::TRUE, *is),
            Nulls::Counted => outcomes(of, nulls),
        },
        Node::Null(of, is) => apply_negation(null(of, nulls), *is),
        Node::Between(of, is, from, to) => apply_negation(between(of, from, to, nulls), *is),
        Node::In(of, is, values) => apply_negation(among(of, values), *is),
        // Nothing is among the rows of a query that has none, NULL neither.
        Node::InQuery(of, is, query) => apply_negation(rows(query.parts()).and(operand(of)), *is),
        // Any text is like this.
        Node::Like(of, is, _, pattern) if !is_null(of) && is_wild(pattern) => {
            apply_negation(everywhere(nulls), *is)
        }
        Node::Like(of, ..) => operand(of),
        Node::Exists(query) => rows(query.parts()),
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
        | Node::TooDeep => Outcomes::ANY,
    }
}

fn apply_negation(outcomes: Outcomes, is: Is) -> Outcomes {
    match is {
        Is::Affirmed => outcomes,
        Is::Not => outcomes.not(),
    }
}

/// Whether something is NULL. A condition is where it is unknown.
fn null(of: &Expr, nulls: Nulls) -> Outcomes {
    match of.node() {
        Node::Value(Value::Null) => Outcomes::TRUE,
        Node::Value(_) | Node::One => Outcomes::FALSE,
        Node::All(_) | Node::Any(_) | Node::Not(_) | Node::Exists(_) => {
            let inner = outcomes(of, nulls);
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
fn rows(parts: &Parts) -> Outcomes {
    if parts.limit == Some(0) {
        return Outcomes::FALSE;
    }
    let plain = |item: &Item| {
        matches!(
            item.expr.node(),
            Node::Column(_) | Node::Value(_) | Node::One
        )
    };
    // A number about no rows is a row, unless it is asked of each group.
    let is_number = parts.groups.is_empty() && !parts.items.iter().all(plain);
    if is_number || !parts.having.is_empty() {
        return Outcomes::TWO;
    }
    let filters = parts
        .filters
        .iter()
        .map(|filter| outcomes(filter, Nulls::Counted));
    let held = filters.fold(Outcomes::TRUE, Outcomes::and);
    let is_one = parts.source.is_none() && parts.joins.is_empty() && parts.groups.is_empty();
    match held {
        _ if !held.has(Outcomes::TRUE) => Outcomes::FALSE,
        _ if is_one && parts.offset > 0 => Outcomes::FALSE,
        Outcomes::TRUE if is_one => Outcomes::TRUE,
        _ => Outcomes::TWO,
    }
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
        return match (operator, right) {
            (Binary::GreaterOrEqual, Value::Real(f64::NEG_INFINITY))
            | (Binary::LessOrEqual, Value::Real(f64::INFINITY)) => everywhere(nulls),
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
