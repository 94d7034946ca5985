//! Below which keys no record is, for the whole database and for each queue: removed records that the engine still passes over are not passed
//! over again at each pop. Knows no engine. Rule: what is not known for certain is the beginning.

use std::collections::HashMap;

use bytes::Bytes;

use crate::limits::QUEUES_REMEMBERED_MAX;
use crate::queue::prefix_of;

#[derive(Debug, Default)]
pub(super) struct LowestKeys {
    /// Of all records.
    first: Bytes,
    /// Of each queue, by its prefix.
    queues: HashMap<Bytes, Bytes>,
}

impl LowestKeys {
    /// No record has a lesser key.
    pub(super) fn first(&self) -> &Bytes {
        &self.first
    }

    /// No record of the queue has a lesser key.
    pub(super) fn first_of(&self, prefix: &Bytes) -> Bytes {
        self.queues.get(prefix).unwrap_or(prefix).clone()
    }

    /// The first record was looked for, and has this key.
    pub(super) fn found(&mut self, key: &Bytes) {
        self.first = own(key);
    }

    /// The same of a queue.
    pub(super) fn found_in(&mut self, prefix: &Bytes, key: &Bytes) {
        if self.queues.len() >= QUEUES_REMEMBERED_MAX && !self.queues.contains_key(prefix) {
            self.queues.clear();
        }
        self.queues.insert(prefix.clone(), own(key));
    }

    /// A record is stored at a key.
    pub(super) fn stored(&mut self, key: &Bytes) {
        if *key < self.first {
            self.first = own(key);
        }
        if let Some(prefix) = prefix_of(key)
            && let Some(first) = self.queues.get_mut(prefix)
            && *key < *first
        {
            *first = own(key);
        }
    }
}

/// A copy of what may be a part of a whole message, or of a block of a table.
fn own(key: &Bytes) -> Bytes {
    Bytes::copy_from_slice(key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::{place_key, queue_prefix};

    #[test]
    fn record_that_is_stored_below_lowers_what_is_known() {
        let mut lowest = LowestKeys::default();
        let prefix = queue_prefix(b"q");
        assert_eq!(lowest.first_of(&prefix), prefix);
        lowest.found_in(&prefix, &place_key(&prefix, 7));
        lowest.stored(&place_key(&prefix, 9));
        assert_eq!(lowest.first_of(&prefix), place_key(&prefix, 7));
        lowest.stored(&place_key(&prefix, 5));
        assert_eq!(lowest.first_of(&prefix), place_key(&prefix, 5));
        lowest.found(&Bytes::from_static(b"m"));
        lowest.stored(&Bytes::from_static(b"b"));
        assert_eq!(lowest.first(), "b");
    }

    #[test]
    fn queues_that_are_remembered_have_a_bound() {
        let mut lowest = LowestKeys::default();
        for number in 0..=QUEUES_REMEMBERED_MAX {
            let prefix = queue_prefix(number.to_string().as_bytes());
            lowest.found_in(&prefix, &place_key(&prefix, 1));
            assert!(lowest.queues.len() <= QUEUES_REMEMBERED_MAX);
        }
        assert_eq!(lowest.queues.len(), 1);
    }
}
