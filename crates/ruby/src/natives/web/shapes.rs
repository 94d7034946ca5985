//! Shapes of bodies and queries, for prelude/web/shapes.rb: from what the application declares to the trunk's rules, and from what does not fit
//! to messages. Not the rules and the words, which are those of `tsumugi_shapes`. Rule: names of fields become Symbols, nothing else does.

use std::borrow::Cow;
use std::rc::Rc;

use http::header::ACCEPT_LANGUAGE;
use tsumugi_mruby::{Kind as ValueKind, Raise, Result, Scope, Value};
use tsumugi_shapes::limits::{SHAPE_FAILURES_MAX, SHAPE_PATTERN_STEPS_MAX};
use tsumugi_shapes::{
    Failures, FieldFailure, FormFields, FormNode, FormValues, Format, IndexedItems, InputKind,
    InputShape, Kind, LengthBounds, Literal, MessageError, Outcome, Rule, ShapeError, TextPattern,
    Values, check,
};

use crate::natives::arguments::{data, text, whole};
use crate::natives::definitions::Natives;
use crate::natives::standard::Pattern as Regexp;

/// A shape that Ruby holds.
type SharedShape = Rc<InputShape>;

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.data_class("Shape")?;
    natives.plain("shape_new", |_, scope, call| {
        let specs = scope.elements(call.argument(0));
        let shape = specs
            .into_iter()
            .try_fold(InputShape::new(), |shape, spec| {
                let name = text(scope, scope.array_at(spec, 0), "the name of a field")?;
                Ok(shape.field(name, rule(scope, spec)?))
            })?;
        let examined = shape.examine();
        examined.map_err(|error: ShapeError| scope.error("ArgumentError", error.to_string()))?;
        scope.wrap_as::<SharedShape>("Tsumugi::Native::Shape", Rc::new(shape))
    })?;
    natives.plain("shape_failures_max", |_, scope, _| {
        Ok(scope.count(SHAPE_FAILURES_MAX))
    })?;
    // The values, or the values that fit with `[[path, key, limit], …]` of those that do not.
    natives.plain("shape_check", |_, scope, call| {
        let shape = shared(scope, call.argument(0))?;
        let (given, is_form) = (call.argument(1), call.argument(2).truthy());
        let values = RubyValues { scope };
        let Outcome { value, failures } = match is_form {
            true => {
                let pairs = scope.elements(given).map(|pair| {
                    let name = scope.text(scope.array_at(pair, 0)).unwrap_or_default();
                    (name, scope.array_at(pair, 1))
                });
                let fields = FormFields::new(pairs);
                let form = FormValues::new(&fields, &values);
                check(&shape, &form, &FormNode::root())?
            }
            false => check(&shape, &values, &given)?,
        };
        match failures.is_empty() {
            true => Ok(value),
            false => scope.array_of(&[value, failure_list(scope, &failures)?]),
        }
    })?;
    install_messages(natives)
}

fn install_messages<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    // The messages of failures by their paths, in the language that the client wants.
    natives.of_request("shape_messages", |host, scope, exchange, call| {
        let mut failures = Failures::default();
        for failure in scope.elements(call.argument(1)) {
            let [path, key, limit] = [0, 1, 2].map(|i| scope.text(scope.array_at(failure, i)));
            let limit = limit.unwrap_or_default();
            let failure = match key {
                Some(key) => FieldFailure::limit(key, limit),
                None => FieldFailure::Text(limit.into()),
            };
            failures.add(path.unwrap_or_default(), failure);
        }
        let catalog = host.web.messages.borrow();
        let accept = exchange.request.headers.get(ACCEPT_LANGUAGE);
        let language = catalog.language(accept.and_then(|value| value.to_str().ok()));
        let root = text(scope, call.argument(2), "the name of the whole")?;
        let messages = catalog.messages(&language, &failures, &root);
        let hash = scope.hash(messages.len())?;
        for (path, texts) in &messages {
            scope.hash_set(hash, scope.string(&**path)?, scope.strings(texts)?)?;
        }
        Ok(hash)
    })?;
    natives.plain("messages_say", |host, scope, call| {
        let [language, key, words] = [0, 1, 2].map(|i| scope.text(call.argument(i)));
        let mut catalog = host.web.messages.borrow_mut();
        let said = catalog.say(
            &language.unwrap_or_default(),
            &key.unwrap_or_default(),
            &words.unwrap_or_default(),
        );
        said.map_err(|error| refused(scope, &error))?;
        Ok(Value::nil())
    })?;
    natives.plain("messages_only", |host, scope, call| {
        let language = text(scope, call.argument(0), "the language")?;
        let fixed = host.web.messages.borrow_mut().fix(&language);
        fixed.map_err(|error| refused(scope, &error))?;
        Ok(Value::nil())
    })
}

fn refused<'c>(scope: &'c Scope<'_>, error: &MessageError) -> Raise<'c> {
    scope.error("ArgumentError", error.to_string())
}

fn shared<'c>(scope: &'c Scope<'c>, value: Value<'c>) -> Result<'c, SharedShape> {
    data::<SharedShape>(scope, value, "the shape", "a Tsumugi::Shape").map(Rc::clone)
}

/// The rules of a `Tsumugi::Shape`; of anything else, nothing.
pub(crate) fn input_shape(scope: &Scope<'_>, value: Value<'_>) -> Option<Rc<InputShape>> {
    let class = scope.constant("Tsumugi::Shape").ok()?;
    if !scope.is_a(value, class) {
        return None;
    }
    let native = scope.ivar(value, scope.intern("@native"));
    scope.data::<SharedShape>(native).map(Rc::clone)
}

fn failure_list<'c>(scope: &'c Scope<'c>, failures: &Failures) -> Result<'c, Value<'c>> {
    let mut list: Vec<(&str, Option<&str>, &str)> = Vec::with_capacity(failures.places().len());
    for place in failures.places() {
        list.push(match &place.failure {
            FieldFailure::Key { key, limit } => (&place.path, Some(key), limit),
            FieldFailure::Text(words) => (&place.path, None, words),
        });
    }
    if failures.is_cut() {
        list.push(("", Some("more"), ""));
    }
    scope.list(list.into_iter().map(|(path, key, limit)| {
        scope.array_of(&[
            scope.string(path)?,
            scope.string_or_nil(key)?,
            scope.string(limit)?,
        ])
    }))
}

/// A field as the prelude describes it: name, kind, least and greatest number, least and greatest length, choices, format, whether it may be
/// missing, whether there is a default, the default, and what it is made of.
fn rule<'c>(scope: &'c Scope<'c>, spec: Value<'c>) -> Result<'c, Rule> {
    let at = |i: usize| scope.array_at(spec, i);
    let name = text(scope, at(0), "the name of a field")?;
    let mut rule = Rule::of(kind(scope, at(1), at(11))?);
    if !at(2).is_nil() {
        rule = rule.min(literal(scope, at(2), &name)?);
    }
    if !at(3).is_nil() {
        rule = rule.max(literal(scope, at(3), &name)?);
    }
    if !at(4).is_nil() {
        let bounds = bounds(scope, at(4), at(5), &name)?;
        rule = rule.length(bounds.min..=bounds.max);
    }
    if !at(6).is_nil() {
        if at(6).kind() != ValueKind::Array {
            let message = format!("{name}: in: is an Array, or a Range of numbers");
            return Err(scope.error("ArgumentError", message));
        }
        let choices = scope
            .elements(at(6))
            .map(|choice| literal(scope, choice, &name));
        let choices = choices.collect::<Result<'_, Vec<Literal>>>()?;
        rule = rule.one_of(choices);
    }
    rule = formatted(scope, rule, at(7), &name)?;
    if at(8).truthy() {
        rule = rule.optional();
    }
    if at(9).truthy() {
        let default = literal(scope, at(10), &name)?;
        rule = rule.default(default);
    }
    Ok(rule)
}

fn formatted<'c>(
    scope: &'c Scope<'c>,
    rule: Rule,
    format: Value<'c>,
    name: &str,
) -> Result<'c, Rule> {
    if format.is_nil() {
        return Ok(rule);
    }
    if let Some(regexp) = scope.data::<Rc<Regexp>>(format) {
        let regexp = Rc::clone(regexp);
        if !regexp.engine.goes_back() {
            return Ok(rule.matching(TextPattern::new(move |text| {
                regexp.engine.whole().is_match(text).unwrap_or(false)
            })));
        }
        let quick = regexp.engine.within_steps(SHAPE_PATTERN_STEPS_MAX);
        return Ok(rule.matching(TextPattern::expression(
            move |text| quick.as_ref()?.is_match(text).ok(),
            move |text| regexp.engine.whole().is_match(text).ok(),
        )));
    }
    let named = scope.text(format).and_then(|name| Format::by_name(&name));
    let format = named.ok_or_else(|| {
        let message = format!("{name}: format: is :email, :url, :uuid, :date, :time or a Regexp");
        scope.error("ArgumentError", message)
    })?;
    Ok(rule.format(format))
}

fn kind<'c>(scope: &'c Scope<'c>, kind: Value<'c>, of: Value<'c>) -> Result<'c, Kind> {
    let name = text(scope, kind, "the kind of a field")?;
    Ok(match &*name {
        "integer" => Kind::Integer,
        "number" => Kind::Number,
        "boolean" => Kind::Boolean,
        "file" => Kind::File,
        "any" => Kind::Any,
        "object" => Kind::Object(shared(scope, of)?),
        "list" => Kind::List(Rc::new(rule(scope, of)?)),
        _ => Kind::Text,
    })
}

fn bounds<'c>(
    scope: &'c Scope<'c>,
    min: Value<'c>,
    max: Value<'c>,
    name: &str,
) -> Result<'c, LengthBounds> {
    let max = if max.is_nil() {
        Some(usize::MAX)
    } else {
        whole(max)
    };
    match (whole::<usize>(min), max) {
        (Some(min), Some(max)) => Ok(LengthBounds { min, max }),
        _ => {
            let message = format!("{name}: length: is an Integer from 0, or a Range of them");
            Err(scope.error("ArgumentError", message))
        }
    }
}

fn literal<'c>(scope: &'c Scope<'c>, value: Value<'c>, name: &str) -> Result<'c, Literal> {
    let found = match value.kind() {
        ValueKind::True => Some(Literal::Boolean(true)),
        ValueKind::False => Some(Literal::Boolean(false)),
        ValueKind::Integer => value.as_integer().map(Literal::Integer),
        ValueKind::Float => value.as_float().map(Literal::Number),
        ValueKind::String | ValueKind::Symbol => scope.text(value).map(Literal::from),
        ValueKind::Array if scope.array_len(value) == 0 => Some(Literal::EmptyList),
        _ => None,
    };
    found.ok_or_else(|| {
        let message = format!(
            "{name}: bounds, choices and defaults are numbers, Strings, true, false or an empty Array"
        );
        scope.error("ArgumentError", message)
    })
}

/// Values of one VM.
struct RubyValues<'s> {
    scope: &'s Scope<'s>,
}

impl<'s> Values for RubyValues<'s> {
    type Input = Value<'s>;
    type Output = Value<'s>;
    type Error = Raise<'s>;

    fn kind(&self, input: &Value<'s>) -> Result<'s, InputKind> {
        Ok(match input.kind() {
            ValueKind::Nil => InputKind::Null,
            ValueKind::True => InputKind::Boolean(true),
            ValueKind::False => InputKind::Boolean(false),
            ValueKind::Integer => InputKind::Integer(input.as_integer().unwrap_or_default()),
            ValueKind::Float => InputKind::Number(input.as_float().unwrap_or(f64::NAN)),
            ValueKind::String => InputKind::Text {
                is_empty: self.scope.with_bytes(*input, <[u8]>::is_empty) == Some(true),
            },
            ValueKind::Array => InputKind::List,
            ValueKind::Hash => InputKind::Object,
            _ if self.scope.is_a(*input, self.scope.constant("Upload")?) => InputKind::File,
            _ => InputKind::Other,
        })
    }

    fn text<'a>(&'a self, input: &'a Value<'s>) -> Result<'s, Cow<'a, str>> {
        Ok(self.scope.text(*input).unwrap_or_default().into())
    }

    fn field(&self, object: &Value<'s>, name: &str) -> Result<'s, Option<Value<'s>>> {
        let found = self.scope.hash_fetch(*object, self.scope.string(name)?)?;
        Ok((!found.is_nil()).then_some(found))
    }

    fn items(&self, input: &Value<'s>, max: usize) -> Result<'s, Option<IndexedItems<Value<'s>>>> {
        let is_list = input.kind() == ValueKind::Array;
        let items = self.scope.elements(*input).take(max.saturating_add(1));
        Ok(is_list.then(|| (0..).zip(items).collect()))
    }

    fn keep(&self, input: &Value<'s>) -> Result<'s, Value<'s>> {
        Ok(*input)
    }

    fn literal(&self, literal: &Literal) -> Result<'s, Value<'s>> {
        Ok(match literal {
            Literal::Boolean(truth) => Value::boolean(*truth),
            Literal::Integer(integer) => self.scope.integer(*integer),
            Literal::Number(number) => self.scope.float(*number),
            Literal::Text(text) => self.scope.string(&**text)?,
            Literal::EmptyList => self.scope.array(0)?,
        })
    }

    fn list(&self, items: Vec<Value<'s>>) -> Result<'s, Value<'s>> {
        self.scope.array_of(&items)
    }

    fn object(&self, fields: Vec<(&str, Value<'s>)>) -> Result<'s, Value<'s>> {
        let hash = self.scope.hash(fields.len())?;
        for (name, value) in fields {
            let name = Value::symbol(self.scope.intern(name));
            self.scope.hash_set(hash, name, value)?;
        }
        Ok(hash)
    }

    fn nothing(&self) -> Value<'s> {
        Value::nil()
    }
}
