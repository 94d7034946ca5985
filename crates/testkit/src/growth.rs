//! Whether work on bytes of a client takes time in proportion to them: shapes that hurt parsers, and CPU time at two sizes or three. It knows no parser. Rule: what is compared is growth, never a duration with a duration of another machine.

use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

use crate::limits::{GROWTH_FLOOR, GROWTH_LONG, GROWTH_RATIO_MAX};

/// The two sizes that are always compared, in bytes.
const SIZES: [usize; 2] = [64 << 10, 1 << 20];

/// The size of the long form.
const LONG: usize = 16 << 20;

/// A piece whose repetition is a shape: a name, the piece, and what stands before and behind the repetition.
type Shape = (&'static str, &'static [u8], &'static [u8], &'static [u8]);

const SHAPES: &[Shape] = &[
    ("digits", b"9", b"", b""),
    ("zeros", b"0", b"", b"1"),
    ("digits after a point", b"7", b"0.", b""),
    ("an exponent", b"9", b"1e", b""),
    ("numbers", b"123456789,", b"[", b"1]"),
    ("long numbers", LONG_NUMBER, b"[", b"1]"),
    ("letters", b"a", b"", b""),
    ("letters and another", b"a", b"", b"b"),
    ("spaces", b" ", b"x", b"x"),
    ("spaces behind an accent", b" ", "é".as_bytes(), b""),
    ("spaces before an accent", b" ", b"", "é".as_bytes()),
    ("lines", b"\r\n", b"", b""),
    ("percent signs", b"%", b"", b""),
    ("percent codes", b"%41", b"", b""),
    ("ampersands", b"&", b"", b""),
    ("equals signs", b"=", b"", b""),
    ("pairs", b"a=b&", b"", b"c=d"),
    ("names in brackets", b"[a]", b"x", b"=1"),
    ("quotes", b"\"", b"", b""),
    ("backslashes", b"\\", b"\"", b"\""),
    ("opening brackets", b"[", b"", b""),
    ("opening braces", b"{\"a\":", b"", b"1"),
    ("parentheses", b"(", b"", b""),
    ("commas", b",", b"", b""),
    ("semicolons", b"a=b; ", b"", b"c=d"),
    ("empty strings", b"\"\",", b"[", b"1]"),
    ("escapes", b"\\u00e9", b"\"", b"\""),
    ("points", b".", b"", b""),
    ("slashes", b"/a", b"", b""),
    ("steps back", b"../", b"/", b""),
    ("dashes", b"-", b"", b""),
    ("boundaries", b"\r\n--cut", b"--cut", b"--"),
    (
        "almost boundaries",
        b"\r\n--cu",
        b"--cut\r\n\r\n",
        b"\r\n--cut--",
    ),
    (
        "line ends without boundaries",
        b"\r\n--",
        b"--cut\r\n\r\n",
        b"\r\n--cut--",
    ),
    ("angle brackets", b"<", b"", b""),
    ("entities", b"&lt;", b"", b""),
    ("comments", b"/*", b"", b""),
    ("dollars", b"$a$", b"", b""),
    ("long characters", "日本語".as_bytes(), b"", b""),
    ("accents", "é".as_bytes(), b"", b""),
    ("invalid bytes", b"\xff", b"", b""),
    ("cut characters", b"\xe6\x97", b"", b""),
    ("nul", b"\0", b"", b""),
    ("words", b"lorem ipsum ", b"", b"dolor"),
];

/// Which shapes are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shapes {
    /// All: for what parses.
    All,
    /// Those that differ for what takes any text.
    Text,
}

const TEXT: [&str; 11] = [
    "digits",
    "letters and another",
    "spaces",
    "spaces behind an accent",
    "spaces before an accent",
    "lines",
    "commas",
    "words",
    "long characters",
    "invalid bytes",
    "cut characters",
];

const LONG_NUMBER: &[u8] = &{
    let mut number = [b'8'; 4_000];
    number[3_999] = b',';
    number
};

/// Bytes of the shape that hurts: at most `size` of them, and almost as many.
fn shape(&(_, piece, before, behind): &Shape, size: usize) -> Vec<u8> {
    let room = size - before.len() - behind.len();
    [before, &piece.repeat(room / piece.len()), behind].concat()
}

/// Whose CPU time is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CpuClock {
    /// That of the thread which asks: the work is to be done there.
    Thread,
    /// That of the process, where work is done by several threads: nothing else may run in it.
    Process,
}

impl CpuClock {
    fn used(self) -> Duration {
        let clock = match self {
            CpuClock::Thread => ClockId::CLOCK_THREAD_CPUTIME_ID,
            CpuClock::Process => ClockId::CLOCK_PROCESS_CPUTIME_ID,
        };
        Duration::from(clock_gettime(clock).expect("every system has this clock"))
    }

    /// What the work takes; the shortest of some runs, because others disturb caches.
    async fn took(self, runs: usize, bytes: &[u8], work: &mut impl AsyncFnMut(&[u8])) -> Duration {
        let mut shortest = Duration::MAX;
        for _ in 0..runs {
            let before = self.used();
            work(bytes).await;
            shortest = shortest.min(self.used() - before);
        }
        shortest
    }
}

/// Whether the work on bytes that `make` gives, at most as many as it is asked for, grows faster than they do: a line that says so.
pub async fn excess_of_made(
    clock: CpuClock,
    entry: &str,
    make: impl Fn(usize) -> Vec<u8>,
    mut work: impl AsyncFnMut(&[u8]),
) -> Option<String> {
    let small = make(SIZES[0]);
    let first = clock.took(2, &small, &mut work).await;
    let long = std::env::var_os(GROWTH_LONG).map(|_| LONG);
    for size in SIZES.into_iter().skip(1).chain(long) {
        let bytes = make(size);
        let times = u32::try_from(size / SIZES[0]).unwrap_or(u32::MAX);
        let allowed = |first: Duration| (first * GROWTH_RATIO_MAX).max(GROWTH_FLOOR) * times / 16;
        if clock.took(1, &bytes, &mut work).await <= allowed(first) {
            continue;
        }
        // Again, also what it is compared with: a disturbance is not repeated.
        let first = first.max(clock.took(1, &small, &mut work).await);
        let taken = clock.took(2, &bytes, &mut work).await;
        if taken > allowed(first) {
            let small = SIZES[0];
            return Some(format!(
                "{entry}: {first:?} for {small} bytes, {taken:?} for {size}"
            ));
        }
    }
    None
}

/// What grows faster than its input, one line for each shape, after `work` was given every shape in every size. It is to be done on
/// this thread.
pub async fn excess_of_tasks(
    entry: &str,
    shapes: Shapes,
    mut work: impl AsyncFnMut(&[u8]),
) -> Vec<String> {
    let mut lines = Vec::new();
    let chosen = |name: &str| shapes == Shapes::All || TEXT.contains(&name);
    for described in SHAPES.iter().filter(|(name, ..)| chosen(name)) {
        let named = format!("{entry}: {}", described.0);
        lines.extend(
            excess_of_made(
                CpuClock::Thread,
                &named,
                |size| shape(described, size),
                &mut work,
            )
            .await,
        );
    }
    lines
}

/// As [`excess_of_tasks`], for work that never waits.
pub fn excess(entry: &str, mut work: impl FnMut(&[u8])) -> Vec<String> {
    let task = pin!(excess_of_tasks(
        entry,
        Shapes::All,
        async |bytes: &[u8]| work(bytes)
    ));
    match task.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(lines) => lines,
        Poll::Pending => unreachable!("nothing waits"),
    }
}
