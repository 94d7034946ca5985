//! Ruby values as Rust holds them: valid while the scope they were made in lives, never longer.
//! What must outlive a scope is a [`Root`](crate::Root).

use std::marker::PhantomData;

use crate::sys::{self, RawValue};

/// Names the kinds once, in the order in which the shim numbers them.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident,)*) => {
        /// What a value is, as far as Rust cares.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Kind {
            $($(#[$doc])* $kind,)*
        }

        const KINDS: &[Kind] = &[$(Kind::$kind),*];
    };
}

kinds! {
    /// `nil`
    Nil,
    /// `false`
    False,
    /// `true`
    True,
    /// An Integer that fits 64 bits.
    Integer,
    /// A Float.
    Float,
    /// A Symbol.
    Symbol,
    /// A String (bytes; UTF-8 by convention).
    String,
    /// An Array.
    Array,
    /// A Hash.
    Hash,
    /// A Proc.
    Proc,
    /// An object that carries Rust data, or another library's.
    Data,
    /// An Exception.
    Exception,
    /// A Fiber.
    Fiber,
    /// A class or module.
    Class,
    /// A Range.
    Range,
    /// An Integer beyond 64 bits.
    BigInteger,
    /// Anything else.
    Object,
}

/// A Ruby value, protected from the collector for `'s`.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Value<'s> {
    pub(crate) raw: RawValue,
    scope: PhantomData<&'s ()>,
}

/// An interned name. Never freed by the VM: do not intern what a peer sent.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Symbol(pub(crate) u32);

/// A Ruby exception on its way up. A native that returns it raises it.
#[derive(Clone, Copy)]
pub struct Raise<'s>(pub Value<'s>);

/// The result of whatever may raise.
pub type Result<'s, T> = std::result::Result<T, Raise<'s>>;

impl std::fmt::Debug for Raise<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a Ruby exception")
    }
}

impl<'s> Value<'s> {
    pub(crate) const fn new(raw: RawValue) -> Self {
        Value {
            raw,
            scope: PhantomData,
        }
    }

    /// `nil`.
    pub const fn nil() -> Self {
        Value::new(RawValue::NIL)
    }

    /// `true` or `false`.
    pub fn boolean(truth: impl Into<bool>) -> Self {
        // SAFETY: builds an immediate; touches no VM.
        Value::new(unsafe { sys::ts_bool(truth.into().into()) })
    }

    /// A symbol.
    pub fn symbol(symbol: Symbol) -> Self {
        // SAFETY: builds an immediate; touches no VM.
        Value::new(unsafe { sys::ts_symbol(symbol.0) })
    }

    /// What this value is.
    pub fn kind(self) -> Kind {
        // SAFETY: reads the tag of a live value.
        let kind = unsafe { sys::ts_kind(self.raw) };
        usize::try_from(kind)
            .ok()
            .and_then(|i| KINDS.get(i).copied())
            .unwrap_or(Kind::Object)
    }

    /// Is this `nil`?
    pub fn is_nil(self) -> bool {
        self.kind() == Kind::Nil
    }

    /// Ruby's truth: everything but `nil` and `false`.
    pub fn truthy(self) -> bool {
        !matches!(self.kind(), Kind::Nil | Kind::False)
    }

    /// The number, when this is an Integer of 64 bits.
    pub fn as_integer(self) -> Option<i64> {
        // SAFETY: the tag was checked.
        (self.kind() == Kind::Integer).then(|| unsafe { sys::ts_integer_value(self.raw) })
    }

    /// The number, when this is a Float.
    pub fn as_float(self) -> Option<f64> {
        // SAFETY: the tag was checked.
        (self.kind() == Kind::Float).then(|| unsafe { sys::ts_float_value(self.raw) })
    }

    /// The symbol, when this is one.
    pub fn as_symbol(self) -> Option<Symbol> {
        // SAFETY: the tag was checked.
        (self.kind() == Kind::Symbol).then(|| Symbol(unsafe { sys::ts_symbol_value(self.raw) }))
    }

    /// The same object or the same immediate.
    pub fn is_same(self, other: Value<'_>) -> bool {
        // SAFETY: compares tags and payloads.
        unsafe { sys::ts_same(self.raw, other.raw) != 0 }
    }
}
