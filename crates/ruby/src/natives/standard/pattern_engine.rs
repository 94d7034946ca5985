//! What searches for a pattern: its expression, compiled once, and again with few steps back where a search comes in pieces. Knows no VM.
//! Rule: a search that may go back often in a long text comes in pieces, between which it can be ended; together they find what one search would find.

use std::cell::OnceCell;

use fancy_regex::{Error, Regex, RegexBuilder, RegexInput, RuntimeError};

use super::regexp_syntax::translate;
use crate::limits::{Limits, REGEXP_PIECE_BYTES};

pub(super) const IGNORECASE: u8 = 1;
pub(super) const EXTENDED: u8 = 2;
pub(super) const MULTILINE: u8 = 4;

/// Steps back of one piece. Each is tried again with the next number, and at last with as many as a match may take.
const PIECE_STEPS: [usize; 7] = [64, 256, 1_024, 4_096, 16_384, 65_536, 262_144];

/// Bytes of the whole match and of every group.
pub(crate) type Spans = Vec<Option<(usize, usize)>>;

/// Why a search has ended without an answer.
#[derive(Debug)]
pub(crate) enum SearchEnd<E> {
    /// The engine has taken as many steps as it may.
    GaveUp(Error),
    /// It was asked between two pieces, and is not to go on.
    Stopped(E),
}

/// A compiled expression.
pub(crate) struct PatternEngine {
    pub source: Box<str>,
    pub options: u8,
    whole: Regex,
    steps_max: usize,
    /// Bytes that one piece may read.
    piece_bytes: usize,
    goes_back: OnceCell<bool>,
    /// Those of `PIECE_STEPS`, and the last one.
    pieces: [OnceCell<Option<Regex>>; PIECE_STEPS.len() + 1],
}

impl PatternEngine {
    pub fn compile(source: &str, options: u8, limits: &Limits) -> Result<PatternEngine, String> {
        let whole = builder(source, options)
            .backtrack_limit(limits.regexp_backtracks_max)
            .delegate_size_limit(limits.regexp_bytes_max)
            .max_prog_size(limits.regexp_bytes_max)
            .build()
            .map_err(|error| error.to_string().replace('\n', " "))?;
        Ok(PatternEngine {
            source: source.into(),
            options,
            whole,
            steps_max: limits.regexp_backtracks_max,
            piece_bytes: REGEXP_PIECE_BYTES,
            goes_back: OnceCell::new(),
            pieces: Default::default(),
        })
    }

    /// The expression with as many steps back as a match may take.
    pub fn whole(&self) -> &Regex {
        &self.whole
    }

    /// The same expression, which gives up after so many steps back.
    pub fn within_steps(&self, steps_max: usize) -> Option<Regex> {
        let mut builder = builder(&self.source, self.options);
        builder.backtrack_limit(steps_max).build().ok()
    }

    /// Whether it has look-around or the like, for which the engine goes back.
    pub fn goes_back(&self) -> bool {
        let looked = || tsumugi_shapes::goes_back(&mut builder(&self.source, self.options));
        *self.goes_back.get_or_init(looked)
    }

    /// Whether there is a match in a text that is searched at one go; none for another one.
    pub fn is_match_at_once(&self, text: &str) -> Option<Result<bool, Error>> {
        let is_short = self.first_piece(text.len()).is_none();
        is_short.then(|| self.whole.is_match(text))
    }

    /// The first match at or after a byte. `go_on` is asked between two pieces.
    pub fn search<E>(
        &self,
        text: &str,
        from: usize,
        mut go_on: impl FnMut() -> Result<(), E>,
    ) -> Result<Option<Spans>, SearchEnd<E>> {
        let input = RegexInput::new(text).from_pos(from);
        let Some(first) = self.first_piece(text.len()) else {
            return find(&self.whole, input).map_err(SearchEnd::GaveUp);
        };
        // Most searches are over with these few steps.
        match find(self.piece(first), input) {
            Err(error) if is_beyond_steps(&error) => {}
            found => return found.map_err(SearchEnd::GaveUp),
        }
        let mut place = from;
        loop {
            let input = RegexInput::new(text)
                .from_pos(place)
                .anchored(true)
                .continue_from_previous_match_end(place == from);
            let found = self.find_at_place(&input, first, &mut go_on)?;
            if found.is_some() || place >= text.len() {
                return Ok(found);
            }
            place = text.ceil_char_boundary(place + 1);
        }
    }

    /// The match that begins at a place, with more and more steps.
    fn find_at_place<E>(
        &self,
        input: &RegexInput<'_, str>,
        first: usize,
        go_on: &mut impl FnMut() -> Result<(), E>,
    ) -> Result<Option<Spans>, SearchEnd<E>> {
        let last = self.pieces.len() - 1;
        for number in first..=last {
            go_on().map_err(SearchEnd::Stopped)?;
            match find(self.piece(number), input.clone()) {
                Err(error) if number < last && is_beyond_steps(&error) => {}
                found => return found.map_err(SearchEnd::GaveUp),
            }
        }
        Ok(None)
    }

    /// The piece with which a text of this length is searched first; none where that is done at one go. A step may read all of the text.
    fn first_piece(&self, length: usize) -> Option<usize> {
        let is_short = |steps: usize| steps.saturating_mul(length) <= self.piece_bytes;
        if is_short(self.steps_max) || !self.goes_back() {
            return None;
        }
        let fitting = PIECE_STEPS.iter().take_while(|steps| is_short(**steps));
        Some(fitting.count().saturating_sub(1))
    }

    fn piece(&self, number: usize) -> &Regex {
        let steps = PIECE_STEPS.get(number).copied().unwrap_or(usize::MAX);
        let made = || {
            let mut builder = builder(&self.source, self.options);
            builder
                .backtrack_limit(steps.min(self.steps_max))
                // `\G` holds where the search has begun, not where a piece does.
                .allow_input_assertion_overrides(self.source.contains("\\G"))
                .build()
                .ok()
        };
        let piece = self.pieces.get(number);
        let piece = piece.and_then(|piece| piece.get_or_init(made).as_ref());
        piece.unwrap_or(&self.whole)
    }
}

fn builder(source: &str, options: u8) -> RegexBuilder {
    let mut builder = RegexBuilder::new(&translate(source));
    builder
        .oniguruma_mode(true)
        .multi_line(true)
        .ignore_numbered_groups_when_named_groups_exist(true)
        .case_insensitive(options & IGNORECASE != 0)
        .ignore_whitespace(options & EXTENDED != 0)
        .dot_matches_new_line(options & MULTILINE != 0);
    builder
}

fn find(regex: &Regex, input: RegexInput<'_, str>) -> Result<Option<Spans>, Error> {
    let found = regex.captures_input(input)?;
    Ok(found.map(|found| {
        let groups = (0..found.len()).map(|number| found.get(number));
        groups
            .map(|group| group.map(|group| (group.start(), group.end())))
            .collect()
    }))
}

fn is_beyond_steps(error: &Error) -> bool {
    matches!(
        error,
        Error::RuntimeError(RuntimeError::BacktrackLimitExceeded)
    )
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    fn engine(source: &str) -> PatternEngine {
        PatternEngine::compile(source, 0, &Limits::default()).unwrap()
    }

    /// All matches of a text, as `scan` goes through them.
    fn all(text: &str, mut search: impl FnMut(usize) -> Option<Spans>) -> Vec<Spans> {
        let (mut found, mut from) = (Vec::new(), 0);
        while from <= text.len() {
            let Some(spans) = search(from) else { break };
            let (start, end) = spans[0].unwrap();
            let is_at_end = end == text.len();
            from = match end > start {
                true => end,
                false if is_at_end => end + 1,
                false => text.ceil_char_boundary(end + 1),
            };
            found.push(spans);
        }
        found
    }

    #[test]
    fn pieces_find_what_one_search_finds() {
        let long = "ab ac äb foo1 ".repeat(100) + "xx END aab cc foo bar zz\n";
        let texts = [long.clone(), format!("xxfoo{long}"), "b".repeat(1_500)];
        let mut in_pieces = 0;
        for source in [
            r"(?<!a)b",
            r"(?<!a)(?<!ä)b|(cc)",
            r"(a+)\1b",
            r"(?:(?!END).)*END",
            r"foo(?= bar)(?!x)",
            r"(?<=z)z|(?<=c)c",
            r"(?>a*)ab|(c)(?!x)",
            r"\G(?:foo|x)(?!y)",
            r"\A(?=.*z)x(?!y)",
            r"(?=.*\d)(?=.*[A-Z])",
            r"z(?=\n)\Z(?!x)",
            r"(?!x)(?:zz|\Z)",
            r"b(?!.*b)",
        ] {
            // Pieces of 64 steps.
            let piece_bytes = 100_000;
            let engine = PatternEngine {
                piece_bytes,
                ..engine(source)
            };
            // Enough for any of these, at one go.
            let whole = engine.within_steps(100_000_000).unwrap();
            for text in &texts {
                let input = |from| RegexInput::new(text.as_str()).from_pos(from);
                let at_once = all(text, |from| find(&whole, input(from)).unwrap());
                let found = all(text, |from| {
                    let count = || {
                        in_pieces += 1;
                        Ok::<(), Infallible>(())
                    };
                    let found = engine.search(text, from, count);
                    found.unwrap_or_else(|_| panic!("{source}"))
                });
                assert_eq!(found, at_once, "{source}");
            }
        }
        assert!(in_pieces > 1_000, "{in_pieces}");
    }

    #[test]
    fn long_search_that_goes_back_is_ended_when_it_is_asked() {
        let text = "a".repeat(20_000);
        for source in [r"(?=.*\d)(?=.*[A-Z])", r"(?:(?!.*\d).)*\d"] {
            let mut asked = 0;
            let found = engine(source).search(&text, 0, || {
                asked += 1;
                (asked < 3).then_some(()).ok_or(asked)
            });
            assert!(matches!(found, Err(SearchEnd::Stopped(3))), "{source}");
        }
    }

    #[test]
    fn short_texts_and_patterns_that_do_not_go_back_are_searched_at_one_go() {
        let steps = Limits::default().regexp_backtracks_max;
        let hard = engine("a(?!b)");
        assert_eq!(hard.first_piece(REGEXP_PIECE_BYTES / steps), None);
        assert!(hard.first_piece(REGEXP_PIECE_BYTES / steps + 1).is_some());
        assert_eq!(engine("a+b").first_piece(usize::MAX), None);
    }

    #[test]
    fn place_that_takes_all_steps_is_given_up() {
        let text = "a".repeat(40) + &"yz".repeat(1_000);
        let found = engine(r"\A(a|aa)+\1z").search(&text, 0, || Ok::<(), Infallible>(()));
        assert!(matches!(found, Err(SearchEnd::GaveUp(error)) if is_beyond_steps(&error)));
    }
}
