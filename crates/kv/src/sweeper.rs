//! The thread that sweeps databases in memory, one for the process, and frees what they discard. Those on disk have threads of their own.
//! Rule: it keeps no database open, and waits without waking while there is none.

use std::any::Any;
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use crate::engine::Engine;
use crate::error::{Error, Result};

/// How long an expired record may take up memory that is not used.
const EVERY: Duration = Duration::from_secs(1);

static SWEEPER: Sweeper = Sweeper {
    list: Mutex::new(List {
        engines: Vec::new(),
        discarded: None,
        is_running: false,
    }),
    grown: Condvar::new(),
};

struct Sweeper {
    list: Mutex<List>,
    grown: Condvar,
}

struct List {
    engines: Vec<Weak<dyn Engine>>,
    /// Waits to be freed; one at a time, so that a caller that discards faster than memory can be freed frees it itself.
    discarded: Option<Box<dyn Any + Send>>,
    is_running: bool,
}

/// Has a database swept from now on, for as long as it is there.
pub(crate) fn enlist(engine: Weak<dyn Engine>) -> Result<()> {
    let mut list = SWEEPER.list.lock().unwrap_or_else(PoisonError::into_inner);
    list.engines.push(engine);
    if !list.is_running {
        thread::Builder::new()
            .name("tsumugi-kv-sweep".to_owned())
            .spawn(run)
            .map_err(|error| Error::Io {
                action: "starting a thread to sweep",
                path: "a database in memory".into(),
                source: Arc::new(error),
            })?;
        list.is_running = true;
    }
    SWEEPER.grown.notify_one();
    Ok(())
}

/// Frees what takes long to free, away from the caller where that can be.
pub(crate) fn discard(what: Box<dyn Any + Send>) {
    let mut list = SWEEPER.list.lock().unwrap_or_else(PoisonError::into_inner);
    if list.is_running && list.discarded.is_none() {
        list.discarded = Some(what);
        SWEEPER.grown.notify_one();
        return;
    }
    drop(list);
    drop(what);
}

fn run() {
    let mut list = SWEEPER.list.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        list = SWEEPER
            .grown
            .wait_while(list, |list| {
                list.engines.is_empty() && list.discarded.is_none()
            })
            .unwrap_or_else(PoisonError::into_inner);
        let discarded = list.discarded.take();
        list.engines.retain(|engine| engine.strong_count() > 0);
        let engines: Vec<_> = list.engines.iter().filter_map(Weak::upgrade).collect();
        drop(list);
        drop(discarded);
        for engine in engines {
            engine.sweep();
        }
        list = SWEEPER.list.lock().unwrap_or_else(PoisonError::into_inner);
        list = SWEEPER
            .grown
            .wait_timeout_while(list, EVERY, |list| list.discarded.is_none())
            .unwrap_or_else(PoisonError::into_inner)
            .0;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use crate::{Clock, KvDatabase, SetMode, Spec, Write};

    #[test]
    fn expired_record_is_removed_without_a_read() {
        let clock = Clock::manual(super::EVERY);
        let kv = KvDatabase::open_with(&Spec::memory(), clock.clone()).unwrap();
        let write = Write::Set {
            key: "a".into(),
            value: "v".into(),
            mode: SetMode::Overwrite,
            ttl: Some(super::EVERY),
        };
        kv.submit_wait(write).unwrap();
        clock.advance(super::EVERY);
        let since = Instant::now();
        while kv.metrics().expired == 0 {
            assert!(since.elapsed() < super::EVERY * 30, "nothing was swept");
            std::thread::park_timeout(super::EVERY / 20);
        }
        assert_eq!(kv.file_size().unwrap(), 0);
    }

    #[test]
    fn discarded_value_is_freed_on_another_thread() {
        let _kv = KvDatabase::open(&Spec::memory()).unwrap();
        let (freed_signal, freed) = std::sync::mpsc::channel();
        struct DropSignal(std::sync::mpsc::Sender<()>);
        impl Drop for DropSignal {
            fn drop(&mut self) {
                let _ = self.0.send(());
            }
        }
        for _ in 0..3 {
            super::discard(Box::new(DropSignal(freed_signal.clone())));
        }
        for _ in 0..3 {
            freed.recv_timeout(super::EVERY * 30).unwrap();
        }
    }
}
