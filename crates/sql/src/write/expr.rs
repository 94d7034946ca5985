//! Expressions as text. Parentheses go where precedence differs between databases or readers would have to look it up.
//! Rule: every kind of expression is written in one place, with the dialect's fork beside the others' text.

use std::borrow::Cow;

use super::{Writer, pattern};
use crate::condition::{all, any};
use crate::dialect::{Average, Decimals, FIREBIRD, Like, ParameterTypes, Remainder, Support};
use crate::error::{Error, Result, exceeded, usage};
use crate::expr::{Binary, Call, Case, Distinct, Expr, Is, Node};
use crate::limits::{DEPTH_MAX, NODES_MAX};
use crate::value::Value;

/// How tightly an expression holds together, loosest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Any,
    All,
    Not,
    Condition,
    Sum,
    Product,
    Atom,
}

fn level(expr: &Expr) -> Level {
    match expr.node() {
        Node::Any(list) | Node::All(list) if list.len() == 1 => {
            list.first().map_or(Level::Condition, level)
        }
        Node::Any(list) | Node::All(list) if list.is_empty() => Level::Condition,
        Node::Any(_) => Level::Any,
        Node::All(_) => Level::All,
        Node::Not(_) => Level::Not,
        Node::Unbounded(of, _) => level(of),
        Node::Null(..)
        | Node::Between(..)
        | Node::In(..)
        | Node::InQuery(..)
        | Node::Like(..)
        | Node::After(..) => Level::Condition,
        Node::Binary(_, operator, _) => match operator {
            Binary::Add | Binary::Subtract | Binary::Concatenate => Level::Sum,
            Binary::Multiply | Binary::Divide | Binary::Remainder => Level::Product,
            _ => Level::Condition,
        },
        Node::Negate(_) => Level::Product,
        _ => Level::Atom,
    }
}

fn not(is: Is) -> &'static str {
    match is {
        Is::Affirmed => "",
        Is::Not => "not ",
    }
}

impl Writer<'_> {
    /// An expression where nothing stands beside it.
    pub(super) fn expr(&mut self, expr: &Expr) -> Result<()> {
        self.fits()?;
        match expr.node() {
            Node::Column(name) => self.column(name),
            Node::Star => {
                self.text("*");
                Ok(())
            }
            Node::Excluded(name) if self.owner.is_some() => {
                self.text("excluded.");
                self.bare_name(name)
            }
            Node::Excluded(_) => {
                usage("excluded stands for the row that an upsert could not insert, and only there")
            }
            Node::Value(value) => {
                self.bind(value.clone());
                Ok(())
            }
            Node::Binary(left, operator, right) => self.binary(left, *operator, right),
            Node::Negate(of) => {
                self.text("-");
                self.within(of, Level::Product)
            }
            Node::Call(call) => self.call(call),
            Node::Query(query) => self.nested(query),
            Node::Raw(raw) => self.enclosed(|writer| writer.raw_text(&raw.sql, &raw.values)),
            Node::One => {
                self.text("1");
                Ok(())
            }
            Node::TooDeep => too_deep(),
            Node::TooLarge => too_large(),
            _ => self.condition(expr.node()),
        }
    }

    /// An expression in one of this level: in parentheses unless it holds together more tightly.
    fn within(&mut self, expr: &Expr, outer: Level) -> Result<()> {
        if level(expr) > outer {
            return self.expr(expr);
        }
        self.enclosed(|writer| writer.expr(expr))
    }

    fn binary(&mut self, left: &Expr, operator: Binary, right: &Expr) -> Result<()> {
        if operator == Binary::Remainder && self.dialect.remainder == Remainder::Mod {
            self.numbers_only([left, right])?;
            self.text("mod");
            return self.enclosed(|writer| {
                writer.list([left, right], |writer, side| {
                    writer.calculated(side, Level::Any, type_of_number)
                })
            });
        }
        let outer = match operator {
            Binary::Add | Binary::Subtract => Level::Sum,
            // Databases do not agree how tightly || holds.
            Binary::Multiply | Binary::Divide | Binary::Remainder | Binary::Concatenate => {
                Level::Product
            }
            _ => Level::Condition,
        };
        if outer == Level::Condition {
            self.side(left, right)?;
            self.text(operator.sign());
            return self.side(right, left);
        }
        let as_type = match operator {
            Binary::Concatenate => type_of,
            _ => {
                self.numbers_only([left, right])?;
                type_of_number
            }
        };
        self.calculated(left, outer, as_type)?;
        self.text(operator.sign());
        self.calculated(right, outer, as_type)
    }

    /// Refuses a value that is no number in a calculation, where its type is written: there the statement would make no sense, and its value
    /// would be taken for a fault of the SQL.
    fn numbers_only(&self, sides: [&Expr; 2]) -> Result<()> {
        let is_number = |value: &Value| match value {
            Value::Null | Value::Integer(_) | Value::Real(_) => true,
            Value::Decimal(text) | Value::Text(text) => digits(text),
            Value::Boolean(_) | Value::Blob(_) | Value::List(_) | Value::Json(_) => false,
        };
        let mut values = sides.into_iter().flat_map(value_of);
        match self.dialect.parameter_types {
            ParameterTypes::Cast if !values.all(is_number) => {
                let message = "a value that is calculated with (+ - * / %) is a number";
                Err(Error::Value(message.to_owned()))
            }
            _ => Ok(()),
        }
    }

    /// A part of an expression of this level whose type the database cannot tell by its place. Of a value `as_type` says it.
    fn calculated(&mut self, expr: &Expr, outer: Level, as_type: TypeOf) -> Result<()> {
        match expr.node() {
            Node::Value(value) => {
                self.typed(value, as_type);
                Ok(())
            }
            _ if outer == Level::Any => self.expr(expr),
            _ => self.within(expr, outer),
        }
    }

    /// A value by itself, with its type where the database needs it.
    pub(super) fn alone(&mut self, value: &Value) {
        self.typed(value, type_of);
    }

    fn typed(&mut self, value: &Value, as_type: TypeOf) {
        match self.dialect.parameter_types {
            ParameterTypes::Cast => self.cast(value, &as_type(value)),
            ParameterTypes::Inferred => self.found(value),
        }
    }

    /// A value whose type the database finds by its place. Beside a whole number it would take an exact one for that.
    fn found(&mut self, value: &Value) {
        match value {
            Value::Decimal(_) if self.dialect.decimals == Decimals::Numbers => {
                self.cast(value, "numeric");
            }
            _ => self.bind(value.clone()),
        }
    }

    fn cast(&mut self, value: &Value, to: &str) {
        self.text("cast(");
        self.bind(value.clone());
        self.text(" as ");
        self.text(to);
        self.text(")");
    }

    /// One side of a comparison, which may be a value.
    fn side(&mut self, side: &Expr, other: &Expr) -> Result<()> {
        match side.node() {
            Node::Value(value) => {
                self.compared_with(value, other);
                Ok(())
            }
            _ => self.compared(side, &value_of(other)),
        }
    }

    /// A value that something is compared with. Where the database takes it for one of the column's type a text may be too long for
    /// that; as one of its own it is just another. An exact number without a fraction is left to be of the column's type, so that an index
    /// of whole numbers is of use. What is calculated is of no column, and SQLite would take any text for more than it.
    fn compared_with(&mut self, value: &Value, of: &Expr) {
        match (self.dialect.parameter_types, value) {
            (_, Value::Decimal(_)) if self.dialect.decimals == Decimals::Text => {
                match is_calculated(of) {
                    true => self.cast(value, "numeric"),
                    false => self.bind(value.clone()),
                }
            }
            (ParameterTypes::Cast, Value::Decimal(text)) if is_short_fraction(text) => {
                self.cast(value, &type_of_digits(text));
            }
            // Of a column's type it would be out of range; no exact number there has so many digits.
            (ParameterTypes::Cast, Value::Decimal(text)) if text.contains('.') && digits(text) => {
                self.cast(value, "double precision");
            }
            (ParameterTypes::Cast, Value::Text(text) | Value::Decimal(text)) => {
                self.cast(value, &type_of_text(text));
            }
            (ParameterTypes::Inferred, Value::Decimal(text)) if text.contains('.') => {
                self.found(value)
            }
            _ => self.bind(value.clone()),
        }
    }

    /// One side of a comparison. An aggregate of exact numbers in text is made comparable with numbers, for it has no affinity.
    fn compared(&mut self, side: &Expr, others: &[&Value]) -> Result<()> {
        if self.dialect.decimals != Decimals::Text {
            return self.within(side, Level::Condition);
        }
        let any = |is: fn(&Value) -> bool| others.iter().any(|value| is(value));
        let holds = self.holds_number(side);
        // An exact number is bound as text. So compared no digit is lost.
        let exactly = (holds && any(is_exact)) || (is_found(side) && any(is_decimal));
        let doubles = any(|value| matches!(value, Value::Integer(_) | Value::Real(_)));
        let (as_type, collation) = match exactly {
            true => ("text", " collate decimal"),
            false if holds && (is_sum(side) || doubles) => ("numeric", ""),
            false if has_decimals(side) && doubles => ("numeric", ""),
            false => return self.within(side, Level::Condition),
        };
        self.text("cast(");
        self.expr(side)?;
        self.text(" as ");
        self.text(as_type);
        self.text(")");
        self.text(collation);
        Ok(())
    }

    /// Whether it may be an aggregate of numbers in text, also out of a sub-select.
    fn holds_number(&self, side: &Expr) -> bool {
        match side.node() {
            Node::Column(name) => self.numbers.iter().any(|number| number == name.last()),
            Node::Query(query) => match query.parts().items.as_slice() {
                [only] => is_number(&only.expr),
                _ => false,
            },
            _ => is_number(side),
        }
    }

    fn call(&mut self, call: &Call) -> Result<()> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
        if call.function.is_empty() || !call.function.chars().all(plain) {
            let name = &call.function;
            return usage(format!(
                "{name:?} is no plain name of a function: use raw SQL"
            ));
        }
        self.text(&call.function);
        self.text("(");
        if call.distinct == Distinct::Yes {
            self.text("distinct ");
        }
        // An average is a double everywhere, and the same to its last digit.
        let cast = &*call.function == "avg" && self.dialect.average == Average::Argument;
        self.text(if cast { "cast(" } else { "" });
        // Of these the first argument says what the others are.
        let is_typed = matches!(&*call.function, "coalesce" | "nullif");
        self.list(&call.arguments, |writer, argument| match is_typed {
            true => writer.like_first(argument),
            false => writer.calculated(argument, Level::Any, type_of),
        })?;
        self.text(if cast { " as double precision)" } else { "" });
        self.text(")");
        Ok(())
    }

    /// An argument whose type is that of the first one, as far as the database goes by that.
    fn like_first(&mut self, argument: &Expr) -> Result<()> {
        match (self.dialect.parameter_types, argument.node()) {
            (ParameterTypes::Inferred, Node::Value(value)) => {
                self.found(value);
                Ok(())
            }
            // As one of the first one's type it might lose its fraction.
            (ParameterTypes::Cast, Node::Value(value @ Value::Decimal(text)))
                if is_short_fraction(text) =>
            {
                self.cast(value, &type_of_digits(text));
                Ok(())
            }
            _ => self.expr(argument),
        }
    }

    fn condition(&mut self, node: &Node) -> Result<()> {
        match node {
            Node::Not(of) => {
                self.text("not ");
                self.enclosed(|writer| writer.expr(of))
            }
            Node::All(list) => self.every(list),
            Node::Any(list) => self.group(list, " or ", "1 = 0", Level::Any),
            Node::Unbounded(of, _) => self.expr(of),
            Node::Null(of, is) => {
                self.within(of, Level::Condition)?;
                self.text(" is ");
                self.text(not(*is));
                self.text("null");
                Ok(())
            }
            Node::Between(of, is, from, to) => {
                self.write_test(of, *is, "between ", &[from, to])?;
                self.compared_with(from, of);
                self.text(" and ");
                self.compared_with(to, of);
                Ok(())
            }
            Node::In(of, is, values) => self.one_of(of, *is, values),
            Node::InQuery(of, is, query) => {
                self.write_test(of, *is, "in ", &[])?;
                self.nested(query)
            }
            Node::Like(of, is, case, pattern) => self.like(of, *is, *case, pattern),
            Node::Exists(query) => {
                self.text("exists ");
                self.nested(query)
            }
            Node::After(fields, operator, values) => self.after(fields, *operator, values),
            _ => too_deep(),
        }
    }

    /// `x not between `, for what follows it.
    fn write_test(&mut self, of: &Expr, is: Is, what: &str, values: &[&Value]) -> Result<()> {
        self.compared(of, values)?;
        self.text(" ");
        self.text(not(is));
        self.text(what);
        Ok(())
    }

    /// All of these conditions.
    pub(super) fn every(&mut self, conditions: &[Expr]) -> Result<()> {
        self.group(conditions, " and ", "1 = 1", Level::All)
    }

    fn group(&mut self, list: &[Expr], between: &str, empty: &str, outer: Level) -> Result<()> {
        if let [only] = list {
            return self.expr(only);
        }
        if list.is_empty() {
            self.text(empty);
        }
        for (index, condition) in list.iter().enumerate() {
            if index > 0 {
                self.text(between);
            }
            self.within(condition, outer)?;
        }
        Ok(())
    }

    fn one_of(&mut self, of: &Expr, is: Is, values: &[Value]) -> Result<()> {
        if values.is_empty() {
            self.text(match is {
                Is::Affirmed => "1 = 0",
                Is::Not => "1 = 1",
            });
            return Ok(());
        }
        self.write_test(of, is, "in (", &values.iter().collect::<Vec<_>>())?;
        self.list(values, |writer, value| {
            writer.compared_with(value, of);
            Ok(())
        })?;
        self.text(")");
        Ok(())
    }

    fn like(&mut self, of: &Expr, is: Is, case: Case, wanted: &str) -> Result<()> {
        let (operator, pattern, escape) = match (self.dialect.like, case) {
            (Like::Ilike, Case::Matters) => ("like ", pattern::like(wanted), ""),
            (Like::Ilike, Case::Ignored) => ("ilike ", pattern::like(wanted), ""),
            (Like::Glob, Case::Matters) => ("glob ", pattern::glob(wanted), ""),
            (Like::Glob, Case::Ignored) | (Like::Upper, Case::Matters) => {
                ("like ", pattern::like(wanted), r" escape '\'")
            }
            (Like::Upper, Case::Ignored) => {
                self.text("upper(");
                self.expr(of)?;
                self.text(") ");
                self.text(not(is));
                self.text("like ");
                self.compared_with(&Value::Text(pattern::upper(&pattern::like(wanted))), of);
                self.text(r" escape '\'");
                return Ok(());
            }
        };
        self.write_test(of, is, operator, &[])?;
        self.compared_with(&Value::Text(pattern), of);
        self.text(escape);
        Ok(())
    }

    /// Rows beyond one, compared field by field.
    fn after(&mut self, fields: &[Expr], operator: Binary, values: &[Value]) -> Result<()> {
        let pairs = || fields.iter().cloned().zip(values.iter().cloned());
        if let ([field], [value]) = (fields, values) {
            return self.binary(field, operator, &value.clone().into());
        }
        if self.dialect.row_values == Support::Unsupported {
            let beyond = (0..fields.len()).map(|last| {
                let same = pairs().take(last).map(|(field, value)| field.eq(value));
                let next = pairs().nth(last).map(|(field, value)| match operator {
                    Binary::Less => field.lt(value),
                    _ => field.gt(value),
                });
                all(same.chain(next))
            });
            return self.enclosed(|writer| writer.expr(&any(beyond)));
        }
        self.enclosed(|writer| writer.list(fields, |writer, field| writer.expr(field)))?;
        self.text(operator.sign());
        self.enclosed(|writer| {
            writer.list(values, |writer, value| {
                writer.bind(value.clone());
                Ok(())
            })
        })
    }
}

/// Whether an expression calculates with numbers.
fn is_calculated(expr: &Expr) -> bool {
    matches!(level(expr), Level::Sum | Level::Product)
        && !matches!(expr.node(), Node::Binary(_, Binary::Concatenate, _))
}

/// Whether an expression is what a function or another query found: of no column, so that SQLite takes any text for more than it.
fn is_found(expr: &Expr) -> bool {
    matches!(expr.node(), Node::Call(_) | Node::Query(_))
}

/// Whether an expression may be one of the exact numbers among its arguments.
fn has_decimals(expr: &Expr) -> bool {
    let is_decimal = |argument: &Expr| value_of(argument).into_iter().any(is_decimal);
    matches!(expr.node(), Node::Call(call) if call.arguments.iter().any(is_decimal))
}

fn is_decimal(value: &Value) -> bool {
    matches!(value, Value::Decimal(_))
}

/// Whether a text is a number with a fraction that Firebird has a type for.
fn is_short_fraction(text: &str) -> bool {
    let count = text.bytes().filter(u8::is_ascii_digit).count();
    text.contains('.') && digits(text) && count <= usize::from(FIREBIRD.decimal_digits_max)
}

/// The value that an expression is.
fn value_of(expr: &Expr) -> Vec<&Value> {
    match expr.node() {
        Node::Value(value) => vec![value],
        _ => Vec::new(),
    }
}

/// Most bytes of a text that is a `varchar` in a calculation, a longer one is a blob: as many characters as Firebird's holds in UTF-8.
const TEXT_BYTES_MAX: usize = 8_191;

/// What says the type of a value.
type TypeOf = fn(&Value) -> Cow<'static, str>;

/// The type to say of a value by itself, wide enough for it. Few different ones, so that statements are alike.
fn type_of(value: &Value) -> Cow<'static, str> {
    match value {
        Value::Boolean(_) => "boolean".into(),
        Value::Null | Value::Integer(_) => "bigint".into(),
        Value::Real(_) => "double precision".into(),
        Value::Decimal(text) if digits(text) => type_of_digits(text),
        Value::Text(text) | Value::Decimal(text) => type_of_text(text),
        Value::Json(_) | Value::List(_) => "blob sub_type text".into(),
        Value::Blob(_) => "blob sub_type binary".into(),
    }
}

/// The same of a value that is calculated with: there digits are a number, also if they are a text's.
fn type_of_number(value: &Value) -> Cow<'static, str> {
    match value {
        Value::Text(text) if digits(text) => type_of_digits(text),
        _ => type_of(value),
    }
}

fn type_of_digits(text: &str) -> Cow<'static, str> {
    let scale = text.split_once('.').map_or(0, |(_, part)| part.len());
    let max = usize::from(FIREBIRD.decimal_digits_max);
    format!("decimal({max}, {})", scale.min(max)).into()
}

fn type_of_text(text: &str) -> Cow<'static, str> {
    if text.len() > TEXT_BYTES_MAX {
        return "blob sub_type text".into();
    }
    let characters = text.len().next_power_of_two().max(32);
    format!("varchar({})", characters.min(TEXT_BYTES_MAX)).into()
}

fn is_sum(expr: &Expr) -> bool {
    matches!(expr.node(), Node::Call(call) if &*call.function == "sum")
}

/// Whether it is an aggregate that may be an exact number.
pub(super) fn is_number(expr: &Expr) -> bool {
    let Node::Call(call) = expr.node() else {
        return false;
    };
    is_sum(expr) || (matches!(&*call.function, "min" | "max") && call.arguments.len() == 1)
}

/// Whether a value is an exact number, or a text that reads as one.
fn is_exact(value: &Value) -> bool {
    matches!(value, Value::Text(text) | Value::Decimal(text) if digits(text))
}

/// Whether a text is a number in plain digits.
fn digits(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let plain = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    !(whole.is_empty() && part.is_empty()) && plain(whole) && plain(part)
}

pub(super) fn too_large<T>() -> Result<T> {
    exceeded(
        "NODES_MAX",
        usize::try_from(NODES_MAX).unwrap_or(usize::MAX),
    )
}

pub(super) fn too_deep<T>() -> Result<T> {
    exceeded("DEPTH_MAX", DEPTH_MAX.into())
}
