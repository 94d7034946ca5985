//! Giving back a lease that nobody waits for, over any engine. Knows no statement.
//! Rule: it ends after a few tries: the time of the lease ends it otherwise.

use tokio::time::sleep;

use crate::error::Result;
use crate::limits::ABANDON_PAUSES;

/// Ends a lease in a task of its own, if there are any more. Where the holder has none yet, the question for it may still be under way, on another
/// connection; so it is looked for again.
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
