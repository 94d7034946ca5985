//! `JSON`: the parser of what clients send, and the natives of generation (the writer itself is `crate::json`).
//! Total and bounded: nesting has a limit, keys stay Strings unless the program asks for Symbols, whose number is limited.

use std::cell::RefCell;
use std::collections::HashSet;

use tsumugi_mruby::{Kind, Raise, Result, Root, Scope, Value};

use crate::natives::{Natives, wrong_type};

/// Digits of an integer that fits 64 bits for certain.
const SMALL_DIGITS: usize = 18;

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    let known = RefCell::new(HashSet::new());
    natives.plain("json_parse", move |host, scope, call| {
        let given = call.argument(0);
        let text = scope
            .bytes(given)
            .ok_or_else(|| wrong_type(scope, given, "JSON", "a String"))?;
        let limits = &host.settings.limits;
        let mut parser = Parser {
            text: &text,
            at: 0,
            depth_max: limits.json_depth_max,
            symbols: call.argument(1).truthy().then_some(Symbols {
                known: &known,
                max: limits.json_symbols_max,
            }),
        };
        parser
            .document(scope)
            .map_err(|fault| parser.raise(scope, fault))
    })?;
    natives.plain("json_generate", |host, scope, call| {
        let mut out = Vec::new();
        let depth_max = host.settings.limits.json_depth_max;
        crate::json::write(scope, call.argument(0), depth_max, &mut out)?;
        if call.argument(1).truthy() {
            out = pretty(&out);
        }
        scope.string(out)
    })
}

/// Why a text is no JSON.
enum Fault {
    Unexpected(&'static str),
    TooDeep,
    TooManySymbols(usize),
    Raised(Root),
}

fn raised(scope: &Scope<'_>, raise: Raise<'_>) -> Fault {
    Fault::Raised(scope.root(raise.0))
}

type Parsed<T> = std::result::Result<T, Fault>;

/// Names that became Symbols.
struct Symbols<'k> {
    known: &'k RefCell<HashSet<String>>,
    max: usize,
}

/// Where a value goes: a container is put there empty and filled afterwards, so that no value needs to outlive the scope
/// it is made in.
#[derive(Clone, Copy)]
enum Place<'p> {
    Element(Value<'p>),
    Member(Value<'p>, Value<'p>),
}

impl Place<'_> {
    fn put(self, scope: &Scope<'_>, value: Value<'_>) -> Parsed<()> {
        let put = match self {
            Place::Element(array) => scope.push(array, value),
            Place::Member(hash, key) => scope.hash_set(hash, key, value),
        };
        put.map_err(|raise| raised(scope, raise))
    }
}

struct Parser<'t> {
    text: &'t [u8],
    at: usize,
    depth_max: usize,
    symbols: Option<Symbols<'t>>,
}

impl Parser<'_> {
    fn document<'s>(&mut self, scope: &'s Scope<'_>) -> Parsed<Value<'s>> {
        if let Err(error) = std::str::from_utf8(self.text) {
            self.at = error.valid_up_to();
            return Err(Fault::Unexpected("bytes that are not UTF-8"));
        }
        let holder = scope.array(1).map_err(|raise| raised(scope, raise))?;
        self.value(scope, Place::Element(holder), 0)?;
        self.space();
        if self.at < self.text.len() {
            return Err(Fault::Unexpected("text after the value"));
        }
        Ok(scope.array_at(holder, 0))
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn value(&mut self, scope: &Scope<'_>, place: Place<'_>, depth: usize) -> Parsed<()> {
        self.space();
        match self.peek() {
            Some(b'{') => self.object(scope, place, depth + 1),
            Some(b'[') => self.array(scope, place, depth + 1),
            Some(b'"') => {
                let text = self.string()?;
                let value = scope.string(text).map_err(|raise| raised(scope, raise))?;
                place.put(scope, value)
            }
            Some(b'-' | b'0'..=b'9') => {
                let value = self.number(scope)?;
                place.put(scope, value)
            }
            Some(b't') => self.word("true", scope, place, Value::boolean(true)),
            Some(b'f') => self.word("false", scope, place, Value::boolean(false)),
            Some(b'n') => self.word("null", scope, place, Value::nil()),
            Some(_) => Err(Fault::Unexpected("token")),
            None => Err(Fault::Unexpected("end of the text")),
        }
    }

    fn word(
        &mut self,
        word: &str,
        scope: &Scope<'_>,
        place: Place<'_>,
        value: Value<'_>,
    ) -> Parsed<()> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        if !rest.starts_with(word.as_bytes()) {
            return Err(Fault::Unexpected("token"));
        }
        self.at += word.len();
        place.put(scope, value)
    }

    fn enter(&self, depth: usize) -> Parsed<()> {
        if depth > self.depth_max {
            return Err(Fault::TooDeep);
        }
        Ok(())
    }

    fn array(&mut self, scope: &Scope<'_>, place: Place<'_>, depth: usize) -> Parsed<()> {
        self.enter(depth)?;
        let array = scope.array(0).map_err(|raise| raised(scope, raise))?;
        place.put(scope, array)?;
        self.at += 1;
        self.space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(());
        }
        loop {
            scope.nested(|scope| self.value(scope, Place::Element(array), depth))?;
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err(Fault::Unexpected("token: ',' or ']' belongs here")),
            }
        }
    }

    fn object(&mut self, scope: &Scope<'_>, place: Place<'_>, depth: usize) -> Parsed<()> {
        self.enter(depth)?;
        let hash = scope.hash(0).map_err(|raise| raised(scope, raise))?;
        place.put(scope, hash)?;
        self.at += 1;
        self.space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(());
        }
        loop {
            scope.nested(|scope| self.member(scope, hash, depth))?;
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err(Fault::Unexpected("token: ',' or '}' belongs here")),
            }
        }
    }

    fn member(&mut self, scope: &Scope<'_>, hash: Value<'_>, depth: usize) -> Parsed<()> {
        self.space();
        if self.peek() != Some(b'"') {
            return Err(Fault::Unexpected("token: a name in quotes belongs here"));
        }
        let name = self.string()?;
        let key = match &self.symbols {
            None => scope.string(name).map_err(|raise| raised(scope, raise))?,
            Some(symbols) => symbol(scope, symbols, name)?,
        };
        self.space();
        if self.peek() != Some(b':') {
            return Err(Fault::Unexpected("token: ':' belongs here"));
        }
        self.at += 1;
        self.value(scope, Place::Member(hash, key), depth)
    }

    /// A string's text; `at` is at its quote.
    fn string(&mut self) -> Parsed<String> {
        self.at += 1;
        let mut text = Vec::new();
        loop {
            let rest = self.text.get(self.at..).unwrap_or_default();
            let plain = rest
                .iter()
                .position(|byte| *byte < 0x20 || matches!(byte, b'"' | b'\\'));
            let plain = plain.unwrap_or(rest.len());
            text.extend_from_slice(rest.get(..plain).unwrap_or_default());
            self.at += plain;
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    // Pieces between ASCII bytes of a UTF-8 text, and characters: never replaced.
                    return Ok(String::from_utf8_lossy(&text).into_owned());
                }
                Some(b'\\') => {
                    self.at += 1;
                    let mut utf8 = [0; 4];
                    let escaped = self.escape()?.encode_utf8(&mut utf8);
                    text.extend_from_slice(escaped.as_bytes());
                }
                Some(_) => return Err(Fault::Unexpected("control character in a string")),
                None => return Err(Fault::Unexpected("end of the text in a string")),
            }
        }
    }

    fn escape(&mut self) -> Parsed<char> {
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
            _ => return Err(Fault::Unexpected("escape in a string")),
        };
        self.at += 1;
        Ok(escaped)
    }

    /// After `\u`. Half of a surrogate pair alone is U+FFFD.
    fn unicode(&mut self) -> Parsed<char> {
        let high = self.hex4()?;
        if !(0xd800..0xdc00).contains(&high) {
            return Ok(char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        let before = self.at;
        let rest = self.text.get(self.at..).unwrap_or_default();
        if rest.starts_with(b"\\u") {
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

    fn hex4(&mut self) -> Parsed<u32> {
        let mut value = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16));
            let digit = digit.ok_or(Fault::Unexpected("escape in a string"))?;
            value = value * 16 + digit;
            self.at += 1;
        }
        Ok(value)
    }

    fn digits(&mut self) -> Parsed<usize> {
        let first = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        match self.at - first {
            0 => Err(Fault::Unexpected("token: a digit belongs here")),
            count => Ok(count),
        }
    }

    fn number<'s>(&mut self, scope: &'s Scope<'_>) -> Parsed<Value<'s>> {
        let first = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        let leading = self.peek();
        let digits = self.digits()?;
        if leading == Some(b'0') && digits > 1 {
            self.at = first;
            return Err(Fault::Unexpected("token: a number with a leading zero"));
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
        let text = std::str::from_utf8(text).unwrap_or_default();
        if float {
            return Ok(scope.float(text.parse().unwrap_or(f64::NAN)));
        }
        if digits <= SMALL_DIGITS || text.parse::<i64>().is_ok() {
            return Ok(scope.integer(text.parse().unwrap_or_default()));
        }
        let big = scope
            .string(text)
            .and_then(|text| scope.call(text, "to_i", &[]));
        big.map_err(|raise| raised(scope, raise))
    }

    fn raise<'s>(&self, scope: &'s Scope<'_>, fault: Fault) -> Raise<'s> {
        match fault {
            Fault::Raised(root) => Raise(scope.rooted(&root)),
            Fault::TooDeep => scope.error(
                "JSON::NestingError",
                format!("nesting exceeds json_depth_max ({})", self.depth_max),
            ),
            Fault::TooManySymbols(max) => scope.error(
                "ArgumentError",
                format!(
                    "symbolize_names has made json_symbols_max ({max}) Symbols, which are never freed: \
                     leave it out for what clients send"
                ),
            ),
            Fault::Unexpected(what) => {
                let before = self.text.get(..self.at).unwrap_or(self.text);
                let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
                let start = before.iter().rposition(|byte| *byte == b'\n');
                let column = String::from_utf8_lossy(before.get(start.map_or(0, |i| i + 1)..).unwrap_or_default())
                    .chars()
                    .count()
                    + 1;
                scope.error(
                    "JSON::ParserError",
                    format!("unexpected {what} at line {line} column {column}"),
                )
            }
        }
    }
}

fn symbol<'s>(scope: &'s Scope<'_>, symbols: &Symbols<'_>, name: String) -> Parsed<Value<'s>> {
    let mut known = symbols.known.borrow_mut();
    let symbol = Value::symbol(if known.contains(&name) {
        scope.intern(&name)
    } else if known.len() >= symbols.max {
        return Err(Fault::TooManySymbols(symbols.max));
    } else {
        let symbol = scope.intern(&name);
        known.insert(name);
        symbol
    });
    debug_assert_eq!(symbol.kind(), Kind::Symbol);
    Ok(symbol)
}

/// Compact JSON with two spaces an indentation, as `JSON.pretty_generate` has it.
fn pretty(compact: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(compact.len() * 2);
    let mut depth = 0_usize;
    let mut quoted = false;
    let mut escaped = false;
    let line = |out: &mut Vec<u8>, depth: usize| {
        out.push(b'\n');
        out.resize(out.len() + 2 * depth, b' ');
    };
    for (i, byte) in compact.iter().copied().enumerate() {
        if quoted {
            out.push(byte);
            quoted = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
            continue;
        }
        match byte {
            b'{' | b'[' => {
                out.push(byte);
                if !matches!(compact.get(i + 1), Some(b'}' | b']')) {
                    depth += 1;
                    line(&mut out, depth);
                }
            }
            b'}' | b']' => {
                if !matches!(compact.get(i.wrapping_sub(1)), Some(b'{' | b'[')) {
                    depth = depth.saturating_sub(1);
                    line(&mut out, depth);
                }
                out.push(byte);
            }
            b',' => {
                out.push(byte);
                line(&mut out, depth);
            }
            b':' => out.extend_from_slice(b": "),
            _ => {
                quoted = byte == b'"';
                out.push(byte);
            }
        }
    }
    out
}
