//! What the pool does by the clock: closes connections that are too old or unneeded, asks idle ones whether they live, keeps
//! `min` open. Rule: it holds the pool only while it works, so that a pool without owners ends.

use std::rc::{Rc, Weak};
use std::time::Duration;

use super::dispatch::Inner;
use super::link::Link;
use super::member::Member;
use super::waiting::Kind;

/// How often it looks.
const EVERY: Duration = Duration::from_secs(1);
/// A connection that was idle this long is asked whether its server is there.
pub(super) const PING_AFTER: Duration = Duration::from_secs(30);
/// How long the answer may take.
const PING_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) fn start<L: Link>(pool: &Rc<Inner<L>>) {
    let pool = Rc::downgrade(pool);
    tokio::task::spawn_local(async move {
        while let Some(()) = turn(&pool) {
            tokio::time::sleep(EVERY).await;
        }
    });
}

/// Looks once; none when there is no pool to look at.
fn turn<L: Link>(pool: &Weak<Inner<L>>) -> Option<()> {
    let pool = pool.upgrade()?;
    for member in pool.members.borrow().iter() {
        member.age();
        let silent = pool.link.silent_since(&member.connection);
        if silent.is_some_and(|since| since.elapsed() > pool.settings.silence_max) {
            pool.link.end(&member.connection);
        }
        pool.link.look_after(&member.connection);
    }
    if pool.closed.get() {
        // Callers that still have one shall not wait for ever for a server that is gone.
        return (!pool.members.borrow().is_empty()).then_some(());
    }
    let mut spare = pool
        .members
        .borrow()
        .len()
        .saturating_sub(pool.settings.min);
    let idle = pool.settings.idle;
    pool.members.borrow_mut().retain(|member| {
        if !member.is_free() {
            return true;
        }
        let unneeded = spare > 0 && member.free_since().elapsed() >= idle;
        let stays = !unneeded && pool.is_fit(member);
        spare = spare.saturating_sub(usize::from(!stays));
        stays
    });
    let quiet = |member: &&Rc<Member<_>>| {
        member.is_free() && member.last_reply_at().elapsed() >= PING_AFTER
    };
    let quiet: Vec<_> = pool
        .members
        .borrow()
        .iter()
        .filter(quiet)
        .cloned()
        .collect();
    for member in quiet {
        ping(&pool, member);
    }
    let open = pool.members.borrow().len() + pool.opening.under_way();
    for _ in open..pool.settings.min {
        pool.open();
    }
    // Callers that share what there is do not wait for more while attempts fail: so the pool has to try again.
    let tries = pool.opening.is_failing() && pool.opening.under_way() == 0;
    if tries && open > 0 && open < pool.settings.max {
        pool.open();
    }
    // What became usable, or is no longer counted, without having been given back.
    if !pool.queue.is_empty() {
        pool.dispatch();
    }
    Some(())
}

/// Asks the server, as one of the sharers of the connection.
fn ping<L: Link>(pool: &Rc<Inner<L>>, member: Rc<Member<L::Connection>>) {
    let pool = Rc::clone(pool);
    let free_since = member.free_since();
    member.join();
    tokio::task::spawn_local(async move {
        let pinged = tokio::time::timeout(PING_TIMEOUT, pool.link.ping(&member.connection)).await;
        if matches!(pinged, Ok(Ok(()))) {
            pool.give_back(&member, Kind::Shared);
            return member.answered(free_since);
        }
        pool.link.end(&member.connection);
        pool.give_back(&member, Kind::Shared);
    });
}
