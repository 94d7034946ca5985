//! Iterate: a place in the order of one database, moved and read by the requests of a stream. One answer for each request.
//! A place is found when it is looked at, so that a record that comes or goes meanwhile is no trouble.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_util::Stream;
use prost::Message as _;
use tonic::{Status, Streaming};
use tsumugi_kv::{self as kv, Database, Desired, Expected, Pending, Seek, Sought, Write, Written};

use super::budget::Claim;
use super::calls::Calls;
use super::outcome::{kept, missing, of_error, of_write, status, success};
use crate::code::Code;
use crate::limits::STREAM_MESSAGES_PER_TURN;
use crate::proto::iterate_request::OpType;
use crate::proto::{IterateRequest, IterateResponse, StatusProto};

/// Where a cursor is.
#[derive(Clone, Debug)]
enum Place {
    Nowhere,
    /// At the record that is found this way, if there is one.
    Sought(Seek),
}

/// A stream of requests to one cursor.
pub(crate) struct Iteration {
    calls: Calls,
    requests: Streaming<IterateRequest>,
    cursor: Option<Cursor>,
    /// A write of the cursor that is not done.
    pending: Option<Pending>,
    /// A request whose record is farther away than one turn looks.
    unfinished: Option<IterateRequest>,
    end: Option<Result<(), Status>>,
    turn: usize,
    drain: Pin<Box<dyn Future<Output = ()> + Send>>,
    _claim: Claim,
}

struct Cursor {
    index: i32,
    database: Database,
    place: Place,
}

/// What comes of a request.
enum Step {
    Answer(IterateResponse),
    Write(Pending),
    /// Its place is nearer to the record now; to be tried again in another turn.
    Unfinished(IterateRequest),
}

impl Cursor {
    /// The record at the cursor.
    fn record(&self) -> kv::Result<Sought> {
        match &self.place {
            Place::Nowhere => Ok(Sought::Nothing),
            Place::Sought(seek) => self.database.seek_step(seek),
        }
    }

    fn operate(&mut self, request: IterateRequest) -> Step {
        let Ok(operation) = OpType::try_from(request.operation) else {
            let refused = status(Code::InvalidArgument, "there is no such operation");
            return Step::Answer(bare(refused));
        };
        let to = |seek| (Place::Sought(seek), success());
        let (place, status) = match operation {
            OpType::OpNone => return Step::Answer(bare(success())),
            OpType::OpFirst => to(Seek::First),
            OpType::OpLast => to(Seek::Last),
            OpType::OpJump => to(Seek::AtOrAfter(request.key)),
            OpType::OpJumpLower if request.jump_inclusive => to(Seek::AtOrBefore(request.key)),
            OpType::OpJumpLower => to(Seek::Before(request.key)),
            OpType::OpJumpUpper if request.jump_inclusive => to(Seek::AtOrAfter(request.key)),
            OpType::OpJumpUpper => to(Seek::After(request.key)),
            _ => return self.operate_on_record(operation, request),
        };
        self.place = place;
        Step::Answer(bare(status))
    }

    fn operate_on_record(&mut self, operation: OpType, request: IterateRequest) -> Step {
        let (key, value) = match self.record() {
            Ok(Sought::Found(record)) => record,
            Ok(Sought::Farther(seek)) => {
                self.place = Place::Sought(seek);
                return Step::Unfinished(request);
            }
            Ok(Sought::Nothing) => {
                // There is nothing beyond the end, whatever comes.
                self.place = Place::Nowhere;
                return Step::Answer(bare(missing()));
            }
            Err(error) => return Step::Answer(bare(of_error(&error))),
        };
        let write = match operation {
            OpType::OpNext | OpType::OpStep => {
                self.place = Place::Sought(Seek::After(key.clone()));
                None
            }
            OpType::OpPrevious => {
                self.place = Place::Sought(Seek::Before(key.clone()));
                None
            }
            OpType::OpSet => {
                self.place = Place::Sought(Seek::AtOrAfter(key.clone()));
                Some(Write::CompareExchange {
                    key: key.clone(),
                    expected: Expected::Any,
                    desired: Desired::Put(kept(request.value), None),
                })
            }
            OpType::OpRemove => {
                self.place = Place::Sought(Seek::After(key.clone()));
                Some(Write::remove(key.clone()))
            }
            // A place that was found from the other side is this record from now on.
            _ => {
                self.place = Place::Sought(Seek::AtOrAfter(key.clone()));
                None
            }
        };
        if let Some(write) = write {
            return Step::Write(self.database.submit(write));
        }
        let told = matches!(operation, OpType::OpGet | OpType::OpStep);
        let shown = |bytes: Bytes, omitted: bool| match (told, omitted) {
            (true, false) => bytes,
            _ => Bytes::new(),
        };
        Step::Answer(IterateResponse {
            status: Some(success()),
            key: shown(key, request.omit_key),
            value: shown(value, request.omit_value),
        })
    }
}

fn bare(status: StatusProto) -> IterateResponse {
    IterateResponse {
        status: Some(status),
        ..IterateResponse::default()
    }
}

/// What a write at the cursor answers: a record that went away meanwhile is one that is not there.
fn written(written: &kv::Result<Written>) -> IterateResponse {
    bare(match written {
        Ok(Written::Mismatch { .. }) => missing(),
        written => of_write(written),
    })
}

impl Iteration {
    pub(crate) fn new(calls: Calls, requests: Streaming<IterateRequest>) -> Iteration {
        let drain = Box::pin(calls.lane().drain());
        Iteration {
            calls,
            requests,
            cursor: None,
            pending: None,
            unfinished: None,
            end: None,
            turn: STREAM_MESSAGES_PER_TURN,
            drain,
            _claim: Claim::default(),
        }
    }

    /// The cursor on the database that a request names; another database means another cursor.
    fn step(&mut self, request: IterateRequest) -> Result<Step, Status> {
        let index = request.dbm_index;
        let cursor = match &mut self.cursor {
            Some(cursor) if cursor.index == index => cursor,
            other => other.insert(Cursor {
                index,
                database: self.calls.lane().database(index)?.clone(),
                place: Place::Nowhere,
            }),
        };
        Ok(cursor.operate(request))
    }

    fn answer(&mut self, answer: IterateResponse) -> Result<IterateResponse, Status> {
        let lane = self.calls.lane();
        lane.figures.message();
        lane.figures
            .status(answer.status.as_ref().map_or(0, |status| status.code));
        // Held until the next answer is asked for.
        self._claim = lane.claim(answer.encoded_len())?;
        Ok(answer)
    }
}

impl Stream for Iteration {
    type Item = Result<IterateResponse, Status>;

    fn poll_next(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<IterateResponse, Status>>> {
        let this = self.get_mut();
        if let Some(pending) = &mut this.pending {
            let done = ready!(Pin::new(pending).poll(context));
            this.pending = None;
            return Poll::Ready(Some(this.answer(written(&done))));
        }
        if let Some(end) = &mut this.end {
            return Poll::Ready(std::mem::replace(end, Ok(())).err().map(Err));
        }
        if this.turn == 0 {
            this.turn = STREAM_MESSAGES_PER_TURN;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let next = match this.unfinished.take() {
            Some(request) => Poll::Ready(Some(Ok(request))),
            None => Pin::new(&mut this.requests).poll_next(context),
        };
        match next {
            Poll::Ready(Some(Ok(request))) => {
                this.turn -= 1;
                match this.step(request) {
                    Ok(Step::Unfinished(request)) => {
                        this.unfinished = Some(request);
                        this.turn = STREAM_MESSAGES_PER_TURN;
                        context.waker().wake_by_ref();
                        Poll::Pending
                    }
                    Ok(Step::Answer(answer)) => Poll::Ready(Some(this.answer(answer))),
                    Ok(Step::Write(pending)) => {
                        this.pending = Some(pending);
                        Pin::new(this).poll_next(context)
                    }
                    Err(status) => {
                        this.end = Some(Ok(()));
                        Poll::Ready(Some(Err(status)))
                    }
                }
            }
            Poll::Ready(Some(Err(status))) => {
                this.end = Some(Ok(()));
                Poll::Ready(Some(Err(status)))
            }
            Poll::Ready(None) => Poll::Ready(None),
            Poll::Pending => {
                this.turn = STREAM_MESSAGES_PER_TURN;
                ready!(this.drain.as_mut().poll(context));
                this.end = Some(Ok(()));
                Poll::Ready(Some(Err(Status::unavailable(
                    "the server is ending; connect again",
                ))))
            }
        }
    }
}
