//! What every call on one worker may use: the databases, the budgets, the figures, the pool for blocking work. Knows no connection.
//! All of it may cross threads, because the generated service asks for that; none of it does.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tonic::Status;
use tsumugi_kv::KvDatabase;
use tsumugi_worker::Pool;

use super::budget::{Budget, Claim};
use super::metrics::{RpcMetrics, ServiceMetrics};
use super::watch_count::WatchCount;
use crate::limits::{RpcLimits, SMALL_MESSAGE_BYTES};

/// How a stream ends with its server.
pub(crate) fn ending() -> Status {
    Status::unavailable("the server is ending; connect again")
}

/// What all workers of one server share.
#[derive(Debug)]
pub(crate) struct ServiceShared {
    pub databases: Vec<KvDatabase>,
    pub limits: RpcLimits,
    pub metrics: ServiceMetrics,
    pub started: Instant,
    pub watches: Arc<WatchCount>,
    /// Whether the server ends: waits are cut short and streams end at their next pause.
    pub draining: watch::Sender<bool>,
}

/// One worker's part.
#[derive(Debug)]
pub(crate) struct ServiceLane {
    pub shared: Arc<ServiceShared>,
    pub pool: Pool,
    pub inbound: Arc<Budget>,
    pub outbound: Arc<Budget>,
    pub figures: Arc<RpcMetrics>,
}

impl ServiceLane {
    pub(crate) fn new(shared: &Arc<ServiceShared>, worker: usize, pool: Pool) -> ServiceLane {
        let limits = &shared.limits;
        let inbound = Budget::new("inbound_bytes_max", limits.inbound_bytes_max);
        let outbound = Budget::new("outbound_bytes_max", limits.outbound_bytes_max);
        let figures = shared.metrics.add(worker, &inbound, &outbound);
        ServiceLane {
            shared: Arc::clone(shared),
            pool,
            inbound,
            outbound,
            figures,
        }
    }

    /// The database that a call names.
    pub(crate) fn database(&self, index: i32) -> Result<&KvDatabase, Status> {
        let databases = &self.shared.databases;
        let found = usize::try_from(index)
            .ok()
            .and_then(|index| databases.get(index));
        found.ok_or_else(|| {
            Status::invalid_argument(format!(
                "dbm_index is {index}, and there are {} databases",
                databases.len()
            ))
        })
    }

    /// Whether an answer of so many bytes is not larger than a message may be.
    pub(crate) fn fits(&self, bytes: usize) -> Result<(), Status> {
        let limit = self.shared.limits.message_bytes_max;
        if bytes > limit {
            return Err(Status::resource_exhausted(format!(
                "the answer would be larger than message_bytes_max ({limit}) allows; ask for less or raise message_bytes_max"
            )));
        }
        Ok(())
    }

    /// Takes the bytes of a large answer. A small one is charged when it is sent, and never refused.
    pub(crate) fn claim(&self, bytes: usize) -> Result<Claim, Status> {
        self.fits(bytes)?;
        if bytes <= SMALL_MESSAGE_BYTES {
            return Ok(Claim::default());
        }
        self.outbound.claim(bytes)
    }

    /// How long a call may wait for a notice; `None` when it does not want to.
    pub(crate) fn wait(&self, seconds: f64) -> Option<Duration> {
        let longest = Duration::from_millis(self.shared.limits.retry_wait_ms_max);
        // Not a number is no wish.
        (seconds > 0.0)
            .then(|| Duration::try_from_secs_f64(seconds).map_or(longest, |wish| wish.min(longest)))
    }

    /// Resolves when the server ends.
    pub(crate) fn drain(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut draining = self.shared.draining.subscribe();
        async move {
            // The sender lives as long as the server.
            let _ = draining.wait_for(|draining| *draining).await;
        }
    }
}
