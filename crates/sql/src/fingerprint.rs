//! The form of an SQL text: what is left of it without its values and comments, so that statements that differ in these alone are one.
//! Not a parser: what is code, quoted or a comment the scanner says. Rule: no literal is left, whatever the text is.

use crate::scan::{self, Kind, Lexicon, Piece};

/// Bytes of a text that are looked at. Texts that are the same so far have the same form.
pub const FINGERPRINT_SCANNED_MAX: usize = 16 << 10;

/// Bytes of a form. A longer one is cut.
pub const FINGERPRINT_BYTES_MAX: usize = 2_000;

/// Characters of a quoted name. A longer one is taken for a text.
const NAME_LENGTH_MAX: usize = 64;

const VALUE: &str = "?";
const MORE: &str = "…";

/// A form with its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    /// The text with `?` for each value, one space for each gap and `…` for what is repeated, up to [`FINGERPRINT_BYTES_MAX`] bytes.
    pub text: String,
    /// Tells it from others; the same in all processes.
    pub number: u64,
}

/// The form of `sql`, which is written as a database with this lexicon reads it.
#[must_use]
pub fn fingerprint(sql: &str, lexicon: Lexicon) -> Fingerprint {
    let mut form = Form::default();
    for piece in scan::pieces(prefix(sql, FINGERPRINT_SCANNED_MAX), lexicon) {
        match piece.kind {
            Kind::Comment => form.gap = true,
            Kind::Quoted => form.quoted(piece),
            Kind::Code => form.code(piece.text),
        }
    }
    let text = form.into_text();
    let number = hash(&text);
    let text = match text.len() > FINGERPRINT_BYTES_MAX {
        true => format!(
            "{}{MORE}",
            prefix(&text, FINGERPRINT_BYTES_MAX - MORE.len())
        ),
        false => text,
    };
    Fingerprint { text, number }
}

/// At most so many bytes of a text.
fn prefix(text: &str, bytes_max: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes_max))
        .unwrap_or(text)
}

/// FNV-1a.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[derive(Clone, Copy)]
struct Token<'a> {
    text: &'a str,
    /// Whether something without meaning stands in front of it.
    gap: bool,
}

#[derive(Default)]
struct Form<'a> {
    tokens: Vec<Token<'a>>,
    /// Where the brackets begin that are open.
    open: Vec<usize>,
    gap: bool,
}

impl<'a> Form<'a> {
    fn push(&mut self, text: &'a str) {
        let gap = std::mem::take(&mut self.gap);
        self.tokens.push(Token { text, gap });
    }

    /// The text of the token that is so many behind the last.
    fn back(&self, behind: usize) -> &'a str {
        let at = self.tokens.len().checked_sub(behind + 1);
        at.and_then(|at| self.tokens.get(at))
            .map_or("", |token| token.text)
    }

    fn quoted(&mut self, piece: Piece<'a>) {
        let is_text = |c| c == '\'' || c == '$' || c == 'e' || c == 'E' || c == 'q' || c == 'Q';
        if piece.text.starts_with(is_text) || !piece.closed {
            let is_prefix = |word: &str| matches!(word, "n" | "N" | "b" | "B" | "x" | "X");
            if !self.gap && is_prefix(self.back(0)) {
                self.gap = self.tokens.pop().is_some_and(|token| token.gap);
            }
            self.value();
        } else if is_name(piece.text) {
            self.push(piece.text);
        } else {
            self.push("\"…\"");
        }
    }

    fn code(&mut self, text: &'a str) {
        if scan::is_word(text) {
            return self.push(text);
        }
        let is_number = |c: char| c.is_ascii_alphanumeric() || c == '_' || !c.is_ascii();
        if text.starts_with(is_number) {
            return self.value();
        }
        for (at, c) in text.char_indices() {
            let one = text.get(at..at + c.len_utf8()).unwrap_or_default();
            match c {
                _ if c.is_whitespace() || c.is_control() => self.gap = true,
                '(' => {
                    self.open.push(self.tokens.len());
                    self.push(one);
                }
                ')' => {
                    self.push(one);
                    self.close();
                }
                _ => self.push(one),
            }
        }
    }

    /// A value: `1` of `1.5`, `$1` and `?1` among them.
    fn value(&mut self) {
        if !self.gap {
            match (self.back(1), self.back(0)) {
                (VALUE, ".") => {
                    self.tokens.truncate(self.tokens.len() - 1);
                    return;
                }
                (_, VALUE) => return,
                (_, "." | "$") => {
                    let gap = self.tokens.pop().is_some_and(|token| token.gap);
                    self.gap = gap;
                }
                _ => {}
            }
        }
        self.push(VALUE);
    }

    /// What is between brackets that have just been closed: values of `in` become one, and what repeats the brackets in front of it is dropped.
    fn close(&mut self) {
        let Some(start) = self.open.pop() else { return };
        let inner = self.tokens.get(start + 1..self.tokens.len() - 1);
        let inner = inner.unwrap_or_default();
        let before = start.checked_sub(1).and_then(|at| self.tokens.get(at));
        let is_list = !inner.is_empty()
            && inner
                .iter()
                .all(|token| matches!(token.text, VALUE | "," | "-" | "+"))
            && before.is_some_and(|token| token.text.eq_ignore_ascii_case("in"));
        if is_list {
            self.tokens.truncate(start + 1);
            self.gap = false;
            self.push(MORE);
            self.push(")");
            return;
        }
        let (before, group) = self.tokens.split_at(start.min(self.tokens.len()));
        let Some(before) = strip(before, ",") else {
            return;
        };
        let (earlier, is_marked) = match strip(before, MORE).and_then(|rest| strip(rest, ",")) {
            Some(rest) => (rest, true),
            None => (before, false),
        };
        let from = earlier.len().saturating_sub(group.len());
        let last = earlier.get(from..).unwrap_or_default();
        let is_same =
            last.len() == group.len() && last.iter().zip(group).all(|(a, b)| a.text == b.text);
        if is_same {
            let end = before.len();
            self.tokens.truncate(end);
            if !is_marked {
                self.gap = false;
                self.push(",");
                self.push(MORE);
            }
        }
    }

    fn into_text(self) -> String {
        let mut out = String::new();
        let mut last = "";
        let end = self.tokens.iter().rposition(|token| token.text != ";");
        for token in self.tokens.iter().take(end.map_or(0, |end| end + 1)) {
            let is_tight = matches!(token.text, "," | ")" | ";") || matches!(last, "" | "(");
            if (token.gap || last == ",") && !is_tight {
                out.push(' ');
            }
            out.push_str(token.text);
            last = token.text;
        }
        out
    }
}

/// What is in front of a last token of this text.
fn strip<'t, 'a>(tokens: &'t [Token<'a>], text: &str) -> Option<&'t [Token<'a>]> {
    let (last, before) = tokens.split_last()?;
    (last.text == text).then_some(before)
}

/// Whether a quoted name looks like one: databases that find no such column take it for a text.
fn is_name(quoted: &str) -> bool {
    let mut characters = quoted.chars();
    let (_, _) = (characters.next(), characters.next_back());
    let name = characters.as_str();
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | ' ');
    name.chars().all(is_part)
        && name.chars().count() <= NAME_LENGTH_MAX
        && !name.starts_with(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FIREBIRD, POSTGRES, SQLITE};

    fn check(sql: &str, expected: &str) {
        for dialect in [&SQLITE, &POSTGRES, &FIREBIRD] {
            let seen = fingerprint(sql, dialect.lexicon);
            assert_eq!(seen.text, expected, "{sql:?} on {}", dialect.name);
        }
    }

    #[test]
    fn values_become_question_marks() {
        check("select * from t where a = 1", "select * from t where a = ?");
        check(
            "select 'it''s', 1.5, .5, -7, 1e5, 0xff",
            "select ?, ?, ?, -?, ?, ?",
        );
        check("select x'ff', N'a' , 'b'", "select ?, ?, ?");
        check("select a1, t2.b3 from t2", "select a1, t2.b3 from t2");
        check("where a = $1 and b = $22", "where a = ? and b = ?");
        check("where a = ?1 and b = ?", "where a = ? and b = ?");
        check("limit 10 offset 20;", "limit ? offset ?");
        check("select 'open", "select ?");
    }

    #[test]
    fn comments_and_gaps_are_one_space() {
        check(" select\n\t a -- 'secret'\n , /* 5 */ b", "select a, b");
        check("select a/* open", "select a");
        check("f( a ,b )", "f(a, b)");
        check("", "");
        check(" ; ;", "");
    }

    #[test]
    fn lists_of_in_are_one_whatever_their_length() {
        let expected = "select 1 from t where a in (…)".replace('1', "?");
        for list in ["1", "1, 2", "?,?,?", "$1, $2", "'a', 'b'", "-1, 2"] {
            check(&format!("select 1 from t where a in ({list})"), &expected);
        }
        check(
            "where a IN (1, 2) or b in (c, 1)",
            "where a IN (…) or b in (c, ?)",
        );
        check("where a in (select 1)", "where a in (select ?)");
    }

    #[test]
    fn repeated_rows_are_one() {
        check(
            "insert into t values (1, 'a')",
            "insert into t values (?, ?)",
        );
        for more in [", (2, 'b')", ", (2, 'b'), (3, 'c')", ",(?,?),(?,?),(?,?)"] {
            check(
                &format!("insert into t values (1, 'a'){more}"),
                "insert into t values (?, ?), …",
            );
        }
        check("values (1), (2, 3), (4)", "values (?), (?, ?), (?)");
    }

    #[test]
    fn strings_of_one_database_are_values_there() {
        let of = |sql, lexicon| fingerprint(sql, lexicon).text;
        assert_eq!(
            of(r"select e'a\' secret', $x$ secret $x$", POSTGRES.lexicon),
            "select ?, ?"
        );
        assert_eq!(
            of("select q'{it's secret}' from t", FIREBIRD.lexicon),
            "select ? from t"
        );
        assert_eq!(
            of("select `a`, [b c] from t", SQLITE.lexicon),
            "select `a`, [b c] from t"
        );
        assert_eq!(
            of("select RDB$X from RDB$DATABASE", FIREBIRD.lexicon),
            "select RDB$X from RDB$DATABASE"
        );
    }

    #[test]
    fn names_in_quotes_stay_where_they_look_like_names() {
        check(
            "select \"Größe\", \"a b\" from \"t1\"",
            "select \"Größe\", \"a b\" from \"t1\"",
        );
        check("where a = \"sk-live-1234\"", "where a = \"…\"");
        check("where a = \"4111111111111111\"", "where a = \"…\"");
        check(
            &format!("\"{}\"", "a".repeat(NAME_LENGTH_MAX)),
            &format!("\"{}\"", "a".repeat(NAME_LENGTH_MAX)),
        );
        check(&format!("\"{}\"", "a".repeat(NAME_LENGTH_MAX + 1)), "\"…\"");
    }

    #[test]
    fn long_texts_are_cut_and_keep_their_numbers_apart() {
        let column = |at: usize| {
            format!(
                "column_{}",
                char::from(b'a' + u8::try_from(at % 26).unwrap())
            )
        };
        let names: Vec<_> = (0..300).map(column).collect();
        let one = format!("select {} from a", names.join(", "));
        let other = format!("select {} from b", names.join(", "));
        let (one, other) = (
            fingerprint(&one, SQLITE.lexicon),
            fingerprint(&other, SQLITE.lexicon),
        );
        assert!(
            one.text.len() <= FINGERPRINT_BYTES_MAX,
            "{}",
            one.text.len()
        );
        assert_eq!(one.text, other.text);
        assert_ne!(one.number, other.number);
        // What is beyond what is looked at, cut within a literal too, is not shown.
        let beyond = format!("select '{}", "é".repeat(FINGERPRINT_SCANNED_MAX));
        assert_eq!(fingerprint(&beyond, SQLITE.lexicon).text, "select ?");
    }

    /// Texts made of parts by a plain generator of numbers: none of the literals is left, and nothing panics.
    #[test]
    fn literals_of_generated_texts_are_never_left() {
        const PARTS: [&str; 26] = [
            "select ",
            "a",
            "\"b\"",
            ", ",
            "(",
            ")",
            " in (",
            "'SECRET'",
            "'it''s SECRET'",
            " 7777 ",
            "=7777",
            ".7777",
            "7777.7777",
            "?",
            "$1",
            " -- SECRET\n",
            "/* SECRET */",
            "n'SECRET'",
            " and ",
            " or ",
            "x",
            "::int",
            "\u{3000}",
            "名",
            "values (7777, 'SECRET'), (7777, 'SECRET')",
            ";",
        ];
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        for _ in 0..20_000 {
            let mut sql = String::new();
            for _ in 0..12 {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                let at = usize::try_from(state % PARTS.len() as u64).unwrap();
                // A word in front of a number makes one word of both.
                if sql.ends_with(|c: char| c.is_alphanumeric() || c == '$') {
                    sql.push(' ');
                }
                sql.push_str(PARTS[at]);
            }
            for dialect in [&SQLITE, &POSTGRES, &FIREBIRD] {
                let seen = fingerprint(&sql, dialect.lexicon);
                assert!(!seen.text.contains("SECRET"), "{sql:?}: {}", seen.text);
                assert!(!seen.text.contains("7777"), "{sql:?}: {}", seen.text);
            }
        }
    }
}
