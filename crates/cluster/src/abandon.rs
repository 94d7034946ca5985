//! Giving back a lease that nobody waits for, over any engine. Knows no statement.
//! Rule: it ends after a few tries: the time of the lease ends it otherwise.

use tokio::time::sleep;

use crate::error::Result;
use crate::limits::ABANDON_PAUSES;

/// Ends a lease in a task of its own, unless the runtime has ended. Where `release` finds no lease, the request for it may still be under way on
/// another connection, so it is tried again.
pub fn abandon_by(release: impl AsyncFn() -> Result<bool> + 'static) {
    if tokio::runtime::Handle::try_current().is_err() {
        return; // its time ends it
    }
    drop(tokio::task::spawn_local(async move {
        for pause in ABANDON_PAUSES {
            match release().await {
                Ok(true) => return,
                Ok(false) => {}
                Err(error) => tracing::debug!(%error, "a lease is not given back yet"),
            }
            sleep(pause).await;
        }
    }));
}
