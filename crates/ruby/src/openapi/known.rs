//! What is known of a value without running the program that makes it. Not the reading of the program.
//! Rule: a value of many parts is not known, so that looking at one costs little however it was made.

use std::rc::Rc;

use crate::limits::KNOWN_PARTS_MAX;

/// A value, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Known {
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
    Range(Rc<KnownRange>),
    List(Rc<Parts<Known>>),
    Table(Rc<Parts<(Known, Known)>>),
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
pub(super) struct KnownRange {
    pub first: Known,
    pub last: Known,
    pub is_exclusive: bool,
}

/// The parts of a value, and how many there are when those of parts are counted too.
#[derive(Debug, PartialEq)]
pub(super) struct Parts<T> {
    pub items: Vec<T>,
    count: usize,
}

impl Known {
    /// An Array.
    pub fn list(items: Vec<Known>) -> Known {
        let count = items.iter().map(Known::parts).sum::<usize>() + 1;
        match count > KNOWN_PARTS_MAX {
            true => Known::Nothing,
            false => Known::List(Rc::new(Parts { items, count })),
        }
    }

    /// A Hash.
    pub fn table(items: Vec<(Known, Known)>) -> Known {
        let parts = items.iter().map(|(key, value)| key.parts() + value.parts());
        let count = parts.sum::<usize>() + 1;
        match count > KNOWN_PARTS_MAX {
            true => Known::Nothing,
            false => Known::Table(Rc::new(Parts { items, count })),
        }
    }

    /// A Range.
    pub fn range(first: Known, last: Known, is_exclusive: bool) -> Known {
        match first.parts() + last.parts() > 2 {
            true => Known::Nothing,
            false => Known::Range(Rc::new(KnownRange {
                first,
                last,
                is_exclusive,
            })),
        }
    }

    fn parts(&self) -> usize {
        match self {
            Known::List(list) => list.count,
            Known::Table(table) => table.count,
            Known::Range(_) => 3,
            _ => 1,
        }
    }

    /// The text of a name: a Symbol or a String.
    pub fn name(&self) -> Option<&str> {
        match self {
            Known::Text(text) | Known::Symbol(text) => Some(text),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_of_more_parts_than_the_limit_is_not_known() {
        let list = |count: usize| Known::list(vec![Known::Nil; count]);
        assert!(matches!(list(KNOWN_PARTS_MAX - 1), Known::List(_)));
        assert_eq!(list(KNOWN_PARTS_MAX), Known::Nothing);
        let pairs = |count: usize| Known::table(vec![(Known::Nil, Known::Nil); count]);
        assert!(matches!(pairs((KNOWN_PARTS_MAX - 1) / 2), Known::Table(_)));
        assert_eq!(pairs(KNOWN_PARTS_MAX / 2 + 1), Known::Nothing);
    }

    #[test]
    fn value_that_holds_itself_again_and_again_is_given_up_soon() {
        let mut value = Known::Nil;
        for _ in 0..64 {
            value = Known::list(vec![value.clone(), value]);
        }
        // Without the limit it had 2^64 parts.
        assert!(value.parts() <= KNOWN_PARTS_MAX);
    }
}
