//! Loading: the prelude into a new VM, then the application file in a fibre, which may wait.
//! Files are read off the worker.

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use tsumugi_mruby::{Root, Scope};
use tsumugi_server::Mode;
use tsumugi_worker::WorkerHandle;

use crate::driver::{self, Bounds};
use crate::error::Error;
use crate::host::{Host, JobResult, WellKnownObjects};
use crate::natives;
use crate::settings::Settings;

/// The product's own Ruby, in the order of loading.
const PRELUDE: &[(&str, &str)] = &[
    ("tsumugi/core.rb", include_str!("../prelude/core.rb")),
    ("tsumugi/context.rb", include_str!("../prelude/context.rb")),
    (
        "tsumugi/application.rb",
        include_str!("../prelude/application.rb"),
    ),
    (
        "tsumugi/parameters.rb",
        include_str!("../prelude/parameters.rb"),
    ),
    (
        "tsumugi/std/core_ext.rb",
        include_str!("../prelude/std/core_ext.rb"),
    ),
    (
        "tsumugi/std/regexp.rb",
        include_str!("../prelude/std/regexp.rb"),
    ),
    (
        "tsumugi/std/files.rb",
        include_str!("../prelude/std/files.rb"),
    ),
    (
        "tsumugi/std/json.rb",
        include_str!("../prelude/std/json.rb"),
    ),
    (
        "tsumugi/std/time.rb",
        include_str!("../prelude/std/time.rb"),
    ),
    (
        "tsumugi/std/encodings.rb",
        include_str!("../prelude/std/encodings.rb"),
    ),
    (
        "tsumugi/std/digests.rb",
        include_str!("../prelude/std/digests.rb"),
    ),
    (
        "tsumugi/std/views.rb",
        include_str!("../prelude/std/views.rb"),
    ),
    (
        "tsumugi/web/cookies.rb",
        include_str!("../prelude/web/cookies.rb"),
    ),
    (
        "tsumugi/web/sessions.rb",
        include_str!("../prelude/web/sessions.rb"),
    ),
    (
        "tsumugi/web/body.rb",
        include_str!("../prelude/web/body.rb"),
    ),
    (
        "tsumugi/web/http.rb",
        include_str!("../prelude/web/http.rb"),
    ),
    ("tsumugi/db.rb", include_str!("../prelude/db.rb")),
    (
        "tsumugi/db_values.rb",
        include_str!("../prelude/db_values.rb"),
    ),
    ("tsumugi/schema.rb", include_str!("../prelude/schema.rb")),
    ("tsumugi/query.rb", include_str!("../prelude/query.rb")),
    (
        "tsumugi/migrations.rb",
        include_str!("../prelude/migrations.rb"),
    ),
    ("tsumugi/kv.rb", include_str!("../prelude/kv.rb")),
    (
        "tsumugi/ngx_mruby.rb",
        include_str!("../prelude/ngx_mruby.rb"),
    ),
];

/// Opens a VM and loads the prelude into it.
pub(crate) fn host(worker: &WorkerHandle, settings: Rc<Settings>) -> Result<Rc<Host>, Error> {
    let host = Host::open(worker, settings)?;
    prelude(&host)?;
    // From here on it runs what the author wrote.
    let stall = Arc::clone(&host.stall);
    host.vm.on_slow(move |file, line| {
        tracing::warn!("a handler at {file}:{line} holds its worker: {stall}");
    });
    Ok(host)
}

/// Defines the natives, runs the prelude.
fn prelude(host: &Rc<Host>) -> Result<(), Error> {
    let known = host.vm.enter(|scope| -> Result<WellKnownObjects, Error> {
        let wrong = |raised| Error::Prelude(format!("{:?}", scope.report(raised)));
        natives::install(host, scope).map_err(wrong)?;
        run_own(scope, PRELUDE)?;
        let tsumugi = scope.constant("Tsumugi").map_err(wrong)?;
        let set = |name: &str, value| {
            scope
                .set_ivar(tsumugi, scope.intern(name), value)
                .map_err(wrong)
        };
        set(
            "@data_dir",
            scope
                .string(host.settings.data_dir.as_os_str().as_encoded_bytes())
                .map_err(wrong)?,
        )?;
        let mode = match host.settings.mode {
            Mode::Development => "development",
            Mode::Production => "production",
        };
        set("@mode", tsumugi_mruby::Value::symbol(scope.intern(mode)))?;
        let id = scope.integer(i64::try_from(host.worker.id()).unwrap_or(0));
        let count = scope.integer(i64::try_from(host.worker.count()).unwrap_or(1));
        let worker = scope.constant("Tsumugi::Worker").map_err(wrong)?;
        let worker = scope.call(worker, "new", &[id, count]).map_err(wrong)?;
        let name = tsumugi_mruby::Value::symbol(scope.intern("WORKER"));
        scope
            .call(tsumugi, "const_set", &[name, worker])
            .map_err(wrong)?;
        let root = |path: &str| {
            scope
                .constant(path)
                .and_then(|value| scope.root(value))
                .map_err(wrong)
        };
        Ok(WellKnownObjects {
            tsumugi: root("Tsumugi")?,
            thrown: root("Tsumugi::Thrown")?,
            rows: root("DB::Rows")?,
        })
    })?;
    *host.known.borrow_mut() = Some(known);
    Ok(())
}

/// Runs more of the product's own Ruby in a VM whose prelude is loaded.
pub(crate) fn own(host: &Rc<Host>, files: &[(&str, &str)]) -> Result<(), Error> {
    host.vm.enter(|scope| run_own(scope, files))
}

fn run_own(scope: &Scope<'_>, files: &[(&str, &str)]) -> Result<(), Error> {
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
    let job = host.vm.enter(|scope| compile(scope, &source, &name))?;
    let finish = |scope: &Scope<'_>, ended: JobResult<'_>| match ended {
        JobResult::Value(_) => Ok(()),
        JobResult::Raised(exception) => Err(Error::Raised {
            report: scope.report(tsumugi_mruby::Raise(exception)),
        }),
    };
    driver::run(host, driver::job_of(job), &Bounds::default(), finish).await
}

fn compile(scope: &Scope<'_>, source: &str, name: &str) -> Result<Root, Error> {
    let program = scope
        .compile(source.as_bytes(), name, 1)
        .map_err(|errors| Error::Syntax {
            errors,
            source_text: source.to_owned(),
        })?;
    let raised = |raised| Error::Raised {
        report: scope.report(raised),
    };
    let class = scope.constant("Tsumugi::Program").map_err(raised)?;
    scope
        .call(class, "new", &[program])
        .and_then(|job| scope.root(job))
        .map_err(raised)
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
