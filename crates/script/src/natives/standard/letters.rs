//! Sets of letters as `tr`, `count`, `delete` and `squeeze` write them (`a-z`, `^abc`, `\-`), and these methods over Unicode text. mruby's
//! own are of bytes and are called for ASCII alone. A set is expanded, its length has a limit.

use std::collections::{HashMap, HashSet};

use tsumugi_mruby::{Call, Result, Scope, Value};

use crate::limits::LETTERS_MAX;
use crate::natives::{Natives, text};

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.plain("string_tr", |_, scope, call| {
        let given = text(scope, call.argument(0), "the text")?;
        let from = listed(scope, call.argument(1))?;
        let to = listed(scope, call.argument(2))?;
        scope.string(translated(&given, &from, &to, call.argument(3).truthy()))
    })?;
    natives.plain("string_count", |_, scope, call| {
        let (given, sets) = sets(scope, call)?;
        let found = given.chars().filter(|&letter| in_all(&sets, letter));
        Ok(scope.integer(i64::try_from(found.count()).unwrap_or(i64::MAX)))
    })?;
    natives.plain("string_delete", |_, scope, call| {
        let (mut given, sets) = sets(scope, call)?;
        given.retain(|letter| !in_all(&sets, letter));
        scope.string(given)
    })?;
    natives.plain("string_squeeze", |_, scope, call| {
        let (mut given, sets) = sets(scope, call)?;
        let mut last = None;
        given.retain(|letter| {
            let again = last == Some(letter) && in_all(&sets, letter);
            last = Some(letter);
            !again
        });
        scope.string(given)
    })
}

/// A list of letters, or of those that it does not have.
struct Listed {
    negated: bool,
    letters: Vec<char>,
}

/// Letters that are in, or not in, a list.
struct Set {
    negated: bool,
    letters: HashSet<char>,
}

impl Set {
    fn has(&self, letter: char) -> bool {
        self.letters.contains(&letter) != self.negated
    }
}

fn in_all(sets: &[Set], letter: char) -> bool {
    sets.iter().all(|set| set.has(letter))
}

/// The text and the sets after it.
fn sets<'c>(scope: &'c Scope<'c>, call: &Call<'c>) -> Result<'c, (String, Vec<Set>)> {
    let given = text(scope, call.argument(0), "the text")?;
    let mut sets = Vec::new();
    for &described in call.arguments().iter().skip(1) {
        let Listed { negated, letters } = listed(scope, described)?;
        let letters = letters.into_iter().collect();
        sets.push(Set { negated, letters });
    }
    Ok((given, sets))
}

/// Reads a description of letters.
fn listed<'c>(scope: &'c Scope<'c>, described: Value<'c>) -> Result<'c, Listed> {
    let described = text(scope, described, "the letters")?;
    let inner = described.strip_prefix('^').filter(|rest| !rest.is_empty());
    let mut letters = Vec::new();
    let mut rest = inner.unwrap_or(&described).chars();
    while let Some(first) = escaped(&mut rest) {
        let mut ahead = rest.clone();
        let last = match ahead.next() {
            Some('-') => escaped(&mut ahead),
            _ => None,
        };
        let Some(last) = last else {
            letters.push(first);
            continue;
        };
        rest = ahead;
        if last < first {
            let message = format!("invalid range \"{first}-{last}\" in string transliteration");
            return Err(scope.error("ArgumentError", message));
        }
        letters.extend(first..=last);
        if letters.len() > LETTERS_MAX {
            let message = format!("the letters exceed letters_max ({LETTERS_MAX})");
            return Err(scope.error("ArgumentError", message));
        }
    }
    Ok(Listed {
        negated: inner.is_some(),
        letters,
    })
}

/// The next letter, or the one behind a backslash.
fn escaped(letters: &mut std::str::Chars<'_>) -> Option<char> {
    match letters.next() {
        Some('\\') => letters.next().or(Some('\\')),
        letter => letter,
    }
}

/// Every letter of `from` replaced by its counterpart. `once`: of equal ones in a row only the first is written.
fn translated(given: &str, from: &Listed, to: &Listed, once: bool) -> String {
    let last = to.letters.last().copied();
    let counterpart = |place: usize| to.letters.get(place).copied().or(last);
    let places: HashMap<char, usize> = (from.letters.iter().copied()).zip(0..).collect();
    let mut written = None;
    let mut out = String::with_capacity(given.len());
    for letter in given.chars() {
        let new = match (places.get(&letter), from.negated) {
            (Some(&place), false) => counterpart(place),
            (None, true) => last,
            _ => {
                written = None;
                out.push(letter);
                continue;
            }
        };
        if once && new.is_some() && new == written {
            continue;
        }
        written = new;
        out.extend(new);
    }
    out
}
