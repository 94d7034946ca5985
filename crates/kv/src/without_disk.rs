//! Stands in for `disk/` where the feature `disk` is off: refuses all that needs it. Knows no file.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;

use crate::close_state::CloseState;
use crate::engine::{Engine, EngineShared};
use crate::error::{Error, Result};
use crate::record::StoredRecord;
use crate::spec::Spec;

pub(crate) fn open(_: Arc<EngineShared>, _: Arc<CloseState>) -> Result<Arc<dyn Engine>> {
    Err(Error::no_disk())
}

pub(crate) fn is_database(_: &Path) -> Result<bool> {
    Err(Error::no_disk())
}

pub(crate) fn replace_copy(_: &Path, _: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    Err(Error::no_disk())
}

pub(crate) fn write_copy(
    _: &Spec,
    _: &Path,
    _: impl Iterator<Item = Result<(Bytes, StoredRecord)>>,
) -> Result<u64> {
    Err(Error::no_disk())
}

#[cfg(test)]
mod tests {
    use crate::{Error, KvDatabase, Spec};

    #[test]
    fn database_on_disk_is_refused_before_its_folder_is_made() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("shop");
        let spec = Spec::of_place(&path.display().to_string()).unwrap();
        let error = KvDatabase::open(&spec).unwrap_err();
        assert!(matches!(
            error,
            Error::NotBuiltIn {
                feature: "disk",
                ..
            }
        ));
        assert_eq!(
            error.to_string(),
            "the engine on disk is not in this program: it was built without the feature `disk`"
        );
        assert!(!path.exists());
    }
}
