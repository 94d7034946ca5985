//! What strings do with a pattern without a block: scan, split, sub and gsub with a text, index and rindex; and all matches
//! at once, for the prelude's loops with blocks.

use std::rc::Rc;

use tsumugi_mruby::{Result, Scope, Value};

use super::match_data::publish;
use super::pattern::{
    Classes, Pattern, PatternMatch, after, byte_at, character_at, find, group, pattern, utf8, whole,
};
use crate::limits::{REPLACEMENT_PARTS_MAX, STRING_BYTES_MAX};
use crate::natives::arguments::too_long;
use crate::natives::definitions::Natives;

pub(super) fn install<'s>(
    natives: &Natives<'s>,
    class: Value<'s>,
    classes: &Classes,
) -> Result<'s, ()> {
    every(natives, class, classes)?;
    let own = classes.clone();
    natives.uncounted_method(class, "__sub", move |host, scope, call| {
        let pattern = pattern(scope, call.this)?;
        let text = utf8(scope, call.argument(0))?;
        let replacement = utf8(scope, call.argument(1))?;
        let pieces = template(&replacement);
        if pieces.len() > REPLACEMENT_PARTS_MAX {
            let message = format!(
                "the replacement has more than replacement_parts_max ({REPLACEMENT_PARTS_MAX}) parts"
            );
            return Err(scope.error("ArgumentError", message));
        }
        let mut out = String::with_capacity(text.len());
        let mut copied = 0;
        let mut last = None;
        walk(scope, pattern, &text, |matched| {
            let (start, end) = whole(&matched);
            out.push_str(text.get(copied..start).unwrap_or_default());
            if !fill(&pieces, &matched, &mut out) {
                return Err(too_long(scope));
            }
            copied = end;
            last = Some(matched);
            Ok(call.argument(2).truthy())
        })?;
        let found = last.is_some();
        publish(host, scope, &own, last)?;
        if !found {
            return Ok(Value::nil());
        }
        out.push_str(text.get(copied..).unwrap_or_default());
        scope.string(out)
    })?;
    natives.uncounted_method(class, "__split", |_, scope, call| {
        let limit = call.argument(1).as_integer().unwrap_or(0);
        split(
            scope,
            pattern(scope, call.this)?,
            &utf8(scope, call.argument(0))?,
            limit,
        )
    })?;
    let own = classes.clone();
    natives.uncounted_method(class, "__rindex", move |host, scope, call| {
        let pattern = pattern(scope, call.this)?;
        let text = utf8(scope, call.argument(0))?;
        let from = call.argument(1).as_integer().unwrap_or(i64::MAX);
        let Some(from) = (if from == i64::MAX {
            Some(text.len())
        } else {
            byte_at(&text, from).or((from > 0).then_some(text.len()))
        }) else {
            return Ok(Value::nil());
        };
        let matched = last_before(scope, pattern, &text, from)?;
        let at = matched
            .as_ref()
            .map(|matched| character_at(&text, whole(matched).0));
        publish(host, scope, &own, matched)?;
        Ok(at.map_or_else(Value::nil, |at| scope.integer(at)))
    })
}

/// All matches, as MatchData or as what `scan` answers.
fn every<'s>(natives: &Natives<'s>, class: Value<'s>, classes: &Classes) -> Result<'s, ()> {
    let own = classes.clone();
    natives.uncounted_method(class, "__matches", move |_, scope, call| {
        let array = scope.array(4)?;
        let class = scope.rooted(&own.match_data);
        let text = utf8(scope, call.argument(0))?;
        walk(scope, pattern(scope, call.this)?, &text, |matched| {
            let pushed = scope
                .wrap(class, matched)
                .and_then(|value| scope.push(array, value));
            pushed.map(|()| call.argument(1).is_nil())
        })?;
        Ok(array)
    })?;
    let own = classes.clone();
    natives.uncounted_method(class, "__scan", move |host, scope, call| {
        let array = scope.array(4)?;
        let text = utf8(scope, call.argument(0))?;
        let mut last = None;
        walk(scope, pattern(scope, call.this)?, &text, |matched| {
            scope.push(array, scan_result(scope, &matched)?)?;
            last = Some(matched);
            Ok(true)
        })?;
        publish(host, scope, &own, last)?;
        Ok(array)
    })
}

/// The whole match, or its groups when there are any.
fn scan_result<'s>(scope: &'s Scope<'s>, matched: &PatternMatch) -> Result<'s, Value<'s>> {
    if matched.spans.len() <= 1 {
        return group(scope, matched, 0);
    }
    let groups = 1..matched.spans.len();
    scope.list(groups.map(|i| group(scope, matched, i)))
}

/// Calls `each` for every match until it answers false.
fn walk<'s>(
    scope: &'s Scope<'s>,
    pattern: &Rc<Pattern>,
    text: &Rc<str>,
    mut each: impl FnMut(PatternMatch) -> Result<'s, bool>,
) -> Result<'s, ()> {
    let mut from = 0;
    while from <= text.len() {
        let Some(matched) = find(scope, pattern, text, from)? else {
            break;
        };
        from = after(text, whole(&matched));
        if !each(matched)? {
            break;
        }
    }
    Ok(())
}

/// The match that begins last, at or before a byte. A text without one is searched in tails, each twice as long as the one before, so
/// that it is read twice in all; the matches of the first tail that has any are gone through.
fn last_before<'s>(
    scope: &'s Scope<'s>,
    pattern: &Rc<Pattern>,
    text: &Rc<str>,
    from: usize,
) -> Result<'s, Option<PatternMatch>> {
    let at_or_before = |matched: &PatternMatch| whole(matched).0 <= from;
    let mut start = from;
    let mut width = 1;
    loop {
        let mut last = find(scope, pattern, text, start)?.filter(at_or_before);
        while let Some(matched) = &last {
            let (begin, _) = whole(matched);
            let next = after(text, (begin, begin));
            let later = (next <= from)
                .then(|| find(scope, pattern, text, next))
                .transpose()?;
            match later.flatten().filter(at_or_before) {
                Some(later) => last = Some(later),
                None => return Ok(last),
            }
        }
        if start == 0 {
            return Ok(None);
        }
        start = text.floor_char_boundary(from.saturating_sub(width));
        width *= 2;
    }
}

/// The parts between matches, with the groups of each match; without a limit, empty parts at the end go.
fn split<'s>(
    scope: &'s Scope<'s>,
    pattern: &Rc<Pattern>,
    text: &Rc<str>,
    limit: i64,
) -> Result<'s, Value<'s>> {
    let mut parts = match limit {
        _ if text.is_empty() => Vec::new(),
        1 => vec![(0, text.len())],
        _ => parts(scope, pattern, text, limit)?,
    };
    if limit == 0 {
        while parts.last().is_some_and(|(start, end)| start == end) {
            parts.pop();
        }
    }
    let parts = parts.into_iter();
    scope.strings(parts.map(|(start, end)| text.get(start..end).unwrap_or_default()))
}

fn parts<'s>(
    scope: &'s Scope<'s>,
    pattern: &Rc<Pattern>,
    text: &Rc<str>,
    limit: i64,
) -> Result<'s, Vec<(usize, usize)>> {
    let mut parts = Vec::new();
    let (mut begin, mut from, mut count) = (0, 0, 1);
    let mut was_empty = false;
    while from <= text.len() {
        let Some(matched) = find(scope, pattern, text, from)? else {
            break;
        };
        let (start, end) = whole(&matched);
        if start == from && start == end {
            if !was_empty {
                // An empty match at the very place splits only after the next character.
                from = after(text, (from, from));
                was_empty = true;
                continue;
            }
            parts.push((begin, after(text, (begin, begin)).min(text.len())));
            begin = from;
        } else {
            parts.push((begin, start));
            begin = end;
            from = end;
        }
        was_empty = false;
        parts.extend(matched.spans.iter().skip(1).copied().flatten());
        count += 1;
        if limit > 0 && limit <= count {
            break;
        }
    }
    if limit != 0 || begin < text.len() {
        parts.push((begin.min(text.len()), text.len()));
    }
    Ok(parts)
}

/// A piece of a replacement.
enum Piece {
    Text(String),
    Group(usize),
    Named(String),
    Before,
    After,
    LastGroup,
}

/// Reads `\1`, `\0`, `\&`, `\k<name>`, `` \` ``, `\'`, `\+` and `\\`. Ends at the first piece beyond the limit.
fn template(replacement: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut text = String::new();
    let mut rest = replacement.chars();
    while pieces.len() <= REPLACEMENT_PARTS_MAX
        && let Some(char) = rest.next()
    {
        if char != '\\' {
            text.push(char);
            continue;
        }
        let ahead = rest.clone();
        let piece = match rest.next() {
            Some(digit @ '0'..='9') => Piece::Group(digit as usize - '0' as usize),
            Some('&') => Piece::Group(0),
            Some('`') => Piece::Before,
            Some('\'') => Piece::After,
            Some('+') => Piece::LastGroup,
            Some('k') if ahead.as_str().starts_with("k<") && ahead.as_str().contains('>') => {
                rest.next();
                Piece::Named(rest.by_ref().take_while(|char| *char != '>').collect())
            }
            Some('\\') | None => {
                text.push('\\');
                continue;
            }
            Some(other) => {
                text.extend(['\\', other]);
                continue;
            }
        };
        if !text.is_empty() {
            pieces.push(Piece::Text(std::mem::take(&mut text)));
        }
        pieces.push(piece);
    }
    if !text.is_empty() {
        pieces.push(Piece::Text(text));
    }
    pieces
}

/// Is the text still no longer than its limit? One match may write the whole text many times.
fn fill(pieces: &[Piece], matched: &PatternMatch, out: &mut String) -> bool {
    let part = |number: usize| {
        let span = matched.spans.get(number).copied().flatten();
        span.and_then(|(start, end)| matched.text.get(start..end))
            .unwrap_or_default()
    };
    let (start, end) = whole(matched);
    for piece in pieces {
        let written = match piece {
            Piece::Text(text) => text,
            Piece::Group(number) => part(*number),
            Piece::Named(name) => {
                let own = matched.pattern.names.iter().rev();
                own.clone()
                    .find(|(own, _)| **own == **name)
                    .map_or("", |(_, number)| part(*number))
            }
            Piece::Before => matched.text.get(..start).unwrap_or_default(),
            Piece::After => matched.text.get(end..).unwrap_or_default(),
            Piece::LastGroup => (1..matched.spans.len())
                .rev()
                .find(|i| matched.spans.get(*i).copied().flatten().is_some())
                .map_or("", part),
        };
        if out.len() + written.len() > STRING_BYTES_MAX {
            return false;
        }
        out.push_str(written);
    }
    out.len() <= STRING_BYTES_MAX
}
