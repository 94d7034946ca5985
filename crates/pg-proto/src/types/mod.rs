//! Values on the wire: PostgreSQL's types and their binary and text forms (protocol chapter "Formats and Format Codes").
//! Not messages and not the catalogue: a [`Type`] comes in, bytes go in or out.
//! Values that other databases have too are those of `tsumugi_values`; their forms in the protocol are here.
//! Rule: bytes of a server never panic, never allocate more than they justify, and a value never changes on its way.
//!
//! | Rust | PostgreSQL |
//! | --- | --- |
//! | `bool` | bool |
//! | `i16` `i32` `i64` | int2, int4, int8; narrower ones are widened when read, written only where they fit |
//! | `u32`, `u64` | oid, xid, cid; xid8 |
//! | `f32` `f64` | float4, float8 |
//! | [`Numeric`] | numeric, digit by digit |
//! | `i8` | "char" |
//! | `&str` `String` | text, varchar, bpchar, name, citext, enums, json, jsonb, jsonpath, ltree; sent to any other type as text |
//! | `&[u8]` `Vec<u8>` `Bytes` | bytea |
//! | [`Date`] [`Time`] [`TimeTz`] [`Timestamp`] [`TimestampTz`] [`Interval`] | the same, with infinities and years BC |
//! | [`Uuid`] [`Inet`] [`MacAddr`] [`MacAddr8`] [`Bits`] [`Money`] [`Lsn`] [`Tid`] | uuid, inet and cidr, macaddr, macaddr8, bit and varbit, money, pg_lsn, tid |
//! | [`geometry`] | point, line, lseg, box, path, polygon, circle |
//! | `Vec<T>` | arrays of one dimension |
//! | [`Range`], `Vec<Range>` | ranges, multiranges |
//! | `HashMap` `BTreeMap` of `String` and `Option<String>` | hstore |
//! | `Option<T>` | NULL |
//! | [`Value`] | everything |

mod array;
mod bits;
mod builtin;
mod composite;
mod decode;
mod encode;
mod error;
mod float;
pub mod geometry;
mod hstore;
mod integer;
mod interval;
pub mod json;
mod kind;
mod literal;
mod macaddr;
mod money;
mod network;
mod numeric;
pub mod print;
mod range;
mod read;
mod scalar;
mod temporal;
mod text;
mod timetz;
#[cfg(feature = "serde_json")]
mod tree;
mod value;

pub use array::Dimension;
pub use bits::Bits;
pub use decode::Decode;
pub(crate) use encode::part;
pub use encode::{Encode, Encoded};
pub use error::{DecodeError, EncodeError};
pub use interval::Interval;
pub use kind::{Field, Kind, Type, TypeRef};
pub use macaddr::{MacAddr, MacAddr8};
pub use money::{Lsn, Money, Tid};
pub use network::Inet;
pub use numeric::{Numeric, Sign};
pub use range::Range;
pub use text::prefers_text;
pub use timetz::TimeTz;
pub use tsumugi_values::{Date, Time, Timestamp, TimestampTz, Uuid};
pub use value::{Array, Column, Value};

/// The number of a type in the catalogue, `pg_type.oid`.
pub type Oid = u32;

/// How a value is written on the wire; the numbers are the protocol's format codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(i16)]
pub enum Format {
    /// As the server prints it.
    Text = 0,
    /// The type's own bytes.
    Binary = 1,
}

impl Format {
    /// The protocol's format code.
    pub const fn code(self) -> i16 {
        self as i16
    }
}
