//! Single values as the author of a shape writes them: bounds, choices, defaults. Not what a client sends.
//! Rule: whole numbers are compared as whole numbers, all others as floats.

use std::cmp::Ordering;
use std::fmt;
use std::rc::Rc;

/// A value in a shape.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    /// A truth.
    Boolean(bool),
    /// A whole number.
    Integer(i64),
    /// Any other number.
    Number(f64),
    /// A text.
    Text(Rc<str>),
    /// A list without items.
    EmptyList,
}

impl Literal {
    /// Which of two numbers is greater; nothing where one of them is no number.
    pub fn compare(&self, other: &Literal) -> Option<Ordering> {
        match (self, other) {
            (Literal::Integer(one), Literal::Integer(other)) => Some(one.cmp(other)),
            _ => self.as_number()?.partial_cmp(&other.as_number()?),
        }
    }

    /// Whether both are the same value: 1 and 1.0 are.
    pub fn is_same(&self, other: &Literal) -> bool {
        self == other || self.compare(other) == Some(Ordering::Equal)
    }

    fn as_number(&self) -> Option<f64> {
        match self {
            Literal::Integer(integer) => Some(*integer as f64),
            Literal::Number(number) => Some(*number),
            _ => None,
        }
    }
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Literal::Boolean(truth) => write!(f, "{truth}"),
            Literal::Integer(integer) => write!(f, "{integer}"),
            Literal::Number(number) => write!(f, "{number}"),
            Literal::Text(text) => f.write_str(text),
            Literal::EmptyList => f.write_str("[]"),
        }
    }
}

impl From<bool> for Literal {
    fn from(truth: bool) -> Literal {
        Literal::Boolean(truth)
    }
}

impl From<f64> for Literal {
    fn from(number: f64) -> Literal {
        Literal::Number(number)
    }
}

impl From<&str> for Literal {
    fn from(text: &str) -> Literal {
        Literal::Text(text.into())
    }
}

impl From<String> for Literal {
    fn from(text: String) -> Literal {
        Literal::Text(text.into())
    }
}

macro_rules! from_integers {
    ($($type:ty),*) => {
        $(impl From<$type> for Literal {
            fn from(integer: $type) -> Literal {
                Literal::Integer(integer.into())
            }
        })*
    };
}

from_integers!(i8, i16, i32, i64, u8, u16, u32);
