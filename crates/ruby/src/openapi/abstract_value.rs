//! What is known of a value without running the program that makes it. Not the reading of the program.
//! Rule: a value of many parts is not known, so that looking at one costs little however it was made.

use std::rc::Rc;

use crate::limits::KNOWN_PARTS_MAX;

/// A value, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum AbstractValue {
    #[default]
    Nothing,
    Nil,
    Boolean(bool),
    Integer(i64),
    Float(f64),
    Text(Rc<str>),
    Symbol(Rc<str>),
    /// A constant, by its path.
    Constant(Rc<str>),
    Range(Rc<AbstractRange>),
    List(Rc<Parts<AbstractValue>>),
    Table(Rc<Parts<(AbstractValue, AbstractValue)>>),
    /// The request's context, which handlers run in.
    Context,
    /// What the context has of the request.
    Part(RequestPart),
}

/// What a handler reads from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestPart {
    Request,
    Body,
    Query,
    Headers,
    Cookies,
}

#[derive(Debug, PartialEq)]
pub(super) struct AbstractRange {
    pub first: AbstractValue,
    pub last: AbstractValue,
    pub is_exclusive: bool,
}

/// The parts of a value, and how many there are when those of parts are counted too.
#[derive(Debug, PartialEq)]
pub(super) struct Parts<T> {
    pub items: Vec<T>,
    count: usize,
}

impl AbstractValue {
    /// An Array.
    pub fn list(items: Vec<AbstractValue>) -> AbstractValue {
        let count = items.iter().map(AbstractValue::parts).sum::<usize>() + 1;
        match count > KNOWN_PARTS_MAX {
            true => AbstractValue::Nothing,
            false => AbstractValue::List(Rc::new(Parts { items, count })),
        }
    }

    /// A Hash.
    pub fn table(items: Vec<(AbstractValue, AbstractValue)>) -> AbstractValue {
        let parts = items.iter().map(|(key, value)| key.parts() + value.parts());
        let count = parts.sum::<usize>() + 1;
        match count > KNOWN_PARTS_MAX {
            true => AbstractValue::Nothing,
            false => AbstractValue::Table(Rc::new(Parts { items, count })),
        }
    }

    /// A Range of single values.
    pub fn range(range: AbstractRange) -> AbstractValue {
        match range.first.parts() + range.last.parts() > 2 {
            true => AbstractValue::Nothing,
            false => AbstractValue::Range(Rc::new(range)),
        }
    }

    fn parts(&self) -> usize {
        match self {
            AbstractValue::List(list) => list.count,
            AbstractValue::Table(table) => table.count,
            AbstractValue::Range(_) => 3,
            _ => 1,
        }
    }

    /// The text of a name: a Symbol or a String.
    pub fn name(&self) -> Option<&str> {
        match self {
            AbstractValue::Text(text) | AbstractValue::Symbol(text) => Some(text),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_of_more_parts_than_the_limit_is_not_known() {
        let list = |count: usize| AbstractValue::list(vec![AbstractValue::Nil; count]);
        assert!(matches!(list(KNOWN_PARTS_MAX - 1), AbstractValue::List(_)));
        assert_eq!(list(KNOWN_PARTS_MAX), AbstractValue::Nothing);
        let pairs = |count: usize| {
            AbstractValue::table(vec![(AbstractValue::Nil, AbstractValue::Nil); count])
        };
        assert!(matches!(
            pairs((KNOWN_PARTS_MAX - 1) / 2),
            AbstractValue::Table(_)
        ));
        assert_eq!(pairs(KNOWN_PARTS_MAX / 2 + 1), AbstractValue::Nothing);
    }

    #[test]
    fn value_that_holds_itself_again_and_again_is_given_up_soon() {
        let mut value = AbstractValue::Nil;
        for _ in 0..64 {
            value = AbstractValue::list(vec![value.clone(), value]);
        }
        // Without the limit it had 2^64 parts.
        assert!(value.parts() <= KNOWN_PARTS_MAX);
    }
}
