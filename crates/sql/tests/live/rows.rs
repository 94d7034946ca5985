//! Chains of the builder, made at random: SQLite, PostgreSQL and the naive evaluator find the same rows and the same numbers.
//! Rule: the seed of a chain is its number, and a failure shows the chain.

use std::collections::BTreeMap;

use tsumugi_sql::scan::{Kind, pieces};
use tsumugi_sql::{Aggregate, Dialect, Key, POSTGRES, Statement, Value, count};
use tsumugi_testkit::Dice;

use crate::database::LiveDatabase;
use crate::evaluator::{Cell, Chain, Condition, Constant, Field, Row, bound};

const CHAINS: u64 = 2_100;
/// Chains in one question to PostgreSQL: its text is an argument of a command.
const BATCH: usize = 100;

const TEXTS: [Option<&str>; 12] = [
    None,
    Some(""),
    Some("a"),
    Some("A"),
    Some("ab"),
    Some("aB"),
    Some("a%b"),
    Some("a_b"),
    Some(r"a\b"),
    Some("*?[x]"),
    Some("é"),
    Some("NULL"),
];
const PATTERNS: [&str; 12] = [
    "%", "a%", "%b", "_", "a_b", r"a\_b", r"a\%%", r"a\\b", "*%", "%[x]", r"a\", "A%",
];

/// Makes chains.
struct Maker(Dice);

impl Maker {
    fn of(seed: u64) -> Maker {
        Maker(Dice::new(seed))
    }

    fn number(&mut self) -> i64 {
        i64::try_from(self.0.place(7)).unwrap() - 2
    }

    fn field(&mut self) -> Field {
        self.0.pick(&[Field::Id, Field::N, Field::M, Field::S])
    }

    fn number_field(&mut self) -> Field {
        self.0.pick(&[Field::Id, Field::N, Field::M])
    }

    /// A value of the field's type.
    fn cell(&mut self, field: Field) -> Cell {
        match field {
            Field::S => Cell::Text(self.0.pick(&TEXTS[1..]).unwrap().to_owned()),
            _ => Cell::Number(self.number()),
        }
    }

    fn constant(&mut self, field: Field) -> Constant {
        (self.0.place(5) > 0).then(|| self.cell(field))
    }

    fn constants(&mut self, field: Field) -> Vec<Constant> {
        (0..self.0.place(4)).map(|_| self.constant(field)).collect()
    }

    fn condition(&mut self, depth: usize) -> Condition {
        use Condition as C;
        let field = self.field();
        let sides = if depth > 0 { 21 } else { 16 };
        match self.0.place(sides) {
            0 => C::Equal(field, self.constant(field)),
            1 => C::Different(field, self.constant(field)),
            2 => C::Less(field, self.cell(field)),
            3 => C::GreaterOrEqual(field, self.cell(field)),
            4 => C::Sum(self.number_field(), self.number(), self.number_field()),
            5 => C::Null(field),
            6 => C::NotNull(field),
            7 => C::In(field, self.constants(field)),
            8 => C::NotIn(field, self.constants(field)),
            9 => C::Between(field, self.cell(field), self.cell(field)),
            10 => C::NotBetween(field, self.cell(field), self.cell(field)),
            11 => C::Range(self.number_field(), self.number(), self.number()),
            12 => C::Like(self.0.pick(&PATTERNS)),
            13 => C::NotLike(self.0.pick(&PATTERNS)),
            14 => C::Ilike(self.0.pick(&PATTERNS)),
            15 => C::Contains(self.0.pick(&["a", "%", "_", r"\", "[x]", ""])),
            16 => C::Among(self.number_field(), Box::new(self.condition(0))),
            17 => C::NotAmong(self.number_field(), Box::new(self.condition(0))),
            18 => C::All(
                (0..self.0.place(4))
                    .map(|_| self.condition(depth - 1))
                    .collect(),
            ),
            19 => C::Any(
                (0..self.0.place(4))
                    .map(|_| self.condition(depth - 1))
                    .collect(),
            ),
            _ => C::Not(Box::new(self.condition(depth - 1))),
        }
    }

    fn chain(&mut self) -> Chain {
        let filters = (0..self.0.place(4))
            .map(|_| (self.0.place(3) == 0, self.condition(2)))
            .collect();
        let orders = (0..self.0.place(3)).map(|_| {
            let nulls = self.0.pick(&[None, None, Some(true), Some(false)]);
            (self.field(), self.0.place(2) == 0, nulls)
        });
        let mut orders: Vec<_> = orders.collect();
        // Without it the order of rows, and so those within a limit, would be anybody's choice.
        orders.push((Field::Id, self.0.place(2) == 0, None));
        let limit = (self.0.place(3) == 0).then(|| u64::try_from(self.0.place(9)).unwrap());
        let offset = if self.0.place(3) == 0 {
            self.0.place(5)
        } else {
            0
        };
        Chain {
            filters,
            orders,
            limit,
            offset: u64::try_from(offset).unwrap(),
        }
    }
}

fn rows() -> Vec<Row> {
    let mut maker = Maker::of(7);
    let row = |id| Row {
        id,
        n: (maker.0.place(4) > 0).then(|| maker.number()),
        m: maker.number(),
        s: maker.0.pick(&TEXTS),
    };
    (0..40).map(row).collect()
}

fn shown(cell: Option<Cell>) -> String {
    match cell {
        None => "-".to_owned(),
        Some(Cell::Number(number)) => number.to_string(),
        Some(Cell::Text(text)) => format!("'{text}'"),
    }
}

/// A statement, how many columns it has, and the rows that are expected of it.
type Question = (Statement, usize, Vec<String>);

/// What is asked of one chain.
fn questions(chain: &Chain, rows: &[Row], dialect: &Dialect, maker: &mut Maker) -> Vec<Question> {
    let (query, found) = (chain.built(), chain.rows(rows));
    let lines = |of: &[Row]| {
        of.iter()
            .map(|row| format!("{}|{}", row.id, shown(Field::S.of(row))))
            .collect()
    };
    let selected = query.clone().select(("id", "s"));
    let mut questions: Vec<Question> = vec![
        (selected.to_rows(dialect).unwrap(), 2, lines(&found)),
        (
            selected.to_first(dialect).unwrap(),
            2,
            lines(&found[..found.len().min(1)]),
        ),
        (
            query.to_count(dialect).unwrap(),
            1,
            vec![found.len().to_string()],
        ),
    ];
    let exists = if found.is_empty() {
        vec![]
    } else {
        vec!["1".to_owned()]
    };
    questions.push((query.to_exists(dialect).unwrap(), 1, exists));
    let field = maker.field();
    let cells = || found.iter().filter_map(|row| field.of(row));
    let mut number = |of: Aggregate, expected: Option<Cell>| {
        let statement = query.to_aggregate(of, field.name(), dialect).unwrap();
        questions.push((statement, 1, vec![shown(expected)]));
    };
    number(Aggregate::Min, cells().min());
    number(Aggregate::Max, cells().max());
    number(
        Aggregate::Count,
        Some(Cell::Number(i64::try_from(cells().count()).unwrap())),
    );
    if field != Field::S {
        let numbers = cells().map(|cell| match cell {
            Cell::Number(number) => number,
            Cell::Text(_) => unreachable!("only numbers are added"),
        });
        let sum = numbers.reduce(|sum, number| sum + number);
        number(Aggregate::Sum, sum.map(Cell::Number));
        let average = sum.map(|sum| (sum as f64 / cells().count() as f64).to_string());
        let statement = query.to_aggregate(Aggregate::Avg, field.name(), dialect);
        questions.push((
            statement.unwrap(),
            1,
            vec![average.unwrap_or("-".to_owned())],
        ));
    }
    if chain.limit.is_none() && chain.offset == 0 {
        questions.push(groups(chain, rows, field, dialect));
        questions.extend(pages(chain, rows, dialect));
    }
    // The rows of every chain, and of the other questions some: a server needs a while for all of them.
    let (mut first, mut kept) = (true, questions);
    kept.retain(|_| std::mem::take(&mut first) || maker.0.place(3) == 0);
    kept
}

/// Groups of more than one row.
fn groups(chain: &Chain, rows: &[Row], field: Field, dialect: &Dialect) -> Question {
    let grouped = chain
        .built()
        .unordered()
        .group(field.name())
        .having(count().gt(1));
    let grouped = grouped.select((field.name(), count())).order(field.name());
    let mut groups: BTreeMap<(bool, Option<Cell>), usize> = BTreeMap::new();
    for row in chain.rows(rows) {
        let cell = field.of(&row);
        *groups.entry((cell.is_none(), cell)).or_default() += 1;
    }
    let several = groups.into_iter().filter(|(_, count)| *count > 1);
    let lines = several.map(|((_, cell), count)| format!("{}|{count}", shown(cell)));
    (grouped.to_rows(dialect).unwrap(), 2, lines.collect())
}

/// The page after the third row, by its keys.
fn pages(chain: &Chain, rows: &[Row], dialect: &Dialect) -> Option<Question> {
    let found = chain.rows(rows);
    let last = found.get(2)?;
    let keys: Vec<Key> = chain.built_orders().into_iter().map(Key::from).collect();
    let values: Vec<Value> = chain
        .orders
        .iter()
        .map(|(field, ..)| bound(&field.of(last)))
        .collect();
    let page = chain
        .built()
        .unordered()
        .select(("id", "s"))
        .page_after(keys, Some(&values), 5)
        .unwrap();
    let lines = found
        .iter()
        .skip(3)
        .take(6)
        .map(|row| format!("{}|{}", row.id, shown(Field::S.of(row))));
    Some((page.to_rows(dialect).unwrap(), 2, lines.collect()))
}

#[test]
fn chains_find_the_same_rows_everywhere() {
    let rows = rows();
    for live in LiveDatabase::both() {
        let collation = if live.dialect() == &POSTGRES {
            " collate \"C\""
        } else {
            ""
        };
        live.run(&format!("create table t(id integer primary key, n integer, m integer not null, s text{collation})"));
        for row in &rows {
            let literal = |of: Option<Cell>| match of {
                None => "null".to_owned(),
                Some(Cell::Number(number)) => number.to_string(),
                Some(Cell::Text(text)) => format!("'{text}'"),
            };
            let (n, s) = (literal(Field::N.of(row)), literal(Field::S.of(row)));
            live.run(&format!(
                "insert into t values ({}, {n}, {}, {s})",
                row.id, row.m
            ));
        }
        let seeds: Vec<u64> = (1..=CHAINS).collect();
        for batch in seeds.chunks(BATCH) {
            let asked = batch.iter().flat_map(|seed| {
                let mut maker = Maker::of(*seed);
                let chain = maker.chain();
                let questions = questions(&chain, &rows, live.dialect(), &mut maker);
                questions.into_iter().map(move |question| (*seed, question))
            });
            let asked: Vec<(u64, Question)> = asked.collect();
            for ((seed, (statement, _, expected)), found) in
                asked.iter().zip(answers(&live, &asked))
            {
                let name = live.dialect().name;
                assert_eq!(
                    found, *expected,
                    "{name}, chain {seed}: {} <- {:?}",
                    statement.sql, statement.binds
                );
            }
        }
    }
}

/// The rows of each question, as lines.
fn answers(live: &LiveDatabase, asked: &[(u64, Question)]) -> Vec<Vec<String>> {
    match live {
        LiveDatabase::Sqlite(connection) => {
            let lines = |(_, (statement, columns, _)): &(u64, Question)| {
                let mut prepared = connection.prepare(&statement.sql).unwrap();
                let binds = statement.binds.iter().map(|bind| match bind {
                    Value::Null => rusqlite::types::Value::Null,
                    Value::Integer(number) => rusqlite::types::Value::Integer(*number),
                    Value::Text(text) => rusqlite::types::Value::Text(text.clone()),
                    other => panic!("{other:?} is not among the constants"),
                });
                let row = |row: &rusqlite::Row<'_>| {
                    let cell = |index| match row.get_ref(index).unwrap() {
                        rusqlite::types::ValueRef::Null => "-".to_owned(),
                        rusqlite::types::ValueRef::Integer(number) => number.to_string(),
                        rusqlite::types::ValueRef::Real(number) => number.to_string(),
                        other => format!("'{}'", other.as_str().unwrap()),
                    };
                    Ok((0..*columns).map(cell).collect::<Vec<_>>().join("|"))
                };
                let params = rusqlite::params_from_iter(binds);
                prepared
                    .query_map(params, row)
                    .unwrap()
                    .map(Result::unwrap)
                    .collect()
            };
            asked.iter().map(lines).collect()
        }
        LiveDatabase::Postgres(database) => {
            let each = asked.iter().map(|(_, (statement, columns, _))| {
                let names: Vec<String> = (0..*columns).map(|index| format!("c{index}")).collect();
                let cells: Vec<String> = names
                    .iter()
                    .map(|name| format!("case when {name} is null then '-' when pg_typeof({name})::text = 'text' then '''' || {name}::text || '''' else {name}::text end"))
                    .collect();
                let (names, cells, sql) = (names.join(", "), cells.join(" || '|' || "), inlined(statement));
                format!("to_json(array(select {cells} from ({sql}) q({names})))")
            });
            let each: Vec<String> = each.collect();
            let answers = each.chunks(90).map(|some| {
                let printed =
                    database.psql(&format!("select json_build_array({})", some.join(", ")));
                serde_json::from_str::<Vec<Vec<String>>>(&printed).unwrap()
            });
            answers.flatten().collect()
        }
    }
}

/// The statement with its values in their places.
fn inlined(statement: &Statement) -> String {
    let (mut out, mut after_dollar) = (String::new(), false);
    for piece in pieces(&statement.sql, POSTGRES.lexicon) {
        if after_dollar {
            let digits = piece
                .text
                .find(|c: char| !c.is_ascii_digit())
                .unwrap_or(piece.text.len());
            let number: usize = piece.text[..digits].parse().unwrap();
            out += &match &statement.binds[number - 1] {
                Value::Integer(number) => format!("({number})"),
                Value::Text(text) => format!("'{text}'"),
                other => panic!("{other:?} is not among the constants"),
            };
            out += &piece.text[digits..];
        } else {
            out += piece.text.strip_suffix('$').unwrap_or(piece.text);
        }
        after_dollar = piece.kind == Kind::Code && piece.text.ends_with('$');
    }
    out
}
