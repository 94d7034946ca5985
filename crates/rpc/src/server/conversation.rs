//! Stream: requests of one client in order, answers in the same order. Knows the calls that a stream may hold.
//! Writes follow each other without waiting for their answers; a read waits until the writes before it are done, so that it sees them.
//! What has come is handled before anything is sent, and from a client that reads no answers nothing is read.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_util::Stream;
use prost::Message as _;
use tonic::{Status, Streaming};
use tsumugi_kv::{self as kv, Pending, WriteResult};

use super::budget::Claim;
use super::engine_call::EngineLine;
use super::exchange::{ExchangeResult, exchange};
use super::lane::{LaneStore, ServiceLane, ending};
use super::outcome::{self, DatabaseError};
use crate::limits::STREAM_MESSAGES_PER_TURN;
use crate::proto::stream_request::RequestOneof;
use crate::proto::stream_response::ResponseOneof;
use crate::proto::{
    AppendResponse, CompareExchangeResponse, GetResponse, IncrementResponse, RemoveResponse,
    SetResponse, StatusProto, StreamRequest, StreamResponse,
};

/// A stream that is being answered.
pub(crate) struct StreamCall {
    lane: Arc<ServiceLane>,
    requests: Streaming<StreamRequest>,
    /// What was begun and not answered, in order.
    underway: VecDeque<Step>,
    /// Bytes of the requests in `underway`.
    bytes: usize,
    /// A request that waits until all before it are answered.
    held: Option<StreamRequest>,
    /// How the stream ends once everything before is answered.
    end: Option<Result<(), Status>>,
    /// Messages that may still be handled in this turn.
    turn: usize,
    drain: Pin<Box<dyn Future<Output = ()> + Send>>,
    _claim: Claim,
}

struct Step {
    work: Work,
    /// What its request is charged.
    charge: Claim,
    wants: ReplyMode,
}

/// Whether the client wants an answer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ReplyMode {
    Answer,
    Nothing,
}

enum Work {
    Done(ResponseOneof),
    Write(Pending, Kind),
    Exchange(Pin<Box<dyn Future<Output = (CompareExchangeResponse, ExchangeResult)> + Send>>),
    /// A call of an engine: the next request begins when it has its answer, so that they take place in order.
    Engine(Pin<Box<dyn Future<Output = ResponseOneof> + Send>>),
}

/// Which answer a write has.
#[derive(Clone, Copy)]
enum Kind {
    Set,
    Remove,
    Append,
    Increment,
}

impl StreamCall {
    pub(crate) fn new(lane: Arc<ServiceLane>, requests: Streaming<StreamRequest>) -> StreamCall {
        let drain = Box::pin(lane.drain());
        StreamCall {
            lane,
            requests,
            underway: VecDeque::new(),
            bytes: 0,
            held: None,
            end: None,
            turn: STREAM_MESSAGES_PER_TURN,
            drain,
            _claim: Claim::default(),
        }
    }

    /// The next answer that is wanted, of those that are ready.
    fn poll_answer(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<StreamResponse, Status>>> {
        while let Some(step) = self.underway.front_mut() {
            let mut exchanged = ExchangeResult::AsItWas;
            let answer = match &mut step.work {
                Work::Done(answer) => {
                    std::mem::replace(answer, ResponseOneof::SetResponse(SetResponse::default()))
                }
                Work::Write(pending, kind) => kind.answer(&ready!(Pin::new(pending).poll(context))),
                Work::Engine(answer) => ready!(answer.as_mut().poll(context)),
                Work::Exchange(exchange) => {
                    let answer;
                    (answer, exchanged) = ready!(exchange.as_mut().poll(context));
                    ResponseOneof::CompareExchangeResponse(answer)
                }
            };
            let Some(step) = self.underway.pop_front() else {
                break;
            };
            self.bytes -= step.charge.bytes();
            self.lane.figures.message();
            self.lane.figures.status(code(&answer));
            if step.wants == ReplyMode::Answer {
                let response = StreamResponse {
                    response_oneof: Some(answer),
                };
                match exchanged.claim(self.lane.claim(response.encoded_len())) {
                    // Held until the next answer is asked for.
                    Ok(claim) => self._claim = claim,
                    Err(status) => return Poll::Ready(Some(Err(status))),
                }
                return Poll::Ready(Some(Ok(response)));
            }
        }
        Poll::Ready(None)
    }

    /// Whether another request may be begun.
    fn has_room(&self) -> bool {
        let limits = &self.lane.shared.limits;
        let last = self.underway.back().map(|step| &step.work);
        let waits = matches!(last, Some(Work::Exchange(_) | Work::Engine(_)));
        !waits
            && self.underway.len() < limits.stream_writes_max
            && self.bytes < limits.stream_bytes_max
    }

    /// Takes what has come until there is no more, or no room, or the turn is over. Ready when something was begun.
    fn poll_take(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.end.is_some() {
            return Poll::Pending;
        }
        if let Some(request) = self.held.take_if(|_| self.underway.is_empty()) {
            self.begin(request);
            return Poll::Ready(());
        }
        if self.held.is_some() || !self.has_room() {
            return Poll::Pending;
        }
        if self.turn == 0 {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        match ready!(Pin::new(&mut self.requests).poll_next(context)) {
            Some(Ok(request)) => {
                self.turn -= 1;
                self.begin(request);
            }
            Some(Err(status)) => self.end = Some(Err(status)),
            None => self.end = Some(Ok(())),
        }
        Poll::Ready(())
    }

    fn begin(&mut self, request: StreamRequest) {
        let waits = match &request.request_oneof {
            // The latter may wait for a notice, and nothing overtakes it.
            Some(RequestOneof::GetRequest(_) | RequestOneof::CompareExchangeRequest(_)) => true,
            Some(request) => self.is_of_engine(request),
            None => false,
        };
        if waits && !self.underway.is_empty() {
            self.held = Some(request);
            return;
        }
        let bytes = request.encoded_len();
        let wants = match request.omit_response {
            true => ReplyMode::Nothing,
            false => ReplyMode::Answer,
        };
        match self.work(request) {
            Ok(work) => {
                let charge = self.lane.inbound.charge(bytes);
                self.bytes += charge.bytes();
                self.underway.push_back(Step {
                    work,
                    charge,
                    wants,
                });
            }
            Err(status) => self.end = Some(Err(status)),
        }
    }

    /// Whether it asks an engine, whose calls follow no order but that of their answers.
    fn is_of_engine(&self, request: &RequestOneof) -> bool {
        let index = match request {
            RequestOneof::EchoRequest(_) => return false,
            RequestOneof::GetRequest(request) => request.dbm_index,
            RequestOneof::SetRequest(request) => request.dbm_index,
            RequestOneof::RemoveRequest(request) => request.dbm_index,
            RequestOneof::AppendRequest(request) => request.dbm_index,
            RequestOneof::IncrementRequest(request) => request.dbm_index,
            RequestOneof::CompareExchangeRequest(request) => request.dbm_index,
        };
        matches!(self.lane.store(index), Ok(LaneStore::Engine(_)))
    }

    fn work(&self, request: StreamRequest) -> Result<Work, Status> {
        let Some(request) = request.request_oneof else {
            return Err(Status::invalid_argument(
                "a request of a stream holds no call",
            ));
        };
        let lane = &self.lane;
        match request {
            RequestOneof::EchoRequest(request) => Ok(Work::Done(ResponseOneof::EchoResponse(
                outcome::echo(request),
            ))),
            RequestOneof::GetRequest(request) => {
                let answer = move |(status, value): (StatusProto, Option<Bytes>)| {
                    let value = value.filter(|_| !request.omit_value).unwrap_or_default();
                    let status = Some(status);
                    ResponseOneof::GetResponse(GetResponse { status, value })
                };
                Ok(match lane.store(request.dbm_index)? {
                    LaneStore::Local(database) => {
                        Work::Done(answer(outcome::of_read(database.get(&request.key))))
                    }
                    LaneStore::Engine(engine) => {
                        let (engine, key) = (engine.call("Get"), request.key);
                        let read = async move { answer(outcome::of_read(engine.get(key).await)) };
                        Work::Engine(Box::pin(read))
                    }
                })
            }
            RequestOneof::SetRequest(request) => {
                self.write(request.dbm_index, outcome::set(request), Kind::Set)
            }
            RequestOneof::RemoveRequest(request) => {
                self.write(request.dbm_index, outcome::remove(request), Kind::Remove)
            }
            RequestOneof::AppendRequest(request) => {
                self.write(request.dbm_index, outcome::append(request), Kind::Append)
            }
            RequestOneof::IncrementRequest(request) => {
                let write = outcome::increment(&request);
                self.write(request.dbm_index, write, Kind::Increment)
            }
            RequestOneof::CompareExchangeRequest(request) => {
                let store = lane.store(request.dbm_index)?.clone();
                let lane = Arc::clone(lane);
                Ok(Work::Exchange(Box::pin(async move {
                    exchange(&lane, &store, request, None).await
                })))
            }
        }
    }

    fn write(&self, index: i32, write: kv::Write, kind: Kind) -> Result<Work, Status> {
        Ok(match self.lane.store(index)? {
            LaneStore::Local(database) => Work::Write(database.submit(write), kind),
            LaneStore::Engine(engine) => engine_write(engine, write, kind),
        })
    }
}

fn engine_write(engine: &Arc<EngineLine>, write: kv::Write, kind: Kind) -> Work {
    let engine = engine.call(kind.call());
    Work::Engine(Box::pin(
        async move { kind.answer(&engine.submit(write).await) },
    ))
}

impl Stream for StreamCall {
    type Item = Result<StreamResponse, Status>;

    fn poll_next(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<StreamResponse, Status>>> {
        let this = self.get_mut();
        loop {
            match this.poll_answer(context) {
                Poll::Ready(Some(answer)) => return Poll::Ready(Some(answer)),
                // Answers that wait do not keep requests from being taken.
                Poll::Ready(None) | Poll::Pending => {}
            }
            if this.poll_take(context).is_ready() {
                continue;
            }
            if this.underway.is_empty() && this.held.is_none() {
                match this.end.take() {
                    Some(Ok(())) => return Poll::Ready(None),
                    Some(Err(status)) => {
                        this.end = Some(Ok(()));
                        return Poll::Ready(Some(Err(status)));
                    }
                    None => {}
                }
                if this.turn > 0 && this.drain.as_mut().poll(context).is_ready() {
                    this.end = Some(Err(ending()));
                    continue;
                }
            }
            this.turn = STREAM_MESSAGES_PER_TURN;
            return Poll::Pending;
        }
    }
}

impl Kind {
    fn call(self) -> &'static str {
        match self {
            Kind::Set => "Set",
            Kind::Remove => "Remove",
            Kind::Append => "Append",
            Kind::Increment => "Increment",
        }
    }

    fn answer<E: DatabaseError>(self, written: &Result<WriteResult, E>) -> ResponseOneof {
        let status = Some(outcome::of_write(written));
        match self {
            Kind::Set => ResponseOneof::SetResponse(SetResponse { status }),
            Kind::Remove => ResponseOneof::RemoveResponse(RemoveResponse { status }),
            Kind::Append => ResponseOneof::AppendResponse(AppendResponse { status }),
            Kind::Increment => ResponseOneof::IncrementResponse(IncrementResponse {
                status,
                current: outcome::number(written),
            }),
        }
    }
}

fn code(answer: &ResponseOneof) -> i32 {
    let status = match answer {
        ResponseOneof::EchoResponse(answer) => &answer.status,
        ResponseOneof::GetResponse(answer) => &answer.status,
        ResponseOneof::SetResponse(answer) => &answer.status,
        ResponseOneof::RemoveResponse(answer) => &answer.status,
        ResponseOneof::AppendResponse(answer) => &answer.status,
        ResponseOneof::CompareExchangeResponse(answer) => &answer.status,
        ResponseOneof::IncrementResponse(answer) => &answer.status,
    };
    status.as_ref().map_or(0, |status| status.code)
}
