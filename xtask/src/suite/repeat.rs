//! A test program that is run once more, because a server that nobody had told to stop ended beside it. Firebird 3.0 is known to: connections
//! that come and go by the hundred can end it (FirebirdSQL/firebird#7199). What such a program found out says nothing of ours.
//! It knows the line that `crates/rig/src/process.rs` prints, not what the program tests.
//! Rule: what failed without that line is never repeated, a program is repeated once, and the summary names it.

use std::fmt;
use std::process::{Command, Stdio};

/// A program, where it runs, and why again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repeat {
    reason: String,
    program: String,
    directory: String,
}

impl Repeat {
    /// Reads `# SERVER ended by itself (STATUS) beside PROGRAM in DIRECTORY`.
    pub fn read(line: &str) -> Option<Repeat> {
        let line = line.trim_end().strip_prefix("# ")?;
        let (reason, place) = line.split_once(" beside ")?;
        let (program, directory) = place.split_once(" in ")?;
        reason.contains(" ended by itself (").then(|| Repeat {
            reason: reason.to_owned(),
            program: program.to_owned(),
            directory: directory.to_owned(),
        })
    }

    /// All of the program's tests.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command
            .current_dir(&self.directory)
            .env("CARGO_MANIFEST_DIR", &self.directory)
            .stdin(Stdio::null());
        command
    }
}

impl fmt::Display for Repeat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.program, self.reason)
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
        let command = repeat.command();
        assert_eq!(command.get_program(), "/t/deps/live-1");
        assert_eq!(command.get_current_dir().unwrap(), "/crates/firebird");
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
