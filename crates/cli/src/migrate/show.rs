//! What `migrate` and `seed` print while they work: a line for each file that is done, a bar for the one that is not, on a terminal.
//! Rule: the work goes on when what is printed is not read.

use std::fmt::Display;
use std::time::Instant;

use indicatif::ProgressBar;
use tsumugi_ruby::MaintenanceEvent;
use tsumugi_server::commands::{self, RunMode};

use crate::progress::{self, Extent};

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
                print(format_args!("-- {direction} {name}\n"));
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
                let took = self.begun.map(|begun| begun.elapsed()).unwrap_or_default();
                print(commands::ran(&direction, &name, took));
            }
            MaintenanceEvent::Skipped { .. } => {
                self.end();
                print("-- not tried: it runs outside of a transaction\n");
            }
            MaintenanceEvent::Unwritten { name } => {
                self.end();
                print(format_args!(
                    "-- {name}: not written yet, it and those after it wait\n"
                ));
            }
            MaintenanceEvent::LeftOut { name } => {
                self.end();
                print(commands::left_out(&name));
            }
            MaintenanceEvent::Statement(sql) => {
                self.end();
                print(format_args!("{};\n", sql.trim().trim_end_matches(';')));
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

/// What cannot be printed is no reason to stop in the middle.
fn print(text: impl Display) {
    let _ = commands::print(text);
}
