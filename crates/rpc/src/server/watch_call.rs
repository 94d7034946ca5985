//! Watch: the changes of the keys that begin with a prefix, as one stream of answers. Knows no engine and no connection.
//! Rule: a client that takes nothing holds up no write, and costs no more than the bounds of one watch; what it loses is reported.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use tokio::time::{Instant, Sleep};
use tonic::{Code, Status};
use tsumugi_kv::{ChangeEvent, PrefixWatch};

use super::engine_call::EngineChanges;
use super::lane::{LaneStore, ServiceLane, ending};
use super::watch_count::{WatchCount, WatchPermit};
use crate::code::TkrzwCode;
use crate::limits::{STREAM_MESSAGES_PER_TURN, WATCH_ALIVE_MS_MIN};
use crate::own_proto::WatchResponse;
use crate::own_proto::watch_response::Kind;
use crate::proto::StatusProto;

/// A watch that is being answered.
pub(crate) struct WatchCall {
    lane: Arc<ServiceLane>,
    changes: Changes,
    state: State,
    /// When it says next that it goes on.
    alive: Pin<Box<Sleep>>,
    every: Duration,
    /// Changes that may still be reported in this turn.
    turn: usize,
    drain: Pin<Box<dyn Future<Output = ()> + Send>>,
    _permits: [WatchPermit; 2],
}

/// Where the changes come from.
enum Changes {
    Local(PrefixWatch),
    Engine(EngineChanges),
}

impl Changes {
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Result<ChangeEvent, Status>> {
        match self {
            Changes::Local(watch) => Pin::new(&mut watch.next())
                .poll(context)
                .map(|change| change.ok_or_else(closed)),
            Changes::Engine(changes) => changes.poll_recv(context).map(|change| match change {
                Some(Ok(change)) => Ok(change),
                // Its client begins again, and is told that it may have missed something.
                Some(Err(error)) => Err(Status::unavailable(error.to_string())),
                None => Err(closed()),
            }),
        }
    }
}

fn closed() -> Status {
    Status::unavailable("the database was closed")
}

/// Why an engine begins no watch, as a stream without an answer says it.
fn refusal(status: StatusProto) -> Status {
    let code = match TkrzwCode::of(status.code) {
        TkrzwCode::NotImplemented => Code::Unimplemented,
        TkrzwCode::InvalidArgument => Code::InvalidArgument,
        TkrzwCode::Permission => Code::PermissionDenied,
        TkrzwCode::Network => Code::Unavailable,
        TkrzwCode::System => Code::ResourceExhausted,
        _ => Code::Unknown,
    };
    Status::new(code, status.message)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing was said yet.
    Begun,
    Ready,
    Over,
}

impl WatchCall {
    /// Begins to watch.
    ///
    /// # Errors
    /// A refusal: there is no such database, or there are as many watches as there may be.
    pub(crate) async fn begin(
        lane: &Arc<ServiceLane>,
        connection: &Arc<WatchCount>,
        index: i32,
        prefix: &[u8],
    ) -> Result<WatchCall, Status> {
        let shared = &lane.shared;
        let limits = &shared.limits;
        let store = lane.store(index)?;
        let permits = [
            connection.permit("connection_watches_max", limits.connection_watches_max)?,
            shared.watches.permit("watches_max", limits.watches_max)?,
        ];
        // A copy: what is kept is not the message it came in.
        let prefix = Bytes::copy_from_slice(prefix);
        let changes = match store {
            LaneStore::Local(database) => database
                .watch(prefix)
                .map(Changes::Local)
                .map_err(|error| Status::resource_exhausted(error.to_string()))?,
            LaneStore::Engine(engine) => {
                let changes = engine.call("Watch").watch(prefix).await;
                changes.map(Changes::Engine).map_err(refusal)?
            }
        };
        let every = Duration::from_millis(limits.watch_alive_ms.max(WATCH_ALIVE_MS_MIN));
        Ok(WatchCall {
            lane: Arc::clone(lane),
            changes,
            state: State::Begun,
            alive: Box::pin(tokio::time::sleep(every)),
            every,
            turn: STREAM_MESSAGES_PER_TURN,
            drain: Box::pin(lane.drain()),
            _permits: permits,
        })
    }

    /// The next thing to say, if there is one.
    fn poll_answer(&mut self, context: &mut Context<'_>) -> Poll<Result<WatchResponse, Status>> {
        if self.state == State::Begun {
            self.state = State::Ready;
            let alive_ms = u64::try_from(self.every.as_millis()).unwrap_or(u64::MAX);
            return Poll::Ready(Ok(WatchResponse {
                alive_ms,
                ..word(Kind::Ready)
            }));
        }
        if self.turn == 0 {
            self.turn = STREAM_MESSAGES_PER_TURN;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        match self.changes.poll_next(context) {
            Poll::Ready(Ok(change)) => {
                self.turn -= 1;
                return Poll::Ready(Ok(answer(change)));
            }
            Poll::Ready(Err(status)) => return Poll::Ready(Err(status)),
            Poll::Pending => self.turn = STREAM_MESSAGES_PER_TURN,
        }
        if self.drain.as_mut().poll(context).is_ready() {
            return Poll::Ready(Err(ending()));
        }
        self.alive
            .as_mut()
            .poll(context)
            .map(|()| Ok(word(Kind::Alive)))
    }
}

impl Stream for WatchCall {
    type Item = Result<WatchResponse, Status>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        if this.state == State::Over {
            return Poll::Ready(None);
        }
        let answer = std::task::ready!(this.poll_answer(context));
        match &answer {
            Ok(_) => {
                this.lane.figures.message();
                this.alive.as_mut().reset(Instant::now() + this.every);
            }
            Err(_) => this.state = State::Over,
        }
        Poll::Ready(Some(answer))
    }
}

fn word(kind: Kind) -> WatchResponse {
    WatchResponse {
        kind: kind.into(),
        ..WatchResponse::default()
    }
}

fn answer(change: ChangeEvent) -> WatchResponse {
    let (kind, key) = match change {
        ChangeEvent::Put(key) => (Kind::Put, key),
        ChangeEvent::Removed(key) => (Kind::Removed, key),
        ChangeEvent::Expired(key) => (Kind::Expired, key),
        ChangeEvent::Evicted(key) => (Kind::Evicted, key),
        ChangeEvent::Cleared => return word(Kind::Cleared),
        ChangeEvent::Lagged(missed) => {
            return WatchResponse {
                missed,
                ..word(Kind::Missed)
            };
        }
        // A change of a kind to come may be of any record.
        _ => return word(Kind::Missed),
    };
    WatchResponse { key, ..word(kind) }
}
