//! `cargo xtask test`: the phases of `make test` in turn, all of them even when one fails, and their sum as the last line.
//! It knows how test programs print their totals, not what they test.
//! Rule: a total is read from what was printed, never assumed; a program that died counts as one failure, and no tests at all is a failure.
//! A program that failed is repeated as a whole only when it said that a fault ended a server beside it; see [`repeat`]. Single tests that failed are
//! run once more by themselves, and named; see [`unstable`].

mod repeat;
mod unstable;

use self::repeat::Repeat;
use self::unstable::Rerun;
use crate::{Verdict, tidy};
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A step of the run. Its words begin with a command.
enum Phase {
    /// A command that is clean or not; it runs no tests.
    Check(&'static str, &'static str),
    /// The rules of [`tidy`], in this process.
    Tidy,
    /// A command whose output has lines with totals.
    Tests(&'static str, &'static str),
}

const PHASES: &[Phase] = &[
    Phase::Check("format", "cargo fmt --all --check"),
    Phase::Check(
        "clippy",
        "cargo clippy --workspace --all-targets -- -D warnings",
    ),
    // With the features that tests switch on, its code without them is not seen.
    Phase::Check(
        "clippy of the driver as the server has it",
        "cargo clippy --package tsumugi-pg-proto --package tsumugi-pg -- -D warnings",
    ),
    Phase::Check(
        "clippy of the command as `make run` builds it",
        "cargo clippy --package tsumugi-cli --no-default-features --features mimalloc -- -D warnings",
    ),
    // With what a first program in Rust has: no feature.
    Phase::Check(
        "clippy of the crate tsumugi without features",
        "cargo clippy --package tsumugi -- -D warnings",
    ),
    Phase::Tidy,
    Phase::Tests("tests", "cargo test --workspace --no-fail-fast"),
    Phase::Tests(
        "examples/demo",
        "target/debug/tsumugi test examples/demo/app.rb",
    ),
    Phase::Tests(
        "examples/demo on PostgreSQL",
        "target/debug/tsumugi-with-postgres --empty target/debug/tsumugi test examples/demo/app.rb",
    ),
    Phase::Tests(
        "examples/demo on Firebird",
        "target/debug/tsumugi-with-firebird target/debug/tsumugi test examples/demo/app.rb",
    ),
    Phase::Tests(
        "examples/shortener",
        "target/debug/tsumugi test examples/shortener/app.rb",
    ),
    Phase::Tests(
        "examples/ngx_mruby",
        "target/debug/tsumugi test examples/ngx_mruby/app.rb",
    ),
    Phase::Tests(
        "examples/firebird",
        "target/debug/tsumugi-with-firebird target/debug/tsumugi test examples/firebird/app.rb",
    ),
    Phase::Tests(
        "examples/world",
        "target/debug/tsumugi-with-postgres target/debug/tsumugi test --shared-database examples/world/app.rb",
    ),
];

/// Passed and failed tests, and where the failed ones are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Tally {
    passed: u64,
    failed: u64,
    /// Lines that name a failed test or say where it panicked, `NAMED_MAX` at most.
    named: Vec<String>,
    /// The names of Rust's tests that failed.
    failed_tests: Vec<String>,
    /// The names of Rust's tests that passed.
    passed_tests: Vec<String>,
    /// The names of tests that failed, and passed when they were run by themselves.
    unstable: Vec<String>,
    /// Programs of which tests failed.
    programs: u64,
    /// Programs whose failures are not counted here.
    repeats: Vec<Repeat>,
}

impl Tally {
    fn add(&mut self, other: Tally) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.named.extend(other.named);
        self.named.truncate(NAMED_MAX);
        self.failed_tests.extend(other.failed_tests);
        self.passed_tests.extend(other.passed_tests);
        self.unstable.extend(other.unstable);
        self.programs += other.programs;
        self.repeats.extend(other.repeats);
    }

    /// Takes those for passed that failed, and passed when they were run by themselves.
    fn settle(&mut self, again: &Tally) {
        let unstable =
            unstable::unstable(&self.failed_tests, &again.passed_tests, &again.failed_tests);
        self.failed_tests.retain(|name| !unstable.contains(name));
        self.failed -= unstable.len() as u64;
        self.passed += unstable.len() as u64;
        self.unstable.extend(unstable);
    }

    /// Of one program that ended: what it counted, or that it is to be repeated.
    fn verdict(mut self) -> Tally {
        if self.failed == 0 {
            self.repeats.clear();
            return self;
        }
        let Some(mut repeat) = self.repeats.pop() else {
            self.programs = 1;
            return self;
        };
        repeat.failed = self.named;
        Tally {
            repeats: vec![repeat],
            ..Tally::default()
        }
    }
}

/// Whether a program that failed may be run once more.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Repeats {
    Allowed,
    Over,
}

/// Failed tests that the summary names at most.
const NAMED_MAX: usize = 20;

/// Runs every phase below `root`, then prints one line a phase and `N passed, N failed`.
pub fn run(root: &Path) -> io::Result<Verdict> {
    let mut total = Tally::default();
    let mut summary = Vec::new();
    let mut is_clean = true;
    for phase in PHASES {
        let started = Instant::now();
        let (name, outcome) = match phase {
            Phase::Check(name, words) => (*name, check(root, words)?),
            Phase::Tidy => ("tidy", tidy::run(root)?),
            Phase::Tests(name, words) => {
                let (tally, outcome) = tests(root, words)?;
                total.add(tally);
                (*name, outcome)
            }
        };
        is_clean &= outcome == Verdict::Clean;
        summary.push(line(name, outcome, started.elapsed()));
    }
    println!();
    for line in summary {
        println!("{line}");
    }
    for line in &total.named {
        println!("{line}");
    }
    for repeat in &total.repeats {
        println!("repeated: {repeat}");
    }
    for name in &total.unstable {
        println!("unstable: {name} failed, and passed when it was run by itself");
    }
    if (total.passed, total.failed) == (0, 0) {
        println!("no test ran: that is a failure");
    }
    println!("{} passed, {} failed", total.passed, total.failed);
    let all_passed = total.passed > 0 && total.failed == 0;
    Ok(Verdict::of(all_passed && is_clean))
}

fn line(name: &str, outcome: Verdict, took: Duration) -> String {
    let word = match outcome {
        Verdict::Clean => "ok",
        Verdict::Failed => "FAILED",
    };
    format!("{name:<8} {word:<6} {:>7.1} s", took.as_secs_f64())
}

fn command(root: &Path, words: &str) -> Command {
    println!("== {words}");
    let mut words = words.split(' ');
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words).current_dir(root).stdin(Stdio::null());
    command
}

fn check(root: &Path, words: &str) -> io::Result<Verdict> {
    let status = command(root, words).status()?;
    Ok(Verdict::of(status.success()))
}

/// Runs a command with tests, and once more each of its programs that may be repeated.
fn tests(root: &Path, words: &str) -> io::Result<(Tally, Verdict)> {
    let run = run_tests(&mut command(root, words), Repeats::Allowed)?;
    let targets = run.targets.clone();
    let (mut total, mut outcome) = first_outcome(run);
    if let Some(rerun) = Rerun::of(words, total.failed, &total.failed_tests, &targets) {
        let mut command = rerun.command();
        println!("== once more {command:?}");
        let run = run_tests(command.current_dir(root), Repeats::Over)?;
        total.settle(&run.tally);
        outcome = Verdict::of(total.failed == 0);
    }
    for repeat in total.repeats.clone() {
        println!("== once more {repeat}");
        let run = run_tests(&mut repeat.command(), Repeats::Over).unwrap_or_else(|error| {
            println!("cannot run it: {error}");
            TestRun::default()
        });
        let (again, went) = repeated_outcome(run);
        total.add(again);
        if went == Verdict::Failed {
            outcome = went;
        }
    }
    Ok((total, outcome))
}

/// What a command with tests came to.
#[derive(Default)]
struct TestRun {
    tally: Tally,
    succeeded: bool,
    /// The programs of which cargo says that they failed, died or could not be built, as it selects them.
    targets: Vec<String>,
}

/// Shows the command's output as it comes and adds up its totals.
fn run_tests(command: &mut Command, repeats: Repeats) -> io::Result<TestRun> {
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let errors = child.stderr.take();
    let targets = std::thread::spawn(move || {
        errors.map_or(Ok(Vec::new()), |errors| {
            failed_targets(BufReader::new(errors), io::stderr())
        })
    });
    let mut tally = Tally::default();
    if let Some(output) = child.stdout.take() {
        tally = add_up(BufReader::new(output), io::stdout(), repeats)?;
    }
    let succeeded = child.wait()?.success();
    let targets = targets.join().unwrap_or(Ok(Vec::new()))?;
    Ok(TestRun {
        tally,
        succeeded,
        targets,
    })
}

/// A command that failed without a failed test died, or did not compile: that is one failure. So is what cargo says of a program
/// that neither counted a failure nor is repeated: then the exit code alone would not tell.
fn first_outcome(run: TestRun) -> (Tally, Verdict) {
    let mut tally = run.tally;
    let counted = tally.programs + tally.repeats.len() as u64;
    let is_silent = tally.failed == 0 && tally.repeats.is_empty();
    let died = !run.succeeded && (is_silent || run.targets.len() as u64 != counted);
    tally.failed += u64::from(died);
    let clean = tally.failed == 0 && (run.succeeded || !tally.repeats.is_empty());
    (tally, Verdict::of(clean))
}

/// A program that was repeated must have counted something, and all of it good.
fn repeated_outcome(run: TestRun) -> (Tally, Verdict) {
    let mut tally = run.tally;
    let clean = run.succeeded && tally.failed == 0 && tally.passed > 0;
    if !clean && tally.failed == 0 {
        tally.failed = 1;
    }
    (tally, Verdict::of(clean))
}

/// Copies `errors` to `shown` line by line, and finds what cargo says of programs of tests that failed.
fn failed_targets(mut errors: impl BufRead, mut shown: impl Write) -> io::Result<Vec<String>> {
    let mut targets = Vec::new();
    let mut line = Vec::new();
    while errors.read_until(b'\n', &mut line)? > 0 {
        shown.write_all(&line)?;
        let text = String::from_utf8_lossy(&line);
        targets.extend(unstable::target(&text));
        line.clear();
    }
    Ok(targets)
}

/// Copies `output` to `shown` line by line; bytes that are not UTF-8 pass through.
fn add_up(mut output: impl BufRead, mut shown: impl Write, repeats: Repeats) -> io::Result<Tally> {
    let mut tally = Tally::default();
    // Of the program that prints now.
    let mut program = Tally::default();
    let mut line = Vec::new();
    while output.read_until(b'\n', &mut line)? > 0 {
        shown.write_all(&line)?;
        shown.flush()?;
        let text = String::from_utf8_lossy(&line);
        if program.named.len() < NAMED_MAX && names_a_failure(&text) {
            program.named.push(text.trim_end().to_owned());
        }
        if let Some((name, verdict)) = verdict_of_one(&text) {
            match verdict {
                Verdict::Clean => program.passed_tests.push(name.to_owned()),
                Verdict::Failed => program.failed_tests.push(name.to_owned()),
            }
        }
        if repeats == Repeats::Allowed && program.repeats.is_empty() {
            program.repeats.extend(Repeat::read(&text));
        }
        if let Some((passed, failed)) = totals(&text) {
            (program.passed, program.failed) = (passed, failed);
            tally.add(std::mem::take(&mut program).verdict());
        }
        line.clear();
    }
    // One that did not end is not repeated: it died.
    program.repeats.clear();
    tally.add(program);
    Ok(tally)
}

/// Reads `test result: ok. 3 passed; 0 failed; …` of Rust's test programs and `3 passed, 0 failed` of ours.
fn totals(line: &str) -> Option<(u64, u64)> {
    let line = line.trim_end();
    let (passed, failed) = match line.strip_prefix("test result: ") {
        Some(result) => result.split_once(". ")?.1.split_once(" passed; ")?,
        None => line
            .split_once(" passed, ")
            .filter(|(_, failed)| failed.ends_with(" failed"))?,
    };
    Some((
        passed.parse().ok()?,
        failed.split(' ').next()?.parse().ok()?,
    ))
}

/// Reads `test a::b ... ok` and `test a::b ... FAILED` of Rust's test programs.
fn verdict_of_one(line: &str) -> Option<(&str, Verdict)> {
    let (name, verdict) = line
        .trim_end()
        .strip_prefix("test ")?
        .rsplit_once(" ... ")?;
    match verdict {
        "ok" => Some((name, Verdict::Clean)),
        "FAILED" => Some((name, Verdict::Failed)),
        _ => None,
    }
}

/// Whether a line is the verdict on one failed test, of Rust's or ours, or says where one panicked.
fn names_a_failure(line: &str) -> bool {
    let line = line.trim_end();
    (line.starts_with("test ") && line.ends_with(" ... FAILED"))
        || line.trim_start().starts_with("FAIL ")
        || (line.starts_with("thread '") && line.contains(" panicked at "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(output: &str, passed: u64, failed: u64, named: &[&str]) {
        let mut shown = Vec::new();
        let tally = add_up(output.as_bytes(), &mut shown, Repeats::Allowed).unwrap();
        assert_eq!((tally.passed, tally.failed), (passed, failed));
        assert_eq!(tally.named, named);
        assert_eq!(tally.repeats, []);
        assert_eq!(shown, output.as_bytes());
    }

    const ENDED: &str = "# Firebird ended by itself (signal: 11 (SIGSEGV)) beside a in b\n";

    fn counted(output: &str, repeats: Repeats) -> Tally {
        add_up(output.as_bytes(), io::sink(), repeats).unwrap()
    }

    fn test_run(output: &str, errors: &str, succeeded: bool) -> TestRun {
        TestRun {
            tally: counted(output, Repeats::Allowed),
            succeeded,
            targets: failed_targets(errors.as_bytes(), io::sink()).unwrap(),
        }
    }

    const FAILED: &str = "error: test failed, to rerun pass `-p a --test b`\n";

    fn repeated() -> String {
        format!("test a ... FAILED\n{ENDED}{ENDED}test result: FAILED. 3 passed; 2 failed\n")
    }

    #[test]
    fn test_that_passes_by_itself_is_counted_as_passed_and_unstable() {
        let output =
            "test a ... FAILED\ntest b ... FAILED\ntest result: FAILED. 3 passed; 2 failed\n";
        let mut total = counted(output, Repeats::Allowed);
        let again = "test a ... ok\ntest b ... FAILED\ntest result: FAILED. 1 passed; 1 failed\n";
        total.settle(&counted(again, Repeats::Over));
        assert_eq!((total.passed, total.failed), (4, 1));
        assert_eq!(
            (total.unstable, total.failed_tests),
            (vec!["a".to_owned()], vec!["b".to_owned()])
        );
    }

    #[test]
    fn a_program_whose_server_ended_is_repeated_instead_of_counted() {
        let (tally, outcome) = first_outcome(test_run(&repeated(), FAILED, false));
        assert_eq!(
            (tally.passed, tally.failed, outcome),
            (0, 0, Verdict::Clean)
        );
        let [repeat] = &tally.repeats[..] else {
            panic!("{:?}", tally.repeats);
        };
        assert_eq!(repeat.failed, ["test a ... FAILED"]);
    }

    #[test]
    fn failure_or_death_beside_a_repetition_is_a_failure() {
        let other = "test result: FAILED. 1 passed; 1 failed\n";
        let passed = "test result: ok. 4 passed; 0 failed\n";
        let check = |output: String, programs: usize, passed, failed| {
            let (tally, outcome) =
                first_outcome(test_run(&output, &FAILED.repeat(programs), false));
            let counts = (tally.passed, tally.failed, tally.repeats.len());
            assert_eq!(counts, (passed, failed, 1), "{output}");
            assert_eq!(outcome, Verdict::Failed);
        };
        check(repeated() + other, 2, 1, 1);
        check(repeated() + "running 2 tests\ntest b ... ok\n", 2, 0, 1);
        check(repeated() + passed, 2, 4, 1);
        // It died after its line, and the next one failed.
        check(ENDED.to_owned() + other, 2, 0, 1);
    }

    #[test]
    fn a_program_that_passed_or_died_is_not_repeated() {
        let passed = format!("{ENDED}test result: ok. 1 passed; 0 failed\n");
        assert_eq!(counted(&passed, Repeats::Allowed).repeats, []);
        let (tally, outcome) = first_outcome(test_run(ENDED, FAILED, false));
        assert_eq!((tally.failed, outcome), (1, Verdict::Failed));
        assert_eq!(tally.repeats, []);
    }

    #[test]
    fn a_repetition_must_pass_and_count() {
        let check = |output: &str, succeeded, passed, failed, expected| {
            let tally = counted(output, Repeats::Over);
            let (tally, outcome) = repeated_outcome(TestRun {
                tally,
                succeeded,
                targets: Vec::new(),
            });
            assert_eq!(
                (tally.passed, tally.failed, outcome),
                (passed, failed, expected)
            );
            assert_eq!(tally.repeats, []);
        };
        let passed = "test result: ok. 5 passed; 0 failed\n";
        check(passed, true, 5, 0, Verdict::Clean);
        check(passed, false, 5, 1, Verdict::Failed);
        check("", true, 0, 1, Verdict::Failed);
        check(&repeated(), false, 3, 2, Verdict::Failed);
    }

    #[test]
    fn totals_of_every_program_are_added() {
        let first = "running 2 tests\ntest a ... ok\n\ntest result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n";
        check(
            &format!(
                "{first}test result: FAILED. 1 passed; 3 failed; 0 ignored\n12 passed, 0 failed\n"
            ),
            15,
            3,
            &[],
        );
    }

    #[test]
    fn other_lines_are_no_totals() {
        check(
            "test result: unknown\nhe said: 3 passed, 0 failed\n3 passed, 0 failed, 1 skipped\n",
            0,
            0,
            &[],
        );
    }

    #[test]
    fn failed_tests_are_named_with_the_place_of_the_panic() {
        let lines = [
            "test a::b ... FAILED",
            "thread 'a::b' (7) panicked at src/a.rs:1:2:",
            "  FAIL GET / (3 ms)",
        ];
        check(
            &format!("test c ... ok\n{}\nwhy\n", lines.join("\n")),
            0,
            0,
            &lines,
        );
    }

    #[test]
    fn a_program_that_died_is_one_failure() {
        let died = first_outcome(test_run("test a ... ok\n", FAILED, false));
        assert_eq!((died.0.failed, died.1), (1, Verdict::Failed));
        let failed = "test result: FAILED. 0 passed; 3 failed\n";
        assert_eq!(first_outcome(test_run(failed, FAILED, false)).0.failed, 3);
        // Another beside it could not be built.
        let beside = FAILED.repeat(2);
        assert_eq!(first_outcome(test_run(failed, &beside, false)).0.failed, 4);
        let passed = first_outcome(test_run("3 passed, 0 failed\n", "", true));
        assert_eq!((passed.0.passed, passed.1), (3, Verdict::Clean));
    }
}
