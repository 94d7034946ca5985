//! Every bound of this crate, by name. Not settings: what a user may change is in `Options`, within these.
//! Rule: a queue, buffer or pool that has no bound here does not exist.

use std::time::Duration;

/// Most reader connections of one engine.
pub const POOL_MAX: usize = 64;
/// Reader connections of one engine unless the caller says otherwise.
pub const POOL_DEFAULT: usize = 4;
/// Connections to a server that stay open without use.
pub const POOL_MIN_DEFAULT: usize = 1;
/// Most jobs that may wait for one kind of connection; one more is refused at once.
pub const QUEUE_MAX: usize = 16_384;
/// Most statements of one transaction that may wait for each other.
pub const TRANSACTION_QUEUE_MAX: usize = 64;
/// Most bytes of texts and blobs in the values of one statement, or of one pipeline.
pub const BINDS_BYTES_MAX: usize = 256 * 1024 * 1024;
/// Most prepared statements that a connection may keep.
pub const STATEMENT_CACHE_MAX: usize = 4_096;
/// Prepared statements that a connection keeps unless the caller says otherwise.
pub const STATEMENT_CACHE_DEFAULT: usize = 256;
/// Packed size of one whole result unless the caller says otherwise.
pub const ROWS_MAX_BYTES_DEFAULT: usize = 64 * 1024 * 1024;
/// Row offsets are 32 bits wide, which bounds what a caller may allow for one result.
pub const ROWS_MAX_BYTES_MAX: usize = u32::MAX as usize;
/// Most rows that a caller may ask for in one batch of a stream; on SQLite and Firebird there are never more. PostgreSQL's driver goes by
/// their size where the caller gives none.
pub const BATCH_MAX_ROWS: usize = 1_000;
/// A batch of a stream ends with the row that takes it past this size.
pub const BATCH_MAX_BYTES: usize = 256 * 1024;
/// Most blobs that the rows of one batch of a stream name, the contents of which come with it.
pub const BATCH_MAX_BLOBS: usize = 32;
/// Blobs that are read at the same time for one result.
#[cfg(feature = "firebird")]
pub(crate) const BLOBS_AHEAD: usize = 16;
/// SQL texts of which a pool remembers how they are sent.
pub const PLANS_MAX: usize = 1_024;
/// Forms of statements that a thread counts for one database, for the admin pages; the least used leave.
pub const STATEMENTS_KEPT_MAX: usize = 256;
/// Texts of which a thread remembers their form, for one database.
pub const STATEMENT_TEXTS_MAX: usize = 1_024;
/// Bytes of such a text.
pub const STATEMENT_TEXT_BYTES_MAX: usize = 4 << 10;
/// Bytes of a statement that is kept as it was sent, so that it can be explained.
pub const STATEMENT_ORIGINAL_BYTES_MAX: usize = 16 << 10;
/// How long it may take to explain a statement.
pub const EXPLAIN_MAX: Duration = Duration::from_secs(5);
/// Connections that one pool's listeners may have, beside those of the pool.
pub const LISTENERS_MAX: usize = 64;
/// Age at which a connection to a server is replaced.
pub const LIFETIME_DEFAULT: Duration = Duration::from_secs(30 * 60);
/// How long a connection to a server stays open without use.
pub const IDLE_CONNECTION_DEFAULT: Duration = Duration::from_secs(5 * 60);
/// How long a caller waits for a connection.
pub const ACQUIRE_TIMEOUT_DEFAULT: Duration = Duration::from_secs(5);
/// How long a first connection may take, or attempts may keep failing, before a line in the log.
pub(crate) const WAIT_NOTICE_AFTER: Duration = Duration::from_secs(1);
/// Between two lines in the log about a database that cannot be connected to.
pub(crate) const OUTAGE_NOTICE_EVERY: Duration = Duration::from_secs(10);
/// How long the last line about a database is remembered at least, so that another says when it is back.
pub(crate) const OUTAGE_NOTICE_MEMORY: Duration = Duration::from_secs(100);
/// How long each of several hosts may take to open a connection at least, however short the time of those who wait for one.
pub(crate) const HOST_TIME_MIN: Duration = Duration::from_secs(1);
/// How long a commit whose caller has left may take before the log says so.
pub(crate) const COMMIT_GRACE: Duration = Duration::from_secs(1);
/// How long it is asked what has become of a commit, for the log, when its caller has been answered that it is not known.
pub(crate) const LATE_INQUIRY_MAX: Duration = Duration::from_secs(5 * 60);
/// Commits of one pool of which that is asked at the same time.
pub(crate) const LATE_INQUIRIES_MAX: usize = 16;
/// Between the first question what has become of a commit and the next. It doubles with each.
pub(crate) const INQUIRY_PAUSE_MIN: Duration = Duration::from_millis(10);
/// Between two such questions at most.
pub(crate) const INQUIRY_PAUSE_MAX: Duration = Duration::from_millis(500);
/// Replicas of one database.
pub const REPLICAS_MAX: usize = 16;
/// How far behind its primary a replica may be.
pub const REPLICA_LAG_DEFAULT: Duration = Duration::from_secs(10);
/// The longest that may be said for it. What a client keeps of what it has written and seen is as old at most.
pub const REPLICA_LAG_MAX: Duration = Duration::from_secs(60 * 60);
/// How long a read waits for a connection to a replica, before the primary is asked instead. It is `acquire_timeout` at most.
pub const REPLICA_ACQUIRE_MAX: Duration = Duration::from_millis(500);
/// How long after `statement_timeout` a replica may be silent before a read goes to the primary: one that is alive has ended the statement by then.
pub const REPLICA_SILENCE_MAX: Duration = Duration::from_millis(500);
/// How often it is looked how far the primary and its replicas are, and how long one look may take.
pub const REPLICA_CHECK: Duration = Duration::from_secs(1);
/// Between two looks at a replica that does not answer, at most. It doubles with each.
pub const REPLICA_RETRY_MAX: Duration = Duration::from_secs(8);
/// Databases with replicas of which it is kept what a user has written and seen.
pub const RECENCY_DATABASES_MAX: usize = 8;
/// How long after its statement's time a server may stay silent before the connection counts as lost.
pub(crate) const SILENCE_MAX: Duration = Duration::from_secs(5);
/// How long one statement may run.
pub const STATEMENT_TIMEOUT_DEFAULT: Duration = Duration::from_secs(30);
/// How long a statement waits for another process's lock on the file.
pub const BUSY_TIMEOUT_DEFAULT: Duration = Duration::from_secs(5);
/// How long a transaction or a stream may keep a connection without asking anything of it.
pub const IDLE_TIMEOUT_DEFAULT: Duration = Duration::from_secs(60);
/// Longest of all the durations above, so that adding one to a clock cannot overflow.
pub const TIMEOUT_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// Tables of which one application on one worker remembers the primary key. Beyond that it asks for all of them again.
pub(crate) const PRIMARY_KEYS_MAX: usize = 10_000;
/// Most digits of the number in front of a migration's name.
pub const VERSION_DIGITS_MAX: u16 = 32;
/// How long a change of a table waits for another change of the schema.
pub const SCHEMA_WAIT_DEFAULT: Duration = Duration::from_secs(30);
/// How long migrations and seeds wait for another change of the schema, which may take long.
pub const SCHEMA_LOCK_MAX: Duration = Duration::from_secs(10 * 60);
/// How often it looks whether the other is done.
pub const SCHEMA_LOCK_POLL: Duration = Duration::from_millis(50);
/// A result up to this size is copied out of the packer, which keeps its memory; a larger one takes the memory along.
pub(crate) const COPY_MAX_BYTES: usize = 64 * 1024;
/// How often the database of a test is dropped, and the list of them made, before that is an error.
pub(crate) const TEST_DATABASE_TRIES_MAX: usize = 100;
/// Between two of these tries.
pub(crate) const TEST_DATABASE_PAUSE: Duration = Duration::from_millis(50);
