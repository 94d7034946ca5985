//! Query strings and urlencoded forms as ordered pairs. Pure: text in, pairs out.
//! Names may repeat and keep their order; a name without `=` has the empty value; more than `parameters_max` pairs is an error.

use std::borrow::Cow;

use crate::{
    error::{Error, Result, check_limit},
    percent::{Plus, decode},
};

/// A name and its value, decoded.
pub type QueryPair<'a> = (Cow<'a, str>, Cow<'a, str>);

/// The pairs of a query string (without its `?`).
pub fn pairs(text: &str, parameters_max: usize) -> Result<Vec<QueryPair<'_>>> {
    let mut pairs = Vec::new();
    for field in text.split('&').filter(|field| !field.is_empty()) {
        check_limit("parameters_max", pairs.len() + 1, parameters_max as u64)?;
        let (name, value) = field.split_once('=').unwrap_or((field, ""));
        pairs.push((decode(name, Plus::Space)?, decode(value, Plus::Space)?));
    }
    Ok(pairs)
}

/// The pairs of a body of type `application/x-www-form-urlencoded`.
pub fn form(body: &[u8], parameters_max: usize) -> Result<Vec<QueryPair<'_>>> {
    let text = std::str::from_utf8(body).map_err(|_| Error::Malformed("form: not UTF-8"))?;
    pairs(text, parameters_max)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[(&str, &str)]) {
        let found = pairs(text, 100).unwrap();
        let found: Vec<(&str, &str)> = found
            .iter()
            .map(|(name, value)| (name.as_ref(), value.as_ref()))
            .collect();
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn pairs_keep_their_order_and_repeat() {
        check("b=2&a=1&b=3", &[("b", "2"), ("a", "1"), ("b", "3")]);
    }

    #[test]
    fn values_may_be_missing_or_hold_equals_signs() {
        check(
            "a&b=&=c&d=e=f",
            &[("a", ""), ("b", ""), ("", "c"), ("d", "e=f")],
        );
        check("", &[]);
        check("&&a=1&", &[("a", "1")]);
    }

    #[test]
    fn separators_decode_after_splitting() {
        check("a%26b=c%3Dd&x+y=1+2", &[("a&b", "c=d"), ("x y", "1 2")]);
    }

    #[test]
    fn a_broken_escape_is_malformed() {
        assert!(matches!(pairs("a=%zz", 9), Err(Error::Malformed(_))));
        assert!(matches!(form(b"a=\xff", 9), Err(Error::Malformed(_))));
    }

    #[test]
    fn one_pair_more_than_the_limit_is_an_error_that_names_it() {
        assert_eq!(pairs("a&b&c", 3).unwrap().len(), 3);
        let error = pairs("a&b&c&d", 3).unwrap_err();
        assert!(error.to_string().contains("parameters_max"), "{error}");
    }
}
