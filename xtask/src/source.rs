//! A source file as tokens and items, so that no rule mistakes a string or a comment for code. proc-macro2 cuts, syn reads signatures and imports.
//! Items are found in macros too, which syn by itself does not look into. C is close enough to be cut in the same way, as long as it has no
//! literals that Rust lacks and no lines that a backslash continues.
//! Rule: every character of the text but white space belongs to one token or to one comment, in order.

use std::ops::Range;

use proc_macro2::{TokenStream, TokenTree};

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An identifier or a keyword.
    Word,
    /// One punctuation character, or a lifetime with its quote.
    Punct,
    /// A number, or a string or character with its quotes and prefix.
    Literal,
}

/// One token, borrowed from the text.
#[derive(Clone, Copy, Debug)]
pub struct Token<'t> {
    pub kind: Kind,
    pub text: &'t str,
    /// Where it begins, counted from 1.
    pub line: usize,
    /// The index of the next token; behind an opening bracket that after the closing one.
    pub after: usize,
    /// Where it begins in the text, in bytes.
    start: usize,
}

impl Token<'_> {
    fn end(&self) -> usize {
        self.start + self.text.len()
    }
}

/// Something with a name. Definitions inside of others are here too.
#[derive(Clone, Copy, Debug)]
pub struct Item<'t> {
    /// `fn`, `mod`, `const`, `static`, `macro_rules`, or what [`Item::is_type`] takes.
    pub keyword: &'t str,
    pub name: &'t str,
    /// `pub` or `pub(…)` as it is written; empty for what is private.
    pub visibility: &'t str,
    pub line: usize,
    /// The index of the keyword among the tokens.
    pub at: usize,
    /// How many brackets are around it.
    pub depth: usize,
    /// Whether this is `mod name { … }`.
    pub is_inline_module: bool,
}

impl Item<'_> {
    pub fn is_type(&self) -> bool {
        ["struct", "enum", "union", "trait", "type"].contains(&self.keyword)
    }
}

/// A text, cut.
#[derive(Default)]
pub struct Source<'t> {
    text: &'t str,
    pub tokens: Vec<Token<'t>>,
    pub items: Vec<Item<'t>>,
    /// What stands between tokens, with the line where it begins; documentation is a comment too.
    pub comments: Vec<(usize, &'t str)>,
    /// What stands under `#[cfg(test)]`, with its attributes.
    pub tests: Vec<Range<usize>>,
    /// Why there are no tokens, and the line of the reason.
    pub error: Option<(usize, String)>,
}

impl<'t> Source<'t> {
    pub fn of(text: &'t str) -> Self {
        let mut source = Source {
            text,
            ..Source::default()
        };
        match text.parse::<TokenStream>() {
            Ok(stream) => {
                let mut place = (0, 1);
                source.cut(stream, &mut place);
                source.comment(text.len(), &mut place);
            }
            Err(error) => source.error = Some((error.span().start().line, error.to_string())),
        }
        source.items = source.find_items();
        source.tests = source.find_tests();
        source
    }

    /// Whether the tokens from `at` on are these, given with a space between them.
    pub fn reads(&self, at: usize, tokens: &str) -> bool {
        let mut rest = self.tokens.iter().skip(at);
        let mut is_next = |text: &str| rest.next().is_some_and(|token| token.text == text);
        tokens.split(' ').all(&mut is_next)
    }

    /// The indices at which these tokens begin.
    pub fn find(&self, tokens: &str) -> impl Iterator<Item = usize> {
        (0..self.tokens.len()).filter(move |&at| self.reads(at, tokens))
    }

    pub fn has(&self, tokens: &str) -> bool {
        self.find(tokens).next().is_some()
    }

    /// The inline modules under `#[cfg(test)]`.
    pub fn test_modules(&self) -> impl Iterator<Item = &Range<usize>> {
        self.tests.iter().filter(|range| {
            let mut at = range.start;
            while self.reads(at, "# [") {
                at = self.tokens[at + 1].after;
            }
            self.reads(at, "mod") && self.reads(at + 2, "{")
        })
    }

    /// The tokens outside of [`Source::test_modules`].
    pub fn without_test_modules(&self) -> impl Iterator<Item = &Token<'t>> {
        let modules: Vec<_> = self.test_modules().collect();
        let outside = move |at: &usize| !modules.iter().any(|module| module.contains(at));
        (0..self.tokens.len())
            .filter(outside)
            .map(|at| &self.tokens[at])
    }

    /// The brace or semicolon behind the signature of the function at `at`.
    pub fn end_of_signature(&self, mut at: usize) -> Option<usize> {
        loop {
            match self.tokens.get(at)?.text {
                "{" | ";" => return Some(at),
                ")" | "]" | "}" => return None,
                _ => at = self.tokens[at].after,
            }
        }
    }

    /// The signature of a function; nothing where a macro repeats a part of it.
    pub fn signature(&self, function: &Item<'_>) -> Option<syn::Signature> {
        let end = self.end_of_signature(function.at)?;
        self.parse(function.at..end)
    }

    /// The tokens of `range`, read by syn. What a macro puts in is taken for its name.
    pub fn parse<T: syn::parse::Parse>(&self, range: Range<usize>) -> Option<T> {
        let last = &self.tokens[range.end - 1];
        let text = &self.text[self.tokens[range.start].start..last.end()];
        syn::parse_str(&text.replace('$', "")).ok()
    }

    /// `pub` or `pub(…)` before the keyword at `at` and its qualifiers.
    pub fn visibility(&self, at: usize) -> &'t str {
        let is_qualifier = |token: &Token<'_>| {
            token.kind == Kind::Literal
                || ["const", "async", "unsafe", "extern"].contains(&token.text)
        };
        let before = &self.tokens[..at];
        let last = before.iter().rposition(|token| !is_qualifier(token));
        let first = last.and_then(|last| match before[last].text {
            ")" => before[..last]
                .iter()
                .rposition(|token| token.text == "(")?
                .checked_sub(1),
            _ => Some(last),
        });
        match (first, last) {
            (Some(first), Some(last)) if before[first].text == "pub" => {
                &self.text[before[first].start..before[last].end()]
            }
            _ => "",
        }
    }

    fn cut(&mut self, stream: TokenStream, place: &mut (usize, usize)) {
        let mut trees = stream.into_iter();
        while let Some(tree) = trees.next() {
            let mut range = tree.span().byte_range();
            let rest = &self.text[range.start..];
            // Documentation comes as attributes.
            if rest.starts_with("//") || rest.starts_with("/*") {
                continue;
            }
            match tree {
                TokenTree::Group(group) => {
                    let open = self.tokens.len();
                    self.push(Kind::Punct, group.span_open().byte_range(), place);
                    self.cut(group.stream(), place);
                    self.push(Kind::Punct, group.span_close().byte_range(), place);
                    self.tokens[open].after = self.tokens.len();
                }
                TokenTree::Punct(punct) => {
                    if punct.as_char() == '\''
                        && let Some(name) = trees.next()
                    {
                        range.end = name.span().byte_range().end;
                    }
                    self.push(Kind::Punct, range, place);
                }
                TokenTree::Ident(_) => self.push(Kind::Word, range, place),
                TokenTree::Literal(_) => self.push(Kind::Literal, range, place),
            }
        }
    }

    /// `place` is the end of the last token, in bytes, and its line.
    fn push(&mut self, kind: Kind, range: Range<usize>, place: &mut (usize, usize)) {
        self.comment(range.start, place);
        let text = &self.text[range.clone()];
        self.tokens.push(Token {
            kind,
            text,
            line: place.1,
            after: self.tokens.len() + 1,
            start: range.start,
        });
        *place = (range.end, place.1 + text.matches('\n').count());
    }

    /// Takes what stands before `end`.
    fn comment(&mut self, end: usize, place: &mut (usize, usize)) {
        let text = &self.text[place.0..end];
        if !text.trim().is_empty() {
            self.comments.push((place.1, text));
        }
        *place = (end, place.1 + text.matches('\n').count());
    }

    fn find_items(&self) -> Vec<Item<'t>> {
        let mut items = Vec::new();
        let mut depth = 0_usize;
        for (at, token) in self.tokens.iter().enumerate() {
            let keyword = token.text;
            let name = match keyword {
                "(" | "[" | "{" => {
                    depth += 1;
                    continue;
                }
                ")" | "]" | "}" => {
                    depth -= 1;
                    continue;
                }
                "macro_rules" if self.reads(at + 1, "!") => at + 2,
                "const" | "static" if self.reads(at + 2, ":") => at + 1,
                "fn" | "mod" | "struct" | "enum" | "union" | "trait" | "type" => at + 1,
                _ => continue,
            };
            let name = self.tokens.get(name);
            if let Some(name) = name.filter(|name| name.kind == Kind::Word) {
                items.push(Item {
                    keyword,
                    name: name.text,
                    visibility: self.visibility(at),
                    line: token.line,
                    at,
                    depth,
                    is_inline_module: keyword == "mod" && self.reads(at + 2, "{"),
                });
            }
        }
        items
    }

    fn find_tests(&self) -> Vec<Range<usize>> {
        let mut tests: Vec<Range<usize>> = Vec::new();
        for start in self.find("# [ cfg ( test ) ]") {
            if tests.last().is_some_and(|last| last.contains(&start)) {
                continue;
            }
            let mut at = start;
            // To the end of the item: its block, or the semicolon or comma before one.
            while let Some(token) = self.tokens.get(at) {
                if [")", "]", "}"].contains(&token.text) {
                    break;
                }
                at = token.after;
                if token.text == "{" {
                    // `use a::{b, c};`
                    at += usize::from(self.reads(at, ";"));
                }
                if ["{", ";", ","].contains(&token.text) {
                    break;
                }
            }
            tests.push(start..at);
        }
        tests
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tokens are written with a space between them, each behind the first letter of its kind; comments follow.
    fn check(text: &str, expected: &str) {
        let source = Source::of(text);
        let mut found = Vec::new();
        for token in &source.tokens {
            let kind = match token.kind {
                Kind::Word => 'w',
                Kind::Punct => 'p',
                Kind::Literal => 's',
            };
            found.push(format!("{kind}:{}", token.text));
        }
        let comments = source.comments.iter();
        found.extend(comments.map(|(_, text)| format!("c:{}", text.trim())));
        assert_eq!(found.join(" "), expected);
    }

    #[test]
    fn words_and_punctuation_are_separate() {
        check(
            "fn a_1(b: u8) -> r#type",
            "w:fn w:a_1 p:( w:b p:: w:u8 p:) p:- p:> w:r#type",
        );
    }

    #[test]
    fn prefixes_without_a_quote_are_words() {
        check("b r c br crate", "w:b w:r w:c w:br w:crate");
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
    fn characters_differ_from_lifetimes() {
        check(
            r"'a' '\'' '紡' &'a 'static",
            r"s:'a' s:'\'' s:'紡' p:& p:'a p:'static",
        );
    }

    #[test]
    fn comments_and_documentation_are_no_tokens() {
        check(
            "//! z\na /* b /* c */ d */ e // f\n/// g\nh",
            "w:a w:e w:h c://! z c:/* b /* c */ d */ c:// f\n/// g",
        );
    }

    #[test]
    fn lines_are_counted_inside_tokens_and_comments() {
        let source = Source::of("a\n\"x\ny\" b\n/*\n*/ c // d");
        let lines: Vec<usize> = source.tokens.iter().map(|token| token.line).collect();
        assert_eq!(lines, [1, 2, 3, 5]);
        let lines: Vec<usize> = source.comments.iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [3, 5]);
    }

    #[test]
    fn text_that_cannot_be_cut_says_why() {
        let source = Source::of("a\n}");
        assert_eq!(source.error.map(|(line, _)| line), Some(2));
    }

    #[test]
    fn items_of_macros_and_bodies_are_found_with_their_visibility() {
        let text = "pub(crate) const unsafe fn a() { struct B; }\nm! { pub enum C {} mod d {} }\n\
            macro_rules! e { () => { static F: *const u8 = 0; } } type G = fn(&'static u8);";
        let source = Source::of(text);
        let items = source.items.iter().map(|item| {
            let Item {
                keyword,
                name,
                visibility,
                depth,
                ..
            } = item;
            format!("{visibility} {keyword} {name} {depth}")
        });
        assert_eq!(
            items.collect::<Vec<_>>(),
            [
                "pub(crate) fn a 0",
                " struct B 1",
                "pub enum C 1",
                " mod d 1",
                " macro_rules e 0",
                " static F 2",
                " type G 0"
            ]
        );
    }
}
