//! Times to live as leases of etcd. A record lives at least as long as was asked for, and longer by an eighth, a second or two at least, and by what
//! etcd adds: a lease ends within a second or so after its time, is granted for no less than etcd's own least time, and lasts anew when
//! another server becomes the leader. Sends what grants and ends a lease and nothing else.
//!
//! Records whose times end close together share a lease, so that a busy cache has some dozens of them instead of one for each record; and a lease
//! is given to so many records only, because all of them go in one step. Rule: a lease is used again only while it surely outlasts the wanted time.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use tokio::time::Instant;

use super::client::{EtcdClient, Repeat};
use super::messages::{
    LeaseGrantRequest, LeaseGrantResponse, LeaseRevokeRequest, LeaseRevokeResponse, path,
};
use super::status::is_lease_missing;
use super::table::ENGINE;
use crate::error::{CallFate, Error, Result};
use crate::limits::{ETCD_LEASE_RECORDS_MAX, ETCD_LEASES_MAX};

/// The leases of one client.
#[derive(Default)]
pub(super) struct LeaseTable {
    leases: RefCell<Vec<Lease>>,
    /// What the servers grant at least, as far as is known.
    least: Cell<Duration>,
}

#[derive(Clone, Copy, Debug)]
struct Lease {
    id: i64,
    /// Not after this: counted from before it was asked for.
    ends: Instant,
    records: usize,
}

const SECOND: Duration = Duration::from_secs(1);

/// How much longer than asked for a record may live.
fn slack(ttl: Duration) -> Duration {
    (ttl / 8).max(SECOND)
}

impl LeaseTable {
    /// A lease for one more record that shall live so long, if there is one that fits.
    fn fitting(&self, ttl: Duration, now: Instant) -> Option<i64> {
        let mut leases = self.leases.borrow_mut();
        leases.retain(|lease| lease.ends > now && lease.records < ETCD_LEASE_RECORDS_MAX);
        // etcd counts whole seconds, and has a least number of them.
        let most = (ttl + slack(ttl) + SECOND).max(self.least.get());
        let (least, most) = (now + ttl, now + most);
        let mut fitting = leases.iter_mut();
        let lease = fitting.find(|lease| lease.ends >= least && lease.ends <= most)?;
        lease.records += 1;
        Some(lease.id)
    }

    /// One more lease, which has a record already. The one that ends first makes room: it is of the least use.
    fn add(&self, id: i64, ends: Instant) {
        let mut leases = self.leases.borrow_mut();
        if leases.len() >= ETCD_LEASES_MAX {
            let places = leases.iter().enumerate();
            let first = places.min_by_key(|(_, lease)| lease.ends);
            if let Some((at, _)) = first {
                leases.swap_remove(at);
            }
        }
        leases.push(Lease {
            id,
            ends,
            records: 1,
        });
    }

    /// The server does not know it any more.
    pub(super) fn forget(&self, id: i64) {
        self.leases.borrow_mut().retain(|lease| lease.id != id);
    }

    /// A lease for a record that shall live so long; 0, which is none, for ever.
    pub(super) async fn lease(
        &self,
        client: &Rc<EtcdClient>,
        ttl: Option<Duration>,
    ) -> Result<i64> {
        let Some(ttl) = ttl else {
            return Ok(0);
        };
        let ttl = ttl.min(tsumugi_kv::limits::TTL_MAX);
        let now = Instant::now();
        if let Some(id) = self.fitting(ttl, now) {
            return Ok(id);
        }
        let wanted = whole_seconds(ttl + slack(ttl));
        let granted = grant(client, wanted).await?;
        let lasts = Duration::from_secs(u64::try_from(granted.ttl).unwrap_or_default());
        if granted.ttl > wanted {
            self.least.set(lasts.max(self.least.get()));
        }
        self.add(granted.id, now + lasts);
        Ok(granted.id)
    }
}

/// What etcd counts in, and no less than was wanted. A hundred years of them at most.
pub(super) fn whole_seconds(ttl: Duration) -> i64 {
    ttl.as_secs_f64().ceil() as i64
}

/// A lease of so many seconds, or of as many as the server grants at least. One that was granted and whose answer was lost ends by itself.
pub(super) async fn grant(client: &EtcdClient, seconds: i64) -> Result<LeaseGrantResponse> {
    let request = LeaseGrantRequest { ttl: seconds };
    let granted: LeaseGrantResponse = client
        .call(path::LEASE_GRANT, &request, Repeat::Safe)
        .await?;
    match granted.error.is_empty() {
        true => Ok(granted),
        false => Err(Error::Server {
            engine: ENGINE,
            message: granted.error,
            fate: CallFate::NotApplied,
        }),
    }
}

/// Ends a lease, and with it what is attached to it; one that is gone is no error.
pub(super) async fn revoke(client: &EtcdClient, id: i64) -> Result<()> {
    let request = LeaseRevokeRequest { id };
    let revoked: Result<LeaseRevokeResponse> = client
        .call(path::LEASE_REVOKE, &request, Repeat::Safe)
        .await;
    match revoked {
        Err(error) if !is_lease_missing(&error) => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    #[test]
    fn lease_is_shared_by_records_whose_times_end_close_together() {
        let (table, now) = (LeaseTable::default(), Instant::now());
        table.add(1, now + MINUTE + slack(MINUTE));
        assert_eq!(table.fitting(MINUTE, now), Some(1));
        // Later the same lease no longer lasts long enough.
        let later = now + slack(MINUTE) + SECOND / 1_000;
        assert_eq!(table.fitting(MINUTE, later), None);
        // For a shorter time it would last too long.
        assert_eq!(table.fitting(MINUTE / 2, now), None);
        table.forget(1);
        assert_eq!(table.fitting(MINUTE, now), None);
    }

    #[test]
    fn lease_of_a_server_that_grants_more_than_was_wanted_is_shared_too() {
        let (table, now) = (LeaseTable::default(), Instant::now());
        table.add(1, now + MINUTE);
        assert_eq!(table.fitting(SECOND, now), None);
        table.least.set(MINUTE);
        assert_eq!(table.fitting(SECOND, now), Some(1));
    }

    #[test]
    fn lease_that_has_its_records_takes_no_more() {
        let (table, now) = (LeaseTable::default(), Instant::now());
        table.add(1, now + MINUTE);
        for _ in 1..ETCD_LEASE_RECORDS_MAX {
            assert_eq!(table.fitting(MINUTE, now), Some(1));
        }
        assert_eq!(table.fitting(MINUTE, now), None);
    }

    #[test]
    fn lease_beyond_the_limit_takes_the_place_of_the_one_that_ends_first() {
        let (table, now) = (LeaseTable::default(), Instant::now());
        for id in 0..=ETCD_LEASES_MAX {
            let id = i64::try_from(id).unwrap();
            table.add(id, now + MINUTE * u32::try_from(id + 1).unwrap());
        }
        let leases = table.leases.borrow();
        assert_eq!(leases.len(), ETCD_LEASES_MAX);
        assert!(leases.iter().all(|lease| lease.id != 0));
    }
}
