//! `tr`, `count`, `delete` and `squeeze` of String: sets of characters such as `a-z` and `^\-0-9`.
//! Rule: time by the length of the text and of the sets, not by their product, and where it is long it can be interrupted.

use std::collections::BinaryHeap;

use tsumugi_mruby::{NativeCall, Result, Scope, Value};

use crate::limits::{CHARACTER_SET_PARTS_MAX, STRING_BYTES_MAX};
use crate::natives::arguments::{bytes, too_long};
use crate::natives::definitions::Natives;

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    // The text, the set, what replaces it, whether runs of one replacement become one; nil when nothing changed.
    natives.plain("string_tr", |_, scope, call| {
        let from = bytes(scope, call.argument(1), "the text")?;
        let to = bytes(scope, call.argument(2), "the text")?;
        let set = Set::read(scope, &from)?;
        let to = Replacement::read(scope, &to)?;
        let once = call.argument(3).truthy();
        let mut last = None;
        edit(scope, call.argument(0), |letter, out| {
            let Some(place) = set.place(letter) else {
                last = None;
                return letter.write(out);
            };
            let replacement = to.at(place);
            if let Some(replacement) = replacement
                && !(once && last == Some(replacement))
            {
                replacement.write(out);
            }
            last = replacement.or(last);
        })
    })?;
    // The text, the sets that a character is in all of.
    natives.plain("string_delete", |_, scope, call| {
        let sets = sets(scope, call)?;
        edit(scope, call.argument(0), |letter, out| {
            if !sets.iter().all(|set| set.has(letter)) {
                letter.write(out);
            }
        })
    })?;
    natives.plain("string_squeeze", |_, scope, call| {
        let sets = sets(scope, call)?;
        let mut last = None;
        edit(scope, call.argument(0), |letter, out| {
            if last != Some(letter) || !sets.iter().all(|set| set.has(letter)) {
                letter.write(out);
            }
            last = Some(letter);
        })
    })?;
    natives.plain("string_count", |_, scope, call| {
        let sets = sets(scope, call)?;
        let text = bytes(scope, call.argument(0), "the text")?;
        let mut count = 0;
        each(scope, &text, |letter| {
            count += i64::from(sets.iter().all(|set| set.has(letter)));
            Ok(())
        })?;
        Ok(scope.integer(count))
    })
}

/// A character by its number, surrogates not counted; or a byte that is part of none, numbered behind the last character.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Letter(u32);

const SURROGATES: std::ops::Range<u32> = 0xd800..0xe000;
const CHARACTERS: u32 = char::MAX as u32 + 1 - (SURROGATES.end - SURROGATES.start);
/// Letters between two looks at whether the worker's watchdog wants an end.
const LETTERS_AT_ONCE: usize = 64 << 10;

impl Letter {
    fn of_byte(byte: u8) -> Letter {
        Letter(CHARACTERS + u32::from(byte))
    }

    fn character(self) -> Option<char> {
        let behind = self.0 >= SURROGATES.start;
        let code = match behind {
            true => self.0 + (SURROGATES.end - SURROGATES.start),
            false => self.0,
        };
        char::from_u32(code)
    }

    fn write(self, out: &mut Vec<u8>) {
        match self.character() {
            Some(character) => {
                let mut buffer = [0; 4];
                out.extend_from_slice(character.encode_utf8(&mut buffer).as_bytes());
            }
            None => out.push((self.0 - CHARACTERS) as u8),
        }
    }

    fn is_ascii(self) -> bool {
        self.0 < 0x80
    }
}

impl From<char> for Letter {
    fn from(character: char) -> Letter {
        let code = u32::from(character);
        match code >= SURROGATES.end {
            true => Letter(code - (SURROGATES.end - SURROGATES.start)),
            false => Letter(code),
        }
    }
}

fn letters(text: &[u8]) -> impl Iterator<Item = Letter> + Clone {
    text.utf8_chunks().flat_map(|chunk| {
        let valid = chunk.valid().chars().map(Letter::from);
        valid.chain(chunk.invalid().iter().copied().map(Letter::of_byte))
    })
}

/// Characters from one to another, as they stand in a set.
#[derive(Clone, Copy)]
struct Span {
    first: Letter,
    last: Letter,
    /// Characters of the set before it.
    before: u64,
}

/// The spans of a set, and whether `^` stands before it.
fn spans<'s>(scope: &'s Scope<'s>, set: &[u8], negates: Negates) -> Result<'s, (Vec<Span>, bool)> {
    let mut rest = letters(set).peekable();
    let negated = negates == Negates::Yes && set.len() > 1 && set.first() == Some(&b'^');
    if negated {
        rest.next();
    }
    let mut spans = Vec::new();
    let mut before = 0;
    while let Some(mut first) = rest.next() {
        if first == Letter::from('\\') {
            first = rest.next().unwrap_or(first);
        }
        let mut last = first;
        let mut ahead = rest.clone();
        if ahead.next() == Some(Letter::from('-'))
            && let Some(end) = ahead.next()
        {
            rest = ahead;
            last = end;
        }
        if first > last {
            return Err(invalid(scope, first, last));
        }
        spans.push(Span {
            first,
            last,
            before,
        });
        before += u64::from(last.0 - first.0) + 1;
        if spans.len() > CHARACTER_SET_PARTS_MAX {
            let message = format!(
                "a set of characters has more than character_set_parts_max ({CHARACTER_SET_PARTS_MAX})"
            );
            return Err(scope.error("ArgumentError", message));
        }
    }
    Ok((spans, negated))
}

fn invalid<'s>(scope: &'s Scope<'s>, first: Letter, last: Letter) -> tsumugi_mruby::Raise<'s> {
    let message = match (first.character(), last.character()) {
        (Some(first), Some(last)) if first.is_ascii() && last.is_ascii() => {
            format!("invalid range \"{first}-{last}\" in string transliteration")
        }
        _ => "invalid range in string transliteration".to_owned(),
    };
    scope.error("ArgumentError", message)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Negates {
    Yes,
    No,
}

/// Which characters are in a set, and where.
struct Set {
    /// Apart from each other, in their order; where spans overlap, the one that stands last in the set has the place.
    spans: Vec<Span>,
    negated: bool,
    /// Places of the first characters.
    ascii: [Option<u64>; 0x80],
}

impl Set {
    fn read<'s>(scope: &'s Scope<'s>, set: &[u8]) -> Result<'s, Set> {
        let (spans, negated) = spans(scope, set, Negates::Yes)?;
        let mut set = Set {
            spans: apart(&spans),
            negated,
            ascii: [None; 0x80],
        };
        for code in 0..0x80 {
            set.ascii[code as usize] = set.index_of(Letter(code));
        }
        Ok(set)
    }

    fn has(&self, letter: Letter) -> bool {
        self.place(letter).is_some()
    }

    /// The number of a character in the set; behind all in a negated one.
    fn place(&self, letter: Letter) -> Option<u64> {
        let found = match letter.is_ascii() {
            true => self.ascii[letter.0 as usize],
            false => self.index_of(letter),
        };
        match self.negated {
            true => found.is_none().then_some(u64::MAX),
            false => found,
        }
    }

    fn index_of(&self, letter: Letter) -> Option<u64> {
        let behind = self.spans.partition_point(|span| span.first <= letter);
        let span = self.spans.get(behind.checked_sub(1)?)?;
        (letter <= span.last).then(|| span.before + u64::from(letter.0 - span.first.0))
    }
}

/// Spans that overlap, cut so that none does: the last one wins.
fn apart(spans: &[Span]) -> Vec<Span> {
    let mut order: Vec<usize> = (0..spans.len()).collect();
    order.sort_by_key(|&i| spans[i].first);
    let mut begins = order.into_iter().peekable();
    let mut open = BinaryHeap::<usize>::new();
    let mut out = Vec::<Span>::new();
    let mut at = Letter(0);
    loop {
        while let Some(&top) = open.peek()
            && spans[top].last < at
        {
            open.pop();
        }
        if open.is_empty() {
            let Some(&next) = begins.peek() else {
                return out;
            };
            at = at.max(spans[next].first);
        }
        while let Some(next) = begins.next_if(|&i| spans[i].first <= at) {
            open.push(next);
        }
        let Some(&top) = open.peek() else {
            continue;
        };
        let span = spans[top];
        let mut last = span.last;
        if let Some(&next) = begins.peek() {
            last = last.min(Letter(spans[next].first.0 - 1));
        }
        if last >= at {
            out.push(Span {
                first: at,
                last,
                before: span.before + u64::from(at.0 - span.first.0),
            });
        }
        at = Letter(last.0 + 1);
    }
}

/// What replaces the characters of a set.
struct Replacement {
    spans: Vec<Span>,
    count: u64,
}

impl Replacement {
    fn read<'s>(scope: &'s Scope<'s>, to: &[u8]) -> Result<'s, Replacement> {
        let (spans, _) = spans(scope, to, Negates::No)?;
        let end = |span: &Span| span.before + u64::from(span.last.0 - span.first.0) + 1;
        let count = spans.last().map_or(0, end);
        Ok(Replacement { spans, count })
    }

    /// The character at a place, or the last one; none where there are none.
    fn at(&self, place: u64) -> Option<Letter> {
        let place = place.min(self.count.checked_sub(1)?);
        let behind = self.spans.partition_point(|span| span.before <= place);
        let span = self.spans.get(behind.checked_sub(1)?)?;
        let code = u64::from(span.first.0) + (place - span.before);
        u32::try_from(code).ok().map(Letter)
    }
}

/// The arguments behind the text.
fn sets<'s>(scope: &'s Scope<'s>, call: &NativeCall<'s>) -> Result<'s, Vec<Set>> {
    scope
        .elements(call.argument(1))
        .map(|set| Set::read(scope, &bytes(scope, set, "the text")?))
        .collect()
}

/// The text made anew, letter by letter; nil when it is the same.
fn edit<'s>(
    scope: &'s Scope<'s>,
    text: Value<'s>,
    mut write: impl FnMut(Letter, &mut Vec<u8>),
) -> Result<'s, Value<'s>> {
    let text = bytes(scope, text, "the text")?;
    let mut out = Vec::with_capacity(text.len());
    each(scope, &text, |letter| {
        write(letter, &mut out);
        match out.len() <= STRING_BYTES_MAX {
            true => Ok(()),
            false => Err(too_long(scope)),
        }
    })?;
    match out == text {
        true => Ok(Value::nil()),
        false => scope.string(out),
    }
}

/// Walks over a text; now and then it may be interrupted.
fn each<'s>(
    scope: &'s Scope<'s>,
    text: &[u8],
    mut walk: impl FnMut(Letter) -> Result<'s, ()>,
) -> Result<'s, ()> {
    let mut left = LETTERS_AT_ONCE;
    for letter in letters(text) {
        left -= 1;
        if left == 0 {
            scope.check_interrupt()?;
            left = LETTERS_AT_ONCE;
        }
        walk(letter)?;
    }
    Ok(())
}
