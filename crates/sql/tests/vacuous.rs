//! Which changes count as ones without a condition: random conditions, and what SQLite finds with them over every combination of answers.
//! Rule: a delete or update is refused exactly where its conditions are true of every row, whatever is in the rows.

use rusqlite::Connection;
use rusqlite::types::Value as Bound;
use tsumugi_sql::{
    Expr, Query, SQLITE, Source, Value, all, any, col, count, exists, raw, sum, table, value,
};
use tsumugi_testkit::Dice;

const CONDITIONS: u64 = 12_000;
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
        match self.dice.below(8) {
            0 => column.eq(1),
            1 => column.is_null(),
            2 => column.is_in(vec![1_i64, 5]),
            3 => column.not_between(1, 1),
            4 => column.within(0..1),
            5 => column.within(1..=1),
            6 => column.like("1%"),
            // One end is NULL: true of nothing, unknown or false.
            _ => column.between(None::<i64>, 0),
        }
    }

    /// A condition that no value meets, or every one does, whatever column it is about. Of columns in which NULL can be it leaves NULL out.
    #[expect(clippy::reversed_empty_ranges, reason = "the subject")]
    fn about_no_value(&mut self, number: Expr, text: Expr) -> Expr {
        let (more, less) = ("2026-02-01", "2026-01-31");
        let far = f64::INFINITY;
        let wide = |last: u64| Value::Decimal(format!("11805916207174113034{last:02}"));
        match self.dice.below(24) {
            0 | 1 => number.within::<i64>(..),
            2 => number.between(5, 1),
            3 => number.not_between(5, 1),
            4 => number.within(5..1),
            5 => number.within(5..5),
            6 => number.clone().ge(7).and(number.lt(7)),
            7 => number.between(2.5, 1),
            8 => number.within(-far..=far),
            9 => number.not_in(vec![Value::Null]),
            10 => number.is_in(vec![Value::Null]),
            11 => text.contains(""),
            12 => text.like("%"),
            13 => text.not_ilike("%%"),
            14 => text.not_between(more, less),
            15 => text.within(more..less),
            16 => number.between(wide(24), 1),
            // Doubles of both are the same.
            17 => number.not_between(wide(25), wide(24)),
            18 => number.within(wide(24)..wide(24)),
            19 => number.within(-far..far),
            20 => number.gt(-far),
            21 => number.lt(far),
            22 => number.within(far..),
            _ => number.within(..=-far),
        }
    }

    /// A condition about constants alone.
    fn of_constants(&mut self) -> Expr {
        let number = value(i64::try_from(self.dice.below(4)).unwrap_or(0));
        let wide = || Value::Decimal("1180591620717411303424".to_owned());
        match self.dice.below(10) {
            0 => number.lt(2),
            1 => number.between(1, 2),
            2 => number.not_between(2, 1),
            3 => number.is_in(vec![1_i64, 2]),
            4 => number.within(1..2),
            5 => value(None::<i64>).between(2, 1),
            6 => value(None::<i64>).not_in(vec![1_i64]),
            7 => value(None::<String>).like("%"),
            8 => number.lt(wide()),
            _ => number.gt(f64::INFINITY),
        }
    }

    /// A query that has a row whether the other table has one or not, or has none, or has those of that table.
    fn rows(&mut self) -> Query {
        let nothing = match self.dice.below(5) {
            0 => col("v").is_in(Vec::<i64>::new()),
            1 => col("v").between(5, 1),
            2 => col("v").within(5_i64..5),
            3 => col("v").not_like("%"),
            _ => col("v").between(None::<i64>, 5),
        };
        let none = || table("u").select("v").filter(nothing.clone());
        let pairs = |other: Query| table("u").cross_join(Source::query(other, "x"));
        let on = nothing.clone().and(any([]));
        let asked = table("u").group("v").select("v");
        let other = || Source::query(table("u").select(col("v").alias("o")), "w");
        let kind = match self.dice.below(18) {
            // Whether that table has a row is asked once only.
            10 | 12 if self.is_asked => 0,
            kind => kind,
        };
        self.is_asked |= matches!(kind, 10 | 12);
        match kind {
            0 => none(),
            1 => asked.having(nothing),
            2 => asked.filter(nothing),
            3 => table("u").having(nothing).select(count()),
            4 => none().select(count()),
            5 => none().select((sum("v") + 1).alias("more")),
            6 => none().select(count()).offset(1),
            7 => none().select(count()).having(value(false)),
            8 => table(Source::query(none(), "x")),
            9 => pairs(none()).select(value(1).alias("one")),
            10 => pairs(none().select(count())).select(value(1).alias("one")),
            11 => table("u").join(other(), on).select(value(1).alias("one")),
            12 => table("u")
                .left_join(other(), on)
                .select(value(1).alias("one")),
            13 => table("u")
                .right_join(Source::query(none(), "x"), value(true))
                .select(value(1).alias("one")),
            14 => table("x").with_query("x", none()),
            15 => table("x").with_query("x", table("u")).limit(0),
            16 => table(Source::query(table("x").with_query("x", none()), "y")),
            _ => Query::of_nothing().select(value(1).alias("one")).offset(1),
        }
    }

    /// A query with a row where the other table has one and a condition is true.
    fn rows_where(&mut self, condition: Expr) -> Query {
        let rows = table("u").select("v");
        match self.dice.below(6) {
            0 => rows.group("v").having(condition),
            1 => table("u").join("u as w", condition).select("u.v"),
            2 => table(Source::query(rows.filter(condition), "x")).select("v"),
            3 => table("x")
                .with_query("x", rows.filter(condition))
                .select("v"),
            4 => rows.cross_join(Source::query(
                Query::of_nothing()
                    .select(value(1).alias("one"))
                    .filter(condition),
                "x",
            )),
            _ => rows.filter(condition),
        }
    }

    /// A condition that is the same for every row.
    fn constant(&mut self) -> Expr {
        let empty = Vec::<i64>::new();
        match self.dice.below(24) {
            0 => all([]),
            1 => any([]),
            2 => col("t.id").is_in(empty),
            3 | 4 => col("t.id").not_in(empty),
            // In a sub-select these only leave NULL out, as everywhere else.
            5..=10 if self.is_inside => any([]),
            5..=10 => self.about_no_value(col("t.id"), col("t.s")),
            11 => value(true),
            12 => value(false),
            13 => value(None::<bool>),
            14 | 15 => self.of_constants(),
            16 => col("t.id").gt(None::<i64>),
            17 => exists(Query::of_nothing().select(value(1).alias("one"))),
            18 => exists(table("u").limit(0)),
            _ => {
                let rows = self.rows();
                match self.dice.below(4) {
                    0 => exists(rows),
                    1 => {
                        let none = table(Source::query(rows, "y")).filter(any([]));
                        Expr::from(none.select(value(1).alias("one"))).is_null()
                    }
                    _ => !exists(rows),
                }
            }
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
                let condition = self.condition(depth - 1);
                let rows = self.rows_where(condition);
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
        Value::Real(number) => Bound::Real(number),
        Value::Text(text) | Value::Decimal(text) => Bound::Text(text),
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
        let text = "this delete has no condition that a row could fail: say all_rows (in Ruby all_rows!) if every row is meant";
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
    refused(col("id").gt(None::<i64>).is_null());
}

#[test]
fn conditions_on_a_query_that_has_no_rows_need_all_rows() {
    let nothing = || col("v").is_in(Vec::<i64>::new());
    let none = || table("u").select("v").filter(nothing());
    let refused = |condition: Expr| {
        let query = table("t").filter(condition);
        assert!(query.to_delete(&SQLITE).is_err(), "{query:?}");
    };
    refused(!exists(table("u").group("v").having(nothing()).select("v")));
    refused(!exists(table("u").having(nothing()).select(count())));
    refused(!exists(table("u").join("w", any([]))));
    refused(!exists(table("u").cross_join(Source::query(none(), "x"))));
    refused(!exists(table(Source::query(none(), "x"))));
    refused(!exists(table("x").with_query("x", none())));
    refused(col("id").not_in(table(Source::query(none(), "x"))));
    refused(exists(none().select(count())));
    let named = table("t").with_query("x", none());
    assert!(
        named
            .filter(!exists(table("x")))
            .to_delete(&SQLITE)
            .is_err()
    );
}

#[test]
fn conditions_on_a_query_that_may_have_rows_are_conditions() {
    let none = || table("u").select("v").filter(any([]));
    let taken = |condition: Expr| {
        let query = table("t").filter(condition);
        assert!(query.to_delete(&SQLITE).is_ok(), "{query:?}");
    };
    taken(!exists(table("u").left_join("w", any([]))));
    taken(!exists(table("u").right_join("w", any([]))));
    taken(!exists(none().select(raw("f(v)", [])).offset(0)));
    taken(!exists(table("u").group("v").having(count().gt(1))));
    taken(!exists(table("x").with_query("y", none())));
    taken(exists(table("x").with_recursive("x", ["v"], none())));
    // What a query in between calls so hides what one around it does.
    let inner = table("x").with_query("x", table("u"));
    let outer = table("t").with_query("x", none());
    assert!(outer.filter(!exists(inner)).to_delete(&SQLITE).is_ok());
}

#[test]
#[expect(clippy::reversed_empty_ranges, reason = "the subject")]
fn conditions_that_leave_out_a_range_of_nothing_need_all_rows() {
    let n = || col("n");
    let refused = |condition: Expr| {
        let query = table("t").filter(condition);
        assert!(query.to_delete(&SQLITE).is_err(), "{query:?}");
        let update = query.clone().set("n", 1).to_update(&SQLITE);
        assert!(update.is_err(), "{query:?}");
    };
    refused(n().not_between(5, 1));
    refused(!n().within(5..=1));
    refused(!n().within(5..1));
    refused(!n().within(5..5));
    refused(!(n().ge(5).and(n().lt(5)).and(col("m").eq(1))));
    refused(n().not_between(2.5, 1));
    refused(n().not_between("2026-02-01", "2026-01-31"));
    refused(n().not_in(vec![Value::Null]));
    refused(!n().is_in(vec![Value::Null]));
    refused(n().not_in(table("u").select("v").filter(col("v").between(5, 1))));
    refused(n().like("%"));
    refused(!n().not_ilike("%%"));
    let far = f64::INFINITY;
    refused(n().within(-far..=far));
    refused(n().within(-far..far));
    refused(n().within(-far..));
    refused(n().within(..far));
    refused(n().gt(-far));
    refused(n().lt(far));
    refused(!n().ge(far));
    let wide = |digits: &str| Value::Decimal(digits.to_owned());
    refused(n().not_between(wide("1180591620717411303424"), 1));
    refused(!n().within(wide("1180591620717411303424")..wide("1")));
    refused(n().not_between(
        wide("1180591620717411303425"),
        wide("1180591620717411303424"),
    ));
    refused(n().not_between(-1, wide("-1180591620717411303424")));
}

#[test]
fn conditions_that_an_author_wrote_out_are_conditions() {
    let taken = |condition: Expr| assert!(table("t").filter(condition).to_delete(&SQLITE).is_ok());
    taken(col("id").is_not_null());
    taken(col("id").ne(None::<i64>));
    taken(tsumugi_sql::raw("1 = 1", []));
    taken(col("s").like("_%"));
    taken(col("s").not_like(""));
    taken(col("id").not_between(1, 5));
    taken(!col("id").within(1..5));
    taken(col("id").not_between("b", "a"));
    taken(col("id").between(5, 1));
    taken(col("id").is_in(vec![Value::Null]));
    taken(col("id").not_in(vec![Value::Null, Value::Integer(1)]));
    taken(!value(None::<i64>).between(5, 1));
    taken(col("id").within(1..));
    taken(col("id").within(1.0..f64::INFINITY));
    taken(col("id").not_between(f64::INFINITY, f64::INFINITY));
    taken(col("id").ne(f64::INFINITY));
    taken(!col("id").between(1, Value::Decimal("1180591620717411303424".to_owned())));
    taken(!col("id").within::<i64>(..));
    taken(any([]));
    taken(exists(table("u")));
    taken(!exists(table("u").select(tsumugi_sql::count())));
}
