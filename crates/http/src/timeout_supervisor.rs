//! Watches one connection from outside while it is polled: the times it may take, whether its client is there, and the notice to shut down.
//! A connection that it gives up is dropped with the futures of its requests.
//! Costs a request one look at a flag and one at the clock; the one timer is moved only when it fires or would fire too late.

use std::{
    future::{Future, poll_fn},
    pin::Pin,
    rc::{Rc, Weak},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake, Waker, ready},
    time::{Duration, Instant},
};

use tokio::time::Sleep;

use crate::{
    connection_state::{ConnectionState, ConnectionWait},
    limits::HttpLimits,
    wire::Presence,
};

/// Wakes the connection's task and remembers that it was for the supervisor.
struct SupervisorWaker {
    rung: AtomicBool,
    task: Waker,
}

impl Wake for SupervisorWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.rung.store(true, Ordering::Release);
        self.task.wake_by_ref();
    }
}

/// Whether connections are still wanted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Open,
    WindingDown,
}

pub(crate) struct TimeoutSupervisor<'a, S> {
    state: Rc<ConnectionState>,
    limits: Rc<HttpLimits>,
    shutdown: Pin<&'a mut S>,
    timer: Pin<&'a mut Sleep>,
    /// Whether the client is there, while nothing reads.
    presence: Option<Weak<dyn Presence>>,
    /// When the timer fires.
    armed: Option<Instant>,
    /// When the present wait began.
    since: Instant,
    /// When something of a stream moved last. Only on HTTP/2.
    active_at: Instant,
    bell: Option<Arc<SupervisorWaker>>,
    phase: Phase,
}

impl<'a, S: Future<Output = ()>> TimeoutSupervisor<'a, S> {
    /// The timer's first deadline does not matter.
    pub(crate) fn new(
        state: Rc<ConnectionState>,
        limits: Rc<HttpLimits>,
        shutdown: Pin<&'a mut S>,
        timer: Pin<&'a mut Sleep>,
    ) -> Self {
        TimeoutSupervisor {
            state,
            limits,
            shutdown,
            timer,
            presence: None,
            armed: None,
            since: Instant::now(),
            active_at: Instant::now(),
            bell: None,
            phase: Phase::Open,
        }
    }

    /// From now on the client is looked for while a handler is at work.
    pub(crate) fn set_presence(&mut self, presence: Weak<dyn Presence>) {
        self.presence = Some(presence);
    }

    /// Polls a connection, or a part of its life, to its end. `None` when it took too long and is to be dropped. `wind_down` has it finish
    /// what has begun and begin nothing more; it is ready when nothing has.
    pub(crate) async fn supervise<C: Future>(
        &mut self,
        mut connection: Pin<&mut C>,
        wind_down: impl Fn(Pin<&mut C>) -> Poll<()>,
    ) -> Option<C::Output> {
        if self.phase == Phase::WindingDown && wind_down(connection.as_mut()).is_ready() {
            return None;
        }
        poll_fn(|cx| {
            if self.is_rung(cx) && self.answer(|| wind_down(connection.as_mut())).is_ready() {
                return Poll::Ready(None);
            }
            if let Poll::Ready(output) = connection.as_mut().poll(cx) {
                return Poll::Ready(Some(output));
            }
            if self.look_for_client(cx).is_ready() {
                return Poll::Ready(None);
            }
            self.check_timeouts().map(|()| None)
        })
        .await
    }

    /// Whether to look after timer and notice. A new task gets a new bell, rung once, so that both get to know it.
    fn is_rung(&mut self, cx: &Context<'_>) -> bool {
        match &self.bell {
            // Acquire: what happened before the bell was rung is seen by those who answer it.
            Some(bell) if bell.task.will_wake(cx.waker()) => {
                bell.rung.load(Ordering::Relaxed) && bell.rung.swap(false, Ordering::Acquire)
            }
            _ => {
                self.state.set_task(cx.waker());
                self.bell = Some(Arc::new(SupervisorWaker {
                    rung: AtomicBool::new(false),
                    task: cx.waker().clone(),
                }));
                true
            }
        }
    }

    fn waker(&self) -> Waker {
        self.bell.as_ref().map_or_else(
            || Waker::noop().clone(),
            |bell| Waker::from(Arc::clone(bell)),
        )
    }

    /// Ready when the connection is lost. A client that only sends nothing more may wait for its answer.
    fn look_for_client(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if !self.state.is_unwatched() {
            return Poll::Pending;
        }
        let Some(presence) = self.presence.as_ref().and_then(Weak::upgrade) else {
            return Poll::Pending;
        };
        match ready!(presence.poll_end(cx)) {
            Ok(()) => {
                self.state.set_half_closed();
                Poll::Pending
            }
            Err(_) => Poll::Ready(()),
        }
    }

    /// Handles what the waker was called for. Ready when the connection has taken too long.
    fn answer(&mut self, mut wind_down: impl FnMut() -> Poll<()>) -> Poll<()> {
        let waker = self.waker();
        let cx = &mut Context::from_waker(&waker);
        if self.phase == Phase::Open && self.shutdown.as_mut().poll(cx).is_ready() {
            self.phase = Phase::WindingDown;
            if wind_down().is_ready() {
                return Poll::Ready(());
            }
        }
        if self.armed.is_none() || self.timer.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        self.armed = None;
        // A wait that is over or began later is no reason to close.
        match self.deadline() {
            Some((wait, deadline)) if deadline <= Instant::now() => {
                if wait != ConnectionWait::Request || self.phase == Phase::WindingDown {
                    return Poll::Ready(());
                }
                // No request is interrupted, so this end can be a polite one.
                self.phase = Phase::WindingDown;
                self.since = Instant::now();
                self.active_at = self.since;
                wind_down()
            }
            _ => Poll::Pending,
        }
    }

    /// Sees after each poll that the timer fires in time for what the connection waits for now. Ready when it already has.
    fn check_timeouts(&mut self) -> Poll<()> {
        let Some((_, deadline)) = self.deadline() else {
            return Poll::Pending;
        };
        if self.armed.is_some_and(|armed| armed <= deadline) {
            return Poll::Pending;
        }
        self.armed = Some(deadline);
        self.timer.as_mut().reset(deadline.into());
        let waker = self.waker();
        self.timer.as_mut().poll(&mut Context::from_waker(&waker))
    }

    /// When the present wait is too long.
    fn deadline(&mut self) -> Option<(ConnectionWait, Instant)> {
        let wait = self.state.wait();
        let is_new = self.state.note(wait);
        let wait = wait?;
        let is_active = self.state.take_activity();
        if is_new || is_active {
            let now = Instant::now();
            if is_new {
                self.since = now;
            }
            if is_active {
                self.active_at = now;
            }
        }
        let since = match wait {
            // What is of the connection, such as the answer to a PING, ends no wait for a stream.
            ConnectionWait::Request if self.state.is_multiplexed() => self.active_at,
            // A client that takes something of another response may let this one lie.
            ConnectionWait::Window => self.since.max(self.active_at),
            _ => self.since,
        };
        let limit_ms = match wait {
            ConnectionWait::Header => self.limits.header_timeout_ms,
            ConnectionWait::Request if self.phase == Phase::Open => self.limits.keep_alive_ms,
            ConnectionWait::Request => self.limits.send_timeout_ms,
            ConnectionWait::Room | ConnectionWait::Window => self.limits.send_timeout_ms,
            ConnectionWait::Answer => self.limits.half_close_ms,
            ConnectionWait::Linger => self.limits.linger_ms,
        };
        Some((wait, since + Duration::from_millis(limit_ms)))
    }
}
