//! Every bound of this crate, by name. Those of a database of this process are `tsumugi-kv`'s, those of a `tkrzw://` client `tsumugi-rpc`'s.
//! Rule: a queue or a message that has no bound here or there does not exist.

use std::time::Duration;

/// Longest address of a store, settings included.
pub const ADDRESS_BYTES_MAX: usize = 8 * 1024;
/// Servers that one address may name.
pub const ENDPOINTS_MAX: usize = 16;
/// How long a call of an engine behind a network may take unless `timeout` says otherwise.
pub const CALL_MS_DEFAULT: u64 = 5_000;
/// Longest `timeout`.
pub const CALL_MS_MAX: u64 = 3_600_000;
/// How often a write that others precede is tried.
pub const WRITE_TRIES_MAX: usize = 128;
/// Calls of one stream to a `tkrzw://` store that are under way at a time: the writes of a batch, the steps of a page.
pub const CALLS_MAX: usize = 64;
/// Bytes of the records of one call that reads or writes several.
pub const KV_MULTI_BYTES_MAX: usize = 256 * 1024 * 1024;
/// Watches of one client.
pub const REMOTE_WATCHES_MAX: usize = 256;

/// How long a connection to a server of Redis may take, from the look-up of its name to its greeting.
pub const REDIS_CONNECT_MS_MAX: u64 = 2_000;
/// How long a Sentinel may take to say where the master is.
pub const REDIS_SENTINEL_MS_MAX: u64 = 1_000;
/// Calls of one client of Redis that are under way at a time.
pub const REDIS_CALLS_MAX: usize = 16_384;
/// Calls that are handed to a connection to Redis ahead of what it has sent; further ones wait.
pub const REDIS_PIPELINE_CALLS: usize = 512;
/// How often a call is sent on by the nodes of a cluster.
pub const REDIS_REDIRECTS_MAX: usize = 16;
/// Nodes of a cluster that have slots.
pub const REDIS_NODES_MAX: usize = 1_000;
/// First pause of a call that waits for a server.
pub const REDIS_RETRY_MS_MIN: u64 = 50;
/// Longest such pause.
pub const REDIS_RETRY_MS_MAX: u64 = 500;
/// How often a cluster is asked which node has which slots, at most.
pub const REDIS_SLOTS_REST_MS: u64 = 500;
/// Keys of one command that reads several.
pub const REDIS_READ_KEYS: usize = 1_000;
/// Such commands of one call that are under way at a time.
pub const REDIS_READS_AT_ONCE: usize = 8;
/// Longest line of an answer of Redis: of its errors and its numbers.
pub const REDIS_REPLY_LINE_BYTES_MAX: usize = 64 * 1024;
/// Entries of one list in an answer.
pub const REDIS_REPLY_ENTRIES_MAX: usize = 1_000_000;
/// What is shown of an error's text.
pub const REDIS_ERROR_TEXT_BYTES_MAX: usize = 200;
/// Oldest major version of Redis that is spoken to.
pub const REDIS_VERSION_MIN: u32 = 7;
/// Longest `prefix`.
pub const REDIS_PREFIX_BYTES_MAX: usize = 128;
/// Channels of one client that have subscribers.
pub const REDIS_CHANNELS_MAX: usize = 10_000;
/// Subscriptions of one client.
pub const REDIS_SUBSCRIPTIONS_MAX: usize = 65_536;
/// Messages that wait for one subscriber.
pub const REDIS_MESSAGES_MAX: usize = 1_024;
/// Bytes of the messages that wait for one subscriber.
pub const REDIS_MESSAGE_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Messages of a connection that have come and are not yet given to their subscribers.
pub const REDIS_PUSHES_MAX: usize = 1_024;
/// How often a connection that only receives is seen to be alive.
pub const REDIS_PING_MS: u64 = 5_000;
/// Longest pause before a channel that has ended is opened again.
pub const REDIS_LISTEN_MS_MAX: u64 = 2_000;

pub use tsumugi_kv::limits::{WATCH_BYTES_MAX, WATCH_CHANGES_MAX};

/// Bytes of a value in etcd, whose own limit of a request, keys included, is 1.5 MiB.
pub const ETCD_VALUE_BYTES_MAX: usize = 1024 * 1024;
/// Bytes of one request to etcd, which refuses those of 1.5 MiB.
pub const ETCD_REQUEST_BYTES_MAX: usize = 1536 * 1024 - 16 * 1024;
/// Records that one exchange in etcd compares, and changes: etcd takes 128 operations in a transaction.
pub const ETCD_EXCHANGE_RECORDS_MAX: usize = 128;
/// Bytes of one answer of etcd's.
pub const ETCD_ANSWER_BYTES_MAX: usize = 32 * 1024 * 1024;
/// Records of one range that is read in etcd.
pub const ETCD_PAGE_RECORDS_MAX: usize = 1_000;
/// How long a connection to one server of etcd may take.
pub const ETCD_CONNECT_MS_MAX: u64 = 1_000;
/// How long one server of etcd is waited for at least that is asked for what another may give as well; a third of the call's time if that
/// is more.
pub const ETCD_ATTEMPT_MS: u64 = 1_000;
/// Between two rounds of all servers of etcd, and as much again at random.
pub const ETCD_REST_MS: u64 = 50;
/// How often one call logs in again.
pub const ETCD_LOGINS_MAX: usize = 3;
/// Leases of etcd that a client keeps to use again.
pub const ETCD_LEASES_MAX: usize = 256;
/// Records that one lease of etcd is given to: all of them go at once.
pub const ETCD_LEASE_RECORDS_MAX: usize = 1_000;
/// Queues of etcd whose last place a client remembers.
pub const ETCD_QUEUES_REMEMBERED_MAX: usize = 1_024;
/// How often a watch of etcd asks its server for a sign of life; it goes to another one after two without.
pub const ETCD_WATCH_ALIVE_MS: u64 = 2_000;
/// Leases of a cluster that holders of one application have in etcd, on one worker.
pub const ETCD_HELD_LEASES_MAX: usize = 100_000;
/// How often a lease in etcd is asked for again when another caller was first. After that it counts as that caller's.
pub const ETCD_TAKE_TRIES: usize = 4;
/// Longest pause before a lease in etcd that another holder has is asked for again.
pub const ETCD_LEASE_POLL_MAX: Duration = Duration::from_millis(500);
/// How long the last message of a channel stays in etcd at least.
pub const ETCD_MESSAGE_TTL: Duration = Duration::from_secs(60);
/// Longest rest of a watch of etcd between attempts to begin again.
pub const ETCD_WATCH_REST_MS_MAX: u64 = 2_000;
