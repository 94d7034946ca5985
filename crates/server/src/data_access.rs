//! What an application may do with data while a command loads it, whose data that is: what a running server has is the server's.
//! Opens nothing by itself. Rule: an application that serves has everything, and a command that only looks changes nothing that others use.

use std::path::Path;

use tsumugi_db::MigrationScope;
use tsumugi_stores::StoreAccess;

/// What an application may do with its data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DataAccess {
    /// Everything: it serves, or its database is being migrated.
    #[default]
    Whole,
    /// `console`: a store that another process has is used through that process or not at all, and no database of others is migrated.
    Shared,
    /// `check`, `routes` and `test`: a store on disk outside of the command's own folder is an empty one in memory, and no database outside of it
    /// is migrated or made.
    Own,
}

impl DataAccess {
    /// Runs this with databases of SQL opened so. `folder` is the command's own.
    pub async fn within<T>(self, folder: &Path, run: impl Future<Output = T>) -> T {
        match self {
            DataAccess::Whole => run.await,
            DataAccess::Shared => MigrationScope::NewFiles.within(run).await,
            DataAccess::Own => MigrationScope::Below(folder.to_owned()).within(run).await,
        }
    }

    /// What it may do with stores. `folder` is the command's own.
    #[must_use]
    pub fn stores(self, folder: &Path) -> StoreAccess {
        match self {
            DataAccess::Whole => StoreAccess::Whole,
            DataAccess::Shared => StoreAccess::Shared,
            DataAccess::Own => StoreAccess::Own(folder.to_owned()),
        }
    }
}
