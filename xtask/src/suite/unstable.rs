//! Tests that failed and are run once more by themselves, when all others have ended. What passes then hoped for something of the machine, such as a
//! time: the summary names it as unstable, and it is to be mended. It knows what cargo and Rust's test programs print, not what is tested.
//! Rule: only tests that are known by name, `UNSTABLE_MAX` of a run at most; with more, or with a program that died, nothing is run again.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};

/// Tests of a command that may be unstable. More of them at once have one cause, and that is no coincidence of times.
pub const UNSTABLE_MAX: usize = 5;

/// What cargo calls the programs whose tests failed.
const RERUN: &str = ", to rerun pass `";

/// A run of the failed tests alone.
#[derive(Debug, PartialEq, Eq)]
pub struct Rerun {
    /// Of `cargo test`.
    arguments: Vec<String>,
}

impl Rerun {
    /// Of a command with tests that has ended; nothing where it is not known which tests failed in it.
    pub fn of(words: &str, failed: u64, named: &[String], targets: &[String]) -> Option<Rerun> {
        let known = usize::try_from(failed) == Ok(named.len());
        if !words.starts_with("cargo test ") || !known || !(1..=UNSTABLE_MAX).contains(&named.len())
        {
            return None;
        }
        let mut arguments: Vec<String> = words.split(' ').skip(1).map(str::to_owned).collect();
        for target in targets {
            // Without the package: the features of a part of the workspace are others, and all would be built again.
            let words: Vec<&str> = target.split(' ').skip(2).collect();
            match words.as_slice() {
                ["--lib"] => arguments.push("--lib".to_owned()),
                [kind @ ("--test" | "--bin"), name] => {
                    arguments.extend([(*kind).to_owned(), (*name).to_owned()]);
                }
                _ => return None,
            }
        }
        // With one thread a name and its verdict can stand on different lines.
        arguments.extend(["--", "--test-threads=2", "--exact"].map(str::to_owned));
        let names: BTreeSet<&String> = named.iter().collect();
        arguments.extend(names.into_iter().cloned());
        Some(Rerun { arguments })
    }

    /// The command of the rerun; to be run at the root.
    pub fn command(&self) -> Command {
        let mut command = Command::new("cargo");
        command.args(&self.arguments).stdin(Stdio::null());
        command
    }
}

/// Of the names that failed at first, those that have passed now, in whichever program.
pub fn unstable(named: &[String], passed: &[String], failed: &[String]) -> Vec<String> {
    let is_unstable = |name: &&String| passed.contains(name) && !failed.contains(name);
    named.iter().filter(is_unstable).cloned().collect()
}

/// The arguments that select a program, from what cargo says when its tests failed.
pub fn target(line: &str) -> Option<String> {
    let (_, target) = line.strip_prefix("error: ")?.split_once(RERUN)?;
    Some(target.trim_end().strip_suffix('`')?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: &str = "cargo test --workspace";

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn failed_tests_are_run_again_by_name_in_their_programs() {
        let targets = names(&["-p a --test b", "-p c --lib"]);
        let rerun = Rerun::of(WORDS, 2, &names(&["x", "m::y"]), &targets).unwrap();
        assert_eq!(
            rerun.arguments.join(" "),
            "test --workspace --test b --lib -- --test-threads=2 --exact m::y x"
        );
    }

    #[test]
    fn tests_without_a_name_or_too_many_are_not_run_again() {
        let targets = names(&["-p a --test b"]);
        let of = |words: &str, failed: usize, named: &[&str]| {
            Rerun::of(words, failed as u64, &names(named), &targets).is_some()
        };
        assert!(of(WORDS, 1, &["x"]));
        assert!(!of(WORDS, 2, &["x"]));
        assert!(!of(WORDS, 0, &[]));
        assert!(!of("target/debug/tsumugi test", 1, &["x"]));
        let most: Vec<String> = (0..=UNSTABLE_MAX).map(|n| format!("t{n}")).collect();
        let most: Vec<&str> = most.iter().map(String::as_str).collect();
        assert!(of(WORDS, UNSTABLE_MAX, &most[1..]));
        assert!(!of(WORDS, UNSTABLE_MAX + 1, &most));
        let documents = names(&["-p a --doc"]);
        assert_eq!(Rerun::of(WORDS, 1, &names(&["x"]), &documents), None);
    }

    #[test]
    fn only_tests_that_pass_alone_are_unstable() {
        let named = names(&["x", "y", "z", "w"]);
        // Of z nothing is known, and another program has a w that fails.
        let passed = names(&["x", "w", "other"]);
        let found = unstable(&named, &passed, &names(&["y", "w"]));
        assert_eq!(found, ["x"]);
    }

    #[test]
    fn target_is_read_from_what_cargo_says() {
        let line = "error: test failed, to rerun pass `-p tsumugi-db --test schema`\n";
        assert_eq!(target(line).unwrap(), "-p tsumugi-db --test schema");
        assert_eq!(target("error: 1 target failed:\n"), None);
    }
}
