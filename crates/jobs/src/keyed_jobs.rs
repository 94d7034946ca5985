//! Which jobs of this worker have kept a key of their own, so that what has none needs no statement about keys at its end. Reads and writes no key.
//! Rule: all queues over one database share what is noted: a job may ask by another one than the one that runs it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::{Rc, Weak};

use tsumugi_db::Database;

use crate::job_claim::JobClaim;

thread_local! {
    static ALL: RefCell<Vec<Weak<KeyedJobs>>> = const { RefCell::new(Vec::new()) };
}

/// Those of one database, each with the attempt that has asked for its key.
#[derive(Debug)]
pub(crate) struct KeyedJobs {
    database: Database,
    attempts: RefCell<HashMap<i64, i64>>,
}

impl KeyedJobs {
    pub fn of(database: &Database) -> Rc<KeyedJobs> {
        ALL.with_borrow_mut(|all| {
            all.retain(|keyed| keyed.strong_count() > 0);
            let mut found = all.iter().filter_map(Weak::upgrade);
            if let Some(keyed) = found.find(|keyed| keyed.database.is_same_as(database)) {
                return keyed;
            }
            let keyed = Rc::new(KeyedJobs {
                database: database.clone(),
                attempts: RefCell::default(),
            });
            all.push(Rc::downgrade(&keyed));
            keyed
        })
    }

    /// The job keeps a key of its own. Says whether this attempt has asked for it before.
    pub fn note(&self, claim: JobClaim) -> bool {
        let before = self.attempts.borrow_mut().insert(claim.id, claim.attempt);
        before == Some(claim.attempt)
    }

    /// Whether the job has kept a key of its own.
    pub fn has(&self, job: i64) -> bool {
        self.attempts.borrow().contains_key(&job)
    }

    /// The attempt has ended, and with it what was noted of it.
    pub fn forget(&self, claim: JobClaim) {
        let mut attempts = self.attempts.borrow_mut();
        if attempts.get(&claim.id) == Some(&claim.attempt) {
            attempts.remove(&claim.id);
        }
    }
}
