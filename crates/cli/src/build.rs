//! `tsumugi build`: an application and the files beside it inside one executable, which is this program with an archive behind it. What such an
//! executable does when it starts is in `bundle`.
//! Rule: the same files make the same bytes, so nothing of the machine is noted but the times of files, by which browsers know them.

use std::fs::{DirBuilder, File};
use std::io::{self, BufWriter, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use flate2::Compression;
use flate2::write::GzEncoder;
use tempfile::NamedTempFile;
use tsumugi_server::{TemporaryFolder, commands, without_temporary_name};

use crate::bundle::{self, Program};
use crate::limits::{BUNDLE_BYTES_MAX, BUNDLE_DEPTH_MAX, BUNDLE_FILES_MAX};
use crate::{application, check, serve};

/// What `tsumugi build --help` shows below its options.
pub const HELP: &str = "\
Examples:
  tsumugi build                       the folder of app.rb, as an executable of its name
  tsumugi build app.rb -o shop        the same as the executable shop
  ./shop --listen 0.0.0.0:8080        serves it, with the options of tsumugi serve
  ./shop migrate up                   its migrations, console, routes, jobs: as of tsumugi
  tsumugi build shop/ --list          what would be put in, without writing

Everything in the folder is put in but hidden files (folders .well-known are put in), the
folders data, test, target and node_modules directly in it, executables of earlier builds,
and what --exclude names. The executable needs no Ruby and no tsumugi where it runs; it
unpacks its files into a private folder below TMPDIR (/tmp) while it runs. Its data are
where they are with tsumugi serve: in ./data, or --data DIR.";

/// Options of `build`.
#[derive(clap::Args)]
pub struct Arguments {
    /// The application file, or a folder with an app.rb
    #[arg(default_value = "app.rb")]
    app: PathBuf,
    /// The executable to write. By default one in this folder that is named after the application: after its file, or the folder of an
    /// app.rb, with .bin behind it where a folder has that name. It replaces nothing then but what an earlier build has made
    #[arg(long, short, value_name = "FILE", conflicts_with = "list")]
    output: Option<PathBuf>,
    /// Leave out files and folders of this name, or this path from the application's folder
    #[arg(long, value_name = "NAME")]
    exclude: Vec<PathBuf>,
    /// Say what would be put in, and write nothing
    #[arg(long)]
    list: bool,
    /// Build without loading first what is put in, as where its database is not to be had
    #[arg(long)]
    no_check: bool,
    /// The program to put it into, in place of this one: a tsumugi for another system
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
}

/// Folders directly in that of the application which are no part of it.
const EXCLUDED_FOLDERS: [&str; 4] = ["data", "test", "target", "node_modules"];
/// The hidden folder that is served below one of files (RFC 8615).
const WELL_KNOWN: &str = ".well-known";
/// Folders in which is built begin so.
const PREFIX: &str = "tsumugi-build-";

/// Builds.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let app = match arguments.app.is_dir() {
        true => arguments.app.join("app.rb"),
        false => arguments.app.clone(),
    };
    application::find(&app)?;
    let output = match (&arguments.output, arguments.list) {
        (_, true) => None,
        (Some(path), _) => Some(BuildOutput {
            path: path.clone(),
            replacement: Replacement::Allowed,
        }),
        (None, _) => Some(default_output(&check::name_of(&app))?),
    };
    let output_path = output.as_ref().map(|output| output.path.as_path());
    let mut files = FileList::new(&serve::folder_of(&app), arguments, output_path)?;
    files.collect(Path::new(""), 0)?;
    files.entries.sort();
    let name = app.file_name().context("the application has no name")?;
    let name = name
        .to_str()
        .context("the name of the application file is no UTF-8")?;
    ensure!(
        files
            .entries
            .iter()
            .any(|(path, _)| path == Path::new(name)),
        "{name} itself is excluded: a hidden file or the name of an --exclude"
    );
    let Some(output) = &output else {
        commands::print(files.list() + &files.left_out() + &files.sum())?;
        return Ok(ExitCode::SUCCESS);
    };
    ensure!(
        !output.path.is_dir(),
        "{} is a folder; name another file with -o",
        output.path.display()
    );
    let program = match &arguments.program {
        Some(program) => program.clone(),
        None => std::env::current_exe().context("cannot find this program")?,
    };
    let program = Program::open(&program)?;
    let folder = TemporaryFolder::make(PREFIX, "the application")?;
    let mut archive = pack(folder.path(), name, &files)?;
    if !arguments.no_check {
        check_loads(folder.path(), &mut archive, &files)?;
    }
    let length = write(output, program, archive)?;
    commands::print(format!(
        "{}built {}: {} of {} in all\n",
        files.left_out(),
        output.path.display(),
        files.sum().trim_end(),
        megabytes(length)
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// Where the executable is written.
#[derive(Debug)]
struct BuildOutput {
    path: PathBuf,
    replacement: Replacement,
}

/// Whether a file that is there is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Replacement {
    /// Its name was written, or an earlier build has made it.
    Allowed,
    /// Nothing was there when the name was chosen.
    Refused,
}

/// Where an application of this name is built when it was not said: a file in this folder.
fn default_output(name: &str) -> Result<BuildOutput> {
    let named = PathBuf::from(name);
    let path = match named.is_dir() {
        true => PathBuf::from(format!("{name}.bin")),
        false => named,
    };
    let Ok(metadata) = std::fs::symlink_metadata(&path) else {
        return Ok(BuildOutput {
            path,
            replacement: Replacement::Refused,
        });
    };
    // A name that was not written replaces nothing that somebody may want. The type is looked at first: who opens a pipe waits for its writer.
    ensure!(
        metadata.is_file() && bundle::is_executable_with_application(&path),
        "{0} is here already and was made by no earlier build: name the executable, as in -o {0}.bin",
        path.display()
    );
    Ok(BuildOutput {
        path,
        replacement: Replacement::Allowed,
    })
}

/// What stands at a path that is put in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum EntryKind {
    /// Also one with nothing in it: an application may name it.
    Folder,
    /// So many bytes.
    File(u64),
}

/// The files and folders of an application.
struct FileList {
    root: PathBuf,
    /// The same, without links.
    canonical: PathBuf,
    exclude: Vec<PathBuf>,
    output: Option<PathBuf>,
    /// Paths from the root.
    entries: Vec<(PathBuf, EntryKind)>,
    bytes: u64,
    /// What earlier builds have made, from the root.
    builds: Vec<PathBuf>,
}

impl FileList {
    fn new(root: &Path, arguments: &Arguments, output: Option<&Path>) -> Result<FileList> {
        let canonical = root
            .canonicalize()
            .with_context(|| format!("cannot read {}", root.display()))?;
        Ok(FileList {
            root: root.to_owned(),
            canonical,
            exclude: arguments.exclude.clone(),
            // What this build replaces is not put into it.
            output: output.and_then(|output| output.canonicalize().ok()),
            entries: Vec::new(),
            bytes: 0,
            builds: Vec::new(),
        })
    }

    /// Collects what is below a folder, given from the root.
    fn collect(&mut self, below: &Path, depth: usize) -> Result<()> {
        let folder = self.root.join(below);
        let unreadable = || format!("cannot read {}", folder.display());
        ensure!(
            depth <= BUNDLE_DEPTH_MAX,
            "{} is deeper than {BUNDLE_DEPTH_MAX} folders (bundle_depth_max): leave out by --exclude what is no part of the application",
            folder.display()
        );
        for entry in std::fs::read_dir(&folder).with_context(unreadable)? {
            let name = entry.with_context(unreadable)?.file_name();
            let path = below.join(&name);
            let is_hidden = name.as_encoded_bytes().starts_with(b".") && name != WELL_KNOWN;
            let is_named = |given: &PathBuf| *given == path || given.as_os_str() == name;
            if is_hidden || self.exclude.iter().any(is_named) {
                continue;
            }
            let full = self.root.join(&path);
            let metadata = std::fs::metadata(&full)
                .with_context(|| format!("cannot read {}", full.display()))?;
            let is_excluded =
                depth == 0 && EXCLUDED_FOLDERS.iter().any(|excluded| name == *excluded);
            if metadata.is_dir() && is_excluded || !metadata.is_dir() && name == WELL_KNOWN {
                continue;
            }
            self.check_link(&full)?;
            if metadata.is_dir() {
                self.add(path.clone(), EntryKind::Folder)?;
                self.collect(&path, depth + 1)?;
            } else if metadata.is_file() {
                self.add_file(path, &full, metadata.len())?;
            } else {
                tracing::warn!("{} is left out: it is no file", full.display());
            }
        }
        Ok(())
    }

    /// Refuses links out of the application's folder: what is put in is what stands in it.
    fn check_link(&self, full: &Path) -> Result<()> {
        let canonical = full
            .canonicalize()
            .with_context(|| format!("cannot read {}", full.display()))?;
        ensure!(
            canonical.starts_with(&self.canonical),
            "{} leads out of the application's folder, to {}: put a copy in its place, or leave it out by --exclude",
            full.display(),
            canonical.display()
        );
        Ok(())
    }

    fn add_file(&mut self, path: PathBuf, full: &Path, bytes: u64) -> Result<()> {
        if self.output.is_some() && full.canonicalize().ok() == self.output {
            return Ok(());
        }
        if bundle::is_executable_with_application(full) {
            self.builds.push(path);
            return Ok(());
        }
        self.bytes += bytes;
        self.add(path, EntryKind::File(bytes))
    }

    fn add(&mut self, path: PathBuf, kind: EntryKind) -> Result<()> {
        self.entries.push((path, kind));
        if self.entries.len() > BUNDLE_FILES_MAX || self.bytes > BUNDLE_BYTES_MAX {
            bail!(
                "{} has more than {BUNDLE_FILES_MAX} files and folders or {} (bundle_files_max, bundle_bytes_max): move the application into a folder of its own, or leave out by --exclude what is no part of it",
                self.root.display(),
                megabytes(BUNDLE_BYTES_MAX)
            );
        }
        Ok(())
    }

    /// A line for each of them.
    fn list(&self) -> String {
        let line = |(path, kind): &(PathBuf, EntryKind)| match kind {
            EntryKind::Folder => format!("{:>12}  {}/\n", "", path.display()),
            EntryKind::File(bytes) => format!("{bytes:>12}  {}\n", path.display()),
        };
        self.entries.iter().map(line).collect()
    }

    /// A line where what earlier builds have made is left out.
    fn left_out(&self) -> String {
        if self.builds.is_empty() {
            return String::new();
        }
        let mut names: Vec<_> = self
            .builds
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        names.sort();
        format!(
            "left out, as made by earlier builds: {}\n",
            names.join(", ")
        )
    }

    fn sum(&self) -> String {
        let is_file = |(_, kind): &&(PathBuf, EntryKind)| *kind != EntryKind::Folder;
        let files = match self.entries.iter().filter(is_file).count() {
            1 => "1 file".to_owned(),
            count => format!("{count} files"),
        };
        format!("{files}, {}\n", megabytes(self.bytes))
    }
}

/// Packs the files into an archive in the folder.
fn pack(folder: &Path, name: &str, files: &FileList) -> Result<File> {
    let path = folder.join("archive");
    let unwritable = || format!("cannot write {}", path.display());
    let file = File::create_new(&path).with_context(unwritable)?;
    let mut packed = archive_of(BufWriter::new(file), name, files)?;
    packed.flush().with_context(unwritable)?;
    // It was opened for writing alone.
    File::open(&path).with_context(unwritable)
}

/// Loads the application from what was packed: what is left out is missing here, too.
fn check_loads(folder: &Path, archive: &mut File, files: &FileList) -> Result<()> {
    let unpacked = folder.join("app");
    DirBuilder::new().mode(0o700).create(&unpacked)?;
    let app = bundle::unpack_into(&mut *archive, &unpacked)?;
    let loaded = application::inspect(&app, None, async |_| Ok(()));
    loaded
        .map_err(|error| {
            // Its author looks for the files where they were.
            let root = files.root.join("").display().to_string();
            let root = root.strip_prefix("./").unwrap_or(&root);
            let unpacked = unpacked.join("").display().to_string();
            anyhow!(tsumugi_server::story(error.as_ref()).replace(&unpacked, root))
        })
        .context("it is not built, as what is put in does not load (--list shows it; --no-check builds it nevertheless)")
}

/// Writes the executable: complete or not at all. How long it is.
fn write(output: &BuildOutput, mut program: Program, mut archive: File) -> Result<u64> {
    let unwritable = || format!("cannot write {}", output.path.display());
    let folder = serve::folder_of(&output.path);
    let made = NamedTempFile::new_in(&folder).map_err(without_temporary_name);
    let mut made = made.with_context(unwritable)?;
    program
        .copy_to(made.as_file_mut())
        .with_context(unwritable)?;
    archive.seek(SeekFrom::Start(0))?;
    let bytes = io::copy(&mut archive, made.as_file_mut()).with_context(unwritable)?;
    bundle::write_trailer(made.as_file_mut(), bytes).with_context(unwritable)?;
    let length = made.as_file_mut().stream_position()?;
    made.as_file()
        .set_permissions(std::fs::Permissions::from_mode(0o755))
        .with_context(unwritable)?;
    made.as_file().sync_all().with_context(unwritable)?;
    persist(made, output)?;
    Ok(length)
}

/// Gives a file that is complete its name.
fn persist(made: NamedTempFile, output: &BuildOutput) -> Result<()> {
    let path = &output.path;
    let persisted = match output.replacement {
        Replacement::Allowed => made.persist(path),
        // Between the look at the name and now another program may have taken it.
        Replacement::Refused => made.persist_noclobber(path),
    };
    let Err(failed) = persisted else {
        return Ok(());
    };
    let is_taken = output.replacement == Replacement::Refused
        && failed.error.kind() == io::ErrorKind::AlreadyExists;
    ensure!(
        !is_taken,
        "{0} was not here when the build began and is now, so it is not replaced: name the executable, as in -o {0}.bin",
        path.display()
    );
    Err(failed.error).with_context(|| format!("cannot write {}", path.display()))
}

/// The archive of the files, written to the end of `to`.
fn archive_of<W: io::Write>(to: W, name: &str, files: &FileList) -> Result<W> {
    let mut archive = tar::Builder::new(GzEncoder::new(to, Compression::default()));
    bundle::write_entry(&mut archive, name)?;
    for (path, kind) in &files.entries {
        let mut header = tar::Header::new_gnu();
        match kind {
            EntryKind::Folder => {
                // Without its time, which changes with what is left out of it.
                header.set_entry_type(tar::EntryType::Directory);
                header.set_mode(0o700);
                header.set_size(0);
                archive.append_data(&mut header, path, io::empty())?;
            }
            EntryKind::File(_) => append(&mut archive, header, path, &files.root.join(path))?,
        }
    }
    Ok(archive.into_inner()?.finish()?)
}

fn append(
    archive: &mut tar::Builder<impl io::Write>,
    mut header: tar::Header,
    path: &Path,
    full: &Path,
) -> Result<()> {
    let unreadable = || format!("cannot read {}", full.display());
    let mut file = File::open(full).with_context(unreadable)?;
    let metadata = file.metadata().with_context(unreadable)?;
    // Times and sizes; owners and modes are of this machine.
    header.set_metadata_in_mode(&metadata, tar::HeaderMode::Deterministic);
    let modified = metadata.modified().ok();
    let modified = modified.and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
    header.set_mtime(modified.unwrap_or_default().as_secs());
    header.set_mode(0o600);
    // One that grows meanwhile is taken as it was; one that shrinks cannot be.
    let mut content = (&mut file).take(metadata.len());
    archive
        .append_data(&mut header, path, &mut content)
        .with_context(unreadable)?;
    ensure!(
        content.limit() == 0,
        "{} became shorter while it was read: build again",
        full.display()
    );
    Ok(())
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives a file its name where another has it already; the error, and what has the name then.
    fn persist_over_another(replacement: Replacement) -> (Option<String>, String) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("shop");
        std::fs::write(&path, "of somebody").unwrap();
        let mut made = NamedTempFile::new_in(&folder).unwrap();
        made.write_all(b"built").unwrap();
        let output = BuildOutput { path, replacement };
        let error = persist(made, &output).err();
        let content = std::fs::read_to_string(&output.path).unwrap();
        let names = std::fs::read_dir(&folder).unwrap().count();
        assert_eq!(names, 1, "a temporary file is left");
        (error.map(|error| error.to_string()), content)
    }

    #[test]
    fn file_that_appears_while_it_is_built_is_replaced_only_where_its_name_was_given() {
        let (error, content) = persist_over_another(Replacement::Refused);
        let error = error.unwrap();
        assert!(
            error.contains("was not here when the build began and is now"),
            "{error}"
        );
        assert_eq!(content, "of somebody");
        let (error, content) = persist_over_another(Replacement::Allowed);
        assert_eq!((error, content.as_str()), (None, "built"));
    }
}
