//! The folder in which account, certificates and open challenges are kept, a part of it for each directory. Knows no protocol.
//! Rule: files are for their user alone and change as a whole or not at all; who orders has the lock, which the system lets go of with the process.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use ring::digest::{SHA256, digest};

use crate::challenge::{ChallengeFolder, is_token};
use crate::error::Error;
use crate::limits::ACME_FILE_BYTES_MAX;
use crate::settings::{AcmeSettings, DomainName};

/// Files that are being written begin so.
const UNFINISHED: &str = ".unfinished-";

/// The part of the folder that is for one directory, and there for one set of names.
#[derive(Debug)]
pub(crate) struct AcmeCache {
    folder: PathBuf,
    certificate: PathBuf,
    challenges: ChallengeFolder,
}

/// By what a change of a file is noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileStamp {
    inode: u64,
    bytes: u64,
    seconds: i64,
    nanoseconds: i64,
}

/// The right to order. It ends with its value, and with the process.
#[derive(Debug)]
pub(crate) struct OrderLock(#[expect(dead_code, reason = "the lock is its descriptor's")] File);

impl AcmeCache {
    /// Makes the folder, if it is not there.
    pub fn open(settings: &AcmeSettings) -> Result<AcmeCache, Error> {
        let folder = settings.cache.join(settings.directory.folder_name());
        let challenges = folder.join("challenges");
        let made = DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&challenges);
        made.map_err(|source| unusable(&challenges, source))?;
        // What cannot be written is reported at the start, and not when something has been issued.
        let trial = tempfile::Builder::new()
            .prefix(UNFINISHED)
            .tempfile_in(&folder);
        trial.map_err(|source| unusable(&folder, source))?;
        Ok(AcmeCache {
            certificate: folder.join(certificate_file(settings.names())),
            challenges: ChallengeFolder::new(challenges),
            folder,
        })
    }

    /// The file of the certificate and its key, in PEM.
    pub fn certificate_path(&self) -> &Path {
        &self.certificate
    }

    /// Where the account is.
    pub fn account_path(&self) -> PathBuf {
        self.folder.join("account.json")
    }

    /// The answers of HTTP-01.
    pub fn challenges(&self) -> &ChallengeFolder {
        &self.challenges
    }

    /// By what a change of the certificate is noticed; none when it is not there.
    pub fn certificate_stamp(&self) -> Result<Option<FileStamp>, Error> {
        match fs::metadata(&self.certificate) {
            Ok(found) => Ok(Some(FileStamp {
                inode: found.ino(),
                bytes: found.size(),
                seconds: found.mtime(),
                nanoseconds: found.mtime_nsec(),
            })),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(source) => Err(unusable(&self.certificate, source)),
        }
    }

    /// The file of the certificate, if it is there.
    pub fn read_certificate(&self) -> Result<Option<Vec<u8>>, Error> {
        read(&self.certificate)
    }

    /// Replaces the file of the certificate.
    pub fn write_certificate(&self, pem: &str) -> Result<(), Error> {
        self.write(&self.certificate, pem.as_bytes())
    }

    /// The file of the account, if it is there.
    pub fn read_account(&self) -> Result<Option<Vec<u8>>, Error> {
        read(&self.account_path())
    }

    /// Replaces the file of the account.
    pub fn write_account(&self, json: &[u8]) -> Result<(), Error> {
        self.write(&self.account_path(), json)
    }

    /// Puts the file of the account out of the way, where it can be looked at.
    pub fn set_account_aside(&self) -> Result<(), Error> {
        let path = self.account_path();
        let aside = self.folder.join("account.json.unusable");
        fs::rename(&path, aside).map_err(|source| unusable(&path, source))
    }

    /// The right to order, unless another process has it.
    pub fn lock(&self) -> Result<Option<OrderLock>, Error> {
        let path = self.folder.join("lock");
        let opened = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(&path);
        let file = opened.map_err(|source| unusable(&path, source))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(OrderLock(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(source)) => Err(unusable(&path, source)),
        }
    }

    /// Removes what a process has left behind that was killed while it ordered. Nobody else may be ordering.
    pub fn sweep(&self, _: &OrderLock) {
        let entries = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten();
        for entry in entries(self.challenges.path()) {
            // What cannot be removed does no harm.
            let _ = fs::remove_file(entry.path());
        }
        for entry in entries(&self.folder) {
            if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    /// Has each process that shares the folder answer a token.
    pub fn put_challenge(&self, token: &str, answer: &str) -> Result<(), Error> {
        let path = self.challenges.path().join(token);
        if !is_token(token) {
            let source = io::Error::new(ErrorKind::InvalidInput, "its name is no token");
            return Err(unusable(self.challenges.path(), source));
        }
        self.write(&path, answer.as_bytes())
    }

    /// Has no process answer the token any longer.
    pub fn remove_challenge(&self, token: &str) {
        if is_token(token) {
            let _ = fs::remove_file(self.challenges.path().join(token));
        }
    }

    /// Replaces a file as a whole. It is for its user alone, as temporary files are.
    fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), Error> {
        let write = || -> io::Result<()> {
            let mut file = tempfile::Builder::new()
                .prefix(UNFINISHED)
                .tempfile_in(&self.folder)?;
            file.write_all(bytes)?;
            file.as_file().sync_all()?;
            file.persist(path)?;
            let folder = path.parent().unwrap_or(&self.folder);
            File::open(folder)?.sync_all()
        };
        write().map_err(|source| unusable(path, source))
    }
}

fn read(path: &Path) -> Result<Option<Vec<u8>>, Error> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(unusable(path, source)),
    };
    let mut bytes = Vec::new();
    let read = file.take(ACME_FILE_BYTES_MAX + 1).read_to_end(&mut bytes);
    read.map_err(|source| unusable(path, source))?;
    if bytes.len() as u64 > ACME_FILE_BYTES_MAX {
        let text = format!("it is larger than ACME_FILE_BYTES_MAX ({ACME_FILE_BYTES_MAX})");
        return Err(unusable(path, io::Error::new(ErrorKind::InvalidData, text)));
    }
    Ok(Some(bytes))
}

/// A name for the certificate of these names, whatever their order: the first of them to be found by, and a digest of all.
fn certificate_file(names: &[DomainName]) -> String {
    let mut sorted: Vec<&str> = names.iter().map(DomainName::as_str).collect();
    sorted.sort_unstable();
    let all = digest(&SHA256, sorted.join(",").as_bytes());
    let mark = all.as_ref().iter().take(4);
    let mark: String = mark.map(|byte| format!("{byte:02x}")).collect();
    // Names of files have 255 bytes at most.
    let first: String = sorted.first().unwrap_or(&"").chars().take(200).collect();
    format!("{first}-{mark}.pem")
}

fn unusable(path: &Path, source: io::Error) -> Error {
    Error::Cache {
        path: path.to_owned(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn settings(folder: &Path, names: &[&str]) -> AcmeSettings {
        let names: Vec<DomainName> = names.iter().map(|name| name.parse().unwrap()).collect();
        AcmeSettings::new(&names, folder.join("cache")).unwrap()
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn files_and_folders_are_for_their_user_alone() {
        let folder = tempfile::tempdir().unwrap();
        let settings = settings(folder.path(), &["a.example"]);
        let cache = AcmeCache::open(&settings).unwrap();
        assert_eq!(cache.read_certificate().unwrap(), None);
        assert_eq!(cache.certificate_stamp().unwrap(), None);
        cache.write_certificate("first").unwrap();
        let first = cache.certificate_stamp().unwrap();
        cache.write_certificate("other").unwrap();
        assert_ne!(cache.certificate_stamp().unwrap(), first);
        assert_eq!(cache.read_certificate().unwrap().unwrap(), b"other");
        cache.write_account(b"{}").unwrap();
        cache.put_challenge("token", "answer").unwrap();
        assert!(cache.put_challenge("../token", "answer").is_err());
        for path in [
            cache.certificate_path(),
            &cache.account_path(),
            &cache.challenges().path().join("token"),
        ] {
            assert_eq!(mode(path), 0o600, "{}", path.display());
        }
        assert_eq!(mode(&settings.cache), 0o700);
        assert_eq!(mode(&cache.folder), 0o700);
        cache.set_account_aside().unwrap();
        assert_eq!(cache.read_account().unwrap(), None);
    }

    #[test]
    fn lock_is_one_processs_and_ends_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let settings = settings(folder.path(), &["a.example"]);
        let first = AcmeCache::open(&settings).unwrap();
        let second = AcmeCache::open(&settings).unwrap();
        let lock = first.lock().unwrap().unwrap();
        assert!(second.lock().unwrap().is_none());
        first.put_challenge("token", "answer").unwrap();
        fs::write(first.folder.join(".unfinished-1"), "half").unwrap();
        first.sweep(&lock);
        assert_eq!(second.challenges().answer("token").unwrap(), None);
        assert!(!first.folder.join(".unfinished-1").exists());
        drop(lock);
        assert!(second.lock().unwrap().is_some());
    }

    #[test]
    fn certificate_of_the_same_names_is_one_file() {
        let folder = Path::new("x");
        let file = |names: &[&str]| certificate_file(settings(folder, names).names());
        assert_eq!(
            file(&["b.example", "a.example"]),
            file(&["a.example", "b.example"])
        );
        assert_ne!(file(&["a.example"]), file(&["a.example", "b.example"]));
        assert!(file(&["a.example"]).starts_with("a.example-"));
    }

    #[test]
    fn file_of_one_byte_beyond_the_limit_is_refused_and_not_cut() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("account.json");
        let file = File::create(&path).unwrap();
        file.set_len(ACME_FILE_BYTES_MAX).unwrap();
        let whole = read(&path).unwrap().unwrap();
        assert_eq!(whole.len() as u64, ACME_FILE_BYTES_MAX);
        file.set_len(ACME_FILE_BYTES_MAX + 1).unwrap();
        let error = read(&path).unwrap_err().to_string();
        assert!(
            error.contains("account.json") && error.contains("ACME_FILE_BYTES_MAX"),
            "{error}"
        );
    }

    #[test]
    fn folder_that_cannot_be_used_is_named() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("cache"), "a file").unwrap();
        let error = AcmeCache::open(&settings(folder.path(), &["a.example"])).unwrap_err();
        assert!(error.to_string().contains("cache"), "{error}");
    }
}
