//! What a column or a parameter is: [`Type`]. Not a value, and not the catalogue; the reader of the catalogue builds these.
//! Rule: every reader of values asks [`Type::shape`], so a domain, an enum and an extension's type are decided in one place.

use std::borrow::Cow;
use std::ops::Deref;
use std::sync::Arc;

use super::{Format, Oid};
use crate::limits::TYPE_DEPTH_MAX;

/// A data type of the server: built in (see the constants) or described by the catalogue (`pg_type`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Type {
    pub(crate) oid: Oid,
    pub(crate) name: Cow<'static, str>,
    pub(crate) kind: Kind,
}

/// How a type is made.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// A base type.
    Simple,
    /// An array of any number of dimensions, with the type of its elements.
    Array(TypeRef),
    /// A range, with the type of its bounds.
    Range(TypeRef),
    /// A multirange, with the type of its ranges.
    Multirange(TypeRef),
    /// An enum with its labels in order. A label added since is still decoded.
    Enum(Vec<String>),
    /// A domain, with the type below it, which may be a domain too.
    Domain(TypeRef),
    /// A row type, with its columns in order.
    Composite(Vec<Field>),
    /// A pseudo-type such as `record` or `void`.
    Pseudo,
}

/// One column of a composite type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// The column's name.
    pub name: String,
    /// The column's type.
    pub ty: TypeRef,
}

/// A type that another refers to.
#[derive(Debug, Clone)]
pub enum TypeRef {
    /// One of the built-in types.
    Builtin(&'static Type),
    /// A type of the catalogue.
    Described(Arc<Type>),
}

impl TypeRef {
    pub(crate) fn as_type(&self) -> &Type {
        self
    }
}

impl Deref for TypeRef {
    type Target = Type;

    fn deref(&self) -> &Type {
        match self {
            Self::Builtin(ty) => ty,
            Self::Described(ty) => ty,
        }
    }
}

impl PartialEq for TypeRef {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for TypeRef {}

impl From<&'static Type> for TypeRef {
    fn from(ty: &'static Type) -> Self {
        Self::Builtin(ty)
    }
}

impl From<Arc<Type>> for TypeRef {
    fn from(ty: Arc<Type>) -> Self {
        Self::Described(ty)
    }
}

impl From<Type> for TypeRef {
    fn from(ty: Type) -> Self {
        Self::Described(Arc::new(ty))
    }
}

impl Type {
    /// A type of the catalogue. Extensions' types are recognized by their name: `hstore`, `ltree`, `lquery`, `ltxtquery`, `citext`.
    pub fn new(oid: Oid, name: impl Into<Cow<'static, str>>, kind: Kind) -> Self {
        Self {
            oid,
            name: name.into(),
            kind,
        }
    }

    /// A type of which only the number is known. Its values are text.
    pub const fn unknown(oid: Oid) -> Self {
        Self {
            oid,
            name: Cow::Borrowed("unknown"),
            kind: Kind::Simple,
        }
    }

    /// The type's number, `pg_type.oid`.
    #[inline]
    pub const fn oid(&self) -> Oid {
        self.oid
    }

    /// The type's name, `pg_type.typname`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How the type is made.
    pub const fn kind(&self) -> &Kind {
        &self.kind
    }

    /// The type itself, or what is below it if it is a domain.
    pub fn base(&self) -> &Self {
        let mut ty = self;
        for _ in 0..TYPE_DEPTH_MAX {
            match &ty.kind {
                Kind::Domain(below) => ty = below,
                _ => break,
            }
        }
        ty
    }

    /// The format to ask for in results. Binary whenever this crate reads the type's binary form in full.
    pub fn format(&self) -> Format {
        if readable(self, 0) {
            Format::Binary
        } else {
            Format::Text
        }
    }

    /// What separates elements in the text of an array of this type.
    pub(crate) fn delimiter(&self) -> u8 {
        if self.base().oid == Self::BOX.oid {
            b';'
        } else {
            b','
        }
    }
}

fn readable(ty: &Type, depth: usize) -> bool {
    if depth > TYPE_DEPTH_MAX {
        return false;
    }
    match ty.shape() {
        Shape::Opaque => false,
        Shape::Array(element) => readable(element, depth + 1),
        Shape::Range(bound) => readable(bound, depth + 1),
        Shape::Multirange(range) => readable(range, depth + 1),
        Shape::Composite(fields) => fields.iter().all(|field| readable(&field.ty, depth + 1)),
        _ => true,
    }
}

/// What the binary form of a type looks like.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shape<'t> {
    Bool,
    Char,
    Int2,
    Int4,
    Int8,
    /// Unsigned, 32 bits: oid, xid, cid.
    Oid,
    Xid8,
    Float4,
    Float8,
    Numeric,
    /// UTF-8 as it is.
    Text,
    Json,
    /// A version byte, which is 1, and UTF-8: jsonb.
    Jsonb,
    /// A version byte, which is 1, and UTF-8: jsonpath, ltree and its queries.
    Versioned,
    Bytea,
    Uuid,
    Date,
    Time,
    TimeTz,
    Timestamp,
    TimestampTz,
    Interval,
    Money,
    Inet,
    MacAddr,
    MacAddr8,
    Bits,
    Tid,
    Lsn,
    Point,
    Line,
    Lseg,
    Box,
    Path,
    Polygon,
    Circle,
    Hstore,
    Void,
    Record,
    Array(&'t Type),
    Range(&'t Type),
    /// With the type of its ranges.
    Multirange(&'t Type),
    Composite(&'t [Field]),
    /// Known in text format only.
    Opaque,
}

impl Type {
    #[inline]
    pub(crate) fn shape(&self) -> Shape<'_> {
        match &self.kind {
            Kind::Simple | Kind::Pseudo => simple(self),
            Kind::Array(element) => Shape::Array(element),
            Kind::Range(bound) => Shape::Range(bound),
            Kind::Multirange(range) => Shape::Multirange(range),
            Kind::Enum(_) => Shape::Text,
            Kind::Composite(fields) => Shape::Composite(fields),
            Kind::Domain(_) => match self.base() {
                // Deeper than the limit: its binary form is not asked for.
                Self {
                    kind: Kind::Domain(_),
                    ..
                } => Shape::Opaque,
                base => base.shape(),
            },
        }
    }
}

fn simple(ty: &Type) -> Shape<'static> {
    Type::builtin_shape(ty.oid).unwrap_or_else(|| match &*ty.name {
        "hstore" => Shape::Hstore,
        "ltree" | "lquery" | "ltxtquery" => Shape::Versioned,
        "citext" => Shape::Text,
        _ => Shape::Opaque,
    })
}
