//! Asking the server to stop what nobody waits for any more. The request goes on the same connection and names nothing: it hits what
//! runs when it arrives, or else what comes next.
//! A server looks at it at once only when nothing else has come that it has not begun; otherwise it waits its turn, and so does every later one
//! behind it. So it stops a statement whose rows are being fetched, if it did not come before the fetch was begun, and not one with a
//! commit in the same write. What does not stop ends with its connection.
//! Rule: it is sent in a write of its own when no live request is under way and no more than an execution and its rows are missing; nothing
//! else goes out until what it is meant for has been answered, and the first thing after it is a question, which takes it up if it came
//! too late. A ping would not.

use std::rc::Rc;

use tokio::time::{Instant, sleep, timeout};
use tsumugi_firebird_proto::connection::{Before, Expect};
use tsumugi_firebird_proto::info;
use tsumugi_firebird_proto::request::Items;

use super::slots::CANCEL_FENCE;
use super::{BEGIN_AFTER, CANCEL_AFTER, CANCEL_AGAIN_AFTER, Lost, Shared};
use crate::limits::{CANCEL_TIMEOUT, STUCK_TIMEOUT};

/// Any question that the server answers soon.
const SPONGE_ITEMS: Items<'static> = Items {
    items: &[info::database::SQL_DIALECT],
    bytes_max: 64,
};

/// Answers of an execution, in the same write with what closes the rows before and asks for its own. That of a transaction begun in the same
/// write is one more, and comes before the execution begins.
const STOPPABLE: usize = 3;

/// A caller left before its answer came. If the server does not answer soon, and nobody else waits, it is asked to stop.
pub(super) fn abandoned(shared: &Rc<Shared>) {
    let idle = shared.watching_abandoned.replace(true);
    if idle || tokio::runtime::Handle::try_current().is_err() {
        return;
    }
    let shared = Rc::clone(shared);
    tokio::task::spawn_local(async move {
        loop {
            sleep(CANCEL_AFTER).await;
            if !shared.protocol.borrow().will_answer() || shared.lost.borrow().is_some() {
                break;
            }
            if shared.slots.borrow().has_callers() || !shared.out.borrow().is_empty() {
                continue;
            }
            stop(&shared).await;
        }
        shared.watching_abandoned.set(false);
        // The pump may have been waiting for this task to let go.
        shared.let_go(2);
    });
}

async fn stop(shared: &Rc<Shared>) {
    shared.held.set(true);
    let written = shared.write(CANCEL_FENCE, |writer| {
        writer.ask(Expect::Response, |requests| {
            requests.database_info(shared.database, SPONGE_ITEMS)
        })
    });
    debug_assert!(written.is_ok() || shared.lost.borrow().is_some());
    let ended = timeout(CANCEL_TIMEOUT, ended(shared));
    if ended.await != Ok(Ended::Answered) {
        shared.lose(Lost::aborted(
            "a statement that nobody waited for did not stop, and was ended with its connection",
        ));
    }
    shared.held.set(false);
    shared.ring();
    shared.slots.borrow_mut().wake_watchers();
}

/// How it ended with what nobody waits for.
#[derive(PartialEq, Eq)]
enum Ended {
    Answered,
    /// It goes on, and cannot be stopped.
    Stuck,
}

/// Asks again and again, until everything before the question has been answered.
async fn ended(shared: &Shared) -> Ended {
    let mut quiet = Instant::now();
    let mut left = missing(shared);
    while left.will_answer {
        // The answer to an execution comes with the rows behind it, so that only time tells whether these were begun.
        sleep(BEGIN_AFTER).await;
        let now = missing(shared);
        if now != left {
            (left, quiet) = (now, Instant::now());
        } else if quiet.elapsed() >= STUCK_TIMEOUT {
            return Ended::Stuck;
        } else if left.awaited <= STOPPABLE {
            shared.cancelling.set(true);
            shared.ring();
            // The one before may have hit what came before it.
            let _ = timeout(CANCEL_AGAIN_AFTER, shared.changed()).await;
        }
    }
    Ended::Answered
}

/// What is to come before the answer to the question. What callers write meanwhile stands behind it.
fn missing(shared: &Shared) -> Before {
    let protocol = shared.protocol.borrow();
    protocol.before(|token| token.ticket == CANCEL_FENCE)
}
