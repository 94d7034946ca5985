//! Cuts Rust source into tokens, so that a rule never mistakes a string or a comment for code.
//! It is no parser: it knows words, punctuation, literals and comments, not items or expressions.
//! Rule: every character of the source but white space belongs to exactly one token, in order.

use std::ops::Range;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An identifier, a keyword or a number.
    Word,
    /// One punctuation character.
    Punct,
    /// A string, byte string or character with its quotes and prefix.
    Literal,
    /// A lifetime or loop label with its quote.
    Lifetime,
    /// A line or block comment with its markers; documentation is a comment too.
    Comment,
}

/// One token, borrowed from the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token<'a> {
    pub kind: Kind,
    pub text: &'a str,
    /// Where it begins, counted from 1.
    pub line: usize,
}

impl Token<'_> {
    /// Whether this is code that reads `text`: a word or a punctuation character, not a literal that says the same.
    pub fn is(&self, text: &str) -> bool {
        matches!(self.kind, Kind::Word | Kind::Punct) && self.text == text
    }

    /// The line on which it ends.
    pub fn last_line(&self) -> usize {
        self.line + self.text.matches('\n').count()
    }
}

/// All tokens of `source`. An unfinished literal or comment reaches to the end.
pub fn lex(source: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut line = 1;
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        if first.is_whitespace() {
            line += usize::from(first == '\n');
            rest = &rest[first.len_utf8()..];
            continue;
        }
        let (kind, length) = measure(rest, first);
        let (text, after) = rest.split_at(length);
        tokens.push(Token { kind, text, line });
        line += text.matches('\n').count();
        rest = after;
    }
    tokens
}

/// The tokens of `source` that are code: everything but comments.
pub fn code(source: &str) -> Vec<Token<'_>> {
    let mut tokens = lex(source);
    tokens.retain(|token| token.kind != Kind::Comment);
    tokens
}

/// The index after the bracket that closes the one at `open`, or the end of `tokens`.
pub fn after_group(tokens: &[Token<'_>], open: usize) -> usize {
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate().skip(open) {
        if token.kind != Kind::Punct {
            continue;
        }
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return index + 1;
        }
    }
    tokens.len()
}

/// Whether the code from `at` on reads `words`, one token each.
pub fn reads(tokens: &[Token<'_>], at: usize, words: &[&str]) -> bool {
    words
        .iter()
        .enumerate()
        .all(|(offset, word)| tokens.get(at + offset).is_some_and(|token| token.is(word)))
}

/// Kind and length in bytes of the token that `rest` begins with.
/// The inline modules under `#[cfg(test)]`: where in `tokens` each begins, with its attribute, and ends.
pub fn test_modules(tokens: &[Token<'_>]) -> Vec<Range<usize>> {
    let mut modules = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let first = at;
        if !reads(tokens, at, &["#", "[", "cfg", "(", "test", ")", "]"]) {
            at += 1;
            continue;
        }
        at += 7;
        while reads(tokens, at, &["#", "["]) {
            at = after_group(tokens, at + 1);
        }
        if reads(tokens, at, &["mod"]) && reads(tokens, at + 2, &["{"]) {
            at = after_group(tokens, at + 2);
            modules.push(first..at);
        }
    }
    modules
}

/// The tokens outside of the inline modules under `#[cfg(test)]`.
pub fn without_tests<'t, 's>(tokens: &'t [Token<'s>]) -> impl Iterator<Item = &'t Token<'s>> {
    let modules = test_modules(tokens);
    let outside = move |at: &usize| !modules.iter().any(|module| module.contains(at));
    (0..tokens.len()).filter(outside).map(|at| &tokens[at])
}

fn measure(rest: &str, first: char) -> (Kind, usize) {
    if rest.starts_with("//") {
        return (Kind::Comment, rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return (Kind::Comment, block_comment(rest));
    }
    if let Some(length) = literal(rest) {
        return (Kind::Literal, length);
    }
    if first == '\'' {
        return (Kind::Lifetime, 1 + word(&rest[1..]));
    }
    if is_word(first) {
        // `r#type` is one identifier; its raw-string twin was taken above.
        let prefix = if rest.starts_with("r#") { 2 } else { 0 };
        return (Kind::Word, prefix + word(&rest[prefix..]));
    }
    (Kind::Punct, first.len_utf8())
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

fn word(rest: &str) -> usize {
    rest.find(|character| !is_word(character))
        .unwrap_or(rest.len())
}

/// Block comments nest in Rust.
fn block_comment(rest: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < rest.len() {
        let tail = &rest.as_bytes()[at..];
        if tail.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if tail.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}

/// The length of a string or character literal, prefix and quotes included.
fn literal(rest: &str) -> Option<usize> {
    let prefix = ["br", "cr", "b", "c", "r"]
        .into_iter()
        .find(|prefix| rest.starts_with(prefix))
        .unwrap_or("");
    for prefix in [prefix, ""] {
        let body = &rest[prefix.len()..];
        let hashes = body.len() - body.trim_start_matches('#').len();
        if prefix.ends_with('r') && body[hashes..].starts_with('"') {
            let end = format!("\"{}", "#".repeat(hashes));
            let start = hashes + 1;
            let length = body[start..]
                .find(&end)
                .map_or(body.len(), |found| start + found + end.len());
            return Some(prefix.len() + length);
        }
        if body.starts_with('"') && !prefix.ends_with('r') {
            return Some(prefix.len() + quoted(body, '"'));
        }
        if body.starts_with('\'') && matches!(prefix, "" | "b") && is_character(body) {
            return Some(prefix.len() + quoted(body, '\''));
        }
    }
    None
}

/// `'a'` and `'\n'` are characters; `'a` is a lifetime.
fn is_character(body: &str) -> bool {
    let mut characters = body.chars().skip(1);
    match characters.next() {
        Some('\\') => true,
        Some(_) => characters.next() == Some('\''),
        None => false,
    }
}

/// The length of `body` up to the quote that ends it; a backslash takes the next character with it.
fn quoted(body: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, character) in body.char_indices().skip(1) {
        if escaped {
            escaped = false;
        } else if character == '\\' {
            escaped = true;
        } else if character == quote {
            return at + 1;
        }
    }
    body.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tokens are written with a space between them, each behind the first letter of its kind.
    fn check(source: &str, expected: &str) {
        let tokens: Vec<String> = lex(source)
            .iter()
            .map(|token| {
                let kind = match token.kind {
                    Kind::Word => 'w',
                    Kind::Punct => 'p',
                    Kind::Literal => 's',
                    Kind::Lifetime => 'l',
                    Kind::Comment => 'c',
                };
                format!("{kind}:{}", token.text)
            })
            .collect();
        assert_eq!(tokens.join(" "), expected);
    }

    #[test]
    fn words_and_punctuation_are_separate() {
        check("fn a_1(b: u8)", "w:fn w:a_1 p:( w:b p:: w:u8 p:)");
    }

    #[test]
    fn strings_hide_braces_and_comment_markers() {
        check(r#"a("{ // \" }")"#, r#"w:a p:( s:"{ // \" }" p:)"#);
        check("r#\"a \" b\"# c", "s:r#\"a \" b\"# w:c");
        check(
            r#"b"x" c"y" br"\" b'\''"#,
            r#"s:b"x" s:c"y" s:br"\" s:b'\''"#,
        );
    }

    #[test]
    fn prefixes_without_a_quote_are_words() {
        check("b r c br r#type crate", "w:b w:r w:c w:br w:r#type w:crate");
    }

    #[test]
    fn characters_differ_from_lifetimes() {
        check(
            r"'a' '\'' '紡' &'a 'static",
            r"s:'a' s:'\'' s:'紡' p:& l:'a l:'static",
        );
    }

    #[test]
    fn block_comments_nest() {
        check(
            "a /* b /* c */ d */ e // f\ng",
            "w:a c:/* b /* c */ d */ w:e c:// f w:g",
        );
    }

    #[test]
    fn lines_are_counted_inside_tokens() {
        let lines: Vec<usize> = lex("a\n\"x\ny\" b\n/*\n*/ c")
            .iter()
            .map(|token| token.line)
            .collect();
        assert_eq!(lines, [1, 2, 3, 4, 5]);
    }

    #[test]
    fn an_unfinished_string_reaches_to_the_end() {
        check("a \"b c", "w:a s:\"b c");
    }
}
