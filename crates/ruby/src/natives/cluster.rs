//! What several processes do together: `Tsumugi.lock`, `channel`, `cluster`, `db.fence`. The words are Ruby's, what they mean `tsumugi_cluster`'s.
//! Rule: a lock belongs to its job: when that ends, whatever becomes of its fibre, the lock is given back.

use std::cell::RefCell;
use std::rc::{Rc, Weak};
use std::time::Duration;

use tsumugi_cluster::{
    ChannelEvent, Cluster, Error, LockWait, MessageChannel, ReleaseKind, Subscription,
    computation_name, fence,
};
use tsumugi_mruby::{NativeCall, Raise, Result, Scope, Value};

use super::database::vm_database::{executor, vm_database};
use super::kv::store;
use crate::answer::{Failure, Operation, attempt, attempt_only, nil};
use crate::host::Host;
use crate::job_lock::JobLock;
use crate::natives::arguments::{bytes, data, exact_text, float, wrong_type};
use crate::natives::definitions::{Natives, alive};
use crate::natives::timer_period;

/// A lock as Ruby holds it. Its job has the lock itself.
type LockHandle = Weak<JobLock>;

/// A subscription that Ruby holds; empty while it is waited for, and once it is over.
type SubscriptionHandle = Rc<RefCell<Option<Subscription>>>;

impl Failure for Error {
    fn raise<'s>(&self, scope: &'s Scope<'_>) -> Raise<'s> {
        match (self, self.kind()) {
            (Error::Database(error), _) => error.raise(scope),
            (_, Some(kind)) => scope.error(&format!("Tsumugi::Lock::{kind}"), self.to_string()),
            (_, None) => scope.error("Tsumugi::Lock::Error", self.to_string()),
        }
    }
}

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.plain("cluster_over", |host, scope, call| {
        let database = vm_database(scope, call.argument(0))?.database();
        let cluster = Cluster::over(database).map_err(|error| error.raise(scope))?;
        use_cluster(host, cluster);
        Ok(Value::nil())
    })?;
    natives.plain("cluster_over_store", |host, scope, call| {
        let store = &store(scope, call.argument(0))?.store;
        let cluster = store.cluster().map_err(|error| error.raise(scope))?;
        use_cluster(host, cluster);
        Ok(Value::nil())
    })?;
    natives.plain("check_cluster_timer", |host, scope, call| {
        let name = exact_text(scope, call.argument(1), "the name of a timer")?;
        let period = timer_period(scope, call.argument(0))?;
        let checked = period.check_in_cluster(&name);
        let refused = |error: Error| scope.error("ArgumentError", error.to_string());
        checked.map_err(refused)?;
        check_leases(host, scope)?;
        Ok(Value::nil())
    })?;
    natives.waiting("db_fence", |host, scope, call| {
        let executor = executor(host, scope, call.argument(0))?;
        let name = exact_text(scope, call.argument(1), "the name of a lock")?;
        let Some(token) = call.argument(2).as_integer() else {
            return Err(wrong_type(
                scope,
                call.argument(2),
                "the token",
                "an Integer",
            ));
        };
        Ok(attempt_only(
            async move { fence(&executor, &name, token).await },
        ))
    })?;
    locks(natives)?;
    channels(natives)
}

/// From here on locks, timers and channels are about the processes of this one.
fn use_cluster(host: &Host, cluster: Cluster) {
    host.resources.cluster.replace(cluster);
    host.resources.has_own_cluster.set(true);
}

/// Refuses what needs leases in a cluster that keeps none.
fn check_leases<'c>(host: &Host, scope: &'c Scope<'_>) -> Result<'c, ()> {
    let leases = host.resources.cluster.borrow().check_leases();
    leases.map_err(|error| refusal(host, scope, &error))
}

/// An error of the cluster, with what to do about one that Ruby has not named.
pub(super) fn refusal<'c>(host: &Host, scope: &'c Scope<'_>, error: &Error) -> Raise<'c> {
    let is_inherited = !host.resources.has_own_cluster.get();
    match error {
        // That of the workers of this process has all there is, so this one is of the application around.
        Error::Unsupported { .. } if is_inherited => scope.error(
            "Tsumugi::Lock::Unsupported",
            format!("{error}; the cluster here is that of the application in Rust which this one is mounted in: `cluster db` above takes its place"),
        ),
        error => error.raise(scope),
    }
}

fn locks<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.data_class("Lock")?;
    natives.waiting("lock_acquire", |host, scope, call| {
        let name = exact_text(scope, call.argument(0), "the name of a lock")?;
        let ttl = seconds(scope, call.argument(1), "ttl:")?;
        let wait = match call.argument(2) {
            wait if wait.is_nil() => LockWait::Forever,
            wait => LockWait::UpTo(seconds(scope, wait, "wait:")?),
        };
        check_leases(host, scope)?;
        let cluster = host.resources.cluster.borrow().clone();
        let host = Rc::downgrade(host);
        let acquired = async move { cluster.acquire(&name, ttl, wait).await };
        Ok(attempt(acquired, move |scope, lease| {
            enter(&host, scope, JobLock::new(lease, ReleaseKind::Keep))
        }))
    })?;
    // Nil where the value is to be computed without.
    natives.waiting("computation_lock", |host, scope, call| {
        let place = store(scope, call.argument(0))?.store.place();
        let key = bytes(scope, call.argument(1), "the key")?;
        let name = computation_name(&place, &key);
        check_leases(host, scope)?;
        let cluster = host.resources.cluster.borrow().clone();
        let host = Rc::downgrade(host);
        let acquired = async move { cluster.acquire_computation(&name).await };
        Ok(attempt(acquired, move |scope, lease| match lease {
            Some(lease) => enter(&host, scope, JobLock::new(lease, ReleaseKind::Forget)),
            None => Ok(Value::nil()),
        }))
    })?;
    natives.plain("lock_token", |_, scope, call| {
        Ok(scope.integer(lock(scope, call)?.lease.token()))
    })?;
    natives.plain("lock_lost?", |_, scope, call| {
        Ok(Value::boolean(lock(scope, call)?.lease.is_lost()))
    })?;
    natives.plain("lock_check", |_, scope, call| {
        let checked = lock(scope, call)?.lease.check();
        checked.map_err(|error| error.raise(scope))?;
        Ok(Value::nil())
    })?;
    natives.waiting("lock_release", |host, scope, call| {
        let lock = lock(scope, call)?;
        host.job.leave_lock(&lock);
        Ok(Box::pin(async move {
            lock.lease.release(lock.ending).await;
            nil()
        }) as Operation)
    })
}

/// The job that runs now is in the block of the lock.
fn enter<'c>(host: &Weak<Host>, scope: &'c Scope<'_>, lock: JobLock) -> Result<'c, Value<'c>> {
    let host = alive(host, scope)?;
    drop(host.worker.spawn(lock.lease.keeper()));
    let lock = Rc::new(lock);
    host.job.enter_lock(&lock);
    scope.wrap_as("Tsumugi::Native::Lock", Rc::downgrade(&lock))
}

fn lock<'c>(scope: &'c Scope<'c>, call: &NativeCall<'c>) -> Result<'c, Rc<JobLock>> {
    let handle: &LockHandle = data(scope, call.argument(0), "the lock", "a lock")?;
    let over = || {
        scope.error(
            "Tsumugi::Lock::UsageError",
            "the block of this lock has ended",
        )
    };
    handle.upgrade().ok_or_else(over)
}

fn seconds<'c>(scope: &'c Scope<'c>, value: Value<'c>, what: &str) -> Result<'c, Duration> {
    let Some(seconds) = float(value) else {
        return Err(wrong_type(scope, value, what, "a number of seconds"));
    };
    Duration::try_from_secs_f64(seconds).map_err(|error| {
        let message = format!("{what} takes a number of seconds, not {seconds}: {error}");
        scope.error("ArgumentError", message)
    })
}

fn channels<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.data_class("ChannelSubscription")?;
    natives.plain("check_channel", |_, scope, call| {
        let name = exact_text(scope, call.argument(0), "the name of a channel")?;
        let checked = Cluster::of_process().channel(&name);
        checked.map_err(|error| error.raise(scope))?;
        Ok(Value::nil())
    })?;
    natives.waiting("channel_publish", |host, scope, call| {
        let channel = message_channel(host, scope, call)?;
        let message = exact_text(scope, call.argument(2), "the message")?;
        Ok(attempt_only(async move { channel.publish(&message).await }))
    })?;
    natives.waiting("channel_subscribe", |host, scope, call| {
        let channel = message_channel(host, scope, call)?;
        let subscribing = async move { channel.subscribe().await };
        Ok(attempt(subscribing, |scope, subscription| {
            let handle: SubscriptionHandle = Rc::new(RefCell::new(Some(subscription)));
            scope.wrap_as("Tsumugi::Native::ChannelSubscription", handle)
        }))
    })?;
    // A message, or nil when some may have been missed.
    natives.waiting("channel_next", |_, scope, call| {
        let handle = Rc::clone(subscription(scope, call.argument(0))?);
        let Some(mut subscription) = handle.take() else {
            let message = "this subscription is over, or another fibre waits for it";
            return Err(scope.error("Tsumugi::Lock::UsageError", message));
        };
        let next = async move {
            let event = subscription.recv().await;
            *handle.borrow_mut() = Some(subscription);
            Ok::<_, Error>(event)
        };
        Ok(attempt(next, |scope, event| match event {
            ChannelEvent::Message(message) => scope.string(&*message),
            _ => Ok(Value::nil()),
        }))
    })?;
    natives.plain("channel_leave", |_, scope, call| {
        drop(subscription(scope, call.argument(0))?.take());
        Ok(Value::nil())
    })
}

/// The channel of a name, of this process or of the cluster.
pub(super) fn message_channel<'c>(
    host: &Rc<Host>,
    scope: &'c Scope<'c>,
    call: &NativeCall<'c>,
) -> Result<'c, MessageChannel> {
    let name = exact_text(scope, call.argument(0), "the name of a channel")?;
    let cluster = match call.argument(1).truthy() {
        true => host.resources.cluster.borrow().clone(),
        false => Cluster::of_process(),
    };
    cluster.channel(&name).map_err(|error| error.raise(scope))
}

fn subscription<'c>(scope: &'c Scope<'c>, value: Value<'c>) -> Result<'c, &'c SubscriptionHandle> {
    data(scope, value, "the subscription", "a subscription")
}
