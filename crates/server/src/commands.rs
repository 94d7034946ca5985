//! What `check`, `routes`, `migrate` and `seed` do and print for an application of either kind. Loads nothing and connects to nothing.
//! Rule: a reader that reads no further, as `head` does, is no failure and stops no work.

use std::fmt::Display;
use std::io::{self, Write as _};
use std::time::Duration;

use http::Method;
use tsumugi_db::AbsentFile;
use tsumugi_http::CaptureKind;
use tsumugi_http::secret::Secret;

use crate::table;

/// What `migrate` and `seed` are to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Apply what is pending: all of it, or so many.
    Up(Option<u32>),
    /// Undo the last, or so many.
    Down(Option<u32>),
    /// Undo the last, or so many, and apply them again.
    Redo(Option<u32>),
    /// Say what is applied.
    Status,
    /// Run the seeds.
    Seed,
}

/// Whether the work is committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunMode {
    /// It is committed.
    Commit,
    /// It is rolled back at the end, and every statement is reported.
    DryRun,
}

impl Task {
    /// How many migrations are wanted.
    pub fn steps(self) -> Option<u32> {
        match self {
            Task::Up(steps) | Task::Down(steps) | Task::Redo(steps) => steps,
            Task::Status | Task::Seed => None,
        }
    }

    /// Whether something new may come of it.
    pub fn adds(self, mode: RunMode) -> bool {
        mode == RunMode::Commit && matches!(self, Task::Up(_) | Task::Seed)
    }

    /// Runs this so that only migrations that are applied begin a database: seeds need its tables, and what keeps nothing sees an empty one.
    pub async fn perform<T>(self, mode: RunMode, run: impl Future<Output = T>) -> T {
        match (self, mode) {
            (Task::Up(_), RunMode::Commit) => AbsentFile::Provisional.within(run).await,
            (Task::Seed, _) => AbsentFile::Refused.within(run).await,
            _ => AbsentFile::Empty.within(run).await,
        }
    }

    /// The last line, where so many migrations ran; of `redo` both ways count.
    pub fn summary(self, mode: RunMode, ran: usize) -> String {
        let (count, done) = match self {
            Task::Up(_) | Task::Status => (ran, "applied"),
            Task::Down(_) => (ran, "undone"),
            Task::Redo(_) => (ran / 2, "undone and applied"),
            Task::Seed => return "ran the seeds\n".to_owned(),
        };
        let migrations = plural(count, "migration");
        match (mode, count) {
            (RunMode::DryRun, _) => format!("tried {migrations}; nothing was kept\n"),
            (RunMode::Commit, 0) => "nothing to do\n".to_owned(),
            (RunMode::Commit, _) => format!("{migrations} {done}\n"),
        }
    }
}

/// The variable that names a database.
pub const DATABASE_URL: &str = "DATABASE_URL";

/// The database that it names; an empty one names none.
pub fn database_url() -> Option<String> {
    std::env::var(DATABASE_URL)
        .ok()
        .filter(|url| !url.is_empty())
}

/// What `migrate` calls the tables that jobs are kept in.
pub const JOB_TABLES: &str = "tables of jobs";

/// The line for a migration that has run, or without a direction for seeds.
pub fn ran(direction: &str, name: &str, took: Duration) -> String {
    let ms = took.as_millis();
    match direction {
        "" => format!("{name} ({ms} ms)\n"),
        _ => format!("{direction:<4}  {name} ({ms} ms)\n"),
    }
}

/// The line for seeds that were not run, because their table has rows.
pub fn left_out(name: &str) -> String {
    format!("-- {name}: left out, the table has rows\n")
}

/// What seeds of a table are called in such lines.
pub fn seeds_of(table: &str) -> String {
    format!("seeds of {table}")
}

/// One line a migration: its state, its name, when it was applied.
pub fn status(rows: &[[String; 3]]) -> String {
    if rows.is_empty() {
        return "there is no migration\n".to_owned();
    }
    table::aligned(rows)
}

/// A route as it is listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteLine {
    /// Its method.
    pub method: Method,
    /// Its pattern, as it was written or as the router has it.
    pub pattern: String,
    /// Types of captures by their names; empty in Rust, where handlers say them.
    pub types: Vec<(String, CaptureKind)>,
    /// `file:line` of its declaration.
    pub location: String,
}

/// One line a route.
pub fn routes(routes: &[RouteLine]) -> String {
    let row = |route: &RouteLine| {
        let types = route.types.iter();
        let types: Vec<String> = types
            .map(|(name, kind)| format!("{name}: {}", type_name(*kind)))
            .collect();
        [
            route.method.to_string(),
            route.pattern.clone(),
            types.join(", "),
            route.location.clone(),
        ]
    };
    let rows: Vec<[String; 4]> = routes.iter().map(row).collect();
    table::aligned(&rows)
}

/// The type of a capture, as applications in Ruby name it.
fn type_name(kind: CaptureKind) -> &'static str {
    match kind {
        CaptureKind::Integer => "Integer",
        CaptureKind::Float => "Float",
        CaptureKind::Uuid => "uuid",
        CaptureKind::String | CaptureKind::Path => "String",
    }
}

/// What is reported of an application that has loaded, as in development, and of what it would lack in production.
pub fn sound(routes: usize, place: impl Display) -> String {
    let mut text = format!("ok: {}{place}\n", plural(routes, "route"));
    if Secret::is_made_up() {
        text.push_str(
            "serve does not start here: it needs TSUMUGI_SECRET, which only --dev makes up; `openssl rand -hex 32` makes one\n",
        );
    }
    text
}

/// Writes to standard output.
///
/// # Errors
/// Where it cannot be written, but for a reader that has gone.
pub fn print(text: impl Display) -> io::Result<()> {
    let mut output = io::stdout().lock();
    match write!(output, "{text}").and_then(|()| output.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
        _ => Ok(()),
    }
}

fn plural(count: usize, one: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {one}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(task: Task, mode: RunMode, ran: usize, expected: &str) {
        assert_eq!(task.summary(mode, ran), format!("{expected}\n"));
    }

    #[test]
    fn the_last_line_says_what_was_done() {
        let commit = RunMode::Commit;
        check(Task::Up(None), commit, 2, "2 migrations applied");
        check(Task::Up(None), commit, 0, "nothing to do");
        check(Task::Down(None), commit, 1, "1 migration undone");
        check(
            Task::Redo(None),
            commit,
            2,
            "1 migration undone and applied",
        );
        check(
            Task::Redo(Some(3)),
            commit,
            6,
            "3 migrations undone and applied",
        );
        check(Task::Redo(None), commit, 0, "nothing to do");
        check(Task::Seed, commit, 1, "ran the seeds");
        let tried = "tried 1 migration; nothing was kept";
        check(Task::Up(None), RunMode::DryRun, 1, tried);
        check(Task::Redo(None), RunMode::DryRun, 2, tried);
    }

    #[test]
    fn routes_without_types_have_no_column_for_them() {
        let route = RouteLine {
            method: Method::GET,
            pattern: "/".to_owned(),
            types: Vec::new(),
            location: "src/main.rs:3".to_owned(),
        };
        assert_eq!(routes(&[route]), "GET  /  src/main.rs:3\n");
    }
}
