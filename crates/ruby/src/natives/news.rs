//! What Ruby tells a command of the work on a schema while it goes on. Shows nothing.

use tsumugi_mruby::{Result, Value};

use super::{Natives, text};
use crate::maintenance::News;

/// `news(kind, text, direction, one, other)`
pub(super) fn install<'s>(natives: &Natives<'s>, hear: impl Fn(News) + 'static) -> Result<'s, ()> {
    natives.plain("news", move |_, scope, call| {
        let kind = text(scope, call.argument(0), "the kind of news")?;
        let about = text(scope, call.argument(1), "what it is about")?;
        let direction = text(scope, call.argument(2), "the direction")?;
        let number = |index| {
            let number = call.argument(index).as_integer().unwrap_or_default();
            u64::try_from(number).unwrap_or_default()
        };
        hear(match kind.as_str() {
            "began" => News::Began {
                name: about,
                direction,
                place: number(3),
                count: number(4),
            },
            "ended" => News::Ended {
                name: about,
                direction,
            },
            "skipped" => News::Skipped { name: about },
            "statement" => News::Statement(about),
            _ => News::Progress {
                title: about,
                done: number(3),
                total: number(4),
            },
        });
        Ok(Value::nil())
    })
}
