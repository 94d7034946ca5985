//! One thread of the load: its connections, its share of the schedule, one wait for all of them.
//! It never sleeps while an answer is there to be read; what it counts begins at a moment that all threads share.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};

use super::connection::{Connection, Read, Sent};
use super::{Pace, Plan, Tally};
use crate::limits::{DRAIN_MS_MAX, ERRORS_MAX, EVENTS_MAX, LATENCY_NS_MAX, READ_BYTES, TICK_MS};
use crate::stop::Stop;

/// Which event is the timer's; connections have their index.
const TIMER: u64 = u64::MAX;

/// When, and which requests of the schedule are this thread's.
#[derive(Clone, Copy)]
pub struct Span {
    /// The first request of the schedule is due.
    pub began: Instant,
    /// From here it counts.
    pub counts: Instant,
    /// Until here requests are begun.
    pub until: Instant,
    /// This thread's first request.
    pub first: usize,
    /// From one of its requests to the next.
    pub step: usize,
}

/// The requests of a thread at the open pace.
struct Schedule {
    began: Instant,
    interval: Duration,
    next: u32,
}

impl Schedule {
    fn new(span: Span, per_second: f64) -> Schedule {
        Schedule {
            began: span.began + Duration::from_secs_f64(span.first as f64 / per_second),
            interval: Duration::from_secs_f64(span.step as f64 / per_second),
            next: 0,
        }
    }

    fn due(&self) -> Instant {
        self.began + self.interval * self.next
    }
}

/// A thread.
pub struct Generator<'a> {
    plan: &'a Plan<'a>,
    span: Span,
    stop: &'a Stop,
    request: Vec<u8>,
    epoll: Epoll,
    timer: TimerFd,
    connections: Vec<Connection>,
    idle: VecDeque<usize>,
    schedule: Option<Schedule>,
    tally: Tally,
    room: Vec<u8>,
}

impl<'a> Generator<'a> {
    /// A thread that has not begun.
    pub fn new(
        plan: &'a Plan<'a>,
        span: Span,
        connections: Vec<Connection>,
        stop: &'a Stop,
    ) -> Result<Generator<'a>> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let timer = TimerFd::new(
            ClockId::CLOCK_MONOTONIC,
            TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC,
        )?;
        // Only its expiry matters, which is told once.
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
        let host = plan.address;
        let request = format!("GET {} HTTP/1.1\r\nhost: {host}\r\n\r\n", plan.path);
        Ok(Generator {
            plan,
            span,
            stop,
            request: request.into_bytes(),
            epoll,
            timer,
            idle: (0..connections.len()).collect(),
            connections,
            schedule,
            tally: Tally::new()?,
            room: vec![0; READ_BYTES],
        })
    }

    /// Loads until the time is over, and at the open pace until all who were due are answered, or given up.
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
        self.give_up(Instant::now());
        Ok(self.tally)
    }

    fn is_over(&self, now: Instant) -> bool {
        if self.stop.is_asked() || now >= self.span.until && self.schedule.is_none() {
            return true;
        }
        let Some(schedule) = &self.schedule else {
            return false;
        };
        let is_idle = self.idle.len() == self.connections.len();
        schedule.due() >= self.span.until && is_idle
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
        while let (Some(due), false) = (self.next_due(), self.idle.is_empty()) {
            if due > now {
                let wait = TimeSpec::from(due - now);
                let once = Expiration::OneShot(wait);
                self.timer.set(once, TimerSetTimeFlags::empty())?;
                break;
            }
            let Some(at) = self.idle.pop_front() else {
                break;
            };
            // It could have left when it was due, or when its connection became free; the latter is the server's doing.
            self.late(due, self.connections[at].free_since, now);
            self.advance();
            self.ask(at, due)?;
        }
        Ok(())
    }

    /// When the next request is due, if there is another.
    fn next_due(&self) -> Option<Instant> {
        let due = self.schedule.as_ref()?.due();
        (due < self.span.until).then_some(due)
    }

    fn advance(&mut self) {
        if let Some(schedule) = &mut self.schedule {
            schedule.next += 1;
        }
    }

    fn late(&mut self, due: Instant, free_since: Instant, now: Instant) {
        if due >= self.span.counts {
            let could = due.max(free_since);
            self.tally
                .late
                .saturating_record(nanoseconds(now.saturating_duration_since(could)));
        }
    }

    fn ask(&mut self, at: usize, due: Instant) -> Result<()> {
        match self.connections[at].ask(&self.request, due) {
            Ok(sent) => self.watch(at, sent),
            Err(error) => self.fail(at, &error.to_string()),
        }
    }

    /// Has the kernel tell when a full socket takes more.
    fn watch(&mut self, at: usize, sent: Sent) -> Result<()> {
        if sent == Sent::Part {
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
            match connection.send(&self.request) {
                Ok(Sent::Part) => {}
                Ok(Sent::All) => {
                    let mut event = EpollEvent::new(EpollFlags::EPOLLIN, at as u64);
                    self.epoll.modify(&connection.stream, &mut event)?;
                }
                Err(error) => return self.fail(at, &error.to_string()),
            }
        }
        if !flags.intersects(EpollFlags::EPOLLIN | EpollFlags::EPOLLHUP | EpollFlags::EPOLLERR) {
            return Ok(());
        }
        let expected = self.plan.expected;
        let read = connection.read(&mut self.room, |message| {
            if message.status != 200 {
                return Some(format!("status {}", message.status));
            }
            let holds = expected.holds(&message.body);
            (!holds).then(|| {
                let shown = String::from_utf8_lossy(&message.body);
                let shown: String = shown.chars().take(80).collect();
                format!("another body than expected: {shown}")
            })
        });
        match read {
            Ok(Read::Part) => Ok(()),
            Ok(Read::Answer { verdict, closes }) => self.answered(at, verdict, closes),
            Err(error) => self.fail(at, &error.to_string()),
        }
    }

    /// Counts an answer; at the closed pace its connection asks again at once.
    fn answered(&mut self, at: usize, fault: Option<String>, closes: bool) -> Result<()> {
        let now = Instant::now();
        let Some(due) = self.connections[at].due.take() else {
            return Ok(());
        };
        match fault {
            Some(fault) => self.count_error(fault)?,
            None => self.count(due, now),
        }
        if closes {
            self.replace(at)?;
        }
        if self.schedule.is_none() && now < self.span.until {
            return self.ask(at, now);
        }
        self.connections[at].free_since = now;
        self.idle.push_back(at);
        Ok(())
    }

    /// At the closed pace what was answered in time counts, at the open one what was due in time.
    fn count(&mut self, due: Instant, now: Instant) {
        let decides = if self.schedule.is_some() { due } else { now };
        if decides >= self.span.counts && decides < self.span.until {
            self.tally.requests += 1;
            self.tally.latency.saturating_record(nanoseconds(now - due));
        }
    }

    fn count_error(&mut self, fault: String) -> Result<()> {
        self.tally.errors += 1;
        if self.tally.errors > ERRORS_MAX {
            bail!("{ERRORS_MAX} requests failed, the last with: {fault}");
        }
        self.tally.first.get_or_insert(fault);
        Ok(())
    }

    /// A connection broke, with a request under way or without.
    fn fail(&mut self, at: usize, reason: &str) -> Result<()> {
        if self.connections[at].due.take().is_some() {
            self.count_error(reason.to_owned())?;
            self.idle.push_back(at);
        }
        self.replace(at)
    }

    fn replace(&mut self, at: usize) -> Result<()> {
        // Its place in the kernel's list goes with its descriptor.
        self.connections[at] = Connection::open(self.plan.address)?;
        let event = EpollEvent::new(EpollFlags::EPOLLIN, at as u64);
        self.epoll.add(&self.connections[at].stream, event)?;
        Ok(())
    }

    /// Those who were due and have no answer count with the time that they had so far: it was more.
    fn give_up(&mut self, now: Instant) {
        let mut waiting: Vec<Instant> = Vec::new();
        if self.schedule.is_some() {
            waiting.extend(
                self.connections
                    .iter()
                    .filter_map(|connection| connection.due),
            );
            while let Some(due) = self.next_due().filter(|due| *due < now) {
                waiting.push(due);
                self.advance();
            }
        }
        for due in waiting.into_iter().filter(|due| *due >= self.span.counts) {
            self.tally.unanswered += 1;
            self.tally.latency.saturating_record(nanoseconds(now - due));
        }
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).map_or(LATENCY_NS_MAX, |time| time.clamp(1, LATENCY_NS_MAX))
}
