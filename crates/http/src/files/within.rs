//! Files of one folder by their paths in it, as an application names them: read whole, or sent. Knows no path of a request.
//! Rule: no path leaves its folder, by `..`, from the root or by a link, whoever has made it.

use std::{
    fs, io,
    io::Read as _,
    path::{Component, Path, PathBuf},
};

use bytes::Bytes;
use tokio::sync::Semaphore;

use super::{FileRequest, Files, FolderEntry, PathLookup, inside, is_nothing, open};
use crate::{
    handler::Spawn,
    limits::{APP_FILE_BYTES_MAX, APP_FILES_READ_MAX, FILE_PATH_BYTES_MAX},
    request::Request,
    response::HttpResponse,
    upload::Offload,
};

/// Why a file of a folder was not read.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum AppFileError {
    /// The path leads out of the folder, or is none. Name a file below it.
    #[error("{path:?} is no path of a file below the folder {}", folder.display())]
    Outside {
        /// The path as it was given.
        path: String,
        /// The folder.
        folder: PathBuf,
    },
    /// The file is too large to be read whole. Send it as it is, or keep it smaller.
    #[error("the file {path:?} is larger than app_file_bytes_max ({APP_FILE_BYTES_MAX}, built in)")]
    TooLarge {
        /// The path as it was given.
        path: String,
    },
    /// There is no such file, or it cannot be read.
    #[error("the file {path:?} of the folder {} cannot be read: {source}", folder.display())]
    Io {
        /// The path as it was given.
        path: String,
        /// The folder.
        folder: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Reads of whole files in this process. What one has read counts until its caller has it.
static READS: Semaphore = Semaphore::const_new(APP_FILES_READ_MAX);

/// A whole file by its path below `folder`, read off the worker. Waits while `APP_FILES_READ_MAX` others are read.
///
/// # Errors
/// See [`AppFileError`].
pub async fn read_app_file<O: Offload>(
    offload: &O,
    folder: PathBuf,
    path: &str,
) -> Result<Bytes, AppFileError> {
    let given = path.to_owned();
    let folder = nonempty(&folder).to_owned();
    let Some(relative) = below(path) else {
        return Err(AppFileError::Outside {
            path: given,
            folder,
        });
    };
    let root = folder.clone();
    // It is never closed.
    let _read = READS.acquire().await;
    let read = offload.offload(move || read(&root, &relative)).await;
    match read {
        Ok(AppFile::Whole(bytes)) => Ok(bytes.into()),
        Ok(AppFile::TooLarge) => Err(AppFileError::TooLarge { path: given }),
        Ok(AppFile::Outside) => Err(AppFileError::Outside {
            path: given,
            folder,
        }),
        Err(source) => Err(AppFileError::Io {
            path: given,
            folder,
            source,
        }),
    }
}

enum AppFile {
    Whole(Vec<u8>),
    TooLarge,
    Outside,
}

fn read(folder: &Path, relative: &Path) -> io::Result<AppFile> {
    let root = fs::canonicalize(folder)?;
    let path = fs::canonicalize(root.join(relative))?;
    if !path.starts_with(&root) {
        return Ok(AppFile::Outside);
    }
    let (file, _) = FolderEntry::find(&root, &path)?.open()?;
    let mut bytes = Vec::new();
    file.take(APP_FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > APP_FILE_BYTES_MAX {
        true => Ok(AppFile::TooLarge),
        false => Ok(AppFile::Whole(bytes)),
    }
}

impl<W: Offload + Spawn> Files<W> {
    /// One file by its path below `folder`, whoever names it: none when there is no such file there, or when it is hidden.
    pub async fn send_within(
        &self,
        folder: PathBuf,
        path: &str,
        request: &Request,
    ) -> Option<HttpResponse> {
        let relative = below(path)?;
        let wish = FileRequest::of_named(request);
        let looked = self.worker.offload(move || {
            let root = fs::canonicalize(nonempty(&folder))?;
            let found = inside(&root, &root.join(&relative));
            let opened = found.and_then(|path| open(&root, &path, &wish));
            match opened {
                Ok(opened) => Ok(PathLookup::File(opened)),
                Err(error) if is_nothing(&error) => Ok(PathLookup::Nothing),
                Err(error) => Err(error),
            }
        });
        match looked.await {
            Ok(PathLookup::File(opened)) => Some(self.respond(opened, request, None)),
            Ok(_) => None,
            Err(error) => {
                tracing::warn!(%error, path, "a file could not be read");
                None
            }
        }
    }
}

/// The folder of a file that was named without one.
fn nonempty(folder: &Path) -> &Path {
    match folder.as_os_str().is_empty() {
        true => Path::new("."),
        false => folder,
    }
}

/// The path itself, where it is one below a folder.
fn below(path: &str) -> Option<PathBuf> {
    let is_name =
        |component: Component<'_>| matches!(component, Component::Normal(_) | Component::CurDir);
    let is_below = !path.is_empty()
        && path.len() <= FILE_PATH_BYTES_MAX
        && !path.contains('\0')
        && Path::new(path).components().all(is_name);
    is_below.then(|| PathBuf::from(path))
}

#[cfg(test)]
mod tests {
    use std::{cell::Cell, rc::Rc};

    use tokio::sync::Notify;

    use super::*;

    #[test]
    fn paths_stay_below_their_folder() {
        for path in ["a", "a/b.txt", "./a", "a/./b", ".hidden"] {
            assert!(below(path).is_some(), "{path}");
        }
        let long = "a".repeat(FILE_PATH_BYTES_MAX + 1);
        for path in ["", "/a", "..", "../a", "a/../../b", "a/..", "a\0b", &long] {
            assert!(below(path).is_none(), "{path}");
        }
    }

    /// Runs work at once, and gives its result when it is let go on.
    #[derive(Clone, Default)]
    struct HeldReads(Rc<HeldState>);

    #[derive(Default)]
    struct HeldState {
        reading: Cell<usize>,
        most: Cell<usize>,
        go_on: Notify,
    }

    impl Offload for HeldReads {
        async fn offload<T: Send + 'static>(
            &self,
            work: impl FnOnce() -> io::Result<T> + Send + 'static,
        ) -> io::Result<T> {
            let state = &self.0;
            state.reading.set(state.reading.get() + 1);
            state.most.set(state.most.get().max(state.reading.get()));
            let done = work();
            state.go_on.notified().await;
            state.reading.set(state.reading.get() - 1);
            // The next one goes on.
            state.go_on.notify_one();
            done
        }

        fn later(&self, work: impl FnOnce() + Send + 'static) {
            work();
        }
    }

    #[test]
    fn files_beyond_as_many_as_are_read_at_once_wait() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("words"), "hello").unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.unwrap().block_on(async {
            let reads = HeldReads::default();
            let read = || read_app_file(&reads, folder.path().to_owned(), "words");
            let all = (0..APP_FILES_READ_MAX + 1).map(|_| read());
            let all = futures_util::future::join_all(all);
            let start = async {
                tokio::task::yield_now().await;
                assert_eq!(reads.0.reading.get(), APP_FILES_READ_MAX);
                reads.0.go_on.notify_one();
            };
            let (all, ()) = tokio::join!(all, start);
            assert!(all.iter().all(|read| read.as_deref().unwrap() == b"hello"));
            assert_eq!(all.len(), APP_FILES_READ_MAX + 1);
            assert_eq!(reads.0.most.get(), APP_FILES_READ_MAX);
        });
    }

    #[test]
    fn file_is_read_unless_it_is_too_large_or_outside() {
        let outer = tempfile::tempdir().unwrap();
        let folder = outer.path().join("app");
        fs::create_dir_all(folder.join("data")).unwrap();
        fs::write(outer.path().join("secret"), "no").unwrap();
        fs::write(folder.join("data/words"), "hello").unwrap();
        std::os::unix::fs::symlink("../secret", folder.join("out")).unwrap();
        std::os::unix::fs::symlink("data/words", folder.join("in")).unwrap();
        let find = |path: &str| match read(&folder, Path::new(path)) {
            Ok(AppFile::Whole(bytes)) => String::from_utf8(bytes).unwrap(),
            Ok(AppFile::TooLarge) => "too large".to_owned(),
            Ok(AppFile::Outside) => "outside".to_owned(),
            Err(error) => error.kind().to_string(),
        };
        assert_eq!(find("data/words"), "hello");
        assert_eq!(find("in"), "hello");
        assert_eq!(find("out"), "outside");
        assert_eq!(find("none"), io::ErrorKind::NotFound.to_string());
        assert_eq!(find("data"), io::ErrorKind::NotFound.to_string());
        let large = fs::File::create(folder.join("large")).unwrap();
        large.set_len(APP_FILE_BYTES_MAX).unwrap();
        assert_eq!(find("large").len() as u64, APP_FILE_BYTES_MAX);
        large.set_len(APP_FILE_BYTES_MAX + 1).unwrap();
        assert_eq!(find("large"), "too large");
    }
}
