//! Shapes of what clients send: types, ranges, lengths, formats and choices of each field, nested, and a message for each that does not fit.
//! Not requests, not JSON, not a language of applications: values are read and made through [`Values`].
//! Rule: all failures are collected, up to a limit, each with its path, which is also the name that an input of a form has.

#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic
    )
)]

mod check;
mod failure;
mod form;
mod format;
mod json_schema;
pub mod limits;
mod literal;
mod messages;
pub mod scalar;
mod shape;
mod values;

pub use check::{Outcome, check};
pub use failure::{Failures, FieldFailure, Place};
pub use form::{FormFields, FormNode, FormValues};
pub use format::{Format, PatternDecision, TextPattern, goes_back};
pub use json_schema::SchemaNode;
pub use literal::Literal;
pub use messages::{Language, MessageCatalog, MessageError};
pub use shape::{
    Field, InputShape, Kind, LengthBounds, Rule, ShapeError, any, boolean, file, integer, list,
    number, object, text,
};
pub use values::{IndexedItems, InputKind, Values};
