//! `JSON` for Ruby: values made of what the parser (`tsumugi_http::json`) finds, and the natives of generation (the writer itself is
//! `crate::json`). Bounded: keys stay Strings unless the program asks for Symbols, whose number is limited.

use std::cell::RefCell;
use std::collections::HashSet;

use tsumugi_http::json::{Error, JsonEvent, Parser};
use tsumugi_mruby::{Kind, Raise, Result, Root, Scope, Value};

use crate::host::Host;
use crate::json::VALUES_BETWEEN_CHECKS;
use crate::limits::JSON_BYTES_MAX;
use crate::natives::arguments::bytes;
use crate::natives::definitions::Natives;

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.plain("json_parse", |host, scope, call| {
        let given = call.argument(0);
        let text = bytes(scope, given, "JSON")?;
        if call.argument(1).truthy() {
            read_with_symbols(host, scope, &text)
        } else {
            read(scope, &text, host.settings.limits.json_depth_max)
        }
    })?;
    natives.plain("json_generate", |host, scope, call| {
        let mut out = Vec::new();
        let depth_max = host.settings.limits.json_depth_max;
        crate::json::write(scope, call.argument(0), depth_max, &mut out)?;
        if call.argument(1).truthy() {
            let message = || format!("the JSON exceeds {JSON_BYTES_MAX} bytes (json_bytes_max)");
            out = pretty(&out).ok_or_else(|| scope.error("ArgumentError", message()))?;
        }
        scope.string(out)
    })
}

/// The value of a JSON text; keys are Strings.
pub(crate) fn read<'s>(
    scope: &'s Scope<'_>,
    text: &[u8],
    depth_max: usize,
) -> Result<'s, Value<'s>> {
    build(scope, text, depth_max, None)
}

/// The value of a JSON text; keys are Symbols, counted together.
pub(crate) fn read_with_symbols<'s>(
    host: &Host,
    scope: &'s Scope<'_>,
    text: &[u8],
) -> Result<'s, Value<'s>> {
    let limits = &host.settings.limits;
    let symbols = Symbols {
        known: &host.resources.json_symbols,
        max: limits.json_symbols_max,
    };
    build(scope, text, limits.json_depth_max, Some(symbols))
}

fn build<'s>(
    scope: &'s Scope<'_>,
    text: &[u8],
    depth_max: usize,
    symbols: Option<Symbols<'_>>,
) -> Result<'s, Value<'s>> {
    let built = Parser::new(text, depth_max)
        .map_err(Fault::from)
        .and_then(|parser| Builder::new(parser, symbols).document(scope));
    built.map_err(|fault| fault.raise(scope))
}

/// Why no value came of a text.
enum Fault {
    Refused(Error),
    TooManySymbols(usize),
    Raised(Root),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Fault {
        Fault::Refused(error)
    }
}

impl Fault {
    fn raise<'s>(self, scope: &'s Scope<'_>) -> Raise<'s> {
        match self {
            Fault::Raised(root) => Raise(scope.rooted(&root)),
            Fault::Refused(error @ Error::TooDeep(_)) => {
                scope.error("JSON::NestingError", error.to_string())
            }
            Fault::Refused(error) => scope.error("JSON::ParserError", error.to_string()),
            Fault::TooManySymbols(max) => scope.error(
                "ArgumentError",
                format!(
                    "symbolize_names has made json_symbols_max ({max}) Symbols, which are never freed: \
                     leave it out for what clients send"
                ),
            ),
        }
    }
}

fn raised(scope: &Scope<'_>, raise: Raise<'_>) -> Fault {
    Fault::Raised(scope.root_raised(raise))
}

type BuildResult<T> = std::result::Result<T, Fault>;

/// Names that became Symbols.
struct Symbols<'k> {
    known: &'k RefCell<HashSet<String>>,
    max: usize,
}

/// Where a value goes: a container is put there empty and filled afterwards, so that no value needs to outlive the scope
/// it is made in.
#[derive(Clone, Copy)]
enum JsonParent<'p> {
    Element(Value<'p>),
    Member(Value<'p>, Value<'p>),
}

impl JsonParent<'_> {
    fn put(self, scope: &Scope<'_>, value: Value<'_>) -> BuildResult<()> {
        let put = match self {
            JsonParent::Element(array) => scope.push(array, value),
            JsonParent::Member(hash, key) => scope.hash_set(hash, key, value),
        };
        put.map_err(|raise| raised(scope, raise))
    }
}

/// Makes Ruby's values of a text's events.
struct Builder<'t> {
    parser: Parser<'t>,
    symbols: Option<Symbols<'t>>,
    /// Made so far.
    values: usize,
}

impl<'t> Builder<'t> {
    fn new(parser: Parser<'t>, symbols: Option<Symbols<'t>>) -> Self {
        Builder {
            parser,
            symbols,
            values: 0,
        }
    }

    fn document<'s>(&mut self, scope: &'s Scope<'_>) -> BuildResult<Value<'s>> {
        let holder = scope.array(1).map_err(|raise| raised(scope, raise))?;
        while let Some(event) = self.parser.event()? {
            self.put(scope, JsonParent::Element(holder), event)?;
        }
        Ok(scope.array_at(holder, 0))
    }

    fn put(
        &mut self,
        scope: &Scope<'_>,
        place: JsonParent<'_>,
        event: JsonEvent<'t>,
    ) -> BuildResult<()> {
        self.values += 1;
        if self.values.is_multiple_of(VALUES_BETWEEN_CHECKS) {
            scope
                .check_interrupt()
                .map_err(|raise| raised(scope, raise))?;
        }
        let made = match event {
            JsonEvent::Null => Ok(Value::nil()),
            JsonEvent::Boolean(value) => Ok(Value::boolean(value)),
            JsonEvent::Float(value) => Ok(scope.float(value)),
            JsonEvent::Integer(digits) => integer(scope, digits),
            // A name is met only in an object, which takes it.
            JsonEvent::Text(text) | JsonEvent::Name(text) => scope.string(&*text),
            JsonEvent::Array => return self.array(scope, place),
            JsonEvent::Object => return self.object(scope, place),
            JsonEvent::End => return Ok(()),
        };
        place.put(scope, made.map_err(|raise| raised(scope, raise))?)
    }

    fn array(&mut self, scope: &Scope<'_>, place: JsonParent<'_>) -> BuildResult<()> {
        let array = scope.array(0).map_err(|raise| raised(scope, raise))?;
        place.put(scope, array)?;
        while let Some(event) = self.inside()? {
            scope.nested(|scope| self.put(scope, JsonParent::Element(array), event))?;
        }
        Ok(())
    }

    fn object(&mut self, scope: &Scope<'_>, place: JsonParent<'_>) -> BuildResult<()> {
        let hash = scope.hash(0).map_err(|raise| raised(scope, raise))?;
        place.put(scope, hash)?;
        while let Some(event) = self.inside()? {
            scope.nested(|scope| self.member(scope, hash, event))?;
        }
        Ok(())
    }

    /// The next event of the container that is being filled; none at its end.
    fn inside(&mut self) -> BuildResult<Option<JsonEvent<'t>>> {
        let event = self.parser.event()?;
        Ok(event.filter(|event| *event != JsonEvent::End))
    }

    fn member(
        &mut self,
        scope: &Scope<'_>,
        hash: Value<'_>,
        name: JsonEvent<'t>,
    ) -> BuildResult<()> {
        let JsonEvent::Name(name) = name else {
            return Ok(());
        };
        let key = match &self.symbols {
            None => scope.string(&*name).map_err(|raise| raised(scope, raise))?,
            Some(symbols) => symbol(scope, symbols, name.into_owned())?,
        };
        match self.parser.event()? {
            Some(event) => self.put(scope, JsonParent::Member(hash, key), event),
            None => Ok(()),
        }
    }
}

fn integer<'s>(scope: &'s Scope<'_>, digits: &str) -> Result<'s, Value<'s>> {
    match digits.parse() {
        Ok(small) => Ok(scope.integer(small)),
        Err(_) => scope.call(scope.string(digits)?, "to_i", &[]),
    }
}

fn symbol<'s>(scope: &'s Scope<'_>, symbols: &Symbols<'_>, name: String) -> BuildResult<Value<'s>> {
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

/// Compact JSON with two spaces an indentation, as `JSON.pretty_generate` has it. Nothing when it becomes too long: an element of two
/// bytes may get an indentation of hundreds.
fn pretty(compact: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(compact.len());
    let mut depth = 0_usize;
    let mut quoted = false;
    let mut escaped = false;
    let line = |out: &mut Vec<u8>, depth: usize| {
        out.push(b'\n');
        out.resize(out.len() + 2 * depth, b' ');
    };
    for (i, byte) in compact.iter().copied().enumerate() {
        if out.len() > JSON_BYTES_MAX {
            return None;
        }
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
    Some(out)
}
