//! One thread of the load over links that are hyper's: as many requests under way as its links have streams, each with a future of its own.
//! What it counts begins at a moment that all threads share.

use std::cell::RefCell;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use futures_util::future::try_join_all;
use tokio::sync::Mutex;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::sleep;

use super::counter::{Counter, fault};
use super::link::{LoadLink, LoadTarget};
use super::schedule::{Schedule, TimeSpan};
use super::{LoadPlan, LoadRequest, Pace, Tally};
use crate::limits::{DRAIN_MS_MAX, TICK_MS};
use crate::stop::StopFlag;

/// A thread.
pub struct Lanes<'a> {
    plan: &'a LoadPlan<'a>,
    span: TimeSpan,
    stop: &'a StopFlag,
    links: Vec<LoadLink>,
    /// What is asked, one for each request of the plan.
    targets: Vec<LoadTarget>,
    /// Requests that are due and not taken yet, at the open pace.
    bell: Option<Mutex<UnboundedReceiver<Instant>>>,
    counter: RefCell<Counter>,
    /// When the requests under way were due, by lane.
    under_way: RefCell<Vec<Option<Instant>>>,
}

impl<'a> Lanes<'a> {
    /// A thread that has not begun.
    pub fn new(
        plan: &'a LoadPlan<'a>,
        span: TimeSpan,
        links: Vec<LoadLink>,
        stop: &'a StopFlag,
    ) -> Result<Lanes<'a>> {
        let bell = match plan.pace {
            Pace::Closed => None,
            Pace::Open(per_second) => {
                let (sender, receiver) = unbounded_channel();
                let (schedule, stop) = (Schedule::new(span, per_second), stop.clone());
                let named = thread::Builder::new().name("load-schedule".to_owned());
                named.spawn(move || ring(schedule, &sender, &stop))?;
                Some(Mutex::new(receiver))
            }
        };
        let lanes = links.len() * plan.transport.protocol.streams();
        let target =
            |request: &LoadRequest| LoadTarget::new(plan.address, &request.path, plan.transport);
        Ok(Lanes {
            plan,
            span,
            stop,
            links,
            targets: plan.requests.iter().map(target).collect::<Result<_>>()?,
            bell,
            counter: RefCell::new(Counter::new(span, plan.pace)?),
            under_way: RefCell::new(vec![None; lanes]),
        })
    }

    /// Loads until the time is over, and at the open pace until all requests that were due are answered or given up.
    pub async fn run(self) -> Result<Tally> {
        let lanes = self.under_way.borrow().len();
        let each = (0..lanes).map(|lane| self.lane(lane, &self.links[lane % self.links.len()]));
        tokio::select! {
            ended = try_join_all(each) => drop(ended?),
            () = self.over() => {}
        }
        let mut under_way: Vec<Instant> =
            self.under_way.into_inner().into_iter().flatten().collect();
        if let Some(bell) = self.bell {
            let mut bell = bell.into_inner();
            while let Ok(due) = bell.try_recv() {
                under_way.push(due);
            }
        }
        Ok(self.counter.into_inner().end(under_way, Instant::now()))
    }

    async fn over(&self) {
        let drain = match self.plan.pace {
            Pace::Closed => Duration::ZERO,
            Pace::Open(_) => Duration::from_millis(DRAIN_MS_MAX),
        };
        while Instant::now() < self.span.until + drain && !self.stop.is_set() {
            sleep(Duration::from_millis(TICK_MS.into())).await;
        }
    }

    /// One request after the other.
    async fn lane(&self, lane: usize, link: &LoadLink) -> Result<()> {
        let mut free_since = Instant::now();
        let mut next = (lane * self.span.step + self.span.first) % self.targets.len();
        while let Some(due) = self.take().await {
            let now = Instant::now();
            self.counter.borrow_mut().begin(due, free_since, now);
            self.under_way.borrow_mut()[lane] = Some(due);
            let answer = link.fetch_from(&self.targets[next]).await;
            self.under_way.borrow_mut()[lane] = None;
            free_since = Instant::now();
            let fault = match answer {
                Ok((status, body)) => fault(status, &body, &self.plan.requests[next]),
                Err(error) => Some(format!("{error:#}")),
            };
            let mut counter = self.counter.borrow_mut();
            match fault {
                Some(fault) => counter.error(fault)?,
                None => counter.answer(due, free_since),
            }
            next = (next + 1) % self.targets.len();
        }
        Ok(())
    }

    /// Waits until a request is due, if there is another, and returns since when it is: at the closed pace, now.
    async fn take(&self) -> Option<Instant> {
        let Some(bell) = &self.bell else {
            let now = Instant::now();
            return (now < self.span.until).then_some(now);
        };
        bell.lock().await.recv().await
    }
}

/// Tells each request of the schedule when it is due, from a thread of its own: the runtime's clock has milliseconds, which is too coarse
/// for latencies.
fn ring(mut schedule: Schedule, bell: &UnboundedSender<Instant>, stop: &StopFlag) {
    while let Some(due) = schedule.next_due() {
        stop.sleep_until(due);
        if stop.is_set() || bell.send(due).is_err() {
            return;
        }
        schedule.advance();
    }
}
