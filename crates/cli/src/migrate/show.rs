//! What `migrate` and `seed` print while they work: a line for each file that is done, a bar for the one that is not, on a terminal.
//! Rule: the work goes on when what is printed is not read.

use std::fmt::Display;
use std::io::Write as _;
use std::time::Instant;

use indicatif::ProgressBar;
use tsumugi_ruby::{MaintenanceEvent, RunMode, Task};

use crate::progress::{self, Extent};
use crate::table;

/// What is shown now.
pub struct Show {
    mode: RunMode,
    begun: Option<Instant>,
    bar: Option<(String, ProgressBar)>,
}

impl Show {
    /// Nothing yet, of work with this mode.
    pub fn new(mode: RunMode) -> Show {
        Show {
            mode,
            begun: None,
            bar: None,
        }
    }

    /// Shows it.
    pub fn record(&mut self, news: MaintenanceEvent) {
        match news {
            MaintenanceEvent::Began {
                name, direction, ..
            } if self.mode == RunMode::DryRun => {
                line(format_args!("-- {direction} {name}"));
            }
            MaintenanceEvent::Ended { .. } if self.mode == RunMode::DryRun => {}
            MaintenanceEvent::Began {
                name, place, count, ..
            } => {
                self.begun = Some(Instant::now());
                let title = match count {
                    0 | 1 => name,
                    _ => format!("{name} ({} of {count})", place + 1),
                };
                self.end();
                self.bar = Some((title.clone(), progress::bar(Extent::Once, title)));
            }
            MaintenanceEvent::Ended { name, direction } => {
                self.end();
                let ms = self.begun.map_or(0, |begun| begun.elapsed().as_millis());
                match direction.as_str() {
                    "" => line(format_args!("{name} ({ms} ms)")),
                    direction => line(format_args!("{direction:<4}  {name} ({ms} ms)")),
                }
            }
            MaintenanceEvent::Skipped { .. } => {
                self.end();
                line("-- not tried: it runs outside of a transaction");
            }
            MaintenanceEvent::Statement(sql) => {
                self.end();
                line(format_args!("{};", sql.trim().trim_end_matches(';')));
            }
            MaintenanceEvent::Progress { title, done, total } => self.progress(title, done, total),
            _ => {}
        }
    }

    fn progress(&mut self, title: String, done: u64, total: u64) {
        if done == 1 || self.bar.is_none() {
            self.end();
            let bar = progress::bar(Extent::Records(total), title.clone());
            self.bar = Some((title, bar));
        }
        if let Some((_, bar)) = &self.bar {
            bar.set_position(done);
        }
    }

    /// Takes the bar away.
    pub fn end(&mut self) {
        if let Some((_, bar)) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

/// Prints a line. A reader that has gone away, as `head` does, is no reason to stop in the middle.
pub fn line(text: impl Display) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// The last line.
pub fn summary(task: Task, mode: RunMode, count: u64) -> String {
    let plural = |one: &str| match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {one}s"),
    };
    match (mode, task) {
        (RunMode::DryRun, _) => format!("tried {}; nothing was kept", plural("migration")),
        (_, Task::Seed) => format!("ran {} of seeds", plural("file")),
        (_, Task::Redo(_)) => format!("{} undone and applied", count / 2),
        (_, _) if count == 0 => "nothing to do".to_owned(),
        (_, Task::Down(_)) => format!("{} undone", plural("migration")),
        _ => format!("{} applied", plural("migration")),
    }
}

/// One line a migration.
pub fn status(rows: &[[String; 4]]) -> String {
    if rows.is_empty() {
        return "there is no migration".to_owned();
    }
    let line = |[_, name, state, applied]: &[String; 4]| [state, name, applied].map(String::clone);
    let lines: Vec<[String; 3]> = rows.iter().map(line).collect();
    table::aligned(&lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(task: Task, mode: RunMode, count: u64, expected: &str) {
        assert_eq!(summary(task, mode, count), expected);
    }

    #[test]
    fn the_last_line_says_what_was_done() {
        check(Task::Up(None), RunMode::Commit, 2, "2 migrations applied");
        check(Task::Up(None), RunMode::Commit, 0, "nothing to do");
        check(Task::Down(None), RunMode::Commit, 1, "1 migration undone");
        check(Task::Redo(None), RunMode::Commit, 2, "1 undone and applied");
        check(Task::Seed, RunMode::Commit, 1, "ran 1 file of seeds");
        check(
            Task::Up(None),
            RunMode::DryRun,
            1,
            "tried 1 migration; nothing was kept",
        );
    }
}
