//! The engine of a cluster over etcd: leases, timers and messages. Keeps no records of applications, and no time of day.
//! Rule: what is taken or renewed is decided by one transaction, whose guard is the revision that was read; a token is the revision of that transaction,
//! which only grows.
//!
//! A lease is a key that holds the text of its holder and is attached to a lease of etcd, by whose clock, the leader's, it ends. Each renewal grants
//! another lease of etcd and attaches the key to that, instead of etcd's keep-alive: a keep-alive is answered by a leader that need not be the leader any
//! more (one that was stopped and goes on), and its answer says nothing of what the next one counts, whereas a grant and a transaction are what a
//! majority has agreed on. For the same reason a leader of before cannot end a lease that was renewed elsewhere. A new leader lets leases last anew:
//! so they end late rather than early.
//!
//! etcd has no clock that a transaction could compare. The last tick of a timer has left a mark, attached to a lease of etcd that lasts for the period:
//! a timer without a mark is due. A process that sees a mark for the first time asks how much of its lease is left, in whole seconds, and counts on by
//! its own clock from there (`ticks.rs`), for a lease ends a second late, and lasts anew where another leader came. The guard of its transaction is that
//! the mark is still the same. Who ticks is decided by the lease alone; that a timer was declared before stays noted, so a mark that has ended is
//! not one that has never been.

mod channels;
mod held;
mod ticks;

use std::fmt;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tsumugi_cluster::{
    BootTime, Cluster, ClusterEngine, EngineFuture, Error, Hub, LeaseClaim, ReleaseKind, Result,
    Subscription, TakeAnswer, TakeRequest, abandon_by,
};
use tsumugi_kv::{SetMode, Write};

use self::held::{BegunTick, HeldLeases};
use self::ticks::{SeenTicks, age_in, mark_of, passed};
use super::EtcdStore;
use super::client::Repeat;
use super::leases::{grant, revoke, whole_seconds};
use super::messages::{
    KeyValue, LeaseTimeToLiveRequest, LeaseTimeToLiveResponse, TxnRequest, TxnResponse, path,
};
use super::txn::{delete, found, has_value, is_absent, is_unchanged, put, range};
use crate::limits::{ETCD_LEASE_POLL_MAX, ETCD_MESSAGE_TTL, ETCD_TAKE_TRIES};

/// The processes that use a store's namespace of etcd.
pub(crate) fn cluster(store: &EtcdStore) -> Cluster {
    Cluster::with_engine(Rc::new(EtcdEngine::new(store)))
}

/// The processes that use a namespace of a cluster of etcd.
struct EtcdEngine {
    /// Its keys begin with the name of the namespace's cluster.
    store: EtcdStore,
    held: HeldLeases,
    ticks: SeenTicks,
    hub: Arc<Hub>,
    /// The task that receives messages, once there was a subscriber.
    listening: Mutex<Option<JoinHandle<()>>>,
}

/// The key of a lease and the mark of its timer, as one transaction read them.
struct Standing {
    lease: Option<KeyValue>,
    /// The mark of a timer's last tick.
    mark: Option<KeyValue>,
}

impl Standing {
    fn of(answer: TxnResponse) -> Standing {
        let mut read = answer.responses.into_iter();
        Standing {
            lease: found(read.next()),
            mark: found(read.next()),
        }
    }
}

/// The keys of a name.
struct Keys {
    lease: Bytes,
    mark: Bytes,
    /// Exists once a timer of this name was declared.
    timer: Bytes,
}

fn failed(error: crate::Error) -> Error {
    Error::Engine(Box::new(error))
}

fn revision_of(answer: &TxnResponse) -> i64 {
    answer.header.as_ref().map_or(0, |header| header.revision)
}

impl EtcdEngine {
    fn new(store: &EtcdStore) -> EtcdEngine {
        EtcdEngine {
            store: EtcdStore {
                prefix: store.cluster_prefix.clone(),
                ..store.clone()
            },
            held: HeldLeases::default(),
            ticks: SeenTicks::default(),
            hub: Arc::default(),
            listening: Mutex::default(),
        }
    }

    fn keys(&self, name: &str) -> Keys {
        let key = |kind: &str| self.store.key(format!("{kind}/{name}").as_bytes());
        Keys {
            lease: key("leases"),
            mark: key("ticks"),
            timer: key("timers"),
        }
    }

    /// A transaction that changes nothing when it is done twice: its guard fails then.
    async fn txn(&self, request: &TxnRequest) -> Result<TxnResponse> {
        let client = &self.store.client;
        let answer = client.call(path::TXN, request, Repeat::Safe).await;
        answer.map_err(failed)
    }

    async fn grant(&self, ttl: Duration) -> Result<i64> {
        let granted = grant(&self.store.client, whole_seconds(ttl)).await;
        Ok(granted.map_err(failed)?.id)
    }

    /// One more lease of etcd for a holder, from now on.
    async fn grant_to(&self, holder: &str, ttl: Duration) -> Result<i64> {
        self.held.check_room(holder)?;
        let id = self.grant(ttl).await?;
        self.held.may_have(holder, id);
        Ok(id)
    }

    async fn take_now(&self, request: &TakeRequest) -> Result<TakeAnswer> {
        let keys = self.keys(&request.name);
        // Most of those that ask are to wait, and this writes nothing.
        let look = TxnRequest {
            success: vec![range(&keys.lease), range(&keys.mark)],
            ..TxnRequest::default()
        };
        let mut standing = Standing::of(self.txn(&look).await?);
        let mut granted = None;
        for _ in 0..ETCD_TAKE_TRIES {
            if request.period.is_some() {
                self.learn(&request.name, standing.mark.as_ref()).await;
            }
            if let Some(wait) = self.wait(request, &standing, BootTime::now()) {
                self.let_go(&request.holder);
                return Ok(TakeAnswer::Busy { wait });
            }
            let id = match granted {
                Some(id) => id,
                None => self.grant_to(&request.holder, request.ttl).await?,
            };
            granted = Some(id);
            let answer = self.txn(&take(&keys, request, &standing, id)).await?;
            if answer.succeeded {
                let token = revision_of(&answer);
                self.settle(&request.holder, id, token);
                if let Some(period) = request.period {
                    let begun = BootTime::now();
                    let tick = BegunTick { begun, period };
                    self.held.begin_tick(&request.holder, tick);
                }
                return Ok(TakeAnswer::Granted { token });
            }
            standing = Standing::of(answer);
        }
        // Others were quicker each time.
        self.let_go(&request.holder);
        Ok(TakeAnswer::Busy {
            wait: Duration::ZERO,
        })
    }

    /// Learns from a mark that is seen for the first time how old its tick is.
    async fn learn(&self, name: &str, mark: Option<&KeyValue>) {
        let Some(mark) = mark.filter(|mark| !self.ticks.knows(name, mark.mod_revision)) else {
            return;
        };
        let request = LeaseTimeToLiveRequest { id: mark.lease };
        let client = &self.store.client;
        let left: crate::Result<LeaseTimeToLiveResponse> = client
            .call(path::LEASE_TIME_TO_LIVE, &request, Repeat::Safe)
            .await;
        // Without an answer the mark is as young as it can be.
        let passed = left.map_or(Duration::ZERO, |left| passed(left.granted_ttl, left.ttl));
        let age = age_in(&mark.value) + passed;
        self.ticks
            .see(name, mark.mod_revision, age, BootTime::now());
    }

    /// How long a lease is kept from the caller, as far as can be known; nothing when it may be taken.
    fn wait(&self, request: &TakeRequest, standing: &Standing, now: BootTime) -> Option<Duration> {
        let lease = standing.lease.as_ref();
        let is_others = lease.is_some_and(|lease| lease.value != request.holder.as_bytes());
        // It may be given back at any time, and etcd does not say when it ends.
        let held = is_others.then_some((request.ttl / 4).min(ETCD_LEASE_POLL_MAX));
        let due = request.period.and_then(|period| {
            let begun = self.ticks.begun(&request.name)?;
            let wait = now.until(begun.plus(period));
            (!wait.is_zero()).then_some(wait)
        });
        held.max(due)
    }

    async fn renew_now(&self, claim: &LeaseClaim, ttl: Duration) -> Result<bool> {
        let key = self.keys(&claim.name).lease;
        let Some(mut mod_revision) = self.held.revision(&claim.holder) else {
            return Ok(false);
        };
        let id = self.grant_to(&claim.holder, ttl).await?;
        loop {
            let seen = KeyValue {
                mod_revision,
                ..KeyValue::default()
            };
            let holder = Bytes::copy_from_slice(claim.holder.as_bytes());
            let request = TxnRequest {
                compare: vec![is_unchanged(&key, Some(&seen))],
                success: vec![put(&key, holder, id)],
                failure: vec![range(&key)],
            };
            let answer = self.txn(&request).await?;
            if answer.succeeded {
                self.settle(&claim.holder, id, revision_of(&answer));
                return Ok(true);
            }
            match Standing::of(answer).lease {
                // A renewal of before, whose answer was lost, has taken place.
                Some(there)
                    if there.value == claim.holder.as_bytes()
                        && there.mod_revision > mod_revision =>
                {
                    mod_revision = there.mod_revision;
                }
                _ => return Ok(false),
            }
        }
    }

    /// Notes that a tick has ended well, and gives its lease back.
    async fn end_tick(&self, name: &str, holder: &str, tick: BegunTick) -> Result<()> {
        let keys = self.keys(name);
        let age = || tick.begun.until(BootTime::now());
        let left = tick.period.saturating_sub(age());
        let mark = self.grant(left.max(Duration::from_secs(1))).await?;
        let holder = Bytes::copy_from_slice(holder.as_bytes());
        let request = TxnRequest {
            compare: vec![has_value(&keys.lease, &holder)],
            success: vec![
                put(&keys.mark, mark_of(age()).into(), mark),
                delete(&keys.lease),
            ],
            failure: Vec::new(),
        };
        let answer = self.txn(&request).await?;
        if answer.succeeded {
            self.ticks.note(name, revision_of(&answer), tick.begun);
        }
        Ok(())
    }

    async fn release_now(&self, name: &str, holder: &str, kind: ReleaseKind) -> Result<()> {
        if kind == ReleaseKind::Ticked
            && let Some(tick) = self.held.tick(holder)
        {
            self.end_tick(name, holder, tick).await?;
            self.let_go(holder);
            return Ok(());
        }
        // The key goes with its lease.
        for id in self.held.ids(holder) {
            revoke(&self.store.client, id).await.map_err(failed)?;
        }
        self.held.remove(holder);
        Ok(())
    }

    async fn begin_timer_now(&self, name: &str, period: Duration) -> Result<()> {
        let keys = self.keys(name);
        let known = self.store.read(&keys.timer).await.map_err(failed)?;
        if known.is_some() {
            return Ok(());
        }
        let mark = self.grant(period).await?;
        let request = TxnRequest {
            compare: vec![is_absent(&keys.timer)],
            success: vec![
                put(&keys.timer, Bytes::new(), 0),
                put(&keys.mark, mark_of(Duration::ZERO).into(), mark),
            ],
            failure: Vec::new(),
        };
        self.txn(&request).await?;
        Ok(())
    }

    /// The key of a lease is attached to this lease of etcd; those of before are ended.
    fn settle(&self, holder: &str, id: i64, revision: i64) {
        self.revoke_later(self.held.settle(holder, id, revision));
    }

    /// Ends what a holder has or may have.
    fn let_go(&self, holder: &str) {
        self.revoke_later(self.held.remove(holder));
    }

    /// A question that is under way cannot be done any more once its lease is ended.
    fn revoke_later(&self, ids: Vec<i64>) {
        if ids.is_empty() {
            return;
        }
        let client = Rc::clone(&self.store.client);
        abandon_by(async move || {
            for id in &ids {
                revoke(&client, *id).await.map_err(failed)?;
            }
            Ok(true)
        });
    }

    async fn publish_now(&self, channel: &str, message: &str) -> Result<()> {
        let write = Write::Set {
            key: format!("channels/{channel}").into(),
            value: Bytes::copy_from_slice(message.as_bytes()),
            mode: SetMode::Overwrite,
            ttl: Some(ETCD_MESSAGE_TTL),
        };
        self.store.apply(write).await.map_err(failed)?;
        Ok(())
    }

    async fn subscribe_now(&self, channel: &str) -> Result<Subscription> {
        // First, so that nothing falls between.
        let subscription = self.hub.subscribe(channel)?;
        let mut listening = self.listening.lock().await;
        if listening.as_ref().is_none_or(JoinHandle::is_finished) {
            let prefix = self.store.key(b"channels/");
            let (store, hub) = (self.store.clone(), Arc::clone(&self.hub));
            let messages = channels::listen(store, prefix, hub).await.map_err(failed)?;
            *listening = Some(tokio::task::spawn_local(messages));
        }
        Ok(subscription)
    }
}

/// Gives the lease to the caller, if nothing changed since it was read; else answers what is there now.
fn take(keys: &Keys, request: &TakeRequest, standing: &Standing, id: i64) -> TxnRequest {
    let mut compare = vec![is_unchanged(&keys.lease, standing.lease.as_ref())];
    if request.period.is_some() {
        compare.push(is_unchanged(&keys.mark, standing.mark.as_ref()));
    }
    let holder = Bytes::copy_from_slice(request.holder.as_bytes());
    TxnRequest {
        compare,
        success: vec![put(&keys.lease, holder, id)],
        failure: vec![range(&keys.lease), range(&keys.mark)],
    }
}

impl ClusterEngine for EtcdEngine {
    fn begin_timer<'a>(&'a self, name: &'a str, period: Duration) -> EngineFuture<'a, ()> {
        Box::pin(self.begin_timer_now(name, period))
    }

    fn take<'a>(&'a self, request: &'a TakeRequest) -> EngineFuture<'a, TakeAnswer> {
        Box::pin(self.take_now(request))
    }

    fn renew<'a>(&'a self, claim: &'a LeaseClaim, ttl: Duration) -> EngineFuture<'a, bool> {
        Box::pin(self.renew_now(claim, ttl))
    }

    fn release<'a>(
        &'a self,
        name: &'a str,
        holder: &'a str,
        kind: ReleaseKind,
    ) -> EngineFuture<'a, ()> {
        Box::pin(self.release_now(name, holder, kind))
    }

    fn abandon(&self, _name: String, holder: String) {
        self.let_go(&holder);
    }

    fn publish<'a>(&'a self, channel: &'a str, message: &'a str) -> EngineFuture<'a, ()> {
        Box::pin(self.publish_now(channel, message))
    }

    fn subscribe<'a>(&'a self, channel: &'a str) -> EngineFuture<'a, Subscription> {
        Box::pin(self.subscribe_now(channel))
    }
}

impl Drop for EtcdEngine {
    fn drop(&mut self) {
        if let Some(listening) = self.listening.get_mut().take() {
            listening.abort();
        }
    }
}

impl fmt::Debug for EtcdEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EtcdEngine").finish_non_exhaustive()
    }
}
