//! Reads a multipart form from a request: fields and small files into memory, larger files to disk. Decides nothing about the files.
//! No file is touched on the worker: all of it goes through [`Offload`]. A file on disk has no name, so a crash leaves nothing behind; neither has
//! one that is to take another's place, until all of it is there.

use std::{
    fs::{self, File, Permissions},
    future::Future,
    io::{self, Write},
    os::{
        fd::AsRawFd as _,
        unix::fs::{FileExt, PermissionsExt},
    },
    path::{Path, PathBuf},
    sync::Arc,
};

use bytes::{Bytes, BytesMut};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, open};

use crate::{
    byte_sum::{ByteShare, ByteSum},
    error::{Error, Result, check_limit},
    limits::{HttpLimits, SPOOL_WRITE_BYTES},
    multipart::{FormEvent, Parser, PartHead},
    request::RequestBody,
};

/// Runs blocking work somewhere else than on the worker.
pub trait Offload: Clone + 'static {
    /// Runs `work` and gives its result; an error when there is no room for it or it failed.
    fn offload<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> impl Future<Output = io::Result<T>>;

    /// Runs `work` some time later; no task waits for it.
    fn later(&self, work: impl FnOnce() + Send + 'static);
}

/// A part of a form.
#[derive(Debug)]
pub struct FormPart<O: Offload> {
    /// What the part says of itself. It is a file if it has a file name.
    pub head: PartHead,
    /// What it holds.
    pub content: PartContent<O>,
    offload: O,
}

/// What a part holds.
#[derive(Debug)]
pub enum PartContent<O: Offload> {
    /// A field, or a file of up to `upload_memory_max` bytes.
    Memory(Bytes),
    /// A larger file.
    Disk(UploadedFile<O>),
}

/// An uploaded file on disk. It is gone when this is dropped, unless it was saved.
#[derive(Debug)]
pub struct UploadedFile<O: Offload> {
    /// Taken only when this is dropped.
    file: Option<Arc<File>>,
    length: u64,
    /// Its bytes among those of all files on disk.
    share: Option<ByteShare>,
    offload: O,
}

/// The parts of a multipart body, in order. Files larger than `upload_memory_max` go to `directory`.
pub async fn read_form<O: Offload>(
    body: &mut RequestBody,
    content_type: &str,
    limits: &HttpLimits,
    directory: &Path,
    offload: &O,
) -> Result<Vec<FormPart<O>>> {
    let mut parser = Parser::new(content_type, limits)?;
    body.check_length("upload_bytes_max", limits.upload_bytes_max)?;
    let (load, uploads) = (body.load(), body.uploads());
    let mut received = 0;
    let mut parts = Vec::new();
    let mut open: Option<(PartHead, Collector<'_, O>)> = None;
    while let Some(piece) = body.piece().await? {
        received += piece.len() as u64;
        if received > limits.upload_bytes_max {
            return Err(body.too_large("upload_bytes_max", limits.upload_bytes_max));
        }
        body.keep(piece.len())?;
        parser.feed(&piece);
        while let Some(event) = parser.event()? {
            match event {
                FormEvent::Part(head) => {
                    let collector = Collector {
                        memory: BytesMut::new(),
                        spooled: None,
                        load: load.as_deref(),
                        uploads: uploads.as_ref(),
                        limits,
                        directory,
                        offload,
                    };
                    open = Some((head, collector));
                }
                FormEvent::Data(data) => {
                    if let Some((head, collector)) = &mut open {
                        collector.add(head, &data).await?;
                    }
                }
                FormEvent::PartEnd => {
                    if let Some((head, collector)) = open.take() {
                        parts.push(FormPart {
                            head,
                            content: collector.finish().await?,
                            offload: offload.clone(),
                        });
                    }
                }
                FormEvent::End => {}
            }
        }
    }
    parser.finish()?;
    Ok(parts)
}

/// Takes the content of one part.
struct Collector<'a, O: Offload> {
    memory: BytesMut,
    spooled: Option<UploadedFile<O>>,
    load: Option<&'a ByteShare>,
    uploads: Option<&'a Arc<ByteSum>>,
    limits: &'a HttpLimits,
    directory: &'a Path,
    offload: &'a O,
}

impl<O: Offload> Collector<'_, O> {
    async fn add(&mut self, head: &PartHead, data: &[u8]) -> Result<()> {
        self.memory.extend_from_slice(data);
        if head.filename.is_none() {
            let limit = self.limits.field_bytes_max;
            return check_limit("field_bytes_max", self.memory.len(), limit);
        }
        let kept_max = match self.spooled {
            Some(_) => SPOOL_WRITE_BYTES,
            None => self.limits.upload_memory_max,
        };
        match self.memory.len() > kept_max {
            true => self.write().await,
            false => Ok(()),
        }
    }

    /// Moves what is in memory to the end of the file.
    async fn write(&mut self) -> Result<()> {
        let bytes = self.memory.split().freeze();
        let length = bytes.len() as u64;
        let fresh = match self.spooled {
            Some(_) => None,
            None => self.uploads.map(ByteShare::new),
        };
        let spooled = self.spooled.as_ref();
        let share = spooled.map_or(fresh.as_ref(), |spooled| spooled.share.as_ref());
        if let Some(share) = share {
            share.add(bytes.len())?;
        }
        if let Some(load) = self.load {
            load.remove(bytes.len());
        }
        let there = spooled.map(|spooled| (spooled.file(), spooled.length));
        let directory = self.directory.to_owned();
        let append = move || {
            let (file, offset) = match there {
                Some((file, length)) => (file?, length),
                None => (Arc::new(tempfile::tempfile_in(directory)?), 0),
            };
            file.write_all_at(&bytes, offset)?;
            Ok(file)
        };
        let file = self.offload.offload(append).await.map_err(Error::Spool)?;
        match &mut self.spooled {
            Some(spooled) => spooled.length += length,
            None => {
                self.spooled = Some(UploadedFile {
                    file: Some(file),
                    length,
                    share: fresh,
                    offload: self.offload.clone(),
                });
            }
        }
        Ok(())
    }

    async fn finish(mut self) -> Result<PartContent<O>> {
        if self.spooled.is_some() && !self.memory.is_empty() {
            self.write().await?;
        }
        Ok(match self.spooled {
            Some(spooled) => PartContent::Disk(spooled),
            None => PartContent::Memory(self.memory.freeze()),
        })
    }
}

impl<O: Offload> FormPart<O> {
    /// Writes what it holds to a path, where nothing may be yet.
    ///
    /// # Errors
    /// [`Error::Spool`] when it cannot be written, and when something is there.
    pub async fn save(&self, path: PathBuf) -> Result<()> {
        let bytes = self.content.bytes();
        let write = move || bytes.write_to(&mut File::create_new(path)?);
        self.offload.offload(write).await.map_err(Error::Spool)
    }

    /// Writes what it holds to a path, in place of the file that is there, if one is. At every moment the path has all of the old file or all of
    /// the new one, after a crash too; readers that have opened the old one keep it. The new one has the mode of the old one, where there is one.
    /// A link at the path is replaced itself, not what it leads to.
    ///
    /// # Errors
    /// [`Error::Spool`] when it cannot be written. What was there still is.
    pub async fn replace(&self, path: PathBuf) -> Result<()> {
        let bytes = self.content.bytes();
        let replace = move || bytes.replace(&path);
        self.offload.offload(replace).await.map_err(Error::Spool)
    }
}

/// What a part holds, for a thread of the pool.
enum PartBytes {
    Memory(Bytes),
    Disk(Option<Arc<File>>),
}

/// What a new file may be, less the mask of the process.
const NEW_MODE: u32 = 0o666;

/// Files begin so that have a name and are not yet at their place.
const UNFINISHED: &str = ".upload-";

impl PartBytes {
    /// Puts a file with these bytes in the place of what is at a path.
    fn replace(&self, path: &Path) -> io::Result<()> {
        let folder = path.parent().filter(|path| !path.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        let old = fs::metadata(path).ok().filter(fs::Metadata::is_file);
        let mode = old.map(|old| old.permissions().mode() & 0o777);
        let mut prefix = tempfile::Builder::new();
        prefix.prefix(UNFINISHED);
        if let Some(file) = self.unnamed(folder, mode)? {
            let own = format!("/proc/self/fd/{}", file.as_raw_fd());
            let link = |name: &Path| Ok(linkat(CWD, &own, CWD, name, AtFlags::SYMLINK_FOLLOW)?);
            if let Ok(linked) = prefix.make_in(folder, link) {
                linked.persist(path)?;
                return Ok(());
            }
        }
        // Where files cannot be without a name, or cannot be given one.
        let mut file = prefix
            .permissions(Permissions::from_mode(mode.unwrap_or(NEW_MODE)))
            .tempfile_in(folder)?;
        self.finish(file.as_file_mut(), mode)?;
        file.persist(path)?;
        Ok(())
    }

    /// A whole file in this folder without a name; none where the file system knows no such files.
    fn unnamed(&self, folder: &Path, mode: Option<u32>) -> io::Result<Option<File>> {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let mode_bits = Mode::from_bits_truncate(mode.unwrap_or(NEW_MODE));
        let Ok(file) = open(folder, flags, mode_bits) else {
            return Ok(None);
        };
        let mut file = File::from(file);
        self.finish(&mut file, mode)?;
        Ok(Some(file))
    }

    /// Writes all of it to a new file. Without a mode it has what the process gives to new files.
    fn finish(&self, file: &mut File, mode: Option<u32>) -> io::Result<()> {
        self.write_to(file)?;
        if let Some(mode) = mode {
            file.set_permissions(Permissions::from_mode(mode))?;
        }
        file.sync_all()
    }

    fn write_to(&self, target: &mut impl Write) -> io::Result<()> {
        let file = match self {
            PartBytes::Memory(bytes) => return target.write_all(bytes),
            PartBytes::Disk(Some(file)) => file,
            PartBytes::Disk(None) => return Err(io::ErrorKind::NotFound.into()),
        };
        let mut piece = vec![0; SPOOL_WRITE_BYTES];
        let mut offset = 0;
        loop {
            let length = file.read_at(&mut piece, offset)?;
            let Some(read) = piece.get(..length).filter(|read| !read.is_empty()) else {
                return Ok(());
            };
            target.write_all(read)?;
            offset += length as u64;
        }
    }
}

impl<O: Offload> PartContent<O> {
    fn bytes(&self) -> PartBytes {
        match self {
            PartContent::Memory(bytes) => PartBytes::Memory(bytes.clone()),
            PartContent::Disk(spooled) => PartBytes::Disk(spooled.file.clone()),
        }
    }

    /// The length in bytes.
    pub fn length(&self) -> u64 {
        match self {
            PartContent::Memory(bytes) => bytes.len() as u64,
            PartContent::Disk(spooled) => spooled.length,
        }
    }
}

impl<O: Offload> UploadedFile<O> {
    /// The length in bytes.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Up to `count` bytes from `offset` on; fewer only at the end of the file.
    pub async fn read(&self, offset: u64, count: usize) -> Result<Bytes> {
        let file = self.file();
        let count = usize::try_from(self.length.saturating_sub(offset))
            .unwrap_or(usize::MAX)
            .min(count);
        let read = move || {
            let mut bytes = vec![0; count];
            file?.read_exact_at(&mut bytes, offset)?;
            Ok(Bytes::from(bytes))
        };
        self.offload.offload(read).await.map_err(Error::Spool)
    }

    fn file(&self) -> io::Result<Arc<File>> {
        self.file
            .clone()
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl<O: Offload> Drop for UploadedFile<O> {
    fn drop(&mut self) {
        // Closing the last handle frees the file's blocks, which takes time.
        if let Some(file) = self.file.take() {
            self.offload.later(move || drop(file));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn file_in_the_place_of_another_has_its_mode() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kept");
        let bytes = PartBytes::Memory(Bytes::from_static(b"new"));
        for old in [0o600, 0o640, 0o666] {
            fs::write(&path, "old").unwrap();
            fs::set_permissions(&path, Permissions::from_mode(old)).unwrap();
            bytes.replace(&path).unwrap();
            assert_eq!(fs::read(&path).unwrap(), b"new");
            assert_eq!(mode(&path), old);
            fs::remove_file(&path).unwrap();
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn file_has_no_name_before_all_of_it_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let bytes = PartBytes::Memory(Bytes::from_static(b"new"));
        // Without a name, a process that is killed leaves nothing; some file systems know no such files.
        let file = bytes.unnamed(folder.path(), Some(0o600)).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        if let Some(file) = file {
            assert_eq!(file.metadata().unwrap().len(), 3);
        }
        let gone = PartBytes::Disk(None);
        assert!(gone.replace(&folder.path().join("kept")).is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
