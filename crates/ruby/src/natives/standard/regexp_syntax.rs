//! Ruby's regular expressions rewritten for the engine, where the two differ: ASCII classes `\d \w \s`, Unicode POSIX
//! brackets, `m` for "dot matches newline", escapes. Pure text to text; what is wrong in it is left for the engine to say.

use std::fmt::Write as _;
use std::iter::Peekable;
use std::str::Chars;

/// What the engine is given for Ruby's `source`.
pub(crate) fn translate(source: &str) -> String {
    let mut translator = Translator {
        rest: source.chars().peekable(),
        out: String::with_capacity(source.len() + 16),
    };
    translator.pattern();
    translator.out
}

struct Translator<'s> {
    rest: Peekable<Chars<'s>>,
    out: String,
}

impl Translator<'_> {
    fn pattern(&mut self) {
        while let Some(char) = self.rest.next() {
            match char {
                '\\' => self.escape(Within::Pattern),
                '[' => self.class(),
                '(' => self.group(),
                _ => self.out.push(char),
            }
        }
    }

    /// After `(`: comments go, the flags of `(?imx-imx)` are renamed.
    fn group(&mut self) {
        if self.rest.peek() != Some(&'?') {
            self.out.push('(');
            return;
        }
        self.rest.next();
        if self.rest.peek() == Some(&'#') {
            while let Some(char) = self.rest.next() {
                match char {
                    '\\' => drop(self.rest.next()),
                    ')' => break,
                    _ => {}
                }
            }
            return;
        }
        self.out.push_str("(?");
        while let Some(flag @ ('i' | 'm' | 'x' | '-')) = self.rest.peek().copied() {
            self.out.push(if flag == 'm' { 's' } else { flag });
            self.rest.next();
        }
    }

    /// After `[`.
    fn class(&mut self) {
        self.out.push('[');
        if self.rest.peek() == Some(&'^') {
            self.rest.next();
            self.out.push('^');
        }
        if self.rest.peek() == Some(&']') {
            self.rest.next();
            self.out.push_str("\\]");
        }
        while let Some(char) = self.rest.next() {
            match char {
                ']' => {
                    self.out.push(']');
                    return;
                }
                '[' if self.rest.peek() == Some(&':') => self.posix(),
                '[' => self.class(),
                '\\' => self.escape(Within::Class),
                // The engine reads these in its own way: white space under `x`, set operators.
                ' ' | '#' | '\n' | '\t' | '~' => self.code(u32::from(char)),
                _ => self.out.push(char),
            }
        }
    }

    /// After `[` of `[:alpha:]`.
    fn posix(&mut self) {
        let ahead: String = self.rest.clone().take_while(|char| *char != ']').collect();
        let Some(name) = ahead.strip_prefix(':').and_then(|s| s.strip_suffix(':')) else {
            self.class();
            return;
        };
        self.rest.nth(ahead.chars().count());
        let (name, negated) = match name.strip_prefix('^') {
            Some(name) => (name, "^"),
            None => (name, ""),
        };
        match property(name) {
            Some(members) => {
                let _ = write!(self.out, "[{negated}{members}]"); // a String takes every write
            }
            None => {
                let _ = write!(self.out, "[[:{negated}{name}:]]"); // the engine says that it is unknown
            }
        }
    }

    fn code(&mut self, code: u32) {
        let _ = write!(self.out, "\\x{{{code:x}}}"); // a String takes every write
    }

    /// After a backslash.
    fn escape(&mut self, within: Within) {
        let Some(char) = self.rest.next() else {
            self.out.push('\\');
            return;
        };
        if let Some(members) = shorthand(char.to_ascii_lowercase())
            && char.is_ascii_alphabetic()
        {
            let negated = char.is_ascii_uppercase();
            match (within, negated) {
                (Within::Class, false) => self.out.push_str(members),
                (_, false) => drop(write!(self.out, "[{members}]")),
                (_, true) => drop(write!(self.out, "[^{members}]")),
            }
            return;
        }
        match char {
            'p' | 'P' => self.property(char),
            'u' => self.unicode(),
            'x' => self.digits(16, 2),
            '0' => self.digits(8, 2),
            'a' => self.code(7),
            'e' => self.code(0x1b),
            'b' if within == Within::Class => self.code(8),
            'c' => self.control(),
            'C' if self.rest.peek() == Some(&'-') => {
                self.rest.next();
                self.control();
            }
            'n' | 't' | 'r' | 'f' | 'v' => {
                self.out.push('\\');
                self.out.push(char);
            }
            '1'..='9' | 'A' | 'z' | 'Z' | 'b' | 'B' | 'G' | 'K' | 'R' | 'X' | 'k' | 'g'
                if within == Within::Pattern =>
            {
                self.out.push('\\');
                self.out.push(char);
            }
            _ if char.is_ascii_punctuation() => {
                self.out.push('\\');
                self.out.push(char);
            }
            ' ' | '\n' => self.code(u32::from(char)),
            _ => self.out.push(char),
        }
    }

    fn control(&mut self) {
        match self.rest.next() {
            Some(char) => self.code(u32::from(char) & 0x1f),
            None => self.out.push_str("\\c"),
        }
    }

    fn digits(&mut self, radix: u32, max: usize) {
        let mut code = 0;
        for _ in 0..max {
            let Some(digit) = self.rest.peek().and_then(|char| char.to_digit(radix)) else {
                break;
            };
            code = code * radix + digit;
            self.rest.next();
        }
        self.code(code);
    }

    /// After `\u`: four digits, or several codes in braces.
    fn unicode(&mut self) {
        if self.rest.peek() != Some(&'{') {
            self.digits(16, 4);
            return;
        }
        self.rest.next();
        let codes: String = self.rest.by_ref().take_while(|char| *char != '}').collect();
        for code in codes.split_whitespace() {
            match u32::from_str_radix(code, 16) {
                Ok(code) => self.code(code),
                Err(_) => drop(write!(self.out, "\\x{{{code}}}")),
            }
        }
    }

    /// After `\p` or `\P`.
    fn property(&mut self, letter: char) {
        if self.rest.peek() != Some(&'{') {
            self.out.push('\\');
            self.out.push(letter);
            return;
        }
        self.rest.next();
        let name: String = self.rest.by_ref().take_while(|char| *char != '}').collect();
        let (name, caret) = match name.strip_prefix('^') {
            Some(name) => (name, true),
            None => (name.as_str(), false),
        };
        let negated = caret != (letter == 'P');
        let _ = match property(&name.to_ascii_lowercase()) {
            Some(members) if negated => write!(self.out, "[^{members}]"),
            Some(members) => write!(self.out, "[{members}]"),
            None if negated => write!(self.out, "\\P{{{name}}}"),
            None => write!(self.out, "\\p{{{name}}}"),
        };
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    Pattern,
    Class,
}

/// Ruby's shorthands mean ASCII.
fn shorthand(letter: char) -> Option<&'static str> {
    Some(match letter {
        'd' => "0-9",
        'w' => "a-zA-Z0-9_",
        's' => "\\x20\\t\\r\\n\\f\\v",
        'h' => "0-9a-fA-F",
        _ => return None,
    })
}

/// POSIX brackets mean Unicode.
fn property(name: &str) -> Option<&'static str> {
    Some(match name {
        "alnum" => "\\p{Alphabetic}\\p{M}\\p{Nd}",
        "alpha" => "\\p{Alphabetic}\\p{M}",
        "ascii" => "\\x00-\\x7f",
        "blank" => "\\p{Zs}\\t",
        "cntrl" => "\\p{Cc}\\p{Cf}\\p{Co}",
        "digit" => "\\p{Nd}",
        "graph" => "\\P{White_Space}&&\\P{Cc}&&\\P{Cn}&&\\P{Cs}",
        "lower" => "\\p{Lowercase}",
        "print" => "\\P{Cc}&&\\P{Cn}&&\\P{Cs}",
        "punct" => "\\p{P}$+<=>\\^`|\\~",
        "space" => "\\p{White_Space}",
        "upper" => "\\p{Uppercase}",
        "word" => "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}",
        "xdigit" => "0-9a-fA-F",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::translate;

    fn check(source: &str, expected: &str) {
        assert_eq!(translate(source), expected, "{source:?}");
    }

    #[test]
    fn shorthands_are_ascii_inside_and_outside_of_classes() {
        check(r"\d+", "[0-9]+");
        check(r"[\d.]", "[0-9.]");
        check(r"[\D]", "[[^0-9]]");
        check(r"\H", "[^0-9a-fA-F]");
    }

    #[test]
    fn dot_matches_newline_is_renamed() {
        check("(?m:a)(?-mix:b)(?i)", "(?s:a)(?-six:b)(?i)");
    }

    #[test]
    fn group_comment_is_removed() {
        check("a(?#x\\)y)b", "ab");
    }

    #[test]
    fn posix_brackets_are_unicode() {
        check("[[:digit:]x]", "[[\\p{Nd}]x]");
        check("[[:^digit:]]", "[[^\\p{Nd}]]");
        check("[[:nope:]]", "[[[:nope:]]]");
    }

    #[test]
    fn escapes_become_codes() {
        check(
            r"\u3042\u{41 42}\x41\e\cA",
            r"\x{3042}\x{41}\x{42}\x{41}\x{1b}\x{1}",
        );
        check(r"\/\q\#", r"\/q\#");
        check(r"[\b ]", r"[\x{8}\x{20}]");
    }

    #[test]
    fn unfinished_pattern_is_translated_without_panic() {
        for source in [
            "\\", "[", "(?#", "\\p{", "\\u{", "[[:a", "(?", "[\\", "\\c", "\\x",
        ] {
            translate(source);
        }
    }
}
