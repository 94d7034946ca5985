//! Patterns of `like` in the forms that databases take. Not matching. Rule: whatever the pattern, the form is sound: every escape
//! has something to escape, and what means itself does so everywhere.

/// What a pattern is made of.
enum Token {
    AnyText,
    AnyCharacter,
    Itself(char),
}

/// The pieces of a pattern in which `\` takes the meaning of what follows it; a last `\` means itself.
fn tokens(pattern: &str) -> impl Iterator<Item = Token> {
    let mut characters = pattern.chars();
    std::iter::from_fn(move || {
        Some(match characters.next()? {
            '%' => Token::AnyText,
            '_' => Token::AnyCharacter,
            '\\' => Token::Itself(characters.next().unwrap_or('\\')),
            other => Token::Itself(other),
        })
    })
}

/// For `like` with `\` as its escape.
pub(super) fn like(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len() + 1);
    for token in tokens(pattern) {
        match token {
            Token::AnyText => out.push('%'),
            Token::AnyCharacter => out.push('_'),
            Token::Itself(character) => {
                if matches!(character, '%' | '_' | '\\') {
                    out.push('\\');
                }
                out.push(character);
            }
        }
    }
    out
}

/// For SQLite's `glob`.
pub(super) fn glob(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    for token in tokens(pattern) {
        match token {
            Token::AnyText => out.push('*'),
            Token::AnyCharacter => out.push('?'),
            Token::Itself(character @ ('*' | '?' | '[')) => {
                out.extend(['[', character, ']']);
            }
            Token::Itself(character) => out.push(character),
        }
    }
    out
}

/// In upper case, character by character, as far as one stays one.
pub(super) fn upper(pattern: &str) -> String {
    let upper = |character: char| {
        let mut upper = character.to_uppercase();
        match (upper.next(), upper.next()) {
            (Some(upper), None) => upper,
            _ => character,
        }
    };
    pattern.chars().map(upper).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, expected_like: &str, expected_glob: &str) {
        assert_eq!(like(pattern), expected_like);
        assert_eq!(glob(pattern), expected_glob);
    }

    #[test]
    fn patterns_keep_their_meaning() {
        check("a%b_c", "a%b_c", "a*b?c");
        check(r"100\%", r"100\%", "100%");
        check(r"a\_b", r"a\_b", "a_b");
        check("a*b?[c]", "a*b?[c]", "a[*]b[?][[]c]");
        check("紡%", "紡%", "紡*");
    }

    #[test]
    fn an_escape_without_need_goes_and_a_last_one_means_itself() {
        check(r"\a", "a", "a");
        check(r"a\", r"a\\", r"a\");
        check(r"a\\", r"a\\", r"a\");
        check(r"\*", "*", "[*]");
    }
}
