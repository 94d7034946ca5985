//! What a store in etcd promises, and what it refuses and why. Asks no server.
//! Rule: what is refused here is refused before anything is sent.

use crate::capability::{Bound, Capabilities, Capability, Consistency};
use crate::limits::{ETCD_EXCHANGE_RECORDS_MAX, ETCD_VALUE_BYTES_MAX};

pub(crate) const ENGINE: &str = "a store in etcd";

pub(crate) static CAPABILITIES: Capabilities = Capabilities {
    engine: ENGINE,
    consistency: Consistency::Linearizable,
    refused: &[
        (
            Capability::Search,
            "looks through no keys for a pattern: scan a prefix instead",
        ),
        (
            Capability::Backup,
            "writes no backup to a folder of this machine: take one with etcdctl snapshot save",
        ),
    ],
    value_bytes: Bound {
        name: "ETCD_VALUE_BYTES_MAX",
        max: ETCD_VALUE_BYTES_MAX,
    },
    exchange_records: Bound {
        name: "ETCD_EXCHANGE_RECORDS_MAX",
        max: ETCD_EXCHANGE_RECORDS_MAX,
    },
};
