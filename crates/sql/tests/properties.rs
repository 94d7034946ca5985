//! What holds for every query: found by making many of them at random, from a fixed seed. Not what their SQL says: see `golden/`.
//! Rule: a failure names the seed of the one query that fails.

use tsumugi_sql::scan::{Kind, SentPiece, pieces, translate};
use tsumugi_sql::{
    Conflict, Dialect, Error, Expr, FIREBIRD, Key, POSTGRES, Query, Record, SQLITE, Source,
    Statement, Value, all, any, call, col, count, desc, exists, limits, raw, record, sum, table,
    values,
};
use tsumugi_testkit::Dice;

const QUERIES: u64 = 3_000;
const DIALECTS: [&Dialect; 3] = [&SQLITE, &POSTGRES, &FIREBIRD];

/// Makes queries.
struct Maker(Dice);

impl Maker {
    fn of(seed: u64) -> Maker {
        Maker(Dice::new(seed))
    }

    fn value(&mut self) -> Value {
        match self.0.below(5) {
            0 => Value::Null,
            1 => Value::from(i64::try_from(self.0.below(9)).unwrap()),
            2 => Value::from("a?'\"`"),
            3 => Value::from(true),
            _ => Value::from(0.5),
        }
    }

    fn list(&mut self) -> Vec<Value> {
        (0..self.0.below(4)).map(|_| self.value()).collect()
    }

    fn expr(&mut self, depth: u64) -> Expr {
        if depth == 0 || self.0.below(4) == 0 {
            return match self.0.below(3) {
                0 => self.value().into(),
                1 => col("a`?\".b"),
                _ => raw("f('?', ?, ?) /* ? */", values![1, "x"]),
            };
        }
        let left = self.expr(depth - 1);
        let right = self.expr(depth - 1);
        match self.0.below(20) {
            0 => left.eq(right),
            1 => left.ne(right),
            2 => left + right,
            3 => left - right,
            4 => left % right,
            5 => -left,
            6 => !left,
            7 => all([left, right]),
            8 => any([left, right]),
            9 => left.and(right),
            10 => left.or(right),
            11 => left.is_null(),
            12 => left.between(self.value(), self.value()),
            13 => left.is_in(self.list()),
            14 => left.not_in(self.list()),
            15 => left.like("a?%"),
            16 => left.not_ilike("a?%"),
            17 => exists(self.query(depth - 1)),
            18 => left.is_in(self.query(depth - 1)),
            _ => call("coalesce", [left, right]),
        }
    }

    fn query(&mut self, depth: u64) -> Query {
        let mut query = table("t?");
        for _ in 0..self.0.below(5) {
            query = self.step(query, depth);
        }
        query
    }

    fn step(&mut self, query: Query, depth: u64) -> Query {
        match self.0.below(12) {
            0 | 1 => query.filter(self.expr(depth)),
            2 => query.or_filter(self.expr(depth)),
            3 => query.select((self.expr(depth).alias("x"), "y")),
            4 => query.order(self.expr(depth).desc()),
            5 => query.limit(self.0.below(9)),
            6 => query.offset(self.0.below(3)),
            7 => query.left_join("u", self.expr(depth)),
            8 => query.group("z").having(self.expr(depth)),
            9 => query.with_query("c", raw("select ?", [self.value()])),
            10 => query.set("n", self.expr(depth)),
            _ => query.distinct(),
        }
    }
}

/// Every way of making SQL of a query.
fn statements(query: &Query, dialect: &Dialect) -> Vec<Statement> {
    let record = record! { "a" => 1, "b?" => raw("?", values![2]) };
    let keys = [Key::new("k"), Key::new(desc("id")).never_null()];
    let paged = query
        .to_page(2, 5, dialect)
        .map(|page| vec![page.rows, page.total]);
    let keyed = query
        .clone()
        .unordered()
        .page_after(keys, Some(&values![None::<i64>, 1]), 5);
    let upsert = query.clone().on_conflict(Conflict::on(["a"]).replace());
    [
        query.to_rows(dialect),
        query.to_first(dialect),
        query.to_count(dialect),
        query.to_exists(dialect),
        query.to_update(dialect),
        query.to_delete(dialect),
        query.to_insert(&record, dialect),
        upsert.to_insert(&record, dialect),
        keyed.and_then(|query| query.to_rows(dialect)),
    ]
    .into_iter()
    .flatten()
    .chain(paged.into_iter().flatten())
    .collect()
}

/// The placeholders of a statement, as the database counts them.
fn placeholders(statement: &Statement, dialect: &Dialect) -> usize {
    let mut found = 0;
    if dialect == &POSTGRES {
        let mut after_dollar = false;
        for piece in
            pieces(&statement.sql, dialect.lexicon).filter(|piece| piece.kind == Kind::Code)
        {
            if after_dollar {
                found += 1;
                let digits = piece.text;
                assert_eq!(digits, found.to_string(), "{}", statement.sql);
            }
            after_dollar = piece.text.ends_with('$');
        }
    } else {
        translate(&statement.sql, dialect.lexicon, |sent, _| {
            found += usize::from(matches!(sent, SentPiece::Placeholder(_)));
        });
    }
    found
}

#[test]
fn a_statement_has_as_many_binds_as_placeholders() {
    let mut made = 0;
    for seed in 0..QUERIES {
        let query = Maker::of(seed).query(3);
        for dialect in DIALECTS {
            for statement in statements(&query, dialect) {
                let found = placeholders(&statement, dialect);
                assert_eq!(
                    found,
                    statement.binds.len(),
                    "seed {seed}: {}",
                    statement.sql
                );
                assert!(
                    pieces(&statement.sql, dialect.lexicon).all(|piece| piece.closed),
                    "seed {seed}"
                );
                made += 1;
            }
        }
    }
    assert!(made > QUERIES, "only {made} statements were made");
}

#[test]
fn a_derived_query_does_not_change_its_parent() {
    for seed in 0..QUERIES {
        let mut maker = Maker::of(seed);
        let parent = maker.query(2);
        let before = parent.to_rows(&SQLITE);
        let first = maker.step(parent.clone(), 2);
        let said = first.to_rows(&SQLITE);
        let _second = maker
            .step(parent.clone(), 2)
            .all_rows()
            .for_update()
            .returning("id");
        assert_eq!(parent.to_rows(&SQLITE), before, "seed {seed}");
        assert_eq!(first.to_rows(&SQLITE), said, "seed {seed}");
    }
}

#[test]
fn sql_of_a_query_is_the_same_when_its_parts_are_shared() {
    for seed in 0..QUERIES {
        let alone = Maker::of(seed).query(3).to_rows(&POSTGRES);
        let mut maker = Maker::of(seed);
        let (mut query, mut kept) = (table("t?"), Vec::new());
        for _ in 0..maker.0.below(5) {
            kept.push(query.clone());
            query = maker.step(query, 3);
        }
        assert_eq!(query.to_rows(&POSTGRES), alone, "seed {seed}");
    }
}

#[test]
fn depth_has_a_limit() {
    let max = limits::DEPTH_MAX;
    let deep = |levels: u16| (1..levels).fold(col("a"), |inner, _| -inner);
    let too_deep = Err(Error::Limit {
        limit: "DEPTH_MAX",
        max: usize::from(max),
    });
    let of = |expr: Expr| {
        table("t")
            .filter(expr)
            .to_rows(&SQLITE)
            .map(|statement| statement.binds)
    };
    assert_eq!(of(deep(max - 1)), Ok(vec![]));
    assert_eq!(of(deep(max)), too_deep);
    assert_eq!(of(deep(max + 1)), too_deep);
    assert_eq!(of(deep(50_000)), too_deep);
    let nested = |levels: u16| {
        (0..levels).fold(table("t"), |inner, _| {
            table("t").filter(col("a").is_in(inner))
        })
    };
    assert!(nested(max / 2 - 1).to_rows(&SQLITE).is_ok());
    let refused = nested(max)
        .to_rows(&SQLITE)
        .map(|statement| statement.binds);
    assert_eq!(refused, too_deep);
}

/// So many nodes that are written, most of them in memory a few times only.
fn shared(nodes: u32) -> Expr {
    let mut parts = vec![(col("a"), 1_u32)];
    while let Some((part, size)) = parts.last().cloned()
        && size < nodes / 2
    {
        parts.push((part.clone() + part, size * 2 + 1));
    }
    // Each of a list is one beside the list itself.
    let (mut list, mut rest) = (Vec::new(), nodes - 1);
    for (part, size) in parts.into_iter().rev() {
        while size <= rest {
            list.push(part.clone());
            rest -= size;
        }
    }
    call("f", list)
}

#[test]
fn nodes_have_a_limit_and_one_that_is_shared_counts_each_time() {
    let max = limits::NODES_MAX;
    let too_large = Err(Error::Limit {
        limit: "NODES_MAX",
        max: usize::try_from(max).unwrap(),
    });
    let dialect = &FIREBIRD;
    let check = |nodes: u32, make: &dyn Fn(Expr) -> tsumugi_sql::Result<Statement>| {
        let binds = |made: tsumugi_sql::Result<Statement>| made.map(|made| made.binds.len());
        assert_eq!(binds(make(shared(nodes))).err(), None);
        assert_eq!(binds(make(shared(nodes + 1))), too_large);
    };
    let item = |expr: Expr| expr.alias("x");
    // The query itself is one.
    check(max - 1, &|expr| {
        table("t").select(item(expr)).to_rows(dialect)
    });
    check(max - 1, &|expr| table("t").filter(expr).to_rows(dialect));
    check(max - 1, &|expr| table("t").filter(expr).to_delete(dialect));
    check(max - 1, &|expr| {
        table("t").order(expr.asc()).to_rows(dialect)
    });
    check(max - 1, &|expr| {
        table("t").group(expr.alias("g")).to_rows(dialect)
    });
    check(max - 1, &|expr| table("t").having(expr).to_rows(dialect));
    check(max - 1, &|expr| table("t").join("u", expr).to_rows(dialect));
    check(max - 1, &|expr| {
        table("t").all_rows().set("a", expr).to_update(dialect)
    });
    check(max - 1, &|expr| {
        table("t").to_insert(&record! { "a" => expr }, dialect)
    });
    check(max - 2, &|expr| {
        let inner = table("t").select(item(expr));
        table(Source::query(inner, "x")).to_rows(dialect)
    });
    check(max - 3, &|expr| {
        table("t")
            .filter(exists(table("u").filter(expr)))
            .to_rows(dialect)
    });
}

#[test]
fn part_that_is_shared_without_end_is_refused_at_once() {
    let refused = |made: tsumugi_sql::Result<Statement>| {
        assert!(matches!(made, Err(Error::Limit { .. })), "{made:?}");
    };
    let doubled = |step: fn(Expr) -> Expr| (0..90).fold(col("a"), |part, _| step(part));
    let steps: [fn(Expr) -> Expr; 6] = [
        |part| part.clone() + part,
        |part| part.clone().eq(part),
        |part| part.clone().or(part.clone().and(part)),
        |part| !all([part.clone(), part]),
        |part| call("f", [part.clone(), part]),
        |part| {
            let of = Query::of_nothing().select(part.clone().alias("x"));
            part.is_in(of)
        },
    ];
    for dialect in DIALECTS {
        for step in steps {
            let part = doubled(step);
            assert_eq!(part, doubled(step));
            refused(table("t").filter(part.clone()).to_rows(dialect));
            refused(table("t").filter(part.clone()).to_delete(dialect));
            refused(table("t").select(part.alias("x")).to_rows(dialect));
        }
        let pair = |rows: Query| {
            let other = Source::query(rows.clone(), "b");
            table(Source::query(rows, "a")).cross_join(other)
        };
        let rows = (0..90).fold(table("t"), |rows, _| pair(rows));
        refused(rows.to_rows(dialect));
        refused(rows.to_count(dialect));
        refused(table("t").filter(!exists(rows.clone())).to_delete(dialect));
        refused(table("t").filter(col("a").not_in(rows)).to_delete(dialect));
        let named = |rows: Query| {
            let first = table("a").with_query("a", rows.clone());
            first.with_query("b", rows)
        };
        let rows = (0..90).fold(table("t"), |rows, _| named(rows));
        refused(rows.to_rows(dialect));
    }
}

#[test]
fn bytes_of_sql_have_a_limit() {
    let of = |bytes: usize| {
        let rest = table("t").filter(raw("", [])).to_rows(&SQLITE).unwrap().sql;
        let long = raw("x".repeat(bytes - rest.len()), []);
        table("t").filter(long).to_rows(&SQLITE)
    };
    let max = limits::SQL_BYTES_MAX;
    assert_eq!(of(max).unwrap().sql.len(), max);
    let limit = "SQL_BYTES_MAX";
    assert_eq!(of(max + 1), Err(Error::Limit { limit, max }));
    // Written a thousand times it would be a gigabyte.
    let part = raw("x".repeat(1024 * 1024), []);
    let many = table("t").filter(all(vec![part; 1_000])).to_rows(&SQLITE);
    assert_eq!(many, Err(Error::Limit { limit, max }));
    let own = format!("select '{}'", "x".repeat(max));
    assert!(Statement::raw(&own, Vec::new(), &SQLITE).is_ok());
}

#[test]
fn bytes_of_binds_have_a_limit() {
    let max = limits::BINDS_BYTES_MAX;
    let refused = |made| {
        let text = "the values have more than 268435456 bytes (binds_bytes_max): send them in several statements";
        assert_eq!(made, Err(Error::Usage(text.to_owned())));
    };
    let of = |bytes: usize| {
        let (half, rest) = (vec![0_u8; bytes / 2], vec![0_u8; bytes - bytes / 2]);
        let found = table("t")
            .filter(col("a").eq(half))
            .filter(col("b").eq(rest));
        found
            .to_rows(&SQLITE)
            .map(|statement| statement.binds.len())
    };
    assert_eq!(of(max), Ok(2));
    refused(of(max + 1));
    let part = col("a").eq("x".repeat(1024 * 1024));
    let many = table("t").filter(any(vec![part; 30_000])).to_rows(&SQLITE);
    refused(many.map(|statement| statement.binds.len()));
}

#[test]
fn rows_that_are_too_long_together_become_several_statements() {
    let inserted = |rows: Vec<Record>| {
        let made = table("t").returning("a").to_insert_all(&rows, &SQLITE);
        made.map(|made| made.len())
    };
    let each = shared(1_000);
    assert_eq!(inserted(vec![record! { "a" => each }; 600]), Ok(3));
    let each = raw(format!("/*{}*/ 1", "x".repeat(1024 * 1024)), []);
    assert_eq!(inserted(vec![record! { "a" => each }; 20]), Ok(2));
    let each = vec![0_u8; limits::BINDS_BYTES_MAX / 2 + 1];
    assert_eq!(inserted(vec![record! { "a" => each }; 2]), Ok(2));
    let each = shared(limits::NODES_MAX);
    let refused = inserted(vec![record! { "a" => each }; 3]);
    assert!(matches!(
        refused,
        Err(Error::Limit {
            limit: "NODES_MAX",
            ..
        })
    ));
}

#[test]
fn chains_of_and_are_long_not_deep() {
    let chain = (0..5_000).fold(col("a").eq(0), |chain, n| chain.and(col("a").ne(n)));
    assert_eq!(
        table("t")
            .filter(chain)
            .to_rows(&SQLITE)
            .unwrap()
            .binds
            .len(),
        5_001
    );
}

#[test]
fn binds_have_a_limit() {
    for dialect in DIALECTS {
        let max = dialect.binds_max;
        let listed = |count: usize| {
            table("t")
                .filter(col("a").is_in(vec![1_i64; count]))
                .to_rows(dialect)
        };
        assert_eq!(listed(max).unwrap().binds.len(), max);
        let refused = Error::Limit {
            limit: "binds_max",
            max,
        };
        assert_eq!(listed(max + 1).unwrap_err(), refused);
    }
}

#[test]
fn many_rows_become_as_many_statements_as_their_binds_need() {
    let rows: Vec<Record> = (0..20_000)
        .map(|n| record! { "a" => n, "b" => 1 })
        .collect();
    let counted = Conflict::on(["a"]).update(record! { "b" => count() + 1 });
    for query in [table("t"), table("t").on_conflict(counted)] {
        let statements = query.to_insert_all(&rows, &SQLITE).unwrap();
        assert_eq!(statements.len(), 2);
        let inserted = statements
            .iter()
            .flat_map(|statement| statement.binds.chunks(2));
        let firsts = inserted.filter(|pair| pair.len() == 2).count();
        assert_eq!(firsts, rows.len());
        assert!(
            statements
                .iter()
                .all(|statement| statement.binds.len() <= SQLITE.binds_max)
        );
    }
    let wide = raw(
        vec!["?"; SQLITE.binds_max + 1].join("+"),
        vec![Value::Null; SQLITE.binds_max + 1],
    );
    let refused = table("t").to_insert_all(&[record! { "a" => wide }], &SQLITE);
    assert!(matches!(
        refused,
        Err(Error::Limit {
            limit: "binds_max",
            ..
        })
    ));
}

#[test]
fn columns_have_a_limit() {
    let insert = |columns: usize| {
        let record: Record = (0..columns).map(|n| (format!("c{n}"), 1)).collect();
        table("t").to_insert(&record, &SQLITE)
    };
    assert!(insert(limits::COLUMNS_MAX).is_ok());
    let refused = insert(limits::COLUMNS_MAX + 1);
    assert!(matches!(
        refused,
        Err(Error::Limit {
            limit: "COLUMNS_MAX",
            ..
        })
    ));
}

#[test]
fn names_have_a_limit() {
    for dialect in DIALECTS {
        let named = |length: usize| {
            table("t")
                .select(sum("x".repeat(length)).alias("s"))
                .to_rows(dialect)
        };
        assert!(named(dialect.name_bytes_max).is_ok());
        assert!(matches!(
            named(dialect.name_bytes_max + 1),
            Err(Error::Limit { .. })
        ));
    }
}
