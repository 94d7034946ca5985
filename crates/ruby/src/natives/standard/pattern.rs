//! Patterns and what they find in a text. Knows no class of Ruby's but by name, and no globals.
//! Patterns work on UTF-8; positions are bytes here and characters in Ruby.

use std::rc::Rc;

use tsumugi_mruby::{Raise, Result, Root, Scope, Value};

use super::pattern_engine::{PatternEngine, SearchEnd, Spans};
use crate::natives::arguments::{data, wrong_type};

/// A compiled pattern.
pub(crate) struct Pattern {
    pub engine: PatternEngine,
    /// Group names and numbers, in the order of the groups.
    pub names: Vec<(Box<str>, usize)>,
}

/// One match of a pattern in a text.
pub(crate) struct PatternMatch {
    pub pattern: Rc<Pattern>,
    pub text: Rc<str>,
    pub spans: Spans,
}

/// The classes and what natives of both share.
#[derive(Clone)]
pub(super) struct Classes {
    pub regexp: Rc<Root>,
    pub match_data: Rc<Root>,
}

/// The pattern of a Regexp.
pub(super) fn pattern<'s>(scope: &'s Scope<'s>, value: Value<'s>) -> Result<'s, &'s Rc<Pattern>> {
    data(scope, value, "the pattern", "a Regexp")
}

/// A String's text.
pub(super) fn utf8<'s>(scope: &'s Scope<'s>, value: Value<'s>) -> Result<'s, Rc<str>> {
    let text = scope.with_bytes(value, |bytes| std::str::from_utf8(bytes).map(Rc::from));
    match text {
        Some(Ok(text)) => Ok(text),
        Some(Err(_)) => Err(not_utf8(scope)),
        None => Err(wrong_type(scope, value, "what is matched", "a String")),
    }
}

/// For a String that is not UTF-8.
pub(super) fn not_utf8<'s>(scope: &'s Scope<'s>) -> Raise<'s> {
    scope.error("ArgumentError", "invalid byte sequence in UTF-8")
}

/// What the engine gave up on.
pub(super) fn gave_up<'s>(scope: &'s Scope<'s>, error: &fancy_regex::Error) -> Raise<'s> {
    scope.error(
        "Regexp::TimeoutError",
        format!("the match takes too long ({error}): simplify the pattern, or raise regexp_backtracks_max"),
    )
}

/// Byte position of a character; negative counts from the end. `None` when it is outside.
pub(super) fn byte_at(text: &str, position: i64) -> Option<usize> {
    let position = if position < 0 {
        position + text.chars().count() as i64
    } else {
        position
    };
    let position = usize::try_from(position).ok()?;
    match text.char_indices().nth(position) {
        Some((byte, _)) => Some(byte),
        None => (text.chars().count() == position).then_some(text.len()),
    }
}

/// Character position of a byte.
pub(super) fn character_at(text: &str, byte: usize) -> i64 {
    text.get(..byte).unwrap_or(text).chars().count() as i64
}

/// The first match at or after a byte. The watchdog can end a long search.
pub(super) fn find<'s>(
    scope: &'s Scope<'s>,
    pattern: &Rc<Pattern>,
    text: &Rc<str>,
    from: usize,
) -> Result<'s, Option<PatternMatch>> {
    scope.check_interrupt()?; // a text may have millions of matches
    let found = pattern
        .engine
        .search(text, from, || scope.check_interrupt());
    let found = found.map_err(|end| match end {
        SearchEnd::GaveUp(error) => gave_up(scope, &error),
        SearchEnd::Stopped(raised) => raised,
    })?;
    Ok(found.map(|spans| PatternMatch {
        pattern: Rc::clone(pattern),
        text: Rc::clone(text),
        spans,
    }))
}

/// Where the search goes on after a match: an empty one does not match again at its place.
pub(super) fn after(text: &str, span: (usize, usize)) -> usize {
    if span.1 > span.0 {
        return span.1;
    }
    let next = text.get(span.1..).and_then(|rest| rest.chars().next());
    span.1 + next.map_or(1, char::len_utf8)
}

/// The text of a group, or nil.
pub(crate) fn group<'s>(
    scope: &'s Scope<'_>,
    matched: &PatternMatch,
    number: usize,
) -> Result<'s, Value<'s>> {
    let span = matched.spans.get(number).copied().flatten();
    scope.string_or_nil(span.and_then(|(start, end)| matched.text.get(start..end)))
}

/// The bytes of the whole match.
pub(super) fn whole(matched: &PatternMatch) -> (usize, usize) {
    matched.spans.first().copied().flatten().unwrap_or_default()
}
