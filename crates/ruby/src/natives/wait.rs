//! Waiting: `sleep`, `parallel`, channels, periods of timers, and the two natives of the fibre's loop.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::Semaphore;
use tsumugi_mruby::{NativeReply, Raise, Result, Root, Scope, Suspension, Value};
use tsumugi_server::dispatch::{StopSignal, TimerPeriod};
use tsumugi_trace::{SpanKind, in_wait, span};

use crate::answer::{Answer, Operation, answer, nil, operation, raise};
use crate::driver::{self, Bounds};
use crate::host::{Host, JobResult};
use crate::limits::SLEEP_SECONDS_MAX;
use crate::natives::arguments::{data, float, whole};
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
    natives.plain("job", |host, scope, _| Ok(scope.count(host.job.number())))?;
    natives.plain("check_period", |_, scope, call| {
        timer_period(scope, call.argument(0)).map(|_| Value::nil())
    })?;
    natives.waiting("sleep", |_, scope, call| {
        let duration = seconds(scope, call.argument(0))?;
        Ok(operation(async move {
            let _span = span(SpanKind::Sleep, "sleep");
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
        let tasks = scope.elements(tasks).map(|task| scope.root(task));
        let tasks = tasks.collect::<Result<'_, Vec<Root>>>()?;
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
    let Some(seconds) = float(value) else {
        let class = scope.class_name(value);
        let message = format!("sleep takes a number of seconds, not {class}");
        return Err(scope.error("ArgumentError", message));
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
            return Err(Raise(scope.rooted(&exception)));
        }
        let values = values.iter().flatten();
        scope.list(values.map(|value| Ok(scope.rooted(value))))
    })
}

async fn branch(host: &Rc<Host>, task: Root, bounds: &Bounds) -> std::result::Result<Root, Root> {
    let finish = |scope: &Scope<'_>, ended: JobResult<'_>| {
        let value = ended.and_then(|value| scope.root(value));
        value.map_err(|raised| scope.root_raised(raised))
    };
    driver::run(host, driver::job_of(task), bounds, finish).await
}

/// A queue of values between fibres of one VM. The values are in an Array of the Ruby object ([`VALUES`]), where the collector sees
/// who refers to whom: a channel in a value of its own would hold itself for ever if its values were roots.
///
/// Who waits is served in turn. Closing lets all go on at once: nobody waits for a closed channel.
struct Channel {
    /// The values that may be added now.
    room: Semaphore,
    /// The values that may be taken now.
    ready: Semaphore,
    values: RefCell<VecDeque<ChannelPlace>>,
    places: Rc<RefCell<ChannelPlaces>>,
    closed: Cell<bool>,
}

/// So many fibres go on after the end of a channel.
const ALL_WAITERS: usize = Semaphore::MAX_PERMITS / 2;

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

impl Channel {
    async fn push(self: Rc<Self>, value: ChannelPlace) -> Answer {
        take_turn(&self.room, "push").await;
        if self.closed.get() {
            return raise("Tsumugi::Channel::Closed", "the channel is closed");
        }
        self.values.borrow_mut().push_back(value);
        self.ready.add_permits(1);
        nil()
    }

    /// `array` has the values.
    async fn pop(self: Rc<Self>, array: Root) -> Answer {
        take_turn(&self.ready, "pop").await;
        if self.closed.get() {
            // Who was served before the end comes first.
            tokio::task::yield_now().await;
        }
        let Some(place) = self.values.borrow_mut().pop_front() else {
            return raise(
                "Tsumugi::Channel::Closed",
                "the channel is closed and empty",
            );
        };
        if !self.closed.get() {
            self.room.add_permits(1);
        }
        answer(move |scope| {
            let array = scope.rooted(&array);
            let value = scope.array_at(array, place.index);
            scope.set_array_at(array, place.index, Value::nil())?;
            Ok(value)
        })
    }

    fn close(&self) {
        if !self.closed.replace(true) {
            self.room.add_permits(ALL_WAITERS);
            self.ready.add_permits(ALL_WAITERS);
        }
    }
}

/// Waits for a permit and uses it up.
async fn take_turn(permits: &Semaphore, call: &str) {
    let turn = in_wait(|| span(SpanKind::Channel, call), permits.acquire());
    if let Ok(permit) = turn.await {
        permit.forget();
    }
}

fn channel<'c>(scope: &'c Scope<'c>, value: Value<'c>) -> Result<'c, Rc<Channel>> {
    data(scope, value, "the channel", "a Channel").cloned()
}

fn channels<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.data_class("Channel")?;
    natives.plain("channel", |host, scope, call| {
        let max = host.settings.limits.channel_max;
        let capacity = match whole(call.argument(0)) {
            Some(0) => max,
            Some(capacity) if capacity <= max => capacity,
            _ => {
                let message =
                    format!("a channel's capacity is an Integer from 1 to channel_max ({max})");
                return Err(scope.error("ArgumentError", message));
            }
        };
        let channel = Rc::new(Channel {
            room: Semaphore::new(capacity.min(ALL_WAITERS)),
            ready: Semaphore::new(0),
            values: RefCell::default(),
            places: Rc::default(),
            closed: Cell::new(false),
        });
        let object = scope.wrap_as("Tsumugi::Native::Channel", channel)?;
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
        channel(scope, call.argument(0))?.close();
        Ok(Value::nil())
    })?;
    natives.plain("channel_closed?", |_, scope, call| {
        let channel = channel(scope, call.argument(0))?;
        Ok(Value::boolean(channel.closed.get()))
    })?;
    natives.plain("channel_size", |_, scope, call| {
        let channel = channel(scope, call.argument(0))?;
        Ok(scope.count(channel.values.borrow().len()))
    })
}
