//! How values are read and made, whoever has them: a VM's objects, parsed JSON, a form. Knows no rule.
//! Rule: an input is cheap to copy, and nothing of it is read that no rule asks for.

use std::borrow::Cow;

use crate::literal::Literal;

/// What a client has sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum InputKind {
    /// Nothing, or null.
    Null,
    /// A truth.
    Boolean(bool),
    /// A whole number of 64 bits.
    Integer(i64),
    /// Any other number.
    Number(f64),
    /// A text, with no character in it or some.
    Text {
        /// Whether it has none.
        is_empty: bool,
    },
    /// A list.
    List,
    /// An object.
    Object,
    /// A file.
    File,
    /// A value that no rule takes.
    Other,
}

/// Items of a list with their indices.
pub type IndexedItems<I> = Vec<(u64, I)>;

/// The values of one language or format.
pub trait Values {
    /// A value as it was sent.
    type Input: Clone;
    /// A value that fits.
    type Output;
    /// Why values cannot be read or made.
    type Error;

    /// What it is.
    fn kind(&self, input: &Self::Input) -> Result<InputKind, Self::Error>;

    /// The text of what is one.
    fn text<'a>(&'a self, input: &'a Self::Input) -> Result<Cow<'a, str>, Self::Error>;

    /// The field of an object.
    fn field(&self, object: &Self::Input, name: &str) -> Result<Option<Self::Input>, Self::Error>;

    /// The items of a list with their indices, no more than `max` and one; nothing when it is no list.
    fn items(
        &self,
        input: &Self::Input,
        max: usize,
    ) -> Result<Option<IndexedItems<Self::Input>>, Self::Error>;

    /// The value as it was sent.
    fn keep(&self, input: &Self::Input) -> Result<Self::Output, Self::Error>;

    /// A value that was converted, or stands for one that is missing.
    fn literal(&self, literal: &Literal) -> Result<Self::Output, Self::Error>;

    /// A list of values.
    fn list(&self, items: Vec<Self::Output>) -> Result<Self::Output, Self::Error>;

    /// An object of these fields.
    fn object(&self, fields: Vec<(&str, Self::Output)>) -> Result<Self::Output, Self::Error>;

    /// Stands for an item that does not fit, so that the others keep their places.
    fn nothing(&self) -> Self::Output;
}
