//! What tells a worker that jobs may wait: a push in this process, a notification of PostgreSQL. Carries nothing else.
//! Rule: a wake-up may come too often and may be missed; the table is looked at now and then anyway.

use std::rc::Rc;
use std::sync::LazyLock;

use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tsumugi_db::{Database, Listener, ListenerEvent};

use crate::limits::FAILURE_PAUSE_MAX;
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
    listening: Option<JoinHandle<()>>,
}

impl Wake {
    /// Listens where the database can say so. The session that listens holds a lock for the worker, which goes with its process.
    pub fn of(database: &Database, name: &Rc<WorkerName>) -> Wake {
        let noticed = Rc::new(Notify::new());
        let listening = matches!(database, Database::Postgres(_)).then(|| {
            let (database, noticed) = (database.clone(), Rc::clone(&noticed));
            tokio::task::spawn_local(listen(database, noticed, Rc::clone(name)))
        });
        Wake {
            pushes: PUSHES.subscribe(),
            noticed,
            listening,
        }
    }

    /// Whether the database says when a job was pushed.
    pub fn is_noticed(&self) -> bool {
        self.listening
            .as_ref()
            .is_some_and(|listening| !listening.is_finished())
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

/// Ends where the database cannot be listened to: behind a pooler.
async fn listen(database: Database, noticed: Rc<Notify>, name: Rc<WorkerName>) {
    loop {
        match database.listen(&[NOTIFICATIONS.to_owned()]).await {
            Ok(mut listener) => {
                // What was pushed before, and in a gap.
                let mut may_have_missed = true;
                loop {
                    if may_have_missed {
                        hold(&listener, &name).await;
                    }
                    noticed.notify_one();
                    match listener.recv().await {
                        Ok(event) => may_have_missed = event == ListenerEvent::Gap,
                        Err(error) => {
                            tracing::debug!("notices of jobs do not come: {error}");
                            break;
                        }
                    }
                }
                name.set_lock(None);
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

/// Takes a lock in the session that listens. Another one each time: a session that was lost may hold the one before for a while.
async fn hold(listener: &Listener, name: &WorkerName) {
    let number = lock_number();
    match listener.lock(number).await {
        Ok(()) => name.set_lock(Some(number)),
        Err(error) => {
            tracing::debug!("jobs of this worker come back when their claims run out: {error}");
            name.set_lock(None);
        }
    }
}
