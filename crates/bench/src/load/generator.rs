//! One thread of the load: its connections, its share of the schedule, one wait for all of them.
//! It never sleeps while an answer is there to be read; what it counts begins at a moment that all threads share.
//! At the closed pace it reads all answers that are there and then sends all requests that they make room for, as wrk does: a server that
//! is woken by each request by itself costs more, and ratios would not be those that wrk gives.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use anyhow::Result;
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};

use super::connection::{Connection, ReadProgress, SendProgress};
use super::counter::{Counter, fault};
use super::schedule::{Schedule, TimeSpan};
use super::{LoadPlan, LoadRequest, Pace, Tally};
use crate::limits::{DRAIN_MS_MAX, EVENTS_MAX, READ_BYTES, TICK_MS};
use crate::stop::StopFlag;

/// Which event is the timer's; connections have their index.
const TIMER: u64 = u64::MAX;

/// A thread.
pub struct Generator<'a> {
    plan: &'a LoadPlan<'a>,
    span: TimeSpan,
    stop: &'a StopFlag,
    /// The requests of the plan as bytes, each as often as they leave together.
    requests: Vec<Vec<u8>>,
    epoll: Epoll,
    timer: TimerFd,
    connections: Vec<Connection>,
    idle: VecDeque<usize>,
    schedule: Option<Schedule>,
    counter: Counter,
    room: Vec<u8>,
}

impl<'a> Generator<'a> {
    /// A thread that has not begun.
    pub fn new(
        plan: &'a LoadPlan<'a>,
        span: TimeSpan,
        mut connections: Vec<Connection>,
        stop: &'a StopFlag,
    ) -> Result<Generator<'a>> {
        for (at, connection) in connections.iter_mut().enumerate() {
            connection.next = (at * span.step + span.first) % plan.requests.len();
        }
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let timer = TimerFd::new(
            ClockId::CLOCK_MONOTONIC,
            TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC,
        )?;
        // Only its expiry matters, which is reported once.
        let flags = EpollFlags::EPOLLIN | EpollFlags::EPOLLET;
        epoll.add(&timer, EpollEvent::new(flags, TIMER))?;
        for (at, connection) in connections.iter().enumerate() {
            let event = EpollEvent::new(EpollFlags::EPOLLIN, at as u64);
            epoll.add(&connection.stream, event)?;
        }
        let schedule = match plan.pace {
            Pace::Closed => None,
            Pace::Open(per_second) => Some(Schedule::new(span, per_second)),
        };
        let depth = plan.connection_use.depth;
        let bytes = |request: &LoadRequest| request.bytes(plan.address).repeat(depth);
        Ok(Generator {
            plan,
            span,
            stop,
            requests: plan.requests.iter().map(bytes).collect(),
            epoll,
            timer,
            idle: (0..connections.len()).collect(),
            connections,
            schedule,
            counter: Counter::new(span, plan.pace)?,
            room: vec![0; READ_BYTES],
        })
    }

    /// Loads until the time is over, and at the open pace until all requests that were due are answered or given up.
    pub fn run(mut self) -> Result<Tally> {
        let mut events = vec![EpollEvent::empty(); EVENTS_MAX];
        self.begin(Instant::now())?;
        loop {
            let ready = match self.epoll.wait(&mut events, EpollTimeout::from(TICK_MS)) {
                Ok(ready) => ready,
                Err(Errno::EINTR) => 0,
                Err(error) => return Err(error.into()),
            };
            for event in &events[..ready] {
                if event.data() != TIMER {
                    self.serve(event.data() as usize, event.events())?;
                }
            }
            let now = Instant::now();
            if self.is_over(now) {
                break;
            }
            self.begin(now)?;
        }
        let now = Instant::now();
        let mut waiting: Vec<Instant> = self.connections.iter().filter_map(|one| one.due).collect();
        if let Some(schedule) = &mut self.schedule {
            waiting.extend(schedule.take_due(now));
        }
        Ok(self.counter.end(waiting, now))
    }

    fn is_over(&self, now: Instant) -> bool {
        if self.stop.is_set() || now >= self.span.until && self.schedule.is_none() {
            return true;
        }
        let Some(schedule) = &self.schedule else {
            return false;
        };
        let is_idle = self.idle.len() == self.connections.len();
        schedule.next_due().is_none() && is_idle
            || now >= self.span.until + Duration::from_millis(DRAIN_MS_MAX)
    }

    /// Begins what is due on connections that are free, and sets the timer for the next.
    fn begin(&mut self, now: Instant) -> Result<()> {
        if self.schedule.is_none() {
            while let Some(at) = self.idle.pop_front() {
                self.ask(at, now)?;
            }
            return Ok(());
        }
        while let (Some(due), false) = (
            self.schedule.as_ref().and_then(Schedule::next_due),
            self.idle.is_empty(),
        ) {
            if due > now {
                let wait = TimeSpec::from(due - now);
                let once = Expiration::OneShot(wait);
                self.timer.set(once, TimerSetTimeFlags::empty())?;
                break;
            }
            let Some(at) = self.idle.pop_front() else {
                break;
            };
            let free_since = self.connections[at].free_since;
            self.counter.begin(due, free_since, now);
            if let Some(schedule) = &mut self.schedule {
                schedule.advance();
            }
            self.ask(at, due)?;
        }
        Ok(())
    }

    fn ask(&mut self, at: usize, due: Instant) -> Result<()> {
        let connection = &mut self.connections[at];
        let request = &self.requests[connection.next];
        match connection.ask(request, self.plan.connection_use.depth, due) {
            Ok(sent) => self.watch(at, sent),
            Err(error) => self.fail(at, &error.to_string()),
        }
    }

    /// Has the kernel tell when a full socket takes more.
    fn watch(&mut self, at: usize, sent: SendProgress) -> Result<()> {
        if sent == SendProgress::Part {
            let flags = EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT;
            let mut event = EpollEvent::new(flags, at as u64);
            self.epoll
                .modify(&self.connections[at].stream, &mut event)?;
        }
        Ok(())
    }

    /// A connection can be written or read.
    fn serve(&mut self, at: usize, flags: EpollFlags) -> Result<()> {
        let connection = &mut self.connections[at];
        if flags.contains(EpollFlags::EPOLLOUT) {
            match connection.send(&self.requests[connection.next]) {
                Ok(SendProgress::Part) => {}
                Ok(SendProgress::All) => {
                    let mut event = EpollEvent::new(EpollFlags::EPOLLIN, at as u64);
                    self.epoll.modify(&connection.stream, &mut event)?;
                }
                Err(error) => return self.fail(at, &error.to_string()),
            }
        }
        if !flags.intersects(EpollFlags::EPOLLIN | EpollFlags::EPOLLHUP | EpollFlags::EPOLLERR) {
            return Ok(());
        }
        let request = &self.plan.requests[connection.next];
        let (due, now) = (connection.due, Instant::now());
        let (counter, mut counted) = (&mut self.counter, Ok(()));
        let read = connection.read(&mut self.room, |message| {
            match (due, fault(message.status, &message.body, request)) {
                (Some(due), None) => counter.answer(due, now),
                (_, Some(fault)) => counted = counter.error(fault),
                (None, None) => {}
            }
        });
        counted?;
        match read {
            Ok(ReadProgress::Part) => Ok(()),
            Ok(ReadProgress::All { closes }) => self.answered(at, now, closes),
            Err(error) => self.fail(at, &error.to_string()),
        }
    }

    /// All that a connection asked was answered. It is free for what comes next.
    fn answered(&mut self, at: usize, now: Instant, closes: bool) -> Result<()> {
        let connection = &mut self.connections[at];
        connection.due = None;
        connection.next = (connection.next + 1) % self.requests.len();
        let requests_max = self.plan.connection_use.requests_max;
        if closes || requests_max.is_some_and(|max| connection.sent >= max) {
            self.replace(at)?;
        }
        self.connections[at].free_since = now;
        self.idle.push_back(at);
        Ok(())
    }

    /// A connection broke, with a request under way or without.
    fn fail(&mut self, at: usize, reason: &str) -> Result<()> {
        if self.connections[at].due.take().is_some() {
            self.counter.error(reason.to_owned())?;
            self.idle.push_back(at);
        }
        self.replace(at)
    }

    fn replace(&mut self, at: usize) -> Result<()> {
        // Its place in the kernel's list goes with its descriptor.
        let next = self.connections[at].next;
        self.connections[at] = Connection::open(self.plan.address)?;
        self.connections[at].next = next;
        let event = EpollEvent::new(EpollFlags::EPOLLIN, at as u64);
        self.epoll.add(&self.connections[at].stream, event)?;
        Ok(())
    }
}
