//! What the endpoints of the dashboard answer from. Answers nothing itself.

use std::sync::Arc;
use std::time::SystemTime;

use tsumugi_jobs::limits::JOB_FIGURES_EVERY;
use tsumugi_trace::Tracer;
use tsumugi_worker::Handle;

use super::description::ServerDescription;
use super::history::ChartHistory;
use super::kept_answer::KeptAnswer;
use crate::front::{Front, MetricsRegistry};
use crate::traces::TraceExporter;
use crate::unix_time::unix_ms;

/// What endpoints answer from.
#[derive(Debug)]
pub(crate) struct Dashboard {
    pub handle: Handle,
    pub registry: MetricsRegistry,
    pub description: Arc<ServerDescription>,
    pub tracer: Option<Tracer>,
    pub exporter: Option<TraceExporter>,
    /// When the server was started, in milliseconds since 1970.
    pub started_at: u64,
    pub history: ChartHistory,
    /// Whoever looks, jobs are counted no more often than that.
    pub jobs: KeptAnswer,
}

impl Dashboard {
    /// Of the server behind `handle`, whose services were given `front`.
    pub fn new(handle: Handle, registry: MetricsRegistry, front: &Front) -> Dashboard {
        let history = ChartHistory::start(&handle, &registry);
        Dashboard {
            handle,
            registry,
            description: Arc::clone(&front.dashboard.description),
            tracer: front.tracer.clone(),
            exporter: front.exporter.clone(),
            started_at: unix_ms(SystemTime::now()),
            history,
            jobs: KeptAnswer::new(JOB_FIGURES_EVERY),
        }
    }
}
