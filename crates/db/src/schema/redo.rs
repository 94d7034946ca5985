//! Which migrations are undone and applied again. Runs none of them.

use super::history::{History, MigrationSource, State};
use crate::error::{Error, Result};
use crate::executor::Executor;

impl<M: AsRef<MigrationSource>> History<M> {
    /// What is to be undone and applied again, as [`History::newest`] gives it.
    ///
    /// # Errors
    /// As there; [`Error::MigrationFailed`] too if one that follows is not applied. It may have been undone by a first attempt and not been applied again,
    /// and then whoever asks a second time means that one: another would lose its data.
    pub async fn redoable(&self, executor: &Executor, steps: Option<usize>) -> Result<Vec<&M>> {
        let newest = self.newest(executor, steps).await?;
        let Some(last) = newest.first().map(|migration| migration.as_ref().name()) else {
            return Ok(newest);
        };
        let status = self.status(executor).await?;
        let mut following = status.iter().skip_while(|one| one.name != last);
        match following.find(|one| one.state == State::Pending) {
            None => Ok(newest),
            Some(pending) => Err(Error::MigrationFailed {
                name: pending.name.clone(),
                reason: format!(
                    "is not applied, so it cannot be done again: `migrate up` applies it (redo would undo {last})"
                ),
                source: None,
            }),
        }
    }
}
