//! Targets of the key-value store: specifications of databases, and values as they are stored on disk. Opens no database.

use bytes::Bytes;
use tsumugi_kv::{Spec, StoredRecord};

/// A specification: what is read is written so that it is read as the same.
pub fn kv_spec(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    if let Ok(spec) = text.parse::<Spec>() {
        let written = spec.to_string();
        match written.parse::<Spec>() {
            Ok(again) => assert_eq!(again, spec, "{written}"),
            // What is written names every setting, which can be longer than what was read.
            Err(error) => assert!(
                error.to_string().contains("SPEC_BYTES_MAX"),
                "{written}: {error}"
            ),
        }
    }
}

/// A stored value: what is read is written as it was.
pub fn kv_record(bytes: &[u8]) {
    let stored = Bytes::copy_from_slice(bytes);
    if let Ok(record) = StoredRecord::decode(stored.clone()) {
        assert!(record.value.len() < bytes.len());
        assert_eq!(record.encode(), stored);
    }
}
