//! The body of a request as several fibres of one handler see it: read once, whole, as a form or in pieces. Not the parsing.
//! The first reader reads and the others wait for what it finds; a reader that is cancelled half-way leaves an error, not a gap.

use std::cell::OnceCell;
use std::io;
use std::rc::Rc;

use bytes::Bytes;
use http::HeaderMap;
use tokio::sync::Mutex;
use tsumugi_http::upload::{self, FormPart, Offload};
use tsumugi_http::{Error, HttpLimits, RequestBody};
use tsumugi_worker::WorkerHandle;

/// The parts of a multipart form.
pub(crate) type MultipartForm = Rc<[Rc<FormPart<OffWorker>>]>;

/// The body on its way to the handler.
pub(crate) struct Incoming {
    state: Mutex<State>,
    /// The fields behind it, once its end has been read.
    trailers: OnceCell<HeaderMap>,
}

enum State {
    Unread(RequestBody),
    /// Some of it was read piece by piece.
    InPieces(RequestBody),
    Whole(Bytes),
    Form(MultipartForm),
    Failed(BodyError),
    /// The call that read the body was cancelled.
    Interrupted,
}

/// Why there is no body.
#[derive(Clone, Debug)]
pub(crate) enum BodyError {
    /// The client's fault: it is answered with this status.
    Refused { status: u16, message: String },
    /// The handler's.
    Misuse(&'static str),
}

impl From<Error> for BodyError {
    fn from(error: Error) -> BodyError {
        BodyError::Refused {
            status: error.status().as_u16(),
            message: error.to_string(),
        }
    }
}

impl Incoming {
    pub fn new(body: RequestBody) -> Incoming {
        Incoming {
            state: Mutex::new(State::Unread(body)),
            trailers: OnceCell::new(),
        }
    }

    /// All bytes.
    pub async fn whole(&self) -> Result<Bytes, BodyError> {
        let mut state = self.state.lock().await;
        let mut body = match std::mem::replace(&mut *state, State::Interrupted) {
            State::Unread(body) => body,
            other => {
                let found = match &other {
                    State::Whole(bytes) => Ok(bytes.clone()),
                    State::Form(_) => Err(BodyError::Misuse("the body has been read as a form")),
                    other => Err(other.failure()),
                };
                *state = other;
                return found;
            }
        };
        match body.read_all().await {
            Ok(bytes) => {
                self.keep_trailers(&body);
                *state = State::Whole(bytes.clone());
                Ok(bytes)
            }
            Err(error) => Err(state.fail(error)),
        }
    }

    /// The parts of a multipart form; large files go to disk.
    pub async fn form(
        &self,
        content_type: &str,
        limits: &HttpLimits,
        worker: &WorkerHandle,
    ) -> Result<MultipartForm, BodyError> {
        let mut state = self.state.lock().await;
        let mut body = match std::mem::replace(&mut *state, State::Interrupted) {
            State::Unread(body) => body,
            State::Whole(bytes) => RequestBody::in_memory(bytes),
            other => {
                let found = match &other {
                    State::Form(form) => Ok(Rc::clone(form)),
                    other => Err(other.failure()),
                };
                *state = other;
                return found;
            }
        };
        let directory = std::env::temp_dir();
        let offload = OffWorker::new(worker);
        match upload::read_form(&mut body, content_type, limits, &directory, &offload).await {
            Ok(parts) => {
                self.keep_trailers(&body);
                let form: MultipartForm = parts.into_iter().map(Rc::new).collect();
                *state = State::Form(Rc::clone(&form));
                Ok(form)
            }
            Err(error) => Err(state.fail(error)),
        }
    }

    /// The next piece, `None` at the end. A body that was read whole comes in one piece.
    pub async fn piece(&self) -> Result<Option<Bytes>, BodyError> {
        let mut state = self.state.lock().await;
        if let State::Unread(_) = *state
            && let State::Unread(body) = std::mem::replace(&mut *state, State::Interrupted)
        {
            *state = State::InPieces(body);
        }
        let piece = match &mut *state {
            State::InPieces(body) => {
                let piece = body.piece().await;
                if let Ok(None) = piece {
                    self.keep_trailers(body);
                }
                piece
            }
            State::Whole(bytes) => {
                let bytes = std::mem::take(bytes);
                *state = State::InPieces(RequestBody::in_memory(Bytes::new()));
                return Ok(Some(bytes).filter(|bytes| !bytes.is_empty()));
            }
            State::Form(_) => return Err(BodyError::Misuse("the body has been read as a form")),
            other => return Err(other.failure()),
        };
        piece.map_err(|error| state.fail(error))
    }

    /// The fields behind it. A body that was not read at all is read whole.
    pub async fn trailers(&self) -> Result<HeaderMap, BodyError> {
        if let Some(trailers) = self.trailers.get() {
            return Ok(trailers.clone());
        }
        if let State::InPieces(_) = *self.state.lock().await {
            return Err(BodyError::Misuse(
                "trailers stand behind the body: read it to its end before",
            ));
        }
        self.whole().await?;
        Ok(self.trailers.get().cloned().unwrap_or_default())
    }

    /// Those of a body that is at its end. One that is read again from memory has none.
    fn keep_trailers(&self, body: &RequestBody) {
        let trailers = body.trailers().cloned().unwrap_or_default();
        // Set already where the body came from memory.
        let _ = self.trailers.set(trailers);
    }
}

impl State {
    fn fail(&mut self, error: Error) -> BodyError {
        let failure = BodyError::from(error);
        *self = State::Failed(failure.clone());
        failure
    }

    fn failure(&self) -> BodyError {
        match self {
            State::Failed(failure) => failure.clone(),
            State::InPieces(_) => BodyError::Misuse("the body has been read piece by piece"),
            _ => BodyError::Misuse("the fibre that read the body was cancelled"),
        }
    }
}

/// Blocking work of uploads, on the pool of the process.
#[derive(Clone)]
pub(crate) struct OffWorker(WorkerHandle);

impl OffWorker {
    pub fn new(worker: &WorkerHandle) -> OffWorker {
        OffWorker(worker.clone())
    }
}

impl Offload for OffWorker {
    async fn offload<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        self.0
            .offload(work)
            .await
            .map_err(io::Error::other)
            .and_then(|result| result)
    }

    fn later(&self, work: impl FnOnce() + Send + 'static) {
        drop(self.0.offload(work));
    }
}
