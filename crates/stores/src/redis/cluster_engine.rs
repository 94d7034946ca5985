//! The engine of a cluster over Redis, which carries messages and keeps no lease: its replicas follow later, so a failover could give one lock to two.
//! Rule: a promise that a failover of Redis would break without a word is refused by name; subscribers learn of messages that they may have missed.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::future::ready;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tsumugi_cluster::{
    Cluster, ClusterEngine, EngineFuture, Error, Hub, LeaseClaim, ReleaseKind, Result,
    Subscription, TakeAnswer, TakeRequest,
};

use super::RedisStore;
use crate::engine::StoreEngine as _;
use crate::subscription::{ChannelMessage, StoreSubscription};

/// What the names of channels begin with, behind the prefix of the store. Those of `kv.publish` are others.
const CHANNELS: &str = "!cluster/";

/// The processes that use a store's Redis.
pub(crate) fn cluster(store: &RedisStore) -> Cluster {
    Cluster::with_engine(Rc::new(RedisEngine::new(store)))
}

/// The processes that use a Redis.
struct RedisEngine {
    store: RedisStore,
    hub: Arc<Hub>,
    pumps: RefCell<HashMap<String, Weak<ChannelPump>>>,
    /// Held while a channel is subscribed to, so that two callers do not do it twice.
    opening: Mutex<()>,
}

/// Gives the messages of one channel to its subscribers, for as long as there are any.
struct ChannelPump(JoinHandle<()>);

impl Drop for ChannelPump {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn failed(error: crate::Error) -> Error {
    Error::Engine(Box::new(error))
}

fn refusal() -> Error {
    Error::Unsupported {
        engine: "Redis",
        what: "locks and timers of a cluster, because a failover may forget who has one: use `cluster` over PostgreSQL or etcd for them",
    }
}

fn refused<'a, T: 'a>() -> EngineFuture<'a, T> {
    Box::pin(ready(Err(refusal())))
}

fn name_of(channel: &str) -> Bytes {
    format!("{CHANNELS}{channel}").into()
}

impl RedisEngine {
    fn new(store: &RedisStore) -> RedisEngine {
        RedisEngine {
            store: store.clone(),
            hub: Arc::default(),
            pumps: RefCell::default(),
            opening: Mutex::default(),
        }
    }

    async fn pump(&self, channel: &str) -> Result<Rc<ChannelPump>> {
        let _opening = self.opening.lock().await;
        let known = self.pumps.borrow().get(channel).and_then(Weak::upgrade);
        if let Some(known) = known {
            return Ok(known);
        }
        let received = self.store.subscribe(name_of(channel)).await;
        let received = received.map_err(failed)?;
        let (hub, name) = (Arc::clone(&self.hub), channel.to_owned());
        let task = tokio::task::spawn_local(deliver(received, hub, name));
        let pump = Rc::new(ChannelPump(task));
        let mut pumps = self.pumps.borrow_mut();
        pumps.retain(|_, pump| pump.strong_count() > 0);
        pumps.insert(channel.to_owned(), Rc::downgrade(&pump));
        Ok(pump)
    }

    async fn subscribe_now(&self, channel: &str) -> Result<Subscription> {
        // First, so that nothing falls between.
        let subscription = self.hub.subscribe(channel)?;
        let pump = self.pump(channel).await?;
        Ok(subscription.with_bearer(Box::new(pump)))
    }
}

async fn deliver(mut received: StoreSubscription, hub: Arc<Hub>, channel: String) {
    loop {
        match received.next().await {
            // What is no text was not published by an application.
            ChannelMessage::Message(message) => {
                if let Ok(message) = std::str::from_utf8(&message) {
                    hub.deliver(&channel, message);
                }
            }
            ChannelMessage::Missed => hub.deliver_gap_to(&channel),
        }
    }
}

impl ClusterEngine for RedisEngine {
    fn check_leases(&self) -> Result<()> {
        Err(refusal())
    }

    fn begin_timer<'a>(&'a self, _name: &'a str, _period: Duration) -> EngineFuture<'a, ()> {
        refused()
    }

    fn take<'a>(&'a self, _request: &'a TakeRequest) -> EngineFuture<'a, TakeAnswer> {
        refused()
    }

    fn renew<'a>(&'a self, _claim: &'a LeaseClaim, _ttl: Duration) -> EngineFuture<'a, bool> {
        refused()
    }

    fn release<'a>(
        &'a self,
        _name: &'a str,
        _holder: &'a str,
        _kind: ReleaseKind,
    ) -> EngineFuture<'a, ()> {
        refused()
    }

    fn abandon(&self, _name: String, _holder: String) {}

    fn publish<'a>(&'a self, channel: &'a str, message: &'a str) -> EngineFuture<'a, ()> {
        Box::pin(async move {
            let message = Bytes::copy_from_slice(message.as_bytes());
            let published = self.store.publish(name_of(channel), message).await;
            published.map_err(failed)
        })
    }

    fn subscribe<'a>(&'a self, channel: &'a str) -> EngineFuture<'a, Subscription> {
        Box::pin(self.subscribe_now(channel))
    }
}

impl fmt::Debug for RedisEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisEngine").finish_non_exhaustive()
    }
}
