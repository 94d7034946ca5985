//! The parser of JSON (RFC 8259) that clients send: events out of a text, one after the other. Builds no value and knows no Ruby.
//! Total and bounded: nesting ends at a limit that the caller sets, and nothing is allocated but the texts that have escapes.

use std::borrow::Cow;

use crate::limits::JSON_DIGITS_MAX;

/// What comes next in a text. A name comes before the value it names.
#[derive(Clone, Debug, PartialEq)]
pub enum JsonEvent<'t> {
    /// `null`
    Null,
    /// `true` or `false`
    Boolean(bool),
    /// A number without fraction and exponent, as it is written; its size is bounded only by the digits a number may have.
    Integer(&'t str),
    /// Any other number; infinite when it is out of range.
    Float(f64),
    /// A string. Half of a surrogate pair has become U+FFFD.
    Text(Cow<'t, str>),
    /// `[`
    Array,
    /// `{`
    Object,
    /// The name of the next value in an object.
    Name(Cow<'t, str>),
    /// `]` or `}`
    End,
}

/// Why a text is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It is no JSON.
    #[error("unexpected {what} at line {line} column {column}")]
    Unexpected {
        /// What stands there.
        what: &'static str,
        /// From 1.
        line: usize,
        /// From 1, in characters.
        column: usize,
    },
    /// It is nested deeper than the caller allows.
    #[error("nesting exceeds json_depth_max ({0})")]
    TooDeep(usize),
    /// A number has more digits than could be computed in reasonable time.
    #[error("a number has more digits than json_digits_max ({0})")]
    TooManyDigits(usize),
}

/// Reads one text.
#[derive(Debug)]
pub struct Parser<'t> {
    text: &'t str,
    at: usize,
    depth_max: usize,
    open: Vec<Container>,
    state: State,
}

#[derive(Clone, Copy, Debug)]
enum Container {
    Array,
    Object,
}

/// What may come next.
#[derive(Clone, Copy, Debug)]
enum State {
    Value,
    /// A value, or the end of the array that has just begun.
    FirstElement,
    /// A name, or the end of the object that has just begun.
    FirstName,
    Name,
    /// A comma or the end of what is open; at the outermost level, the end of the text.
    Next,
}

type ParseResult<T> = Result<T, Error>;

impl<'t> Parser<'t> {
    /// A parser of one text in UTF-8, nested at most `depth_max` deep.
    ///
    /// # Errors
    /// [`Error::Unexpected`] when the bytes are not UTF-8.
    pub fn new(bytes: &'t [u8], depth_max: usize) -> Result<Parser<'t>, Error> {
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let before = bytes.get(..error.valid_up_to()).unwrap_or_default();
            unexpected(
                std::str::from_utf8(before).unwrap_or_default(),
                "bytes that are not UTF-8",
            )
        })?;
        Ok(Parser {
            text,
            at: 0,
            depth_max,
            open: Vec::new(),
            state: State::Value,
        })
    }

    /// The byte of the text behind the last event.
    pub fn position(&self) -> usize {
        self.at
    }

    /// The next event; none after the last one. After an error there is nothing more to ask for.
    ///
    /// # Errors
    /// [`Error`] says where the text is no JSON, or which limit it exceeds.
    pub fn event(&mut self) -> Result<Option<JsonEvent<'t>>, Error> {
        loop {
            self.space();
            let event = match self.state {
                State::Value => self.value(),
                State::FirstElement if self.peek() == Some(b']') => Ok(self.close()),
                State::FirstElement => self.value(),
                State::FirstName if self.peek() == Some(b'}') => Ok(self.close()),
                State::FirstName | State::Name => self.name(),
                State::Next => match (self.open.last(), self.peek()) {
                    (None, None) => return Ok(None),
                    (None, Some(_)) => Err(self.fault("text after the value")),
                    (Some(Container::Array), Some(b']')) => Ok(self.close()),
                    (Some(Container::Object), Some(b'}')) => Ok(self.close()),
                    (Some(container), Some(b',')) => {
                        self.state = match container {
                            Container::Array => State::Value,
                            Container::Object => State::Name,
                        };
                        self.at += 1;
                        continue;
                    }
                    (Some(Container::Array), _) => {
                        Err(self.fault("token: ',' or ']' belongs here"))
                    }
                    (Some(Container::Object), _) => {
                        Err(self.fault("token: ',' or '}' belongs here"))
                    }
                },
            };
            return event.map(Some);
        }
    }

    fn fault(&self, what: &'static str) -> Error {
        unexpected(self.text.get(..self.at).unwrap_or(self.text), what)
    }

    fn rest(&self) -> &'t [u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<u8> {
        self.rest().first().copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn value(&mut self) -> ParseResult<JsonEvent<'t>> {
        let event = match self.peek() {
            Some(b'{') => return self.enter(Container::Object),
            Some(b'[') => return self.enter(Container::Array),
            Some(b'"') => JsonEvent::Text(self.string()?),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(b't') => self.word("true", JsonEvent::Boolean(true))?,
            Some(b'f') => self.word("false", JsonEvent::Boolean(false))?,
            Some(b'n') => self.word("null", JsonEvent::Null)?,
            Some(_) => return Err(self.fault("token")),
            None => return Err(self.fault("end of the text")),
        };
        self.state = State::Next;
        Ok(event)
    }

    fn enter(&mut self, container: Container) -> ParseResult<JsonEvent<'t>> {
        if self.open.len() >= self.depth_max {
            return Err(Error::TooDeep(self.depth_max));
        }
        self.at += 1;
        self.open.push(container);
        Ok(match container {
            Container::Array => {
                self.state = State::FirstElement;
                JsonEvent::Array
            }
            Container::Object => {
                self.state = State::FirstName;
                JsonEvent::Object
            }
        })
    }

    fn close(&mut self) -> JsonEvent<'t> {
        self.at += 1;
        self.open.pop();
        self.state = State::Next;
        JsonEvent::End
    }

    fn name(&mut self) -> ParseResult<JsonEvent<'t>> {
        if self.peek() != Some(b'"') {
            return Err(self.fault("token: a name in quotes belongs here"));
        }
        let name = self.string()?;
        self.space();
        if self.peek() != Some(b':') {
            return Err(self.fault("token: ':' belongs here"));
        }
        self.at += 1;
        self.state = State::Value;
        Ok(JsonEvent::Name(name))
    }

    fn word(&mut self, word: &str, event: JsonEvent<'t>) -> ParseResult<JsonEvent<'t>> {
        if !self.rest().starts_with(word.as_bytes()) {
            return Err(self.fault("token"));
        }
        self.at += word.len();
        Ok(event)
    }

    /// A string's text; `at` is at its quote. Borrowed when it has no escape.
    fn string(&mut self) -> ParseResult<Cow<'t, str>> {
        self.at += 1;
        let mut whole = Cow::Borrowed("");
        loop {
            let plain = self
                .rest()
                .iter()
                .position(|byte| *byte < 0x20 || matches!(byte, b'"' | b'\\'));
            let end = plain.map_or(self.text.len(), |plain| self.at + plain);
            let piece = self.text.get(self.at..end).unwrap_or_default();
            if whole.is_empty() {
                whole = Cow::Borrowed(piece);
            } else {
                whole.to_mut().push_str(piece);
            }
            self.at = end;
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(whole);
                }
                Some(b'\\') => {
                    self.at += 1;
                    let escaped = self.escape()?;
                    whole.to_mut().push(escaped);
                }
                Some(_) => return Err(self.fault("control character in a string")),
                None => return Err(self.fault("end of the text in a string")),
            }
        }
    }

    fn escape(&mut self) -> ParseResult<char> {
        let escaped = match self.peek() {
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.at += 1;
                return self.unicode();
            }
            Some(byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
            _ => return Err(self.fault("escape in a string")),
        };
        self.at += 1;
        Ok(escaped)
    }

    /// After `\u`. Half of a surrogate pair alone is U+FFFD.
    fn unicode(&mut self) -> ParseResult<char> {
        let high = self.hex4()?;
        if !(0xd800..0xdc00).contains(&high) {
            return Ok(char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        let before = self.at;
        if self.rest().starts_with(b"\\u") {
            self.at += 2;
            let low = self.hex4()?;
            if (0xdc00..0xe000).contains(&low) {
                let pair = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
                return Ok(char::from_u32(pair).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.at = before;
        }
        Ok(char::REPLACEMENT_CHARACTER)
    }

    fn hex4(&mut self) -> ParseResult<u32> {
        let mut value = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16));
            let digit = digit.ok_or_else(|| self.fault("escape in a string"))?;
            value = value * 16 + digit;
            self.at += 1;
        }
        Ok(value)
    }

    /// How many digits there are; at least one.
    fn digits(&mut self) -> ParseResult<usize> {
        let count = self
            .rest()
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        self.at += count;
        match count {
            0 => Err(self.fault("token: a digit belongs here")),
            count => Ok(count),
        }
    }

    fn number(&mut self) -> ParseResult<JsonEvent<'t>> {
        let first = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        let leading = self.peek();
        let digits = self.digits()?;
        if leading == Some(b'0') && digits > 1 {
            self.at = first;
            return Err(self.fault("token: a number with a leading zero"));
        }
        let mut float = false;
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
            float = true;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
            float = true;
        }
        let text = self.text.get(first..self.at).unwrap_or_default();
        if float {
            return Ok(JsonEvent::Float(text.parse().unwrap_or(f64::NAN)));
        }
        if digits > JSON_DIGITS_MAX {
            return Err(Error::TooManyDigits(JSON_DIGITS_MAX));
        }
        Ok(JsonEvent::Integer(text))
    }
}

/// The fault right after `before`.
fn unexpected(before: &str, what: &'static str) -> Error {
    let last_line = before.rsplit('\n').next().unwrap_or_default();
    Error::Unexpected {
        what,
        line: before.matches('\n').count() + 1,
        column: last_line.chars().count() + 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEPTH_MAX: usize = 3;

    /// The events in short, or the error.
    fn read(text: &str) -> Result<String, Error> {
        let mut parser = Parser::new(text.as_bytes(), DEPTH_MAX)?;
        let mut words = Vec::new();
        while let Some(event) = parser.event()? {
            words.push(match event {
                JsonEvent::Null => "null".to_owned(),
                JsonEvent::Boolean(value) => value.to_string(),
                JsonEvent::Integer(digits) => digits.to_owned(),
                JsonEvent::Float(value) => format!("{value:?}"),
                JsonEvent::Text(text) => format!("{text:?}"),
                JsonEvent::Array => "[".to_owned(),
                JsonEvent::Object => "{".to_owned(),
                JsonEvent::Name(name) => format!("{name}:"),
                JsonEvent::End => "end".to_owned(),
            });
        }
        Ok(words.join(" "))
    }

    fn check(text: &str, expected: &str) {
        let found = read(text).unwrap_or_else(|error| error.to_string());
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn values_become_events() {
        check(" null ", "null");
        check("[]", "[ end");
        check(
            "[true,false , -0,12e2,1.5]",
            "[ true false -0 1200.0 1.5 end",
        );
        check(
            "{\"a\":{},\"a\\n\":[\"x\"]}",
            "{ a: { end a\n: [ \"x\" end end",
        );
        check(
            "123456789012345678901234567890",
            "123456789012345678901234567890",
        );
        check("1e999", "inf");
    }

    #[test]
    fn escapes_are_decoded_and_plain_text_is_borrowed() {
        check(r#""\"\\\/\b\f\n\r\t""#, r#""\"\\/\u{8}\u{c}\n\r\t""#);
        check(r#""a\u00e9\uD83D\uDE00b""#, "\"aé😀b\"");
        check(r#""\ud800\u0041\udc00""#, "\"\u{fffd}A\u{fffd}\"");
        let mut parser = Parser::new(b"\"plain\"", 0).unwrap();
        let event = parser.event().unwrap().unwrap();
        assert!(matches!(event, JsonEvent::Text(Cow::Borrowed("plain"))));
    }

    #[test]
    fn malformed_json_is_an_error_with_its_place() {
        for (text, what, line, column) in [
            ("", "end of the text", 1, 1),
            ("[1,]", "token", 1, 4),
            ("[1 2]", "token: ',' or ']' belongs here", 1, 4),
            ("{,}", "token: a name in quotes belongs here", 1, 2),
            ("{\"a\":1,}", "token: a name in quotes belongs here", 1, 8),
            ("{\"a\" 1}", "token: ':' belongs here", 1, 6),
            ("{\"a\":1]", "token: ',' or '}' belongs here", 1, 7),
            ("\n\n  tru", "token", 3, 3),
            ("01", "token: a number with a leading zero", 1, 1),
            ("-", "token: a digit belongs here", 1, 2),
            ("1.", "token: a digit belongs here", 1, 3),
            ("\"é\u{1}\"", "control character in a string", 1, 3),
            ("\"a", "end of the text in a string", 1, 3),
            ("\"\\x\"", "escape in a string", 1, 3),
            ("\"\\u12\"", "escape in a string", 1, 6),
            ("1 2", "text after the value", 1, 3),
        ] {
            let expected = Error::Unexpected { what, line, column };
            assert_eq!(read(text), Err(expected), "{text:?}");
        }
        let refused = Parser::new(b"\n\"\xff\"", 1).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "unexpected bytes that are not UTF-8 at line 2 column 2"
        );
    }

    #[test]
    fn one_level_and_one_digit_more_than_the_limits_are_refused() {
        check("[[[1]]]", "[ [ [ 1 end end end");
        check("[[[{}]]]", "nesting exceeds json_depth_max (3)");
        let digits = "7".repeat(JSON_DIGITS_MAX);
        check(&digits, &digits);
        check(
            &format!("-7{digits}"),
            "a number has more digits than json_digits_max (4096)",
        );
    }
}
