//! Waiting: `sleep`, `parallel`, channels, periods of timers, and the two natives of the fibre's loop.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::Notify;
use tsumugi_mruby::{Kind, NativeReply, Raise, Result, Root, Scope, Suspension, Value};
use tsumugi_server::dispatch::{StopSignal, TimerPeriod};

use crate::answer::{Answer, Operation, answer, nil, operation, raise};
use crate::driver::{self, Bounds};
use crate::host::{Host, JobResult};
use crate::limits::SLEEP_SECONDS_MAX;
use crate::natives::arguments::wrong_type;
use crate::natives::definitions::Natives;

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    let scope = natives.scope();
    let host = natives.host().clone();
    let tsumugi = scope.constant("Tsumugi")?;
    scope.define_singleton(tsumugi, "finish", Suspension::Maybe, move |_, call| {
        if let Some(host) = host.upgrade() {
            host.finished.set(true);
        }
        Ok(NativeReply::Yield(call.argument(0)))
    })?;
    natives.plain("job", |host, scope, _| {
        Ok(scope.integer(i64::try_from(host.job.number()).unwrap_or(0)))
    })?;
    natives.plain("check_period", |_, scope, call| {
        timer_period(scope, call.argument(0)).map(|_| Value::nil())
    })?;
    natives.waiting("sleep", |_, scope, call| {
        let duration = seconds(scope, call.argument(0))?;
        Ok(operation(async move {
            if duration.is_zero() {
                tokio::task::yield_now().await;
            } else {
                tokio::time::sleep(duration).await;
            }
            nil()
        }))
    })?;
    natives.waiting("parallel", |host, scope, call| {
        let tasks = call.argument(0);
        let max = host.settings.limits.parallel_max;
        let count = scope.array_len(tasks);
        if count > max {
            let message = format!("parallel has {count} branches; parallel_max is {max}");
            return Err(scope.error("ArgumentError", message));
        }
        let tasks = (0..count)
            .map(|i| scope.root(scope.array_at(tasks, i)))
            .collect::<Result<'_, Vec<Root>>>()?;
        let parent = Some(host.job.number());
        if !host.job.transactions().borrow().is_empty() {
            let message =
                "parallel in a transaction would run its branches outside: run it before or after";
            return Err(scope.error("DB::UsageError", message));
        }
        let subject = host.job.exchange();
        // What a branch opens is of use to who waits for it.
        let streams = subject.is_none().then(|| host.job.streams());
        let bounds = Bounds {
            subject,
            parent,
            streams,
            ..Bounds::default()
        };
        Ok(Box::pin(parallel(Rc::clone(host), bounds, tasks)))
    })?;
    channels(natives)
}

fn seconds<'c>(scope: &'c Scope<'c>, value: Value<'c>) -> Result<'c, Duration> {
    let seconds = match value.kind() {
        Kind::Integer => value.as_integer().unwrap_or_default() as f64,
        Kind::Float => value.as_float().unwrap_or_default(),
        _ => {
            let class = scope.class_name(value);
            return Err(scope.error(
                "ArgumentError",
                format!("sleep takes a number of seconds, not {class}"),
            ));
        }
    };
    if !(0.0..=SLEEP_SECONDS_MAX).contains(&seconds) {
        let message = format!(
            "sleep takes a number of seconds from 0 to sleep_seconds_max ({SLEEP_SECONDS_MAX}), not {seconds}"
        );
        return Err(scope.error("ArgumentError", message));
    }
    Ok(Duration::from_secs_f64(seconds))
}

/// The Float of `every` as a period.
pub(crate) fn timer_period<'c>(
    scope: &'c Scope<'_>,
    seconds: Value<'c>,
) -> Result<'c, TimerPeriod> {
    TimerPeriod::of_seconds(seconds.as_float().unwrap_or_default())
        .map_err(|error| scope.error("ArgumentError", error.to_string()))
}

/// Runs every task on a fibre of its own. The first error cancels the others, waits for their `ensure`, and is raised.
async fn parallel(host: Rc<Host>, bounds: Bounds, tasks: Vec<Root>) -> Answer {
    let signal = Rc::new(StopSignal::default());
    let bounds = Bounds {
        signal: Some(Rc::clone(&signal)),
        ..bounds
    };
    let count = tasks.len();
    let mut branches: FuturesUnordered<_> = tasks
        .into_iter()
        .enumerate()
        .map(|(i, task)| {
            let (host, bounds) = (&host, &bounds);
            async move { (i, branch(host, task, bounds).await) }
        })
        .collect();
    let mut values: Vec<Option<Root>> = (0..count).map(|_| None).collect();
    let mut failure = None;
    while let Some((i, result)) = branches.next().await {
        match result {
            Ok(value) => values[i] = Some(value),
            Err(exception) => {
                signal.give();
                failure.get_or_insert(exception);
            }
        }
    }
    drop(branches);
    answer(move |scope| {
        if let Some(exception) = failure {
            return Err(tsumugi_mruby::Raise(scope.rooted(&exception)));
        }
        let array = scope.array(count)?;
        for value in values.iter().flatten() {
            scope.push(array, scope.rooted(value))?;
        }
        Ok(array)
    })
}

async fn branch(host: &Rc<Host>, task: Root, bounds: &Bounds) -> std::result::Result<Root, Root> {
    let finish = |scope: &Scope<'_>, ended: JobResult<'_>| match ended {
        JobResult::Value(value) => scope
            .root(value)
            .map_err(|raised| scope.root_raised(raised)),
        JobResult::Raised(exception) => Err(scope.root_raised(Raise(exception))),
    };
    driver::run(host, driver::job_of(task), bounds, finish).await
}

/// A queue of values between fibres of one VM. The values are in an Array of the Ruby object ([`VALUES`]), where the collector sees
/// who refers to whom: a channel in a value of its own would hold itself for ever if its values were roots.
struct Channel {
    capacity: usize,
    state: RefCell<ChannelState>,
    places: Rc<RefCell<ChannelPlaces>>,
    changed: Notify,
}

/// The instance variable with a channel's values; its name is none that Ruby can write.
const VALUES: &str = "values";

/// Which places of the Array of values are taken.
#[derive(Default)]
struct ChannelPlaces {
    /// Places so far.
    count: usize,
    free: Vec<usize>,
    /// Given up while the VM was not at hand: what is there is taken away by the next call.
    stale: Vec<usize>,
}

/// The place of one value.
struct ChannelPlace {
    index: usize,
    places: Rc<RefCell<ChannelPlaces>>,
}

impl Drop for ChannelPlace {
    fn drop(&mut self) {
        self.places.borrow_mut().stale.push(self.index);
    }
}

impl ChannelPlace {
    /// Puts a value into a place of the channel's Array.
    fn take<'c>(
        scope: &'c Scope<'c>,
        channel: &Channel,
        array: Value<'c>,
        value: Value<'c>,
    ) -> Result<'c, ChannelPlace> {
        let next_stale = || channel.places.borrow_mut().stale.pop();
        while let Some(index) = next_stale() {
            scope.set_array_at(array, index, Value::nil())?;
            channel.places.borrow_mut().free.push(index);
        }
        let index = {
            let mut places = channel.places.borrow_mut();
            places.free.pop().unwrap_or_else(|| {
                places.count += 1;
                places.count - 1
            })
        };
        let place = ChannelPlace {
            index,
            places: Rc::clone(&channel.places),
        };
        scope.set_array_at(array, index, value)?;
        Ok(place)
    }
}

#[derive(Default)]
struct ChannelState {
    values: VecDeque<ChannelPlace>,
    closed: bool,
    /// Tickets keep the waiters first come, first served.
    pops: Queue,
    pushes: Queue,
}

#[derive(Default)]
struct Queue {
    next: u64,
    waiting: VecDeque<u64>,
}

impl Queue {
    fn join(&mut self) -> u64 {
        self.next += 1;
        self.waiting.push_back(self.next);
        self.next
    }

    fn leave(&mut self, ticket: u64) {
        self.waiting.retain(|waiting| *waiting != ticket);
    }

    fn is_first(&self, ticket: u64) -> bool {
        self.waiting.front() == Some(&ticket)
    }
}

/// A place in a channel's queue of waiters, left when the wait ends or is cancelled.
struct Ticket {
    channel: Rc<Channel>,
    number: u64,
    queue: fn(&mut ChannelState) -> &mut Queue,
}

impl Ticket {
    fn take(channel: &Rc<Channel>, queue: fn(&mut ChannelState) -> &mut Queue) -> Ticket {
        let number = queue(&mut channel.state.borrow_mut()).join();
        Ticket {
            channel: Rc::clone(channel),
            number,
            queue,
        }
    }

    fn is_first(&self, state: &mut ChannelState) -> bool {
        (self.queue)(state).is_first(self.number)
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        (self.queue)(&mut self.channel.state.borrow_mut()).leave(self.number);
        self.channel.changed.notify_waiters();
    }
}

impl Channel {
    async fn push(self: Rc<Self>, value: ChannelPlace) -> Answer {
        let ticket = Ticket::take(&self, |state| &mut state.pushes);
        let mut value = Some(value);
        loop {
            let changed = self.changed.notified();
            {
                let mut state = self.state.borrow_mut();
                if state.closed {
                    return raise("Tsumugi::Channel::Closed", "the channel is closed");
                }
                if state.values.len() < self.capacity && ticket.is_first(&mut state) {
                    state.values.extend(value.take());
                    return nil();
                }
            }
            changed.await;
        }
    }

    /// `array` has the values.
    async fn pop(self: Rc<Self>, array: Root) -> Answer {
        let ticket = Ticket::take(&self, |state| &mut state.pops);
        loop {
            let changed = self.changed.notified();
            {
                let mut state = self.state.borrow_mut();
                if ticket.is_first(&mut state)
                    && let Some(place) = state.values.pop_front()
                {
                    return answer(move |scope| {
                        let array = scope.rooted(&array);
                        let value = scope.array_at(array, place.index);
                        scope.set_array_at(array, place.index, Value::nil())?;
                        Ok(value)
                    });
                }
                if state.closed && state.values.is_empty() {
                    return raise(
                        "Tsumugi::Channel::Closed",
                        "the channel is closed and empty",
                    );
                }
            }
            changed.await;
        }
    }
}

fn channel<'c>(scope: &'c Scope<'c>, value: Value<'c>) -> Result<'c, Rc<Channel>> {
    scope
        .data::<Rc<Channel>>(value)
        .cloned()
        .ok_or_else(|| wrong_type(scope, value, "the channel", "a Channel"))
}

fn channels<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.data_class("Channel")?;
    natives.plain("channel", |host, scope, call| {
        let max = host.settings.limits.channel_max;
        let capacity = match call
            .argument(0)
            .as_integer()
            .and_then(|n| usize::try_from(n).ok())
        {
            Some(0) => max,
            Some(capacity) if capacity <= max => capacity,
            _ => {
                let message =
                    format!("a channel's capacity is an Integer from 1 to channel_max ({max})");
                return Err(scope.error("ArgumentError", message));
            }
        };
        let channel = Rc::new(Channel {
            capacity,
            state: RefCell::default(),
            places: Rc::default(),
            changed: Notify::new(),
        });
        let object = scope.wrap(scope.constant("Tsumugi::Native::Channel")?, channel)?;
        scope.set_ivar(object, scope.intern(VALUES), scope.array(0)?)?;
        Ok(object)
    })?;
    natives.waiting("channel_push", |_, scope, call| {
        let object = call.argument(0);
        let channel = channel(scope, object)?;
        let array = scope.ivar(object, scope.intern(VALUES));
        let place = ChannelPlace::take(scope, &channel, array, call.argument(1))?;
        Ok(Box::pin(channel.push(place)) as Operation)
    })?;
    natives.waiting("channel_pop", |_, scope, call| {
        let object = call.argument(0);
        let channel = channel(scope, object)?;
        let array = scope.root(scope.ivar(object, scope.intern(VALUES)))?;
        Ok(Box::pin(channel.pop(array)) as Operation)
    })?;
    natives.plain("channel_close", |_, scope, call| {
        let channel = channel(scope, call.argument(0))?;
        channel.state.borrow_mut().closed = true;
        channel.changed.notify_waiters();
        Ok(Value::nil())
    })?;
    natives.plain("channel_closed?", |_, scope, call| {
        let closed = channel(scope, call.argument(0))?.state.borrow().closed;
        Ok(Value::boolean(closed))
    })?;
    natives.plain("channel_size", |_, scope, call| {
        let size = channel(scope, call.argument(0))?
            .state
            .borrow()
            .values
            .len();
        Ok(scope.integer(i64::try_from(size).unwrap_or(i64::MAX)))
    })
}
