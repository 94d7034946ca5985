//! A loaded application on one worker, answering requests.

use std::cell::{Cell, RefCell};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::{Method, StatusCode};
use tokio::task::JoinHandle;
use tsumugi_http::{CaptureValues, HttpResponse, Match, Request, Value};
use tsumugi_mruby::{Root, Scope, Vm};
use tsumugi_worker::WorkerHandle;

use crate::answer::answer;
use crate::driver::{self, Bounds, Parked, Signal, Started};
use crate::error::Error;
use crate::exchange::{Capture, Captured, Exchange};
use crate::finish::{self, Finished};
use crate::host::{Ended, Host};
use crate::public::Public;
use crate::routes::{self, Route, RouteLine, Routes};
use crate::settings::{Settings, SharedDatabases};
use crate::{load, streaming, timers};

/// One application file, loaded on one worker.
pub struct App {
    host: Rc<Host>,
    routes: Routes,
    public: Rc<Public>,
    stop_timers: Rc<Signal>,
    timers: RefCell<Vec<JoinHandle<()>>>,
}

impl App {
    /// Loads the application of `settings` on this worker; its plugins may wait.
    pub async fn load(worker: &WorkerHandle, settings: Rc<Settings>) -> Result<Rc<App>, Error> {
        App::load_sharing(worker, settings, SharedDatabases::default()).await
    }

    /// The same, with databases for `DB.shared`.
    pub(crate) async fn load_sharing(
        worker: &WorkerHandle,
        settings: Rc<Settings>,
        shared: SharedDatabases,
    ) -> Result<Rc<App>, Error> {
        let path = settings.app.clone();
        let host = load::host(worker, settings)?;
        *host.shared.borrow_mut() = shared;
        load::program(&host, &path).await?;
        let routes = host.vm.enter(routes::read)?;
        let public = Rc::new(Public::read(&host).await?);
        host.admission
            .begin(&host.vm, host.settings.limits.vm_bytes_max);
        let stop_timers = Rc::new(Signal::default());
        Ok(Rc::new(App {
            host,
            routes,
            public,
            stop_timers,
            timers: RefCell::default(),
        }))
    }

    /// Starts the timers of `every`. Called once the application is the one that answers.
    ///
    /// # Errors
    /// When the VM has no room for them.
    pub fn start_timers(&self) -> Result<(), Error> {
        let timers = self.host.vm.enter(|scope| {
            timers::read(&self.host, scope).map_err(|raised| Error::Raised {
                report: scope.report(raised),
            })
        })?;
        let started = timers
            .into_iter()
            .map(|timer| timers::start(&self.host, timer, &self.stop_timers));
        self.timers.borrow_mut().extend(started);
        Ok(())
    }

    /// The routes in the order of the file.
    pub fn routes(&self) -> &[RouteLine] {
        &self.routes.lines
    }

    /// The VM that the application runs in.
    pub(crate) fn host(&self) -> &Rc<Host> {
        &self.host
    }

    /// Lets Ruby beside the application send requests to it.
    pub(crate) fn offer_client(self: &Rc<Self>) -> Result<(), Error> {
        let app = Rc::downgrade(self);
        crate::natives::offer_client(&self.host, move |request| {
            let app = app.upgrade();
            async move { Some(app?.answer(request).await) }
        })
    }

    /// Whether responses may be compressed: `compress false` in the application file says no.
    pub fn compresses(&self) -> bool {
        self.public.compresses
    }

    /// The VM that the application runs in, for tests that look into it.
    #[doc(hidden)]
    pub fn vm(&self) -> &Vm {
        &self.host.vm
    }

    /// Bytes that the VM has allocated.
    pub fn vm_bytes(&self) -> usize {
        self.host.vm.memory_used()
    }

    /// Live objects of the VM.
    pub fn vm_objects(&self) -> usize {
        self.host.vm.live_objects()
    }

    /// Requests in Ruby now, parked ones included.
    pub fn requests(&self) -> usize {
        self.host.requests.get()
    }

    /// Waits for the last request, then stops the timers and the plugins.
    pub async fn retire(&self) {
        self.stop_timers.give();
        let timers: Vec<JoinHandle<()>> = self.timers.borrow_mut().drain(..).collect();
        for timer in timers {
            let _ = timer.await; // a timer task ends by the signal; a panic in it is in the log
        }
        self.host.idle().await;
        let finish = |scope: &Scope<'_>, ended: Ended<'_>| {
            let failures = match ended {
                Ended::Value(failures) => failures,
                Ended::Raised(exception) => {
                    let report = scope.report(tsumugi_mruby::Raise(exception));
                    return tracing::error!("it could not stop its plugins: {report}");
                }
            };
            for i in 0..scope.array_len(failures) {
                let failure = scope.text(scope.array_at(failures, i)).unwrap_or_default();
                tracing::error!("while it stopped: {failure}");
            }
        };
        let job = answer(|scope| scope.call(scope.constant("Tsumugi")?, "stop_job", &[]));
        driver::run(&self.host, job, &Bounds::default(), finish).await;
    }

    /// Answers one request.
    pub async fn answer(self: &Rc<Self>, request: Box<Request>) -> HttpResponse {
        match self.begin(request, Folders::ToAsk) {
            Begun::Answered(response) => response,
            Begun::Parked(rest) => rest.await,
        }
    }

    /// A file, or else what there is without files.
    async fn file_or_rest(self: Rc<Self>, request: Box<Request>) -> HttpResponse {
        if let Some(response) = self.public.answer(&request).await {
            return response;
        }
        match self.begin(request, Folders::Asked) {
            Begun::Answered(response) => response,
            Begun::Parked(rest) => rest.await,
        }
    }

    /// Answers what can be answered at once. What waits goes on in a box of its own: the future of a request that does
    /// not wait stays small, and it is moved several times on its way.
    fn begin(self: &Rc<Self>, request: Box<Request>, folders: Folders) -> Begun {
        let found = self.routes.router.find(&request.method, request.uri.path());
        if matches!(found, Match::NotFound | Match::MethodNotAllowed(_))
            && folders == Folders::ToAsk
            && self.public.may_have(&request)
        {
            drop(found);
            return Begun::Parked(Box::pin(Rc::clone(self).file_or_rest(request)));
        }
        let Routed {
            class,
            captures,
            pattern,
            location,
        } = match self.routed(found) {
            Ok(routed) => routed,
            Err(response) => return Begun::Answered(*response),
        };
        let Some(place) = RequestPermit::take(&self.host) else {
            let max = self.host.settings.limits.requests_max;
            tracing::warn!("requests_max ({max}) is reached: a request was answered 503");
            return Begun::Answered(HttpResponse::refusal(
                StatusCode::SERVICE_UNAVAILABLE,
                "requests_max is reached; try again later",
            ));
        };
        let (vm, running) = (&self.host.vm, self.host.running.get());
        let Some(entry) = self.host.admission.enter(vm, running) else {
            return Begun::Answered(no_room(&self.host));
        };
        let exchange = Rc::new(Exchange::new(request, captures, location, entry));
        if pattern.is_none() {
            exchange.draft.borrow_mut().status = Some(StatusCode::NOT_FOUND);
        }
        self.run(place, exchange, class, pattern)
    }

    /// The class that handles a request, with what was captured for it; or the answer when there is none.
    fn routed<'r>(&'r self, found: Match<'r, '_, Route>) -> Result<Routed<'r>, Box<HttpResponse>> {
        match found {
            Match::Found(found) => {
                let names = Rc::clone(&found.value.names);
                let captures = owned(&found.captures, names);
                Ok(Routed {
                    class: &found.value.class,
                    captures,
                    pattern: Some(Arc::clone(found.pattern)),
                    location: Some(Rc::clone(&found.value.location)),
                })
            }
            Match::NotFound => match &self.routes.not_found {
                Some(class) => Ok(Routed {
                    class,
                    captures: Captured::default(),
                    pattern: None,
                    location: None,
                }),
                None => Err(Box::new(HttpResponse::not_found())),
            },
            Match::MethodNotAllowed(allow) => {
                Err(Box::new(HttpResponse::method_not_allowed(&allow)))
            }
            Match::Options(allow) => Err(Box::new(HttpResponse::options(&allow))),
            Match::Malformed => {
                let refusal = HttpResponse::refusal(StatusCode::BAD_REQUEST, "malformed path");
                Err(Box::new(refusal))
            }
        }
    }

    fn run(
        &self,
        place: RequestPermit,
        exchange: Rc<Exchange>,
        class: &Root,
        pattern: Option<Arc<str>>,
    ) -> Begun {
        let host = &self.host;
        let finish =
            |scope: &Scope<'_>, ended: Ended<'_>| finish::finish(host, &exchange, scope, ended);
        let guarded = host.web.sessions.get().is_some_and(|sessions| {
            let request = &exchange.request;
            let cookies_max = host.settings.http.parameters_max;
            sessions.guards(&request.method, &request.headers, cookies_max)
        });
        let made = Cell::new(false);
        let context = {
            let (made, exchange) = (&made, Rc::downgrade(&exchange));
            making(move |scope| {
                let context = scope.wrap(scope.rooted(class), exchange)?;
                let context = match guarded {
                    true => scope.call(scope.constant("Tsumugi::Guarded")?, "new", &[context])?,
                    false => context,
                };
                made.set(true);
                Ok(context)
            })
        };
        let Ok(fibre) = host.fibre() else {
            return Begun::Answered(no_room(host));
        };
        match driver::start(
            host,
            fibre,
            Some(Rc::clone(&exchange)),
            None,
            context,
            finish,
        ) {
            // The handler has not begun.
            Started::Done(_) if !made.get() => Begun::Answered(no_room(host)),
            Started::Done(finished) if finished.file.is_none() => {
                Begun::Answered(respond(host, &exchange, finished, pattern, Duration::ZERO))
            }
            Started::Done(finished) => {
                let rest = self.rest(place, exchange, pattern);
                rest.respond(finished, Duration::ZERO)
            }
            Started::Parked(parked) => {
                let rest = self.rest(place, exchange, pattern);
                Begun::Parked(Box::pin(rest.wait(parked)))
            }
        }
    }

    fn rest(
        &self,
        place: RequestPermit,
        exchange: Rc<Exchange>,
        pattern: Option<Arc<str>>,
    ) -> Rest {
        Rest {
            host: Rc::clone(&self.host),
            public: Rc::clone(&self.public),
            _place: place,
            exchange,
            pattern,
        }
    }
}

/// Class, captures and pattern; no pattern where nothing was found.
struct Routed<'r> {
    class: &'r Rc<Root>,
    captures: Captured,
    pattern: Option<Arc<str>>,
    /// `file:line` of the route.
    location: Option<Rc<str>>,
}

/// How far a request came at once.
enum Begun {
    Answered(HttpResponse),
    Parked(Pin<Box<dyn Future<Output = HttpResponse>>>),
}

/// Whether the public folders have been asked for a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Folders {
    ToAsk,
    Asked,
}

/// The rest of a request that waits.
struct Rest {
    host: Rc<Host>,
    public: Rc<Public>,
    _place: RequestPermit,
    exchange: Rc<Exchange>,
    pattern: Option<Arc<str>>,
}

impl Rest {
    /// Waits for the handler.
    async fn wait(self, mut parked: Parked) -> HttpResponse {
        let limit = Duration::from_millis(self.host.settings.limits.request_ms_max);
        let bounds = Bounds {
            deadline: Some(self.exchange.request.received_at + limit),
            ..Bounds::default()
        };
        let finish = |scope: &Scope<'_>, ended: Ended<'_>| {
            finish::finish(&self.host, &self.exchange, scope, ended)
        };
        let finished = parked.drive(&bounds, finish).await;
        match self.respond(finished, parked.waited) {
            Begun::Answered(response) => response,
            Begun::Parked(rest) => rest.await,
        }
    }

    /// Answers, unless there is a file to wait for. Not async: nothing of it is kept in the future of those that wait.
    fn respond(self, finished: Finished, waited: Duration) -> Begun {
        if finished.file.is_some() {
            return Begun::Parked(Box::pin(self.send(finished, waited)));
        }
        let (host, exchange) = (&self.host, &self.exchange);
        Begun::Answered(respond(host, exchange, finished, self.pattern, waited))
    }

    /// Waits for the file that the handler named.
    async fn send(self, mut finished: Finished, mut waited: Duration) -> HttpResponse {
        if let Some(path) = finished.file.take() {
            let since = Instant::now();
            let request = &self.exchange.request;
            finished.response = self.public.send(path, request, finished.response).await;
            waited += since.elapsed();
        }
        respond(&self.host, &self.exchange, finished, self.pattern, waited)
    }
}

/// The answer to a request for which the VM has no room.
#[cold]
fn no_room(host: &Host) -> HttpResponse {
    if let Some(count) = host.admission.refuse() {
        let max = host.settings.limits.vm_bytes_max;
        let used = host.vm.memory_used();
        tracing::warn!(
            "vm_bytes_max ({max}) is nearly used up ({used}): {count} requests were answered 503"
        );
    }
    HttpResponse::refusal(
        StatusCode::SERVICE_UNAVAILABLE,
        "vm_bytes_max is nearly used up; try again later",
    )
}

fn respond(
    host: &Rc<Host>,
    exchange: &Rc<Exchange>,
    finished: Finished,
    pattern: Option<Arc<str>>,
    waited: Duration,
) -> HttpResponse {
    let Finished {
        mut response,
        stream,
        file: _,
    } = finished;
    if let Some(plan) = stream.filter(|_| exchange.request.method != Method::HEAD) {
        streaming::start(host, exchange, &mut response, plan);
    }
    finish::account(&mut response, exchange, pattern, waited);
    response
}

/// Tells a closure its type.
fn making<F>(make: F) -> F
where
    F: for<'s> FnOnce(&'s Scope<'s>) -> tsumugi_mruby::Result<'s, tsumugi_mruby::Value<'s>>,
{
    make
}

fn owned(captures: &CaptureValues<'_>, names: Rc<[Box<str>]>) -> Captured {
    if captures.is_empty() {
        return Captured::default();
    }
    let value = |value: &Value<'_>| match value {
        Value::Integer(integer) => Capture::Integer(*integer),
        Value::Float(float) => Capture::Float(*float),
        Value::Text(text) => Capture::Text(text.clone().into_owned()),
    };
    Captured {
        names: Some(names),
        values: captures.iter().map(value).collect(),
    }
}

/// A place among `requests_max`.
struct RequestPermit(Rc<Host>);

impl RequestPermit {
    fn take(host: &Rc<Host>) -> Option<RequestPermit> {
        let running = host.requests.get();
        (running < host.settings.limits.requests_max).then(|| {
            host.requests.set(running + 1);
            RequestPermit(Rc::clone(host))
        })
    }
}

impl Drop for RequestPermit {
    fn drop(&mut self) {
        self.0.requests.set(self.0.requests.get() - 1);
    }
}
