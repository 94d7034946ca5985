//! Iterate: a place in the order of one database, moved and read by the requests of a stream. One answer for each request.
//! Where a cursor is says the store; a record that comes or goes meanwhile moves none.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_util::Stream;
use prost::Message as _;
use tonic::{Status, Streaming};
use tsumugi_kv::{self as kv, Desired, Expected, Move, MoveOutcome, Pair, Pending, Present, Write};

use super::budget::Claim;
use super::engine_cursor::EngineCursor;
use super::iterate_answer::{bare, destination, record, written};
use super::lane::{LaneStore, ServiceLane, ending};
use super::outcome::{compact, missing, of_error, status, success};
use crate::code::TkrzwCode;
use crate::limits::STREAM_MESSAGES_PER_TURN;
use crate::proto::iterate_request::OpType;
use crate::proto::{IterateRequest, IterateResponse};

/// A stream of requests to one cursor.
pub(crate) struct Iteration {
    lane: Arc<ServiceLane>,
    requests: Streaming<IterateRequest>,
    cursor: Option<Place>,
    /// A write of the cursor that is not done.
    pending: Option<Pending>,
    /// What an engine is asked, with the cursor.
    asked: Option<Asked>,
    /// A request whose record is farther away than one turn looks.
    unfinished: Option<IterateRequest>,
    /// Whether it was refused, which ends it.
    is_over: bool,
    turn: usize,
    drain: Pin<Box<dyn Future<Output = ()> + Send>>,
    _claim: Claim,
}

/// The cursor's answer, and the cursor.
type Asked = Pin<Box<dyn Future<Output = (Place, IterateResponse)> + Send>>;

/// Where a stream is.
enum Place {
    Local(Cursor),
    Engine(i32, EngineCursor),
}

impl Place {
    fn index(&self) -> i32 {
        match self {
            Place::Local(cursor) => cursor.index,
            Place::Engine(index, _) => *index,
        }
    }
}

struct Cursor {
    index: i32,
    place: kv::Cursor,
    /// The record that a step has read, while the next one is farther away than one turn looks.
    passed: Option<Pair>,
}

/// What comes of a request.
enum Step {
    Answer(IterateResponse),
    Write(Pending),
    Ask(Asked),
    /// Its place is nearer to the record now; to be tried again in another turn.
    Unfinished(IterateRequest),
}

impl Cursor {
    fn operate(&mut self, request: IterateRequest) -> Step {
        let Ok(operation) = OpType::try_from(request.operation) else {
            let refused = status(TkrzwCode::InvalidArgument, "there is no such operation");
            return Step::Answer(bare(refused));
        };
        if operation == OpType::OpNone {
            return Step::Answer(bare(success()));
        }
        let Some(to) = destination(operation, &request) else {
            return self.operate_on_record(operation, request);
        };
        Step::Answer(bare(match self.place.go(&to) {
            Ok(MoveOutcome::Done) => success(),
            Ok(MoveOutcome::Missing) => missing(),
            Ok(MoveOutcome::Farther) => return Step::Unfinished(request),
            Err(error) => of_error(&error),
        }))
    }

    fn operate_on_record(&mut self, operation: OpType, request: IterateRequest) -> Step {
        let (key, value) = match (self.passed.take(), operation) {
            (Some(pair), OpType::OpStep) => pair,
            _ => match self.place.record() {
                Ok(Present::Record(pair)) => pair,
                Ok(Present::Farther) => return Step::Unfinished(request),
                Ok(Present::Missing) => return Step::Answer(bare(missing())),
                Err(error) => return Step::Answer(bare(of_error(&error))),
            },
        };
        match operation {
            OpType::OpSet => {
                let write = Write::CompareExchange {
                    key,
                    expected: Expected::Any,
                    desired: Desired::Put(compact(request.value), None),
                };
                return Step::Write(self.place.database().submit(write));
            }
            OpType::OpRemove => {
                return Step::Write(self.place.database().submit(Write::remove(key)));
            }
            OpType::OpStep => match self.place.go(&Move::Next) {
                Ok(MoveOutcome::Farther) => {
                    self.passed = Some((key, value));
                    return Step::Unfinished(request);
                }
                Ok(MoveOutcome::Done | MoveOutcome::Missing) => {}
                Err(error) => return Step::Answer(bare(of_error(&error))),
            },
            _ => {}
        }
        Step::Answer(record(&request, (key, value)))
    }
}

impl Iteration {
    pub(crate) fn new(lane: Arc<ServiceLane>, requests: Streaming<IterateRequest>) -> Iteration {
        let drain = Box::pin(lane.drain());
        Iteration {
            lane,
            requests,
            cursor: None,
            pending: None,
            asked: None,
            unfinished: None,
            is_over: false,
            turn: STREAM_MESSAGES_PER_TURN,
            drain,
            _claim: Claim::default(),
        }
    }

    /// The cursor on the database that a request names; another database means another cursor.
    fn step(&mut self, request: IterateRequest) -> Result<Step, Status> {
        let index = request.dbm_index;
        let place = match self.cursor.take() {
            Some(place) if place.index() == index => place,
            _ => match self.lane.store(index)? {
                LaneStore::Local(database) => Place::Local(Cursor {
                    index,
                    place: kv::Cursor::new(database.clone()),
                    passed: None,
                }),
                LaneStore::Engine(engine) => Place::Engine(index, EngineCursor::new(engine)),
            },
        };
        match place {
            Place::Local(mut cursor) => {
                let step = cursor.operate(request);
                self.cursor = Some(Place::Local(cursor));
                Ok(step)
            }
            Place::Engine(index, cursor) => Ok(Step::Ask(Box::pin(async move {
                let (cursor, answer) = cursor.operate(request).await;
                (Place::Engine(index, cursor), answer)
            }))),
        }
    }

    fn answer(&mut self, answer: IterateResponse) -> Result<IterateResponse, Status> {
        let lane = &self.lane;
        lane.figures.message();
        lane.figures
            .status(answer.status.as_ref().map_or(0, |status| status.code));
        // Held until the next answer is asked for.
        self._claim = lane.claim(answer.encoded_len())?;
        Ok(answer)
    }

    /// The last answer: a refusal.
    fn fail(&mut self, status: Status) -> Poll<Option<Result<IterateResponse, Status>>> {
        self.is_over = true;
        Poll::Ready(Some(Err(status)))
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
        if let Some(asked) = &mut this.asked {
            let (place, answer) = ready!(asked.as_mut().poll(context));
            (this.asked, this.cursor) = (None, Some(place));
            return Poll::Ready(Some(this.answer(answer)));
        }
        if this.is_over {
            return Poll::Ready(None);
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
            Poll::Ready(Some(request)) => {
                this.turn -= 1;
                match request.and_then(|request| this.step(request)) {
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
                    Ok(Step::Ask(asked)) => {
                        this.asked = Some(asked);
                        Pin::new(this).poll_next(context)
                    }
                    Err(status) => this.fail(status),
                }
            }
            Poll::Ready(None) => Poll::Ready(None),
            Poll::Pending => {
                this.turn = STREAM_MESSAGES_PER_TURN;
                ready!(this.drain.as_mut().poll(context));
                this.fail(ending())
            }
        }
    }
}
