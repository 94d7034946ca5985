//! The embedded key-value store: ordered records in memory or on disk, atomic writes, times to live, watches.
//! Knows no socket, no Ruby and no event loop: what waits is a future that anything may poll.
//! Rule: a read waits for no write, only while a database on disk is opened again after a failure; what was acknowledged is kept as
//! the database's durability says.
//!
//! ```
//! use tsumugi_kv::{Database, Range, Spec, Write, Written};
//!
//! # fn main() -> tsumugi_kv::Result<()> {
//! let kv = Database::open(&"#durability=memory,capacity=64m,when_full=evict".parse::<Spec>()?)?;
//! kv.submit_wait(Write::set("花", "桜"))?;
//! assert_eq!(kv.get("花".as_bytes())?.unwrap(), "桜");
//!
//! let visit = Write::Increment { key: "visits".into(), by: 1, initial: 0 };
//! assert!(matches!(kv.submit_wait(visit)?, Written::Number(1)));
//! assert_eq!(kv.page(&Range::prefix("vis"), 10)?.len(), 1);
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

mod clock;
mod computed;
mod cursor;
mod database;
mod decide;
mod disk;
mod engine;
mod error;
pub mod limits;
mod memory;
mod metrics;
mod notify;
mod pending;
mod range;
mod record;
mod registry;
mod search;
pub mod single_flight;
mod spec;
mod sweeper;
mod watch;
mod write;

pub use clock::Clock;
pub use computed::{Computed, mark_json, mark_text};
pub use cursor::{Cursor, Move, Moved, Present};
pub use database::Database;
pub use engine::Pair;
pub use error::{Error, Result};
pub use metrics::{
    DURATIONS, DurationFigure, FIGURES, Figure, Histogram, LATENCY_BUCKETS_US, Snapshot,
};
pub use notify::{QUEUE_KEY, Waiter};
pub use pending::Pending;
pub use range::{Direction, Range, Seek, Sought};
pub use record::Record;
pub use search::SearchMode;
pub use spec::{Durability, Ignored, Spec, WhenFull};
pub use watch::{Changed, Next, Watch};
pub use write::{Desired, Expected, RekeySource, SetMode, Write, Written};
