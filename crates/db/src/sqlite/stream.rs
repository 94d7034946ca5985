//! The reader's side of a stream of rows. Asks the thread that keeps the connection for one batch at a time.
//! Rule: a batch is fetched only when the reader asks, and dropping the stream frees the connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc;

use tokio::sync::oneshot;

use crate::error::{Error, Result};
use crate::rows::packed::PackedRows;
use crate::rows::{Columns, Rows};

use super::engine::Engine;
use super::job::{Output, Reply};

/// Whether no stream of a transaction is open. Shared by the transaction and the stream.
#[derive(Debug)]
pub(super) struct FinishedFlag(AtomicBool);

impl FinishedFlag {
    pub(super) fn new() -> FinishedFlag {
        FinishedFlag(AtomicBool::new(true))
    }

    pub(super) fn is_set(&self) -> bool {
        self.0.load(Relaxed)
    }

    /// A stream was opened.
    pub(super) fn clear(&self) {
        self.0.store(false, Relaxed);
    }

    /// The stream ended or was dropped.
    pub(super) fn set(&self) {
        self.0.store(true, Relaxed);
    }
}

/// Rows that arrive in batches. See [`crate::RowStream`].
#[derive(Debug)]
pub struct RowStream {
    columns: Arc<Columns>,
    /// The batch that came with the answer to the statement.
    first: Option<PackedRows>,
    /// None after the last batch.
    demand: Option<mpsc::Sender<Reply>>,
    /// An answer that was asked for. Kept here, not in the future that waits for it, so that dropping that future
    /// loses no rows.
    pending: Option<oneshot::Receiver<Result<Output>>>,
    finished: Arc<FinishedFlag>,
    _engine: Arc<Engine>,
}

impl RowStream {
    pub(super) fn new(
        first: Output,
        demand: mpsc::Sender<Reply>,
        engine: Arc<Engine>,
        finished: Arc<FinishedFlag>,
    ) -> RowStream {
        let (rows, is_last) = batch(first);
        let mut stream = RowStream {
            columns: rows.columns().clone(),
            first: Some(rows).filter(|rows| !rows.is_empty()),
            demand: Some(demand),
            pending: None,
            finished,
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
        if let Some(rows) = self.first.take() {
            return Ok(Some(rows.into()));
        }
        let Some(demand) = &self.demand else {
            return Ok(None);
        };
        let pending = match &mut self.pending {
            Some(pending) => pending,
            none => {
                let (reply, answer) = oneshot::channel();
                // When this fails the reply is dropped, and waiting for it says so.
                let _ = demand.send(reply);
                none.insert(answer)
            }
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
            Err(_) => {
                self.finish();
                let reason = "it was idle for longer than idle_timeout, or its connection failed";
                Err(Error::Closed {
                    what: "stream",
                    reason,
                })
            }
        }
    }

    fn finish(&mut self) {
        // Once: another stream of the transaction may be open by then.
        if self.demand.take().is_some() {
            self.finished.set();
        }
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
