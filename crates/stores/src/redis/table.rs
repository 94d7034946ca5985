//! What a store in Redis promises, and what it refuses and why. Asks no server.

use tsumugi_kv::limits::{EXCHANGE_RECORDS_MAX, VALUE_BYTES_DEFAULT};

use crate::capability::{Bound, Capabilities, Capability, Consistency};

pub(crate) static CAPABILITIES: Capabilities = Capabilities {
    engine: "a store in Redis",
    consistency: Consistency::OneServer,
    refused: &[
        (
            Capability::Watch,
            "reports no changes, because Redis drops its notices of keys without a word: publish a message of your own, or keep what is watched in etcd",
        ),
        (
            Capability::Scan,
            "has no order of keys: keep what is read in order in a database, in etcd or in a store of this process",
        ),
        (
            Capability::Count,
            "cannot count its records, because Redis counts those of all applications together: keep a counter",
        ),
        (
            Capability::Search,
            "cannot look for keys without going through those of all applications: keep a record that lists them",
        ),
        (
            Capability::Queue,
            "has no least key to take: keep a queue in a database or in a store of this process",
        ),
        (
            Capability::Clear,
            "cannot remove all its records at one moment: use another prefix, and a ttl for what shall go",
        ),
        (
            Capability::Synchronize,
            "is never told that a write is on a disk: keep what must not be lost in a database or in etcd",
        ),
        (
            Capability::Backup,
            "is backed up by those who run the server",
        ),
    ],
    value_bytes: Bound {
        name: "REDIS_VALUE_BYTES_MAX",
        max: VALUE_BYTES_DEFAULT,
    },
    exchange_records: Bound {
        name: "EXCHANGE_RECORDS_MAX",
        max: EXCHANGE_RECORDS_MAX,
    },
};
