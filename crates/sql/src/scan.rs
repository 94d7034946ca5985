//! Looks through SQL that the caller wrote: what in it is code, what is quoted, what is a comment, and where its placeholders are.
//! A scanner, not a parser: it knows no grammar. Rule: the pieces joined are the text, whatever the text is.

/// What a database's SQL has beside `'…'`, `"…"`, `--` and `/* */`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lexicon {
    /// `e'…'`, in which a backslash escapes, and `$tag$…$tag$`.
    pub postgres_strings: bool,
    /// Comments within comments.
    pub nested_comments: bool,
    /// Names as `` `…` `` and `[…]`.
    pub foreign_quotes: bool,
    /// `q'{…}'` with any character or pair of brackets.
    pub alternative_strings: bool,
}

/// What a piece is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Words, operators, placeholders.
    Code,
    /// A literal or a quoted name.
    Quoted,
    /// A comment.
    Comment,
}

/// A piece of SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece<'a> {
    /// What it is.
    pub kind: Kind,
    /// Its text, with its quotes.
    pub text: &'a str,
    /// False for what the text's end cut off: a literal without its closing quote, a comment without its `*/` or line break.
    pub closed: bool,
}

/// The pieces of `sql`, in order.
pub fn pieces(sql: &str, lexicon: Lexicon) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = sql;
    std::iter::from_fn(move || piece(&mut rest, lexicon))
}

/// The words outside quotes and comments, each with where it ends.
pub fn words(sql: &str, lexicon: Lexicon) -> impl Iterator<Item = (&str, usize)> {
    let mut end = 0;
    pieces(sql, lexicon).filter_map(move |piece| {
        end += piece.text.len();
        let is_word = piece.kind == Kind::Code && is_word(piece.text);
        is_word.then_some((piece.text, end))
    })
}

/// Whether a piece of code is a word.
pub fn is_word(code: &str) -> bool {
    code.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// A piece of the text that is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SentPiece<'a> {
    /// What stays as it is.
    Same(&'a str),
    /// `??`, for which one question mark is sent.
    Question,
    /// `?`, the so many-th from 1.
    Placeholder(usize),
}

/// Calls `each` for what is sent instead of `sql`, piece by piece, with the offset in `sql` in bytes.
pub fn translate<'a>(sql: &'a str, lexicon: Lexicon, mut each: impl FnMut(SentPiece<'a>, usize)) {
    let (mut at, mut number) = (0, 0);
    for piece in pieces(sql, lexicon) {
        let mut left = piece.text;
        while piece.kind == Kind::Code
            && let Some((before, after)) = left.split_once('?')
        {
            each(SentPiece::Same(before), at);
            at += before.len();
            if let Some(after) = after.strip_prefix('?') {
                each(SentPiece::Question, at);
                (at, left) = (at + 2, after);
            } else {
                number += 1;
                each(SentPiece::Placeholder(number), at);
                (at, left) = (at + 1, after);
            }
        }
        each(SentPiece::Same(left), at);
        at += left.len();
    }
}

/// Whether `$1` right after this text would be a part of its last word.
pub fn swallows_number(before: &str) -> bool {
    before.ends_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$') || !c.is_ascii())
}

/// Takes the next piece off `rest`.
fn piece<'a>(rest: &mut &'a str, lexicon: Lexicon) -> Option<Piece<'a>> {
    let bytes = rest.as_bytes();
    let (first, second) = (*bytes.first()?, bytes.get(1).copied());
    let (kind, end) = match first {
        b'\'' | b'"' => (Kind::Quoted, quoted(bytes, 0, false)),
        b'`' if lexicon.foreign_quotes => (Kind::Quoted, quoted(bytes, 0, false)),
        b'[' if lexicon.foreign_quotes => (Kind::Quoted, after(bytes, 1, b"]")),
        b'-' if second == Some(b'-') => (Kind::Comment, after(bytes, 2, b"\n")),
        b'/' if second == Some(b'*') => (Kind::Comment, comment(bytes, lexicon.nested_comments)),
        b'$' if lexicon.postgres_strings => match dollar_quoted(rest) {
            Some(end) => (Kind::Quoted, end),
            None => (Kind::Code, Some(1)),
        },
        b'e' | b'E' if lexicon.postgres_strings && second == Some(b'\'') => {
            (Kind::Quoted, quoted(bytes, 1, true))
        }
        b'q' | b'Q' if lexicon.alternative_strings && second == Some(b'\'') => {
            (Kind::Quoted, alternative(rest))
        }
        _ => (Kind::Code, Some(code(bytes, lexicon))),
    };
    let (text, after) = rest.split_at_checked(end.unwrap_or(rest.len()))?;
    *rest = after;
    let closed = end.is_some();
    Some(Piece { kind, text, closed })
}

/// How far plain text goes: a word at a time, so that the `e` of `e'…'` is seen only where a word begins.
fn code(bytes: &[u8], lexicon: Lexicon) -> usize {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80;
    let in_word = bytes.first().is_some_and(|byte| is_word(*byte));
    let in_number = bytes.first().is_some_and(u8::is_ascii_digit);
    let ends = |byte: u8| match byte {
        // A `$` within a word belongs to it; after a number, that of `$1` too, it begins something.
        b'$' => !in_word || in_number,
        b'`' | b'[' => in_word || lexicon.foreign_quotes,
        b'\'' | b'"' | b'-' | b'/' => true,
        byte => is_word(byte) != in_word,
    };
    let end = bytes.iter().skip(1).position(|byte| ends(*byte));
    end.map_or(bytes.len(), |end| end + 1)
}

/// Where text in quotes ends that begins at `start`. A doubled quote stands for itself; a backslash only where it escapes.
fn quoted(bytes: &[u8], start: usize, escapes: bool) -> Option<usize> {
    let quote = *bytes.get(start)?;
    let mut at = start + 1;
    loop {
        match *bytes.get(at)? {
            b'\\' if escapes => at += 2,
            byte if byte == quote && bytes.get(at + 1) == Some(&quote) => at += 2,
            byte if byte == quote => return Some(at + 1),
            _ => at += 1,
        }
    }
}

/// The offset after the first `mark` from `start` on.
fn after(bytes: &[u8], start: usize, mark: &[u8]) -> Option<usize> {
    let at = bytes
        .get(start..)?
        .windows(mark.len())
        .position(|window| window == mark)?;
    Some(start + at + mark.len())
}

/// Where a block comment ends.
fn comment(bytes: &[u8], nested: bool) -> Option<usize> {
    let (mut at, mut depth) = (2, 1);
    while depth > 0 {
        match (bytes.get(at)?, bytes.get(at + 1)) {
            (b'*', Some(b'/')) => (at, depth) = (at + 2, depth - 1),
            (b'/', Some(b'*')) if nested => (at, depth) = (at + 2, depth + 1),
            _ => at += 1,
        }
    }
    Some(at)
}

/// Where `$tag$…$tag$` ends, if this is one; the inner `None` if the text ends before it does.
fn dollar_quoted(rest: &str) -> Option<Option<usize>> {
    let tag = rest.get(1..)?;
    let (name, _) = tag.split_once('$')?;
    let first_is_digit = name.starts_with(|c: char| c.is_ascii_digit());
    if first_is_digit || !name.chars().all(|c| c.is_alphanumeric() || c == '_') {
        return None;
    }
    let mark = rest.get(..name.len() + 2)?;
    Some(after(rest.as_bytes(), mark.len(), mark.as_bytes()))
}

/// Where `q'{…}'` ends.
fn alternative(rest: &str) -> Option<usize> {
    let open = rest.get(2..)?.chars().next()?;
    let close = match open {
        '(' => ')',
        '[' => ']',
        '{' => '}',
        '<' => '>',
        same => same,
    };
    let start = 2 + open.len_utf8();
    let mut mark = [0; 5];
    let length = close.encode_utf8(&mut mark).len();
    *mark.get_mut(length)? = b'\'';
    after(rest.as_bytes(), start, mark.get(..=length)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FIREBIRD, POSTGRES, SQLITE};

    /// The text with `:1`, `:2` for its placeholders, in the lexicon of each database.
    #[track_caller]
    fn check(sql: &str, sqlite: &str, postgres: &str, firebird: &str) {
        for (dialect, expected) in [
            (&SQLITE, sqlite),
            (&POSTGRES, postgres),
            (&FIREBIRD, firebird),
        ] {
            let mut out = String::new();
            translate(sql, dialect.lexicon, |sent, at| match sent {
                SentPiece::Same(text) => {
                    assert_eq!(sql.get(at..at + text.len()), Some(text));
                    out.push_str(text);
                }
                SentPiece::Question => out.push('?'),
                SentPiece::Placeholder(number) => out += &format!(":{number}"),
            });
            assert_eq!(out, expected, "{}", dialect.name);
        }
    }

    #[test]
    fn placeholders_are_found_where_there_is_code() {
        let same = |sql: &str, expected: &str| check(sql, expected, expected, expected);
        same("select ?, ? + ?", "select :1, :2 + :3");
        same("'?' || ? || 'it''s ?'", "'?' || :1 || 'it''s ?'");
        same("\"a?\"\"?\" = ?", "\"a?\"\"?\" = :1");
        same("? -- what?\n, ?", ":1 -- what?\n, :2");
        same("a ?? b ??? c", "a ? b ?:1 c");
        same("'open ?", "'open ?");
        same("/* open ?", "/* open ?");
        same("名 = ?", "名 = :1");
    }

    #[test]
    fn quotes_and_comments_follow_the_lexicon_of_the_database() {
        check(
            "`a?` = [b?]",
            "`a?` = [b?]",
            "`a:1` = [b:2]",
            "`a:1` = [b:2]",
        );
        check(
            "/* ? /* ? */ ? */ ?",
            "/* ? /* ? */ :1 */ :2",
            "/* ? /* ? */ ? */ :1",
            "/* ? /* ? */ :1 */ :2",
        );
        check(
            r"e'\'?' || ?",
            r"e'\':1' || ?",
            r"e'\'?' || :1",
            r"e'\':1' || ?",
        );
        check(
            "$a$ ? $a$ || ?",
            "$a$ :1 $a$ || :2",
            "$a$ ? $a$ || :1",
            "$a$ :1 $a$ || :2",
        );
        check(
            "?$a$ ? $a$, 1$a$ ? $a$, x1$a$ ?",
            ":1$a$ :2 $a$, 1$a$ :3 $a$, x1$a$ :4",
            ":1$a$ ? $a$, 1$a$ ? $a$, x1$a$ :2",
            ":1$a$ :2 $a$, 1$a$ :3 $a$, x1$a$ :4",
        );
        check(
            "q'{it's ?}' || ?",
            "q'{it's :1}' || ?",
            "q'{it's :1}' || ?",
            "q'{it's ?}' || :1",
        );
        check(
            "name'\\' || ?",
            "name'\\' || :1",
            "name'\\' || :1",
            "name'\\' || :1",
        );
    }

    #[test]
    fn unterminated_piece_is_not_closed() {
        let closed = |sql: &str| pieces(sql, POSTGRES.lexicon).all(|piece| piece.closed);
        for sql in [
            "'a'",
            "\"a\"\"b\"",
            "-- a\n",
            "/* a */",
            "$$ a $$",
            "e'a'",
            "a$b",
            "$",
            "$1$a$ ' $a$",
        ] {
            assert!(closed(sql), "{sql}");
        }
        for sql in [
            "'a", "\"a\"\"", "-- a", "/* a *", "/* /* */", "$$ a $", "e'a\\'", "/*/",
        ] {
            assert!(!closed(sql), "{sql}");
        }
    }
}
