//! What became of the last reloads, for whoever shows it. Reloads nothing.
//! Rule: the control thread writes and any thread reads; only the last [`RELOADS_KEPT`] are there.

use std::collections::VecDeque;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use crate::LoadFailure;
use crate::limits::RELOADS_KEPT;

/// Why the application was loaded anew.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ReloadTrigger {
    /// The program asked for it.
    #[default]
    Program,
    /// SIGHUP.
    Signal,
    /// This file has changed.
    File(PathBuf),
}

impl fmt::Display for ReloadTrigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReloadTrigger::Program => f.write_str("asked for"),
            ReloadTrigger::Signal => f.write_str("SIGHUP"),
            ReloadTrigger::File(path) => write!(f, "{} has changed", path.display()),
        }
    }
}

/// One reload that is over.
#[derive(Clone, Debug)]
pub struct ReloadRecord {
    /// When it began.
    pub at: SystemTime,
    /// How long it took.
    pub took: Duration,
    /// Why; of several that were answered together, the first.
    pub trigger: ReloadTrigger,
    /// Why it failed, if it did. The application before it goes on.
    pub failure: Option<LoadFailure>,
}

#[derive(Debug, Default)]
pub(crate) struct ReloadLog(Mutex<Reloads>);

#[derive(Debug, Default)]
struct Reloads {
    asked: Option<ReloadTrigger>,
    records: VecDeque<ReloadRecord>,
}

impl ReloadLog {
    fn reloads(&self) -> MutexGuard<'_, Reloads> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Somebody asks for a reload.
    pub fn ask(&self, trigger: ReloadTrigger) {
        self.reloads().asked.get_or_insert(trigger);
    }

    /// Why the reload that begins now was asked for.
    pub fn begin(&self) -> ReloadTrigger {
        self.reloads().asked.take().unwrap_or_default()
    }

    /// A reload is over.
    pub fn add(&self, record: ReloadRecord) {
        let mut reloads = self.reloads();
        if reloads.records.len() >= RELOADS_KEPT {
            reloads.records.pop_front();
        }
        reloads.records.push_back(record);
    }

    pub fn records(&self) -> Vec<ReloadRecord> {
        self.reloads().records.iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_reload_more_than_are_kept_takes_the_place_of_the_oldest() {
        let log = ReloadLog::default();
        for n in 0..=RELOADS_KEPT as u64 {
            log.ask(ReloadTrigger::Signal);
            log.ask(ReloadTrigger::Program);
            log.add(ReloadRecord {
                at: SystemTime::UNIX_EPOCH,
                took: Duration::from_millis(n),
                trigger: log.begin(),
                failure: None,
            });
        }
        let records = log.records();
        assert_eq!(records.len(), RELOADS_KEPT);
        assert_eq!(records[0].took, Duration::from_millis(1));
        assert!(
            records
                .iter()
                .all(|record| record.trigger == ReloadTrigger::Signal)
        );
        assert_eq!(log.begin(), ReloadTrigger::Program);
    }
}
