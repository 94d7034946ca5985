//! Shapes and the rules of their fields, as an author writes them. Reads no value of a client.
//! Rule: a shape that makes no sense, or is larger than a limit, is refused by [`InputShape::examine`] before anything is checked with it.

use std::ops::{Bound, RangeBounds};
use std::rc::Rc;

use crate::format::{Format, TextPattern};
use crate::limits::{SHAPE_CHOICES_MAX, SHAPE_DEPTH_MAX, SHAPE_FIELDS_MAX};
use crate::literal::Literal;

/// An object: its fields in their order. Others that a client sends are passed over.
#[derive(Clone, Debug, Default)]
pub struct InputShape {
    fields: Vec<Field>,
}

/// A field of an object.
#[derive(Clone, Debug)]
pub struct Field {
    /// Its name, as clients write it.
    pub name: Rc<str>,
    /// What it has to be.
    pub rule: Rule,
}

/// What a value has to be.
#[derive(Clone, Debug)]
pub struct Rule {
    pub(crate) kind: Kind,
    pub(crate) presence: FieldPresence,
    pub(crate) min: Option<Literal>,
    pub(crate) max: Option<Literal>,
    pub(crate) length: Option<LengthBounds>,
    pub(crate) format: Option<Format>,
    pub(crate) pattern: Option<TextPattern>,
    pub(crate) choices: Option<Rc<[Literal]>>,
}

/// Of which kind a value is.
#[derive(Clone, Debug)]
pub enum Kind {
    /// A text.
    Text,
    /// A whole number of 64 bits.
    Integer,
    /// A finite number.
    Number,
    /// true or false.
    Boolean,
    /// A file of a form.
    File,
    /// An object of this shape.
    Object(Rc<InputShape>),
    /// A list of such values.
    List(Rc<Rule>),
    /// Anything, as it was sent.
    Any,
}

/// What becomes of a field that is not there.
#[derive(Clone, Debug)]
pub(crate) enum FieldPresence {
    Required,
    Optional,
    Default(Literal),
}

/// How many characters a text has, or items a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LengthBounds {
    /// At least.
    pub min: usize,
    /// At the most.
    pub max: usize,
}

/// A shape that makes no sense. Correct it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShapeError {
    /// More fields than `SHAPE_FIELDS_MAX`.
    #[error("the shape has more than {SHAPE_FIELDS_MAX} fields, which is SHAPE_FIELDS_MAX")]
    Fields,
    /// Nested deeper than `SHAPE_DEPTH_MAX`.
    #[error("the shape is nested more than {SHAPE_DEPTH_MAX} deep, which is SHAPE_DEPTH_MAX")]
    Depth,
    /// More choices than `SHAPE_CHOICES_MAX`, or none.
    #[error(
        "{0}: a field chooses among 1 to {SHAPE_CHOICES_MAX} values, which is SHAPE_CHOICES_MAX"
    )]
    Choices(Rc<str>),
    /// Two fields of one name.
    #[error("{0}: the shape has this field twice")]
    Twice(Rc<str>),
    /// A name that a path could not be read with.
    #[error("{0:?}: the name of a field is not empty and has none of . [ ]")]
    Name(Rc<str>),
    /// An option that this kind of field has not.
    #[error("{field}: {option} is not for a field of this kind")]
    Option {
        /// The field.
        field: Rc<str>,
        /// The option.
        option: &'static str,
    },
    /// Nothing can be as it has to be.
    #[error("{0}: no value is within these bounds")]
    Bounds(Rc<str>),
}

impl InputShape {
    /// An object without fields.
    pub fn new() -> InputShape {
        InputShape::default()
    }

    /// Adds a field.
    #[must_use]
    pub fn field(mut self, name: impl Into<Rc<str>>, rule: Rule) -> InputShape {
        let name = name.into();
        self.fields.push(Field { name, rule });
        self
    }

    /// The fields in their order.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// Says whether the shape makes sense and is within the limits. To be asked once, before it is used.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn examine(&self) -> Result<(), ShapeError> {
        let mut fields = 0;
        self.examine_below(1, &mut fields)
    }

    fn examine_below(&self, depth: usize, fields: &mut usize) -> Result<(), ShapeError> {
        if depth > SHAPE_DEPTH_MAX {
            return Err(ShapeError::Depth);
        }
        *fields += self.fields.len();
        if *fields > SHAPE_FIELDS_MAX {
            return Err(ShapeError::Fields);
        }
        let mut known = std::collections::HashSet::new();
        for Field { name, rule } in &self.fields {
            if name.is_empty() || name.contains(['.', '[', ']']) {
                return Err(ShapeError::Name(Rc::clone(name)));
            }
            if !known.insert(name) {
                return Err(ShapeError::Twice(Rc::clone(name)));
            }
            rule.examine_below(name, depth, fields)?;
        }
        Ok(())
    }
}

impl Rule {
    /// A value of this kind that has to be there.
    pub fn of(kind: Kind) -> Rule {
        Rule {
            kind,
            presence: FieldPresence::Required,
            min: None,
            max: None,
            length: None,
            format: None,
            pattern: None,
            choices: None,
        }
    }

    /// Of which kind the value is.
    pub fn kind(&self) -> &Kind {
        &self.kind
    }

    /// A number that is at least this.
    #[must_use]
    pub fn min(mut self, min: impl Into<Literal>) -> Rule {
        self.min = Some(min.into());
        self
    }

    /// A number that is at most this.
    #[must_use]
    pub fn max(mut self, max: impl Into<Literal>) -> Rule {
        self.max = Some(max.into());
        self
    }

    /// A text of so many characters, a list of so many items. Only where it begins at 0 an empty text is a value, and not missing.
    #[must_use]
    pub fn length(mut self, length: impl RangeBounds<usize>) -> Rule {
        let min = match length.start_bound() {
            Bound::Included(min) => *min,
            Bound::Excluded(below) => below.saturating_add(1),
            Bound::Unbounded => 0,
        };
        let max = match length.end_bound() {
            Bound::Included(max) => *max,
            Bound::Excluded(above) => above.saturating_sub(1),
            Bound::Unbounded => usize::MAX,
        };
        self.length = Some(LengthBounds { min, max });
        self
    }

    /// A text of this format.
    #[must_use]
    pub fn format(mut self, format: Format) -> Rule {
        self.format = Some(format);
        self
    }

    /// A text that fits this pattern.
    #[must_use]
    pub fn matching(mut self, pattern: TextPattern) -> Rule {
        self.pattern = Some(pattern);
        self
    }

    /// One of these values.
    #[must_use]
    pub fn one_of<L: Into<Literal>>(mut self, choices: impl IntoIterator<Item = L>) -> Rule {
        self.choices = Some(choices.into_iter().map(Into::into).collect());
        self
    }

    /// May be missing, and is absent then.
    #[must_use]
    pub fn optional(mut self) -> Rule {
        self.presence = FieldPresence::Optional;
        self
    }

    /// May be missing, and is this then.
    #[must_use]
    pub fn default(mut self, value: impl Into<Literal>) -> Rule {
        self.presence = FieldPresence::Default(value.into());
        self
    }

    /// May be missing, and is an empty list then.
    #[must_use]
    pub fn default_empty(mut self) -> Rule {
        self.presence = FieldPresence::Default(Literal::EmptyList);
        self
    }

    /// Whether an empty text is a value of this.
    pub(crate) fn takes_empty_text(&self) -> bool {
        matches!(self.kind, Kind::Any) || self.length.is_some_and(|length| length.min == 0)
    }

    fn examine_below(
        &self,
        name: &Rc<str>,
        depth: usize,
        fields: &mut usize,
    ) -> Result<(), ShapeError> {
        self.examine_options(name)?;
        match &self.kind {
            Kind::Object(shape) => shape.examine_below(depth + 1, fields),
            Kind::List(_) if depth >= SHAPE_DEPTH_MAX => Err(ShapeError::Depth),
            Kind::List(rule) => rule.examine_below(name, depth + 1, fields),
            _ => Ok(()),
        }
    }

    fn examine_options(&self, name: &Rc<str>) -> Result<(), ShapeError> {
        let is_text = matches!(self.kind, Kind::Text);
        let is_number = matches!(self.kind, Kind::Integer | Kind::Number);
        let is_list = matches!(self.kind, Kind::List(_));
        let default = match &self.presence {
            FieldPresence::Default(literal) => Some(literal),
            _ => None,
        };
        let allowed = [
            ("min", self.min.is_some(), is_number),
            ("max", self.max.is_some(), is_number),
            ("length", self.length.is_some(), is_text || is_list),
            ("format", self.format.is_some(), is_text),
            ("format", self.pattern.is_some(), is_text),
            ("one_of", self.choices.is_some(), is_text || is_number),
            (
                "default",
                default.is_some_and(|literal| !self.takes_default(literal)),
                false,
            ),
        ];
        if let Some((option, ..)) = allowed.iter().find(|(_, given, fits)| *given && !fits) {
            let field = Rc::clone(name);
            return Err(ShapeError::Option { field, option });
        }
        let choices = self.choices.as_ref().map(|choices| choices.len());
        if choices.is_some_and(|count| !(1..=SHAPE_CHOICES_MAX).contains(&count)) {
            return Err(ShapeError::Choices(Rc::clone(name)));
        }
        let crossed = self.length.is_some_and(|length| length.min > length.max);
        let ordered = match (&self.min, &self.max) {
            (Some(min), Some(max)) => min.compare(max).is_some_and(std::cmp::Ordering::is_le),
            (Some(one), None) | (None, Some(one)) => one.compare(one).is_some(),
            (None, None) => true,
        };
        match ordered && !crossed {
            true => Ok(()),
            false => Err(ShapeError::Bounds(Rc::clone(name))),
        }
    }

    fn takes_default(&self, literal: &Literal) -> bool {
        matches!(
            (&self.kind, literal),
            (Kind::Any, _)
                | (Kind::Text, Literal::Text(_))
                | (Kind::Integer, Literal::Integer(_))
                | (Kind::Number, Literal::Integer(_) | Literal::Number(_))
                | (Kind::Boolean, Literal::Boolean(_))
                | (Kind::List(_), Literal::EmptyList)
        )
    }
}

/// A text.
pub fn text() -> Rule {
    Rule::of(Kind::Text)
}

/// A whole number of 64 bits.
pub fn integer() -> Rule {
    Rule::of(Kind::Integer)
}

/// A finite number.
pub fn number() -> Rule {
    Rule::of(Kind::Number)
}

/// true or false.
pub fn boolean() -> Rule {
    Rule::of(Kind::Boolean)
}

/// A file of a form.
pub fn file() -> Rule {
    Rule::of(Kind::File)
}

/// An object of this shape.
pub fn object(shape: InputShape) -> Rule {
    Rule::of(Kind::Object(Rc::new(shape)))
}

/// A list of such values; of at most `SHAPE_ITEMS_MAX` unless [`Rule::length`] says otherwise.
pub fn list(items: Rule) -> Rule {
    Rule::of(Kind::List(Rc::new(items)))
}

/// Anything, as it was sent.
pub fn any() -> Rule {
    Rule::of(Kind::Any)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(shape: InputShape, expected: Result<(), &str>) {
        let examined = shape.examine().map_err(|error| error.to_string());
        match (examined, expected) {
            (Ok(()), Ok(())) => {}
            (Err(error), Err(part)) => assert!(error.contains(part), "{error}"),
            (examined, expected) => panic!("{examined:?}, expected {expected:?}"),
        }
    }

    fn one(rule: Rule) -> InputShape {
        InputShape::new().field("a", rule)
    }

    #[test]
    fn option_of_another_kind_is_refused() {
        check(one(text().min(1)), Err("a: min is not for"));
        check(one(integer().length(1..)), Err("a: length is not for"));
        check(one(boolean().one_of([true])), Err("a: one_of is not for"));
        check(
            one(integer().format(Format::Email)),
            Err("a: format is not for"),
        );
        check(one(integer().default("x")), Err("a: default is not for"));
        check(
            one(list(integer().length(1..)).optional()),
            Err("a: length is not for"),
        );
        check(one(list(integer()).length(1..)), Ok(()));
        check(one(number().default(1)), Ok(()));
    }

    #[test]
    fn bounds_that_cross_are_refused() {
        check(one(integer().min(2).max(1)), Err("a: no value"));
        check(one(integer().min(2).max(2)), Ok(()));
        check(one(number().min(f64::NAN)), Err("a: no value"));
        #[expect(clippy::reversed_empty_ranges, reason = "this is what is tested")]
        check(one(text().length(2..=1)), Err("a: no value"));
    }

    #[test]
    fn name_that_is_no_step_of_a_path_is_refused() {
        for name in ["", "a.b", "a[0]"] {
            check(
                InputShape::new().field(name, text()),
                Err("the name of a field"),
            );
        }
        check(
            one(text()).field("a", text()),
            Err("a: the shape has this field twice"),
        );
    }

    #[test]
    fn shape_beyond_a_limit_is_refused_by_its_name() {
        let nested = |depth: usize| (1..depth).fold(one(text()), |shape, _| one(object(shape)));
        check(nested(SHAPE_DEPTH_MAX), Ok(()));
        check(nested(SHAPE_DEPTH_MAX + 1), Err("SHAPE_DEPTH_MAX"));
        let lists = |depth: usize| (1..depth).fold(text(), |rule, _| list(rule));
        check(one(lists(SHAPE_DEPTH_MAX)), Ok(()));
        check(one(lists(SHAPE_DEPTH_MAX + 1)), Err("SHAPE_DEPTH_MAX"));
        let wide = |count: usize| {
            let fields = 0..count;
            fields.fold(InputShape::new(), |shape, i| {
                shape.field(format!("f{i}"), text())
            })
        };
        check(wide(SHAPE_FIELDS_MAX), Ok(()));
        check(wide(SHAPE_FIELDS_MAX + 1), Err("SHAPE_FIELDS_MAX"));
        let choices = |count: i64| one(integer().one_of(0..count));
        check(choices(SHAPE_CHOICES_MAX as i64), Ok(()));
        check(
            choices(SHAPE_CHOICES_MAX as i64 + 1),
            Err("SHAPE_CHOICES_MAX"),
        );
        check(choices(0), Err("SHAPE_CHOICES_MAX"));
    }
}
