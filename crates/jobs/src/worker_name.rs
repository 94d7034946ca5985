//! The text that tells a worker's claims from those of others, and from which others see whether its session with PostgreSQL is still there. Asks no
//! database. Rule: the text begins alike as long as the worker is there, so that all of its claims are found by one pattern.

use std::cell::Cell;

use ring::rand::{SecureRandom as _, SystemRandom};
use tokio::sync::Notify;

/// `PID-RANDOM`, and while the worker's session holds a lock `PID-RANDOM+LOCK`.
#[derive(Debug)]
pub(crate) struct WorkerName {
    base: String,
    lock: Cell<Option<i64>>,
    changed: Notify,
}

impl WorkerName {
    /// One that no other worker of any process has.
    pub fn new() -> WorkerName {
        WorkerName {
            base: format!("{}-{:016x}", std::process::id(), random()),
            lock: Cell::new(None),
            changed: Notify::new(),
        }
    }

    /// What its claims are marked with now.
    pub fn now(&self) -> String {
        match self.lock.get() {
            Some(number) => format!("{}+{number}", self.base),
            None => self.base.clone(),
        }
    }

    /// What any of its claims fits, as `like` reads it.
    pub fn pattern(&self) -> String {
        format!("{}%", self.base)
    }

    /// How all of its texts begin.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Has its claims marked anew, and so renewed, at once.
    pub fn mark_anew(&self) {
        self.changed.notify_one();
    }

    /// Its session holds this lock from now on, or none.
    pub fn set_lock(&self, number: Option<i64>) {
        if self.lock.replace(number) != number {
            self.mark_anew();
        }
    }

    /// Resolves when its claims are to be marked anew.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }
}

/// The number of a lock that nobody else takes. Not negative, so that its halves are what PostgreSQL shows of it.
pub(crate) fn lock_number() -> i64 {
    i64::try_from(random() >> 1).unwrap_or_default()
}

fn random() -> u64 {
    let mut bytes = [0; 8];
    match SystemRandom::new().fill(&mut bytes) {
        Ok(()) => u64::from_be_bytes(bytes),
        Err(_) => std::ptr::from_ref(&bytes).addr() as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::{WorkerName, lock_number};

    #[test]
    fn text_of_a_worker_ends_with_its_lock_and_fits_its_pattern_always() {
        let name = WorkerName::new();
        let bare = name.now();
        name.set_lock(Some(7));
        assert_eq!(name.now(), format!("{bare}+7"));
        assert_eq!(name.pattern(), format!("{bare}%"));
        name.set_lock(None);
        assert_eq!(name.now(), bare);
        let longest = format!("{}-{:016x}+{}", u32::MAX, u64::MAX, i64::MAX);
        assert!(longest.len() <= 64, "Firebird's column has so many");
        assert!((0..100).all(|_| lock_number() >= 0));
    }
}
