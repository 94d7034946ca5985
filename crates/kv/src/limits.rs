//! Every bound of this crate, by name. Not settings: what a user may change is in `Spec`, within these.
//! Rule: a queue, buffer or table that has no bound here does not exist.

use std::time::Duration;

/// Longest key. What is written on disk for a record with a time to live holds the key, a tag and eight bytes of time, and the
/// engine takes 65,535 bytes.
pub const KEY_BYTES_MAX: usize = 65_535 - 16;
/// Longest value unless `value_max` says otherwise.
pub const VALUE_BYTES_DEFAULT: usize = 64 * 1024 * 1024;
/// Largest `value_max`. An engine counts the bytes of a value in 32 bits, and a header comes with it.
pub const VALUE_BYTES_MAX: usize = 1024 * 1024 * 1024;
/// Capacity of a database in memory unless `capacity` says otherwise.
pub const CAPACITY_BYTES_DEFAULT: u64 = 1024 * 1024 * 1024;
/// Smallest capacity of a database in memory.
pub const CAPACITY_BYTES_MIN: u64 = 64 * 1024;
/// Block cache of a database on disk unless `cache` says otherwise.
pub const CACHE_BYTES_DEFAULT: u64 = 64 * 1024 * 1024;
/// Smallest block cache of a database on disk.
pub const CACHE_BYTES_MIN: u64 = 1024 * 1024;
/// Longest specification of a database.
pub const SPEC_BYTES_MAX: usize = 8 * 1024;
/// Longest time to live, a hundred years, so that adding one to a clock cannot overflow.
pub const TTL_MAX: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

/// What a record in memory is charged beyond the bytes of its key and its value: its entries in the order and in the list of
/// recent use, the allocation of the value.
pub const RECORD_OVERHEAD_BYTES: u64 = 160;
/// Parts of a database in memory, each with its own lock.
pub const SHARDS: usize = 32;
/// Most records that one call to `page` returns.
pub const PAGE_RECORDS_MAX: usize = 10_000;
/// Most records that one step of a look for a record passes over because they have expired.
pub const SEEK_LOOKS_MAX: usize = 1_000;
/// A page ends with the record that takes it past this size.
pub const PAGE_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Most keys that one search returns; also what a capacity of 0 means.
pub const SEARCH_MATCHES_MAX: usize = 1_000_000;
/// Most bytes of keys that one search returns.
pub const SEARCH_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Longest pattern of a search.
pub const PATTERN_BYTES_MAX: usize = 64 * 1024;
/// Longest pattern of a search by edit distance, which costs its length for every byte of every key.
pub const EDIT_PATTERN_BYTES_MAX: usize = 1024;
/// Memory that a compiled regular expression may take.
pub const REGEX_BYTES_MAX: usize = 1024 * 1024;
/// Most writes in one batch.
pub const BATCH_WRITES_MAX: usize = 100_000;
/// Most records that one exchange may compare, and that it may change.
pub const EXCHANGE_RECORDS_MAX: usize = 10_000;
/// Bytes of the records of a database on disk that one write may look at and change, if two of the largest values are not more.
pub const EXCHANGE_BYTES_MAX: usize = 256 * 1024 * 1024;

/// Longest name of a queue.
pub const QUEUE_NAME_BYTES_MAX: usize = 1_024;
/// Queues of a database on disk whose first keys are remembered. Those of others are looked for.
pub const QUEUES_REMEMBERED_MAX: usize = 1_024;

/// Changes that wait for the owner of one watch; one more, and it has lagged.
pub const WATCH_CHANGES_MAX: usize = 1_024;
/// Bytes of keys that wait for the owner of one watch.
pub const WATCH_BYTES_MAX: usize = 1024 * 1024;
/// Watches of one database.
pub const WATCHES_MAX: usize = 4_096;
/// Callers of one database that may wait to be notified.
pub const WAITERS_MAX: usize = 65_536;

/// How often a database is tried that another process is about to let go.
pub const TAKEOVER_LOOK: Duration = Duration::from_millis(5);
/// How long a database is tried once that process has gone: by then a third one has it.
pub const TAKEOVER_REST: Duration = Duration::from_secs(1);

/// Callers of `fetch` in the process that may wait for values that others compute.
pub const FETCH_WAITERS_MAX: usize = 65_536;

/// Writes that may wait for the thread of a database on disk; one more is refused at once.
pub const QUEUE_WRITES_MAX: usize = 65_536;
/// Bytes that may wait for it. A write that is larger is taken when nothing else waits.
pub const QUEUE_BYTES_MAX: usize = 256 * 1024 * 1024;
/// Writes that one commit holds; a batch counts as one.
pub const GROUP_WRITES_MAX: usize = 4_096;
/// A commit ends with the write that takes it past this size.
pub const GROUP_BYTES_MAX: usize = 16 * 1024 * 1024;
/// A commit of a backup ends with the record that takes it past this size.
pub const BACKUP_BYTES: usize = 4 * 1024 * 1024;
/// Unfinished backups of one name, those that a crash left among them.
pub const PARTIAL_COPIES_MAX: u32 = 100;
/// How many times what lies behind a damaged place of a journal is looked at, at most, for commits that follow it. Only values that
/// imitate commits take more than two; the database is then not opened, as if commits followed.
pub const JOURNAL_LOOK_FACTOR: u64 = 8;
