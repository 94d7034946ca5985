//! The engine over PostgreSQL: leases are rows of a table, messages are notifications of one channel. All times are the server's.
//! Rule: what is taken or renewed is decided by one statement, which reads the clock after it has the row.

use std::rc::Rc;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tsumugi_db::{Database, Listener, ListenerEvent, ValueRef, bookkeeping, values};

use crate::abandon::abandon_by;
use crate::engine::{
    ClusterEngine, EngineFuture, KeptChannelName, KeptMessage, KeptRange, LeaseClaim, ReleaseKind,
    TakeAnswer, TakeRequest,
};
use crate::error::Result;
use crate::hub::{Hub, Subscription};
use crate::limits::{LISTEN_PAUSE, LISTEN_SILENCE, LOCK_POLL_MIN};
use crate::message_table::KeptMessages;
use crate::table::SharedTable;

/// The channel of PostgreSQL that carries all of ours. A notification is the name of a channel, a line break and the message.
const NOTIFICATIONS: &str = "tsumugi_channels";

const BEGIN_TIMER: &str = "insert into tsumugi_leases (name, token, taken_at, expires_at, ticked_at) \
    values (?, 0, clock_timestamp(), clock_timestamp(), clock_timestamp()) on conflict (name) do nothing";

/// The row is locked before the conditions and the new values are computed, so the clock is read when it is this statement's turn. The second
/// half is for who did not get it, and sees the row as it was when the statement began: good enough to know when to ask again.
const TAKE: &str = "with taken as (\
    insert into tsumugi_leases as l (name, token, holder, taken_at, expires_at) \
    values (?, 1, ?, clock_timestamp(), clock_timestamp() + make_interval(secs => ?)) \
    on conflict (name) do update set token = l.token + 1, holder = excluded.holder, \
    taken_at = clock_timestamp(), expires_at = clock_timestamp() + make_interval(secs => ?) \
    where (l.holder is null or l.holder = excluded.holder or l.expires_at <= clock_timestamp()) \
    and (l.ticked_at is null or l.ticked_at + make_interval(secs => ?) <= clock_timestamp()) \
    returning token) \
    select token, true, 0::bigint from taken \
    union all \
    select token, false, ceil(greatest(0, extract(epoch from greatest(\
    case when holder is null then clock_timestamp() else expires_at end, \
    coalesce(ticked_at + make_interval(secs => ?), clock_timestamp())) - clock_timestamp())) * 1000)::bigint \
    from tsumugi_leases where name = ? and not exists (select 1 from taken)";

const RENEW: &str = "update tsumugi_leases set expires_at = clock_timestamp() + make_interval(secs => ?) \
    where name = ? and holder = ? and token = ? and expires_at > clock_timestamp()";

const RELEASE: &str = "update tsumugi_leases set holder = null, expires_at = clock_timestamp() \
    where name = ? and holder = ?";

const RELEASE_TICKED: &str = "update tsumugi_leases set holder = null, expires_at = clock_timestamp(), \
    ticked_at = taken_at where name = ? and holder = ?";

const FORGET: &str = "delete from tsumugi_leases where name = ? and holder = ?";

#[derive(Debug)]
pub(crate) struct PostgresEngine {
    table: Rc<SharedTable>,
    kept: KeptMessages,
    hub: Arc<Hub>,
    /// The task that receives notifications, once there was a subscriber.
    listening: Mutex<Option<JoinHandle<()>>>,
    silence: Duration,
}

impl PostgresEngine {
    pub fn new(database: Database) -> Rc<PostgresEngine> {
        Rc::new(PostgresEngine {
            kept: KeptMessages::of(database.clone()),
            table: Rc::new(SharedTable::leases(database)),
            hub: Arc::default(),
            listening: Mutex::default(),
            silence: LISTEN_SILENCE,
        })
    }

    async fn take_now(&self, request: &TakeRequest) -> Result<TakeAnswer> {
        let ttl = request.ttl.as_secs_f64();
        let period = request.period.unwrap_or_default().as_secs_f64();
        let (name, holder) = (&*request.name, &*request.holder);
        let values = values![name, holder, ttl, ttl, period, period, name];
        let database = self.table.database().await?;
        let rows = database.query(TAKE, values).await?;
        let Some(row) = rows.first() else {
            // Another one has just made the row.
            let wait = LOCK_POLL_MIN;
            return Ok(TakeAnswer::Busy { wait });
        };
        let integer = |index| row.value(index).and_then(ValueRef::as_integer);
        if row.value(1) == Some(ValueRef::Boolean(true)) {
            let token = integer(0).unwrap_or_default();
            return Ok(TakeAnswer::Granted { token });
        }
        let wait = integer(2).and_then(|wait| u64::try_from(wait).ok());
        let wait = Duration::from_millis(wait.unwrap_or_default());
        Ok(TakeAnswer::Busy { wait })
    }

    async fn renew_now(&self, claim: &LeaseClaim, ttl: Duration) -> Result<bool> {
        let values = values![ttl.as_secs_f64(), &*claim.name, &*claim.holder, claim.token];
        let database = self.table.database().await?;
        Ok(database.execute(RENEW, values).await?.affected == 1)
    }

    /// Begins to listen, unless it does.
    async fn listen(&self) -> Result<()> {
        let mut listening = self.listening.lock().await;
        if listening.as_ref().is_none_or(JoinHandle::is_finished) {
            let database = self.table.database_as_is().clone();
            let messages = MessageListener {
                listener: listen_to(&database).await?,
                database,
                hub: Arc::downgrade(&self.hub),
                silence: self.silence,
            };
            *listening = Some(tokio::task::spawn_local(messages.receive()));
        }
        Ok(())
    }
}

async fn listen_to(database: &Database) -> tsumugi_db::Result<Listener> {
    database.listen(&[NOTIFICATIONS.to_owned()]).await
}

async fn notify(database: &Database, payload: String) -> tsumugi_db::Result<()> {
    let values = values![NOTIFICATIONS, payload];
    database.query("select pg_notify(?, ?)", values).await?;
    Ok(())
}

impl Drop for PostgresEngine {
    fn drop(&mut self) {
        if let Some(listening) = self.listening.get_mut().take() {
            listening.abort();
        }
    }
}

/// Gives what comes to the subscribers.
struct MessageListener {
    listener: Listener,
    database: Database,
    hub: Weak<Hub>,
    silence: Duration,
}

impl MessageListener {
    /// A connection that was lost is opened again by the listener, which says so. One on which nothing comes is asked by a notification of our own:
    /// where that does not come back, the server or the way there is gone without a word.
    async fn receive(mut self) {
        let mut is_asked = false;
        loop {
            let received = timeout(self.silence, self.listener.recv()).await;
            let Some(hub) = self.hub.upgrade() else {
                return;
            };
            let Ok(received) = received else {
                if is_asked {
                    self.listen_again().await;
                    hub.deliver_gap();
                    is_asked = false;
                } else {
                    // A payload that is no message. Where it cannot be sent nothing is known.
                    is_asked = notify(&self.database, String::new()).await.is_ok();
                }
                continue;
            };
            is_asked = false;
            match received {
                // What has no line break is no message.
                Ok(ListenerEvent::Notification { payload, .. }) => {
                    if let Some((channel, message)) = payload.split_once('\n') {
                        hub.deliver(channel, message);
                    }
                }
                Ok(_) => hub.deliver_gap(),
                Err(error) => {
                    tracing::warn!("messages of channels do not come: {error}");
                    hub.deliver_gap();
                    sleep(LISTEN_PAUSE).await;
                }
            }
        }
    }

    /// Takes another connection.
    async fn listen_again(&mut self) {
        tracing::warn!(
            "nothing comes on the connection that carries messages of channels: another one is opened"
        );
        loop {
            match listen_to(&self.database).await {
                Ok(listener) => {
                    self.listener = listener;
                    return;
                }
                Err(error) => tracing::debug!("messages of channels do not come: {error}"),
            }
            sleep(LISTEN_PAUSE).await;
        }
    }
}

/// Whether this holder had it.
async fn release(database: &Database, name: &str, holder: &str, kind: ReleaseKind) -> Result<bool> {
    let sql = match kind {
        ReleaseKind::Keep => RELEASE,
        ReleaseKind::Ticked => RELEASE_TICKED,
        ReleaseKind::Forget => FORGET,
    };
    let released = database.execute(sql, values![name, holder]).await?;
    Ok(released.affected == 1)
}

impl ClusterEngine for PostgresEngine {
    fn begin_timer<'a>(&'a self, name: &'a str, _period: Duration) -> EngineFuture<'a, ()> {
        Box::pin(bookkeeping(async move {
            let database = self.table.database().await?;
            database.execute(BEGIN_TIMER, values![name]).await?;
            Ok(())
        }))
    }

    fn take<'a>(&'a self, request: &'a TakeRequest) -> EngineFuture<'a, TakeAnswer> {
        Box::pin(bookkeeping(self.take_now(request)))
    }

    fn renew<'a>(&'a self, claim: &'a LeaseClaim, ttl: Duration) -> EngineFuture<'a, bool> {
        Box::pin(bookkeeping(self.renew_now(claim, ttl)))
    }

    fn release<'a>(
        &'a self,
        name: &'a str,
        holder: &'a str,
        kind: ReleaseKind,
    ) -> EngineFuture<'a, ()> {
        Box::pin(bookkeeping(async move {
            release(self.table.database().await?, name, holder, kind).await?;
            Ok(())
        }))
    }

    fn abandon(&self, name: String, holder: String) {
        let database = self.table.database_as_is().clone();
        abandon_by(async move || {
            bookkeeping(release(&database, &name, &holder, ReleaseKind::Keep)).await
        });
    }

    fn publish<'a>(&'a self, channel: &'a str, message: &'a str) -> EngineFuture<'a, ()> {
        Box::pin(async move {
            let payload = format!("{channel}\n{message}");
            notify(self.table.database_as_is(), payload).await?;
            Ok(())
        })
    }

    fn subscribe<'a>(&'a self, channel: &'a str) -> EngineFuture<'a, Subscription> {
        Box::pin(async move {
            // First, so that nothing falls between.
            let subscription = self.hub.subscribe(channel)?;
            self.listen().await?;
            Ok(subscription)
        })
    }

    fn check_kept(&self) -> Result<()> {
        Ok(())
    }

    fn publish_kept<'a>(
        &'a self,
        channel: &'a KeptChannelName,
        message: &'a str,
        keep: i64,
    ) -> EngineFuture<'a, i64> {
        let kept = &self.kept;
        Box::pin(kept.publish_and_notify(NOTIFICATIONS, channel, message, keep))
    }

    fn kept_range<'a>(&'a self, channel: &'a KeptChannelName) -> EngineFuture<'a, KeptRange> {
        Box::pin(bookkeeping(self.kept.range(channel)))
    }

    fn kept_after<'a>(
        &'a self,
        channel: &'a KeptChannelName,
        after: i64,
        most: usize,
    ) -> EngineFuture<'a, Vec<KeptMessage>> {
        Box::pin(bookkeeping(self.kept.after(channel, after, most)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message_queue::ChannelEvent;
    use tsumugi_db::Options;
    use tsumugi_testkit::postgres::Server;

    const LISTENERS: &str = "select pid from pg_stat_activity \
        where datname = current_database() and query ilike 'listen%' order by backend_start";

    /// Whether silence alone was none: the questions came back.
    async fn subscriber_of_a_silent_server(silence: Duration) -> bool {
        const PATIENCE: Duration = Duration::from_secs(60);
        let server = Server::shared();
        let place = server.database();
        let database = Database::connect(&place.url(), Options::default()).await;
        let mut engine = PostgresEngine::new(database.unwrap());
        Rc::get_mut(&mut engine).unwrap().silence = silence;
        let mut received = engine.subscribe("c").await.unwrap();
        if timeout(silence * 3, received.recv()).await.is_ok() {
            return false;
        }
        let listener: i32 = place.psql(LISTENERS).parse().unwrap();
        server.freeze_backend(listener);
        let event = timeout(PATIENCE, received.recv()).await;
        assert_eq!(event.unwrap(), ChannelEvent::Missed);
        engine.publish("c", "after").await.unwrap();
        let message = ChannelEvent::Message("after".into());
        let event = timeout(PATIENCE, async {
            // Where the machine stands still the new connection is silent for too long, too.
            loop {
                match received.recv().await {
                    ChannelEvent::Missed => engine.publish("c", "after").await.unwrap(),
                    event => return event,
                }
            }
        });
        assert_eq!(event.await.unwrap(), message);
        server.thaw_backend(listener);
        true
    }

    #[test]
    fn connection_on_which_nothing_comes_is_replaced_and_subscribers_are_told() {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_all().build().unwrap();
        // A machine that stands still for as long is silent itself.
        let lengths = [300, 2_000, 10_000].map(Duration::from_millis);
        let is_heard = tsumugi_testkit::any_length(lengths, |silence| {
            tokio::task::LocalSet::new().block_on(&runtime, subscriber_of_a_silent_server(silence))
        });
        assert!(is_heard, "silence alone is taken for a loss");
    }
}
