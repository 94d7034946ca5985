//! What SQLite lacks for exact numbers: the collation `decimal`, and `sum` and `avg` that do not lose digits of numbers in text.
//! Of whole numbers, doubles and what is no number they are what SQLite's own are; a number in text is exact here, also a whole one.
//! Rule: an exact number leaves as text that ends in [`EXACT`], by which the rows know it; SQLite itself takes that for white space.

use rusqlite::functions::{Aggregate, Context, FunctionFlags, WindowAggregate};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Result};
use tsumugi_values::decimal::{self, Digits, Step, Sum};

use crate::rows::typed::EXACT;

/// Adds them to a connection.
pub(super) fn define(sqlite: &Connection) -> Result<()> {
    sqlite.create_collation("decimal", decimal::compare)?;
    let flags = FunctionFlags::SQLITE_UTF8
        | FunctionFlags::SQLITE_DETERMINISTIC
        | FunctionFlags::SQLITE_INNOCUOUS;
    sqlite.create_window_function("sum", 1, flags, OfNumbers(Numbers::total))?;
    sqlite.create_window_function("avg", 1, flags, OfNumbers(Numbers::average))
}

/// Numbers of any kind.
#[derive(Default)]
struct Numbers {
    count: i64,
    whole: i128,
    exact: Sum,
    exact_count: i64,
    real: f64,
    /// What the doubles' additions lost, to be added at the end (Kahan and Babuška).
    compensation: f64,
    real_count: i64,
}

impl Numbers {
    fn step(&mut self, value: ValueRef<'_>, step: Step) {
        let one = if step == Step::Add { 1 } else { -1 };
        match value {
            ValueRef::Null => return,
            ValueRef::Integer(integer) => self.whole += i128::from(integer) * i128::from(one),
            ValueRef::Real(real) => self.real(real, one),
            ValueRef::Text(text) => {
                let text = std::str::from_utf8(text).unwrap_or_default();
                let plain = match Digits::of(text) {
                    Some(_) => None,
                    None => decimal::plain(text),
                };
                match Digits::of(plain.as_deref().unwrap_or(text)) {
                    Some(digits) => {
                        self.exact.step(digits, step);
                        self.exact_count += one;
                    }
                    None => self.real(decimal::prefix(text.as_bytes()), one),
                }
            }
            ValueRef::Blob(bytes) => self.real(decimal::prefix(bytes), one),
        }
        self.count += one;
    }

    fn real(&mut self, real: f64, one: i64) {
        let real = if one < 0 { -real } else { real };
        let sum = self.real + real;
        self.compensation += if self.real.abs() > real.abs() {
            (self.real - sum) + real
        } else {
            (real - sum) + self.real
        };
        self.real = sum;
        self.real_count += one;
    }

    /// The exact sum of what is no double.
    fn exactly(&self) -> String {
        let mut sum = self.exact.clone();
        if let Some(whole) = Digits::of(&self.whole.to_string()) {
            sum.step(whole, Step::Add);
        }
        sum.text()
    }

    fn approximately(&self) -> f64 {
        let rest = self.exactly().parse().unwrap_or(f64::NAN);
        // Of infinities nothing is lost, but a difference of two is no number.
        let compensation = if self.compensation.is_finite() {
            self.compensation
        } else {
            0.0
        };
        self.real + compensation + rest
    }

    fn total(&self) -> Value {
        if self.count == 0 {
            return Value::Null;
        }
        if self.real_count > 0 {
            return Value::Real(self.approximately());
        }
        match i64::try_from(self.whole) {
            Ok(whole) if self.exact_count == 0 => Value::Integer(whole),
            _ => {
                let mut text = self.exactly();
                text.push_str(EXACT);
                Value::Text(text)
            }
        }
    }

    fn average(&self) -> Value {
        if self.count == 0 {
            return Value::Null;
        }
        Value::Real(self.approximately() / self.count as f64)
    }
}

/// A function of numbers, by how its value is made of them.
struct OfNumbers(fn(&Numbers) -> Value);

impl Aggregate<Numbers, Value> for OfNumbers {
    fn init(&self, _: &mut Context<'_>) -> Result<Numbers> {
        Ok(Numbers::default())
    }

    fn step(&self, context: &mut Context<'_>, numbers: &mut Numbers) -> Result<()> {
        numbers.step(context.get_raw(0), Step::Add);
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, numbers: Option<Numbers>) -> Result<Value> {
        Ok(self.0(&numbers.unwrap_or_default()))
    }
}

impl WindowAggregate<Numbers, Value> for OfNumbers {
    fn value(&self, numbers: Option<&mut Numbers>) -> Result<Value> {
        Ok(numbers.map_or(Value::Null, |numbers| self.0(numbers)))
    }

    fn inverse(&self, context: &mut Context<'_>, numbers: &mut Numbers) -> Result<()> {
        numbers.step(context.get_raw(0), Step::Remove);
        Ok(())
    }
}
