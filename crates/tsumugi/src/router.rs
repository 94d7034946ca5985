//! Routes of one application as its author writes them: patterns, middleware, nested routers, timers, folders of files.
//! Builds, and answers nothing: [`AppInstance`](crate::AppInstance) does. Rule: a mistake in a pattern is reported with its line when the application
//! is loaded, before any plugin starts.

use std::panic::Location;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use http::Method;
use tsumugi_http::CachePolicy;
use tsumugi_server::AdminView;
use tsumugi_server::commands::RouteLine;
use tsumugi_server::openapi::{OperationShape, RouteOperation};
use tsumugi_worker::LocalTask;

use crate::context::Context;
use crate::csrf::guard;
use crate::error::{Error, Result};
use crate::extract::Extract;
use crate::handler::{Endpoint, Handler, Methods, ShapeWriter, endpoint};
use crate::job::{Job, LineOptions};
use crate::job_worker::{self, DeclaredJob};
use crate::layer::{self, Layer, Mapper, Next, Verdict, compose};
use crate::plugin::Worker;
use crate::response::{Answer, IntoResponse, Response};
use crate::session::Sessions;
use crate::timers::{self, On, TickOutcome, Timer};
use tsumugi_jobs::ClaimedJob;

/// Routes with what stands around them. Made anew on each worker by the function given to the server.
///
/// A segment `{name}` of a pattern captures one segment of a path, `{*name}` at the end the rest of it. A literal segment goes before a
/// capture, whatever the order of the routes.
pub struct Router<S> {
    pub(crate) routes: Vec<Route<S>>,
    layers: Vec<Layer<S>>,
    /// What each `before` asks of a request.
    asks: Vec<ShapeWriter>,
    mapper: Option<Mapper>,
    not_found: Option<Endpoint<S>>,
    pub(crate) timers: Vec<Timer<S>>,
    pub(crate) jobs: Vec<DeclaredJob<S>>,
    pub(crate) folders: Vec<FolderSpec>,
    pub(crate) mounts: Vec<MountSpec<S>>,
    sessions: Option<Sessions>,
}

/// One method of one pattern.
pub(crate) struct Route<S> {
    pub(crate) method: Method,
    pub(crate) pattern: String,
    pub(crate) location: &'static Location<'static>,
    pub(crate) endpoint: Endpoint<S>,
    /// What its handler, and the `before` of the nested routers that it came with, ask of a request.
    asks: Vec<ShapeWriter>,
}

/// An application of another kind as its router places it.
pub(crate) struct MountSpec<S> {
    pub(crate) prefix: String,
    pub(crate) mount: Rc<dyn Mount>,
    /// What the nested routers that it came with put around it; none for a router's own.
    pub(crate) inner: Option<Layer<S>>,
}

/// A folder of files.
pub(crate) struct FolderSpec {
    pub(crate) at: String,
    pub(crate) path: PathBuf,
    pub(crate) cache: CachePolicy,
}

/// An application of another kind below a prefix.
pub trait Mount: 'static {
    /// Loads it on a worker, after the plugin has started.
    fn load(&self, worker: &Worker) -> LocalTask<Result<Rc<dyn MountedApp>>>;
}

/// An application of another kind, loaded.
pub trait MountedApp {
    /// Answers a request; the prefix is no longer in its path.
    fn answer(&self, request: Box<tsumugi_http::Request>) -> LocalTask<tsumugi_http::HttpResponse>;

    /// Whether its responses may be compressed.
    fn compresses(&self) -> bool {
        true
    }

    /// What the admin pages show of it.
    fn show(&self) -> AdminView<'_> {
        AdminView::default()
    }

    /// Called after its last request.
    fn retire(&self) -> LocalTask<()>;
}

impl<S: 'static> Default for Router<S> {
    fn default() -> Router<S> {
        Router::new()
    }
}

impl<S: 'static> Router<S> {
    /// A router without routes.
    pub fn new() -> Router<S> {
        Router {
            routes: Vec::new(),
            layers: Vec::new(),
            asks: Vec::new(),
            mapper: None,
            not_found: None,
            timers: Vec::new(),
            jobs: Vec::new(),
            folders: Vec::new(),
            mounts: Vec::new(),
            sessions: None,
        }
    }

    /// Answers the methods of this pattern: `.route("/users/{id}", get(show).delete(remove))`.
    #[track_caller]
    #[must_use]
    pub fn route(mut self, pattern: &str, methods: Methods<S>) -> Router<S> {
        let location = Location::caller();
        let routes = methods.endpoints.into_iter();
        self.routes
            .extend(routes.map(|(method, endpoint, describe)| Route {
                method,
                pattern: pattern.to_owned(),
                location,
                endpoint,
                asks: vec![describe],
            }));
        self
    }

    /// Adds the routes and mounts of another router below a prefix, with the middleware and the mapper of errors that it has. Its
    /// `not_found` and `sessions` are not taken: there is one of each for an application.
    #[must_use]
    pub fn nest(mut self, prefix: &str, inner: Router<S>) -> Router<S> {
        let prefix = prefix.trim_end_matches('/');
        let Router {
            routes,
            layers,
            asks,
            mapper,
            timers,
            jobs,
            folders,
            mounts,
            not_found: _,
            sessions: _,
        } = inner;
        let below = |pattern: &str| match pattern {
            "/" if !prefix.is_empty() => prefix.to_owned(),
            _ => format!("{prefix}{pattern}"),
        };
        self.routes.extend(routes.into_iter().map(|route| Route {
            pattern: below(&route.pattern),
            endpoint: compose(&layers, mapper.as_ref(), route.endpoint),
            asks: [&asks[..], &route.asks].concat(),
            ..route
        }));
        self.timers.extend(timers);
        self.jobs.extend(jobs);
        self.folders
            .extend(folders.into_iter().map(|folder| FolderSpec {
                at: format!("{prefix}{}", folder.at),
                ..folder
            }));
        self.mounts.extend(mounts.into_iter().map(|placed| {
            let (layers, mapper) = (layers.clone(), mapper.clone());
            let further: Layer<S> = Rc::new(move |endpoint| {
                let endpoint = match &placed.inner {
                    Some(inner) => inner(endpoint),
                    None => endpoint,
                };
                compose(&layers, mapper.as_ref(), endpoint)
            });
            MountSpec {
                prefix: format!("{prefix}{}", placed.prefix),
                mount: placed.mount,
                inner: Some(further),
            }
        }));
        self
    }

    /// Adds the routes of another router at the same place, under the same conditions as [`Router::nest`].
    #[must_use]
    pub fn merge(self, inner: Router<S>) -> Router<S> {
        self.nest("", inner)
    }

    /// Calls this before every handler of this router, also those of routes that are added later. Its arguments are extractors. An error
    /// or a response ends the request.
    #[must_use]
    pub fn before<A, H>(mut self, handler: H) -> Router<S>
    where
        A: Extract<S> + 'static,
        H: Handler<A>,
        H::Output: Verdict,
    {
        self.layers.push(layer::before(handler));
        self.asks.push(A::describe);
        self
    }

    /// Calls this with every response of this router's handlers that is no error.
    #[must_use]
    pub fn after<F, R>(mut self, change: F) -> Router<S>
    where
        F: AsyncFn(Response) -> R + 'static,
        R: Answer,
    {
        self.layers.push(layer::after(change));
        self
    }

    /// Puts this around every handler of this router: it may change the request's context, answer in the handler's place, or change
    /// what comes back. Layers that are added first are outermost.
    #[must_use]
    pub fn around<F, R>(mut self, layer: F) -> Router<S>
    where
        F: AsyncFn(Context<S>, Next<S>) -> R + 'static,
        R: Answer,
    {
        self.layers.push(layer::around(layer));
        self
    }

    /// Makes responses of the errors of handlers, extractors and middleware: the last word on each.
    #[must_use]
    pub fn map_err<F, R>(mut self, map: F) -> Router<S>
    where
        F: Fn(Error) -> R + 'static,
        R: IntoResponse,
    {
        self.mapper = Some(Rc::new(move |error| map(error).into_response()));
        self
    }

    /// Gives handlers a [`Session`](crate::Session).
    #[must_use]
    pub fn sessions(mut self, sessions: Sessions) -> Router<S> {
        self.sessions = Some(sessions);
        self
    }

    /// Answers requests for which there is no route, file or mount; the status is the handler's business.
    #[must_use]
    pub fn not_found<A, H>(mut self, handler: H) -> Router<S>
    where
        A: Extract<S> + 'static,
        H: Handler<A>,
        H::Output: Answer,
    {
        self.not_found = Some(endpoint(handler));
        self
    }

    /// Runs this by the clock, at first after a period, and never twice at a time. With a period below a millisecond or beyond a billion
    /// seconds the application does not load.
    #[track_caller]
    #[must_use]
    pub fn every<F, R>(mut self, period: Duration, on: On, tick: F) -> Router<S>
    where
        F: AsyncFn(&S) -> R + 'static,
        R: TickOutcome,
    {
        self.timers.push(Timer {
            period,
            on,
            location: Location::caller(),
            job: timers::job(tick),
        });
        self
    }

    /// Runs jobs of a kind, each once at least: `.job(async |app: &App, job: Thumbnail, run: &ClaimedJob| …)`. They are kept where
    /// [`Worker::use_jobs`](crate::Worker::use_jobs) says, without which the application does not load.
    #[must_use]
    pub fn job<J, F, R>(mut self, perform: F) -> Router<S>
    where
        J: Job,
        F: AsyncFn(&S, J, &ClaimedJob) -> R + 'static,
        R: TickOutcome,
    {
        self.jobs.push(job_worker::declared(perform));
        self
    }

    /// Runs this as a job by a line of cron in a time zone, once for all processes: `.every_line("0 3 * * *", "Asia/Tokyo", "report", …)`. It is the same
    /// in all of them by its name. Needs the feature `cron`, without which the application does not load, and a place for jobs as [`Router::job`] does.
    #[must_use]
    pub fn every_line<F, R>(self, line: &str, zone: &str, name: &str, tick: F) -> Router<S>
    where
        F: AsyncFn(&S) -> R + 'static,
        R: TickOutcome,
    {
        self.every_line_with(line, zone, name, LineOptions::default(), tick)
    }

    /// The same with other retries, or another limit of time. Needs the feature `cron`.
    #[must_use]
    pub fn every_line_with<F, R>(
        mut self,
        line: &str,
        zone: &str,
        name: &str,
        options: LineOptions,
        tick: F,
    ) -> Router<S>
    where
        F: AsyncFn(&S) -> R + 'static,
        R: TickOutcome,
    {
        self.jobs
            .push(job_worker::scheduled(line, zone, name, options, tick));
        self
    }

    /// Serves the files of a folder to all clients, for paths below `at` that no route answers. Middleware does not see these requests.
    /// Browsers keep the files and ask each time whether they have changed.
    #[must_use]
    pub fn files(self, at: &str, path: impl Into<PathBuf>) -> Router<S> {
        self.files_cached(at, path, CachePolicy::Revalidate)
    }

    /// The same, with another rule for how long browsers may keep the files.
    #[must_use]
    pub fn files_cached(
        mut self,
        at: &str,
        path: impl Into<PathBuf>,
        cache: CachePolicy,
    ) -> Router<S> {
        self.folders.push(FolderSpec {
            at: at.trim_end_matches('/').to_owned(),
            path: path.into(),
            cache,
        });
        self
    }

    /// Gives what no route answers below this prefix to an application of another kind: with the feature `ruby`, one in Ruby. `/` is everything.
    #[must_use]
    pub fn mount(mut self, prefix: &str, mount: impl Mount) -> Router<S> {
        self.mounts.push(MountSpec {
            prefix: prefix.trim_end_matches('/').to_owned(),
            mount: Rc::new(mount),
            inner: None,
        });
        self
    }

    /// The routes, in the order of the code.
    pub fn lines(&self) -> Vec<RouteLine> {
        let line = |route: &Route<S>| RouteLine {
            method: route.method.clone(),
            pattern: route.pattern.clone(),
            types: Vec::new(),
            location: format!("{}:{}", route.location.file(), route.location.line()),
        };
        self.routes.iter().map(line).collect()
    }

    /// What the routes ask for, in the same order: captures, parameters and bodies as the arguments of handlers and of `before` say them.
    ///
    /// # Errors
    /// The first pattern that is wrong.
    pub fn operations(&self) -> Result<Vec<RouteOperation>> {
        let operation = |(route, line): (&Route<S>, RouteLine)| -> Result<RouteOperation> {
            let mut shape = OperationShape::default();
            for ask in self.asks.iter().chain(&route.asks) {
                ask(&mut shape);
            }
            Ok(RouteOperation {
                method: line.method,
                pattern: translated(&route.pattern)?,
                types: line.types,
                location: line.location,
                shape,
            })
        };
        self.routes
            .iter()
            .zip(self.lines())
            .map(operation)
            .collect()
    }

    /// The router's layers and mapper around an endpoint.
    pub(crate) fn around_endpoint(&self, endpoint: Endpoint<S>) -> Endpoint<S> {
        compose(&self.layers, self.mapper.as_ref(), endpoint)
    }

    /// The same around an endpoint of this application, which forged forms do not reach when there are sessions.
    pub(crate) fn around_handler(&self, endpoint: Endpoint<S>) -> Endpoint<S> {
        match self.sessions {
            Some(_) => {
                let layered = compose(&self.layers, None, endpoint);
                compose(&[], self.mapper.as_ref(), guard(layered))
            }
            None => self.around_endpoint(endpoint),
        }
    }

    pub(crate) fn take_sessions(&mut self) -> Option<Sessions> {
        self.sessions.take()
    }

    pub(crate) fn take_not_found(&mut self) -> Option<Endpoint<S>> {
        self.not_found.take()
    }

    /// What this router makes of an error that no endpoint has had to do with.
    pub(crate) fn mapper(&self) -> Option<Mapper> {
        self.mapper.clone()
    }
}

/// A pattern as the router of the HTTP crate has it.
pub(crate) fn translated(pattern: &str) -> Result<String> {
    let segments: Vec<String> = pattern
        .split('/')
        .map(|segment| {
            let inside = segment
                .strip_prefix('{')
                .and_then(|rest| rest.strip_suffix('}'));
            match inside {
                Some(name) if name.starts_with('*') => Ok(name.to_owned()),
                Some(name) => Ok(format!(":{name}")),
                None if segment.contains(['{', '}']) => Err(Error::Usage(
                    format!("route {pattern} has a capture that is not a whole segment").into(),
                )),
                // What would be a capture there is a literal here.
                None => Ok(segment.replace(':', "%3A").replace('*', "%2A")),
            }
        })
        .collect::<Result<_>>()?;
    Ok(segments.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, expected: &str) {
        let outcome = translated(pattern).unwrap_or_else(|error| error.to_string());
        assert_eq!(outcome, expected, "{pattern}");
    }

    #[test]
    fn braces_capture_segments_and_nothing_else_does() {
        check("/", "/");
        check("/users/{id}", "/users/:id");
        check("/files/{*path}", "/files/*path");
        check("/a:b/*", "/a%3Ab/%2A");
        check(
            "/{id}.json",
            "route /{id}.json has a capture that is not a whole segment",
        );
    }
}
