//! A test program that is run once more, because a fault ended a server beside it or made it stand still. Firebird 3.0 is known for both: connections
//! that come and go by the hundred can end it (FirebirdSQL/firebird#7738, #7199), or it takes no new ones any more (#7480, #7067). Which of the
//! program's failures are ours is not known then.
//! It knows the line that `crates/testkit/src/process.rs` prints, not what the program tests.
//! Rule: what failed without that line is never repeated, a program is repeated once, and the summary names it and what failed at first.

use std::fmt;
use std::process::{Command, Stdio};

/// A program, where it runs, and why again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repeat {
    reason: String,
    program: String,
    directory: String,
    /// Lines that name what failed at first.
    pub failed: Vec<String>,
}

impl Repeat {
    /// Reads `# SERVER ended by itself (STATUS) beside PROGRAM in DIRECTORY`, or `stood still` in its place.
    pub fn read(line: &str) -> Option<Repeat> {
        let line = line.trim_end().strip_prefix("# ")?;
        let (reason, place) = line.split_once(" beside ")?;
        let (program, directory) = place.split_once(" in ")?;
        let is_fault = [" ended by itself (", " stood still ("]
            .iter()
            .any(|fault| reason.contains(fault));
        is_fault.then(|| Repeat {
            reason: reason.to_owned(),
            program: program.to_owned(),
            directory: directory.to_owned(),
            failed: Vec::new(),
        })
    }

    /// All of the program's tests.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command
            .current_dir(&self.directory)
            // As cargo would; ours names the crate of these checks.
            .env("CARGO_MANIFEST_DIR", &self.directory)
            .stdin(Stdio::null());
        command
    }
}

impl fmt::Display for Repeat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.program, self.reason)?;
        for line in &self.failed {
            write!(f, "\n  at first: {line}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_line_of_an_end_is_read() {
        let line = "# Firebird ended by itself (signal: 11 (SIGSEGV)) beside /t/deps/live-1 in /crates/firebird\n";
        let repeat = Repeat::read(line).unwrap();
        assert_eq!(
            repeat.to_string(),
            "/t/deps/live-1: Firebird ended by itself (signal: 11 (SIGSEGV))"
        );
        let line = "# Firebird stood still (60 s) beside /t/deps/live-1 in /crates/firebird\n";
        assert!(Repeat::read(line).is_some());
        let failed = vec!["test a ... FAILED".to_owned()];
        assert!(
            Repeat {
                failed,
                ..repeat.clone()
            }
            .to_string()
            .ends_with("\n  at first: test a ... FAILED")
        );
        let command = repeat.command();
        assert_eq!(command.get_program(), "/t/deps/live-1");
        assert_eq!(command.get_current_dir().unwrap(), "/crates/firebird");
        let (_, directory) = command.get_envs().next().unwrap();
        assert_eq!(directory.unwrap(), "/crates/firebird");
        for other in [
            "Firebird ended by itself (signal: 11) beside a in b",
            "# Firebird ended (signal: 11) beside a in b",
            "# Firebird ended by itself (signal: 11)",
            "# Firebird ended by itself: signal: 11",
        ] {
            assert_eq!(Repeat::read(other), None, "{other}");
        }
    }
}
