//! The embedded key-value store: ordered records in memory or on disk, atomic writes, times to live, watches.
//! Knows no socket, no Ruby and no event loop: what waits is a future that anything may poll.
//! Rule: a read waits for no write, only while a database on disk is opened again after a failure; what was acknowledged is kept as
//! the database's durability says.
//!
//! ```
//! use tsumugi_kv::{KeyRange, KvDatabase, Spec, Write, WriteResult};
//!
//! # fn main() -> tsumugi_kv::Result<()> {
//! let kv = KvDatabase::open(&"#durability=memory,capacity=64m,when_full=evict".parse::<Spec>()?)?;
//! kv.submit_wait(Write::set("花", "桜"))?;
//! assert_eq!(kv.get("花".as_bytes())?.unwrap(), "桜");
//!
//! let visit = Write::Increment { key: "visits".into(), by: 1, initial: 0 };
//! assert!(matches!(kv.submit_wait(visit)?, WriteResult::Number(1)));
//! assert_eq!(kv.page(&KeyRange::prefix("vis"), 10)?.len(), 1);
//! # Ok(())
//! # }
//! ```
//!
//! # Features
//!
//! | feature | what it adds | on by default |
//! | --- | --- | --- |
//! | `disk` | databases in folders, and backups of any; without, those in memory, and [`Error::NotBuiltIn`] for the rest | yes |
//!
//! # How records are kept
//!
//! A database is ordered records in memory, or in a folder on disk; `crates/kv/src/spec.rs` says which. Both engines share `decide.rs`, a pure
//! function from a write and the records it reads to an answer and changes, so a compare-and-exchange means the same everywhere. One path
//! is one database per process, whatever the number of workers and through reloads (`registry.rs`); a lock file keeps other processes out. A
//! process that takes over from another one opens what that one has once it has let it go (`takeover.rs`).
//!
//! **In memory** a database has 32 parts, chosen by a hash of the key, each with a lock that is held for one step. A write that concerns
//! several records takes all of them, in order. One more lock, taken last and only when a key comes or goes, guards the order of all keys, which scans and
//! cursors walk. A record is charged its key, its value and
//! `RECORD_OVERHEAD_BYTES`; at the `capacity` a write is refused, or the records that were not used for the longest time are removed.
//!
//! **On disk** reads run in place and wait for no write. All writes go through one thread per database (`disk/writer.rs`): it takes what
//! waits, decides one after another over an overlay of what the group has changed so far, puts the result into the engine as one batch with
//! the exact count and a commit number, and answers the callers afterwards. So every write is atomic without a lock, and one `fdatasync`
//! serves a whole group. A reader sees all of a commit or nothing: it reads in place when a sequence number says that no commit came in
//! between, and otherwise from a snapshot.
//!
//! | durability | acknowledged after | outlives |
//! | --- | --- | --- |
//! | `memory` | the step itself | nothing |
//! | `process` (default on disk) | the system has the bytes | `kill -9` |
//! | `disk` | the disk has confirmed them, one call for a group | a crash of the machine |
//!
//! **After a crash** the journals are looked through before the engine replays them (`disk/journal.rs`): commits must follow each other
//! without a gap. What no commit ended is cut off. A damaged byte with commits behind it refuses to open, since what follows would be lost
//! without a word; so do files of the engine that are missing or do not fit together, and a list of its tables whose checksum is
//! another (`disk/manifest.rs`), with path and reason. Tables carry checksums; a read
//! that meets damage fails, and returns nothing wrong.
//!
//! **When the disk is full** the engine stops for good. Writes then fail with `DiskFull`, reads go on, and once 8 MiB are free the folder is
//! opened again, without what was in the journal of a write that had failed. Meanwhile the tables and the memory of the engine that stopped are
//! read, also when the space is gone again; each engine knows the folder by a link of its own (`disk/alias.rs`), so that what is left of the old
//! one can remove no file of the new one.
//!
//! **Times to live** are stored with the value, in wall-clock milliseconds, and in an index beside the records. What has expired is neither
//! returned nor counted, swept or not; the writing thread sweeps, and one thread for all databases in memory. Clearing begins another
//! epoch, at once; what the last one left is removed bit by bit.
//!
//! **A named queue** is records whose keys begin with its name (`queue:4:mail:`), told apart from all other queues', and end with a place; a record
//! that is pushed has the place behind the last one (`queue.rs`). On disk a pop begins where the last one found something (`disk/lowest.rs`).
//!
//! **Limits**: keys 65,519 bytes, values `value_max` (64 MiB), 65,536 writes and 256 MiB waiting, 1,024 changes waiting for a watch, pages of
//! 4 MiB. A database on disk takes its `cache`, up to about 100 MiB of memory for what is not in tables yet, and three threads.
//!
//! `make soak` kills a writing process 200 times, damages files at hundreds of places and checks thousands of histories of 16 clients for an
//! order, in process and over the service (`crates/kv/tests/kill.rs`, `damage.rs`, `linear.rs`, `large.rs`, `crates/rpc/tests/service/kill.rs`, `linear.rs`); `make test` does
//! the same in short.

#![forbid(unsafe_code)]

mod clock;
mod close_state;
mod computed;
mod cursor;
mod database;
mod decide;
#[cfg(feature = "disk")]
mod disk;
#[cfg(not(feature = "disk"))]
#[path = "without_disk.rs"]
mod disk;
mod engine;
mod engine_slot;
mod error;
pub mod limits;
mod memory;
mod metrics;
mod notify;
mod pending;
mod queue;
mod range;
mod record;
mod registry;
mod search;
pub mod single_flight;
mod spec;
mod sweeper;
mod takeover;
mod watch;
mod write;

pub use clock::Clock;
pub use computed::{ComputedValue, mark_json, mark_text};
pub use cursor::{Cursor, Move, MoveOutcome, Present};
pub use database::KvDatabase;
pub use error::{Error, LockHolder, Result};
pub use metrics::{
    DURATIONS, DurationFigure, FIGURES, Figure, Histogram, KvSnapshot, LATENCY_BUCKETS_US,
};
pub use notify::{QUEUE_KEY, Waiter, Waiters};
pub use pending::Pending;
pub use queue::{place_at, place_key, place_of, pushed_subject, queue_prefix};
pub use range::{KeyRange, Pair, ReadDirection, Seek, SeekOutcome};
pub use record::StoredRecord;
pub use registry::release_databases;
pub use search::SearchMode;
pub use spec::{Durability, IgnoredSetting, Spec, WhenFull};
pub use takeover::{
    Takeover, has_awaited, has_folders, is_takeover_settled, none_awaited, wait_for_locks,
};
pub use watch::{ChangeEvent, NextChange, PrefixWatch};
pub use write::{Desired, Expected, Lifetime, RekeySource, SetMode, Write, WriteResult};
