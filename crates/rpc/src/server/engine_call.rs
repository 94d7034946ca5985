//! Calls of engines from a worker's connections. An engine belongs to its worker's thread and the generated service asks for what may cross
//! threads, so a call is a message to a task of the same worker. Knows no engine and no wire format.
//! Rule: calls under way have a bound with a name, and a caller that has gone is not waited for.

use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};
use tsumugi_kv::{ChangeEvent, KeyRange, Lifetime, Pair, Waiters, Write, WriteResult};
use tsumugi_worker::WorkerHandle;

use super::engine::{
    EngineError, EngineSource, EngineWatch, RemoteEngine, RemoteFuture, ServedEngine,
};
use super::outcome::status;
use crate::code::TkrzwCode;
use crate::limits::ENGINE_CHANGES_MAX;
use crate::proto::StatusProto;

/// Work for an engine, to be made into a task on its worker.
type Job = Box<dyn FnOnce(&Rc<dyn RemoteEngine>) -> Pin<Box<dyn Future<Output = ()>>> + Send>;

/// The way to an engine of one worker.
pub(crate) struct EngineLine {
    jobs: mpsc::UnboundedSender<Job>,
    source: Arc<dyn EngineSource>,
    notices: Arc<Waiters>,
    /// Calls that have no answer yet. What waits in `jobs` is among them.
    active: Arc<AtomicUsize>,
    calls_max: usize,
}

/// An engine that is not open yet, with what will be asked of it.
pub(crate) struct UnopenedEngine {
    source: Arc<dyn EngineSource>,
    jobs: mpsc::UnboundedReceiver<Job>,
}

impl EngineLine {
    pub(crate) fn new(engine: &ServedEngine, calls_max: usize) -> (EngineLine, UnopenedEngine) {
        let (sender, jobs) = mpsc::unbounded_channel();
        let source = Arc::clone(&engine.source);
        let line = EngineLine {
            jobs: sender,
            source: Arc::clone(&source),
            notices: Arc::clone(&engine.notices),
            active: Arc::default(),
            calls_max,
        };
        (line, UnopenedEngine { source, jobs })
    }

    /// A call of the service: its name stands in refusals. `call` may be the name of its request.
    pub(crate) fn call(self: &Arc<EngineLine>, call: &'static str) -> EngineCall {
        EngineCall {
            line: Arc::clone(self),
            call: call.strip_suffix("Request").unwrap_or(call),
        }
    }

    /// For people. Holds no secret.
    pub(crate) fn place(&self) -> String {
        self.source.place()
    }

    /// Those who wait for notices of its records.
    pub(crate) fn notices(&self) -> &Arc<Waiters> {
        &self.notices
    }
}

impl std::fmt::Debug for EngineLine {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.place())
    }
}

impl std::fmt::Debug for UnopenedEngine {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.source.place())
    }
}

impl UnopenedEngine {
    /// Opens it and does what is asked of it, until nobody can ask any more.
    ///
    /// # Errors
    /// As [`EngineSource::open`]; it can be tried again.
    pub(crate) async fn open(self, worker: &WorkerHandle) -> Result<(), (UnopenedEngine, String)> {
        let engine = match self.source.open(worker.pool()).await {
            Ok(engine) => engine,
            Err(error) => {
                let why = format!("cannot open {}: {error}", self.source.place());
                return Err((self, why));
            }
        };
        let (own, mut jobs) = (worker.clone(), self.jobs);
        drop(worker.spawn(async move {
            while let Some(job) = jobs.recv().await {
                drop(own.spawn(job(&engine)));
            }
        }));
        Ok(())
    }
}

/// One of the calls under way.
struct CallPermit(Arc<AtomicUsize>);

impl Drop for CallPermit {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

/// A call of the service to an engine.
#[derive(Clone)]
pub(crate) struct EngineCall {
    line: Arc<EngineLine>,
    call: &'static str,
}

impl EngineCall {
    /// What the engine lacks altogether.
    pub(crate) fn refused(&self, reason: &str) -> StatusProto {
        let engine = self.line.source.engine();
        let message = format!("{}: {engine} {reason}", self.call);
        status(TkrzwCode::NotImplemented, message)
    }

    fn status(&self, error: EngineError) -> StatusProto {
        let EngineError { code, message } = error;
        match code {
            TkrzwCode::NotImplemented => status(code, format!("{}: {message}", self.call)),
            code => status(code, message),
        }
    }

    fn permit(&self) -> Result<CallPermit, StatusProto> {
        let most = self.line.calls_max;
        let permit = CallPermit(Arc::clone(&self.line.active));
        if permit.0.fetch_add(1, Relaxed) >= most {
            return Err(status(
                TkrzwCode::System,
                format!(
                    "one more than {most} calls of {} under way on one worker is beyond engine_calls_max; nothing was written; call later or raise engine_calls_max",
                    self.line.source.engine()
                ),
            ));
        }
        Ok(permit)
    }

    async fn ask<T: Send + 'static>(
        &self,
        make: impl FnOnce(&Rc<dyn RemoteEngine>) -> RemoteFuture<T> + Send + 'static,
    ) -> Result<T, StatusProto> {
        let permit = self.permit()?;
        let (mut sender, receiver) = oneshot::channel();
        let job: Job = Box::new(move |engine| {
            let asked = make(engine);
            Box::pin(async move {
                let _permit = permit;
                tokio::select! {
                    answer = asked => drop(sender.send(answer)),
                    () = sender.closed() => {}
                }
            })
        });
        // A worker that ends takes its engine along.
        let ended = || {
            status(
                TkrzwCode::Canceled,
                "the server is ending; a write may or may not have taken place",
            )
        };
        self.line.jobs.send(job).map_err(|_| ended())?;
        let answer = receiver.await.map_err(|_| ended())?;
        answer.map_err(|error| self.status(error))
    }

    pub(crate) async fn get(&self, key: Bytes) -> Result<Option<Bytes>, StatusProto> {
        self.ask(move |engine| engine.get(key)).await
    }

    pub(crate) async fn lifetime(&self, key: Bytes) -> Result<Option<Lifetime>, StatusProto> {
        self.ask(move |engine| engine.lifetime(key)).await
    }

    pub(crate) async fn records(&self, keys: Vec<Bytes>) -> Result<Vec<Pair>, StatusProto> {
        self.ask(move |engine| engine.records(keys)).await
    }

    pub(crate) async fn submit(&self, write: Write) -> Result<WriteResult, StatusProto> {
        match write {
            Write::Batch(writes) if !writes.iter().all(is_of_batch) => {
                self.one_by_one(writes).await
            }
            write => self.ask(move |engine| engine.write(write)).await,
        }
    }

    /// Several writes that no engine takes together, in their order, up to the first error, which says how far they came.
    async fn one_by_one(&self, writes: Vec<Write>) -> Result<WriteResult, StatusProto> {
        let count = writes.len();
        let mut each = Vec::with_capacity(count);
        for write in writes {
            match self.ask(move |engine| engine.write(write)).await {
                Ok(written) => each.push(Ok(written)),
                Err(mut error) => {
                    if !each.is_empty() {
                        let done = each.len();
                        error.message += &format!("; {done} of {count} writes were done before");
                    }
                    return Err(error);
                }
            }
        }
        Ok(WriteResult::Each(each))
    }

    pub(crate) async fn pop(
        &self,
        queue: Option<Bytes>,
        wait: Duration,
    ) -> Result<WriteResult, StatusProto> {
        self.ask(move |engine| engine.pop(queue, wait)).await
    }

    pub(crate) async fn page(
        &self,
        range: KeyRange,
        limit: usize,
    ) -> Result<Vec<Pair>, StatusProto> {
        self.ask(move |engine| engine.page(range, limit)).await
    }

    pub(crate) async fn count(&self) -> Result<u64, StatusProto> {
        self.ask(|engine| engine.count()).await
    }

    pub(crate) async fn search(
        &self,
        mode: String,
        pattern: Bytes,
        limit: usize,
    ) -> Result<Vec<Bytes>, StatusProto> {
        self.ask(move |engine| engine.search(mode, pattern, limit))
            .await
    }

    pub(crate) async fn synchronize(&self) -> Result<(), StatusProto> {
        self.ask(|engine| engine.synchronize()).await
    }

    pub(crate) async fn backup(&self) -> Result<(), StatusProto> {
        self.ask(|engine| engine.backup()).await
    }

    pub(crate) async fn inspect(&self) -> Result<Vec<(String, String)>, StatusProto> {
        self.ask(|engine| engine.inspect()).await
    }

    /// The changes of the keys that begin with `prefix`; they have begun with the answer.
    pub(crate) async fn watch(&self, prefix: Bytes) -> Result<EngineChanges, StatusProto> {
        let (sender, changes) = mpsc::channel(ENGINE_CHANGES_MAX);
        let begin = move |engine: &Rc<dyn RemoteEngine>| -> RemoteFuture<()> {
            let begun = engine.watch(prefix);
            Box::pin(async move {
                let watch = begun.await?;
                drop(tokio::task::spawn_local(forward(watch, sender)));
                Ok(())
            })
        };
        self.ask(begin).await?;
        Ok(changes)
    }
}

/// Whether engines take it with others in a batch.
fn is_of_batch(write: &Write) -> bool {
    matches!(write, Write::Set { .. } | Write::Remove { .. })
}

/// Changes on their way from an engine's watch to its client. What waits longer waits within the bounds of the watch.
pub(crate) type EngineChanges = mpsc::Receiver<Result<ChangeEvent, EngineError>>;

async fn forward(
    mut watch: Box<dyn EngineWatch>,
    changes: mpsc::Sender<Result<ChangeEvent, EngineError>>,
) {
    loop {
        let change = tokio::select! {
            change = watch.next() => change,
            () = changes.closed() => return,
        };
        let is_over = change.is_err();
        if changes.send(change).await.is_err() || is_over {
            return;
        }
    }
}
