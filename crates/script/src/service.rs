//! The application as a service of workers: connections are served over HTTP or HTTPS, each request by the app that is current.
//! Knows no Ruby. What is switched off costs a request one look at an empty option.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use http::header::ACCEPT_ENCODING;
use tsumugi_http::access_log::{Entry, Lane};
use tsumugi_http::compress::{Accepted, Compression};
use tsumugi_http::{Acceptor, Finished, Handler, Origin, Protocol, Request, Response, Server};
use tsumugi_worker::{BoxError, Connection, Current, Peer, Worker};

use crate::app::App;
use crate::front::{Column, Front};
use crate::host::Settings;
use crate::on_worker::OnWorker;

/// How often a worker shows the figures of its VM.
const VM_FIGURES_EVERY: Duration = Duration::from_secs(1);

/// Serves one application on one worker.
pub struct Service {
    worker: Worker,
    settings: Rc<Settings>,
    server: Server<OnWorker>,
    front: Front,
    /// What the last load read; connections that have it keep it.
    tls: RefCell<Option<Acceptor>>,
    records: Rc<Records>,
    /// Applications that were loaded and may still answer.
    apps: Rc<RefCell<Vec<Weak<App>>>>,
    loads: Cell<usize>,
}

impl Service {
    /// The service of one worker. Must be made on that worker's thread.
    pub fn new(worker: &Worker, settings: Settings, front: Front) -> Service {
        let server = Server::new(settings.http.clone(), OnWorker(worker.clone()));
        let records = Rc::new(Records {
            compression: Compression::new(OnWorker(worker.clone())),
            lane: front.access_log.as_ref().map(|log| log.lane()),
            column: front.board.as_ref().map(|board| board.column(worker.id())),
        });
        let service = Service {
            worker: worker.clone(),
            settings: Rc::new(settings),
            server,
            front,
            tls: RefCell::new(None),
            records,
            apps: Rc::default(),
            loads: Cell::new(0),
        };
        if let Some(column) = &service.records.column {
            service.show_vm(Arc::clone(column));
        }
        service
    }

    /// Shows what only this thread can see of its VMs, by the clock, so that the admin thread need not ask a worker that may be stuck.
    fn show_vm(&self, column: Arc<Column>) {
        let apps = Rc::clone(&self.apps);
        let drain = self.worker.drain_started();
        let shown = Arc::clone(&column);
        drop(self.worker.spawn(async move {
            loop {
                let alive: Vec<Rc<App>> = apps.borrow().iter().filter_map(Weak::upgrade).collect();
                let sum = |of: fn(&App) -> usize| alive.iter().map(|app| of(app) as u64).sum();
                shown.vm_bytes.store(sum(App::vm_bytes), Relaxed);
                shown.vm_objects.store(sum(App::vm_objects), Relaxed);
                shown.requests.store(sum(App::requests), Relaxed);
                shown.databases.look(&alive);
                shown.stores.look(&alive);
                drop(alive);
                tokio::time::sleep(VM_FIGURES_EVERY).await;
            }
        }));
        drop(self.worker.spawn(async move {
            drain.await;
            column.draining.store(true, Relaxed);
        }));
    }

    /// Reads certificate and key again, if there are any.
    async fn read_certificate(&self) -> Result<(), BoxError> {
        if let Some(tls) = self.front.tls.clone() {
            let acceptor = self.worker.offload(move || tls.read()).await??;
            *self.tls.borrow_mut() = Some(acceptor);
        }
        Ok(())
    }
}

/// What this worker does with every request besides answering it.
struct Records {
    compression: Compression<OnWorker>,
    lane: Option<Lane>,
    column: Option<Arc<Column>>,
}

struct Door {
    app: Current<App>,
    records: Rc<Records>,
}

impl Handler for Door {
    type Note = Option<Box<Entry>>;

    fn begun(&self, request: &Request) -> Option<Box<Entry>> {
        if let Some(column) = &self.records.column {
            column.figures.request_begun();
        }
        let lane = self.records.lane.as_ref();
        lane.map(|_| Box::new(Entry::of(request)))
    }

    async fn handle(&self, request: Request) -> Response {
        let app = self.app.current();
        let accepts = request.headers.contains_key(ACCEPT_ENCODING) && app.compresses();
        let accepted = accepts.then(|| Accepted::of(&request.headers));
        let response = app.answer(request).await;
        match accepted {
            Some(accepted) => self.records.compression.encode(response, accepted).await,
            None => response,
        }
    }

    fn finished(&self, finished: &Finished, note: &Option<Box<Entry>>) {
        if let Some(column) = &self.records.column {
            let duration = finished.received_at.elapsed();
            let duration_us = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
            column.figures.request_finished(finished, duration_us);
        }
        if let (Some(lane), Some(entry)) = (&self.records.lane, note) {
            lane.record(finished, entry);
        }
    }
}

impl tsumugi_worker::Service for Service {
    type App = App;

    async fn load(&self) -> Result<Rc<App>, BoxError> {
        self.read_certificate().await?;
        // The signal that reloads is the one that log rotation sends; once for all workers is enough.
        let loads = self.loads.replace(self.loads.get() + 1);
        if let (1.., 0, Some(log)) = (loads, self.worker.id(), &self.front.access_log) {
            log.reopen();
        }
        let app = App::load(&self.worker, Rc::clone(&self.settings)).await?;
        app.start_timers();
        let mut apps = self.apps.borrow_mut();
        apps.retain(|app| app.strong_count() > 0);
        apps.push(Rc::downgrade(&app));
        if let Some(column) = &self.records.column {
            column.loaded.store(true, Relaxed);
        }
        Ok(app)
    }

    async fn serve(&self, connection: Connection, app: Current<App>) {
        let Connection {
            stream, slot, peer, ..
        } = connection;
        let door = Rc::new(Door {
            app,
            records: Rc::clone(&self.records),
        });
        let Peer::Tcp(address) = peer else {
            let shutdown = self.worker.drain_started();
            let origin = Origin::default();
            self.server.serve(stream, origin, door, shutdown).await;
            drop(slot);
            return;
        };
        let origin = |protocol| Origin {
            peer: Some(address),
            protocol,
        };
        let shutdown = self.worker.drain_started();
        let acceptor = self.tls.borrow().clone();
        let Some(acceptor) = acceptor else {
            let origin = origin(Protocol::Sniffed);
            self.server.serve(stream, origin, door, shutdown).await;
            drop(slot);
            return;
        };
        let limits = Rc::clone(self.server.limits());
        let shaken = tokio::select! {
            shaken = acceptor.accept(stream, &limits) => shaken,
            () = self.worker.drain_started() => return,
        };
        match shaken {
            Ok((stream, protocol)) => {
                let origin = origin(protocol);
                self.server.serve(stream, origin, door, shutdown).await;
            }
            Err(error) => tracing::debug!(%address, %error, "no TLS connection"),
        }
        drop(slot);
    }

    async fn retire(&self, app: Rc<App>) {
        app.retire().await;
    }
}
