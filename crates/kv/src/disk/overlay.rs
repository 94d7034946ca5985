//! The records as they will be after a group of writes that is being decided. Writes nothing.
//! Rule: a key is read from the engine once, and written to it once, whatever the group does with it.

use std::collections::BTreeMap;
use std::ops::Bound;

use bytes::Bytes;

use super::layout::{META_KEY, Meta, expiry_key, own_key, record_key, records_end};
use super::lowest::LowestKeys;
use super::store::{Store, broken};
use crate::decide::{Change, DecisionContext, View, decide};
use crate::engine::nested;
use crate::error::{Error, Result};
use crate::limits::EXCHANGE_BYTES_MAX;
use crate::queue::prefix_end;
use crate::record::StoredRecord;
use crate::watch::ChangeEvent;
use crate::write::{Write, WriteResult};

/// What a commit writes: a key with a value, or without one that is removed.
pub(super) type CommitEntry = (Bytes, Option<Bytes>);

#[derive(Debug)]
struct Entry {
    /// When the record that is stored now expires; `None` when none is.
    before: Option<u64>,
    /// The record from the commit on.
    record: Option<StoredRecord>,
    changed: bool,
}

pub(super) struct Overlay<'a> {
    store: &'a Store,
    meta: Meta,
    context: DecisionContext,
    entries: BTreeMap<Bytes, Entry>,
    /// Bytes of the values in them. A write may hold few bytes and change large records.
    held: usize,
    /// How large that may get by the write that is being decided.
    held_max: usize,
    lowest: &'a mut LowestKeys,
    cleared: bool,
    /// What to tell the watchers, if there are any.
    events: Option<Vec<ChangeEvent>>,
}

/// A group that was decided.
pub(super) struct Outcome {
    pub(super) stored: Vec<CommitEntry>,
    pub(super) meta: Meta,
    pub(super) cleared: bool,
    /// When the first of the records written expires.
    pub(super) next_expiry_ms: Option<u64>,
    pub(super) events: Vec<ChangeEvent>,
    pub(super) bytes: u64,
}

impl<'a> Overlay<'a> {
    pub(super) fn new(
        store: &'a Store,
        meta: Meta,
        context: DecisionContext,
        lowest: &'a mut LowestKeys,
        events: Option<Vec<ChangeEvent>>,
    ) -> Self {
        Self {
            store,
            meta,
            context,
            entries: BTreeMap::new(),
            held: 0,
            held_max: usize::MAX,
            lowest,
            cleared: false,
            events,
        }
    }

    /// Bytes of the records that the group read or changed, as they are now.
    pub(super) fn held(&self) -> usize {
        self.held
    }

    /// Decides one write of a batch.
    pub(super) fn apply_part(&mut self, write: Write) -> Result<WriteResult> {
        write.check(self.context.value_max)?;
        self.apply(write)
    }

    /// Decides one write, with all those before it done. Batches are taken apart before.
    pub(super) fn apply(&mut self, write: Write) -> Result<WriteResult> {
        self.held_max = self.held + write_holds_max(self.context);
        match write {
            Write::Batch(_) => Err(nested()),
            Write::Clear => self.clear(),
            write => {
                let context = self.context;
                let decision = decide(write, self, context)?;
                // A failed read must not leave a part of the changes behind.
                for (key, _) in &decision.changes {
                    self.load(key)?;
                }
                for change in decision.changes {
                    self.change(change);
                }
                Ok(decision.written)
            }
        }
    }

    /// Removes the record of an entry of the index; says whether it was there.
    pub(super) fn expire(&mut self, key: &Bytes, expires_ms: u64) -> Result<bool> {
        let entry = self.load(key)?;
        let is_due = entry
            .record
            .as_ref()
            .is_some_and(|record| record.expires_ms == expires_ms);
        if is_due {
            let expired = entry.record.take();
            entry.changed = true;
            self.held -= length(expired.as_ref());
            self.tell(|| ChangeEvent::Expired(key.clone()));
        }
        Ok(is_due)
    }

    /// What is to be committed; `None` when nothing changed.
    pub(super) fn finish(self) -> Option<Outcome> {
        let is_changed = self.cleared || self.entries.values().any(|entry| entry.changed);
        if !is_changed {
            return None;
        }
        let mut outcome = Outcome {
            stored: Vec::with_capacity(self.entries.len() + 1),
            meta: Meta {
                commit: self.meta.commit + 1,
                ..self.meta
            },
            cleared: self.cleared,
            next_expiry_ms: None,
            events: self.events.unwrap_or_default(),
            bytes: 0,
        };
        for (key, entry) in self.entries {
            if entry.changed {
                outcome.add(&key, &entry);
            }
        }
        let meta = outcome.meta.encode();
        outcome
            .stored
            .push((Bytes::from_static(&META_KEY), Some(meta)));
        Some(outcome)
    }

    fn clear(&mut self) -> Result<WriteResult> {
        let epoch = self.meta.epoch.checked_add(1);
        self.meta.epoch = epoch.ok_or(Error::TooMany {
            what: "times cleared",
            asked: u32::MAX as usize,
            max: u32::MAX as usize,
            limit: "an epoch has 32 bits",
        })?;
        self.meta.count = 0;
        self.entries.clear();
        self.held = 0;
        self.cleared = true;
        *self.lowest = LowestKeys::default();
        self.tell(|| ChangeEvent::Cleared);
        Ok(WriteResult::Done)
    }

    fn change(&mut self, (key, record): Change) {
        if record.is_some() {
            self.lowest.stored(&key);
        }
        let is_put = record.is_some();
        let Some(entry) = self.entries.get_mut(&key) else {
            return;
        };
        let was_there = entry.record.is_some();
        self.held += length(record.as_ref());
        self.held -= length(entry.record.as_ref());
        entry.record = record;
        entry.changed = true;
        if is_put {
            self.tell(|| ChangeEvent::Put(key));
        } else if was_there {
            self.tell(|| ChangeEvent::Removed(key));
        }
    }

    fn tell(&mut self, changed: impl FnOnce() -> ChangeEvent) {
        if let Some(events) = &mut self.events {
            events.push(changed());
        }
    }

    fn load(&mut self, key: &Bytes) -> Result<&mut Entry> {
        use std::collections::btree_map::Entry as Place;
        match self.entries.entry(key.clone()) {
            Place::Occupied(entry) => Ok(entry.into_mut()),
            Place::Vacant(place) => {
                let record = if self.cleared {
                    None
                } else {
                    let stored = self.store.newest(&record_key(self.meta.epoch, key))?;
                    stored
                        .map(|stored| decode(self.store, stored))
                        .transpose()?
                };
                let held = self.held + length(record.as_ref());
                if held > self.held_max {
                    let max = write_holds_max(self.context);
                    return Err(Error::TooMany {
                        what: "bytes of records in one write",
                        asked: held - (self.held_max - max),
                        max,
                        limit: "EXCHANGE_BYTES_MAX",
                    });
                }
                self.held = held;
                Ok(place.insert(Entry {
                    before: record.as_ref().map(|record| record.expires_ms),
                    record,
                    changed: false,
                }))
            }
        }
    }

    /// The first live record from a key on that the engine has and the group leaves as it is. `to` is where the engine's keys end.
    fn first_stored(&self, from: &[u8], to: &[u8]) -> Result<Option<(Bytes, StoredRecord)>> {
        if self.cleared {
            return Ok(None);
        }
        let from = record_key(self.meta.epoch, from);
        for pair in self.store.newest_range(&from, to) {
            let (stored_key, stored) = pair?;
            let key = own_key(&stored_key).map_err(|reason| broken(self.store.path(), reason))?;
            if self.entries.contains_key(&key) {
                continue;
            }
            let record = decode(self.store, stored)?;
            if record.is_live(self.context.now_ms) {
                return Ok(Some((key, record)));
            }
        }
        Ok(None)
    }

    /// The first live record that the group has changed or looked at.
    fn first_changed(
        &self,
        range: (Bound<&Bytes>, Bound<&Bytes>),
    ) -> Option<(Bytes, StoredRecord)> {
        let now_ms = self.context.now_ms;
        let mut entries = self.entries.range::<Bytes, _>(range);
        entries.find_map(|(key, entry)| {
            let record = entry.record.as_ref()?;
            let is_live = record.is_live(now_ms);
            is_live.then(|| (key.clone(), record.clone()))
        })
    }
}

/// Bytes of the records that one write may look at and change: two of the largest values at least.
fn write_holds_max(context: DecisionContext) -> usize {
    EXCHANGE_BYTES_MAX.max(context.value_max.saturating_mul(2))
}

fn length(record: Option<&StoredRecord>) -> usize {
    record.map_or(0, |record| record.value.len())
}

impl Outcome {
    fn add(&mut self, key: &Bytes, entry: &Entry) {
        let epoch = self.meta.epoch;
        let after = entry.record.as_ref().map(|record| record.expires_ms);
        if let Some(before) = entry.before.filter(|before| *before != 0)
            && after != Some(before)
        {
            let indexed = Bytes::copy_from_slice(&expiry_key(epoch, before, key));
            self.stored.push((indexed, None));
        }
        if let Some(after) = after.filter(|after| *after != 0) {
            if entry.before != Some(after) {
                let indexed = Bytes::copy_from_slice(&expiry_key(epoch, after, key));
                self.stored.push((indexed, Some(Bytes::new())));
            }
            self.next_expiry_ms = Some(self.next_expiry_ms.map_or(after, |next| next.min(after)));
        }
        match (entry.before, &entry.record) {
            (None, Some(_)) => self.meta.count += 1,
            (Some(_), None) => self.meta.count = self.meta.count.saturating_sub(1),
            _ => {}
        }
        if entry.before.is_some() || entry.record.is_some() {
            let value = entry.record.as_ref().map(StoredRecord::encode);
            self.bytes += (key.len() + value.as_ref().map_or(0, Bytes::len)) as u64;
            let stored_key = Bytes::copy_from_slice(&record_key(epoch, key));
            self.stored.push((stored_key, value));
        }
    }
}

impl View for Overlay<'_> {
    fn record(&mut self, key: &Bytes) -> Result<Option<StoredRecord>> {
        let now_ms = self.context.now_ms;
        let record = self.load(key)?.record.as_ref();
        Ok(record.filter(|record| record.is_live(now_ms)).cloned())
    }

    fn take(&mut self, key: &Bytes) -> Result<Option<StoredRecord>> {
        let now_ms = self.context.now_ms;
        let record = &mut self.load(key)?.record;
        let taken = record.take_if(|record| record.is_live(now_ms));
        // It comes back as a change, which counts it anew.
        self.held -= length(taken.as_ref());
        Ok(taken)
    }

    fn first(&mut self) -> Result<Option<(Bytes, StoredRecord)>> {
        let from = self.lowest.first().clone();
        let ours = self.first_changed((Bound::Included(&from), Bound::Unbounded));
        let stored = self.first_stored(&from, &records_end(self.meta.epoch))?;
        let first = lesser(ours, stored);
        // From here on nothing is looked for below it, however many removed records are there.
        if let Some((key, _)) = &first {
            self.lowest.found(key);
        }
        Ok(first)
    }

    fn first_of(&mut self, prefix: &Bytes) -> Result<Option<(Bytes, StoredRecord)>> {
        let (from, to) = (self.lowest.first_of(prefix), prefix_end(prefix));
        let ours = self.first_changed((Bound::Included(&from), Bound::Excluded(&to)));
        let stored = self.first_stored(&from, &record_key(self.meta.epoch, &to))?;
        let first = lesser(ours, stored);
        if let Some((key, _)) = &first {
            self.lowest.found_in(prefix, key);
        }
        Ok(first)
    }

    fn last_of(&mut self, prefix: &Bytes) -> Result<Option<Bytes>> {
        let (from, to) = (self.lowest.first_of(prefix), prefix_end(prefix));
        let range = (Bound::Included(&from), Bound::Excluded(&to));
        let mut entries = self.entries.range::<Bytes, _>(range);
        let ours = entries.rfind(|(_, entry)| entry.record.is_some());
        let ours = ours.map(|(key, _)| key.clone());
        if self.cleared {
            return Ok(ours);
        }
        let key = |key: &[u8]| record_key(self.meta.epoch, key);
        for pair in self.store.newest_range(&key(&from), &key(&to)).rev() {
            let stored_key = own_key(&pair?.0);
            let stored = stored_key.map_err(|reason| broken(self.store.path(), reason))?;
            if !self.entries.contains_key(&stored) {
                return Ok(ours.max(Some(stored)));
            }
        }
        Ok(ours)
    }
}

/// The one with the lesser key.
fn lesser(
    one: Option<(Bytes, StoredRecord)>,
    other: Option<(Bytes, StoredRecord)>,
) -> Option<(Bytes, StoredRecord)> {
    match (one, other) {
        (Some(one), Some(other)) if other.0 < one.0 => Some(other),
        (Some(one), _) => Some(one),
        (None, other) => other,
    }
}

pub(super) fn decode(store: &Store, stored: Bytes) -> Result<StoredRecord> {
    StoredRecord::decode(stored).map_err(|reason| broken(store.path(), reason))
}
