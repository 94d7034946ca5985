//! Where in the author's code a fibre waits, and what its operation's spans are below. Opens no span.
//! Rule: a request that nobody watches pays one look at its thread for each wait.

use std::sync::Arc;

use tsumugi_mruby::Scope;
use tsumugi_trace::{is_observed, within};

use crate::answer::Operation;
use crate::host::Host;

/// The place in the author's code that runs now, `app.rb:12`, from the application's folder.
pub(super) fn place(host: &Host, scope: &Scope<'_>) -> Option<Arc<str>> {
    if !is_observed() {
        return None;
    }
    let (file, line) = scope.location()?;
    let folder = host
        .settings
        .app
        .parent()
        .and_then(|folder| folder.to_str());
    let inside = folder.and_then(|folder| file.strip_prefix(folder));
    let file = inside.map_or(&*file, |file| file.trim_start_matches('/'));
    Some(format!("{file}:{line}").into())
}

/// An operation whose spans are below that of its fibre and know its place.
pub(super) fn placed(host: &Host, scope: &Scope<'_>, mut operation: Operation) -> Operation {
    if !is_observed() {
        return operation;
    }
    let (parent, place) = (host.job.span(), place(host, scope));
    Box::pin(std::future::poll_fn(move |cx| {
        within(parent, place.as_ref(), || operation.as_mut().poll(cx))
    }))
}
