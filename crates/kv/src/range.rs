//! Which records a read is about: one beside a key, or all between bounds. Reads nothing.
//! Rule: keys are ordered byte by byte, as unsigned numbers; a shorter key comes before those it begins.

use std::cmp::Ordering;
use std::ops::Bound;

use bytes::Bytes;

/// A key and its value.
pub type Pair = (Bytes, Bytes);

/// One record by its place in the order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seek {
    /// The least key.
    First,
    /// The greatest key.
    Last,
    /// The least key that is this one or greater.
    AtOrAfter(Bytes),
    /// The least key that is greater than this one.
    After(Bytes),
    /// The greatest key that is this one or less.
    AtOrBefore(Bytes),
    /// The greatest key that is less than this one.
    Before(Bytes),
}

impl Seek {
    /// What is sought beyond `key`, in the same direction.
    pub(crate) fn beyond(&self, key: Bytes) -> Self {
        match self.direction() {
            ReadDirection::Forward => Self::After(key),
            ReadDirection::Backward => Self::Before(key),
        }
    }

    fn direction(&self) -> ReadDirection {
        match self {
            Self::First | Self::AtOrAfter(_) | Self::After(_) => ReadDirection::Forward,
            Self::Last | Self::AtOrBefore(_) | Self::Before(_) => ReadDirection::Backward,
        }
    }
}

/// The outcome of one step of a search for a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SeekOutcome {
    /// The record.
    Found(Pair),
    /// There is none.
    Nothing,
    /// So many expired records lay before it that the step ended. It is still to be sought from here.
    Farther(Seek),
}

/// Which way a range is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReadDirection {
    /// From the least key on.
    #[default]
    Forward,
    /// From the greatest key back.
    Backward,
}

/// The records between two bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRange {
    /// The lower bound.
    pub from: Bound<Bytes>,
    /// The upper bound.
    pub to: Bound<Bytes>,
    /// Which way they are read.
    pub direction: ReadDirection,
}

impl KeyRange {
    /// All records, from the least key on.
    #[must_use]
    pub fn all() -> Self {
        Self {
            from: Bound::Unbounded,
            to: Bound::Unbounded,
            direction: ReadDirection::Forward,
        }
    }

    /// The records whose keys begin with `prefix`.
    #[must_use]
    pub fn prefix(prefix: impl Into<Bytes>) -> Self {
        let prefix = prefix.into();
        Self {
            to: after_prefix(&prefix).map_or(Bound::Unbounded, Bound::Excluded),
            from: Bound::Included(prefix),
            direction: ReadDirection::Forward,
        }
    }

    /// The same records, read the other way.
    #[must_use]
    pub fn reversed(mut self) -> Self {
        self.direction = match self.direction {
            ReadDirection::Forward => ReadDirection::Backward,
            ReadDirection::Backward => ReadDirection::Forward,
        };
        self
    }

    /// What is left of the range once `key`, the last one of a page, was read.
    #[must_use]
    pub fn after(mut self, key: Bytes) -> Self {
        match self.direction {
            ReadDirection::Forward => self.from = Bound::Excluded(key),
            ReadDirection::Backward => self.to = Bound::Excluded(key),
        }
        self
    }

    /// The part that has both bounds: `self` within `other`; the direction is that of `self`.
    #[must_use]
    pub fn within(mut self, other: &KeyRange) -> Self {
        if is_nearer(&other.from, &self.from, Ordering::Greater) {
            self.from = other.from.clone();
        }
        if is_nearer(&other.to, &self.to, Ordering::Less) {
            self.to = other.to.clone();
        }
        self
    }

    /// Whether no key can be in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match (&self.from, &self.to) {
            (Bound::Unbounded, _) | (_, Bound::Unbounded) => false,
            (Bound::Included(from), Bound::Included(to)) => from > to,
            (Bound::Included(from) | Bound::Excluded(from), Bound::Excluded(to))
            | (Bound::Excluded(from), Bound::Included(to)) => from >= to,
        }
    }

    /// The bounds as standard containers take them.
    pub(crate) fn bounds(&self) -> (Bound<&[u8]>, Bound<&[u8]>) {
        (
            self.from.as_ref().map(Bytes::as_ref),
            self.to.as_ref().map(Bytes::as_ref),
        )
    }
}

impl From<&Seek> for KeyRange {
    /// The range whose first record is the one that is sought.
    fn from(seek: &Seek) -> Self {
        let (from, to) = match seek {
            Seek::First | Seek::Last => (Bound::Unbounded, Bound::Unbounded),
            Seek::AtOrAfter(key) => (Bound::Included(key.clone()), Bound::Unbounded),
            Seek::After(key) => (Bound::Excluded(key.clone()), Bound::Unbounded),
            Seek::AtOrBefore(key) => (Bound::Unbounded, Bound::Included(key.clone())),
            Seek::Before(key) => (Bound::Unbounded, Bound::Excluded(key.clone())),
        };
        let direction = seek.direction();
        Self {
            from,
            to,
            direction,
        }
    }
}

/// The least key that is greater than all that begin with `prefix`.
fn after_prefix(prefix: &[u8]) -> Option<Bytes> {
    let last = prefix.iter().rposition(|byte| *byte != u8::MAX)?;
    let mut after = prefix[..=last].to_vec();
    after[last] += 1;
    Some(Bytes::from(after))
}

/// Whether the bound `one` leaves less than `other` does: among lower ones the greater, among upper ones the less.
fn is_nearer(one: &Bound<Bytes>, other: &Bound<Bytes>, nearer: Ordering) -> bool {
    match (one, other) {
        (Bound::Unbounded, _) => false,
        (_, Bound::Unbounded) => true,
        (
            Bound::Included(key) | Bound::Excluded(key),
            Bound::Included(than) | Bound::Excluded(than),
        ) => match key.cmp(than) {
            Ordering::Equal => matches!((one, other), (Bound::Excluded(_), Bound::Included(_))),
            ordering => ordering == nearer,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(prefix: &'static [u8], inside: &[&'static [u8]], outside: &[&'static [u8]]) {
        let range = KeyRange::prefix(prefix);
        let has =
            |key: &&'static [u8]| std::ops::RangeBounds::<[u8]>::contains(&range.bounds(), *key);
        assert!(inside.iter().all(has) && !outside.iter().any(has));
    }

    #[test]
    fn prefix_covers_exactly_the_keys_that_begin_with_it() {
        check(b"a", &[b"a", b"a\xff\xff", b"ab"], &[b"", b"b", b"A"]);
        check(b"a\xff", &[b"a\xff", b"a\xff\xff"], &[b"a", b"b"]);
        check(b"\xff", &[b"\xff", b"\xff\xff"], &[b"\xfe\xff"]);
        check(b"", &[b"", b"\xff"], &[]);
    }

    #[test]
    fn ranges_within_each_other_keep_the_nearer_bounds() {
        let keys = |from: Bound<&'static str>, to: Bound<&'static str>| KeyRange {
            from: from.map(Bytes::from),
            to: to.map(Bytes::from),
            direction: ReadDirection::Forward,
        };
        let both = keys(Bound::Included("b"), Bound::Excluded("d"));
        assert_eq!(KeyRange::all().within(&both), both);
        assert_eq!(both.clone().within(&KeyRange::all()), both);
        assert_eq!(
            keys(Bound::Excluded("b"), Bound::Included("d")).within(&both),
            keys(Bound::Excluded("b"), Bound::Excluded("d"))
        );
        assert!(
            keys(Bound::Included("d"), Bound::Unbounded)
                .within(&both)
                .is_empty()
        );
        assert!(!both.is_empty());
    }
}
