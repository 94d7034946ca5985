//! `tsumugi build`: an application and the files beside it inside one executable, which is this program with an archive behind it. What such an
//! executable does when it starts is in `bundle`.
//! Rule: the same files make the same bytes, so nothing of the machine is noted but the times of files, by which browsers know them.

use std::fs::File;
use std::io::{self, BufWriter, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail, ensure};
use flate2::Compression;
use flate2::write::GzEncoder;
use tsumugi_server::commands;

use crate::bundle::{self, ExecutableLayout};
use crate::limits::{BUNDLE_BYTES_MAX, BUNDLE_DEPTH_MAX, BUNDLE_FILES_MAX};
use crate::{application, serve};

/// What `tsumugi build --help` shows below its options.
pub const HELP: &str = "\
Examples:
  tsumugi build app.rb -o shop        the folder of app.rb, as the executable shop
  ./shop --listen 0.0.0.0:8080        serves it, with the options of tsumugi serve
  ./shop migrate up                   its migrations, console, routes, jobs: as of tsumugi
  tsumugi build shop/ --list          what would be put in, without writing

Everything in the folder is put in but hidden files, the folders data, test, target and
node_modules, and what --exclude names. The executable needs no Ruby and no tsumugi where it
runs; it unpacks its files into a private folder below TMPDIR (/tmp) while it runs. Its data
are where they are with tsumugi serve: in ./data, or --data DIR.";

/// Options of `build`.
#[derive(clap::Args)]
pub struct Arguments {
    /// The application file, or a folder with an app.rb
    #[arg(default_value = "app.rb")]
    app: PathBuf,
    /// The executable to write
    #[arg(
        long,
        short,
        value_name = "FILE",
        required_unless_present = "list",
        conflicts_with = "list"
    )]
    output: Option<PathBuf>,
    /// Leave out files and folders of this name, or this path from the application's folder
    #[arg(long, value_name = "NAME")]
    exclude: Vec<PathBuf>,
    /// Say what would be put in, and write nothing
    #[arg(long)]
    list: bool,
    /// Build without loading the application first, as where its database is not to be had
    #[arg(long)]
    no_check: bool,
    /// The program to put it into, in place of this one: a tsumugi for another system
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
}

/// Folders that are no part of an application.
const EXCLUDED_FOLDERS: [&str; 4] = ["data", "test", "target", "node_modules"];

/// Builds.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let app = match arguments.app.is_dir() {
        true => arguments.app.join("app.rb"),
        false => arguments.app.clone(),
    };
    application::find(&app)?;
    let mut files = FileList::new(&serve::folder_of(&app), arguments)?;
    files.collect(Path::new(""), 0)?;
    files.paths.sort();
    let name = app.file_name().context("the application has no name")?;
    let name = name
        .to_str()
        .context("the name of the application file is no UTF-8")?;
    ensure!(
        files.paths.iter().any(|(path, _)| path == Path::new(name)),
        "{name} itself is excluded: a hidden file or the name of an --exclude"
    );
    let Some(output) = &arguments.output else {
        let lines = files.paths.iter();
        let lines: String = lines
            .map(|(path, bytes)| format!("{bytes:>12}  {}\n", path.display()))
            .collect();
        commands::print(lines + &files.sum())?;
        return Ok(ExitCode::SUCCESS);
    };
    if !arguments.no_check {
        let loaded = application::inspect(&app, None, async |_| Ok(()));
        loaded
            .context("it is not built, as it does not load (--no-check builds it nevertheless)")?;
    }
    let length = write(output, arguments.program.as_deref(), name, &files)?;
    commands::print(format!(
        "built {}: {} of {} in all\n",
        output.display(),
        files.sum().trim_end(),
        megabytes(length)
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// The files of an application.
struct FileList {
    root: PathBuf,
    /// The same, without links.
    canonical: PathBuf,
    exclude: Vec<PathBuf>,
    output: Option<PathBuf>,
    /// Paths from the root, with their sizes.
    paths: Vec<(PathBuf, u64)>,
    bytes: u64,
}

impl FileList {
    fn new(root: &Path, arguments: &Arguments) -> Result<FileList> {
        let canonical = root
            .canonicalize()
            .with_context(|| format!("cannot read {}", root.display()))?;
        let output = arguments.output.as_ref();
        Ok(FileList {
            root: root.to_owned(),
            canonical,
            exclude: arguments.exclude.clone(),
            // One of an earlier build is not put into the next.
            output: output.and_then(|output| output.canonicalize().ok()),
            paths: Vec::new(),
            bytes: 0,
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
            let is_hidden = name.as_encoded_bytes().starts_with(b".");
            let is_named = |given: &PathBuf| *given == path || given.as_os_str() == name;
            if is_hidden || self.exclude.iter().any(is_named) {
                continue;
            }
            let full = self.root.join(&path);
            let metadata = std::fs::metadata(&full)
                .with_context(|| format!("cannot read {}", full.display()))?;
            self.check_link(&full)?;
            if metadata.is_dir() {
                let is_excluded = EXCLUDED_FOLDERS.iter().any(|excluded| name == *excluded);
                if !is_excluded {
                    self.collect(&path, depth + 1)?;
                }
            } else if metadata.is_file() {
                self.add(path, &full, metadata.len())?;
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

    fn add(&mut self, path: PathBuf, full: &Path, bytes: u64) -> Result<()> {
        if self.output.is_some() && full.canonicalize().ok() == self.output {
            return Ok(());
        }
        self.bytes += bytes;
        self.paths.push((path, bytes));
        if self.paths.len() > BUNDLE_FILES_MAX || self.bytes > BUNDLE_BYTES_MAX {
            bail!(
                "{} has more than {BUNDLE_FILES_MAX} files or {} (bundle_files_max, bundle_bytes_max): move the application into a folder of its own, or leave out by --exclude what is no part of it",
                self.root.display(),
                megabytes(BUNDLE_BYTES_MAX)
            );
        }
        Ok(())
    }

    fn sum(&self) -> String {
        let files = match self.paths.len() {
            1 => "1 file".to_owned(),
            count => format!("{count} files"),
        };
        format!("{files}, {}\n", megabytes(self.bytes))
    }
}

/// Writes the executable: complete or not at all. How long it is.
fn write(output: &Path, program: Option<&Path>, name: &str, files: &FileList) -> Result<u64> {
    ensure!(
        !output.is_dir(),
        "{} is a folder; name another file with -o",
        output.display()
    );
    let program = match program {
        Some(program) => program.to_owned(),
        None => std::env::current_exe().context("cannot find this program")?,
    };
    let unreadable = || format!("cannot read {}", program.display());
    let mut source = File::open(&program).with_context(unreadable)?;
    let layout = ExecutableLayout::of(&mut source).with_context(unreadable)?;
    source.seek(SeekFrom::Start(0))?;
    let unwritable = || format!("cannot write {}", output.display());
    let folder = serve::folder_of(output);
    let mut made = tempfile::NamedTempFile::new_in(&folder).with_context(unwritable)?;
    let mut copied = (&source).take(layout.program_bytes);
    io::copy(&mut copied, made.as_file_mut()).with_context(unwritable)?;
    let archive = BufWriter::new(made.as_file_mut());
    let mut archive = archive_of(archive, name, files)?;
    archive.flush().with_context(unwritable)?;
    drop(archive);
    let end = made.as_file_mut().stream_position()?;
    bundle::write_trailer(made.as_file_mut(), end - layout.program_bytes)
        .with_context(unwritable)?;
    let length = made.as_file_mut().stream_position()?;
    made.as_file()
        .set_permissions(std::fs::Permissions::from_mode(0o755))
        .with_context(unwritable)?;
    made.as_file().sync_all().with_context(unwritable)?;
    made.persist(output).with_context(unwritable)?;
    Ok(length)
}

/// The archive of the files, written to the end of `to`.
fn archive_of<W: io::Write>(to: W, name: &str, files: &FileList) -> Result<W> {
    let mut archive = tar::Builder::new(GzEncoder::new(to, Compression::default()));
    bundle::write_entry(&mut archive, name)?;
    for (path, _) in &files.paths {
        let full = files.root.join(path);
        let unreadable = || format!("cannot read {}", full.display());
        let mut file = File::open(&full).with_context(unreadable)?;
        let metadata = file.metadata().with_context(unreadable)?;
        let mut header = tar::Header::new_gnu();
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
    }
    Ok(archive.into_inner()?.finish()?)
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}
