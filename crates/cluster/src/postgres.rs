//! The engine over PostgreSQL: leases are rows of a table, messages are notifications of one channel. All times are the server's.
//! Rule: what is taken or renewed is decided by one statement, which reads the clock after it has the row.

use std::rc::Rc;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tsumugi_db::{Database, Listener, ListenerEvent, ValueRef, values};

use crate::engine::{
    ClusterEngine, EngineFuture, LeaseClaim, ReleaseKind, TakeAnswer, TakeRequest,
};
use crate::error::Result;
use crate::hub::{Hub, Subscription};
use crate::limits::{LISTEN_PAUSE, LOCK_POLL_MIN};
use crate::table::{LeaseTable, abandon_by};

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
    table: Rc<LeaseTable>,
    hub: Arc<Hub>,
    /// The task that receives notifications, once there was a subscriber.
    listening: Mutex<Option<JoinHandle<()>>>,
}

impl PostgresEngine {
    pub fn new(database: Database) -> Rc<PostgresEngine> {
        Rc::new(PostgresEngine {
            table: Rc::new(LeaseTable::of(database)),
            hub: Arc::default(),
            listening: Mutex::default(),
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
            let channels = [NOTIFICATIONS.to_owned()];
            let listener = self.table.database_as_is().listen(&channels).await?;
            let hub = Arc::downgrade(&self.hub);
            *listening = Some(tokio::task::spawn_local(receive(listener, hub)));
        }
        Ok(())
    }
}

impl Drop for PostgresEngine {
    fn drop(&mut self) {
        if let Some(listening) = self.listening.get_mut().take() {
            listening.abort();
        }
    }
}

/// Gives what comes to the subscribers. A connection that was lost is opened again by the listener, which says so.
async fn receive(mut listener: Listener, hub: Weak<Hub>) {
    loop {
        let received = listener.recv().await;
        let Some(hub) = hub.upgrade() else { return };
        match received {
            Ok(ListenerEvent::Notification { payload, .. }) => {
                // What is not of this form was sent by another program.
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

async fn release(database: &Database, name: &str, holder: &str, kind: ReleaseKind) -> Result<()> {
    let sql = match kind {
        ReleaseKind::Keep => RELEASE,
        ReleaseKind::Ticked => RELEASE_TICKED,
        ReleaseKind::Forget => FORGET,
    };
    database.execute(sql, values![name, holder]).await?;
    Ok(())
}

impl ClusterEngine for PostgresEngine {
    fn begin_timer<'a>(&'a self, name: &'a str) -> EngineFuture<'a, ()> {
        Box::pin(async move {
            let database = self.table.database().await?;
            database.execute(BEGIN_TIMER, values![name]).await?;
            Ok(())
        })
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
        Box::pin(async move { release(self.table.database().await?, name, holder, kind).await })
    }

    fn abandon(&self, name: String, holder: String) {
        let table = Rc::clone(&self.table);
        abandon_by(async move {
            release(table.database_as_is(), &name, &holder, ReleaseKind::Keep).await
        });
    }

    fn publish<'a>(&'a self, channel: &'a str, message: &'a str) -> EngineFuture<'a, ()> {
        Box::pin(async move {
            let payload = format!("{channel}\n{message}");
            let database = self.table.database_as_is();
            let values = values![NOTIFICATIONS, payload];
            database.query("select pg_notify(?, ?)", values).await?;
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
}
