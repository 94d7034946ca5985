//! Requests and their durations by route, of one worker. Knows no router.
//! Rule: a request of a route that was seen before costs one look into a table of the worker's own and a few plain stores; only a new route
//! takes a lock. Routes beyond the limit share one name, so that an application with a route for everything costs no more.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::Method;
use tsumugi_http::{FinishedRequest, RequestOutcome};

use super::latency::{LatencyCounter, LatencyCounts};
use crate::limits::DASHBOARD_ROUTES_MAX;

/// What requests are called that no route has answered: files, 404, `OPTIONS`.
pub(crate) const NO_ROUTE: &str = "(no route)";

/// What routes beyond the limit are called together.
pub(crate) const OTHER_ROUTES: &str = "(other routes)";

/// The routes of one worker, for the admin thread.
#[derive(Debug, Default)]
pub(crate) struct RouteFigures(Mutex<Vec<Arc<RouteColumn>>>);

/// What is counted of one route on one worker.
#[derive(Debug)]
struct RouteColumn {
    name: Box<str>,
    errors: AtomicU64,
    durations: LatencyCounter,
}

/// The figures of one route at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct RouteCounts {
    pub errors: u64,
    pub durations: LatencyCounts,
}

impl RouteFigures {
    fn columns(&self) -> MutexGuard<'_, Vec<Arc<RouteColumn>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The column of this name, or that of all others.
    fn column(&self, name: &str) -> Arc<RouteColumn> {
        let mut columns = self.columns();
        let name = match columns.iter().any(|column| *column.name == *name) {
            false if columns.len() >= DASHBOARD_ROUTES_MAX => OTHER_ROUTES,
            _ => name,
        };
        if let Some(column) = columns.iter().find(|column| *column.name == *name) {
            return Arc::clone(column);
        }
        let column = Arc::new(RouteColumn {
            name: name.into(),
            errors: AtomicU64::new(0),
            durations: LatencyCounter::default(),
        });
        columns.push(Arc::clone(&column));
        column
    }

    /// Visits the figures of each route.
    pub fn each(&self, mut visit: impl FnMut(&str, &dyn Fn(&mut RouteCounts))) {
        // Copied, as a worker may come with a new route meanwhile.
        let columns = self.columns().clone();
        for column in columns {
            visit(&column.name, &|counts| {
                counts.errors += column.errors.load(Relaxed);
                column.durations.add_to(&mut counts.durations);
            });
        }
    }
}

/// Counts on the worker's thread.
#[derive(Debug)]
pub(crate) struct RouteCounter {
    figures: Arc<RouteFigures>,
    known: RefCell<KnownRoutes>,
}

/// Columns by the address of a pattern and the method. The patterns are kept, so that no other text comes to be at the same address.
#[derive(Debug)]
struct KnownRoutes {
    entries: Vec<Option<KnownRoute>>,
    none: Option<Arc<RouteColumn>>,
}

#[derive(Debug)]
struct KnownRoute {
    pattern: Arc<str>,
    method: Method,
    column: Arc<RouteColumn>,
}

/// Places for known routes, a power of two: patterns of applications before a reload are among them until the places are needed.
const PLACES: usize = 1_024;

/// Places that are looked at for one route.
const LOOKS: usize = 8;

impl RouteCounter {
    pub fn new(figures: Arc<RouteFigures>) -> RouteCounter {
        let known = KnownRoutes {
            entries: Vec::new(),
            none: None,
        };
        RouteCounter {
            figures,
            known: RefCell::new(known),
        }
    }

    /// Counts a request that is over.
    pub fn count(&self, finished: &FinishedRequest, duration_us: u64) {
        let mut known = self.known.borrow_mut();
        let column = match &finished.summary.pattern {
            Some(pattern) => known.of(pattern, &finished.method, &self.figures),
            None => known
                .none
                .get_or_insert_with(|| self.figures.column(NO_ROUTE)),
        };
        column.durations.add(duration_us);
        let is_complete = finished.outcome != RequestOutcome::Unanswered;
        if is_complete && finished.status.is_server_error() {
            let errors = &column.errors;
            errors.store(errors.load(Relaxed).wrapping_add(1), Relaxed);
        }
    }
}

impl KnownRoutes {
    fn of(
        &mut self,
        pattern: &Arc<str>,
        method: &Method,
        figures: &RouteFigures,
    ) -> &Arc<RouteColumn> {
        if self.entries.is_empty() {
            self.entries.resize_with(PLACES, || None);
        }
        let address = Arc::as_ptr(pattern).cast::<u8>() as usize;
        // Methods of one pattern stand beside each other.
        let first = (address >> 4) ^ (address >> 14);
        let places = (0..LOOKS).map(|look| (first + look) % PLACES);
        let is_known = |entry: &Option<KnownRoute>| {
            let known = entry.as_ref();
            known.is_some_and(|of| Arc::ptr_eq(&of.pattern, pattern) && of.method == *method)
        };
        let found = places
            .clone()
            .find(|place| self.entries.get(*place).is_some_and(is_known));
        let place = found.unwrap_or_else(|| {
            let is_free = |place: &usize| matches!(self.entries.get(*place), Some(None));
            let place = places.clone().find(is_free).unwrap_or(first % PLACES);
            let column = figures.column(&format!("{method} {pattern}"));
            let (pattern, method) = (Arc::clone(pattern), method.clone());
            if let Some(entry) = self.entries.get_mut(place) {
                *entry = Some(KnownRoute {
                    pattern,
                    method,
                    column,
                });
            }
            place
        });
        match self.entries.get(place) {
            Some(Some(known)) => &known.column,
            _ => unreachable!("the entry was found or has just been made"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Instant;

    use http::StatusCode;
    use tsumugi_http::RequestSummary;

    use super::*;

    fn finished(method: &str, pattern: Option<&Arc<str>>, status: u16) -> FinishedRequest {
        FinishedRequest {
            method: method.parse().unwrap(),
            status: StatusCode::from_u16(status).unwrap(),
            summary: RequestSummary {
                pattern: pattern.cloned(),
                ..RequestSummary::default()
            },
            received_at: Instant::now(),
            body_bytes: 0,
            outcome: RequestOutcome::Complete,
        }
    }

    fn counts(figures: &RouteFigures) -> BTreeMap<String, (u64, u64)> {
        let mut all = BTreeMap::new();
        figures.each(|name, add| {
            let mut counts = RouteCounts::default();
            add(&mut counts);
            all.insert(name.to_owned(), (counts.durations.total(), counts.errors));
        });
        all
    }

    #[test]
    fn requests_are_counted_by_method_and_pattern_across_reloads() {
        let figures = Arc::new(RouteFigures::default());
        let counter = RouteCounter::new(Arc::clone(&figures));
        let pattern: Arc<str> = "/a/:id".into();
        counter.count(&finished("GET", Some(&pattern), 200), 5);
        counter.count(&finished("GET", Some(&pattern), 500), 5);
        counter.count(&finished("POST", Some(&pattern), 201), 5);
        counter.count(&finished("GET", Some(&"/a/:id".into()), 200), 5);
        counter.count(&finished("GET", None, 404), 5);
        let expected = [
            ("(no route)", (1, 0)),
            ("GET /a/:id", (3, 1)),
            ("POST /a/:id", (1, 0)),
        ];
        let expected = expected.map(|(name, counts)| (name.to_owned(), counts));
        assert_eq!(counts(&figures), BTreeMap::from(expected));
    }

    #[test]
    fn one_route_more_than_the_limit_is_counted_with_other_ones() {
        let figures = Arc::new(RouteFigures::default());
        let counter = RouteCounter::new(Arc::clone(&figures));
        let patterns: Vec<Arc<str>> = (0..DASHBOARD_ROUTES_MAX + 2)
            .map(|n| format!("/{n}").into())
            .collect();
        for _ in 0..2 {
            for pattern in &patterns {
                counter.count(&finished("GET", Some(pattern), 200), 5);
            }
        }
        let counts = counts(&figures);
        assert_eq!(counts.len(), DASHBOARD_ROUTES_MAX + 1);
        assert_eq!(counts[OTHER_ROUTES], (4, 0));
        assert_eq!(counts["GET /0"], (2, 0));
    }
}
