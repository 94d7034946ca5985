//! A naive evaluator of queries over rows in memory: three-valued conditions, order, limits, numbers about rows. Slow and plain on
//! purpose. Rule: it says what SQL means, not what a database does; it shares nothing with the writer but the names of the columns.

use std::cmp::Ordering;

use tsumugi_sql::{Expr, Order, Query, Value, all, any, asc, col, desc, table};

/// A row of the table `t`.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub id: i64,
    pub n: Option<i64>,
    pub m: i64,
    pub s: Option<&'static str>,
}

/// What a column holds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cell {
    Number(i64),
    Text(String),
}

/// A column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    Id,
    N,
    M,
    S,
}

impl Field {
    pub fn name(self) -> &'static str {
        match self {
            Field::Id => "id",
            Field::N => "n",
            Field::M => "m",
            Field::S => "s",
        }
    }

    pub fn of(self, row: &Row) -> Option<Cell> {
        match self {
            Field::Id => Some(Cell::Number(row.id)),
            Field::N => row.n.map(Cell::Number),
            Field::M => Some(Cell::Number(row.m)),
            Field::S => row.s.map(|text| Cell::Text(text.to_owned())),
        }
    }
}

/// What the rows are compared with.
pub type Constant = Option<Cell>;

pub fn bound(constant: &Constant) -> Value {
    match constant {
        None => Value::Null,
        Some(Cell::Number(number)) => Value::Integer(*number),
        Some(Cell::Text(text)) => Value::Text(text.clone()),
    }
}

/// A condition. The builder says it in its words, [`Condition::holds`] in ours.
#[derive(Clone, Debug)]
pub enum Condition {
    Equal(Field, Constant),
    Different(Field, Constant),
    Less(Field, Cell),
    GreaterOrEqual(Field, Cell),
    /// A number and so much, compared with another column.
    Sum(Field, i64, Field),
    Null(Field),
    NotNull(Field),
    In(Field, Vec<Constant>),
    NotIn(Field, Vec<Constant>),
    Between(Field, Cell, Cell),
    NotBetween(Field, Cell, Cell),
    /// Its end is not included.
    Range(Field, i64, i64),
    Like(&'static str),
    NotLike(&'static str),
    Ilike(&'static str),
    Contains(&'static str),
    /// The column is among the `n` of the rows for which this holds.
    Among(Field, Box<Condition>),
    NotAmong(Field, Box<Condition>),
    All(Vec<Condition>),
    Any(Vec<Condition>),
    Not(Box<Condition>),
}

impl Condition {
    pub fn built(&self) -> Expr {
        use Condition as C;
        let of = |field: &Field| col(field.name());
        let cell = |cell: &Cell| bound(&Some(cell.clone()));
        let list = |list: &[Constant]| list.iter().map(bound).collect::<Vec<Value>>();
        let each = |list: &[C]| list.iter().map(C::built).collect::<Vec<Expr>>();
        let rows = |inner: &C| table("t as u").select("u.n").filter(inner.built());
        match self {
            C::Equal(field, constant) => of(field).eq(bound(constant)),
            C::Different(field, constant) => of(field).ne(bound(constant)),
            C::Less(field, than) => of(field).lt(cell(than)),
            C::GreaterOrEqual(field, than) => of(field).ge(cell(than)),
            C::Sum(field, more, other) => (of(field) + *more).gt(of(other)),
            C::Null(field) => of(field).is_null(),
            C::NotNull(field) => of(field).is_not_null(),
            C::In(field, constants) => of(field).is_in(list(constants)),
            C::NotIn(field, constants) => of(field).not_in(list(constants)),
            C::Between(field, from, to) => of(field).between(cell(from), cell(to)),
            C::NotBetween(field, from, to) => of(field).not_between(cell(from), cell(to)),
            C::Range(field, from, to) => of(field).within(*from..*to),
            C::Like(pattern) => col("s").like(*pattern),
            C::NotLike(pattern) => col("s").not_like(*pattern),
            C::Ilike(pattern) => col("s").ilike(*pattern),
            C::Contains(text) => col("s").contains(text),
            C::Among(field, inner) => of(field).is_in(rows(inner)),
            C::NotAmong(field, inner) => of(field).not_in(rows(inner)),
            C::All(list) => all(each(list)),
            C::Any(list) => any(each(list)),
            C::Not(inner) => !inner.built(),
        }
    }

    /// Whether it holds; `None` is unknown.
    pub fn holds(&self, row: &Row, rows: &[Row]) -> Option<bool> {
        use Condition as C;
        let text = || row.s.map(str::to_owned);
        match self {
            C::Equal(field, None) => Some(field.of(row).is_none()),
            C::Equal(field, Some(cell)) => field.of(row).map(|is| is == *cell),
            C::Different(field, None) => Some(field.of(row).is_some()),
            C::Different(field, Some(cell)) => field.of(row).map(|is| is != *cell),
            C::Less(field, cell) => field.of(row).map(|is| is < *cell),
            C::GreaterOrEqual(field, cell) => field.of(row).map(|is| is >= *cell),
            C::Sum(field, more, other) => match (field.of(row)?, other.of(row)?) {
                (Cell::Number(is), Cell::Number(other)) => Some(is + more > other),
                _ => unreachable!("only numbers are added"),
            },
            C::Null(field) => Some(field.of(row).is_none()),
            C::NotNull(field) => Some(field.of(row).is_some()),
            C::In(field, list) => one_of(field.of(row), list),
            C::NotIn(field, list) => none_of(field.of(row), list),
            C::Between(field, from, to) => field.of(row).map(|is| is >= *from && is <= *to),
            C::NotBetween(field, from, to) => field.of(row).map(|is| is < *from || is > *to),
            C::Range(field, from, to) => {
                let (from, to) = (Cell::Number(*from), Cell::Number(*to));
                field.of(row).map(|is| is >= from && is < to)
            }
            C::Like(pattern) => text().map(|text| like(&text, pattern)),
            C::NotLike(pattern) => text().map(|text| !like(&text, pattern)),
            C::Ilike(pattern) => {
                text().map(|text| like(&text.to_ascii_lowercase(), &pattern.to_ascii_lowercase()))
            }
            C::Contains(part) => text().map(|text| text.contains(part)),
            C::Among(field, inner) => among(field.of(row), inner, rows),
            C::NotAmong(field, inner) => among(field.of(row), inner, rows).map(|among| !among),
            C::All(list) => joined(list, row, rows, false),
            C::Any(list) => joined(list, row, rows, true),
            C::Not(inner) => inner.holds(row, rows).map(|holds| !holds),
        }
    }
}

/// What decides if one condition of the list is so; otherwise the opposite, unless one is unknown.
fn joined(list: &[Condition], row: &Row, rows: &[Row], decides: bool) -> Option<bool> {
    let held: Vec<Option<bool>> = list
        .iter()
        .map(|condition| condition.holds(row, rows))
        .collect();
    if held.contains(&Some(decides)) {
        return Some(decides);
    }
    (!held.contains(&None)).then_some(!decides)
}

/// The builder's lists find NULL where NULL is in them.
fn one_of(is: Option<Cell>, list: &[Constant]) -> Option<bool> {
    if list.contains(&is) {
        return Some(true);
    }
    let known = list.iter().flatten().next().is_none() || is.is_some();
    known.then_some(false)
}

fn none_of(is: Option<Cell>, list: &[Constant]) -> Option<bool> {
    let among = list.iter().flatten().count();
    match is {
        None if list.contains(&None) => Some(false),
        None if among > 0 => None,
        None => Some(true),
        Some(_) => Some(!list.contains(&is)),
    }
}

/// SQL's `in` with a query: unknown where only an unknown could be the same.
fn among(is: Option<Cell>, inner: &Condition, rows: &[Row]) -> Option<bool> {
    let found = rows
        .iter()
        .filter(|row| inner.holds(row, rows) == Some(true));
    let values: Vec<Constant> = found.map(|row| Field::N.of(row)).collect();
    if values.is_empty() {
        return Some(false);
    }
    let is = Some(is?);
    if values.contains(&is) {
        return Some(true);
    }
    (!values.contains(&None)).then_some(false)
}

/// Whether all of the text matches; `\` takes the meaning of what follows.
fn like(text: &str, pattern: &str) -> bool {
    let mut rest = pattern.chars();
    match rest.next() {
        None => text.is_empty(),
        Some('%') => {
            let ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
            ends.into_iter().any(|at| like(&text[at..], rest.as_str()))
        }
        Some(wanted) => {
            let mut characters = text.chars();
            let Some(is) = characters.next() else {
                return false;
            };
            let matches = match wanted {
                '_' => true,
                '\\' => is == rest.next().unwrap_or('\\'),
                other => is == other,
            };
            matches && like(characters.as_str(), rest.as_str())
        }
    }
}

/// A query as a chain of steps.
#[derive(Clone, Debug, Default)]
pub struct Chain {
    /// Each with whether it widens what was there before.
    pub filters: Vec<(bool, Condition)>,
    /// Each with whether it descends, and whether NULL comes first.
    pub orders: Vec<(Field, bool, Option<bool>)>,
    pub limit: Option<u64>,
    pub offset: u64,
}

impl Chain {
    pub fn built(&self) -> Query {
        let mut query = table("t");
        for (widens, condition) in &self.filters {
            let condition = condition.built();
            query = if *widens {
                query.or_filter(condition)
            } else {
                query.filter(condition)
            };
        }
        query = query.order(self.built_orders());
        if let Some(limit) = self.limit {
            query = query.limit(limit);
        }
        query.offset(self.offset)
    }

    pub fn built_orders(&self) -> Vec<Order> {
        let built = |(field, descends, first): &(Field, bool, Option<bool>)| {
            let order = if *descends {
                desc(field.name())
            } else {
                asc(field.name())
            };
            match first {
                None => order,
                Some(true) => order.nulls_first(),
                Some(false) => order.nulls_last(),
            }
        };
        self.orders.iter().map(built).collect()
    }

    /// The rows that are meant, in their order.
    pub fn rows(&self, rows: &[Row]) -> Vec<Row> {
        let mut condition = Condition::All(vec![]);
        for (index, (widens, next)) in self.filters.iter().enumerate() {
            let both = vec![condition, next.clone()];
            condition = match (index, widens) {
                (0, _) => next.clone(),
                (_, true) => Condition::Any(both),
                (_, false) => Condition::All(both),
            };
        }
        let holds = |row: &&Row| condition.holds(row, rows) == Some(true);
        let mut found: Vec<Row> = rows.iter().filter(holds).cloned().collect();
        found.sort_by(|one, other| self.order(one, other));
        let offset = usize::try_from(self.offset).unwrap();
        let limit = self
            .limit
            .map_or(usize::MAX, |limit| usize::try_from(limit).unwrap());
        found.into_iter().skip(offset).take(limit).collect()
    }

    fn order(&self, one: &Row, other: &Row) -> Ordering {
        let compared = self.orders.iter().map(|(field, descends, first)| {
            let first = first.unwrap_or(*descends);
            match (field.of(one), field.of(other)) {
                (None, None) => Ordering::Equal,
                (None, Some(_)) if first => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(_), None) if first => Ordering::Greater,
                (Some(_), None) => Ordering::Less,
                (Some(one), Some(other)) if *descends => other.cmp(&one),
                (Some(one), Some(other)) => one.cmp(&other),
            }
        });
        compared.fold(Ordering::Equal, Ordering::then)
    }
}
