//! The symbols of names that Rust asks for again and again. mruby finds them through chains of 256 hash values.
//! Rule: only a symbol that the VM has made is kept, and it is kept as long as the VM, which never frees one either.

use std::cell::RefCell;
use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::value::Symbol;

/// Names that are kept; the host's own are a few hundred.
const NAMES_MAX: usize = 4_096;

/// Symbols by their names.
#[derive(Default)]
pub(crate) struct SymbolCache(RefCell<HashMap<Box<str>, Symbol, RandomState>>);

impl SymbolCache {
    /// The symbol of a name; `make` asks the VM when it is not known.
    pub fn symbol(&self, name: &str, make: impl FnOnce() -> Symbol) -> Symbol {
        if let Some(symbol) = self.0.borrow().get(name) {
            return *symbol;
        }
        let symbol = make();
        let mut names = self.0.borrow_mut();
        if names.len() < NAMES_MAX {
            names.insert(name.into(), symbol);
        }
        symbol
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_is_interned_once() {
        let names = SymbolCache::default();
        assert_eq!(names.symbol("a", || Symbol(1)), Symbol(1));
        assert_eq!(names.symbol("b", || Symbol(2)), Symbol(2));
        assert_eq!(names.symbol("a", || unreachable!()), Symbol(1));
    }

    #[test]
    fn names_beyond_the_limit_are_interned_again() {
        let names = SymbolCache::default();
        for i in 0..=NAMES_MAX {
            names.symbol(&i.to_string(), || Symbol(0));
        }
        let last = NAMES_MAX.to_string();
        assert_eq!(names.symbol(&last, || Symbol(7)), Symbol(7));
    }
}
