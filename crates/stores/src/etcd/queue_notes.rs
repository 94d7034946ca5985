//! What this client knows of the notes of queues, so that a push needs no read first. Asks no server.
//! Rule: a note may be old: what is built on it fails at the server and is done again.

use std::cell::RefCell;
use std::collections::HashMap;

use bytes::Bytes;

use super::messages::KeyValue;
use crate::limits::ETCD_QUEUES_REMEMBERED_MAX;

/// The notes of queues as this client saw them last. Those of others are read first.
#[derive(Default)]
pub(super) struct QueueNotes(RefCell<HashMap<Bytes, KeyValue>>);

impl QueueNotes {
    pub(super) fn find(&self, key: &Bytes) -> Option<KeyValue> {
        self.0.borrow().get(key).cloned()
    }

    pub(super) fn keep(&self, note: KeyValue) {
        let mut notes = self.0.borrow_mut();
        if notes.len() >= ETCD_QUEUES_REMEMBERED_MAX && !notes.contains_key(&note.key) {
            notes.clear();
        }
        notes.insert(note.key.clone(), note);
    }
}

/// The place that a note holds; 0 before the first push.
pub(super) fn place_in(note: Option<&KeyValue>) -> u64 {
    let bytes = note.and_then(|note| <[u8; 8]>::try_from(&note.value[..]).ok());
    bytes.map_or(0, u64::from_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_beyond_their_limit_make_room() {
        let notes = QueueNotes::default();
        for at in 0..=ETCD_QUEUES_REMEMBERED_MAX {
            notes.keep(KeyValue {
                key: at.to_string().into(),
                value: Bytes::copy_from_slice(&7_u64.to_be_bytes()),
                ..KeyValue::default()
            });
        }
        assert_eq!(notes.0.borrow().len(), 1);
        let last = notes.find(&ETCD_QUEUES_REMEMBERED_MAX.to_string().into());
        assert_eq!(place_in(last.as_ref()), 7);
        assert_eq!(place_in(None), 0);
    }
}
