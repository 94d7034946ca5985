//! What errors of unknown names say besides: what to use in place of a name of CRuby, which known names are like the one that was written.
//! Which names are known is the prelude's (prelude/std/hints.rb).

use tsumugi_mruby::Result;

use crate::absent;
use crate::natives::arguments::text;
use crate::natives::definitions::Natives;

/// How many names are offered.
const OFFERED_MAX: usize = 3;
/// Longer names are compared with none.
const NAME_CHARS_MAX: usize = 64;

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.plain("absent_constant", |_, scope, call| {
        let name = text(scope, call.argument(0), "a name")?;
        scope.string_or_nil(absent::constant(&name))
    })?;
    natives.plain("absent_method", |_, scope, call| {
        let class = text(scope, call.argument(0), "a class")?;
        let name = text(scope, call.argument(1), "a name")?;
        scope.string_or_nil(absent::method(&class, &name))
    })?;
    natives.plain("absent_class_method", |_, scope, call| {
        let class = text(scope, call.argument(0), "a class")?;
        let name = text(scope, call.argument(1), "a name")?;
        scope.string_or_nil(absent::class_method(&class, &name))
    })?;
    natives.plain("alike_names", |_, scope, call| {
        let name = text(scope, call.argument(0), "a name")?;
        scope.strings(alike(&name, &scope.texts(call.argument(1))))
    })
}

/// The names of `known` that are as near to `name` as the nearest of them, when that is near enough for a slip.
fn alike<'a>(name: &str, known: &'a [String]) -> Vec<&'a str> {
    let name: Vec<char> = name.chars().collect();
    if name.len() > NAME_CHARS_MAX {
        return Vec::new();
    }
    let mut nearest = name.len().div_ceil(4);
    let mut found: Vec<&str> = Vec::new();
    for candidate in known {
        let chars: Vec<char> = candidate.chars().take(NAME_CHARS_MAX + 1).collect();
        if chars.len().abs_diff(name.len()) > nearest {
            continue;
        }
        let distance = distance(&name, &chars);
        if distance > nearest || distance >= name.len().max(chars.len()) {
            continue;
        }
        if distance < nearest {
            nearest = distance;
            found.clear();
        }
        found.push(candidate);
    }
    found.sort_unstable();
    found.dedup();
    found.truncate(OFFERED_MAX);
    found
}

/// How many characters are to be added, left out, replaced or exchanged with their neighbours to make one of the other.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, other) in b.iter().enumerate() {
            let replaced = last[j] + usize::from(letter != other);
            let mut least = replaced.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *letter == b[j - 1] && a[i - 1] == *other {
                least = least.min(before[j - 1] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, known: &[&str], expected: &[&str]) {
        let known: Vec<String> = known.iter().map(|&name| name.to_owned()).collect();
        assert_eq!(alike(name, &known), expected, "{name}");
    }

    #[test]
    fn nearest_names_are_alike_others_are_not() {
        check("upcas", &["upcase", "downcase", "upcase!"], &["upcase"]);
        check("pust", &["puts", "push", "size"], &["push", "puts"]);
        check("gett", &["get", "set", "post"], &["get"]);
        check("ab", &["xy", "cd"], &[]);
        check("a", &["b"], &[]);
        check("wholly", &["different"], &[]);
    }

    #[test]
    fn one_name_more_than_the_limit_is_not_offered() {
        check(
            "abcx",
            &["abca", "abcb", "abcc", "abcd"],
            &["abca", "abcb", "abcc"],
        );
    }

    #[test]
    fn name_beyond_the_limit_is_compared_with_none() {
        let long = "n".repeat(NAME_CHARS_MAX + 1);
        check(&long, &[&long], &[]);
        let name = "n".repeat(NAME_CHARS_MAX);
        check(&name, &[&long], &[&long]);
    }
}
