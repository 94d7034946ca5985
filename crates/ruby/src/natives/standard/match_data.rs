//! `MatchData`: what one match found, and the globals that show it. Nothing here matches.

use tsumugi_mruby::{Kind, Result, Scope, Value};

use super::pattern::{Classes, PatternMatch, character_at, group, whole};
use crate::host::Host;
use crate::natives::arguments::{data, wrong_type};
use crate::natives::definitions::Natives;

pub(super) fn install<'s>(natives: &Natives<'s>, class: Value<'s>) -> Result<'s, ()> {
    groups(natives, class)?;
    texts(natives, class)?;
    for (name, side) in [("begin", 0), ("end", 1)] {
        natives.uncounted_method(class, name, move |_, scope, call| {
            let matched = match_of(scope, call.this)?;
            let number = number(scope, matched, call.argument(0))?;
            Ok(position(scope, matched, number, side))
        })?;
    }
    natives.uncounted_method(class, "offset", |_, scope, call| {
        let matched = match_of(scope, call.this)?;
        let number = number(scope, matched, call.argument(0))?;
        scope.array_of(&[0, 1].map(|side| position(scope, matched, number, side)))
    })
}

fn groups<'s>(natives: &Natives<'s>, class: Value<'s>) -> Result<'s, ()> {
    natives.uncounted_method(class, "__at", |_, scope, call| {
        let matched = match_of(scope, call.this)?;
        let given = call.argument(0);
        if let Some(number) = given.as_integer() {
            let number = if number < 0 {
                number + matched.spans.len() as i64
            } else {
                number
            };
            return match usize::try_from(number) {
                Ok(number) => group(scope, matched, number),
                Err(_) => Ok(Value::nil()),
            };
        }
        let number = number(scope, matched, given)?;
        group(scope, matched, number)
    })?;
    for (name, first) in [("to_a", 0), ("captures", 1)] {
        natives.uncounted_method(class, name, move |_, scope, call| {
            let matched = match_of(scope, call.this)?;
            let groups = first..matched.spans.len();
            scope.list(groups.map(|i| group(scope, matched, i)))
        })?;
    }
    natives.uncounted_method(class, "named_captures", |_, scope, call| {
        let matched = match_of(scope, call.this)?;
        let hash = scope.hash(matched.pattern.names.len())?;
        for (name, number) in &matched.pattern.names {
            let value = group(scope, matched, *number)?;
            let key = scope.string(name.as_bytes())?;
            // Of several groups of a name the last that took part counts.
            if !value.is_nil() || scope.hash_fetch(hash, key)?.is_nil() {
                scope.hash_set(hash, key, value)?;
            }
        }
        Ok(hash)
    })?;
    natives.uncounted_method(class, "size", |_, scope, call| {
        let matched = match_of(scope, call.this)?;
        Ok(scope.integer(matched.spans.len() as i64))
    })
}

fn texts<'s>(natives: &Natives<'s>, class: Value<'s>) -> Result<'s, ()> {
    natives.uncounted_method(class, "to_s", |_, scope, call| {
        group(scope, match_of(scope, call.this)?, 0)
    })?;
    natives.uncounted_method(class, "string", |_, scope, call| {
        scope.string(match_of(scope, call.this)?.text.as_bytes())
    })?;
    natives.uncounted_method(class, "pre_match", |_, scope, call| {
        let matched = match_of(scope, call.this)?;
        let (start, _) = whole(matched);
        scope.string(matched.text.get(..start).unwrap_or_default())
    })?;
    natives.uncounted_method(class, "post_match", |_, scope, call| {
        let matched = match_of(scope, call.this)?;
        let (_, end) = whole(matched);
        scope.string(matched.text.get(end..).unwrap_or_default())
    })?;
    natives.uncounted_method(class, "__pattern", |_, scope, call| {
        let matched = match_of(scope, call.this)?;
        scope.array_of(&[
            scope.string(matched.pattern.engine.source.as_bytes())?,
            scope.integer(matched.pattern.engine.options.into()),
        ])
    })
}

pub(super) fn match_of<'s>(scope: &'s Scope<'s>, value: Value<'s>) -> Result<'s, &'s PatternMatch> {
    data(scope, value, "the match", "a MatchData")
}

/// Makes the MatchData (or nil) and the globals that show it.
pub(super) fn publish<'s>(
    host: &Host,
    scope: &'s Scope<'s>,
    classes: &Classes,
    matched: Option<PatternMatch>,
) -> Result<'s, Value<'s>> {
    let value = match matched {
        Some(matched) => scope.wrap(scope.rooted(&classes.match_data), matched)?,
        None => Value::nil(),
    };
    host.last_match.set(scope, host.job.number(), value)?;
    Ok(value)
}

/// The number of a group given by number or name; of several of a name the last that took part.
fn number<'s>(scope: &'s Scope<'s>, matched: &PatternMatch, given: Value<'s>) -> Result<'s, usize> {
    if let Some(number) = given.as_integer() {
        return usize::try_from(number)
            .ok()
            .filter(|number| *number < matched.spans.len())
            .ok_or_else(|| scope.error("IndexError", format!("index {number} out of matches")));
    }
    if !matches!(given.kind(), Kind::String | Kind::Symbol) {
        return Err(wrong_type(
            scope,
            given,
            "a group",
            "an Integer, a String or a Symbol",
        ));
    }
    let name = scope.text(given).unwrap_or_default();
    let named = matched
        .pattern
        .names
        .iter()
        .filter(|(own, _)| **own == *name);
    let took_part = |number: &usize| matched.spans.get(*number).copied().flatten().is_some();
    let numbers: Vec<usize> = named.map(|(_, number)| *number).collect();
    let found = numbers.iter().rev().find(|number| took_part(number));
    found.or(numbers.last()).copied().ok_or_else(|| {
        scope.error(
            "IndexError",
            format!("undefined group name reference: {name}"),
        )
    })
}

fn position<'s>(
    scope: &'s Scope<'s>,
    matched: &PatternMatch,
    number: usize,
    side: usize,
) -> Value<'s> {
    match matched.spans.get(number).copied().flatten() {
        Some((start, end)) => {
            let byte = if side == 0 { start } else { end };
            scope.integer(character_at(&matched.text, byte))
        }
        None => Value::nil(),
    }
}
