//! How claims are renewed: many by one statement, and where another transaction has one of them each by itself. Runs no job and waits for no time.
//! Rule: what is known of a claim is told as soon as it is known, so that one that is in the way keeps none of the others from it.

use std::collections::HashSet;

use futures_util::future::join_all;
use tsumugi_db::{Family, TransactionOptions, bookkeeping};

use crate::claims::Claimer;
use crate::error::Result;
use crate::job_claim::JobClaim;
use crate::kind::millis;
use crate::limits::CLAIMS_RENEWED_MAX;
use crate::queue::integer;
use crate::sql::Sql;
use crate::statements;

/// What has become of a claim that was to be renewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Renewal {
    /// It holds for its time from when that was asked for.
    Renewed,
    /// It is held no more.
    Lost,
}

/// How claims are renewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RenewalMode {
    Together,
    /// Each by itself, where a statement about all of them waits for one.
    Each,
}

impl Claimer {
    /// Renews these claims, and tells of each what has become of it.
    ///
    /// # Errors
    /// Of the database: nothing is known of the claims that nothing was told of.
    pub async fn renew(
        &self,
        claims: &[JobClaim],
        mode: RenewalMode,
        tell: &dyn Fn(JobClaim, Renewal),
    ) -> Result<()> {
        let count = match (self.queue.family(), mode) {
            (Family::Sqlite, _) | (Family::Firebird, RenewalMode::Together) => CLAIMS_RENEWED_MAX,
            (Family::Postgres, RenewalMode::Together) => claims.len().max(1),
            (Family::Postgres | Family::Firebird, RenewalMode::Each) => 1,
        };
        let renewals = claims.chunks(count).map(|some| self.renew_some(some, tell));
        join_all(renewals).await.into_iter().collect()
    }

    async fn renew_some(
        &self,
        claims: &[JobClaim],
        tell: &dyn Fn(JobClaim, Renewal),
    ) -> Result<()> {
        match self.renew_together(claims, tell).await {
            // One of them has just ended, or another transaction has its row.
            Err(error) if claims.len() > 1 && self.queue.is_in_the_way(&error) => {
                let each = claims
                    .iter()
                    .map(|claim| self.renew_together(std::slice::from_ref(claim), tell));
                join_all(each).await.into_iter().collect()
            }
            outcome => outcome,
        }
    }

    async fn renew_together(
        &self,
        claims: &[JobClaim],
        tell: &dyn Fn(JobClaim, Renewal),
    ) -> Result<()> {
        let family = self.queue.family();
        let worker = self.name.now();
        let renew = statements::renew(family, claims, millis(self.lease), &worker);
        let renewed = match family {
            Family::Sqlite => self.queue.change(renew).await?.affected,
            Family::Postgres | Family::Firebird => self.change_alone(renew).await?,
        };
        if usize::try_from(renewed).is_ok_and(|renewed| renewed == claims.len()) {
            claims
                .iter()
                .for_each(|claim| tell(*claim, Renewal::Renewed));
            return Ok(());
        }
        let rows = self.queue.ask(statements::held(family, claims)).await?;
        let claim = |row| JobClaim {
            id: integer(row, 0),
            attempt: integer(row, 1),
        };
        let held: HashSet<JobClaim> = rows.iter().map(claim).collect();
        for claim in claims {
            let renewal = match held.contains(claim) {
                true => Renewal::Renewed,
                false => Renewal::Lost,
            };
            tell(*claim, renewal);
        }
        Ok(())
    }

    /// Over a connection that no other caller waits for, so that the server stops it where this is dropped: it may have some of the rows, and wait for one.
    async fn change_alone(&self, sql: Sql) -> Result<u64> {
        bookkeeping(self.change_in_transaction(sql)).await
    }

    async fn change_in_transaction(&self, sql: Sql) -> Result<u64> {
        let database = self.queue.table.database().await?;
        let transaction = database.begin(TransactionOptions::default()).await?;
        let changed = transaction.execute(sql.text, sql.values).await?;
        transaction.commit().await?;
        Ok(changed.affected)
    }
}
