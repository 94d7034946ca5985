//! Asking the server to stop what no caller waits for any more. The request goes on the same connection and names nothing: it hits what
//! runs when it arrives, or else what comes next.
//! A server looks at it at once only when nothing else has come that it has not begun; otherwise it waits its turn, and so does every later one
//! behind it. So it stops a statement whose rows are being fetched, if it did not come before the fetch was begun, and not one with a
//! commit in the same write. What does not stop ends with its connection.
//! Rule: it is sent in a write of its own when no live request is under way and no more than an execution and its rows are missing; nothing
//! else goes out until what it is meant for has been answered, and the first thing after it is a question, which takes it up if it came
//! too late. A ping would not.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};
use tsumugi_firebird_proto::connection::{Expect, PendingReplies};
use tsumugi_firebird_proto::info;
use tsumugi_firebird_proto::request::Items;
use tsumugi_wire::limits::CANCEL_AGAIN_AFTER;
use tsumugi_wire::{CancelOutcome, Pipeline, Ticket};

use super::driver::FirebirdDriver;
use crate::limits::STUCK_TIMEOUT;

/// Of the request for information that takes up a request to cancel which came too late.
const CANCEL_FENCE: Ticket = Ticket::MAX - 1;

/// How long the server gets to begin the last that it was sent: a request to cancel that comes before is looked at too late.
const BEGIN_AFTER: Duration = Duration::from_millis(40);

/// Any information that the server gives soon.
const FENCE_ITEMS: Items<'static> = Items {
    items: &[info::database::SQL_DIALECT],
    bytes_max: 64,
};

/// Answers of an execution, in the same write with what closes the rows before and asks for its own. That of a transaction begun in the same
/// write is one more, and comes before the execution begins.
const STOPPABLE: usize = 3;

/// Writes the fence, and asks the server to stop again and again until everything before the fence has been answered. Where no fence fits
/// behind what was sent, a request to cancel might hit what comes later: none is sent, and the connection ends.
pub(super) async fn stop(wire: &Pipeline<FirebirdDriver>) -> CancelOutcome {
    let driver = &wire.driver;
    let written = FirebirdDriver::write(wire, CANCEL_FENCE, |writer| {
        writer.ask(Expect::Response, |requests| {
            requests.database_info(driver.database, FENCE_ITEMS)
        })
    });
    if written.is_err() {
        return CancelOutcome::Uncertain;
    }
    let mut quiet = Instant::now();
    let mut left = missing(wire);
    while left.will_answer {
        // The answer to an execution comes with the rows behind it, so that only time tells whether these were begun.
        sleep(BEGIN_AFTER).await;
        let now = missing(wire);
        if now != left {
            (left, quiet) = (now, Instant::now());
        } else if quiet.elapsed() >= STUCK_TIMEOUT {
            return CancelOutcome::Uncertain;
        } else if left.awaited <= STOPPABLE {
            wire.send_cancel();
            // The one before may have hit what came before it.
            let _ = timeout(CANCEL_AGAIN_AFTER, wire.another_reply()).await;
        }
    }
    CancelOutcome::Over
}

/// What is to come before the answer to the question. What callers write meanwhile stands behind it.
fn missing(wire: &Pipeline<FirebirdDriver>) -> PendingReplies {
    let queue = wire.driver.queue.borrow();
    queue.before(|token| token.ticket == CANCEL_FENCE)
}
