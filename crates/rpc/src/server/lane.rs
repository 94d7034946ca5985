//! What every call on one worker may use: the databases, the budgets, the figures, the pool for blocking work. Knows no connection.
//! All of it may cross threads, because the generated service asks for that; none of it does.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tonic::Status;
use tsumugi_kv::KvDatabase;
use tsumugi_worker::Pool;

use super::budget::{Budget, Claim};
use super::engine::ServedDatabase;
use super::engine_call::{EngineLine, UnopenedEngine};
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
    pub databases: Vec<ServedDatabase>,
    pub limits: RpcLimits,
    pub metrics: ServiceMetrics,
    pub started: Instant,
    pub watches: Arc<WatchCount>,
    /// Whether the server ends: waits are cut short and streams end at their next pause.
    pub draining: watch::Sender<bool>,
}

/// What a call reaches on one worker. A database of this process is asked in place; what an engine keeps, by messages.
#[derive(Clone, Debug)]
pub(crate) enum LaneStore {
    Local(KvDatabase),
    Engine(Arc<EngineLine>),
}

/// One worker's part.
#[derive(Debug)]
pub(crate) struct ServiceLane {
    stores: Vec<LaneStore>,
    pub shared: Arc<ServiceShared>,
    pub pool: Pool,
    pub inbound: Arc<Budget>,
    pub outbound: Arc<Budget>,
    pub figures: Arc<RpcMetrics>,
}

impl ServiceLane {
    /// With the engines that are to be opened before anything is served.
    pub(crate) fn new(
        shared: &Arc<ServiceShared>,
        worker: usize,
        pool: Pool,
    ) -> (ServiceLane, Vec<UnopenedEngine>) {
        let limits = &shared.limits;
        let inbound = Budget::new("inbound_bytes_max", limits.inbound_bytes_max);
        let outbound = Budget::new("outbound_bytes_max", limits.outbound_bytes_max);
        let figures = shared.metrics.add(worker, &inbound, &outbound);
        let mut unopened = Vec::new();
        let stores = shared.databases.iter().map(|database| match database {
            ServedDatabase::Local(database) => LaneStore::Local(database.clone()),
            ServedDatabase::Engine(engine) => {
                let (line, engine) = EngineLine::new(engine, limits.engine_calls_max);
                unopened.push(engine);
                LaneStore::Engine(Arc::new(line))
            }
        });
        let lane = ServiceLane {
            stores: stores.collect(),
            shared: Arc::clone(shared),
            pool,
            inbound,
            outbound,
            figures,
        };
        (lane, unopened)
    }

    /// The databases and engines, by their index.
    pub(crate) fn stores(&self) -> &[LaneStore] {
        &self.stores
    }

    /// What a call names.
    pub(crate) fn store(&self, index: i32) -> Result<&LaneStore, Status> {
        let found = usize::try_from(index)
            .ok()
            .and_then(|index| self.stores.get(index));
        found.ok_or_else(|| {
            Status::invalid_argument(format!(
                "dbm_index is {index}, and there are {} databases",
                self.stores.len()
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
