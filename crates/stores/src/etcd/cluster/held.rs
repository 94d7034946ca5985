//! The leases that holders of this engine have, or may have, in etcd. Asks no server.
//! Rule: what may have been given is noted before it is asked for, so that it can be taken back whatever becomes of the question.

use std::cell::RefCell;
use std::collections::HashMap;
use std::time::Duration;

use tsumugi_cluster::{BootTime, Error, Result};

use crate::limits::ETCD_HELD_LEASES_MAX;

/// By the text of each holder.
#[derive(Debug, Default)]
pub(super) struct HeldLeases(RefCell<HashMap<String, HeldLease>>);

#[derive(Debug, Default)]
struct HeldLease {
    /// Leases of etcd to which its key is attached, or may be.
    ids: Vec<i64>,
    /// The revision by which the key was written last.
    revision: i64,
    /// Of a timer's tick.
    tick: Option<BegunTick>,
}

/// When a tick was begun, and of which period it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BegunTick {
    pub(super) begun: BootTime,
    pub(super) period: Duration,
}

impl HeldLeases {
    /// Whether there is room for what this holder asks for.
    pub(super) fn check_room(&self, holder: &str) -> Result<()> {
        let held = self.0.borrow();
        match held.len() < ETCD_HELD_LEASES_MAX || held.contains_key(holder) {
            true => Ok(()),
            false => Err(Error::TooMany {
                limit: "ETCD_HELD_LEASES_MAX",
                max: ETCD_HELD_LEASES_MAX,
            }),
        }
    }

    /// The key may be attached to this lease from now on.
    pub(super) fn may_have(&self, holder: &str, id: i64) {
        let mut held = self.0.borrow_mut();
        held.entry(holder.to_owned()).or_default().ids.push(id);
    }

    /// The key is attached to this lease since this revision. Answers those to which it is not any more.
    pub(super) fn settle(&self, holder: &str, id: i64, revision: i64) -> Vec<i64> {
        let mut held = self.0.borrow_mut();
        let Some(lease) = held.get_mut(holder) else {
            // It was let go of meanwhile.
            return vec![id];
        };
        lease.revision = revision;
        let mut others = std::mem::replace(&mut lease.ids, vec![id]);
        others.retain(|other| *other != id);
        others
    }

    /// It is that of a tick.
    pub(super) fn begin_tick(&self, holder: &str, tick: BegunTick) {
        if let Some(lease) = self.0.borrow_mut().get_mut(holder) {
            lease.tick = Some(tick);
        }
    }

    pub(super) fn tick(&self, holder: &str) -> Option<BegunTick> {
        self.0.borrow().get(holder)?.tick
    }

    pub(super) fn revision(&self, holder: &str) -> Option<i64> {
        self.0.borrow().get(holder).map(|lease| lease.revision)
    }

    pub(super) fn ids(&self, holder: &str) -> Vec<i64> {
        let held = self.0.borrow();
        held.get(holder)
            .map_or(Vec::new(), |lease| lease.ids.clone())
    }

    /// Nothing is known of it any more. Answers the leases of etcd that are to be ended.
    pub(super) fn remove(&self, holder: &str) -> Vec<i64> {
        let removed = self.0.borrow_mut().remove(holder);
        removed.map_or(Vec::new(), |lease| lease.ids)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lease_that_was_renewed_leaves_the_one_before_to_be_ended() {
        let held = HeldLeases::default();
        held.may_have("a", 1);
        assert!(held.settle("a", 1, 10).is_empty());
        // The answer to the first renewal was lost.
        held.may_have("a", 2);
        held.may_have("a", 3);
        assert_eq!(held.revision("a"), Some(10));
        assert_eq!(held.settle("a", 3, 12), [1, 2]);
        assert_eq!((held.ids("a"), held.revision("a")), (vec![3], Some(12)));
        assert_eq!(held.remove("a"), [3]);
        assert_eq!(held.settle("a", 4, 13), [4], "an answer after its end");
    }

    #[test]
    fn one_holder_too_many_is_refused_by_name_and_a_known_one_is_not() {
        let held = HeldLeases::default();
        for number in 0..ETCD_HELD_LEASES_MAX {
            held.check_room("more").unwrap();
            held.may_have(&number.to_string(), 1);
        }
        let refused = held.check_room("more").unwrap_err().to_string();
        assert!(refused.contains("ETCD_HELD_LEASES_MAX"), "{refused}");
        held.check_room("0").unwrap();
        held.remove("0");
        held.check_room("more").unwrap();
    }
}
