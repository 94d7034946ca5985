//! The thread that sweeps databases in memory, one for the process. Those on disk have threads of their own.
//! Rule: it keeps no database open, and waits without waking while there is none.

use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use crate::engine::Engine;
use crate::error::{Error, Result};

/// How long an expired record may take up memory that nobody touches.
const EVERY: Duration = Duration::from_secs(1);

static SWEEPER: Sweeper = Sweeper {
    list: Mutex::new(List {
        engines: Vec::new(),
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

fn run() {
    loop {
        let list = SWEEPER.list.lock().unwrap_or_else(PoisonError::into_inner);
        let mut list = SWEEPER
            .grown
            .wait_while(list, |list| list.engines.is_empty())
            .unwrap_or_else(PoisonError::into_inner);
        list.engines.retain(|engine| engine.strong_count() > 0);
        let engines: Vec<_> = list.engines.iter().filter_map(Weak::upgrade).collect();
        drop(list);
        for engine in engines {
            engine.sweep();
        }
        thread::park_timeout(EVERY);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use crate::{Clock, Database, SetMode, Spec, Write};

    #[test]
    fn what_expires_is_removed_though_nobody_asks() {
        let clock = Clock::manual(super::EVERY);
        let kv = Database::open_with(&Spec::memory(), clock.clone()).unwrap();
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
}
