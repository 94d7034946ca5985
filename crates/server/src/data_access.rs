//! What an application may do with data while a command loads it, whose data that is: what a running server has is the server's.
//! Opens nothing by itself. Rule: an application that serves has everything, and a command that only looks changes nothing that others use.

use std::path::Path;

use tsumugi_db::MigrationScope;
use tsumugi_kv::{Durability, Error, KvDatabase, Spec};

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

    /// The store that is opened in place of this one. `folder` is the command's own.
    #[must_use]
    pub fn store(self, mut spec: Spec, folder: &Path) -> Spec {
        if self == DataAccess::Own && !spec.is_in_memory() && !is_below(&spec.path, folder) {
            spec.durability = Durability::Memory;
            spec.read_only = false;
        }
        spec
    }

    /// Opens a store. Blocks the thread. Where another process has it and the application need not have it, every call answers so.
    ///
    /// # Errors
    /// As [`KvDatabase::open`].
    pub fn open(self, spec: &Spec) -> tsumugi_kv::Result<KvDatabase> {
        match KvDatabase::open(spec) {
            Err(why @ Error::Locked { .. }) if self == DataAccess::Shared => {
                Ok(KvDatabase::unavailable(spec, why))
            }
            opened => opened,
        }
    }
}

fn is_below(path: &Path, folder: &Path) -> bool {
    match (std::path::absolute(path), std::path::absolute(folder)) {
        (Ok(path), Ok(folder)) => path.starts_with(folder),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn store_outside_of_the_own_folder_is_one_in_memory_for_a_command_that_looks() {
        let folder = tempfile::tempdir().unwrap();
        let inside = Spec::disk(folder.path().join("kv"), Durability::Process);
        let outside = Spec::disk("data/kv", Durability::Disk);
        let own = |spec: &Spec| DataAccess::Own.store(spec.clone(), folder.path());
        assert_eq!(own(&inside), inside);
        let instead = own(&outside);
        assert!(instead.is_in_memory());
        assert_eq!(instead.path, outside.path);
        for access in [DataAccess::Whole, DataAccess::Shared] {
            assert_eq!(access.store(outside.clone(), folder.path()), outside);
        }
    }
}
