//! `cargo xtask test`: the phases of `make test` in turn, all of them even when one fails, and their sum as the last line.
//! It knows how test programs print their totals, not what they test.
//! Rule: a total is read from what was printed, never assumed; a program that died counts as one failure, and no tests at all is a failure.
//! A program that failed is repeated only when it said that a server ended by itself beside it; see [`repeat`].

mod repeat;

use self::repeat::Repeat;
use crate::{Verdict, tidy};
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A step of the run.
enum Phase {
    /// A command that is clean or not; it runs no tests.
    Check(&'static str, &'static [&'static str]),
    /// The rules of [`tidy`], in this process.
    Tidy,
    /// A command whose output has lines with totals.
    Tests(&'static str, &'static [&'static str]),
}

const PHASES: &[Phase] = &[
    Phase::Check("format", &["cargo", "fmt", "--all", "--check"]),
    Phase::Check(
        "clippy",
        &[
            "cargo",
            "clippy",
            "--workspace",
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ],
    ),
    Phase::Tidy,
    Phase::Tests("tests", &["cargo", "test", "--workspace", "--no-fail-fast"]),
    Phase::Tests(
        "examples/demo",
        &["target/debug/tsumugi", "test", "examples/demo/app.rb"],
    ),
    Phase::Tests(
        "examples/demo on PostgreSQL",
        &[
            "target/debug/tsumugi-pg-rig",
            "target/debug/tsumugi",
            "test",
            "examples/demo/app.rb",
        ],
    ),
    Phase::Tests(
        "examples/demo on Firebird",
        &[
            "target/debug/tsumugi-firebird-rig",
            "target/debug/tsumugi",
            "test",
            "examples/demo/app.rb",
        ],
    ),
    Phase::Tests(
        "examples/ngx_mruby",
        &["target/debug/tsumugi", "test", "examples/ngx_mruby/app.rb"],
    ),
    Phase::Tests(
        "examples/firebird",
        &[
            "target/debug/tsumugi-firebird-rig",
            "target/debug/tsumugi",
            "test",
            "examples/firebird/app.rb",
        ],
    ),
    Phase::Tests(
        "examples/world",
        &[
            "target/debug/tsumugi-pg-rig",
            "target/debug/tsumugi",
            "test",
            "examples/world/app.rb",
        ],
    ),
];

/// Passed and failed tests, and where the failed ones are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Tally {
    passed: u64,
    failed: u64,
    /// Lines that name a failed test or say where it panicked, `NAMED_MAX` at most.
    named: Vec<String>,
    /// Programs whose failures are not counted here.
    repeats: Vec<Repeat>,
}

impl Tally {
    fn add(&mut self, other: Tally) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.named.extend(other.named);
        self.named.truncate(NAMED_MAX);
        self.repeats.extend(other.repeats);
    }

    /// Of one program: what it counted, or that it is to be repeated.
    fn verdict(mut self) -> Tally {
        if self.failed == 0 {
            self.repeats.clear();
        } else if !self.repeats.is_empty() {
            (self.passed, self.failed) = (0, 0);
            self.named.clear();
        }
        self
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
    let mut verdict = Verdict::Clean;
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
        if outcome == Verdict::Failed {
            verdict = Verdict::Failed;
        }
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
    if (total.passed, total.failed) == (0, 0) {
        println!("no test ran: that is a failure");
    }
    println!("{} passed, {} failed", total.passed, total.failed);
    let all_passed = total.passed > 0 && total.failed == 0;
    Ok(if all_passed { verdict } else { Verdict::Failed })
}

fn line(name: &str, outcome: Verdict, took: Duration) -> String {
    let word = if outcome == Verdict::Clean {
        "ok"
    } else {
        "FAILED"
    };
    format!("{name:<8} {word:<6} {:>7.1} s", took.as_secs_f64())
}

fn command(root: &Path, words: &[&str]) -> Command {
    println!("== {}", words.join(" "));
    let mut command = Command::new(words[0]);
    command
        .args(&words[1..])
        .current_dir(root)
        .stdin(Stdio::null());
    command
}

fn check(root: &Path, words: &[&str]) -> io::Result<Verdict> {
    let status = command(root, words).status()?;
    Ok(if status.success() {
        Verdict::Clean
    } else {
        Verdict::Failed
    })
}

/// Runs a command with tests, and once more each of its programs that may be repeated.
fn tests(root: &Path, words: &[&str]) -> io::Result<(Tally, Verdict)> {
    let (mut total, mut outcome) = watched(command(root, words), Repeats::Allowed)?;
    if !total.repeats.is_empty() && total.failed == 0 {
        // Nothing failed but what is repeated now.
        outcome = Verdict::Clean;
    }
    for repeat in total.repeats.clone() {
        println!("== once more {repeat}");
        let (again, went) = watched(repeat.command(), Repeats::Over)?;
        total.add(again);
        if went == Verdict::Failed {
            outcome = Verdict::Failed;
        }
    }
    Ok((total, outcome))
}

/// Shows the command's output as it comes and adds up its totals.
fn watched(mut command: Command, repeats: Repeats) -> io::Result<(Tally, Verdict)> {
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    let mut tally = Tally::default();
    if let Some(output) = child.stdout.take() {
        tally = add_up(BufReader::new(output), io::stdout().lock(), repeats)?;
    }
    let status = child.wait()?;
    Ok(settle(
        tally,
        if status.success() {
            Verdict::Clean
        } else {
            Verdict::Failed
        },
    ))
}

/// A command that failed without a failed test died, or did not compile: that is one failure.
fn settle(mut tally: Tally, outcome: Verdict) -> (Tally, Verdict) {
    if outcome == Verdict::Failed && tally.failed == 0 && tally.repeats.is_empty() {
        tally.failed = 1;
    }
    (tally, outcome)
}

/// Copies `output` to `shown` line by line; bytes that are not UTF-8 pass through.
fn add_up(mut output: impl BufRead, mut shown: impl Write, repeats: Repeats) -> io::Result<Tally> {
    let mut tally = Tally::default();
    // Of the program that prints now.
    let mut program = Tally::default();
    let (mut begun, mut ended) = (0, 0);
    let mut line = Vec::new();
    while output.read_until(b'\n', &mut line)? > 0 {
        shown.write_all(&line)?;
        shown.flush()?;
        let text = String::from_utf8_lossy(&line);
        if program.named.len() < NAMED_MAX && names_a_failure(&text) {
            program.named.push(text.trim_end().to_owned());
        }
        if repeats == Repeats::Allowed && program.repeats.is_empty() {
            program.repeats.extend(Repeat::read(&text));
        }
        begun += u64::from(begins(&text));
        if let Some((passed, failed)) = totals(&text) {
            ended += u64::from(text.starts_with("test result: "));
            (program.passed, program.failed) = (passed, failed);
            tally.add(std::mem::take(&mut program).verdict());
        }
        line.clear();
    }
    // The exit code of a command whose failures are repeated does not say whether another of its programs died.
    if !tally.repeats.is_empty() && ended < begun {
        tally.failed += 1;
    }
    tally.add(program);
    Ok(tally)
}

/// Reads `running 3 tests` of Rust's test programs.
fn begins(line: &str) -> bool {
    let count = line.trim_end().strip_prefix("running ");
    let count = count.and_then(|rest| rest.split_once(" test"));
    count.is_some_and(|(count, rest)| count.parse::<u64>().is_ok() && ["", "s"].contains(&rest))
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

    fn counted(output: &str, repeats: Repeats) -> (u64, u64, usize) {
        let tally = add_up(output.as_bytes(), io::sink(), repeats).unwrap();
        (tally.passed, tally.failed, tally.repeats.len())
    }

    #[test]
    fn a_program_whose_server_ended_is_repeated_once_instead_of_counted() {
        let program = format!(
            "running 5 tests\ntest a ... FAILED\n{ENDED}{ENDED}test result: FAILED. 3 passed; 2 failed\n"
        );
        let next = "running 1 test\ntest result: FAILED. 1 passed; 1 failed\n";
        let both = format!("{program}{next}");
        assert_eq!(counted(&both, Repeats::Allowed), (1, 1, 1));
        assert_eq!(counted(&both, Repeats::Over), (4, 3, 0));
        let tally = add_up(program.as_bytes(), io::sink(), Repeats::Allowed).unwrap();
        assert_eq!(tally.named, [""; 0]);
        assert_eq!(settle(tally, Verdict::Failed).0.failed, 0);
    }

    #[test]
    fn a_program_that_passed_is_not_repeated_and_one_that_died_is_a_failure() {
        let passed = format!("running 1 test\n{ENDED}test result: ok. 1 passed; 0 failed\n");
        assert_eq!(counted(&passed, Repeats::Allowed), (1, 0, 0));
        let repeated = format!("{ENDED}test result: FAILED. 3 passed; 2 failed\n");
        let died = format!("running 1 test\n{repeated}running 2 tests\ntest b ... ok\n");
        assert_eq!(counted(&died, Repeats::Allowed), (0, 1, 1));
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
        let with = |failed| Tally {
            failed,
            ..Tally::default()
        };
        assert_eq!(settle(with(0), Verdict::Failed).0, with(1));
        assert_eq!(settle(with(3), Verdict::Failed).0, with(3));
    }
}
