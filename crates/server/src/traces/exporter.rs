//! The thread that sends what was recorded to a collector. Records nothing.
//! Rule: it takes from the workers' queues by the clock, so that no worker wakes it, and sends a batch once: a batch that fails is counted.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use tokio::task::LocalSet;
use tsumugi_trace::{FinishedActivity, Tracer};

use super::figures::ExporterFigures;
use super::messages::{export, span_count};
use super::settings::CollectorSettings;
use super::transport::Transport;
use crate::limits::{COLLECTOR_REST_MS, TRACES_BATCH_MAX, TRACES_EVERY_MS};
use crate::log::story;

/// What sends traces to a collector. Cheap to clone; usable from any thread.
#[derive(Clone)]
pub struct TraceExporter(Arc<Shared>);

impl std::fmt::Debug for TraceExporter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TraceExporter").finish_non_exhaustive()
    }
}

struct Shared {
    tracer: Tracer,
    settings: CollectorSettings,
    sent: AtomicU64,
    failed: AtomicU64,
    closing: AtomicBool,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl TraceExporter {
    /// Starts the thread that sends.
    pub(crate) fn start(tracer: &Tracer, settings: CollectorSettings) -> Result<TraceExporter> {
        // What is wrong with the certificates is reported at start.
        Transport::open(&settings)?;
        let shared = Arc::new(Shared {
            tracer: tracer.clone(),
            settings,
            sent: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            closing: AtomicBool::new(false),
            thread: Mutex::default(),
        });
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("cannot send traces")?;
        let own = Arc::clone(&shared);
        let work = move || LocalSet::new().block_on(&runtime, own.work());
        let started = thread::Builder::new().name("tsumugi-traces".to_owned());
        let started = started.spawn(work).context("cannot send traces")?;
        *lock(&shared.thread) = Some(started);
        let settings = &shared.settings;
        tracing::info!("traces go to {} by {}", settings.shown(), settings.protocol);
        Ok(TraceExporter(shared))
    }

    /// The collector, for people.
    pub(crate) fn endpoint(&self) -> String {
        self.0.settings.shown()
    }

    pub(crate) fn figures(&self) -> ExporterFigures {
        ExporterFigures {
            sent: self.0.sent.load(Ordering::Relaxed),
            failed: self.0.failed.load(Ordering::Relaxed),
        }
    }

    /// Sends what is queued and ends the thread. Blocks for as long as that takes, but not longer than `limit`.
    pub(crate) fn close(&self, limit: Duration) {
        self.0.closing.store(true, Ordering::Release);
        let Some(thread) = lock(&self.0.thread).take() else {
            return;
        };
        let end = Instant::now() + limit;
        while !thread.is_finished() && Instant::now() < end {
            thread::park_timeout(Duration::from_millis(5));
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn next_batch(tracer: &Tracer) -> Vec<Arc<FinishedActivity>> {
    tracer.take_queued(TRACES_BATCH_MAX)
}

impl Shared {
    async fn work(&self) {
        let transport = match Transport::open(&self.settings) {
            Ok(transport) => transport,
            Err(error) => {
                let error = story(&*error);
                tracing::error!("traces are not sent: {error}");
                return;
            }
        };
        let mut is_failing = false;
        loop {
            let is_closing = self.closing.load(Ordering::Acquire);
            let batch = next_batch(&self.tracer);
            if batch.is_empty() {
                if is_closing {
                    return;
                }
                self.rest(TRACES_EVERY_MS).await;
                continue;
            }
            let count = span_count(&batch);
            let message = export(&batch, &self.settings.resource);
            drop(batch);
            match transport.send(&self.settings, &message).await {
                Ok(rejected) => {
                    let rejected = rejected.min(count);
                    self.sent.fetch_add(count - rejected, Ordering::Relaxed);
                    self.failed.fetch_add(rejected, Ordering::Relaxed);
                    if std::mem::take(&mut is_failing) {
                        tracing::info!("{} takes traces again", self.settings.shown());
                    }
                }
                Err(error) => {
                    self.failed.fetch_add(count, Ordering::Relaxed);
                    if !std::mem::replace(&mut is_failing, true) {
                        let (collector, error) = (self.settings.shown(), story(&*error));
                        tracing::warn!("traces are dropped until {collector} takes them: {error}");
                    }
                    self.rest(COLLECTOR_REST_MS).await;
                }
            }
        }
    }

    /// Waits so long, but not beyond the end.
    async fn rest(&self, ms: u64) {
        let until = Instant::now() + Duration::from_millis(ms);
        while Instant::now() < until && !self.closing.load(Ordering::Acquire) {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use tsumugi_trace::{Activity, ActivityKind, Ending, Sampling, TraceSettings};

    use super::*;

    fn sending_tracer() -> Tracer {
        Tracer::new(TraceSettings {
            sampling: Sampling::Ratio(1.0),
            watches: false,
            keeps: false,
            sends: true,
        })
    }

    #[test]
    fn one_request_more_than_a_batch_takes_is_in_the_next() {
        let tracer = sending_tracer();
        tracer.attach(0);
        for _ in 0..=TRACES_BATCH_MAX {
            Activity::begin_named(ActivityKind::Job, "j".into(), None).end(Ending::default());
        }
        assert_eq!(next_batch(&tracer).len(), TRACES_BATCH_MAX);
        assert_eq!(next_batch(&tracer).len(), 1);
    }

    #[test]
    fn log_says_where_traces_go_and_no_header() {
        let log = tsumugi_testkit::LogBuffer::default();
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_ansi(false)
            .with_writer(move || writer.clone())
            .finish();
        let settings = CollectorSettings::read(&|name| {
            let value = match name {
                "OTEL_EXPORTER_OTLP_ENDPOINT" => "http://127.0.0.1:4317/secret/path",
                "OTEL_EXPORTER_OTLP_HEADERS" => "x-key=secret",
                _ => return None,
            };
            Some(value.to_owned())
        });
        let tracer = sending_tracer();
        tracing::subscriber::with_default(subscriber, || {
            let exporter = TraceExporter::start(&tracer, settings.unwrap().unwrap());
            exporter.unwrap().close(Duration::from_secs(5));
        });
        let lines = log.take();
        let expected = "traces go to http://127.0.0.1:4317 by OTLP over gRPC";
        assert!(lines.contains(expected), "{lines}");
        assert!(!lines.contains("secret"), "{lines}");
    }
}
