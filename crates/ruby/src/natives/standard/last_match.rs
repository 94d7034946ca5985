//! `$~`, `$&` and `$1` to `$9`. They are globals of the VM; this keeps them a job's own: a fibre that parks between a match and
//! `$1` finds its own match again. Unlike CRuby's they are not a method's own: a method that matches changes its caller's.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use tsumugi_mruby::{Result, Root, Scope, Value};

use super::pattern::{PatternMatch, group};

/// The owner of globals that belong to a job which has ended.
const ENDED: u64 = u64::MAX;
const NAMES: [&str; 9] = ["$1", "$2", "$3", "$4", "$5", "$6", "$7", "$8", "$9"];

/// Which job's match the globals show, and the matches of parked jobs.
#[derive(Default)]
pub(crate) struct LastMatch {
    /// 0: no job's, the globals are nil.
    owner: Cell<u64>,
    /// How many of `$1`… are set.
    groups: Cell<usize>,
    parked: RefCell<HashMap<u64, Root>>,
}

impl LastMatch {
    /// Before a job runs on. Cheap unless some job has matched.
    pub fn switch(&self, scope: &Scope<'_>, job: u64) {
        let owner = self.owner.get();
        if owner == job || (owner == 0 && self.parked.borrow().is_empty()) {
            return;
        }
        let found = scope.global(scope.intern("$~"));
        if owner != 0 && owner != ENDED && !found.is_nil() {
            // Without memory for it the other job loses its match, as it does without memory for the match itself.
            if let Ok(found) = scope.root(found) {
                self.parked.borrow_mut().insert(owner, found);
            }
        }
        let own = self.parked.borrow_mut().remove(&job);
        let value = own.map_or_else(Value::nil, |root| scope.rooted(&root));
        // What fails here is memory for globals that exist already.
        let _ = self.show(scope, value);
        self.owner.set(if value.is_nil() { 0 } else { job });
    }

    /// The job's newest match, or nil.
    pub fn set<'s>(&self, scope: &'s Scope<'_>, job: u64, found: Value<'_>) -> Result<'s, ()> {
        if found.is_nil() && self.owner.get() == 0 {
            return Ok(());
        }
        self.owner.set(if found.is_nil() { 0 } else { job });
        self.show(scope, found)
    }

    /// The job is over; its match is not read again.
    pub fn ended(&self, job: u64) {
        if self.owner.get() == job {
            self.owner.set(ENDED);
        } else if self.owner.get() != 0 || !self.parked.borrow().is_empty() {
            self.parked.borrow_mut().remove(&job);
        }
    }

    fn show<'s>(&self, scope: &'s Scope<'_>, found: Value<'_>) -> Result<'s, ()> {
        scope.set_global(scope.intern("$~"), found)?;
        let matched = scope.data::<PatternMatch>(found);
        let whole = match matched {
            Some(matched) => group(scope, matched, 0)?,
            None => Value::nil(),
        };
        scope.set_global(scope.intern("$&"), whole)?;
        let groups = matched
            .map_or(0, |matched| matched.spans.len() - 1)
            .min(NAMES.len());
        for (i, name) in NAMES.iter().enumerate().take(groups.max(self.groups.get())) {
            let value = match matched {
                Some(matched) if i < groups => group(scope, matched, i + 1)?,
                _ => Value::nil(),
            };
            scope.set_global(scope.intern(name), value)?;
        }
        self.groups.set(groups);
        Ok(())
    }
}
