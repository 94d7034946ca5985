//! A loaded application on one worker, answering requests.

use std::cell::Cell;
use std::rc::Rc;
use std::task::Context;

use http::{Method, StatusCode};
use tsumugi_http::{
    Allow, CaptureValues, HttpLimits, HttpResponse, Request, RouteMatch, RouteTable, Value,
};
use tsumugi_mruby::{Root, Scope, Vm};
use tsumugi_server::Mode;
use tsumugi_server::commands::RouteLine;
use tsumugi_server::dispatch::{
    self, Dispatch, FirstTurn, JobGuard, Lifecycle, PublicFolders, RequestDeadline,
};
use tsumugi_server::openapi::RouteOperation;
use tsumugi_trace::{Activity, ActivityKind, Ending};
use tsumugi_worker::WorkerHandle;

use crate::answer::answer;
use crate::driver::{self, Bounds, FirstStep, ParkedFibre};
use crate::error::Error;
use crate::exchange::{Capture, Exchange, OwnedCaptures};
use crate::finish::{self, FinishedResponse};
use crate::host::{Host, JobResult};
use crate::load_failure::FirstLoadFailure;
use crate::public::Public;
use crate::routes::{self, Route, Routes};
use crate::settings::{Settings, SharedResources};
use crate::{job_worker, load, streaming, timers};

/// One application file, loaded on one worker.
pub struct App {
    host: Rc<Host>,
    lifecycle: Lifecycle<Route>,
    lines: Vec<RouteLine>,
    not_found: Option<Rc<Root>>,
    public: Public,
    /// Why there is no application, where this stands in for it.
    load_failure: Option<FirstLoadFailure>,
}

impl App {
    /// Loads the application of `settings` on this worker; its plugins may wait.
    pub async fn load(worker: &WorkerHandle, settings: Rc<Settings>) -> Result<Rc<App>, Error> {
        App::load_sharing(worker, settings, SharedResources::default()).await
    }

    /// As [`App::load`], with what it shares with the application that it is mounted in.
    pub(crate) async fn load_sharing(
        worker: &WorkerHandle,
        settings: Rc<Settings>,
        shared: SharedResources,
    ) -> Result<Rc<App>, Error> {
        App::load_in(&App::open(worker, settings, shared)?).await
    }

    /// A VM for an application.
    pub(crate) fn open(
        worker: &WorkerHandle,
        settings: Rc<Settings>,
        shared: SharedResources,
    ) -> Result<Rc<Host>, Error> {
        let host = load::host(worker, settings, shared)?;
        load::report_stalls(&host);
        Ok(host)
    }

    /// Loads the application of the settings in a VM for it.
    pub(crate) async fn load_in(host: &Rc<Host>) -> Result<Rc<App>, Error> {
        // What is wrong with the environment is an error now, and not with the first mail.
        host.web.mailer(&host.worker, &host.settings)?;
        let path = host.settings.app.clone();
        load::program(host, &path).await?;
        let Routes {
            router,
            lines,
            not_found,
        } = host.vm.enter(routes::read)?;
        let (public, folders) = Public::read(host).await?;
        let limits = &host.settings.limits;
        host.admission.begin(&host.vm, limits.vm_bytes_max);
        let (requests_max, request_ms_max) = (limits.requests_max, limits.request_ms_max);
        Ok(Rc::new(App {
            host: Rc::clone(host),
            lifecycle: Lifecycle::new(router, folders, requests_max, request_ms_max),
            lines,
            not_found,
            public,
            load_failure: None,
        }))
    }

    /// Stands in for the application, which has failed to load in this VM: answers every request with the reason.
    pub(crate) fn standing_in(host: Rc<Host>, load_failure: FirstLoadFailure) -> Rc<App> {
        let limits = &host.settings.limits;
        let (requests_max, request_ms_max) = (limits.requests_max, limits.request_ms_max);
        let folders = PublicFolders::default();
        let lifecycle = Lifecycle::new(RouteTable::new(), folders, requests_max, request_ms_max);
        Rc::new(App {
            public: Public::none(&host),
            host,
            lifecycle,
            lines: Vec::new(),
            not_found: None,
            load_failure: Some(load_failure),
        })
    }

    /// Starts the timers of `every`. Called once the application is the one that answers.
    ///
    /// # Errors
    /// When the VM has no room for them.
    pub fn start_timers(&self) -> Result<(), Error> {
        let timers = self.host.vm.enter(|scope| {
            timers::read(&self.host, scope).map_err(|raised| Error::raised(scope, raised))
        })?;
        let jobs = self.lifecycle.jobs();
        // What can fail comes first: a timer that runs would outlive the failure.
        let worker = job_worker::start(&self.host, jobs.stop_signal())?;
        jobs.add_timers(worker);
        let start = |timer| timers::start(&self.host, timer, jobs.stop_signal());
        jobs.add_timers(timers.into_iter().map(start));
        jobs.add_timers(job_worker::start_schedules(&self.host, jobs.stop_signal()));
        Ok(())
    }

    /// The routes in the order of the file.
    pub fn routes(&self) -> &[RouteLine] {
        &self.lines
    }

    /// What the routes ask for and answer, read from their handlers, which are not run.
    ///
    /// # Errors
    /// When the VM has no room.
    pub fn operations(&self) -> Result<Vec<RouteOperation>, Error> {
        self.host
            .vm
            .enter(|scope| crate::openapi::operations(scope, &self.lines))
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

    /// Requests that wait in Ruby now.
    pub fn requests(&self) -> usize {
        self.lifecycle.waiting()
    }

    /// Stops the timers, waits for the last request and for what cancelled ones still do, then stops the plugins.
    pub async fn retire(&self) {
        self.lifecycle.jobs().drain().await;
        self.host.jobs.idle().await;
        let finish = |scope: &Scope<'_>, ended: JobResult<'_>| match ended {
            Ok(failures) => {
                for failure in scope.texts(failures) {
                    tracing::error!("while it stopped: {failure}");
                }
            }
            Err(raised) => {
                let report = scope.report(raised);
                tracing::error!("it could not stop its plugins: {report}");
            }
        };
        let job = answer(|scope| scope.call(scope.constant("Tsumugi")?, "stop_job", &[]));
        driver::run(&self.host, job, &Bounds::default(), finish).await;
    }

    /// Answers one request.
    pub fn answer(self: &Rc<Self>, request: Box<Request>) -> impl Future<Output = HttpResponse> {
        dispatch::answer(self, request)
    }

    /// The response of a handler that has ended, unless there is a file to wait for.
    fn respond(
        &self,
        exchange: &Rc<Exchange>,
        finished: FinishedResponse,
        job: JobGuard<App>,
    ) -> HttpResponse {
        let FinishedResponse {
            mut response,
            stream,
            file: _,
        } = finished;
        self.run_later(exchange, response.status, &job);
        match stream.filter(|_| exchange.request.method != Method::HEAD) {
            Some(plan) => {
                streaming::start(&self.host, exchange, &mut response, plan, job, http_limits);
            }
            None => exchange.streams.close(),
        }
        response
    }

    /// Runs what the handler has left for after its response, a block behind the other.
    fn run_later(&self, exchange: &Rc<Exchange>, status: StatusCode, job: &JobGuard<App>) {
        let later = exchange.later.take();
        if later.is_empty() || status.is_server_error() {
            return;
        }
        let (host, kept, line) = (Rc::clone(&self.host), job.another(), exchange.line());
        let worker = self.host.worker.clone();
        // A part of the request's trace, which may have ended before.
        let activity = exchange.request.activity.as_ref();
        let later_activity = activity.map(|activity| {
            let name = format!("after the response of {line}").into();
            let parent = Some(activity.as_parent());
            Activity::begin_named(ActivityKind::Stream, name, parent)
        });
        let scope = later_activity.as_ref().map(|activity| activity.share());
        worker.spawn(Activity::scope(scope, async move {
            // The response goes out at the end of the turn.
            tokio::task::yield_now().await;
            for task in later {
                let finish =
                    |scope: &Scope<'_>, ended: JobResult<'_>| driver::failure_of(scope, &ended);
                let task = driver::job_of(task);
                if let Some(report) = driver::run(&host, task, &Bounds::default(), finish).await {
                    host.log_exception(&format!("after the response of {line}"), &report);
                }
            }
            if let Some(activity) = later_activity {
                activity.end(Ending::default());
            }
            drop(kept);
        }));
    }

    /// Waits for the file that the handler named.
    async fn send(
        self: Rc<Self>,
        exchange: Rc<Exchange>,
        mut finished: FinishedResponse,
        job: JobGuard<App>,
    ) -> HttpResponse {
        if let Some(file) = finished.file.take() {
            let sent = self.public.send(file, &exchange.request, finished.response);
            finished.response = sent.await;
        }
        self.respond(&exchange, finished, job)
    }
}

/// The class of the context whose `__run` is the handler, with what was captured for it.
pub struct RouteHandler {
    class: Rc<Root>,
    captures: OwnedCaptures,
    /// `file:line` of the route.
    location: Option<Rc<str>>,
    /// The status unless the handler sets one.
    status: Option<StatusCode>,
}

/// A request that waits, for its handler or for the file that the handler named.
pub struct ParkedRequest {
    exchange: Rc<Exchange>,
    /// Taken by the response.
    job: Option<JobGuard<App>>,
    wait: Wait,
}

enum Wait {
    Handler(ParkedFibre),
    File(Option<Box<FinishedResponse>>),
}

impl Dispatch for App {
    type Route = Route;
    type Handler = RouteHandler;
    type Waiting = ParkedRequest;

    fn lifecycle(&self) -> &Lifecycle<Route> {
        &self.lifecycle
    }

    fn handler(&self, found: &RouteMatch<'_, '_, Route>) -> RouteHandler {
        let Route {
            class,
            names,
            location,
        } = found.value;
        RouteHandler {
            class: Rc::clone(class),
            captures: owned(&found.captures, names),
            location: Some(Rc::clone(location)),
            status: None,
        }
    }

    fn not_found(&self) -> Option<RouteHandler> {
        let class = self.not_found.as_ref()?;
        Some(RouteHandler {
            class: Rc::clone(class),
            captures: OwnedCaptures::default(),
            location: None,
            status: Some(StatusCode::NOT_FOUND),
        })
    }

    fn explain_unrouted(&self, request: &Request, allow: Option<&Allow>) -> Option<HttpResponse> {
        if let Some(failure) = &self.load_failure {
            return Some(failure.response(&request.headers));
        }
        let Settings { mode, in_test, .. } = &*self.host.settings;
        // Tests see what clients will see.
        let is_developed = *mode == Mode::Development && !in_test;
        is_developed.then(|| self.lifecycle.explain_unrouted(request, allow))
    }

    fn begin(
        self: &Rc<Self>,
        _: &mut Context<'_>,
        request: Box<Request>,
        handler: RouteHandler,
        job: JobGuard<App>,
    ) -> FirstTurn<ParkedRequest> {
        let host = &self.host;
        let Some(entry) = host.admission.enter(&host.vm, host.jobs.running()) else {
            return FirstTurn::Done(no_room(host));
        };
        let RouteHandler {
            class,
            captures,
            location,
            status,
        } = handler;
        let exchange = Rc::new(Exchange::new(request, captures, location, entry));
        if status.is_some() {
            exchange.draft.borrow_mut().status = status;
        }
        let finish =
            |scope: &Scope<'_>, ended: JobResult<'_>| finish::finish(host, &exchange, scope, ended);
        let sessions = host.web.sessions.get();
        let guarded = sessions.is_some_and(|sessions| sessions.guards(&exchange.request));
        let made = Cell::new(false);
        let context = {
            let (made, exchange) = (&made, Rc::downgrade(&exchange));
            scope_closure(move |scope| {
                let context = scope.wrap(scope.rooted(&class), exchange)?;
                let context = match guarded {
                    true => scope.call(scope.constant("Tsumugi::Guarded")?, "new", &[context])?,
                    false => context,
                };
                made.set(true);
                Ok(context)
            })
        };
        let Ok(fibre) = host.fibre() else {
            return FirstTurn::Done(no_room(host));
        };
        let bounds = Bounds {
            subject: Some(Rc::clone(&exchange)),
            ..Bounds::default()
        };
        let wait = match driver::start(host, fibre, &bounds, context, finish) {
            // The handler has not begun.
            FirstStep::Done(_) if !made.get() => return FirstTurn::Done(no_room(host)),
            FirstStep::Done(finished) if finished.file.is_none() => {
                return FirstTurn::Done(self.respond(&exchange, finished, job));
            }
            FirstStep::Done(finished) => Wait::File(Some(Box::new(finished))),
            FirstStep::Parked(parked) => Wait::Handler(parked),
        };
        FirstTurn::Waits(ParkedRequest {
            exchange,
            job: Some(job),
            wait,
        })
    }

    async fn wait(waiting: &mut ParkedRequest, deadline: RequestDeadline) -> HttpResponse {
        let ParkedRequest {
            exchange,
            job,
            wait,
        } = waiting;
        let finished = match wait {
            Wait::Handler(parked) => {
                let bounds = Bounds {
                    deadline: Some(deadline.at),
                    ..Bounds::default()
                };
                let host = parked.host();
                let finish = |scope: &Scope<'_>, ended: JobResult<'_>| {
                    finish::finish(&host, exchange, scope, ended)
                };
                parked.drive(&bounds, finish).await
            }
            Wait::File(finished) => match finished.take() {
                Some(finished) => *finished,
                None => unreachable!("a file is waited for once"),
            },
        };
        let Some(job) = job.take() else {
            unreachable!("a request is waited for once")
        };
        let app = Rc::clone(job.app());
        match finished.file {
            Some(_) => Box::pin(app.send(Rc::clone(exchange), finished, job)).await,
            None => app.respond(exchange, finished, job),
        }
    }
}

fn http_limits(app: &App) -> &HttpLimits {
    &app.host.settings.http
}

/// The answer to a request for which the VM has no room.
#[cold]
fn no_room(host: &Host) -> HttpResponse {
    let max = host.settings.limits.vm_bytes_max;
    let used = host.vm.memory_used();
    host.admission.refused.add(move |count| {
        tracing::warn!(
            "vm_bytes_max ({max}) is nearly used up ({used}): {count} requests were answered 503"
        );
    });
    HttpResponse::refusal(
        StatusCode::SERVICE_UNAVAILABLE,
        "vm_bytes_max is nearly used up; try again later",
    )
}

/// The closure itself: as an argument here its lifetimes are inferred for every scope.
fn scope_closure<F>(make: F) -> F
where
    F: for<'s> FnOnce(&'s Scope<'s>) -> tsumugi_mruby::Result<'s, tsumugi_mruby::Value<'s>>,
{
    make
}

fn owned(captures: &CaptureValues<'_>, names: &Rc<[Box<str>]>) -> OwnedCaptures {
    if captures.is_empty() {
        return OwnedCaptures::default();
    }
    let value = |value: &Value<'_>| match value {
        Value::Integer(integer) => Capture::Integer(*integer),
        Value::Float(float) => Capture::Float(*float),
        Value::Text(text) => Capture::Text(text.clone().into_owned()),
    };
    OwnedCaptures {
        names: Some(Rc::clone(names)),
        values: captures.iter().map(value).collect(),
    }
}
