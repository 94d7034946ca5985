//! Words that several threads write, each on cache lines of its own, so that writers of one do not slow readers of another.

use std::ops::Deref;

/// A value alone on its cache lines (two, because processors fetch lines in pairs).
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct CachePadded<T>(T);

impl<T> Deref for CachePadded<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}
