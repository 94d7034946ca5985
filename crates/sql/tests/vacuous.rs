//! Which changes count as ones without a condition: random conditions, and what SQLite finds with them over every combination of answers.
//! Rule: a delete or update is refused exactly where its conditions are true of every row, whatever is in the rows.

use rusqlite::Connection;
use rusqlite::types::Value as Bound;
use tsumugi_rig::Dice;
use tsumugi_sql::{Expr, Query, SQLITE, Value, all, any, col, exists, table, value};

const CONDITIONS: u64 = 6_000;
/// Columns of `t`. Its rows are all combinations of 0, 1 and NULL in them.
const COLUMNS: usize = 5;

/// Makes conditions.
struct Maker {
    dice: Dice,
    /// The columns that no condition is about yet: two about the same one would not be independent.
    free: usize,
    /// The same for the other table.
    is_asked: bool,
    /// Whether this is the condition of a sub-select.
    is_inside: bool,
}

impl Maker {
    fn of(seed: u64) -> Maker {
        Maker {
            dice: Dice::new(seed),
            free: COLUMNS,
            is_asked: false,
            is_inside: false,
        }
    }

    fn column(&mut self) -> Option<Expr> {
        self.free = self.free.checked_sub(1)?;
        Some(col(format!("t.c{}", self.free)))
    }

    /// A condition about a column that nothing else is about.
    fn about_column(&mut self) -> Expr {
        let Some(column) = self.column() else {
            return self.constant();
        };
        match self.dice.below(4) {
            0 => column.eq(1),
            1 => column.is_null(),
            2 => column.is_in(vec![1_i64, 5]),
            _ => column.not_between(1, 1),
        }
    }

    /// A condition that is the same for every row.
    fn constant(&mut self) -> Expr {
        let empty = Vec::<i64>::new();
        match self.dice.below(16) {
            0 => all([]),
            1 => any([]),
            2 => col("t.id").is_in(empty),
            3 | 4 => col("t.id").not_in(empty),
            // In a sub-select a range without ends only leaves NULL out, as everywhere else.
            5..=7 if self.is_inside => any([]),
            5 | 6 => col("t.id").within::<i64>(..),
            7 => col("t.s").contains(""),
            8 => value(true),
            9 => value(false),
            10 => value(None::<bool>),
            11 => value(2).lt(self.dice.below(4).try_into().unwrap_or(0_i64)),
            12 => col("t.id").gt(None::<i64>),
            13 => exists(Query::of_nothing().select(value(1).alias("one"))),
            14 => exists(table("u").limit(0)),
            _ => !exists(table("u").filter(col("v").is_in(empty))),
        }
    }

    fn condition(&mut self, depth: u64) -> Expr {
        if depth == 0 {
            return match self.dice.below(2) {
                0 => self.constant(),
                _ => self.about_column(),
            };
        }
        let several = |maker: &mut Maker| -> Vec<Expr> {
            (0..maker.dice.below(4))
                .map(|_| maker.condition(depth - 1))
                .collect()
        };
        match self.dice.below(10) {
            0 | 1 => all(several(self)),
            2 | 3 => any(several(self)),
            4 | 5 => !self.condition(depth - 1),
            6 => all(several(self)).is_not_null(),
            7 | 8 if !self.is_asked => {
                (self.is_asked, self.is_inside) = (true, true);
                let rows = table("u").select("v").filter(self.condition(depth - 1));
                self.is_inside = false;
                match self.dice.below(2) {
                    0 => exists(rows),
                    _ => self
                        .column()
                        .map_or_else(|| value(false), |column| column.not_in(rows)),
                }
            }
            _ => self.condition(depth - 1),
        }
    }

    /// Filters in a chain, some of which widen what was there before.
    fn query(&mut self) -> Query {
        let mut query = table("t");
        for _ in 0..self.dice.below(3) {
            let (widens, condition) = (self.dice.below(3) == 0, self.condition(3));
            query = match widens {
                true => query.or_filter(condition),
                false => query.filter(condition),
            };
        }
        query
    }
}

fn database() -> Connection {
    let connection = Connection::open_in_memory().unwrap();
    let columns: Vec<String> = (0..COLUMNS).map(|n| format!("c{n} integer")).collect();
    let answers = "(select 0 as a union all select 1 union all select null)";
    let answers: Vec<String> = (0..COLUMNS).map(|n| format!("{answers} as a{n}")).collect();
    let values: Vec<String> = (0..COLUMNS).map(|n| format!("a{n}.a")).collect();
    let (columns, answers, values) = (columns.join(", "), answers.join(", "), values.join(", "));
    connection
        .execute_batch(&format!(
            "create table t(id integer primary key, s text not null default '', {columns});
             create table u(v integer);
             insert into t select row_number() over (), '', {values} from {answers};"
        ))
        .unwrap();
    connection
}

/// How many rows a query finds.
fn found(connection: &Connection, query: &Query) -> i64 {
    let statement = query.to_count(&SQLITE).unwrap();
    let binds = statement.binds.into_iter().map(|bind| match bind {
        Value::Null => Bound::Null,
        Value::Boolean(boolean) => Bound::Integer(boolean.into()),
        Value::Integer(number) => Bound::Integer(number),
        Value::Text(text) => Bound::Text(text),
        other => panic!("{other:?} is not among the constants"),
    });
    let count = connection.query_row(&statement.sql, rusqlite::params_from_iter(binds), |row| {
        row.get(0)
    });
    count.unwrap_or_else(|error| panic!("{}: {error}", statement.sql))
}

#[test]
fn change_is_refused_exactly_where_its_condition_is_true_of_every_row() {
    let connection = database();
    let rows = found(&connection, &table("t"));
    assert_eq!(rows, 3_i64.pow(u32::try_from(COLUMNS).unwrap()));
    let (mut refused, mut taken) = (0, 0);
    for seed in 1..=CONDITIONS {
        let query = Maker::of(seed).query();
        // Whether the other table has rows is not known to the builder either.
        connection.execute_batch("delete from u").unwrap();
        let without = found(&connection, &query);
        connection
            .execute_batch("insert into u values (1)")
            .unwrap();
        let with = found(&connection, &query);
        let is_every = without == rows && with == rows;
        let shown = query.to_rows(&SQLITE).unwrap().sql;
        assert_eq!(
            query.to_delete(&SQLITE).is_err(),
            is_every,
            "{seed}: {shown}"
        );
        let update = query.clone().set("s", "x").to_update(&SQLITE);
        assert_eq!(update.is_err(), is_every, "{seed}: {shown}");
        assert!(query.all_rows().to_delete(&SQLITE).is_ok(), "{seed}");
        *(if is_every { &mut refused } else { &mut taken }) += 1;
    }
    assert!(
        refused > 500 && taken > 500,
        "{refused} refused, {taken} taken"
    );
}

#[test]
fn conditions_of_nothing_need_all_rows() {
    let empty = Vec::<i64>::new;
    let id = || col("id");
    let refused = |condition: Expr| {
        let query = table("t").filter(condition);
        let text = "this delete has no condition: say all_rows if every row is meant";
        assert_eq!(query.to_delete(&SQLITE).unwrap_err().to_string(), text);
    };
    refused(id().not_in(empty()));
    refused(!id().is_in(empty()));
    refused(!any([]));
    refused(id().within::<i64>(..));
    refused(id().eq(3).or(id().not_in(empty())));
    refused(all([id().within::<i64>(..), all([])]));
    refused(col("s").contains("").and(col("s").starts_with("")));
    refused(id().not_in(table("u").select("v").filter(col("v").is_in(empty()))));
    refused(!exists(table("u").filter(any([]))));
    refused(!(!value(true)));
}

#[test]
fn conditions_that_an_author_wrote_out_are_conditions() {
    let taken = |condition: Expr| assert!(table("t").filter(condition).to_delete(&SQLITE).is_ok());
    taken(col("id").is_not_null());
    taken(col("id").ne(None::<i64>));
    taken(tsumugi_sql::raw("1 = 1", []));
    taken(col("s").like("%"));
    taken(col("id").within(1..));
    taken(!col("id").within::<i64>(..));
    taken(any([]));
    taken(exists(table("u")));
    taken(!exists(table("u").select(tsumugi_sql::count())));
}
