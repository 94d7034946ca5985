//! Servers of the World/Fortune endpoints, loaded in turn: requests a second, and what a request costs each in processor time.
//! Knows what such a server must answer, not which server it is. Rule: it is asked for every answer before it is measured.

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::Length;
use crate::client;
use crate::figures::{Figures, order};
use crate::process::Process;
use crate::wrk;

/// Rows of the table `world`.
const WORLDS: i64 = 10_000;
/// Rows of the table `fortune`, and the one added at request time.
const FORTUNES: usize = 13;
const ADDED: &str = "<td>0</td><td>Additional fortune added at request time.</td>";

/// A server in its turn.
pub struct Entrant {
    /// What lines and errors call it.
    pub name: &'static str,
    process: Process,
}

/// What a path cost one server.
#[derive(Default)]
pub struct Cost {
    /// Requests in a second.
    pub rate: Figures,
    /// Processor time of a request, in microseconds.
    pub processor_us: Figures,
}

impl Entrant {
    /// A server that runs.
    pub fn new(name: &'static str, process: Process) -> Entrant {
        Entrant { name, process }
    }

    /// Asks once and looks at the answer.
    pub fn examine(&self, path: &str, expected: Expected) -> Result<()> {
        let answer = client::fetch(self.process.address, path)
            .with_context(|| format!("{} does not answer {path}", self.name))?;
        let text = String::from_utf8_lossy(&answer.body);
        let told = || {
            let shown: String = text.chars().take(200).collect();
            format!(
                "{} answers {path} with {} {shown}",
                self.name, answer.status
            )
        };
        ensure!(answer.status == 200, told());
        expected.look(&text).with_context(told)
    }

    /// One run.
    fn load(&self, path: &str, seconds: u64, connections: u32, cost: &mut Cost) -> Result<()> {
        let before = self.process.processor_us()?;
        let load = wrk::load(self.process.address, path, seconds, connections)
            .with_context(|| format!("{} {path}", self.name))?;
        let spent = self.process.processor_us()? - before;
        cost.rate.push(load.per_second);
        cost.processor_us.push(spent / load.requests);
        Ok(())
    }
}

/// A server and the path that it is loaded on.
pub type Start<'a> = (&'a Entrant, &'a str);

/// Loads the starts in turn, there and back again; what each cost, in their order.
pub fn measure(starts: &[Start<'_>], length: Length, connections: u32) -> Result<Vec<Cost>> {
    let mut costs: Vec<Cost> = starts.iter().map(|_| Cost::default()).collect();
    for (entrant, path) in starts {
        // Caches, statements and connections are warm after that.
        entrant.load(path, 1, connections, &mut Cost::default())?;
    }
    for round in 0..length.rounds {
        for at in order(starts.len(), round) {
            let (entrant, path) = starts[at];
            entrant.load(path, length.seconds, connections, &mut costs[at])?;
        }
    }
    Ok(costs)
}

/// What an answer must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// One row.
    World,
    /// An array of so many rows.
    Worlds(usize),
    /// An array of at most so many rows, no two the same, and nearly as many.
    Changed(usize),
    /// The page of all fortunes.
    Fortunes,
}

impl Expected {
    fn look(self, text: &str) -> Result<()> {
        if self == Expected::Fortunes {
            return fortunes(text);
        }
        let value: Value = serde_json::from_str(text).context("this is no JSON")?;
        let rows: &[Value] = match (&value, self) {
            (Value::Array(rows), Expected::Worlds(_) | Expected::Changed(_)) => rows,
            (Value::Object(_), Expected::World) => std::slice::from_ref(&value),
            _ => bail!("an object was expected of one row, and an array of several"),
        };
        let many = match self {
            Expected::Worlds(count) => rows.len() == count,
            Expected::Changed(count) => (count * 9 / 10..=count).contains(&rows.len()),
            _ => rows.len() == 1,
        };
        ensure!(many, "{} rows, but {self:?} was expected", rows.len());
        rows.iter().try_for_each(world)
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

    fn check(expected: Expected, text: &str, fault: &str) {
        let found = expected.look(text).err().map(|error| error.to_string());
        assert_eq!(found.unwrap_or_default(), fault);
    }

    const ROW: &str = r#"{"id":1,"randomNumber":10000}"#;

    #[test]
    fn a_row_has_two_keys_in_range() {
        check(Expected::World, ROW, "");
        let low = r#"{"id":0,"randomNumber":1}"#;
        check(
            Expected::World,
            low,
            r#"{"id":0,"randomNumber":1} is no row of world"#,
        );
        check(Expected::World, "hello", "this is no JSON");
    }

    #[test]
    fn several_rows_are_an_array() {
        check(Expected::Worlds(2), &format!("[{ROW},{ROW}]"), "");
        check(Expected::Changed(2), &format!("[{ROW}]"), "");
        check(
            Expected::Worlds(2),
            &format!("[{ROW}]"),
            "1 rows, but Worlds(2) was expected",
        );
        check(
            Expected::Worlds(1),
            ROW,
            "an object was expected of one row, and an array of several",
        );
    }

    #[test]
    fn fortunes_are_sorted_and_escaped() {
        let row = |text: &str| format!("<tr><td>1</td><td>{text}</td></tr>");
        let page = |script: &str, last: &str| {
            let rest = row("B").repeat(FORTUNES - 3);
            format!("{}<tr>{ADDED}</tr>{rest}{}", row(script), row(last))
        };
        let escaped = "&lt;script&gt;";
        check(Expected::Fortunes, &page(escaped, "C"), "");
        check(
            Expected::Fortunes,
            &page("<script>", "C"),
            "a fortune is not escaped",
        );
        check(
            Expected::Fortunes,
            &page(escaped, "A"),
            "the fortunes are not sorted",
        );
        check(Expected::Fortunes, &row("A"), "1 fortunes instead of 13");
    }
}
