//! The engine over a SQLite file, for the processes of one machine. Its times are of the machine's clock since its start, which all of them
//! share. Carries no messages to other processes.
//! Rule: a time is bound as it was before the statement was sent, so that a lease ends early rather than late.

use std::rc::Rc;
use std::sync::Once;
use std::time::Duration;

use tsumugi_db::{Database, Row, ValueRef, bookkeeping, values};

use crate::abandon::abandon_by;
use crate::clock::{BootTime, boot_id};
use crate::engine::{
    ClusterEngine, EngineFuture, KeptChannelName, KeptMessage, KeptRange, LeaseClaim, ReleaseKind,
    TakeAnswer, TakeRequest,
};
use crate::error::Result;
use crate::hub::Subscription;
use crate::message_table::KeptMessages;
use crate::process::PROCESS_HUB;
use crate::table::SharedTable;

const BEGIN_TIMER: &str = "insert into tsumugi_leases (name, token, boot, taken_at, expires_at, ticked_at) \
    values (?, 0, ?, ?, ?, ?) on conflict (name) do nothing";

const LOOK: &str = "select holder, boot, expires_at, ticked_at from tsumugi_leases where name = ?";

/// `excluded.taken_at` is now.
const TAKE: &str = "insert into tsumugi_leases (name, token, holder, boot, taken_at, expires_at) values (?, 1, ?, ?, ?, ?) \
    on conflict (name) do update set token = token + 1, holder = excluded.holder, boot = excluded.boot, \
    taken_at = excluded.taken_at, expires_at = excluded.expires_at, \
    ticked_at = case when boot = excluded.boot then ticked_at end \
    where (holder is null or holder = excluded.holder or boot <> excluded.boot or expires_at <= excluded.taken_at) \
    and (ticked_at is null or boot <> excluded.boot or ticked_at + ? <= excluded.taken_at) returning token";

const RENEW: &str = "update tsumugi_leases set expires_at = ? \
    where name = ? and holder = ? and token = ? and boot = ? and expires_at > ?";

const RELEASE: &str =
    "update tsumugi_leases set holder = null, expires_at = ? where name = ? and holder = ?";

const RELEASE_TICKED: &str = "update tsumugi_leases set holder = null, expires_at = ?, ticked_at = taken_at \
    where name = ? and holder = ?";

const FORGET: &str = "delete from tsumugi_leases where name = ? and holder = ?";

#[derive(Debug)]
pub(crate) struct SqliteEngine {
    table: Rc<SharedTable>,
    kept: KeptMessages,
}

impl SqliteEngine {
    pub fn new(database: Database) -> SqliteEngine {
        SqliteEngine {
            kept: KeptMessages::of(database.clone()),
            table: Rc::new(SharedTable::leases(database)),
        }
    }

    async fn take_now(&self, request: &TakeRequest) -> Result<TakeAnswer> {
        let database = self.table.database().await?;
        let now = BootTime::now();
        // Most of those that ask are to wait, and this takes no write lock.
        let looked = database.query(LOOK, values![&*request.name]).await?;
        let wait = looked.first().and_then(|row| wait(row, request, now));
        if let Some(wait) = wait {
            return Ok(TakeAnswer::Busy { wait });
        }
        let rows = database
            .query(
                TAKE,
                values![
                    &*request.name,
                    &*request.holder,
                    boot_id(),
                    now.milliseconds(),
                    now.plus(request.ttl).milliseconds(),
                    milliseconds(request.period.unwrap_or_default()),
                ],
            )
            .await?;
        let token = rows.first().and_then(|row| row.value(0)?.as_integer());
        Ok(match token {
            Some(token) => TakeAnswer::Granted { token },
            // Another one was quicker.
            None => TakeAnswer::Busy {
                wait: Duration::ZERO,
            },
        })
    }

    async fn renew_now(&self, claim: &LeaseClaim, ttl: Duration) -> Result<bool> {
        let now = BootTime::now();
        let values = values![
            now.plus(ttl).milliseconds(),
            &*claim.name,
            &*claim.holder,
            claim.token,
            boot_id(),
            now.milliseconds(),
        ];
        let database = self.table.database().await?;
        Ok(database.execute(RENEW, values).await?.affected == 1)
    }
}

/// How long the row of a lease keeps it from the caller; nothing when it may be taken.
fn wait(row: Row<'_>, request: &TakeRequest, now: BootTime) -> Option<Duration> {
    let text = |index| row.value(index).and_then(ValueRef::as_text);
    let time = |index| row.value(index).and_then(ValueRef::as_integer);
    if text(1) != Some(boot_id()) {
        return None;
    }
    let is_others = text(0).is_some_and(|holder| holder != request.holder);
    let free_at = time(2).filter(|_| is_others);
    let period = milliseconds(request.period.unwrap_or_default());
    let due_at = time(3).map(|ticked_at| ticked_at.saturating_add(period));
    let wait = free_at.max(due_at)?.saturating_sub(now.milliseconds());
    let wait = u64::try_from(wait).ok().filter(|wait| *wait > 0)?;
    Some(Duration::from_millis(wait))
}

fn milliseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// Whether this holder had it.
async fn release(database: &Database, name: &str, holder: &str, kind: ReleaseKind) -> Result<bool> {
    let now = BootTime::now().milliseconds();
    let released = match kind {
        ReleaseKind::Keep => {
            database
                .execute(RELEASE, values![now, name, holder])
                .await?
        }
        ReleaseKind::Ticked => {
            let values = values![now, name, holder];
            database.execute(RELEASE_TICKED, values).await?
        }
        ReleaseKind::Forget => database.execute(FORGET, values![name, holder]).await?,
    };
    Ok(released.affected == 1)
}

impl ClusterEngine for SqliteEngine {
    fn begin_timer<'a>(&'a self, name: &'a str, _period: Duration) -> EngineFuture<'a, ()> {
        Box::pin(bookkeeping(async move {
            let now = BootTime::now().milliseconds();
            let values = values![name, boot_id(), now, now, now];
            let database = self.table.database().await?;
            database.execute(BEGIN_TIMER, values).await?;
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
        PROCESS_HUB.deliver(channel, message);
        Box::pin(std::future::ready(Ok(())))
    }

    fn subscribe<'a>(&'a self, channel: &'a str) -> EngineFuture<'a, Subscription> {
        static SAID: Once = Once::new();
        SAID.call_once(|| {
            tracing::info!("channels reach the workers of this process only: SQLite has no NOTIFY");
        });
        Box::pin(std::future::ready(PROCESS_HUB.subscribe(channel)))
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
        Box::pin(async move {
            let published = self.kept.publish_in_transaction(channel, message, keep);
            let id = published.await?;
            PROCESS_HUB.deliver(&channel.sent_on, &format!("{id}\n{message}"));
            Ok(id)
        })
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
