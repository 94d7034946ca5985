//! Which truth values a condition can have, as far as its structure says: what decides whether a change has a condition at all.
//! Not a prover: what a row or raw SQL answers may be anything, and two such answers have nothing to do with each other.
//! Rule: an outcome that is possible is never left out; of conditions whose parts are independent none is added either.

use std::ops::BitOr;

use crate::expr::{Binary, Expr, Is, Node};
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

/// Whether a condition leaves no row out, whatever is in the rows: a group or list of nothing, a range without ends, what is made of these.
pub(crate) fn is_vacuous(condition: &Expr) -> bool {
    // A range without ends was to narrow the rows down and says nothing: that it leaves NULL out was not asked for.
    outcomes(condition, Outcomes::TRUE) == Outcomes::TRUE
}

/// What a condition can be. `unbounded` is what a range without ends counts as.
fn outcomes(condition: &Expr, unbounded: Outcomes) -> Outcomes {
    let each = |list: &[Expr], start, join: fn(Outcomes, Outcomes) -> Outcomes| {
        let outcomes = list.iter().map(|one| outcomes(one, unbounded));
        outcomes.fold(start, join)
    };
    match condition.node() {
        Node::All(list) => each(list, Outcomes::TRUE, Outcomes::and),
        Node::Any(list) => each(list, Outcomes::FALSE, Outcomes::or),
        Node::Not(of) => outcomes(of, unbounded).not(),
        Node::Unbounded(_) => unbounded,
        Node::Null(of, is) => stated(null(of, unbounded), *is),
        Node::In(_, is, values) if values.is_empty() => stated(Outcomes::FALSE, *is),
        // Nothing is among the rows of a query that has none, NULL neither.
        Node::InQuery(_, is, query) if rows(query.parts()) == Outcomes::FALSE => {
            stated(Outcomes::FALSE, *is)
        }
        Node::Exists(query) => rows(query.parts()),
        Node::Value(Value::Boolean(true)) => Outcomes::TRUE,
        Node::Value(Value::Boolean(false)) => Outcomes::FALSE,
        Node::Value(Value::Null) => Outcomes::UNKNOWN,
        Node::Binary(left, operator, right) => compared(left, *operator, right),
        Node::Value(_)
        | Node::Column(_)
        | Node::Star
        | Node::Excluded(_)
        | Node::Negate(_)
        | Node::Between(..)
        | Node::In(..)
        | Node::InQuery(..)
        | Node::Like(..)
        | Node::Query(_)
        | Node::Call(_)
        | Node::Raw(_)
        | Node::One
        | Node::After(..)
        | Node::TooDeep => Outcomes::ANY,
    }
}

fn stated(outcomes: Outcomes, is: Is) -> Outcomes {
    match is {
        Is::So => outcomes,
        Is::Not => outcomes.not(),
    }
}

/// Whether something is NULL. A condition is where it is unknown.
fn null(of: &Expr, unbounded: Outcomes) -> Outcomes {
    match of.node() {
        Node::Value(Value::Null) => Outcomes::TRUE,
        Node::Value(_) | Node::One => Outcomes::FALSE,
        Node::All(_) | Node::Any(_) | Node::Not(_) | Node::Exists(_) => {
            let inner = outcomes(of, unbounded);
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
        .map(|filter| outcomes(filter, Outcomes::ANY));
    let held = filters.fold(Outcomes::TRUE, Outcomes::and);
    let is_one = parts.source.is_none() && parts.joins.is_empty() && parts.groups.is_empty();
    match held {
        _ if !held.has(Outcomes::TRUE) => Outcomes::FALSE,
        _ if is_one && parts.offset > 0 => Outcomes::FALSE,
        Outcomes::TRUE if is_one => Outcomes::TRUE,
        _ => Outcomes::TWO,
    }
}

/// A comparison with NULL is unknown; of two whole numbers or truth values the answer is here.
fn compared(left: &Expr, operator: Binary, right: &Expr) -> Outcomes {
    let (Node::Value(left), Node::Value(right)) = (left.node(), right.node()) else {
        let is_null = |side: &Expr| *side.node() == Node::Value(Value::Null);
        return match is_null(left) || is_null(right) {
            true => Outcomes::UNKNOWN,
            false => Outcomes::ANY,
        };
    };
    let order = match (left, right) {
        (Value::Null, _) | (_, Value::Null) => return Outcomes::UNKNOWN,
        (Value::Integer(left), Value::Integer(right)) => left.cmp(right),
        (Value::Boolean(left), Value::Boolean(right)) => left.cmp(right),
        (Value::Text(left), Value::Text(right)) if left == right => std::cmp::Ordering::Equal,
        _ => return Outcomes::ANY,
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
