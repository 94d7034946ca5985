//! What the statement that runs on this thread must still obey: a waiting caller, a deadline, a policy.
//! Knows no connection. SQLite calls back into it from hooks, on the thread that runs the statement, which is why
//! it is thread-local and needs neither lock nor atomic.
//! Rule: one statement at a time; `arm` before it, `disarm` after it.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::job::Reply;
use super::policy::{Policy, Refusal};
use super::session::End;

/// Why a statement was stopped from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The caller's future was dropped, or the transaction has ended.
    Abandoned,
    /// The deadline passed.
    TimedOut,
}

#[derive(Debug, Default)]
struct Watch {
    caller: Option<Reply>,
    /// With which it stops.
    end: Option<Arc<End>>,
    deadline: Option<Instant>,
    busy_since: Option<Instant>,
    stop: Option<Stop>,
    policy: Policy,
    refusal: Option<Refusal>,
    /// The number of a row, and into which tables one with it was inserted.
    row_id: i64,
    tables: Vec<String>,
}

thread_local! {
    static WATCH: RefCell<Watch> = RefCell::default();
}

/// What the watch saw.
#[derive(Debug)]
pub(super) struct WatchReport {
    pub(super) caller: Option<Reply>,
    pub(super) stop: Option<Stop>,
    pub(super) refusal: Option<Refusal>,
}

/// Begins to watch a statement.
pub(super) fn arm(caller: Option<Reply>, timeout: Duration, policy: Policy) {
    let deadline = Some(Instant::now() + timeout);
    WATCH.set(Watch {
        caller,
        deadline,
        policy,
        ..Watch::default()
    });
}

/// It stops when the transaction ends.
pub(super) fn stop_with(end: Option<&Arc<End>>) {
    WATCH.with_borrow_mut(|watch| watch.end = end.cloned());
}

/// Ends it and gives the caller back.
pub(super) fn disarm() -> WatchReport {
    let watch = WATCH.take();
    WatchReport {
        caller: watch.caller,
        stop: watch.stop,
        refusal: watch.refusal,
    }
}

/// Whether the statement must stop now. SQLite asks this every few thousand instructions.
pub(super) fn must_stop() -> bool {
    WATCH.with_borrow_mut(|watch| {
        let has_ended = watch.end.as_ref().is_some_and(|end| end.is_set());
        if has_ended || watch.caller.as_ref().is_some_and(Reply::is_closed) {
            watch.stop = Some(Stop::Abandoned);
        } else if watch
            .deadline
            .is_some_and(|deadline| Instant::now() >= deadline)
        {
            watch.stop = Some(Stop::TimedOut);
        }
        watch.stop.is_some()
    })
}

/// Waits a moment for another process's lock. False when the statement should rather fail. `attempt` counts from 0.
pub(super) fn wait_for_lock(attempt: i32, busy_timeout: Duration) -> bool {
    if must_stop() {
        return false;
    }
    let now = Instant::now();
    let since = WATCH.with_borrow_mut(|watch| {
        if attempt == 0 {
            watch.busy_since = None;
        }
        *watch.busy_since.get_or_insert(now)
    });
    if now - since >= busy_timeout {
        return false;
    }
    let pause_ms = 1 << attempt.clamp(0, 4);
    pause(Duration::from_millis(pause_ms));
    true
}

#[expect(
    clippy::disallowed_methods,
    reason = "an engine thread serves no worker"
)]
fn pause(duration: Duration) {
    std::thread::sleep(duration);
}

/// What the statement may do.
pub(super) fn policy() -> Policy {
    WATCH.with_borrow(|watch| watch.policy)
}

/// Notes why a part of the statement was not allowed.
pub(super) fn refuse(refusal: Refusal) {
    WATCH.with_borrow_mut(|watch| watch.refusal = Some(refusal));
}

/// From here on it is noted when a row with this number is inserted.
pub(super) fn look_for(row_id: i64) {
    WATCH.with_borrow_mut(|watch| watch.row_id = row_id);
}

/// A row was inserted.
pub(super) fn inserted(table: &str, row_id: i64) {
    WATCH.with_borrow_mut(|watch| {
        if watch.row_id == row_id && !watch.tables.iter().any(|other| other == table) {
            watch.tables.push(table.to_owned());
        }
    });
}

/// Whether a row with that number was inserted into a table that this text names, and not only by a trigger into another.
pub(super) fn has_inserted_into(sql: &str) -> bool {
    WATCH.with_borrow(|watch| {
        let mut tables = watch.tables.iter();
        tables.any(|table| names(sql, table))
    })
}

fn names(sql: &str, table: &str) -> bool {
    let (sql, table) = (sql.to_lowercase(), table.to_lowercase());
    sql.contains(&table) || sql.contains(&table.replace('"', "\"\""))
}

/// Puts back what a watch saw, after another one in its place.
pub(super) fn resume(stop: Option<Stop>, refusal: Option<Refusal>) {
    WATCH.with_borrow_mut(|watch| (watch.stop, watch.refusal) = (stop, refusal));
}
