//! `Regexp` and `MatchData`: compiling (cached), matching, and the loops that call no block. Blocks are the prelude's.
//! Patterns work on UTF-8; positions are bytes here and characters in Ruby.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use tsumugi_mruby::{Kind, Result, Root, Scope, Value};

use super::match_data::{self, publish};
use super::pattern::{
    Classes, Pattern, PatternMatch, byte_at, character_at, find, gave_up, not_utf8, pattern, utf8,
    whole,
};
use super::pattern_engine::{EXTENDED, IGNORECASE, MULTILINE, PatternEngine};
use super::substitution;
use crate::host::Host;
use crate::limits::Limits;
use crate::natives::arguments::{text, wrong_type};
use crate::natives::definitions::Natives;

/// Patterns by options and source, each the Ruby object that a literal evaluates to.
#[derive(Default)]
pub(super) struct Cache {
    kept: HashMap<Vec<u8>, (Root, u64)>,
    key: Vec<u8>,
    uses: u64,
}

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    let scope = natives.scope();
    let regexp = scope.define_class(Value::nil(), "Regexp", scope.object_class())?;
    scope.carries_data(regexp);
    let match_data = scope.define_class(Value::nil(), "MatchData", scope.object_class())?;
    scope.carries_data(match_data);
    let classes = Classes {
        regexp: Rc::new(scope.root(regexp)?),
        match_data: Rc::new(scope.root(match_data)?),
    };
    compiling(natives, regexp, &classes)?;
    asking(natives, regexp)?;
    matching(natives, regexp, &classes)?;
    match_data::install(natives, match_data)?;
    substitution::install(natives, regexp, &classes)
}

fn compiling<'s>(natives: &Natives<'s>, class: Value<'s>, classes: &Classes) -> Result<'s, ()> {
    let cache = Rc::new(RefCell::new(Cache::default()));
    for name in ["compile", "new"] {
        let (cache, classes) = (Rc::clone(&cache), classes.clone());
        natives
            .within(class)
            .plain(name, move |host, scope, call| {
                let (given, options) = (call.argument(0), call.argument(1));
                if scope.data::<Rc<Pattern>>(given).is_some() {
                    return Ok(given);
                }
                let options = options_of(scope, options)?;
                compile_cached(host, scope, &cache, &classes, given, options)
            })?;
    }
    // A block's turn: the globals show its match.
    natives.plain("regexp_show", |host, scope, call| {
        host.last_match
            .set(scope, host.job.number(), call.argument(0))?;
        Ok(Value::nil())
    })?;
    // The text between two matches of one walk; nil stands for the beginning.
    natives.plain("regexp_between", |_, scope, call| {
        let from = match scope.data::<PatternMatch>(call.argument(0)) {
            Some(matched) => whole(matched).1,
            None => 0,
        };
        let matched = match_data::match_of(scope, call.argument(1))?;
        let until = whole(matched).0;
        scope.string(matched.text.get(from..until).unwrap_or_default())
    })?;
    natives.plain("regexp_escape", |_, scope, call| {
        let given = call.argument(0);
        scope.string(escape(&text(scope, given, "what is escaped")?))
    })
}

fn options_of<'s>(scope: &'s Scope<'s>, options: Value<'s>) -> Result<'s, u8> {
    let letters = match options.kind() {
        Kind::Nil | Kind::False => return Ok(0),
        Kind::Integer => return Ok((options.as_integer().unwrap_or(0) & 7) as u8),
        Kind::String => scope.text(options).unwrap_or_default(),
        _ => return Ok(IGNORECASE),
    };
    letters.chars().try_fold(0, |options, letter| match letter {
        'i' => Ok(options | IGNORECASE),
        'x' => Ok(options | EXTENDED),
        'm' => Ok(options | MULTILINE),
        'u' | 'n' | 'o' => Ok(options),
        _ => Err(scope.error("ArgumentError", format!("unknown regexp option: {letters}"))),
    })
}

fn compile_cached<'s>(
    host: &Host,
    scope: &'s Scope<'s>,
    cache: &RefCell<Cache>,
    classes: &Classes,
    source: Value<'s>,
    options: u8,
) -> Result<'s, Value<'s>> {
    let cache = &mut *cache.borrow_mut();
    let read = scope.with_bytes(source, |bytes| {
        cache.key.clear();
        cache.key.push(options);
        cache.key.extend_from_slice(bytes);
    });
    read.ok_or_else(|| wrong_type(scope, source, "a pattern", "a String or a Regexp"))?;
    cache.uses += 1;
    if let Some((kept, used)) = cache.kept.get_mut(&cache.key) {
        *used = cache.uses;
        return Ok(scope.rooted(kept));
    }
    let Some(source) = cache.key.get(1..).and_then(|s| std::str::from_utf8(s).ok()) else {
        return Err(scope.error("RegexpError", "the pattern is not UTF-8"));
    };
    let pattern = compile(source, options, &host.settings.limits)
        .map_err(|error| scope.error("RegexpError", format!("{error}: /{source}/")))?;
    let made = scope.wrap(scope.rooted(&classes.regexp), Rc::new(pattern))?;
    if cache.kept.len() >= host.settings.limits.regexps_max {
        let oldest = cache.kept.iter().min_by_key(|(_, (_, used))| *used);
        if let Some(key) = oldest.map(|(key, _)| key.clone()) {
            cache.kept.remove(&key);
        }
    }
    let kept = scope.root(made)?;
    cache.kept.insert(cache.key.clone(), (kept, cache.uses));
    Ok(made)
}

fn compile(source: &str, options: u8, limits: &Limits) -> std::result::Result<Pattern, String> {
    let engine = PatternEngine::compile(source, options, limits)?;
    let names = engine.whole().capture_names().enumerate();
    let names = names
        .filter_map(|(i, name)| Some((Box::from(name?), i)))
        .collect();
    Ok(Pattern { engine, names })
}

/// `text` as a pattern that matches it alone.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for char in text.chars() {
        match char {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            '\u{c}' => out.push_str("\\f"),
            '\u{b}' => out.push_str("\\v"),
            ' ' | '[' | ']' | '{' | '}' | '(' | ')' | '|' | '-' | '*' | '.' | '\\' | '?' | '+'
            | '^' | '$' | '#' => {
                out.push('\\');
                out.push(char);
            }
            _ => out.push(char),
        }
    }
    out
}

fn asking<'s>(natives: &Natives<'s>, class: Value<'s>) -> Result<'s, ()> {
    natives.uncounted_method(class, "source", |_, scope, call| {
        scope.string(pattern(scope, call.this)?.engine.source.as_bytes())
    })?;
    natives.uncounted_method(class, "options", |_, scope, call| {
        Ok(scope.integer(pattern(scope, call.this)?.engine.options.into()))
    })?;
    natives.uncounted_method(class, "to_s", |_, scope, call| {
        let engine = &pattern(scope, call.this)?.engine;
        let on = letters(engine.options);
        let off = letters(!engine.options);
        let dash = if off.is_empty() { "" } else { "-" };
        scope.string(format!("(?{on}{dash}{off}:{})", engine.source))
    })?;
    natives.uncounted_method(class, "inspect", |_, scope, call| {
        let engine = &pattern(scope, call.this)?.engine;
        let source = slashes(&engine.source);
        scope.string(format!("/{source}/{}", letters(engine.options)))
    })?;
    natives.uncounted_method(class, "names", |_, scope, call| {
        let names = scope.array(0)?;
        let mut last: Vec<&str> = Vec::new();
        for (name, _) in &pattern(scope, call.this)?.names {
            if !last.contains(&name.as_ref()) {
                scope.push(names, scope.string(name.as_bytes())?)?;
                last.push(name);
            }
        }
        Ok(names)
    })?;
    natives.uncounted_method(class, "named_captures", |_, scope, call| {
        let hash = scope.hash(0)?;
        for (name, group) in &pattern(scope, call.this)?.names {
            let key = scope.string(name.as_bytes())?;
            let mut numbers = scope.hash_fetch(hash, key)?;
            if numbers.is_nil() {
                numbers = scope.array(1)?;
                scope.hash_set(hash, key, numbers)?;
            }
            scope.push(numbers, scope.integer(*group as i64))?;
        }
        Ok(hash)
    })
}

fn letters(options: u8) -> String {
    [(MULTILINE, 'm'), (IGNORECASE, 'i'), (EXTENDED, 'x')]
        .iter()
        .filter(|(bit, _)| options & bit != 0)
        .map(|(_, letter)| *letter)
        .collect()
}

/// A source with its bare slashes escaped.
fn slashes(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut escaped = false;
    for char in source.chars() {
        if char == '/' && !escaped {
            out.push('\\');
        }
        escaped = char == '\\' && !escaped;
        if char == '\n' {
            out.push_str("\\n");
        } else {
            out.push(char);
        }
    }
    out
}

/// The first match at or after a character of a text. nil is none, a Symbol is its name.
fn find_from<'s>(
    scope: &'s Scope<'s>,
    pattern: &Rc<Pattern>,
    given: Value<'s>,
    from: i64,
) -> Result<'s, Option<PatternMatch>> {
    let text = match given.kind() {
        Kind::Nil => return Ok(None),
        Kind::Symbol => scope.text(given).unwrap_or_default().into(),
        _ => utf8(scope, given)?,
    };
    match byte_at(&text, from) {
        Some(from) => find(scope, pattern, &text, from),
        None => Ok(None),
    }
}

fn matching<'s>(natives: &Natives<'s>, class: Value<'s>, classes: &Classes) -> Result<'s, ()> {
    let own = classes.clone();
    natives.uncounted_method(class, "match?", |_, scope, call| {
        let pattern = pattern(scope, call.this)?;
        let given = call.argument(0);
        let from = call.argument(1).as_integer().unwrap_or(0);
        if from == 0 && given.kind() == Kind::String {
            let found = scope.with_bytes(given, |bytes| {
                std::str::from_utf8(bytes).map(|text| pattern.engine.is_match_at_once(text))
            });
            match found {
                Some(Ok(Some(Ok(found)))) => return Ok(Value::boolean(found)),
                Some(Ok(Some(Err(error)))) => return Err(gave_up(scope, &error)),
                Some(Ok(None)) => {}
                _ => return Err(not_utf8(scope)),
            }
        }
        let found = find_from(scope, pattern, given, from)?;
        Ok(Value::boolean(found.is_some()))
    })?;
    natives.uncounted_method(class, "__match", move |host, scope, call| {
        let pattern = pattern(scope, call.this)?;
        let from = call.argument(1).as_integer().unwrap_or(0);
        let matched = find_from(scope, pattern, call.argument(0), from)?;
        publish(host, scope, &own, matched)
    })?;
    let own = classes.clone();
    natives.uncounted_method(class, "=~", move |host, scope, call| {
        let pattern = pattern(scope, call.this)?;
        let matched = find_from(scope, pattern, call.argument(0), 0)?;
        let at = matched.as_ref().and_then(|matched| {
            let (start, _) = matched.spans.first().copied().flatten()?;
            Some(character_at(&matched.text, start))
        });
        publish(host, scope, &own, matched)?;
        Ok(at.map_or_else(Value::nil, |at| scope.integer(at)))
    })?;
    let own = classes.clone();
    natives.uncounted_method(class, "===", move |host, scope, call| {
        let pattern = pattern(scope, call.this)?;
        let given = call.argument(0);
        let matched = match given.kind() {
            Kind::String | Kind::Symbol => find_from(scope, pattern, given, 0)?,
            _ => None,
        };
        let found = matched.is_some();
        publish(host, scope, &own, matched)?;
        Ok(Value::boolean(found))
    })
}
