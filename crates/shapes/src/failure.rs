//! What does not fit, and where. Not the words for it, which are a catalog's.
//! Rule: no more than `SHAPE_FAILURES_MAX` are kept, and that there were more is kept too.

use std::rc::Rc;

use crate::limits::SHAPE_FAILURES_MAX;

/// What is wrong with a value.
#[derive(Clone, Debug, PartialEq)]
pub enum FieldFailure {
    /// A message of the catalog, by its key, with the limit that it names.
    Key {
        /// The key: `missing`, `min`, `email`, or one of the application's own.
        key: Rc<str>,
        /// What stands for `{limit}`; empty where there is none.
        limit: String,
    },
    /// A text of the application, as it is.
    Text(Rc<str>),
}

impl FieldFailure {
    /// A message by its key.
    pub fn key(key: impl Into<Rc<str>>) -> FieldFailure {
        let limit = String::new();
        let key = key.into();
        FieldFailure::Key { key, limit }
    }

    /// The same with a limit.
    pub fn limit(key: impl Into<Rc<str>>, limit: impl ToString) -> FieldFailure {
        let limit = limit.to_string();
        let key = key.into();
        FieldFailure::Key { key, limit }
    }
}

impl From<&str> for FieldFailure {
    fn from(text: &str) -> FieldFailure {
        FieldFailure::Text(text.into())
    }
}

impl From<String> for FieldFailure {
    fn from(text: String) -> FieldFailure {
        FieldFailure::Text(text.into())
    }
}

/// A failure and the path of the field that it is about.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// `items[0].price`; empty for the object as a whole.
    pub path: Box<str>,
    /// What is wrong.
    pub failure: FieldFailure,
}

/// All that does not fit, in the order in which it was found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Failures {
    places: Vec<Place>,
    is_cut: bool,
}

impl Failures {
    /// Keeps one. Beyond `SHAPE_FAILURES_MAX` it is kept only that there were more.
    pub fn add(&mut self, path: impl Into<Box<str>>, failure: FieldFailure) {
        if self.places.len() >= SHAPE_FAILURES_MAX {
            self.is_cut = true;
            return;
        }
        let path = path.into();
        self.places.push(Place { path, failure });
    }

    /// Keeps a text of the application: `failures.text("to", "must be after from")`.
    pub fn text(&mut self, path: &str, text: impl Into<Rc<str>>) {
        self.add(path, FieldFailure::Text(text.into()));
    }

    /// Whether everything fits.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Whether there is something wrong with this field, or below it.
    pub fn concerns(&self, path: &str) -> bool {
        self.places.iter().any(|place| {
            let rest = place.path.strip_prefix(path);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        })
    }

    /// What was kept.
    pub fn places(&self) -> &[Place] {
        &self.places
    }

    /// Whether there were more than `SHAPE_FAILURES_MAX`.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_beyond_their_limit_are_counted_as_more() {
        let mut failures = Failures::default();
        for i in 0..SHAPE_FAILURES_MAX {
            failures.add(format!("f{i}"), FieldFailure::key("missing"));
        }
        assert!(!failures.is_cut());
        failures.add("last", FieldFailure::key("missing"));
        assert!(failures.is_cut() && failures.places().len() == SHAPE_FAILURES_MAX);
    }

    #[test]
    fn path_concerns_what_is_below_it_and_no_longer_name() {
        let mut failures = Failures::default();
        failures.text("items[0].price", "no");
        for (path, expected) in [
            ("items", true),
            ("items[0]", true),
            ("items[0].price", true),
            ("item", false),
            ("items[0].pri", false),
            ("items[1]", false),
        ] {
            assert_eq!(failures.concerns(path), expected, "{path}");
        }
    }
}
