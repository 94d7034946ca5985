//! Files of Ruby that the application requires, and the environment. Reading is off the worker; running is the prelude's,
//! because a file may wait.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use tsumugi_http::{AppFileError, OnWorker, read_app_file};
use tsumugi_mruby::{NameUse, Raise, Result, Scope, Value};

use crate::answer::{Failure, attempt};
use crate::error::Error;
use crate::host::Host;
use crate::natives::arguments::text;
use crate::natives::definitions::Natives;

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.waiting("source_read", |host, scope, call| {
        let paths = scope.elements(call.argument(0));
        let candidates = paths.map(|path| text(scope, path, "a path").map(PathBuf::from));
        let candidates = candidates.collect::<Result<'_, Vec<_>>>()?;
        let max = host.settings.limits.source_bytes_max;
        let found = load(host, move || first_of(&candidates, max));
        Ok(attempt(found, |scope, found| {
            scope.strings([
                found.given.as_os_str().as_encoded_bytes(),
                found.path.as_os_str().as_encoded_bytes(),
                found.text.as_slice(),
            ])
        }))
    })?;
    folders(natives)?;
    folder_checks(natives)?;
    app_files(natives)?;
    programs(natives)?;
    environment(natives)
}

fn folders<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.waiting("sources_read", |host, scope, call| {
        let path = PathBuf::from(text(scope, call.argument(0), "a path")?);
        let max = host.settings.limits.source_bytes_max;
        let found = load(host, move || all_of(&path, max));
        Ok(attempt(found, |scope, found| match found {
            Some(found) => scope.list(
                found
                    .iter()
                    .map(|(path, text)| scope.strings([path.as_os_str().as_encoded_bytes(), text])),
            ),
            None => Ok(Value::nil()),
        }))
    })
}

/// What is wrong with a folder; nothing where it can be read.
fn folder_checks<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.waiting("folder_missing", |host, scope, call| {
        let path = PathBuf::from(text(scope, call.argument(0), "a path")?);
        let wrong = load(host, move || {
            Ok(std::fs::read_dir(path).err().map(|error| error.to_string()))
        });
        Ok(attempt(wrong, |scope, wrong| scope.string_or_nil(wrong)))
    })
}

fn app_files<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.waiting("read_file", |host, scope, call| {
        let path = text(scope, call.argument(0), "the path")?;
        let folder = host.settings.app.parent().unwrap_or(Path::new(""));
        let folder = folder.to_owned();
        let worker = OnWorker(host.worker.clone());
        Ok(attempt(
            async move { read_app_file(&worker, folder, &path).await },
            |scope, bytes| scope.string(bytes),
        ))
    })
}

impl Failure for AppFileError {
    fn raise<'s>(&self, scope: &'s Scope<'_>) -> Raise<'s> {
        let class = match self {
            AppFileError::Outside { .. } => "ArgumentError",
            _ => "IOError",
        };
        scope.error(class, self.to_string())
    }
}

/// A LoadError with this message.
struct LoadFailure(String);

impl Failure for LoadFailure {
    fn raise<'s>(&self, scope: &'s Scope<'_>) -> Raise<'s> {
        scope.error("LoadError", &self.0)
    }
}

/// Reads files off the worker.
fn load<T, F>(
    host: &Host,
    read: F,
) -> impl Future<Output = std::result::Result<T, LoadFailure>> + use<T, F>
where
    T: Send + 'static,
    F: FnOnce() -> std::result::Result<T, String> + Send + 'static,
{
    let worker = host.worker.clone();
    async move {
        let read = worker.offload(read).await;
        let read = read.map_err(|error| error.to_string());
        read.and_then(|read| read).map_err(LoadFailure)
    }
}

fn programs<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.plain("source_compile", |host, scope, call| {
        let name = text(scope, call.argument(0), "the file's name")?;
        let source = text(scope, call.argument(1), "the file's text")?;
        let shown = scope.text(call.argument(2));
        let shown = shown.as_deref().unwrap_or(&source);
        let program = compile(host, scope, &name, &source, shown)?;
        host.resources.compiled_names.add(scope, &name, program);
        Ok(program)
    })?;
    natives.plain("source_calls?", |host, scope, call| {
        let name = text(scope, call.argument(0), "the file's name")?;
        let source = text(scope, call.argument(1), "the file's text")?;
        let word = text(scope, call.argument(2), "the name of a method")?;
        let program = compile(host, scope, &name, &source, &source)?;
        let names = scope.program_names(program);
        let calls = names
            .iter()
            .any(|one| one.used == NameUse::OwnCallWith && one.name == word);
        Ok(Value::boolean(calls))
    })?;
    natives.plain("render_depth_max", |host, scope, _| {
        Ok(scope.count(host.settings.limits.render_depth_max))
    })?;
    natives.plain("source_location", |_, scope, _| {
        scope.string_or_nil(scope.location().map(|(file, _)| file))
    })?;
    natives.plain("place_shown", |_, scope, call| {
        let place = text(scope, call.argument(0), "the place")?;
        scope.string(&*tsumugi_server::without_hidden_folder(&place))
    })?;
    natives.plain("source_main", |host, scope, _| {
        scope.string(host.settings.app.as_os_str().as_encoded_bytes())
    })
}

fn environment<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.plain("environment", |host, scope, _| {
        let hash = scope.hash(32)?;
        for (name, value) in std::env::vars_os() {
            let name = scope.string(name.as_encoded_bytes())?;
            scope.hash_set(hash, name, scope.string(value.as_encoded_bytes())?)?;
        }
        for (name, value) in &host.settings.environment {
            scope.hash_set(hash, scope.string(name)?, scope.string(value)?)?;
        }
        Ok(hash)
    })?;
    natives.plain("clock", |_, scope, call| {
        let clock = match call.argument(0).as_integer() {
            Some(0) => std::time::UNIX_EPOCH.elapsed().unwrap_or_default(),
            _ => started().elapsed(),
        };
        Ok(scope.float(clock.as_secs_f64()))
    })?;
    natives.plain("process_id", |_, scope, _| {
        Ok(scope.integer(std::process::id().into()))
    })
}

/// What the monotonic clock counts from.
fn started() -> std::time::Instant {
    static STARTED: std::sync::LazyLock<std::time::Instant> =
        std::sync::LazyLock::new(std::time::Instant::now);
    *STARTED
}

/// Paths and texts.
type Sources = Vec<(PathBuf, Vec<u8>)>;

/// A file: its path as given, its canonical path, and its text.
struct SourceFile {
    given: PathBuf,
    path: PathBuf,
    text: Vec<u8>,
}

fn first_of(candidates: &[PathBuf], max: usize) -> std::result::Result<SourceFile, String> {
    for given in candidates {
        let Ok(path) = given.canonicalize() else {
            continue;
        };
        if path.is_file() {
            let text = read(&path, max)
                .map_err(|error| format!("cannot load {}: {error}", given.display()))?;
            return Ok(SourceFile {
                given: given.clone(),
                path,
                text,
            });
        }
    }
    let tried: Vec<_> = candidates
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    Err(format!("cannot load such file: tried {}", tried.join(", ")))
}

/// The Ruby files of a folder by name, or one file; `None` if there is neither. All together have at most `max` bytes.
fn all_of(path: &Path, max: usize) -> std::result::Result<Option<Sources>, String> {
    let unreadable = |error| format!("cannot read {}: {error}", path.display());
    let mut paths = Vec::new();
    match std::fs::read_dir(path) {
        Ok(entries) => {
            for entry in entries {
                let path = entry.map_err(unreadable)?.path();
                if path.extension().is_some_and(|end| end == "rb") {
                    paths.push(path);
                }
            }
        }
        Err(_) if path.is_file() => paths.push(path.to_owned()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(error)),
    }
    paths.sort();
    let (mut sources, mut left) = (Vec::new(), max);
    for path in paths {
        let text = read(&path, left).map_err(|error| {
            format!(
                "cannot load {}: {error}; the files of a folder together count",
                path.display()
            )
        })?;
        left -= text.len();
        sources.push((path, text));
    }
    Ok(Some(sources))
}

/// A file's bytes, at most `max` of them.
pub(super) fn read(path: &Path, max: usize) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let most = u64::try_from(max).unwrap_or(u64::MAX).saturating_add(1);
    std::fs::File::open(path)?
        .take(most)
        .read_to_end(&mut bytes)?;
    if bytes.len() > max {
        return Err(std::io::Error::other(format!(
            "it is larger than source_bytes_max ({max})"
        )));
    }
    Ok(bytes)
}

/// A Proc for `Tsumugi.run_program`; raises SyntaxError with the line of `shown` quoted, which a template's author wrote.
pub(super) fn compile<'s>(
    host: &Host,
    scope: &'s Scope<'s>,
    name: &str,
    source: &str,
    shown: &str,
) -> Result<'s, Value<'s>> {
    host.resources.remember(name, shown);
    scope.compile(source.as_bytes(), name, 1).map_err(|errors| {
        let source_text = shown.to_owned();
        let error = Error::Syntax {
            errors,
            source_text,
        };
        scope.error("SyntaxError", error.to_string())
    })
}
