//! What the overview draws: a point for each second of the last minute and for each minute of the last hour. Draws nothing.
//! Rule: a thread of its own looks at what workers count, once a second; no worker is asked, and nothing is kept beyond its limit.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};
use tsumugi_worker::Handle;

use super::latency::LatencyCounts;
use super::routes::RouteCounts;
use crate::front::MetricsRegistry;
use crate::limits::DASHBOARD_POINTS;
use crate::unix_time::unix_ms;

/// How often the thread looks.
const SECOND: Duration = Duration::from_secs(1);

/// Seconds between two times at which the figures of routes are kept to be compared with.
const ROUTES_KEPT_SECONDS: u64 = 600;

/// The points so far. The thread ends when this is dropped.
#[derive(Debug)]
pub(crate) struct ChartHistory(Arc<Mutex<Points>>);

#[derive(Debug)]
struct Points {
    minute: Series,
    hour: Series,
    /// The minute that is not over.
    part: MinutePart,
    total: RouteCounts,
    /// The figures of each route some ten minutes ago, and those that will take their place.
    routes: [RouteBase; 2],
    begun: Instant,
    /// Of the last point.
    second: u64,
    cpu: Option<Duration>,
    at: Instant,
}

/// What the figures of each route were at some moment.
#[derive(Debug)]
struct RouteBase {
    at: u64,
    counts: BTreeMap<String, RouteCounts>,
}

#[derive(Debug, Default)]
struct Series {
    points: VecDeque<Option<Point>>,
    /// When the last point ended, in milliseconds since 1970.
    until: u64,
}

#[derive(Clone, Debug)]
struct Point {
    requests: u64,
    errors: u64,
    p50_ms: Option<f64>,
    p99_ms: Option<f64>,
    cpu: Option<f64>,
    memory: Option<u64>,
    connections: usize,
}

#[derive(Debug, Default)]
struct MinutePart {
    seconds: u64,
    errors: u64,
    durations: LatencyCounts,
    cpu: f64,
}

impl ChartHistory {
    /// Begins to look at a server.
    pub fn start(handle: &Handle, registry: &MetricsRegistry) -> ChartHistory {
        let points = Arc::new(Mutex::new(Points::new()));
        let look = Look {
            handle: handle.clone(),
            registry: registry.clone(),
            points: Arc::downgrade(&points),
        };
        let named = thread::Builder::new().name("tsumugi-figures".to_owned());
        if let Err(error) = named.spawn(move || look.run()) {
            tracing::warn!(%error, "the dashboard draws nothing: its thread cannot be started");
        }
        ChartHistory(points)
    }

    fn points(&self) -> MutexGuard<'_, Points> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The points of the last minute and of the last hour.
    pub fn series(&self) -> (Value, Value) {
        let points = self.points();
        (points.minute.json(1_000), points.hour.json(60_000))
    }

    /// What each route did since some ten minutes ago, or since the server started; and since when that is.
    pub fn routes(&self, registry: &MetricsRegistry) -> (u64, BTreeMap<String, RouteCounts>) {
        let mut now = registry.routes();
        let points = self.points();
        let [base, _] = &points.routes;
        for (name, counts) in &mut now {
            if let Some(before) = base.counts.get(name) {
                counts.errors = counts.errors.saturating_sub(before.errors);
                counts.durations = counts.durations.since(&before.durations);
            }
        }
        (base.at, now)
    }
}

/// What the thread looks at.
struct Look {
    handle: Handle,
    registry: MetricsRegistry,
    points: Weak<Mutex<Points>>,
}

impl Look {
    fn run(self) {
        let begun = Instant::now();
        loop {
            let since = begun.elapsed().subsec_nanos();
            thread::park_timeout(SECOND.saturating_sub(Duration::from_nanos(since.into())));
            let Some(points) = self.points.upgrade() else {
                return;
            };
            let routes = self.registry.routes();
            let workers = self.handle.snapshot().workers;
            let seen = Seen {
                connections: workers.iter().map(|worker| worker.open).sum(),
                cpu: cpu_time(),
                memory: memory(),
                at: Instant::now(),
                unix_ms: unix_ms(SystemTime::now()),
                routes,
            };
            let mut points = points.lock().unwrap_or_else(PoisonError::into_inner);
            points.add(seen);
        }
    }
}

/// What there is to see at one moment.
struct Seen {
    connections: usize,
    cpu: Option<Duration>,
    memory: Option<u64>,
    at: Instant,
    unix_ms: u64,
    routes: BTreeMap<String, RouteCounts>,
}

impl Points {
    fn new() -> Points {
        let base = || RouteBase {
            at: unix_ms(SystemTime::now()),
            counts: BTreeMap::new(),
        };
        Points {
            minute: Series::default(),
            hour: Series::default(),
            part: MinutePart::default(),
            total: RouteCounts::default(),
            routes: [base(), base()],
            begun: Instant::now(),
            second: 0,
            cpu: cpu_time(),
            at: Instant::now(),
        }
    }

    fn add(&mut self, seen: Seen) {
        let second = seen.at.duration_since(self.begun).as_secs();
        if second <= self.second {
            // Woken too early.
            return;
        }
        let mut total = RouteCounts::default();
        for counts in seen.routes.values() {
            total.errors += counts.errors;
            total.durations.add(&counts.durations);
        }
        let durations = total.durations.since(&self.total.durations);
        let errors = total.errors.saturating_sub(self.total.errors);
        let wall = seen.at.duration_since(self.at).as_secs_f64();
        let cpu = match (seen.cpu, self.cpu) {
            (Some(now), Some(before)) if wall > 0.0 => {
                Some(now.saturating_sub(before).as_secs_f64() / wall)
            }
            _ => None,
        };
        // A machine that stood still has no points for that time.
        let missed = second - self.second - 1;
        (0..missed.min(DASHBOARD_POINTS as u64)).for_each(|_| self.minute.push(None, seen.unix_ms));
        let point = Point {
            requests: durations.total(),
            errors,
            p50_ms: durations.quantile_ms(0.5),
            p99_ms: durations.quantile_ms(0.99),
            cpu,
            memory: seen.memory,
            connections: seen.connections,
        };
        self.part.seconds += 1;
        self.part.errors += errors;
        self.part.durations.add(&durations);
        self.part.cpu += cpu.unwrap_or(0.0);
        if second / 60 > self.second / 60 {
            self.end_minute(&point, second, seen.unix_ms);
        }
        self.minute.push(Some(point), seen.unix_ms);
        if second / ROUTES_KEPT_SECONDS > self.second / ROUTES_KEPT_SECONDS {
            let [_, newer] = &mut self.routes;
            let base = RouteBase {
                at: seen.unix_ms,
                counts: seen.routes,
            };
            let newer = std::mem::replace(newer, base);
            let [older, _] = &mut self.routes;
            *older = newer;
        }
        (self.total, self.second, self.cpu, self.at) = (total, second, seen.cpu, seen.at);
    }

    fn end_minute(&mut self, last: &Point, second: u64, unix_ms: u64) {
        let part = std::mem::take(&mut self.part);
        let missed = second / 60 - self.second / 60 - 1;
        (0..missed.min(DASHBOARD_POINTS as u64)).for_each(|_| self.hour.push(None, unix_ms));
        let point = Point {
            requests: part.durations.total(),
            errors: part.errors,
            p50_ms: part.durations.quantile_ms(0.5),
            p99_ms: part.durations.quantile_ms(0.99),
            cpu: Some(part.cpu / part.seconds.max(1) as f64),
            memory: last.memory,
            connections: last.connections,
        };
        self.hour.push(Some(point), unix_ms);
    }
}

impl Series {
    fn push(&mut self, point: Option<Point>, until: u64) {
        if self.points.len() == DASHBOARD_POINTS {
            self.points.pop_front();
        }
        self.points.push_back(point);
        self.until = until;
    }

    /// Always as many points as the limit; those before the first are null.
    fn json(&self, step_ms: u64) -> Value {
        let column = |of: &dyn Fn(&Point) -> Value| {
            let absent = std::iter::repeat_n(Value::Null, DASHBOARD_POINTS - self.points.len());
            let values = self.points.iter();
            let values = values.map(|point| point.as_ref().map_or(Value::Null, of));
            Value::Array(absent.chain(values).collect())
        };
        let until = match self.until {
            0 => unix_ms(SystemTime::now()),
            until => until,
        };
        json!({
            "step_ms": step_ms,
            "from": until.saturating_sub(step_ms * DASHBOARD_POINTS as u64),
            "requests": column(&|point| json!(point.requests)),
            "errors": column(&|point| json!(point.errors)),
            "p50_ms": column(&|point| json!(point.p50_ms)),
            "p99_ms": column(&|point| json!(point.p99_ms)),
            "cpu": column(&|point| json!(point.cpu)),
            "memory": column(&|point| json!(point.memory)),
            "connections": column(&|point| json!(point.connections)),
        })
    }
}

/// The processor time that this process has used.
fn cpu_time() -> Option<Duration> {
    let time = nix::time::clock_gettime(nix::time::ClockId::CLOCK_PROCESS_CPUTIME_ID).ok()?;
    Some(Duration::from(time))
}

/// The memory of this process that is resident, in bytes; none where /proc is not mounted.
fn memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1_024)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dashboard::latency::LatencyCounter;

    fn seen(points: &Points, second: u64, requests: u64) -> Seen {
        let latency = LatencyCounter::default();
        (0..requests).for_each(|_| latency.add(1_000));
        let mut counts = RouteCounts {
            errors: requests / 2,
            ..RouteCounts::default()
        };
        latency.add_to(&mut counts.durations);
        Seen {
            connections: 3,
            cpu: Some(Duration::from_millis(500 * second)),
            memory: Some(1_000),
            at: points.begun + Duration::from_secs(second),
            unix_ms: 1_000_000 + second * 1_000,
            routes: BTreeMap::from([("GET /".to_owned(), counts)]),
        }
    }

    fn numbers(series: &Value, name: &str) -> Vec<Option<f64>> {
        let values = series[name].as_array().unwrap();
        values.iter().map(Value::as_f64).collect()
    }

    #[test]
    fn points_are_differences_and_never_more_than_the_limit() {
        let mut points = Points::new();
        points.cpu = Some(Duration::ZERO);
        points.at = points.begun;
        for second in 1..=130 {
            let next = seen(&points, second, second * 10);
            points.add(next);
        }
        let minute = points.minute.json(1_000);
        assert_eq!(
            numbers(&minute, "requests"),
            vec![Some(10.0); DASHBOARD_POINTS]
        );
        assert_eq!(
            numbers(&minute, "errors"),
            vec![Some(5.0); DASHBOARD_POINTS]
        );
        assert_eq!(numbers(&minute, "cpu"), vec![Some(0.5); DASHBOARD_POINTS]);
        assert_eq!(minute["from"], 1_000_000 + 70 * 1_000);
        let hour = points.hour.json(60_000);
        let requests = numbers(&hour, "requests");
        assert_eq!(requests.len(), DASHBOARD_POINTS);
        assert_eq!(
            requests[DASHBOARD_POINTS - 3..],
            [None, Some(600.0), Some(600.0)]
        );
        assert_eq!(
            numbers(&hour, "connections")[DASHBOARD_POINTS - 1],
            Some(3.0)
        );
    }

    #[test]
    fn seconds_that_were_missed_have_no_points() {
        let mut points = Points::new();
        for second in [1, 4, 4] {
            let next = seen(&points, second, second * 10);
            points.add(next);
        }
        let minute = points.minute.json(1_000);
        let requests = numbers(&minute, "requests");
        assert_eq!(
            requests[DASHBOARD_POINTS - 5..],
            [None, Some(10.0), None, None, Some(30.0)]
        );
        let next = seen(&points, 100_000, 40);
        points.add(next);
        assert_eq!(points.minute.points.len(), DASHBOARD_POINTS);
        assert_eq!(points.hour.points.len(), DASHBOARD_POINTS);
    }

    #[test]
    fn memory_and_processor_time_of_this_process_are_found() {
        assert!(memory().unwrap() > 100_000);
        assert!(cpu_time().is_some());
    }
}
