//! What tells a worker that jobs may wait: a push in this process, a notification of PostgreSQL. Carries nothing else.
//! Rule: a wake-up may come too often and may be missed; the table is looked at now and then anyway.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::LazyLock;

use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tsumugi_db::{Database, Listener, ListenerEvent};

use crate::limits::{FAILURE_PAUSE_MAX, LISTENER_CHECK_MAX, LISTENER_CHECKED_EVERY};
use crate::statements::NOTIFICATIONS;
use crate::worker_name::{WorkerName, lock_number};

/// Changes with each push in this process.
static PUSHES: LazyLock<watch::Sender<u64>> = LazyLock::new(|| watch::Sender::new(0));

/// Wakes all workers of this process.
pub(crate) fn wake_process() {
    PUSHES.send_modify(|count| *count = count.wrapping_add(1));
}

/// What one worker waits for.
pub(crate) struct Wake {
    pushes: watch::Receiver<u64>,
    noticed: Rc<Notify>,
    /// Whether the database says when a job was pushed.
    is_noticed: Rc<Cell<bool>>,
    listening: Option<JoinHandle<()>>,
}

impl Wake {
    /// Listens where the database can say so. The session that listens holds a lock for the worker, which goes with its process.
    pub fn of(database: &Database, name: &Rc<WorkerName>) -> Wake {
        let noticed = Rc::new(Notify::new());
        let is_noticed = Rc::new(Cell::new(false));
        let listening = matches!(database, Database::Postgres(_)).then(|| {
            let state = ListenerState {
                name: Rc::clone(name),
                noticed: Rc::clone(&noticed),
                is_noticed: Rc::clone(&is_noticed),
                locks: Cell::default(),
            };
            tokio::task::spawn_local(listen(database.clone(), state))
        });
        Wake {
            pushes: PUSHES.subscribe(),
            noticed,
            is_noticed,
            listening,
        }
    }

    /// Whether the database says when a job was pushed.
    pub fn is_noticed(&self) -> bool {
        self.is_noticed.get()
    }

    /// Resolves when jobs may wait.
    pub async fn woken(&mut self) {
        tokio::select! {
            // The sender is never dropped.
            _ = self.pushes.changed() => {}
            () = self.noticed.notified() => {}
        }
    }
}

impl Drop for Wake {
    fn drop(&mut self) {
        if let Some(listening) = self.listening.take() {
            listening.abort();
        }
    }
}

/// What the task that listens shares with its worker.
struct ListenerState {
    name: Rc<WorkerName>,
    noticed: Rc<Notify>,
    is_noticed: Rc<Cell<bool>>,
    /// The lock that was taken last and the one before, which the session may hold too: after a gap that came of too many notices it is the same.
    locks: Cell<(Option<i64>, Option<i64>)>,
}

impl ListenerState {
    /// Takes a lock in the session that listens. Another one each time: a session that was lost may hold the one before for a while.
    async fn hold(&self, listener: &Listener) {
        let number = lock_number();
        match timeout(LISTENER_CHECK_MAX, listener.lock(number)).await {
            Ok(Ok(())) => {
                self.name.set_lock(Some(number));
                self.unlock_oldest(listener, number).await;
            }
            refused => {
                tracing::debug!(
                    "jobs of this worker come back when their claims run out: {refused:?}"
                );
                self.name.set_lock(None);
            }
        }
        self.is_noticed.set(true);
        // What was pushed before, and in a gap.
        self.noticed.notify_one();
    }

    /// Claims are marked with the lock before the last one until they are renewed; the one before that is of no use.
    async fn unlock_oldest(&self, listener: &Listener, newest: i64) {
        let (last, oldest) = self.locks.get();
        self.locks.set((Some(newest), last));
        let Some(oldest) = oldest else {
            return;
        };
        if let Ok(Err(error)) = timeout(LISTENER_CHECK_MAX, listener.unlock(oldest)).await {
            tracing::debug!("the session that listens keeps a lock of no use: {error}");
        }
    }

    /// The session is lost, or seems to be: its lock says nothing any more, and the worker looks by itself.
    fn lose(&self) {
        self.name.set_lock(None);
        if self.is_noticed.replace(false) {
            self.noticed.notify_one();
        }
    }

    /// Passes on what comes until the listener is of no use.
    async fn receive(&self, listener: &mut Listener) {
        self.hold(listener).await;
        loop {
            let event = timeout(LISTENER_CHECKED_EVERY, listener.recv()).await;
            match event {
                Ok(Ok(ListenerEvent::Gap)) => self.hold(listener).await,
                Ok(Ok(_)) => self.noticed.notify_one(),
                Ok(Err(error)) => {
                    tracing::debug!("notices of jobs do not come: {error}");
                    return;
                }
                // Nothing has come, or another connection is on its way.
                Err(_) => match timeout(LISTENER_CHECK_MAX, listener.check()).await {
                    Ok(Ok(())) => {}
                    Ok(Err(_)) => self.lose(),
                    Err(_) => {
                        tracing::debug!("the session that listens does not answer");
                        return;
                    }
                },
            }
        }
    }
}

/// Ends where the database cannot be listened to: behind a pooler.
async fn listen(database: Database, state: ListenerState) {
    loop {
        match database.listen(&[NOTIFICATIONS.to_owned()]).await {
            Ok(mut listener) => {
                state.receive(&mut listener).await;
                state.lose();
            }
            Err(error @ tsumugi_db::Error::Unsupported { .. }) => {
                tracing::info!("jobs are looked for again and again: {error}");
                return;
            }
            Err(error) => tracing::debug!("notices of jobs do not come: {error}"),
        }
        sleep(FAILURE_PAUSE_MAX).await;
    }
}
