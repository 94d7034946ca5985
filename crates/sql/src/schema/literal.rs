//! Values as text, where a database takes no bound ones: defaults, checks and comments. Not for queries.
//! Rule: what could end a literal is doubled, and what no literal can hold is refused.

use std::fmt::Write;

use crate::dialect::{Dialect, Family};
use crate::error::{Result, usage};
use crate::value::Value;

/// Text in quotes.
pub(super) fn text(text: &str) -> Result<String> {
    if text.contains('\0') {
        return usage("text of a table's definition cannot hold NUL");
    }
    Ok(format!("'{}'", text.replace('\'', "''")))
}

/// Any value that a default can be.
pub(super) fn value(value: &Value, dialect: &Dialect) -> Result<String> {
    Ok(match value {
        Value::Null => "null".to_owned(),
        Value::Boolean(of) => of.to_string(),
        Value::Integer(of) => of.to_string(),
        Value::Real(of) if of.is_finite() => format!("{of:?}"),
        Value::Text(of) | Value::Decimal(of) | Value::Json(of) => text(of)?,
        Value::Blob(of) => {
            let mut hex = String::with_capacity(2 * of.len());
            for byte in of {
                // Writing to a String does not fail.
                let _ = write!(hex, "{byte:02x}");
            }
            match dialect.family {
                Family::Postgres => format!(r"'\x{hex}'::bytea"),
                Family::Sqlite | Family::Firebird => format!("x'{hex}'"),
            }
        }
        Value::Real(_) | Value::List(_) => {
            return usage(
                "a default is a number, a text, true, false, bytes or JSON: say others with default_raw",
            );
        }
    })
}

/// A default as its content alone, without quotes and casts, to be compared.
pub(super) fn content(literal: &str) -> String {
    let Some(quoted) = literal.strip_prefix('\'') else {
        return literal.to_owned();
    };
    let mut content = String::with_capacity(quoted.len());
    let mut characters = quoted.chars().peekable();
    while let Some(character) = characters.next() {
        if character == '\'' && characters.next_if_eq(&'\'').is_none() {
            return content;
        }
        content.push(character);
    }
    literal.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FIREBIRD, POSTGRES, SQLITE};

    #[track_caller]
    fn check(literal: &str, expected: &str) {
        assert_eq!(content(literal), expected);
    }

    #[test]
    fn a_default_is_compared_without_quotes_and_casts() {
        check("'it''s'::character varying", "it's");
        check("'-5'::integer", "-5");
        check("5", "5");
        check("now()", "now()");
        check("'open", "'open");
    }

    #[test]
    fn values_are_literals() {
        let of =
            |of: Value| [&SQLITE, &POSTGRES, &FIREBIRD].map(|dialect| value(&of, dialect).unwrap());
        assert_eq!(of("it's".into()), ["'it''s'"; 3]);
        assert_eq!(of(Value::Null), ["null"; 3]);
        assert_eq!(of(0.5.into()), ["0.5"; 3]);
        assert_eq!(of(1e300.into()), ["1e300"; 3]);
        assert_eq!(
            of(vec![1_u8, 255].into()),
            ["x'01ff'", r"'\x01ff'::bytea", "x'01ff'"]
        );
        assert!(value(&f64::NAN.into(), &SQLITE).is_err());
        assert!(text("a\0").is_err());
    }
}
