//! Where in the author's code an error of another crate became one of this crate's: the `?`, or the call. Knows no text of an error.
//! Rule: what is known is the last such place of the request, job or tick that runs now. An error of another kind than the last one has none.

use std::cell::Cell;
use std::panic::Location;

use tsumugi_trace::SpanId;

/// The folder of this crate's sources: a `?` in them is none of the author's.
const OWN_FILE: &str = file!();

#[derive(Clone, Copy)]
struct ErrorLocation {
    class: &'static str,
    location: &'static Location<'static>,
    activity: Option<SpanId>,
}

thread_local! {
    static LAST: Cell<Option<ErrorLocation>> = const { Cell::new(None) };
}

fn activity() -> Option<SpanId> {
    tsumugi_trace::current().map(|activity| activity.span_id())
}

/// An error of this class has its place here.
#[cold]
pub(crate) fn note(class: &'static str, location: &'static Location<'static>) {
    let is_own = OWN_FILE
        .strip_suffix("error_location.rs")
        .is_some_and(|folder| location.file().starts_with(folder));
    let place = ErrorLocation {
        class,
        location,
        activity: activity(),
    };
    LAST.set(Some(place).filter(|_| !is_own));
}

/// Where the error of this class was made that ends what runs now, as `file:line`.
pub(crate) fn take(class: &str) -> Option<String> {
    let last = LAST.take()?;
    let is_it = last.class == class && last.activity == activity();
    is_it.then(|| format!("{}:{}", last.location.file(), last.location.line()))
}

#[cfg(test)]
mod tests {
    use tsumugi_trace::{Activity, ActivityKind};

    use super::*;

    #[test]
    fn place_is_that_of_the_last_error_of_its_class() {
        let location = Location::caller();
        note("Db", location);
        // These sources are the crate's own.
        assert_eq!(take("Db"), None);
        let place = ErrorLocation {
            class: "Db",
            location,
            activity: None,
        };
        LAST.set(Some(place));
        assert_eq!(take("Kv"), None);
        LAST.set(Some(place));
        assert!(take("Db").is_some_and(|place| place.contains("error_location.rs:")));
        assert_eq!(take("Db"), None);
    }

    #[test]
    fn error_of_another_activity_has_no_place() {
        let begin = || Activity::begin_named(ActivityKind::Job, "thumbnail".into(), None);
        let (one, other) = (begin(), begin());
        let elsewhere = one.enter(|| ErrorLocation {
            class: "Db",
            location: Location::caller(),
            activity: activity(),
        });
        LAST.set(Some(elsewhere));
        assert_eq!(other.enter(|| take("Db")), None);
        LAST.set(Some(elsewhere));
        assert_eq!(take("Db"), None);
        LAST.set(Some(elsewhere));
        assert!(one.enter(|| take("Db")).is_some());
    }
}
