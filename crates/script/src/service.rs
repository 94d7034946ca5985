//! The application as a service of workers: connections are served over HTTP, each request by the app that is current.

use std::rc::Rc;

use tsumugi_http::{Finished, Handler, Origin, Request, Response, Server, Spawn};
use tsumugi_worker::{BoxError, Connection, Current, Peer, Worker};

use crate::app::App;
use crate::host::Settings;

/// Serves one application on one worker.
pub struct Service {
    worker: Worker,
    settings: Rc<Settings>,
    server: Server<OnWorker>,
}

/// Starts tasks under the worker's watchdog.
#[derive(Clone, Debug)]
struct OnWorker(Worker);

impl Spawn for OnWorker {
    fn spawn(&self, future: impl Future<Output = ()> + 'static) {
        drop(self.0.spawn(future));
    }
}

impl Service {
    /// The service of one worker.
    pub fn new(worker: &Worker, settings: Settings) -> Service {
        let server = Server::new(settings.http.clone(), OnWorker(worker.clone()));
        Service {
            worker: worker.clone(),
            settings: Rc::new(settings),
            server,
        }
    }
}

struct Door(Current<App>);

impl Handler for Door {
    async fn handle(&self, request: Request) -> Response {
        self.0.current().answer(request).await
    }

    fn finished(&self, _: &Finished) {}
}

impl tsumugi_worker::Service for Service {
    type App = App;

    async fn load(&self) -> Result<Rc<App>, BoxError> {
        let app = App::load(&self.worker, Rc::clone(&self.settings)).await?;
        app.start_timers();
        Ok(app)
    }

    async fn serve(&self, connection: Connection, app: Current<App>) {
        let peer = match connection.peer {
            Peer::Tcp(address) => Some(address),
            _ => None,
        };
        let origin = Origin {
            peer,
            ..Origin::default()
        };
        let shutdown = self.worker.drain_started();
        let Connection { stream, slot, .. } = connection;
        self.server
            .serve(stream, origin, Rc::new(Door(app)), shutdown)
            .await;
        drop(slot);
    }

    async fn retire(&self, app: Rc<App>) {
        app.retire().await;
    }
}
