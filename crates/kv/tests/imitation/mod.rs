//! Values that imitate what a journal holds, as a client makes them who knows all but the seal of the database. Knows no database.
//! Rule: what is made here is a value of one `Set`; where the imitation begins is inside of it.

use tsumugi_kv::Write;
use xxhash_rust::xxh3::xxh3_64;

pub const MARKER: &[u8] = b"FJL\x03";

/// The bytes that come before a record's key on disk.
const KEY_PREFIX: &[u8] = b"k\0\0\0\0";

/// The records of a journal say which commit they are of.
fn meta(commit: u64, seal: &[u8]) -> Vec<u8> {
    let layout = match seal {
        [] => 1,
        _ => 2,
    };
    let mut meta = vec![layout, 0, 0, 0, 0];
    meta.extend(1_u64.to_be_bytes());
    meta.extend(commit.to_be_bytes());
    meta.extend(seal);
    item(b"m", &meta)
}

fn item(key: &[u8], value: &[u8]) -> Vec<u8> {
    let mut item = vec![2, 0, 0];
    item.extend(1_u64.to_le_bytes());
    item.extend((key.len() as u16).to_le_bytes());
    item.extend((value.len() as u32).to_le_bytes());
    item.extend((value.len() as u32).to_le_bytes());
    item.extend(key);
    item.extend(value);
    item
}

fn end(items: &[u8]) -> Vec<u8> {
    let mut end = vec![3];
    end.extend(xxh3_64(items).to_le_bytes());
    end.extend(MARKER);
    end
}

/// A whole commit without a record.
fn commit(number: u64, seal: &[u8]) -> Vec<u8> {
    let items = meta(number, seal);
    let mut batch = vec![1, 1, 0, 0, 0];
    batch.extend((number + 1_000).to_le_bytes());
    batch.extend_from_slice(&items);
    batch.extend(end(&items));
    batch
}

/// A write that is commit `number` of a database, and another one with an unbroken run of commits behind it when the length of its key is
/// read as `short`. Its value has `bytes` bytes, of which the last ones are the imitation.
pub fn write(key: &[u8], short: usize, number: u64, bytes: usize, seal: &[u8]) -> Write {
    let stored = [KEY_PREFIX, key].concat();
    let rest = &stored[short..];
    let mut value = vec![b'v'; bytes - rest.len()];
    // A record is stored behind a header of one byte.
    let imitated = [rest, &[0], &value].concat();
    let meta = meta(number, seal);
    let items = [item(&stored[..short], &imitated), meta.clone()].concat();
    value.extend(meta);
    value.extend(end(&items));
    for later in number + 1.. {
        if value.len() >= bytes {
            break;
        }
        value.extend(commit(later, seal));
    }
    value.truncate(bytes);
    Write::set(key.to_vec(), value)
}
