//! What the server asks of the operating system besides sockets: open files, cores, turns on them, threads' CPU clocks.
//! Everything here is best effort: a system that refuses is served as it is.

use std::time::Duration;

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Raises the soft limit of open files to the hard one: a default of 1,024 is below one worker's connections.
pub fn raise_open_files() {
    let outcome = getrlimit(Resource::RLIMIT_NOFILE).and_then(|(soft, hard)| {
        if soft == hard {
            Ok(())
        } else {
            setrlimit(Resource::RLIMIT_NOFILE, hard, hard)
        }
    });
    if let Err(error) = outcome {
        tracing::debug!(%error, "the soft limit of open files stays as it is");
    }
}

/// The cores that the process may use, when workers are to be pinned.
#[derive(Clone, Debug)]
pub(crate) struct Cores {
    /// Empty when threads are not pinned.
    allowed: Vec<usize>,
}

impl Cores {
    /// No pinning.
    pub fn any() -> Self {
        Self {
            allowed: Vec::new(),
        }
    }

    /// Pinning to the cores that this thread may use.
    #[cfg(target_os = "linux")]
    pub fn allowed() -> Self {
        use nix::sched::{CpuSet, sched_getaffinity};
        let set = sched_getaffinity(nix::unistd::Pid::from_raw(0)).unwrap_or_default();
        Self {
            allowed: (0..CpuSet::count())
                .filter(|core| set.is_set(*core).unwrap_or(false))
                .collect(),
        }
    }

    #[cfg(not(target_os = "linux"))]
    pub fn allowed() -> Self {
        Self::any()
    }

    /// Binds this thread to the core of `worker`.
    pub fn pin(&self, worker: usize) {
        if !self.allowed.is_empty() {
            bind(&[self.allowed[worker % self.allowed.len()]]);
        }
    }

    /// Lets this thread use every core again: a thread inherits the binding of the one that started it.
    pub fn unpin(&self) {
        if !self.allowed.is_empty() {
            bind(&self.allowed);
        }
    }
}

#[cfg(target_os = "linux")]
fn bind(cores: &[usize]) {
    let mut set = nix::sched::CpuSet::new();
    let outcome = cores
        .iter()
        .try_for_each(|core| set.set(*core))
        .and_then(|()| nix::sched::sched_setaffinity(nix::unistd::Pid::from_raw(0), &set));
    if let Err(error) = outcome {
        tracing::warn!(%error, ?cores, "a thread could not be bound to its cores");
    }
}

#[cfg(not(target_os = "linux"))]
fn bind(_cores: &[usize]) {}

/// Lets this thread preempt no other when it becomes ready; see [`Scheduling::Batches`](crate::Scheduling::Batches).
///
/// A database on the same machine answers many queries one by one. The first answer would wake the worker, which would take the
/// core from the database, handle one answer, and sleep again: two switches for each query. So it runs when the database has done
/// what it was asked, or has had its turn, or on another core, and handles what there is of answers together.
#[cfg(target_os = "linux")]
pub(crate) fn work_in_batches() {
    use preempt_rt::sched::{Pid, Scheduler, SchedulerParams, get_scheduler, set_scheduler};
    let thread = Pid::current_thread();
    let outcome = get_scheduler(thread).and_then(|policy| match policy {
        Scheduler::SCHED_NORMAL => {
            let params = SchedulerParams { priority: 0 }; // the only one that it has
            set_scheduler(thread, Scheduler::SCHED_BATCH, params)
        }
        _ => Ok(()),
    });
    if let Err(error) = outcome {
        tracing::debug!(%error, "a thread keeps the scheduling policy that it has");
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn work_in_batches() {}

/// The times of one thread, readable from any thread: on a core, and waiting for one.
#[derive(Debug)]
pub(crate) struct ThreadClock {
    #[cfg(target_os = "linux")]
    id: nix::time::ClockId,
    #[cfg(target_os = "linux")]
    thread: i32,
    /// The kernel's figures of this thread's turns on a core. Stays open: it is read every few milliseconds.
    #[cfg(target_os = "linux")]
    schedule: Option<std::fs::File>,
    #[cfg(not(target_os = "linux"))]
    started: std::time::Instant,
}

#[cfg(target_os = "linux")]
impl ThreadClock {
    /// The clock of the calling thread.
    pub fn here() -> Self {
        // Linux encodes the scheduler's clock of thread t as (!t << 3) | CPUCLOCK_PERTHREAD_MASK | CPUCLOCK_SCHED
        // (include/linux/posix-timers.h); the C library's pthread_getcpuclockid returns the same number.
        let thread = nix::unistd::gettid().as_raw();
        Self {
            id: nix::time::ClockId::from_raw((!thread << 3) | 0b110),
            thread,
            schedule: std::fs::File::open(format!("/proc/self/task/{thread}/schedstat")).ok(),
        }
    }

    /// CPU time that the thread has used, or nothing once it has ended.
    pub fn used(&self) -> Option<Duration> {
        nix::time::clock_gettime(self.id).ok().map(Duration::from)
    }

    /// Time for which the thread was ready and had no core, up to the last time it got one. Nothing where the kernel does not count it.
    pub fn queued(&self) -> Option<Duration> {
        use std::os::unix::fs::FileExt as _;
        let mut text = [0; 64];
        let read = self.schedule.as_ref()?.read_at(&mut text, 0).ok()?;
        // Nanoseconds on a core, nanoseconds waiting for one, number of turns.
        let text = std::str::from_utf8(text.get(..read)?).ok()?;
        let nanoseconds = text.split_ascii_whitespace().nth(1)?.parse().ok()?;
        Some(Duration::from_nanos(nanoseconds))
    }

    /// Does the thread sleep in the kernel? One that runs or waits for a core does not.
    pub fn is_blocked(&self) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/self/task/{}/stat", self.thread));
        // The state stands behind the thread's name, which may hold anything (proc(5)).
        let state = stat
            .ok()
            .and_then(|stat| stat.rsplit_once(") ")?.1.bytes().next());
        state.is_some_and(|state| state != b'R')
    }
}

#[cfg(not(target_os = "linux"))]
impl ThreadClock {
    /// Other systems have no clock of another thread that safe code can read: elapsed time stands in for it.
    pub fn here() -> Self {
        Self {
            started: std::time::Instant::now(),
        }
    }

    pub fn used(&self) -> Option<Duration> {
        Some(self.started.elapsed())
    }

    pub fn queued(&self) -> Option<Duration> {
        None
    }

    pub fn is_blocked(&self) -> bool {
        false
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::sync::mpsc;
    use std::thread;
    use std::time::Instant;

    use super::*;

    #[test]
    fn another_threads_cpu_time_grows_only_while_it_works() {
        let (clocks, clock) = mpsc::channel();
        let (work, orders) = mpsc::channel::<Duration>();
        let (done, finished) = mpsc::channel();
        let thread = thread::spawn(move || {
            clocks.send(ThreadClock::here()).unwrap();
            for order in orders {
                let start = Instant::now();
                while start.elapsed() < order {}
                done.send(()).unwrap();
            }
        });
        let clock = clock.recv().unwrap();
        let idle = clock.used().unwrap();
        thread::park_timeout(Duration::from_millis(100));
        assert!(clock.used().unwrap() - idle < Duration::from_millis(20));
        work.send(Duration::from_millis(300)).unwrap();
        finished.recv().unwrap();
        assert!(clock.used().unwrap() - idle >= Duration::from_millis(30));
        drop(work);
        thread.join().unwrap();
    }

    #[test]
    fn a_thread_is_blocked_only_while_it_sleeps() {
        let (clocks, clock) = mpsc::channel();
        let (wake, sleeping) = mpsc::channel::<()>();
        let thread = thread::spawn(move || {
            clocks.send(ThreadClock::here()).unwrap();
            sleeping.recv().unwrap_err();
        });
        let clock = clock.recv().unwrap();
        while !clock.is_blocked() {
            thread::yield_now();
        }
        assert!(!ThreadClock::here().is_blocked());
        drop(wake);
        thread.join().unwrap();
    }

    #[test]
    fn waiting_for_a_core_is_counted_apart() {
        let Some(before) = ThreadClock::here().queued() else {
            eprintln!("SKIPPED: this kernel does not count how long threads wait for a core");
            return;
        };
        // Half of a second on one core, which is another thread's as well.
        let core = Cores::allowed().allowed[0];
        bind(&[core]);
        let start = Instant::now();
        let spin = move || while start.elapsed() < Duration::from_millis(500) {};
        let other = thread::spawn(spin);
        spin();
        other.join().unwrap();
        let queued = ThreadClock::here().queued().unwrap() - before;
        assert!(queued >= Duration::from_millis(100), "{queued:?}");
    }

    #[test]
    fn a_policy_that_is_not_the_default_is_kept() {
        use preempt_rt::sched::{Pid, Scheduler, SchedulerParams, get_scheduler, set_scheduler};
        let unprivileged = SchedulerParams { priority: 0 };
        for (before, after) in [
            (Scheduler::SCHED_NORMAL, Scheduler::SCHED_BATCH),
            (Scheduler::SCHED_IDLE, Scheduler::SCHED_IDLE),
        ] {
            // The policy of a thread that ends: others of this process shall not inherit it.
            let ended = thread::spawn(move || {
                let thread = Pid::current_thread();
                set_scheduler(thread, before, unprivileged).unwrap();
                work_in_batches();
                get_scheduler(thread).unwrap()
            });
            assert_eq!(ended.join().unwrap(), after);
        }
    }

    #[test]
    fn the_soft_limit_of_open_files_reaches_the_hard_one() {
        raise_open_files();
        let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
        assert_eq!(soft, hard);
    }
}
