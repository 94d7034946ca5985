//! The walk through what a client sent, by a shape: what fits is made, what does not is collected with its path.
//! Knows no language and no message. Rule: a list that is too long is not walked, and nothing is after `SHAPE_FAILURES_MAX` failures.

use crate::failure::{Failures, FieldFailure};
use crate::format::PatternBudget;
use crate::limits::{SHAPE_CHOICES_SHOWN_MAX, SHAPE_ITEMS_MAX};
use crate::literal::Literal;
use crate::messages::EMPTY;
use crate::scalar;
use crate::shape::{FieldPresence, InputShape, Kind, LengthBounds, Rule};
use crate::values::{InputKind, Values};

/// What came of a check.
#[derive(Debug)]
pub struct Outcome<O> {
    /// The fields that fit, by the names of the shape: all of them where nothing fails.
    pub value: O,
    /// What does not fit.
    pub failures: Failures,
}

/// Checks an object against a shape.
///
/// # Errors
/// Those of `values`.
pub fn check<V: Values>(
    shape: &InputShape,
    values: &V,
    input: &V::Input,
) -> Result<Outcome<V::Output>, V::Error> {
    let mut walk = Walk {
        values,
        failures: Failures::default(),
        budget: PatternBudget::default(),
        path: String::new(),
    };
    let value = match values.kind(input)? {
        InputKind::Object => walk.object(shape, input)?,
        _ => {
            walk.failures.add("", FieldFailure::key("object"));
            values.nothing()
        }
    };
    Ok(Outcome {
        value,
        failures: walk.failures,
    })
}

struct Walk<'w, V> {
    values: &'w V,
    failures: Failures,
    budget: PatternBudget,
    /// Where the walk is.
    path: String,
}

/// A value, or nothing after what is wrong with it was kept.
type Step<O, E> = Result<Option<O>, E>;

impl<V: Values> Walk<'_, V> {
    fn object(&mut self, shape: &InputShape, input: &V::Input) -> Result<V::Output, V::Error> {
        let fields = shape.fields();
        let mut kept = Vec::with_capacity(fields.len());
        let above = self.path.len();
        for field in fields {
            if self.failures.is_cut() {
                break;
            }
            if above > 0 {
                self.path.push('.');
            }
            self.path.push_str(&field.name);
            let input = self.values.field(input, &field.name)?;
            if let Some(value) = self.member(&field.rule, input)? {
                kept.push((&*field.name, value));
            }
            self.path.truncate(above);
        }
        self.values.object(kept)
    }

    /// A value that may be missing.
    fn member(&mut self, rule: &Rule, input: Option<V::Input>) -> Step<V::Output, V::Error> {
        let Some(input) = input else {
            return self.absent(rule, "missing");
        };
        let kind = self.values.kind(&input)?;
        match (kind, &rule.kind) {
            (InputKind::Null, _) => self.absent(rule, "missing"),
            (InputKind::Text { is_empty: true }, Kind::Boolean) => self.value(rule, &input, kind),
            // A form sends one for a file that was not chosen, too.
            (InputKind::Text { is_empty: true }, Kind::File) => self.absent(rule, "missing"),
            (InputKind::Text { is_empty: true }, _) if !rule.takes_empty_text() => {
                self.absent(rule, EMPTY)
            }
            _ => self.value(rule, &input, kind),
        }
    }

    /// What is not there, in the words of `key` where it has to be.
    fn absent(&mut self, rule: &Rule, key: &'static str) -> Step<V::Output, V::Error> {
        match &rule.presence {
            FieldPresence::Optional => Ok(None),
            FieldPresence::Default(literal) => self.values.literal(literal).map(Some),
            FieldPresence::Required => self.fail(FieldFailure::key(key)),
        }
    }

    fn value(
        &mut self,
        rule: &Rule,
        input: &V::Input,
        kind: InputKind,
    ) -> Step<V::Output, V::Error> {
        match &rule.kind {
            Kind::Any => self.values.keep(input).map(Some),
            Kind::Text => self.text(rule, input, kind),
            Kind::Integer | Kind::Number => self.number(rule, input, kind),
            Kind::Boolean => self.boolean(input, kind),
            Kind::File => match kind {
                InputKind::File => self.values.keep(input).map(Some),
                _ => self.fail(FieldFailure::key("file")),
            },
            Kind::Object(shape) => match kind {
                InputKind::Object => self.object(shape, input).map(Some),
                _ => self.fail(FieldFailure::key("object")),
            },
            Kind::List(items) => self.list(rule, items, input),
        }
    }

    fn text(
        &mut self,
        rule: &Rule,
        input: &V::Input,
        kind: InputKind,
    ) -> Step<V::Output, V::Error> {
        let InputKind::Text { .. } = kind else {
            return self.fail(FieldFailure::key("text"));
        };
        let is_plain = rule.length.is_none() && rule.choices.is_none();
        if is_plain && rule.format.is_none() && rule.pattern.is_none() {
            return self.values.keep(input).map(Some);
        }
        let text = self.values.text(input)?;
        let pattern = rule.pattern.as_ref();
        let failure =
            text_failure(rule, &text).or_else(|| pattern?.failure(&mut self.budget, &text));
        match failure {
            Some(failure) => self.fail(failure),
            None => self.values.keep(input).map(Some),
        }
    }

    fn number(
        &mut self,
        rule: &Rule,
        input: &V::Input,
        kind: InputKind,
    ) -> Step<V::Output, V::Error> {
        let is_integer = matches!(rule.kind, Kind::Integer);
        let found = match (kind, is_integer) {
            (InputKind::Integer(integer), true) => Some(Literal::Integer(integer)),
            (InputKind::Integer(integer), false) => Some(Literal::Number(integer as f64)),
            (InputKind::Number(number), false) => Some(Literal::Number(number)),
            (InputKind::Text { .. }, true) => {
                scalar::integer(&self.values.text(input)?).map(Literal::Integer)
            }
            (InputKind::Text { .. }, false) => {
                scalar::number(&self.values.text(input)?).map(Literal::Number)
            }
            _ => None,
        };
        let Some(found) = found else {
            let key = if is_integer { "integer" } else { "number" };
            return self.fail(FieldFailure::key(key));
        };
        match number_failure(rule, &found) {
            Some(failure) => self.fail(failure),
            None => self.values.literal(&found).map(Some),
        }
    }

    fn boolean(&mut self, input: &V::Input, kind: InputKind) -> Step<V::Output, V::Error> {
        let found = match kind {
            InputKind::Boolean(truth) => Some(truth),
            InputKind::Text { .. } => scalar::boolean(&self.values.text(input)?),
            _ => None,
        };
        match found {
            Some(truth) => self.values.literal(&Literal::Boolean(truth)).map(Some),
            None => self.fail(FieldFailure::key("boolean")),
        }
    }

    fn list(&mut self, rule: &Rule, items: &Rule, input: &V::Input) -> Step<V::Output, V::Error> {
        let max = rule.length.map_or(SHAPE_ITEMS_MAX, |length| length.max);
        let Some(found) = self.values.items(input, max)? else {
            return self.fail(FieldFailure::key("list"));
        };
        let bounds = LengthBounds {
            min: rule.length.map_or(0, |length| length.min),
            max,
        };
        if let Some(failure) = length_failure("items", bounds, found.len()) {
            return self.fail(failure);
        }
        let mut kept = Vec::with_capacity(found.len());
        let above = self.path.len();
        for (i, item) in found {
            if self.failures.is_cut() {
                break;
            }
            self.path.push_str(&format!("[{i}]"));
            let value = self.member(items, Some(item))?;
            kept.push(value.unwrap_or_else(|| self.values.nothing()));
            self.path.truncate(above);
        }
        self.values.list(kept).map(Some)
    }

    fn fail(&mut self, failure: FieldFailure) -> Step<V::Output, V::Error> {
        self.failures.add(self.path.as_str(), failure);
        Ok(None)
    }
}

/// What is wrong with a text, but for its pattern.
fn text_failure(rule: &Rule, text: &str) -> Option<FieldFailure> {
    if let Some(length) = rule.length {
        let count = text.chars().count();
        if let Some(failure) = length_failure("length", length, count) {
            return Some(failure);
        }
    }
    if let Some(choices) = &rule.choices {
        let is_one = |choice: &Literal| matches!(choice, Literal::Text(known) if **known == *text);
        if !choices.iter().any(is_one) {
            return Some(choice_failure(choices));
        }
    }
    let format = rule.format.filter(|format| !format.fits(text));
    format.map(|format| FieldFailure::key(format.name()))
}

fn number_failure(rule: &Rule, found: &Literal) -> Option<FieldFailure> {
    let order = |bound: &Literal| found.compare(bound);
    if let Some(min) = &rule.min
        && !order(min).is_some_and(std::cmp::Ordering::is_ge)
    {
        return Some(FieldFailure::limit("min", min));
    }
    if let Some(max) = &rule.max
        && !order(max).is_some_and(std::cmp::Ordering::is_le)
    {
        return Some(FieldFailure::limit("max", max));
    }
    let choices = rule.choices.as_ref()?;
    let is_one = choices.iter().any(|choice| choice.is_same(found));
    (!is_one).then(|| choice_failure(choices))
}

/// What is wrong with a length, by the keys of texts (`length`) or of lists (`items`).
fn length_failure(of: &str, bounds: LengthBounds, count: usize) -> Option<FieldFailure> {
    let LengthBounds { min, max } = bounds;
    if (min..=max).contains(&count) {
        return None;
    }
    Some(match (min == max, count < min) {
        (true, _) => FieldFailure::limit(of, min),
        (_, true) => FieldFailure::limit(format!("{of}_min"), min),
        _ => FieldFailure::limit(format!("{of}_max"), max),
    })
}

fn choice_failure(choices: &[Literal]) -> FieldFailure {
    let shown = choices.iter().take(SHAPE_CHOICES_SHOWN_MAX);
    let mut shown: Vec<String> = shown.map(ToString::to_string).collect();
    if choices.len() > SHAPE_CHOICES_SHOWN_MAX {
        shown.push("…".to_owned());
    }
    FieldFailure::limit("choice", shown.join(", "))
}
