//! Channels: messages to all who subscribe at that moment, over connections of their own. Keeps nothing that was published.
//! Rule: whenever a message may have been lost, each subscriber of the channel learns so once it receives again, and never before.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::{FutureExt as _, LocalBoxFuture};
use redis::{PushInfo, PushKind, Value, cmd};
use tokio::sync::mpsc::{Receiver, channel};
use tokio::sync::{Mutex, Notify};
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tsumugi_kv::Error as KvError;

use super::client::{RedisClient, refused};
use super::link::{Link, LinkFailure, Refusal, is_denial, server_text};
use super::message_queue::MessageQueue;
use super::request::{AnswerKind, Request};
use super::slots::redirection;
use super::table::CAPABILITIES;
use crate::error::{CallFate, Error, Result};
use crate::limits::{
    REDIS_CHANNELS_MAX, REDIS_CONNECT_MS_MAX, REDIS_LISTEN_MS_MAX, REDIS_PING_MS, REDIS_PUSHES_MAX,
    REDIS_RETRY_MS_MIN, REDIS_SUBSCRIPTIONS_MAX,
};
use crate::subscription::{ChannelMessage, MessageSource, StoreSubscription};

/// A subscriber's place at a channel.
struct Subscriber {
    queue: Rc<MessageQueue>,
    _channel: Rc<ChannelState>,
    hub: Rc<ChannelHub>,
}

impl MessageSource for Subscriber {
    fn next(&mut self) -> LocalBoxFuture<'_, ChannelMessage> {
        self.queue.next().boxed_local()
    }
}

impl Drop for Subscriber {
    fn drop(&mut self) {
        let subscriptions = &self.hub.subscriptions;
        subscriptions.set(subscriptions.get() - 1);
    }
}

/// The channels of one client.
pub(super) struct ChannelHub {
    client: Rc<RedisClient>,
    channels: RefCell<HashMap<Bytes, Weak<ChannelState>>>,
    lines: RefCell<Vec<Weak<Line>>>,
    /// Held by the channel that connects.
    opening: Mutex<()>,
    subscriptions: Cell<usize>,
    this: Weak<ChannelHub>,
}

/// One channel that has subscribers.
struct ChannelState {
    subscribers: RefCell<Vec<Weak<MessageQueue>>>,
    phase: RefCell<ChannelPhase>,
    /// Told when the phase has changed.
    changed: Notify,
    signals: Rc<ChannelSignals>,
}

/// What the task of a channel waits for.
#[derive(Default)]
struct ChannelSignals {
    /// The server has ended the subscription.
    interrupted: Notify,
    /// The last subscriber has gone.
    left: Notify,
}

enum ChannelPhase {
    /// The server has not confirmed it yet.
    Opening,
    /// Messages come.
    Open,
    /// It has never been open, for this reason.
    Refused(Refusal),
}

impl Drop for ChannelState {
    fn drop(&mut self) {
        self.signals.left.notify_one();
    }
}

impl ChannelState {
    fn set(&self, phase: ChannelPhase) {
        *self.phase.borrow_mut() = phase;
        self.changed.notify_waiters();
    }

    fn each(&self, tell: impl Fn(&MessageQueue)) {
        self.subscribers.borrow_mut().retain(|queue| {
            let queue = queue.upgrade();
            if let Some(queue) = &queue {
                tell(queue);
            }
            queue.is_some()
        });
    }
}

/// A connection that channels are received by. It closes when no channel uses it.
struct Line {
    link: Link,
    /// One command at a time, so that no confirmation is taken for another one's.
    turn: Mutex<()>,
    /// Told when nothing more comes.
    ended: Notify,
}

impl ChannelHub {
    pub(super) fn new(client: Rc<RedisClient>) -> Rc<ChannelHub> {
        Rc::new_cyclic(|this| ChannelHub {
            client,
            channels: RefCell::default(),
            lines: RefCell::default(),
            opening: Mutex::new(()),
            subscriptions: Cell::new(0),
            this: this.clone(),
        })
    }

    pub(super) async fn publish(&self, channel: Bytes, message: &Bytes) -> Result<()> {
        let command = match self.client.servers.is_cluster() {
            true => "SPUBLISH",
            false => "PUBLISH",
        };
        let request = Request::publish(channel, message, command);
        AnswerKind::Script.read(self.client.call(&request).await?)?;
        Ok(())
    }

    pub(super) async fn subscribe(self: &Rc<Self>, channel: Bytes) -> Result<StoreSubscription> {
        let limit_ms = self.client.timeout_ms;
        let deadline = Instant::now() + Duration::from_millis(limit_ms);
        check_room(
            self.subscriptions.get(),
            "subscriptions of Redis",
            REDIS_SUBSCRIPTIONS_MAX,
            "REDIS_SUBSCRIPTIONS_MAX",
        )?;
        let state = self.channel(channel)?;
        let queue = Rc::new(MessageQueue::default());
        state.subscribers.borrow_mut().push(Rc::downgrade(&queue));
        self.subscriptions.set(self.subscriptions.get() + 1);
        let subscriber = Subscriber {
            queue,
            _channel: Rc::clone(&state),
            hub: Rc::clone(self),
        };
        loop {
            let changed = state.changed.notified();
            match &*state.phase.borrow() {
                ChannelPhase::Open => return Ok(StoreSubscription(Box::new(subscriber))),
                ChannelPhase::Refused(refusal) => return Err(refused(refusal.clone())),
                ChannelPhase::Opening => {}
            }
            if timeout_at(deadline, changed).await.is_err() {
                return Err(Error::Deadline {
                    engine: CAPABILITIES.engine,
                    limit_ms,
                    fate: CallFate::NotApplied,
                });
            }
        }
    }

    /// The channel of this name, with the task that keeps it open.
    fn channel(&self, name: Bytes) -> Result<Rc<ChannelState>> {
        let mut channels = self.channels.borrow_mut();
        let known = channels.get(&name).and_then(Weak::upgrade);
        if let Some(known) = known
            && !matches!(*known.phase.borrow(), ChannelPhase::Refused(_))
        {
            return Ok(known);
        }
        check_room(
            channels.len(),
            "channels of Redis",
            REDIS_CHANNELS_MAX,
            "REDIS_CHANNELS_MAX",
        )?;
        let signals = Rc::<ChannelSignals>::default();
        let state = Rc::new(ChannelState {
            subscribers: RefCell::default(),
            phase: RefCell::new(ChannelPhase::Opening),
            changed: Notify::new(),
            signals: Rc::clone(&signals),
        });
        channels.insert(name.clone(), Rc::downgrade(&state));
        let task = ChannelTask {
            hub: self.this.clone(),
            state: Rc::downgrade(&state),
            name,
            signals,
            was_open: false,
        };
        drop(tokio::task::spawn_local(task.run()));
        Ok(state)
    }

    /// Has the server confirm that messages of a channel come from now on.
    async fn open(&self, name: &Bytes) -> Result<Rc<Line>, Refusal> {
        let line = self.line(name).await?;
        let turn = line.turn.lock().await;
        let mut command = cmd(match self.client.servers.is_cluster() {
            true => "SSUBSCRIBE",
            false => "SUBSCRIBE",
        });
        command.arg(&name[..]);
        let failed = |reason: &str| {
            let (host, port) = &line.link.address;
            Refusal::Unreachable(format!("{host}:{port}: {reason}"))
        };
        let limit = Duration::from_millis(REDIS_CONNECT_MS_MAX);
        let refusal = match timeout(limit, line.link.call(&command)).await {
            Ok(Ok(Value::Push {
                kind: PushKind::Subscribe | PushKind::SSubscribe,
                ..
            })) => {
                drop(turn);
                return Ok(line);
            }
            Ok(Err(LinkFailure::Server(error))) => {
                let text = server_text(error.code(), error.details());
                let to = redirection(error.details().unwrap_or_default(), &line.link.address);
                if let ("MOVED", Some((slot, to))) = (error.code(), to) {
                    self.client.servers.moved(slot, to);
                }
                // The connection is as it was.
                return Err(match is_denial(error.code()) {
                    true => Refusal::Denied(text),
                    false => failed(&text),
                });
            }
            Ok(Err(LinkFailure::Lost(reason))) => failed(&reason),
            Ok(Ok(_) | Err(LinkFailure::TooLong)) => failed("something else than a confirmation"),
            Err(_) => failed("no confirmation"),
        };
        drop(turn);
        line.link.close();
        Err(refusal)
    }

    /// The connection by which a channel is received: one for all, or one for each node of a cluster.
    async fn line(&self, name: &Bytes) -> Result<Rc<Line>, Refusal> {
        let _turn = self.opening.lock().await;
        let node = match self.client.servers.is_cluster() {
            true => Some(self.client.servers.owner_of(name).await?),
            false => None,
        };
        let fits = |line: &Rc<Line>| {
            let is_there = node.as_ref().is_none_or(|node| *node == line.link.address);
            is_there && line.link.is_open()
        };
        self.lines
            .borrow_mut()
            .retain(|line| line.strong_count() > 0);
        let mut open = self
            .lines
            .borrow()
            .clone()
            .into_iter()
            .filter_map(|line| line.upgrade());
        if let Some(line) = open.find(fits) {
            return Ok(line);
        }
        let (sender, pushes) = channel(REDIS_PUSHES_MAX);
        let has_lost = Arc::new(AtomicBool::new(false));
        let losing = Arc::clone(&has_lost);
        let sink = move |push: PushInfo| {
            let sent = sender.try_send(push);
            if sent.is_err() {
                losing.store(true, Ordering::Relaxed);
            }
            sent
        };
        let link = self
            .client
            .servers
            .separate(Some(name), Arc::new(sink))
            .await?;
        let line = Rc::new(Line {
            link,
            turn: Mutex::new(()),
            ended: Notify::new(),
        });
        let weak = Rc::downgrade(&line);
        self.lines.borrow_mut().push(weak.clone());
        let (hub, attended) = (self.this.clone(), weak.clone());
        drop(tokio::task::spawn_local(async move {
            receive(&hub, pushes, &has_lost).await;
            if let Some(line) = attended.upgrade() {
                line.link.close();
                line.ended.notify_waiters();
            }
        }));
        drop(tokio::task::spawn_local(look_after(
            self.this.clone(),
            weak,
            name.clone(),
        )));
        Ok(line)
    }

    fn deliver(&self, push: PushInfo) {
        let mut data = push.data.into_iter();
        let Some(Value::BulkString(name)) = data.next() else {
            return;
        };
        let channel = self
            .channels
            .borrow()
            .get(&name[..])
            .and_then(Weak::upgrade);
        let Some(channel) = channel else {
            return;
        };
        match (push.kind, data.next()) {
            (PushKind::Message | PushKind::SMessage, Some(Value::BulkString(message))) => {
                let message = Bytes::from(message);
                channel.each(|queue| queue.push(message.clone()));
            }
            (PushKind::Unsubscribe | PushKind::SUnsubscribe, _) => {
                channel.signals.interrupted.notify_one();
            }
            _ => {}
        }
    }

    /// Messages of any channel may be lost.
    fn miss_all(&self) {
        for channel in self.channels.borrow().values().filter_map(Weak::upgrade) {
            channel.each(MessageQueue::miss);
        }
    }

    /// Ends the subscription of a channel that nobody has any more.
    async fn leave(&self, line: &Line, name: &Bytes) {
        let _turn = line.turn.lock().await;
        let is_used = |channels: &HashMap<Bytes, Weak<ChannelState>>| {
            channels
                .get(name)
                .is_some_and(|state| state.strong_count() > 0)
        };
        if is_used(&self.channels.borrow()) {
            return;
        }
        self.channels.borrow_mut().remove(name);
        let mut command = cmd(match self.client.servers.is_cluster() {
            true => "SUNSUBSCRIBE",
            false => "UNSUBSCRIBE",
        });
        command.arg(&name[..]);
        let limit = Duration::from_millis(REDIS_CONNECT_MS_MAX);
        let is_confirmed = matches!(
            timeout(limit, line.link.call(&command)).await,
            Ok(Ok(Value::Push {
                kind: PushKind::Unsubscribe | PushKind::SUnsubscribe,
                ..
            }))
        );
        if !is_confirmed {
            line.link.close();
        }
    }

    /// Forgets a channel that has no subscribers or was never open.
    fn forget_unused(&self, name: &Bytes) {
        let mut channels = self.channels.borrow_mut();
        let is_used = channels
            .get(name)
            .and_then(Weak::upgrade)
            .is_some_and(|state| !matches!(*state.phase.borrow(), ChannelPhase::Refused(_)));
        if !is_used {
            channels.remove(name);
        }
    }
}

fn check_room(count: usize, what: &'static str, max: usize, limit: &'static str) -> Result<()> {
    match count < max {
        true => Ok(()),
        false => Err(Error::Kv(KvError::QueueFull { what, limit, max })),
    }
}

/// Keeps one channel open for as long as it has subscribers.
struct ChannelTask {
    hub: Weak<ChannelHub>,
    state: Weak<ChannelState>,
    name: Bytes,
    signals: Rc<ChannelSignals>,
    was_open: bool,
}

/// What comes of an attempt to open a channel.
enum OpenOutcome {
    /// Messages come by this connection.
    By(Rc<Line>),
    /// Not now.
    Later,
    /// There is nothing more to do.
    Over,
}

impl ChannelTask {
    async fn run(mut self) {
        let mut rest = Duration::from_millis(REDIS_RETRY_MS_MIN);
        loop {
            let signals = Rc::clone(&self.signals);
            let opened = tokio::select! {
                opened = self.open() => opened,
                () = signals.left.notified() => OpenOutcome::Over,
            };
            match opened {
                OpenOutcome::By(line) => {
                    rest = Duration::from_millis(REDIS_RETRY_MS_MIN);
                    if self.hold(&line).await {
                        return;
                    }
                }
                OpenOutcome::Later => {
                    tokio::select! {
                        () = sleep(rest) => {}
                        () = signals.left.notified() => break,
                    }
                    rest = (rest * 2).min(Duration::from_millis(REDIS_LISTEN_MS_MAX));
                }
                OpenOutcome::Over => break,
            }
        }
        if let Some(hub) = self.hub.upgrade() {
            hub.forget_unused(&self.name);
        }
    }

    async fn open(&self) -> OpenOutcome {
        let Some(hub) = self.hub.upgrade() else {
            return OpenOutcome::Over;
        };
        let refusal = match hub.open(&self.name).await {
            Ok(line) => return OpenOutcome::By(line),
            Err(refusal) => refusal,
        };
        let Some(state) = self.state.upgrade() else {
            return OpenOutcome::Over;
        };
        let waits = matches!(refusal, Refusal::Unreachable(_)) && hub.client.servers.has_others();
        if waits || self.was_open {
            return OpenOutcome::Later;
        }
        state.set(ChannelPhase::Refused(refusal));
        OpenOutcome::Over
    }

    /// Tells the subscribers that messages come, and waits until none come any more. True when nobody wants them any more.
    async fn hold(&mut self, line: &Line) -> bool {
        let ended = line.ended.notified();
        if let Some(state) = self.state.upgrade() {
            if self.was_open {
                state.each(MessageQueue::miss);
            }
            state.set(ChannelPhase::Open);
        }
        self.was_open = true;
        if line.link.is_open() {
            let has_left = tokio::select! {
                () = ended => false,
                () = self.signals.interrupted.notified() => false,
                () = self.signals.left.notified() => true,
            };
            if has_left {
                if let Some(hub) = self.hub.upgrade() {
                    hub.leave(line, &self.name).await;
                }
                return true;
            }
        }
        if let Some(state) = self.state.upgrade() {
            state.set(ChannelPhase::Opening);
        }
        false
    }
}

/// Hands on what a connection receives, until it ends.
async fn receive(hub: &Weak<ChannelHub>, mut pushes: Receiver<PushInfo>, has_lost: &AtomicBool) {
    while let Some(push) = pushes.recv().await {
        let Some(hub) = hub.upgrade() else {
            return;
        };
        hub.deliver(push);
        if has_lost.swap(false, Ordering::Relaxed) {
            hub.miss_all();
        }
    }
}

/// Sees whether a connection on which nothing comes is still the right one, and closes it if not.
async fn look_after(hub: Weak<ChannelHub>, line: Weak<Line>, name: Bytes) {
    loop {
        sleep(Duration::from_millis(REDIS_PING_MS)).await;
        let (Some(hub), Some(line)) = (hub.upgrade(), line.upgrade()) else {
            return;
        };
        if !line.link.is_open() {
            return;
        }
        let is_alive = {
            let _turn = line.turn.lock().await;
            let limit = Duration::from_millis(REDIS_CONNECT_MS_MAX);
            let answer = timeout(limit, line.link.call(&cmd("PING"))).await;
            matches!(answer, Ok(Ok(Value::SimpleString(_))))
        };
        if !is_alive || !hub.client.servers.is_current(&line.link, Some(&name)).await {
            line.link.close();
        }
    }
}
