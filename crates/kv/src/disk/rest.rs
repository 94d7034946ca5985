//! An engine that is taken down, and up again: what its last commit left is read meanwhile.
//! Rule: the folder's lock is free when the engine has ended, never before.

use std::sync::atomic::Ordering::SeqCst;

use super::Inner;
use super::layout::Meta;
use super::store::{Store, broken};
use crate::error::{Error, Result};

impl Inner {
    /// Takes the engine down and up again. What the last commit left is read meanwhile, also when it does not come up.
    pub(super) fn reopen(&self, keep: u64) -> Result<Meta> {
        self.take_engine()?;
        let spec = &self.shared.spec;
        let opened = match &*self.read() {
            Ok(resting) => resting.open_again(spec, keep),
            Err(_) => Store::open(spec, Some(keep)),
        };
        match opened {
            Ok((store, meta)) => {
                let resting = std::mem::replace(&mut *self.write(), Ok(store));
                drop(resting);
                Ok(meta)
            }
            Err(why) => {
                let mut guard = self.write();
                if guard.is_err() {
                    *guard = Err(why.clone());
                }
                Err(why)
            }
        }
    }

    /// Lets the engine end, as another can only begin when its lock is free and its journal is closed.
    pub(super) fn take_engine(&self) -> Result<()> {
        let mut guard = self.write();
        // What a backup or a rebuild uses stays open, and with it the engine's lock.
        if self.borrowers.load(SeqCst) > 0 {
            return Err(broken(
                &self.shared.spec.path,
                "it is opened again when its backup or rebuild has ended",
            ));
        }
        match &mut *guard {
            Ok(store) if store.can_rest() => {
                let engine = store.rest();
                drop(guard);
                // It waits for its threads.
                drop(engine);
            }
            store => {
                let store = std::mem::replace(store, Err(Error::Closed));
                drop(store);
            }
        }
        Ok(())
    }
}
