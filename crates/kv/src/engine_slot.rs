//! The engine of an open database, which may come later: while another process, which this one takes over from, has the folder.
//! Knows no record. Rule: an engine that is there stays, and a database without one answers every call with the reason.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::engine::Engine;
use crate::error::{Error, Result};

/// Where a database has its engine.
pub(crate) struct EngineSlot {
    engine: OnceLock<Arc<dyn Engine>>,
    /// Why there is none.
    missing: Mutex<Absence>,
    settled: Condvar,
}

/// Why a database has no engine.
struct Absence {
    why: Error,
    outlook: Outlook,
}

/// Whether the engine may still come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outlook {
    /// It is about to, and waiting for it is worth while.
    Soon,
    /// It may, some time.
    Later,
    /// It will not.
    Never,
}

impl EngineSlot {
    /// With an engine.
    pub(crate) fn with(engine: Arc<dyn Engine>) -> EngineSlot {
        let slot = EngineSlot::awaited(Error::Closed);
        slot.fill(engine);
        slot
    }

    /// Without one as yet, for this reason.
    pub(crate) fn awaited(why: Error) -> EngineSlot {
        EngineSlot {
            engine: OnceLock::new(),
            missing: Mutex::new(Absence {
                why,
                outlook: Outlook::Soon,
            }),
            settled: Condvar::new(),
        }
    }

    /// Without one for ever, for this reason.
    pub(crate) fn missing(why: Error) -> EngineSlot {
        let slot = EngineSlot::awaited(Error::Closed);
        slot.give_up(why);
        slot
    }

    /// The engine, or why there is none.
    #[inline]
    pub(crate) fn engine(&self) -> Result<&Arc<dyn Engine>> {
        match self.engine.get() {
            Some(engine) => Ok(engine),
            None => self.engine_or_reason(),
        }
    }

    /// It may have come since it was looked for.
    #[cold]
    fn engine_or_reason(&self) -> Result<&Arc<dyn Engine>> {
        let missing = self.lock();
        self.engine.get().ok_or_else(|| missing.why.clone())
    }

    fn lock(&self) -> MutexGuard<'_, Absence> {
        self.missing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The engine has come.
    pub(crate) fn fill(&self, engine: Arc<dyn Engine>) {
        let missing = self.lock();
        // It comes once.
        let _ = self.engine.set(engine);
        drop(missing);
        self.settled.notify_all();
    }

    /// It has not come in time, for this reason.
    pub(crate) fn delay(&self, why: Error) {
        self.settle(why, Outlook::Later);
    }

    /// It will not come.
    pub(crate) fn give_up(&self, why: Error) {
        self.settle(why, Outlook::Never);
    }

    fn settle(&self, why: Error, outlook: Outlook) {
        *self.lock() = Absence { why, outlook };
        self.settled.notify_all();
    }

    fn lacks(&self, outlook: Outlook) -> bool {
        self.engine.get().is_none() && self.lock().outlook == outlook
    }

    /// Whether it will not come.
    pub(crate) fn is_given_up(&self) -> bool {
        self.lacks(Outlook::Never)
    }

    /// Whether it is about to come.
    pub(crate) fn is_awaited(&self) -> bool {
        self.lacks(Outlook::Soon)
    }

    /// Blocks the thread until the engine has come, or is not about to.
    pub(crate) fn wait(&self) -> Result<()> {
        let mut missing = self.lock();
        while self.engine.get().is_none() {
            if missing.outlook != Outlook::Soon {
                return Err(missing.why.clone());
            }
            missing = self
                .settled
                .wait(missing)
                .unwrap_or_else(PoisonError::into_inner);
        }
        Ok(())
    }
}
