//! Which route the code that runs on this thread serves, for lines of the log about what outlives it. Knows no request and no router.
//! Rule: a route is there only while something is polled for it, so that what runs next on the thread is not taken for its own.

use std::cell::Cell;
use std::sync::Arc;

thread_local! {
    static CURRENT: Cell<Option<Arc<str>>> = const { Cell::new(None) };
}

/// Runs this for a route, such as one poll of its handler. `route` is its pattern.
pub fn in_route<T>(route: &Arc<str>, run: impl FnOnce() -> T) -> T {
    let _restore = Restore(CURRENT.replace(Some(Arc::clone(route))));
    run()
}

/// The route of now; none outside of any.
pub(crate) fn current() -> Option<Arc<str>> {
    let current = CURRENT.take();
    CURRENT.set(current.clone());
    current
}

/// Restores the route of before, also when what ran panics.
struct Restore(Option<Arc<str>>);

impl Drop for Restore {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn route_within_another_ends_with_what_ran_for_it() {
        let [outer, inner]: [Arc<str>; 2] = ["/outer".into(), "/inner".into()];
        let now = || current().as_deref().map(str::to_owned);
        assert_eq!(now(), None);
        in_route(&outer, || {
            let seen = in_route(&inner, || [now(), now()]);
            assert_eq!(seen, [Some("/inner".to_owned()), Some("/inner".to_owned())]);
            assert_eq!(now().as_deref(), Some("/outer"));
        });
        assert_eq!(now(), None);
    }
}
