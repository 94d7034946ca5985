//! Which scope holds what in the arena, when scopes are inside of each other. Knows levels and places, no values.
//! A scope that ends releases what it holds, and nothing that an outer one took while the inner one was open.

use std::cell::Cell;
use std::ffi::c_int;

/// What outer scopes took while inner ones were open.
#[derive(Clone, Copy)]
struct OuterValues {
    /// Of the outermost of them.
    level: u32,
    /// The end of what they took, a place in the arena.
    end: c_int,
}

const NOTHING: OuterValues = OuterValues {
    level: u32::MAX,
    end: 0,
};

/// The open scopes of a VM.
pub(crate) struct OpenScopes {
    innermost: Cell<u32>,
    taken: Cell<OuterValues>,
}

impl Default for OpenScopes {
    fn default() -> Self {
        OpenScopes {
            innermost: Cell::new(0),
            taken: Cell::new(NOTHING),
        }
    }
}

impl OpenScopes {
    /// Opens a scope; answers its level.
    pub fn enter(&self) -> u32 {
        let level = self.innermost.get() + 1;
        self.innermost.set(level);
        level
    }

    /// The level of the scope that was opened last.
    pub fn innermost(&self) -> u32 {
        self.innermost.get()
    }

    /// A scope that is not the innermost one has taken what ends at this place.
    #[cold]
    pub fn extend(&self, level: u32, end: c_int) {
        let level = level.min(self.taken.get().level);
        self.taken.set(OuterValues { level, end });
    }

    /// Closes the scope of this level; answers the place below which outer scopes hold something.
    pub fn leave(&self, level: u32) -> c_int {
        self.innermost.set(level - 1);
        let taken = self.taken.get();
        if taken.level < level {
            return taken.end;
        }
        self.taken.set(NOTHING);
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_that_took_nothing_from_outside_releases_all_of_its_own() {
        let held = OpenScopes::default();
        let outer = held.enter();
        let inner = held.enter();
        assert_eq!(held.leave(inner), 0);
        assert_eq!(held.leave(outer), 0);
    }

    #[test]
    fn value_of_an_outer_scope_outlives_the_inner_ones() {
        let held = OpenScopes::default();
        let outer = held.enter();
        let middle = held.enter();
        let inner = held.enter();
        held.extend(middle, 20);
        held.extend(outer, 21);
        assert_eq!(held.leave(inner), 21);
        assert_eq!(held.leave(middle), 21);
        assert_eq!(held.leave(outer), 0);
        assert_eq!(held.enter(), 1);
    }
}
