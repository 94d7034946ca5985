//! What one process of all computes while the others wait, for `fetch` of both languages. Keeps no value.
//! Rule: a computation is done once too often rather than never: who has waited for long enough does without the lock.

use std::time::Duration;

use futures_util::future::{FutureExt as _, LocalBoxFuture};
use ring::digest::{Context, SHA256};

use crate::cluster::{Cluster, LockWait};
use crate::engine::ReleaseKind;
use crate::error::{Error, Result};
use crate::lease::Lease;

/// How long the lock of a computation is taken for unless it is renewed, and how long others wait for it.
pub const COMPUTATION_TTL: Duration = Duration::from_secs(30);

/// The name of the lock under which a value is computed: of a store, by its name for people, and a key. Keys may be longer than names are. Two that
/// share a name would only wait for each other.
#[must_use]
pub fn computation_name(store: &str, key: &[u8]) -> String {
    let mut context = Context::new(&SHA256);
    // The length keeps two pairs apart that are the same text one after the other.
    context.update(&(store.len() as u64).to_be_bytes());
    context.update(store.as_bytes());
    context.update(key);
    let digest = context.finish();
    let first = digest.as_ref().iter().take(16);
    let hex: String = first.map(|byte| format!("{byte:02x}")).collect();
    format!("fetch {hex}")
}

impl Cluster {
    /// The lock of a computation. None where another one has it for longer than [`COMPUTATION_TTL`]: then it is computed without. It is given back with
    /// [`ReleaseKind::Forget`].
    ///
    /// # Errors
    /// As [`Cluster::acquire`], but for [`Error::Unavailable`].
    pub fn acquire_computation<'a>(
        &'a self,
        name: &'a str,
    ) -> LocalBoxFuture<'a, Result<Option<Lease>>> {
        async move {
            let wait = LockWait::UpTo(COMPUTATION_TTL);
            match self.acquire(name, COMPUTATION_TTL, wait).await {
                Ok(lease) => Ok(Some(lease)),
                Err(Error::Unavailable { .. }) => Ok(None),
                Err(error) => Err(error),
            }
        }
        .boxed_local()
    }

    /// Computes while no other process computes what has the same name, or without that lock. The work looks for the value first, which another one may
    /// have stored meanwhile, and stores what it has computed.
    ///
    /// # Errors
    /// As [`Cluster::acquire_computation`]; [`Error::Lost`].
    pub async fn compute<T>(&self, name: &str, work: impl AsyncFnOnce() -> T) -> Result<T> {
        let Some(lease) = self.acquire_computation(name).await? else {
            return Ok(work().await);
        };
        let value = lease.hold(work()).await;
        lease.release(ReleaseKind::Forget).await;
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_of_a_computation_is_the_same_in_every_process_and_another_one_for_another_key() {
        let name = computation_name("etcd://a:2379/tsumugi", b"report");
        assert_eq!(name, computation_name("etcd://a:2379/tsumugi", b"report"));
        assert_eq!(name.len(), "fetch ".len() + 32);
        assert_ne!(name, computation_name("etcd://a:2379/tsumugir", b"eport"));
        assert_ne!(name, computation_name("etcd://a:2379/tsumugi", b"reports"));
    }
}
