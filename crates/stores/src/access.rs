//! Whose data a store is while a command loads an application: what a running server has is the server's. Opens databases of this process.

use std::path::{Path, PathBuf};

use tsumugi_kv::{Durability, Error, KvDatabase, Spec};

/// What an application may do with stores.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum StoreAccess {
    /// Everything: it serves.
    #[default]
    Whole,
    /// A store that another process has is used through that process or not at all.
    Shared,
    /// A store on disk outside of this folder is an empty one in memory, and so is one of a cluster.
    Own(PathBuf),
}

impl StoreAccess {
    /// The database that is opened in place of this one.
    pub(crate) fn database(&self, mut spec: Spec) -> Spec {
        if let StoreAccess::Own(folder) = self
            && !spec.is_in_memory()
            && !is_below(&spec.path, folder)
        {
            spec.durability = Durability::Memory;
            spec.read_only = false;
        }
        spec
    }

    /// Opens a database. Blocks the thread. Where another process has it and the application need not have it, every call answers so.
    pub(crate) fn open(&self, spec: &Spec) -> tsumugi_kv::Result<KvDatabase> {
        match KvDatabase::open(spec) {
            Err(why @ Error::Locked { .. }) if *self == StoreAccess::Shared => {
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
        let own = StoreAccess::Own(folder.path().to_owned());
        assert_eq!(own.database(inside.clone()), inside);
        let instead = own.database(outside.clone());
        assert!(instead.is_in_memory());
        assert_eq!(instead.path, outside.path);
        for access in [StoreAccess::Whole, StoreAccess::Shared] {
            assert_eq!(access.database(outside.clone()), outside);
        }
    }
}
