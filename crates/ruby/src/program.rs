//! The application file as its server loads it: on each worker, at start and at each reload. Serves nothing itself.
//! Rule: timers run once the application has loaded, not before.

use std::process::ExitCode;
use std::rc::Rc;

use tsumugi_http::{HttpResponse, Request};
use tsumugi_server::{AdminView, Application, PreparedServer, VmFigures};
use tsumugi_worker::{BoxError, WorkerHandle};

use crate::app::App;
use crate::limits::Limits;
use crate::settings::{Settings, SharedResources};

/// An application file, to be loaded on one worker.
pub struct Program {
    settings: Rc<Settings>,
    shared: SharedResources,
}

impl Program {
    /// The file of these settings.
    pub fn new(settings: Settings) -> Program {
        Program {
            settings: Rc::new(settings),
            shared: SharedResources::default(),
        }
    }

    /// With what it shares with the application that it is mounted in.
    #[must_use]
    pub fn sharing(self, shared: SharedResources) -> Program {
        Program { shared, ..self }
    }
}

/// Serves an application file on all workers until a signal; as [`PreparedServer::run`] for it. A boxed edge: what requests go
/// through is optimised as this crate is, and not as the program that calls this.
///
/// # Errors
/// When serving cannot begin.
pub fn serve(prepared: PreparedServer<Limits>, settings: Settings) -> anyhow::Result<ExitCode> {
    prepared.run(move |_| Program::new(settings.clone()))
}

impl tsumugi_server::Program for Program {
    type App = App;

    async fn load(&self, worker: &WorkerHandle) -> Result<Rc<App>, BoxError> {
        let app = App::load_sharing(worker, Rc::clone(&self.settings), self.shared.clone()).await?;
        app.start_timers()?;
        Ok(app)
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
