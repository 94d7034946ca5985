//! The engine of one process without a database: its workers are the many. Reaches no other process.
//! Rule: the lock of its table is held for one step, in which nothing waits.

use std::collections::HashMap;
use std::future::ready;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::clock::BootTime;
use crate::engine::{
    ClusterEngine, EngineFuture, KeptChannelName, KeptMessage, KeptRange, LeaseClaim, ReleaseKind,
    TakeAnswer, TakeRequest,
};
use crate::error::{Error, Result};
use crate::hub::{Hub, Subscription};
use crate::kept_in_memory::{keep, kept_after, kept_range};
use crate::limits::PROCESS_LEASES_MAX;

/// The subscribers of the process. An engine that carries no messages uses them too.
pub(crate) static PROCESS_HUB: LazyLock<Arc<Hub>> = LazyLock::new(Arc::default);

static LEASES: LazyLock<Mutex<Table>> = LazyLock::new(Mutex::default);

#[derive(Debug, Default)]
struct Table {
    leases: HashMap<String, Row>,
    /// The last token, whatever it was for: so a lease may be forgotten.
    token: i64,
}

#[derive(Debug)]
struct Row {
    token: i64,
    holder: Option<String>,
    taken_at: BootTime,
    expires_at: BootTime,
    /// For timers alone.
    ticked_at: Option<BootTime>,
}

/// All engines of this kind are the same one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProcessEngine;

/// A panic elsewhere leaves the table whole: every change of it is one step.
fn table() -> MutexGuard<'static, Table> {
    LEASES.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Table {
    fn begin_timer(&mut self, name: &str, now: BootTime) {
        self.leases.entry(name.to_owned()).or_insert_with(|| Row {
            token: 0,
            holder: None,
            taken_at: now,
            expires_at: now,
            ticked_at: Some(now),
        });
    }

    fn take(&mut self, request: &TakeRequest, now: BootTime) -> Result<TakeAnswer> {
        let known = self.leases.get(&request.name);
        if let Some(wait) = known.and_then(|row| row.wait(request, now)) {
            return Ok(TakeAnswer::Busy { wait });
        }
        if known.is_none() && self.leases.len() >= PROCESS_LEASES_MAX {
            return Err(Error::TooMany {
                limit: "PROCESS_LEASES_MAX",
                max: PROCESS_LEASES_MAX,
            });
        }
        let ticked_at = known.and_then(|row| row.ticked_at);
        self.token += 1;
        let row = Row {
            token: self.token,
            holder: Some(request.holder.clone()),
            taken_at: now,
            expires_at: now.plus(request.ttl),
            ticked_at,
        };
        self.leases.insert(request.name.clone(), row);
        Ok(TakeAnswer::Granted { token: self.token })
    }

    fn renew(&mut self, claim: &LeaseClaim, ttl: Duration, now: BootTime) -> bool {
        let row = self.leases.get_mut(&claim.name);
        let own = row.filter(|row| {
            row.holder.as_deref() == Some(&claim.holder)
                && row.token == claim.token
                && now < row.expires_at
        });
        own.map(|row| row.expires_at = now.plus(ttl)).is_some()
    }

    fn release(&mut self, name: &str, holder: &str, kind: ReleaseKind) {
        let Some(row) = self.leases.get_mut(name) else {
            return;
        };
        if row.holder.as_deref() != Some(holder) {
            return;
        }
        row.holder = None;
        if kind == ReleaseKind::Ticked {
            row.ticked_at = Some(row.taken_at);
        }
        if row.ticked_at.is_none() {
            self.leases.remove(name);
        }
    }
}

impl Row {
    /// How long it cannot be taken by the caller of this request; nothing when it can.
    fn wait(&self, request: &TakeRequest, now: BootTime) -> Option<Duration> {
        let is_others = self
            .holder
            .as_ref()
            .is_some_and(|holder| *holder != request.holder);
        let free_at = is_others.then_some(self.expires_at);
        let due_at = request
            .period
            .and_then(|period| Some(self.ticked_at?.plus(period)));
        let wait = now.until(free_at.max(due_at)?);
        (!wait.is_zero()).then_some(wait)
    }
}

impl ClusterEngine for ProcessEngine {
    fn begin_timer<'a>(&'a self, name: &'a str, _period: Duration) -> EngineFuture<'a, ()> {
        table().begin_timer(name, BootTime::now());
        Box::pin(ready(Ok(())))
    }

    fn take<'a>(&'a self, request: &'a TakeRequest) -> EngineFuture<'a, TakeAnswer> {
        let answer = table().take(request, BootTime::now());
        Box::pin(ready(answer))
    }

    fn renew<'a>(&'a self, claim: &'a LeaseClaim, ttl: Duration) -> EngineFuture<'a, bool> {
        let is_renewed = table().renew(claim, ttl, BootTime::now());
        Box::pin(ready(Ok(is_renewed)))
    }

    fn release<'a>(
        &'a self,
        name: &'a str,
        holder: &'a str,
        kind: ReleaseKind,
    ) -> EngineFuture<'a, ()> {
        table().release(name, holder, kind);
        Box::pin(ready(Ok(())))
    }

    fn abandon(&self, name: String, holder: String) {
        table().release(&name, &holder, ReleaseKind::Keep);
    }

    fn publish<'a>(&'a self, channel: &'a str, message: &'a str) -> EngineFuture<'a, ()> {
        PROCESS_HUB.deliver(channel, message);
        Box::pin(ready(Ok(())))
    }

    fn subscribe<'a>(&'a self, channel: &'a str) -> EngineFuture<'a, Subscription> {
        Box::pin(ready(PROCESS_HUB.subscribe(channel)))
    }

    fn check_kept(&self) -> Result<()> {
        Ok(())
    }

    fn publish_kept<'a>(
        &'a self,
        channel: &'a KeptChannelName,
        message: &'a str,
        most: i64,
    ) -> EngineFuture<'a, i64> {
        Box::pin(ready(keep(&channel.name, message, most).inspect(|id| {
            PROCESS_HUB.deliver(&channel.sent_on, &format!("{id}\n{message}"));
        })))
    }

    fn kept_range<'a>(&'a self, channel: &'a KeptChannelName) -> EngineFuture<'a, KeptRange> {
        Box::pin(ready(kept_range(&channel.name)))
    }

    fn kept_after<'a>(
        &'a self,
        channel: &'a KeptChannelName,
        after: i64,
        most: usize,
    ) -> EngineFuture<'a, Vec<KeptMessage>> {
        Box::pin(ready(Ok(kept_after(&channel.name, after, most))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(milliseconds: u64) -> BootTime {
        BootTime::since_start(Duration::from_millis(milliseconds))
    }

    fn request(name: &str, holder: &str, period: Option<u64>) -> TakeRequest {
        TakeRequest {
            name: name.to_owned(),
            holder: holder.to_owned(),
            ttl: Duration::from_millis(500),
            period: period.map(Duration::from_millis),
        }
    }

    #[test]
    fn lease_goes_to_another_when_its_time_is_over_with_a_greater_token() {
        let mut table = Table::default();
        let take = |table: &mut Table, holder: &str, now| {
            table.take(&request("a", holder, None), at(now)).unwrap()
        };
        assert_eq!(take(&mut table, "x", 0), TakeAnswer::Granted { token: 1 });
        let wait = Duration::from_millis(100);
        assert_eq!(take(&mut table, "y", 400), TakeAnswer::Busy { wait });
        // The same holder asks again, who did not get the answer.
        assert_eq!(take(&mut table, "x", 450), TakeAnswer::Granted { token: 2 });
        assert_eq!(take(&mut table, "y", 950), TakeAnswer::Granted { token: 3 });
    }

    #[test]
    fn timer_is_due_a_period_after_the_last_tick_was_begun() {
        let mut table = Table::default();
        table.begin_timer("t", at(0));
        let take = |table: &mut Table, now| {
            table
                .take(&request("t", "x", Some(1_000)), at(now))
                .unwrap()
        };
        let wait = Duration::from_millis(999);
        assert_eq!(take(&mut table, 1), TakeAnswer::Busy { wait });
        assert_eq!(take(&mut table, 1_000), TakeAnswer::Granted { token: 1 });
        table.release("t", "x", ReleaseKind::Ticked);
        let wait = Duration::from_millis(800);
        assert_eq!(take(&mut table, 1_200), TakeAnswer::Busy { wait });
    }

    #[test]
    fn tick_that_was_not_ended_is_due_again_when_its_lease_is_over() {
        let mut table = Table::default();
        table.begin_timer("t", at(0));
        let take = |table: &mut Table, holder: &str, now| {
            let request = request("t", holder, Some(1_000));
            table.take(&request, at(now)).unwrap()
        };
        assert_eq!(
            take(&mut table, "x", 1_000),
            TakeAnswer::Granted { token: 1 }
        );
        assert_eq!(
            take(&mut table, "y", 1_500),
            TakeAnswer::Granted { token: 2 }
        );
    }

    #[test]
    fn one_lease_too_many_is_refused_and_one_given_back_makes_room() {
        let mut table = Table::default();
        for number in 0..PROCESS_LEASES_MAX {
            let request = request(&number.to_string(), "x", None);
            table.take(&request, at(0)).unwrap();
        }
        let more = request("more", "x", None);
        let error = table.take(&more, at(0)).unwrap_err().to_string();
        assert!(error.contains("PROCESS_LEASES_MAX"), "{error}");
        table.release("0", "x", ReleaseKind::Keep);
        table.take(&more, at(0)).unwrap();
    }
}
