//! Reports on the work on a schema while it goes on, from Ruby to the command that shows them. Shows nothing itself.

use tsumugi_mruby::{Result, Value};

use crate::natives::arguments::text;
use crate::natives::definitions::Natives;

/// A report while the work goes on.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MaintenanceEvent {
    /// A file, or the seeds of a table, begin.
    Began {
        /// The name of the file or table.
        name: String,
        /// `up`, `down` or nothing.
        direction: String,
        /// How many came before it.
        place: u64,
        /// How many there are.
        count: u64,
    },
    /// It has done what it says.
    Ended {
        /// The name of the file or table.
        name: String,
        /// `up`, `down` or nothing.
        direction: String,
    },
    /// It cannot be tried, because it could not be undone.
    Skipped {
        /// The name of the file or table.
        name: String,
    },
    /// It is not done, and nothing after it: it is as `tsumugi migrate new` has made it.
    Unwritten {
        /// The name of the file.
        name: String,
    },
    /// It is not done, because the table has rows already.
    LeftOut {
        /// The name of the seeds.
        name: String,
    },
    /// A statement is going to run that is to be undone.
    Statement(String),
    /// Long work goes on.
    Progress {
        /// What its author calls it.
        title: String,
        /// How much is done.
        done: u64,
        /// Of how much.
        total: u64,
    },
}

/// `maintenance_event(kind, text, direction, one, other)`
pub(super) fn install<'s>(
    natives: &Natives<'s>,
    report: impl Fn(MaintenanceEvent) + 'static,
) -> Result<'s, ()> {
    natives.plain("maintenance_event", move |_, scope, call| {
        let kind = text(scope, call.argument(0), "the kind of event")?;
        let about = text(scope, call.argument(1), "what it is about")?;
        let direction = text(scope, call.argument(2), "the direction")?;
        let number = |index| {
            let number = call.argument(index).as_integer().unwrap_or_default();
            u64::try_from(number).unwrap_or_default()
        };
        report(match kind.as_str() {
            "began" => MaintenanceEvent::Began {
                name: about,
                direction,
                place: number(3),
                count: number(4),
            },
            "ended" => MaintenanceEvent::Ended {
                name: about,
                direction,
            },
            "skipped" => MaintenanceEvent::Skipped { name: about },
            "unwritten" => MaintenanceEvent::Unwritten { name: about },
            "left_out" => MaintenanceEvent::LeftOut { name: about },
            "statement" => MaintenanceEvent::Statement(about),
            _ => MaintenanceEvent::Progress {
                title: about,
                done: number(3),
                total: number(4),
            },
        });
        Ok(Value::nil())
    })
}
