//! How much a write holds while it waits for the thread of a database. Knows no thread.

use crate::write::{Desired, Expected, Write};

/// Bytes that a write holds while it waits.
pub(super) fn write_bytes(write: &Write) -> usize {
    let desired = |desired: &Desired| match desired {
        Desired::Put(value, _) => value.len(),
        Desired::Keep | Desired::Remove => 0,
    };
    let expected = |expected: &Expected| match expected {
        Expected::Value(value) => value.len(),
        Expected::Absent | Expected::Any => 0,
    };
    let held = match write {
        Write::Set { key, value, .. } => key.len() + value.len(),
        Write::Remove { key } | Write::Increment { key, .. } | Write::Touch { key, .. } => {
            key.len()
        }
        Write::Append {
            key,
            value,
            delimiter,
        } => key.len() + value.len() + delimiter.len(),
        Write::CompareExchange {
            key,
            expected: before,
            desired: after,
        } => key.len() + expected(before) + desired(after),
        Write::CompareExchangeMulti {
            expected: before,
            desired: after,
        } => {
            let before = before.iter().map(|(key, one)| key.len() + expected(one));
            let after = after.iter().map(|(key, one)| key.len() + desired(one));
            before.sum::<usize>() + after.sum::<usize>()
        }
        Write::Rekey { old, new, .. } => old.len() + new.len(),
        Write::PushLast { value, .. } => value.len(),
        Write::Push { queue, value } => queue.len() + value.len(),
        Write::Pop { queue } => queue.len(),
        Write::Batch(writes) => writes.iter().map(write_bytes).sum(),
        Write::PopFirst | Write::Clear => 0,
    };
    held + size_of::<Write>()
}
