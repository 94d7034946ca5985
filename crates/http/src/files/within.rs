//! Files of one folder by their paths in it, as an application names them: read whole, or sent. Knows no path of a request.
//! Rule: no path leaves its folder, by `..`, from the root or by a link, whoever has made it.

use std::{
    fs, io,
    io::Read as _,
    path::{Component, Path, PathBuf},
};

use bytes::Bytes;

use super::{FileRequest, Files, PathLookup, inside, is_nothing, open, open_regular};
use crate::{
    handler::Spawn,
    limits::{FILE_PATH_BYTES_MAX, OWN_FILE_BYTES_MAX},
    request::Request,
    response::HttpResponse,
    upload::Offload,
};

/// Why a file of a folder was not read.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum OwnFileError {
    /// The path leads out of the folder, or is none. Name a file below it.
    #[error("{path:?} is no path of a file below the folder {}", folder.display())]
    Outside {
        /// The path as it was given.
        path: String,
        /// The folder.
        folder: PathBuf,
    },
    /// The file is too large to be read whole. Send it as it is, or keep it smaller.
    #[error("the file {path:?} is larger than own_file_bytes_max ({OWN_FILE_BYTES_MAX}, built in)")]
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

/// A whole file by its path below `folder`, read off the worker.
///
/// # Errors
/// See [`OwnFileError`].
pub async fn read_own_file<O: Offload>(
    offload: &O,
    folder: PathBuf,
    path: &str,
) -> Result<Bytes, OwnFileError> {
    let given = path.to_owned();
    let folder = nonempty(&folder).to_owned();
    let Some(relative) = below(path) else {
        return Err(OwnFileError::Outside {
            path: given,
            folder,
        });
    };
    let root = folder.clone();
    let read = offload.offload(move || read(&root, &relative)).await;
    match read {
        Ok(OwnFile::Whole(bytes)) => Ok(bytes.into()),
        Ok(OwnFile::TooLarge) => Err(OwnFileError::TooLarge { path: given }),
        Ok(OwnFile::Outside) => Err(OwnFileError::Outside {
            path: given,
            folder,
        }),
        Err(source) => Err(OwnFileError::Io {
            path: given,
            folder,
            source,
        }),
    }
}

enum OwnFile {
    Whole(Vec<u8>),
    TooLarge,
    Outside,
}

fn read(folder: &Path, relative: &Path) -> io::Result<OwnFile> {
    let root = fs::canonicalize(folder)?;
    let path = fs::canonicalize(root.join(relative))?;
    if !path.starts_with(&root) {
        return Ok(OwnFile::Outside);
    }
    let (file, _) = open_regular(&path)?;
    let mut bytes = Vec::new();
    file.take(OWN_FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > OWN_FILE_BYTES_MAX {
        true => Ok(OwnFile::TooLarge),
        false => Ok(OwnFile::Whole(bytes)),
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
        let wish = FileRequest::of(request);
        let looked = self.worker.offload(move || {
            let root = fs::canonicalize(nonempty(&folder))?;
            let opened = inside(&root, &root.join(&relative)).and_then(|path| open(&path, &wish));
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
            Ok(OwnFile::Whole(bytes)) => String::from_utf8(bytes).unwrap(),
            Ok(OwnFile::TooLarge) => "too large".to_owned(),
            Ok(OwnFile::Outside) => "outside".to_owned(),
            Err(error) => error.kind().to_string(),
        };
        assert_eq!(find("data/words"), "hello");
        assert_eq!(find("in"), "hello");
        assert_eq!(find("out"), "outside");
        assert_eq!(find("none"), io::ErrorKind::NotFound.to_string());
        assert_eq!(find("data"), io::ErrorKind::NotFound.to_string());
        let large = fs::File::create(folder.join("large")).unwrap();
        large.set_len(OWN_FILE_BYTES_MAX).unwrap();
        assert_eq!(find("large").len() as u64, OWN_FILE_BYTES_MAX);
        large.set_len(OWN_FILE_BYTES_MAX + 1).unwrap();
        assert_eq!(find("large"), "too large");
    }
}
