//! The application file as its server loads it: on each worker, at start and at each reload. Serves nothing itself.
//! Rule: timers run once the application has loaded, not before; only `serve --dev` serves without one.

use std::cell::Cell;
use std::process::ExitCode;
use std::rc::Rc;

use tsumugi_http::{HttpResponse, Request};
use tsumugi_server::{AdminView, Application, Mode, PreparedServer, VmFigures};
use tsumugi_worker::{BoxError, WorkerHandle};

use crate::app::App;
use crate::error::Error;
use crate::host::Host;
use crate::limits::Limits;
use crate::load_failure::{FirstLoadFailure, Novelty};
use crate::settings::{Settings, SharedResources};

/// An application file, to be loaded on one worker.
pub struct Program {
    settings: Rc<Settings>,
    shared: SharedResources,
    /// What is answered where the first load fails; `None` where that ends the process.
    load_failure: Option<FirstLoadFailure>,
    has_begun: Cell<bool>,
}

impl Program {
    /// The file of these settings.
    pub fn new(settings: Settings) -> Program {
        Program {
            settings: Rc::new(settings),
            shared: SharedResources::default(),
            load_failure: None,
            has_begun: Cell::new(false),
        }
    }

    /// With what it shares with the application that it is mounted in.
    #[must_use]
    pub fn sharing(self, shared: SharedResources) -> Program {
        Program { shared, ..self }
    }

    /// One that serves the reason where the first load fails, until another load succeeds.
    fn served_without(self, load_failure: FirstLoadFailure) -> Program {
        Program {
            load_failure: Some(load_failure),
            ..self
        }
    }

    /// What becomes of a load that has failed in this VM.
    fn failed(&self, host: Rc<Host>, error: Error, attempt: Attempt) -> Result<Rc<App>, BoxError> {
        let Some(failure) = &self.load_failure else {
            return Err(error.into());
        };
        let novelty = failure.note(&host.resources, &error);
        match attempt {
            Attempt::First => {
                if novelty == Novelty::New {
                    tracing::error!(
                        "the application does not load, and every request is answered so until one of its files is saved, or SIGHUP loads it again: {error}"
                    );
                }
                Ok(App::standing_in(host, failure.clone()))
            }
            // What was loaded before goes on, or what stands in for it.
            Attempt::Later => Err(error.into()),
        }
    }
}

/// Which load of a worker it is.
#[derive(Clone, Copy)]
enum Attempt {
    First,
    Later,
}

/// Serves an application file on all workers until a signal; as [`PreparedServer::run`] for it. A boxed edge: what requests go
/// through is optimised as this crate is, and not as the program that calls this.
///
/// # Errors
/// When serving cannot begin.
pub fn serve(prepared: PreparedServer<Limits>, settings: Settings) -> anyhow::Result<ExitCode> {
    // A process that serves already goes on, rather than to be replaced by an error.
    let serves_errors = settings.mode == Mode::Development && !prepared.has_predecessor();
    let load_failure = serves_errors.then(FirstLoadFailure::default);
    prepared.run(move |_| {
        let program = Program::new(settings.clone());
        match &load_failure {
            Some(failure) => program.served_without(failure.clone()),
            None => program,
        }
    })
}

impl tsumugi_server::Program for Program {
    type App = App;

    async fn load(&self, worker: &WorkerHandle) -> Result<Rc<App>, BoxError> {
        let attempt = match self.has_begun.replace(true) {
            false => Attempt::First,
            true => Attempt::Later,
        };
        let host = App::open(worker, Rc::clone(&self.settings), self.shared.clone())?;
        let loaded = App::load_in(&host).await;
        let started = loaded.and_then(|app| app.start_timers().map(|()| app));
        match started {
            Ok(app) => {
                self.settings.loaded.note_success();
                Ok(app)
            }
            Err(error) => {
                self.settings.loaded.note_failure();
                self.failed(host, error, attempt)
            }
        }
    }
}

impl Application for App {
    fn answer(self: &Rc<Self>, request: Box<Request>) -> impl Future<Output = HttpResponse> {
        App::answer(self, request)
    }

    fn compresses(&self) -> bool {
        App::compresses(self)
    }

    async fn retire(&self) {
        App::retire(self).await;
    }

    fn show(&self) -> AdminView<'_> {
        let host = self.host();
        let open = host.resources.stores();
        let stores = open.iter().filter_map(|store| {
            // A server tells its own figures.
            let figures = store.store.database()?.metrics();
            Some((store.store.place(), figures))
        });
        AdminView {
            vm: Some(VmFigures {
                bytes: self.vm_bytes(),
                objects: self.vm_objects(),
                requests: self.requests(),
            }),
            databases: vec![host.resources.databases()],
            stores: stores.collect(),
            open_stores: open.iter().map(|store| store.store.clone()).collect(),
            jobs: host
                .resources
                .jobs
                .borrow()
                .iter()
                .map(|setup| setup.queue.clone())
                .collect(),
        }
    }
}
