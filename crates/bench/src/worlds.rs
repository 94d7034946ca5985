//! What servers of the World/Fortune endpoints must answer: once as JSON, with a reason when it is wrong, and under load by its bytes.
//! Knows no server and no time.

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::load;

/// Rows of the table `world`.
const WORLDS: i64 = 10_000;
/// Rows of the table `fortune`, and the one added at request time.
const FORTUNES: usize = 13;
const ADDED: &str = "<td>0</td><td>Additional fortune added at request time.</td>";

/// What an answer must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpectedAnswer {
    /// One row.
    World,
    /// An array of so many rows.
    Worlds(usize),
    /// An array of at most so many rows, no two the same, and nearly as many.
    Changed(usize),
    /// The page of all fortunes.
    Fortunes,
}

impl ExpectedAnswer {
    /// How every answer under load is judged, when `answer` is one that was looked at.
    pub fn under_load(self, answer: &[u8]) -> load::ExpectedBody {
        match self {
            ExpectedAnswer::World => load::ExpectedBody::Fits(|body| rows(body) == Some(1)),
            // Of the counts that are asked for here.
            ExpectedAnswer::Worlds(20) => load::ExpectedBody::Fits(|body| list(body) == Some(20)),
            ExpectedAnswer::Worlds(500) => load::ExpectedBody::Fits(|body| list(body) == Some(500)),
            ExpectedAnswer::Changed(20) => {
                load::ExpectedBody::Fits(|body| list(body).is_some_and(|rows| changed(20, rows)))
            }
            ExpectedAnswer::Worlds(_) | ExpectedAnswer::Changed(_) => {
                load::ExpectedBody::Fits(|body| list(body).is_some())
            }
            ExpectedAnswer::Fortunes => load::ExpectedBody::Same(answer.to_vec()),
        }
    }

    /// Looks at one answer.
    pub fn look(self, text: &str) -> Result<()> {
        if self == ExpectedAnswer::Fortunes {
            return fortunes(text);
        }
        let value: Value = serde_json::from_str(text).context("this is no JSON")?;
        let rows: &[Value] = match (&value, self) {
            (Value::Array(rows), ExpectedAnswer::Worlds(_) | ExpectedAnswer::Changed(_)) => rows,
            (Value::Object(_), ExpectedAnswer::World) => std::slice::from_ref(&value),
            _ => bail!("an object was expected of one row, and an array of several"),
        };
        let many = match self {
            ExpectedAnswer::Worlds(count) => rows.len() == count,
            ExpectedAnswer::Changed(count) => changed(count, rows.len()),
            _ => rows.len() == 1,
        };
        ensure!(many, "{} rows, but {self:?} was expected", rows.len());
        rows.iter().try_for_each(world)
    }
}

/// Whether so many rows are nearly `count`: drawn at random, the same one may have come twice, and of a million requests of
/// twenty one has three such.
fn changed(count: usize, rows: usize) -> bool {
    (count * 3 / 4..=count).contains(&rows)
}

/// How many rows an array of `{"id":N,"randomNumber":N}` has; `None` when it is none. Strict and quick: it sees every answer of a load.
fn list(body: &[u8]) -> Option<usize> {
    rows(body.strip_prefix(b"[")?.strip_suffix(b"]")?)
}

fn rows(mut rest: &[u8]) -> Option<usize> {
    let mut count = 0;
    loop {
        for key in [&b"{\"id\":"[..], b",\"randomNumber\":"] {
            rest = rest.strip_prefix(key)?;
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let number = std::str::from_utf8(&rest[..digits]).ok()?.parse().ok()?;
            if !(1..=WORLDS).contains(&number) {
                return None;
            }
            rest = &rest[digits..];
        }
        rest = rest.strip_prefix(b"}")?;
        count += 1;
        if rest.is_empty() {
            return Some(count);
        }
        rest = rest.strip_prefix(b",")?;
    }
}

fn world(row: &Value) -> Result<()> {
    let keys = row.as_object().map_or(0, serde_json::Map::len);
    let in_range = |key| {
        let number = row.get(key).and_then(Value::as_i64);
        number.is_some_and(|number| (1..=WORLDS).contains(&number))
    };
    ensure!(
        keys == 2 && in_range("id") && in_range("randomNumber"),
        "{row} is no row of world"
    );
    Ok(())
}

fn fortunes(page: &str) -> Result<()> {
    let rows = page.matches("<tr><td>").count();
    ensure!(rows == FORTUNES, "{rows} fortunes instead of {FORTUNES}");
    ensure!(
        page.contains(ADDED),
        "the fortune of the request is missing"
    );
    ensure!(
        page.contains("&lt;script&gt;") && !page.contains("<script>"),
        "a fortune is not escaped"
    );
    let messages: Vec<&str> = page
        .split("</td></tr>")
        .filter_map(|row| Some(row.rsplit_once("<td>")?.1))
        .collect();
    // Escaping changes what sorts first only among signs; the letters are left as they are.
    let letters = |text: &&str| text.starts_with(|first: char| first.is_alphabetic());
    let worded: Vec<&str> = messages.into_iter().filter(letters).collect();
    ensure!(worded.is_sorted(), "the fortunes are not sorted");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(expected: ExpectedAnswer, text: &str, fault: &str) {
        let found = expected.look(text).err().map(|error| error.to_string());
        assert_eq!(found.unwrap_or_default(), fault);
    }

    const ROW: &str = r#"{"id":1,"randomNumber":10000}"#;

    #[test]
    fn a_row_has_two_keys_in_range() {
        check(ExpectedAnswer::World, ROW, "");
        let low = r#"{"id":0,"randomNumber":1}"#;
        check(
            ExpectedAnswer::World,
            low,
            r#"{"id":0,"randomNumber":1} is no row of world"#,
        );
        check(ExpectedAnswer::World, "hello", "this is no JSON");
    }

    #[test]
    fn several_rows_are_an_array() {
        check(ExpectedAnswer::Worlds(2), &format!("[{ROW},{ROW}]"), "");
        check(ExpectedAnswer::Changed(2), &format!("[{ROW}]"), "");
        check(
            ExpectedAnswer::Worlds(2),
            &format!("[{ROW}]"),
            "1 rows, but Worlds(2) was expected",
        );
        check(
            ExpectedAnswer::Worlds(1),
            ROW,
            "an object was expected of one row, and an array of several",
        );
    }

    #[test]
    fn under_load_rows_are_counted_by_their_bytes() {
        assert_eq!(rows(ROW.as_bytes()), Some(1));
        assert_eq!(list(format!("[{ROW},{ROW}]").as_bytes()), Some(2));
        for wrong in [
            "[]",
            ROW,
            r#"[{"id":1,"randomNumber":0}]"#,
            r#"[{"id":1,"randomNumber":10001}]"#,
            r#"[{"id":1,"randomNumber":1},]"#,
            r#"[{"id":,"randomNumber":1}]"#,
            r#"[{"id":1,"randomNumber":1}"#,
        ] {
            assert_eq!(list(wrong.as_bytes()), None, "{wrong}");
        }
    }

    #[test]
    fn under_load_nearly_all_changed_rows_are_there() {
        let expected = ExpectedAnswer::Changed(20).under_load(b"");
        for (rows, is_right) in [(1, false), (14, false), (15, true), (20, true), (21, false)] {
            let body = format!("[{}]", vec![ROW; rows].join(","));
            assert_eq!(expected.holds(body.as_bytes()), is_right, "{rows}");
        }
    }

    #[test]
    fn fortunes_are_sorted_and_escaped() {
        let row = |text: &str| format!("<tr><td>1</td><td>{text}</td></tr>");
        let page = |script: &str, last: &str| {
            let rest = row("B").repeat(FORTUNES - 3);
            format!("{}<tr>{ADDED}</tr>{rest}{}", row(script), row(last))
        };
        let escaped = "&lt;script&gt;";
        check(ExpectedAnswer::Fortunes, &page(escaped, "C"), "");
        check(
            ExpectedAnswer::Fortunes,
            &page("<script>", "C"),
            "a fortune is not escaped",
        );
        check(
            ExpectedAnswer::Fortunes,
            &page(escaped, "A"),
            "the fortunes are not sorted",
        );
        check(
            ExpectedAnswer::Fortunes,
            &row("A"),
            "1 fortunes instead of 13",
        );
    }
}
