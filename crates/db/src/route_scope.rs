//! Which route the code that runs on this thread serves and where in the author's code it is, for what is said of it later. Knows no request and
//! no router. Rule: it is that of the current activity, and there is none outside of one.

use std::sync::Arc;

/// `file:line` of the author's code that asks now, or else the route.
pub(crate) fn source_location() -> Option<Arc<str>> {
    tsumugi_trace::source_location().or_else(current)
}

/// The route of now; none outside of any.
pub(crate) fn current() -> Option<Arc<str>> {
    tsumugi_trace::current().and_then(|activity| activity.route().cloned())
}
