//! Keeps the memory of header maps for the next message on the same thread. Holds no header: maps are emptied before they are kept.
//! Saves the two allocations that each response's map would cost.

use std::cell::RefCell;

use http::HeaderMap;

use crate::limits::{SPARE_FIELDS_MAX, SPARE_MAPS_MAX};

thread_local! {
    static SPARES: RefCell<Vec<HeaderMap>> = const { RefCell::new(Vec::new()) };
}

/// An empty map.
pub(crate) fn take() -> HeaderMap {
    SPARES
        .with_borrow_mut(|spares| spares.pop())
        .unwrap_or_default()
}

/// Puts a map in place of an empty one.
pub(crate) fn put(empty: &mut HeaderMap, map: HeaderMap) {
    // One that never held anything owns no memory, and to drop it is a walk through all its parts.
    match std::mem::replace(empty, map) {
        empty if empty.capacity() == 0 => std::mem::forget(empty),
        used => drop(used),
    }
}

/// Keeps a map that is no longer needed.
pub(crate) fn keep(mut map: HeaderMap) {
    if map.capacity() == 0 || map.capacity() > SPARE_FIELDS_MAX {
        return;
    }
    map.clear();
    // At the end of a thread there is nothing to keep it in.
    let _ = SPARES.try_with(|spares| {
        let mut spares = spares.borrow_mut();
        if spares.len() < SPARE_MAPS_MAX {
            spares.push(map);
        }
    });
}
