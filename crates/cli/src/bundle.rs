//! An application inside its executable: a compressed archive and a trailer behind the program's own bytes. Decides neither what is put in
//! (`build` does) nor what is done with it.
//!
//! Layout, from the end: [`MAGIC`], the archive's length as 8 bytes with the least first, the archive (tar, compressed by gzip, whose checksum
//! finds damage), and before it the program. Programs without the trailer are as they are.
//! Rule: what was unpacked belongs to one process: a folder of its own, which goes with it. A command that takes no application unpacks nothing.

use std::fs::File;
use std::io::{self, Read, Seek as _, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::{Context as _, Result};
use flate2::read::GzDecoder;
use tsumugi_server::TemporaryFolder;

/// How an executable with an application ends. Another layout takes another last byte.
const MAGIC: &[u8; 16] = b"\0tsumugi-bundle1";
/// The length and the magic.
const TRAILER_BYTES: u64 = 8 + MAGIC.len() as u64;
/// Folders of what was unpacked begin so.
const PREFIX: &str = "tsumugi-app-";
/// The application file in the archive, by the name that its author gave it: a text file of that name.
const ENTRY: &str = ".tsumugi-entry";

/// The unpacked application of this process.
static APPLICATION: OnceLock<PathBuf> = OnceLock::new();

/// The application file of commands that are given none: that of this executable, else `app.rb` where one is.
pub fn default_application() -> PathBuf {
    let unpacked = APPLICATION.get().cloned();
    unpacked.unwrap_or_else(|| PathBuf::from("app.rb"))
}

/// Whether the application of this process was unpacked from its executable.
pub fn is_there() -> bool {
    APPLICATION.get().is_some()
}

/// The application of this executable, not unpacked yet.
#[derive(Debug)]
pub struct Bundle {
    path: PathBuf,
    file: File,
    layout: ExecutableLayout,
}

/// Where the parts of an executable are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExecutableLayout {
    /// Bytes of the program itself.
    pub program_bytes: u64,
    /// Bytes of the archive behind it; 0 of a program that has none.
    archive_bytes: u64,
}

impl ExecutableLayout {
    /// Of an open executable.
    ///
    /// # Errors
    /// When it cannot be read, or its trailer says more than there is.
    pub fn of(file: &mut File) -> io::Result<ExecutableLayout> {
        let length = file.metadata()?.len();
        let plain = ExecutableLayout {
            program_bytes: length,
            archive_bytes: 0,
        };
        let Some(end) = length.checked_sub(TRAILER_BYTES) else {
            return Ok(plain);
        };
        file.seek(SeekFrom::Start(end))?;
        let mut trailer = [0; TRAILER_BYTES as usize];
        file.read_exact(&mut trailer)?;
        let (archive, magic) = trailer.split_at(8);
        if magic != MAGIC {
            return Ok(plain);
        }
        let archive_bytes = u64::from_le_bytes(archive.try_into().unwrap_or_default());
        let program_bytes = end.checked_sub(archive_bytes).ok_or_else(|| {
            let text = "the application in it is cut: copy the file again, or build it again";
            io::Error::new(io::ErrorKind::InvalidData, text)
        })?;
        Ok(ExecutableLayout {
            program_bytes,
            archive_bytes,
        })
    }
}

/// Writes the trailer of an archive of so many bytes.
pub fn write_trailer(mut to: impl Write, archive_bytes: u64) -> io::Result<()> {
    to.write_all(&archive_bytes.to_le_bytes())?;
    to.write_all(MAGIC)
}

/// Adds the name of the application file to an archive, as its first entry.
pub fn write_entry(archive: &mut tar::Builder<impl Write>, application: &str) -> io::Result<()> {
    let mut header = tar::Header::new_ustar();
    header.set_size(application.len() as u64);
    header.set_mode(0o600);
    header.set_cksum();
    archive.append_data(&mut header, ENTRY, application.as_bytes())
}

impl Bundle {
    /// That of this executable, if it has one.
    ///
    /// # Errors
    /// Where what is behind the program makes no sense.
    pub fn find() -> Result<Option<Bundle>> {
        let Ok(path) = std::env::current_exe() else {
            return Ok(None);
        };
        // One that cannot be read (mode 0111) has none that could be served.
        let Ok(mut file) = File::open(&path) else {
            return Ok(None);
        };
        let layout = ExecutableLayout::of(&mut file).with_context(|| unusable(&path))?;
        let bundle = Bundle { path, file, layout };
        Ok((layout.archive_bytes > 0).then_some(bundle))
    }

    /// Unpacks it into a folder of this process, which lasts as long as what this answers.
    ///
    /// # Errors
    /// Where there is no place for it, or it is damaged.
    pub fn unpack(mut self) -> Result<TemporaryFolder> {
        self.file.seek(SeekFrom::Start(self.layout.program_bytes))?;
        let folder = TemporaryFolder::make(PREFIX, "the application in this executable")?;
        let archive = self.file.take(self.layout.archive_bytes);
        let entry = unpack_into(archive, folder.path());
        let application = entry.with_context(|| unusable(&self.path))?;
        let _ = APPLICATION.set(application);
        Ok(folder)
    }
}

fn unusable(path: &Path) -> String {
    format!("cannot use the application in {}", path.display())
}

/// Unpacks an archive; the path of the application file in the folder.
fn unpack_into(archive: impl Read, folder: &Path) -> Result<PathBuf> {
    let mut archive = tar::Archive::new(GzDecoder::new(archive));
    archive.set_preserve_permissions(true);
    archive.unpack(folder).context("it is damaged")?;
    // The rest of the compressed bytes, with the checksum, which tar has no reason to read.
    io::copy(&mut archive.into_inner(), &mut io::sink()).context("it is damaged")?;
    let entry = folder.join(ENTRY);
    let name = std::fs::read_to_string(&entry).context("it names no application file")?;
    std::fs::remove_file(entry)?;
    Ok(folder.join(name))
}
