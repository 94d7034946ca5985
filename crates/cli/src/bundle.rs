//! An application inside its executable: a compressed archive and a trailer behind the program's own bytes. Decides neither what is put in
//! (`build` does) nor what is done with it.
//!
//! Layout, from the end: [`MAGIC`], the archive's length as 8 bytes with the least first, the archive (tar, compressed by gzip, whose checksum
//! finds damage), and before it the program, whose [`MARK`] says that there is one.
//! Rule: the mark decides. It is in the program's own bytes, so it outlasts whatever is done to those behind it: an executable that was cut, or has
//! bytes behind it, is an error, and never a `tsumugi` that serves what lies in the folder.
//! Rule: what was unpacked belongs to one process: a folder of its own, which goes with it. A command that takes no application unpacks nothing.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek as _, SeekFrom, Write};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::{Context as _, Result, ensure};
use flate2::read::GzDecoder;
use tsumugi_server::TemporaryFolder;

/// What `build` finds in a program into which it can put an application. Its last byte is [`WITHOUT`] here and [`WITH`] in what `build` writes;
/// another layout takes another number. The first byte stands in it once, by which it is found.
#[used]
static MARK: [u8; 32] = *b"\xf5tsumugi with an application 1:-";
/// The mark's last byte in a program by itself.
const WITHOUT: u8 = b'-';
/// The same in one that has an application.
const WITH: u8 = b'+';
/// Bytes that are looked at in a program at a time.
const PIECE_BYTES: usize = 64 * 1024;

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

/// Whether this file is the application of the executable.
pub fn is_application(file: &Path) -> bool {
    APPLICATION
        .get()
        .is_some_and(|application| application == file)
}

/// Whether this executable was built with an application, by its own bytes in memory: no file is read.
pub fn is_built_in() -> bool {
    mark().last() == Some(&WITH)
}

/// The mark as it is in this executable, where `build` may have changed it: the compiler must not reckon with the bytes above.
fn mark() -> &'static [u8; 32] {
    std::hint::black_box(&MARK)
}

/// Where the archive is in an executable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ArchivePlace {
    start: u64,
    bytes: u64,
}

impl ArchivePlace {
    /// Of an open file; none where it does not end with a whole archive and its trailer.
    fn of(file: &mut File) -> io::Result<Option<ArchivePlace>> {
        let length = file.metadata()?.len();
        let Some(end) = length.checked_sub(TRAILER_BYTES) else {
            return Ok(None);
        };
        file.seek(SeekFrom::Start(end))?;
        let mut trailer = [0; TRAILER_BYTES as usize];
        file.read_exact(&mut trailer)?;
        let (bytes, magic) = trailer.split_at(8);
        if magic != MAGIC {
            return Ok(None);
        }
        let bytes = u64::from_le_bytes(bytes.try_into().unwrap_or_default());
        let start = end.checked_sub(bytes);
        Ok(start.map(|start| ArchivePlace { start, bytes }))
    }
}

/// The application of this executable, not unpacked yet.
#[derive(Debug)]
pub struct Bundle {
    path: PathBuf,
    file: File,
    place: ArchivePlace,
}

impl Bundle {
    /// That of this executable, which [has one](is_built_in).
    ///
    /// # Errors
    /// Where it cannot be read, or is no longer as it was built.
    pub fn open() -> Result<Bundle> {
        let path = std::env::current_exe()
            .context("cannot find this executable, in which the application is")?;
        let mut file = File::open(&path).with_context(|| unusable(&path))?;
        let place = ArchivePlace::of(&mut file).with_context(|| unusable(&path))?;
        let place = place.with_context(|| {
            let what = "it is cut, or has bytes behind it: build it anew, or copy it anew (`strip` cuts it)";
            format!("{}: {what}", unusable(&path))
        })?;
        Ok(Bundle { path, file, place })
    }

    /// The name of the application file. Unpacks nothing.
    ///
    /// # Errors
    /// Where it cannot be read, or is damaged.
    pub fn application(mut self) -> Result<String> {
        self.file.seek(SeekFrom::Start(self.place.start))?;
        let name = read_entry(self.file.take(self.place.bytes));
        name.with_context(|| unusable(&self.path))
    }

    /// Unpacks it into a folder of this process, which lasts as long as what this answers.
    ///
    /// # Errors
    /// Where there is no place for it, or it is damaged.
    pub fn unpack(mut self) -> Result<TemporaryFolder> {
        self.file.seek(SeekFrom::Start(self.place.start))?;
        let folder = TemporaryFolder::make(PREFIX, "the application in this executable")?;
        let archive = self.file.take(self.place.bytes);
        let application = unpack_into(archive, folder.path());
        let application = application.with_context(|| unusable(&self.path))?;
        tsumugi_server::hide_folder(folder.path());
        let _ = APPLICATION.set(application);
        Ok(folder)
    }
}

/// The name of the application file in an archive.
fn read_entry(archive: impl Read) -> Result<String> {
    let mut archive = tar::Archive::new(GzDecoder::new(archive));
    let first = archive
        .entries()
        .and_then(|mut entries| entries.next().transpose());
    let mut name = String::new();
    let mut first = first.context("it is damaged")?.context("it is empty")?;
    ensure!(
        first.path().is_ok_and(|path| path == Path::new(ENTRY)),
        "it names no application file"
    );
    first.read_to_string(&mut name).context("it is damaged")?;
    Ok(name)
}

fn unusable(path: &Path) -> String {
    format!("cannot use the application in {}", path.display())
}

/// Unpacks an archive; the path of the application file in the folder.
///
/// # Errors
/// Where the folder cannot be written, or the archive is damaged.
pub fn unpack_into(archive: impl Read, folder: &Path) -> Result<PathBuf> {
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

/// Adds the name of the application file to an archive, as its first entry.
pub fn write_entry(archive: &mut tar::Builder<impl Write>, application: &str) -> io::Result<()> {
    let mut header = tar::Header::new_ustar();
    header.set_size(application.len() as u64);
    header.set_mode(0o600);
    header.set_cksum();
    archive.append_data(&mut header, ENTRY, application.as_bytes())
}

/// Writes the trailer of an archive of so many bytes.
pub fn write_trailer(mut to: impl Write, archive_bytes: u64) -> io::Result<()> {
    to.write_all(&archive_bytes.to_le_bytes())?;
    to.write_all(MAGIC)
}

/// Whether a file is an executable with an application behind it; one that cannot be read is none. Callers have looked at its type: to open a pipe
/// waits for its writer.
pub fn is_executable_with_application(file: &Path) -> bool {
    let read = || {
        let mut file = File::open(file)?;
        Ok::<_, io::Error>(is_executable(&mut file)? && ArchivePlace::of(&mut file)?.is_some())
    };
    read().unwrap_or(false)
}

/// Whether a file begins as executables of Linux do: ELF with the least byte first, of a type that can be started (`ET_EXEC`, `ET_DYN`).
fn is_executable(file: &mut File) -> io::Result<bool> {
    let mut head = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.take(18).read_to_end(&mut head)?;
    Ok(matches!(
        head[..],
        [0x7f, b'E', b'L', b'F', _, 1, .., 2 | 3, 0]
    ))
}

/// A program into which an application can be put.
#[derive(Debug)]
pub struct Program {
    file: File,
    /// Without the application that it may have already.
    bytes: u64,
    /// Where the last byte of its mark is.
    mark_at: u64,
}

impl Program {
    /// Of a file.
    ///
    /// # Errors
    /// Where it is none of this layout, with what to give instead.
    pub fn open(path: &Path) -> Result<Program> {
        let unreadable = || format!("cannot read {}", path.display());
        let metadata = std::fs::metadata(path).with_context(unreadable)?;
        // Before it is opened: a pipe would wait, and a device may have no end.
        ensure!(metadata.is_file(), "{} is no file: {GIVE}", path.display());
        let mut file = File::open(path).with_context(unreadable)?;
        ensure!(
            is_executable(&mut file).with_context(unreadable)?,
            "{} is no executable of Linux: {GIVE}",
            path.display()
        );
        let place = ArchivePlace::of(&mut file).with_context(unreadable)?;
        let bytes = place.map_or(metadata.len(), |place| place.start);
        file.seek(SeekFrom::Start(0)).with_context(unreadable)?;
        let mark = find_mark((&file).take(bytes)).with_context(unreadable)?;
        let (mark_at, state) = mark.with_context(|| {
            format!(
                "{} takes no applications of this version ({}), or is no tsumugi: {GIVE}",
                path.display(),
                env!("CARGO_PKG_VERSION")
            )
        })?;
        ensure!(
            state == WITHOUT || place.is_some(),
            "{} had an application, and is cut or has bytes behind it: {GIVE}",
            path.display()
        );
        Ok(Program {
            file,
            bytes,
            mark_at,
        })
    }

    /// Writes the program into an empty file, as one with an application behind it.
    pub fn copy_to(&mut self, to: &mut File) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(0))?;
        io::copy(&mut (&self.file).take(self.bytes), to)?;
        to.write_all_at(&[WITH], self.mark_at)
    }
}

/// What to do about a `--program` that cannot be used.
const GIVE: &str = "give --program the executable tsumugi itself, not a package, an archive or the .debug file beside it";

/// Where the last byte of the mark is in a program, and that byte.
fn find_mark(program: impl Read) -> io::Result<Option<(u64, u8)>> {
    let mut program = BufReader::with_capacity(PIECE_BYTES, program);
    let [first, rest @ .., _] = mark();
    let mut at = 0;
    loop {
        let skipped = program.skip_until(*first)?;
        if skipped == 0 {
            return Ok(None);
        }
        at += skipped as u64;
        let mut matched = 0;
        // A byte that is another is read again: it may be the first of the mark. Those before it are not.
        while let Some(expected) = rest.get(matched)
            && program.fill_buf()?.first() == Some(expected)
        {
            program.consume(1);
            matched += 1;
        }
        at += matched as u64;
        if matched == rest.len() {
            let state = program.fill_buf()?.first();
            return Ok(state.map(|state| (at, *state)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(program: &[u8], expected: Option<(u64, u8)>) {
        assert_eq!(find_mark(program).unwrap(), expected);
    }

    #[test]
    fn mark_is_found_behind_what_begins_like_it_and_between_pieces() {
        let mark = *mark();
        let first = &mark[..1];
        check(b"", None);
        check(first, None);
        check(&mark[..31], None);
        check(&mark, Some((31, WITHOUT)));
        check(&[first, &mark].concat(), Some((32, WITHOUT)));
        check(&[&mark[..20], &mark].concat(), Some((51, WITHOUT)));
        for before in PIECE_BYTES - 32..=PIECE_BYTES {
            let program = [&vec![0; before], &mark[..31], b"+"].concat();
            check(&program, Some((before as u64 + 31, WITH)));
        }
    }

    #[test]
    fn name_of_the_application_is_read_from_the_archive_alone() {
        let mut archive = tar::Builder::new(flate2::write::GzEncoder::new(
            Vec::new(),
            flate2::Compression::default(),
        ));
        write_entry(&mut archive, "shop.rb").unwrap();
        let archive = archive.into_inner().and_then(|packed| packed.finish());
        let archive = archive.unwrap();
        assert_eq!(read_entry(&archive[..]).unwrap(), "shop.rb");
        assert!(read_entry(&archive[..10]).is_err());
    }

    #[test]
    fn mark_begins_with_a_byte_that_it_has_once() {
        let [first, rest @ ..] = mark();
        assert!(!rest.contains(first));
        assert_eq!(rest.last(), Some(&WITHOUT));
    }
}
