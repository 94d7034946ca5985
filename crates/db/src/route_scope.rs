//! Which route the code that runs on this thread serves, for lines of the log about what outlives it. Knows no request and no router.
//! Rule: it is that of the current activity, and there is none outside of one.

use std::sync::Arc;

/// The route of now; none outside of any.
pub(crate) fn current() -> Option<Arc<str>> {
    tsumugi_trace::current().and_then(|activity| activity.route().cloned())
}
