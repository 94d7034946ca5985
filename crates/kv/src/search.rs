//! Finding keys by what they look like: Tkrzw's modes of search, edit distance among them. Reads page by page through a function it is lent.
//! Rule: a mode that needs no look at every key does not take one.

use std::collections::BinaryHeap;
use std::str::FromStr;

use bytes::Bytes;

use crate::error::{Error, Result};
use crate::limits::{
    EDIT_PATTERN_BYTES_MAX, PAGE_RECORDS_MAX, PATTERN_BYTES_MAX, REGEX_BYTES_MAX, SEARCH_BYTES_MAX,
    SEARCH_MATCHES_MAX,
};
use crate::range::{KeyRange, Pair, Seek};
use crate::write::check_many;

/// How a pattern is compared with keys.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchMode {
    /// Keys that contain it.
    Contain,
    /// Keys that begin with it.
    Begin,
    /// Keys that end with it.
    End,
    /// Keys of which a part matches it, a regular expression.
    Regex,
    /// Keys that need the fewest changes of characters to become it, nearest first.
    Edit,
    /// Keys that need the fewest changes of bytes to become it, nearest first.
    EditBin,
    /// Keys that contain it; ASCII letters are the same in both cases.
    ContainCase,
    /// Keys that contain it as a word.
    ContainWord,
    /// Both of these.
    ContainCaseWord,
    /// Keys that are greater.
    Upper,
    /// Keys that are greater, and the same one.
    UpperInc,
    /// Keys that are less, greatest first.
    Lower,
    /// Keys that are less, and the same one, greatest first.
    LowerInc,
}

impl FromStr for SearchMode {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Ok(match name {
            "contain" => Self::Contain,
            "begin" => Self::Begin,
            "end" => Self::End,
            "regex" => Self::Regex,
            "edit" => Self::Edit,
            "editbin" => Self::EditBin,
            "containcase" => Self::ContainCase,
            "containword" => Self::ContainWord,
            "containcaseword" => Self::ContainCaseWord,
            "upper" => Self::Upper,
            "upperinc" => Self::UpperInc,
            "lower" => Self::Lower,
            "lowerinc" => Self::LowerInc,
            _ => {
                let name = name.escape_debug();
                return Err(unusable(format!("there is no mode `{name}`")));
            }
        })
    }
}

fn unusable(reason: impl Into<String>) -> Error {
    let reason = reason.into();
    Error::Pattern { reason }
}

/// Keys that fit, at most `capacity`, or [`SEARCH_MATCHES_MAX`] when that is 0.
pub(crate) fn search(
    mode: SearchMode,
    pattern: &[u8],
    capacity: usize,
    wanted: impl Fn() -> bool,
    mut page: impl FnMut(&KeyRange, usize) -> Result<Vec<Pair>>,
) -> Result<Vec<Bytes>> {
    check_many(
        "bytes of pattern",
        pattern.len(),
        PATTERN_BYTES_MAX,
        "PATTERN_BYTES_MAX",
    )?;
    let most = match capacity {
        0 => SEARCH_MATCHES_MAX,
        capacity => capacity.min(SEARCH_MATCHES_MAX),
    };
    if matches!(mode, SearchMode::Edit | SearchMode::EditBin) {
        return nearest(mode, pattern, most, wanted, &mut page);
    }
    let range = range_of(mode, pattern);
    let fits = matcher(mode, pattern)?;
    let (mut found, mut bytes) = (Vec::new(), 0);
    each_key(range, &mut page, |key| {
        if fits(&key) {
            bytes += key.len();
            found.push(key);
        }
        found.len() < most && bytes <= SEARCH_BYTES_MAX && wanted()
    })?;
    check_bytes(bytes)?;
    Ok(found)
}

fn check_bytes(bytes: usize) -> Result<()> {
    let what = "bytes or more of keys that fit; ask for fewer";
    check_many(what, bytes, SEARCH_BYTES_MAX, "SEARCH_BYTES_MAX")
}

/// Calls `visit` for the keys of a range until it answers false.
fn each_key(
    mut range: KeyRange,
    page: &mut impl FnMut(&KeyRange, usize) -> Result<Vec<Pair>>,
    mut visit: impl FnMut(Bytes) -> bool,
) -> Result<()> {
    loop {
        let pairs = page(&range, PAGE_RECORDS_MAX)?;
        let Some((last, _)) = pairs.last() else {
            return Ok(());
        };
        range = range.after(last.clone());
        for (key, _) in pairs {
            if !visit(key) {
                return Ok(());
            }
        }
    }
}

fn range_of(mode: SearchMode, pattern: &[u8]) -> KeyRange {
    let key = Bytes::copy_from_slice(pattern);
    let seek = match mode {
        SearchMode::Begin => return KeyRange::prefix(key),
        SearchMode::Upper => Seek::After(key),
        SearchMode::UpperInc => Seek::AtOrAfter(key),
        SearchMode::Lower => Seek::Before(key),
        SearchMode::LowerInc => Seek::AtOrBefore(key),
        _ => Seek::First,
    };
    KeyRange::from(&seek)
}

type Matcher = Box<dyn Fn(&[u8]) -> bool>;

fn matcher(mode: SearchMode, pattern: &[u8]) -> Result<Matcher> {
    let owned = pattern.to_vec();
    Ok(match mode {
        SearchMode::Contain => {
            let finder = memchr::memmem::Finder::new(pattern).into_owned();
            Box::new(move |key| finder.find(key).is_some())
        }
        SearchMode::End => Box::new(move |key| key.ends_with(&owned)),
        SearchMode::Regex => {
            let pattern =
                str::from_utf8(pattern).map_err(|_| unusable("a regular expression is UTF-8"))?;
            let regex = regex::bytes::RegexBuilder::new(pattern)
                .size_limit(REGEX_BYTES_MAX)
                .dfa_size_limit(REGEX_BYTES_MAX)
                .build()
                .map_err(|error| unusable(error.to_string().replace('\n', " ")))?;
            Box::new(move |key| regex.is_match(key))
        }
        SearchMode::ContainCase => {
            let finder = memchr::memmem::Finder::new(&pattern.to_ascii_lowercase()).into_owned();
            Box::new(move |key| finder.find(&key.to_ascii_lowercase()).is_some())
        }
        SearchMode::ContainWord => Box::new(move |key| contains_word(key, &owned)),
        SearchMode::ContainCaseWord => {
            let lower = pattern.to_ascii_lowercase();
            Box::new(move |key| contains_word(&key.to_ascii_lowercase(), &lower))
        }
        _ => Box::new(|_| true),
    })
}

/// Whether the pattern is there without a letter or digit of ASCII right beside it where it has one itself.
fn contains_word(key: &[u8], pattern: &[u8]) -> bool {
    let is_part = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    memchr::memmem::find_iter(key, pattern).any(|at| {
        let before = at.checked_sub(1).and_then(|at| key.get(at));
        let after = key.get(at + pattern.len());
        !(is_part(pattern.first()) && is_part(before) || is_part(pattern.last()) && is_part(after))
    })
}

/// A key and how far it is; the farthest is the greatest, and of those the greatest key.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    distance: usize,
    key: Bytes,
}

fn nearest(
    mode: SearchMode,
    pattern: &[u8],
    most: usize,
    wanted: impl Fn() -> bool,
    page: &mut impl FnMut(&KeyRange, usize) -> Result<Vec<Pair>>,
) -> Result<Vec<Bytes>> {
    check_many(
        "bytes of pattern",
        pattern.len(),
        EDIT_PATTERN_BYTES_MAX,
        "EDIT_PATTERN_BYTES_MAX",
    )?;
    let characters = |bytes: &[u8]| String::from_utf8_lossy(bytes).chars().collect::<Vec<_>>();
    let target = characters(pattern);
    let mut row = Vec::new();
    let mut best: BinaryHeap<Candidate> = BinaryHeap::new();
    let mut bytes = 0;
    each_key(KeyRange::all(), page, |key| {
        let distance = match mode {
            SearchMode::Edit => distance(&characters(&key), &target, &mut row),
            _ => distance(&key, pattern, &mut row),
        };
        bytes += key.len();
        best.push(Candidate { distance, key });
        if best.len() > most
            && let Some(farthest) = best.pop()
        {
            bytes -= farthest.key.len();
        }
        bytes <= SEARCH_BYTES_MAX && wanted()
    })?;
    check_bytes(bytes)?;
    let sorted = best.into_sorted_vec();
    Ok(sorted.into_iter().map(|candidate| candidate.key).collect())
}

/// Levenshtein's: insertions, removals and replacements that make `a` of `b`. `row` is memory to be used again.
fn distance<T: PartialEq>(a: &[T], b: &[T], row: &mut Vec<usize>) -> usize {
    row.clear();
    row.extend(0..=b.len());
    for (at, one) in a.iter().enumerate() {
        let mut diagonal = at;
        row[0] = at + 1;
        for (column, other) in b.iter().enumerate() {
            let above = row[column + 1];
            let replaced = diagonal + usize::from(one != other);
            row[column + 1] = replaced.min(above + 1).min(row[column] + 1);
            diagonal = above;
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::range::ReadDirection;

    const KEYS: [&str; 8] = [
        "",
        "Apple",
        "apple",
        "apple pie",
        "banana",
        "pineapple",
        "りんご",
        "りんごの木",
    ];

    fn check(mode: &str, pattern: &str, expected: Result<&[&str], &str>) {
        check_most(mode, pattern, 0, expected);
    }

    fn check_most(mode: &str, pattern: &str, capacity: usize, expected: Result<&[&str], &str>) {
        let page = |range: &KeyRange, limit: usize| {
            let inside = |key: &&&str| {
                std::ops::RangeBounds::<[u8]>::contains(&range.bounds(), key.as_bytes())
            };
            let mut pairs: Vec<Pair> = KEYS
                .iter()
                .filter(inside)
                .map(|key| (Bytes::from_static(key.as_bytes()), Bytes::new()))
                .collect();
            if range.direction == ReadDirection::Backward {
                pairs.reverse();
            }
            pairs.truncate(limit.min(3));
            Ok(pairs)
        };
        let found = mode
            .parse()
            .and_then(|mode| search(mode, pattern.as_bytes(), capacity, || true, page));
        match (found, expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{mode} {pattern}"),
            (Err(error), Err(expected)) => assert!(error.to_string().contains(expected), "{error}"),
            (found, _) => panic!("{mode} {pattern}: {found:?}"),
        }
    }

    #[test]
    fn contain_begin_end_and_word_modes_find_keys_with_the_pattern() {
        check("contain", "apple", Ok(&["apple", "apple pie", "pineapple"]));
        check("contain", "", Ok(&KEYS));
        check("begin", "apple", Ok(&["apple", "apple pie"]));
        check("begin", "りん", Ok(&["りんご", "りんごの木"]));
        check("end", "apple", Ok(&["apple", "pineapple"]));
        check(
            "containcase",
            "APPLE",
            Ok(&["Apple", "apple", "apple pie", "pineapple"]),
        );
        check("containword", "apple", Ok(&["apple", "apple pie"]));
        check("containword", "りんご", Ok(&["りんご", "りんごの木"]));
        check(
            "containcaseword",
            "aPPle",
            Ok(&["Apple", "apple", "apple pie"]),
        );
    }

    #[test]
    fn upper_and_lower_modes_find_the_keys_next_to_the_pattern() {
        check(
            "upper",
            "banana",
            Ok(&["pineapple", "りんご", "りんごの木"]),
        );
        check(
            "upperinc",
            "pineapple",
            Ok(&["pineapple", "りんご", "りんごの木"]),
        );
        check("lower", "apple", Ok(&["Apple", ""]));
        check("lowerinc", "apple", Ok(&["apple", "Apple", ""]));
    }

    #[test]
    fn regular_expression_matches_a_part_of_a_key_or_is_refused() {
        check("regex", "^.?pple", Ok(&["Apple", "apple", "apple pie"]));
        check("regex", "^りんご$", Ok(&["りんご"]));
        check("regex", "(", Err("cannot be used"));
        check("regex", "(a{1000}){1000}", Err("cannot be used"));
    }

    #[test]
    fn edit_modes_give_the_nearest_keys_first() {
        check_most("edit", "りんこ", 2, Ok(&["りんご", ""]));
        check_most("editbin", "りんこ", 1, Ok(&["りんご"]));
        check_most("edit", "aple", 3, Ok(&["apple", "Apple", ""]));
    }

    #[test]
    fn search_ends_when_its_caller_gives_up() {
        for mode in [SearchMode::Contain, SearchMode::EditBin] {
            let looks = std::cell::Cell::new(0_usize);
            // There are keys without end.
            let page = |_: &KeyRange, _| {
                let pair = |number: u8| (Bytes::copy_from_slice(&[number]), Bytes::new());
                Ok((0..10).map(pair).collect())
            };
            let wanted = || looks.replace(looks.get() + 1) < 100;
            let found = search(mode, b"", 0, wanted, page).unwrap();
            assert_eq!(found.len(), 101, "{mode:?}");
        }
    }

    #[test]
    fn search_beyond_its_limit_of_bytes_is_refused() {
        let key = Bytes::from(vec![b'k'; 65_000]);
        for mode in [SearchMode::Contain, SearchMode::Upper] {
            let page = |_: &KeyRange, _| Ok(vec![(key.clone(), Bytes::new()); 100]);
            let error = search(mode, b"", 0, || true, page).unwrap_err();
            assert!(error.to_string().contains("SEARCH_BYTES_MAX"), "{error}");
        }
    }

    #[test]
    fn a_search_has_bounds() {
        check_most("contain", "", 2, Ok(&["", "Apple"]));
        check("nothing", "", Err("no mode"));
        check(
            "contain",
            &"a".repeat(PATTERN_BYTES_MAX + 1),
            Err("PATTERN_BYTES_MAX"),
        );
        check(
            "edit",
            &"a".repeat(EDIT_PATTERN_BYTES_MAX + 1),
            Err("EDIT_PATTERN_BYTES_MAX"),
        );
    }
}
