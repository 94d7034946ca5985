//! Loading: the prelude into a new VM, then the application file in a fibre, which may wait.
//! Files are read off the worker.

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use tsumugi_mruby::{Result as VmResult, Root, Scope, Value};
use tsumugi_server::Mode;
use tsumugi_worker::WorkerHandle;

use crate::driver::{self, Bounds};
use crate::error::Error;
use crate::frames;
use crate::host::{Host, JobResult, WellKnownObjects};
use crate::natives;
use crate::settings::{Settings, SharedResources};

/// The name that a file of the product's own Ruby has in backtraces, and its text.
pub(crate) type OwnFile = (&'static str, &'static str);

/// Files of the prelude, by their paths in it.
macro_rules! own_files {
    ($($path:literal),+ $(,)?) => {
        &[$((
            concat!("tsumugi/", $path, ".rb"),
            include_str!(concat!("../prelude/", $path, ".rb")),
        )),+]
    };
}
pub(crate) use own_files;

/// The product's own Ruby, in the order of loading.
const PRELUDE: &[OwnFile] = own_files!(
    "core",
    "context",
    "application",
    "parameters",
    "std/core_ext",
    "std/numbers",
    "std/collections",
    "std/reflection",
    "std/output",
    "std/hints",
    "std/regexp",
    "std/files",
    "std/json",
    "std/time",
    "std/encodings",
    "std/digests",
    "std/views",
    "web/cookies",
    "web/sessions",
    "web/body",
    "web/shapes",
    "web/http",
    "web/mail",
    "web/websocket",
    "db",
    "db_values",
    "schema",
    "query",
    "migrations",
    "kv",
    "cluster",
    "jobs",
    "ngx_mruby",
);

/// Opens a VM and loads the prelude into it.
pub(crate) fn host(
    worker: &WorkerHandle,
    settings: Rc<Settings>,
    shared: SharedResources,
) -> Result<Rc<Host>, Error> {
    let host = Host::open(worker, settings, shared)?;
    prelude(&host)?;
    Ok(host)
}

/// Logs from here on where what the author wrote holds the worker.
pub(crate) fn report_stalls(host: &Host) {
    let stall = Arc::clone(&host.stall);
    host.vm
        .on_slow(move |file, line| match frames::is_authors(file) {
            true => tracing::warn!("a handler at {file}:{line} holds its worker: {stall}"),
            // No frame of the author's is on the stack, and the place says nothing to the author.
            false => {
                tracing::warn!("a worker is held: {stall}");
                tracing::debug!("it is held at {file}:{line}");
            }
        });
}

/// Defines the natives, runs the prelude.
fn prelude(host: &Rc<Host>) -> Result<(), Error> {
    let known = host.vm.enter(|scope| {
        let wrong = |raised| Error::Prelude(format!("{:?}", scope.report(raised)));
        natives::install(host, scope).map_err(wrong)?;
        run_own(scope, PRELUDE)?;
        introduce(host, scope).map_err(wrong)
    })?;
    *host.known.borrow_mut() = Some(known);
    Ok(())
}

/// Tells the prelude where it runs.
fn introduce<'s>(host: &Host, scope: &'s Scope<'_>) -> VmResult<'s, WellKnownObjects> {
    let tsumugi = scope.constant("Tsumugi")?;
    let set = |name: &str, value| scope.set_ivar(tsumugi, scope.intern(name), value);
    let data_dir = host.settings.data_dir.as_os_str();
    set("@data_dir", scope.string(data_dir.as_encoded_bytes())?)?;
    let symbol = |name: &str| Value::symbol(scope.intern(name));
    let mode = match host.settings.mode {
        Mode::Development => "development",
        Mode::Production => "production",
    };
    set("@mode", symbol(mode))?;
    set("@test", Value::boolean(host.settings.in_test))?;
    let place = [
        scope.count(host.worker.id()),
        scope.count(host.worker.count()),
    ];
    let worker = scope.call(scope.constant("Tsumugi::Worker")?, "new", &place)?;
    scope.call(tsumugi, "const_set", &[symbol("WORKER"), worker])?;
    let root = |path: &str| scope.root(scope.constant(path)?);
    Ok(WellKnownObjects {
        tsumugi: root("Tsumugi")?,
        thrown: root("Tsumugi::Thrown")?,
        rows: root("DB::Rows")?,
    })
}

/// Runs more of the product's own Ruby in a VM whose prelude is loaded.
pub(crate) fn own(host: &Rc<Host>, files: &[OwnFile]) -> Result<(), Error> {
    host.vm.enter(|scope| run_own(scope, files))
}

fn run_own(scope: &Scope<'_>, files: &[OwnFile]) -> Result<(), Error> {
    for (name, source) in files {
        scope.nested(|scope| {
            let wrong = |raised| Error::Prelude(format!("{:?}", scope.report(raised)));
            let program = scope.compile(source.as_bytes(), name, 1);
            let program = program.map_err(|errors| Error::Prelude(format!("{errors:?}")))?;
            scope.run(program).map(drop).map_err(wrong)
        })?;
    }
    Ok(())
}

/// Evaluates the application file.
pub(crate) async fn program(host: &Rc<Host>, path: &Path) -> Result<(), Error> {
    let source = read(host, path).await?;
    let name = path.to_string_lossy().into_owned();
    host.resources.remember(&name, &source);
    host.resources.compiled_names.begin();
    let job = host
        .vm
        .enter(|scope| compile(host, scope, &source, &name))?;
    let finish = |scope: &Scope<'_>, ended: JobResult<'_>| {
        ended
            .map(drop)
            .map_err(|raised| Error::raised(scope, raised))
    };
    let ran = driver::run(host, driver::job_of(job), &Bounds::default(), finish).await;
    // A name that is unknown is named by what stands for it here, if something does.
    match &ran {
        Err(Error::Raised { report }) if !report.is_unknown_name() => ran,
        _ => named(host).and(ran),
    }
}

/// Whether all that the application names can have a meaning here.
fn named(host: &Host) -> Result<(), Error> {
    let is_constant = |name: &str| {
        host.vm.enter(|scope| {
            let name = Value::symbol(scope.intern(name));
            scope
                .call(scope.object_class(), "const_defined?", &[name])
                .is_ok_and(Value::truthy)
        })
    };
    let absences = host.resources.compiled_names.absences(is_constant);
    match absences.is_empty() {
        true => Ok(()),
        false => Err(Error::Absent { absences }),
    }
}

fn compile(host: &Host, scope: &Scope<'_>, source: &str, name: &str) -> Result<Root, Error> {
    let program = scope
        .compile(source.as_bytes(), name, 1)
        .map_err(|errors| Error::Syntax {
            errors,
            source_text: source.to_owned(),
        })?;
    host.resources.compiled_names.add(scope, name, program);
    scope
        .constant("Tsumugi::Program")
        .and_then(|class| scope.call(class, "new", &[program]))
        .and_then(|job| scope.root(job))
        .map_err(|raised| Error::raised(scope, raised))
}

async fn read(host: &Rc<Host>, path: &Path) -> Result<String, Error> {
    let file: PathBuf = path.to_owned();
    let read = host.worker.offload(move || std::fs::read(file)).await;
    let bytes = read
        .map_err(std::io::Error::other)
        .and_then(|result| result)
        .map_err(|source| Error::Read {
            path: path.to_owned(),
            source,
        })?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
