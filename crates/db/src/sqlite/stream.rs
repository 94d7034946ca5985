//! The reader's side of a stream of rows. Asks the thread that keeps the connection for one batch at a time.
//! Rule: a batch is fetched only when the reader asks, and dropping the stream frees the connection, as the end of its transaction does.

use std::sync::mpsc;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;

use crate::error::{Error, Result};
use crate::rows::packed::PackedRows;
use crate::rows::{Columns, Rows};

use super::engine::Engine;
use super::job::{Output, Reply};
use super::session::End;

/// Where the batches of a stream are asked for, until it is closed. Shared by the stream and its transaction, if it has one.
#[derive(Debug)]
pub(super) struct Demand(Mutex<Option<mpsc::Sender<Reply>>>);

impl Demand {
    pub(super) fn new() -> (Arc<Demand>, mpsc::Receiver<Reply>) {
        let (demand, demands) = mpsc::channel();
        (Arc::new(Demand(Mutex::new(Some(demand)))), demands)
    }

    /// No code that can panic runs under the lock, so a poisoned one is still consistent.
    fn sender(&self) -> std::sync::MutexGuard<'_, Option<mpsc::Sender<Reply>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_open(&self) -> bool {
        self.sender().is_some()
    }

    /// The thread that waits for the next demand goes on without the stream.
    pub(super) fn close(&self) {
        self.sender().take();
    }

    /// The answer to come; none where it is closed.
    fn ask(&self) -> Option<oneshot::Receiver<Result<Output>>> {
        let (reply, answer) = oneshot::channel();
        // When this fails the reply is dropped, and waiting for it says so.
        let _ = self.sender().as_ref()?.send(reply);
        Some(answer)
    }
}

/// Rows that arrive in batches. See [`crate::RowStream`].
#[derive(Debug)]
pub struct RowStream {
    columns: Arc<Columns>,
    /// The batch that came with the answer to the statement.
    first: Option<PackedRows>,
    demand: Arc<Demand>,
    /// After the last batch.
    has_ended: bool,
    /// An answer that was asked for. Kept here, not in the future that waits for it, so that dropping that future
    /// loses no rows.
    pending: Option<oneshot::Receiver<Result<Output>>>,
    /// How its transaction ended, if it has one.
    end: Option<Arc<End>>,
    _engine: Arc<Engine>,
}

impl RowStream {
    pub(super) fn new(
        first: Output,
        demand: Arc<Demand>,
        engine: Arc<Engine>,
        end: Option<Arc<End>>,
    ) -> RowStream {
        let (rows, is_last) = batch(first);
        let mut stream = RowStream {
            columns: rows.columns().clone(),
            first: Some(rows).filter(|rows| !rows.is_empty()),
            demand,
            has_ended: false,
            pending: None,
            end,
            _engine: engine,
        };
        if is_last {
            stream.finish();
        }
        stream
    }

    pub(crate) fn columns(&self) -> &Arc<Columns> {
        &self.columns
    }

    pub(crate) async fn next(&mut self) -> Result<Option<Rows>> {
        if !self.has_ended && !self.demand.is_open() {
            return Err(self.lost());
        }
        if let Some(rows) = self.first.take() {
            return Ok(Some(rows.into()));
        }
        if self.has_ended {
            return Ok(None);
        }
        let pending = match &mut self.pending {
            Some(pending) => pending,
            none => match self.demand.ask() {
                Some(answer) => none.insert(answer),
                None => return Err(self.lost()),
            },
        };
        let answer = pending.await;
        self.pending = None;
        match answer {
            Ok(Ok(output)) => {
                let (rows, is_last) = batch(output);
                if is_last {
                    self.finish();
                }
                Ok(Some(rows).filter(|rows| !rows.is_empty()).map(Rows::from))
            }
            Ok(Err(error)) => {
                self.finish();
                Err(error)
            }
            Err(_) => Err(self.lost()),
        }
    }

    /// The thread has left it, or was told to.
    fn lost(&mut self) -> Error {
        self.first = None;
        self.finish();
        match self.end.as_deref().filter(|end| end.is_set()) {
            Some(end) => end.error(),
            None => Error::closed(
                "stream",
                "it was idle for longer than idle_timeout, or its connection failed",
            ),
        }
    }

    fn finish(&mut self) {
        self.has_ended = true;
        self.demand.close();
    }
}

impl Drop for RowStream {
    fn drop(&mut self) {
        self.finish();
    }
}

fn batch(output: Output) -> (PackedRows, bool) {
    match output {
        Output::Batch { rows, is_last } => (rows, is_last),
        other => unreachable!("a stream was answered with {other:?}"),
    }
}
