//! Values on their way into a statement and out of a result, and the arithmetic of those that Ruby has no class for.

use crate::{Engine, check, check_on};

#[test]
fn plain_values_come_back_as_they_went() {
    check(
        "",
        &[
            (
                "db.query('select cast(? as bigint) as v', 9007199254740993)",
                r#"[{"v":9007199254740993}]"#,
            ),
            (
                "db.query('select cast(? as text) as v', '紡ぎ ’?’').first[:v]",
                "紡ぎ ’?’",
            ),
            (
                "db.query('select cast(? as text) as v', :symbol).first[:v]",
                "symbol",
            ),
            (
                "db.query('select cast(? as text) as v', nil)",
                r#"[{"v":null}]"#,
            ),
            (
                "{ v: db.query('select cast(? as double precision) as v', 0.5).first[:v] }",
                r#"{"v":0.5}"#,
            ),
            (
                "db.query('select cast(? as text) as v', '').first",
                r#"{"v":""}"#,
            ),
            ("db.query('select 1 as a, 2 as b').columns", r#"["a","b"]"#),
            ("db.query('select 1 as a').map { |row| row[:a] + 1 }", "[2]"),
            (
                "{ n: db.query('select 1 as a where 1 = 0').size, first: db.query('select 1 as a where 1 = 0').first }",
                r#"{"n":0,"first":null}"#,
            ),
        ],
    );
}

#[test]
fn rows_are_arrays_of_their_values() {
    check(
        "",
        &[
            (
                "db.query(\"select 1 as a, 'x' as b union all select 3, null order by a\").values",
                r#"[[1,"x"],[3,null]]"#,
            ),
            ("db.query('select 1 as a').values", "[[1]]"),
            ("db.query('select 1 as a where 1 = 0').values", "[]"),
            (
                "rows = db.query('with recursive n(i) as (select 1 union all select i + 1 from n where i < 130) select i, i * 2 as j from n');
                 { size: rows.values.size, sum: rows.values.sum { |i, j| j - i } }",
                r#"{"size":130,"sum":8515}"#,
            ),
        ],
    );
    check_on(
        Engine::Postgres,
        "",
        &[
            (
                "db.query(%q(select 12.50::numeric as a, date '2026-01-02' as b, '[1]'::jsonb as c)).values",
                r#"[["12.50","2026-01-02",[1]]]"#,
            ),
            ("db.query('select from generate_series(1, 2)').values", "[[],[]]"),
            (
                "rows = db.query(%q(select (repeat('[', deep) || repeat(']', deep))::jsonb as a
                   from (select case when n = 70 then 1000 else 1 end as deep from generate_series(1, 100) n) depths));
                 begin; rows.values; rescue => e; e.class.to_s; end",
                "JSON::NestingError",
            ),
        ],
    );
}

#[test]
fn several_columns_of_many_rows_are_plucked() {
    check(
        "db.execute 'create table pairs (a integer, b text)'
         db.execute %q(insert into pairs with recursive n(i) as (select 1 union all select i + 1 from n where i < 130) select i, 'x' || i from n)",
        &[
            ("db[:pairs].order(:a).pluck(:a, :b).last", r#"[130,"x130"]"#),
            ("db[:pairs].pluck(:a, :b).size.to_s", "130"),
        ],
    );
}

#[test]
fn bytes_are_bytes_on_both() {
    for (engine, ty) in [(Engine::Sqlite, "blob"), (Engine::Postgres, "bytea")] {
        check_on(
            engine,
            &format!("db.execute_script 'create table t(b {ty})'"),
            &[
                (
                    "db.execute('insert into t values (?)', DB.blob([0, 255, 97].pack('C*'))); db.query('select b from t').first[:b].bytes",
                    "[0,255,97]",
                ),
                ("db.query('select b from t')", r#"[{"b":"AP9h"}]"#),
            ],
        );
    }
}

#[test]
fn numbers_of_postgresql_are_exact() {
    check_on(
        Engine::Postgres,
        "",
        &[
            (
                "db.query('select 12.50::numeric as v').first[:v].class.to_s",
                "DB::Decimal",
            ),
            (
                "db.query('select 12.50::numeric as v').first",
                r#"{"v":"12.50"}"#,
            ),
            (
                "db.query('select 12345678901234567890.123456789::numeric as v').first[:v] + 1",
                r#""12345678901234567891.123456789""#,
            ),
            (
                "db.query('select ?::numeric as v', DB::Decimal.parse('0.10')).first[:v].to_s",
                "0.10",
            ),
            (
                "db.query('select ?::numeric + 1 as v', 2).first[:v].to_s",
                "3",
            ),
            (
                "{ v: db.query(\"select 'NaN'::numeric as v\").first[:v].nan? }",
                r#"{"v":true}"#,
            ),
            (
                "db.query('select ?::int8 as v', -9223372036854775808)",
                r#"[{"v":-9223372036854775808}]"#,
            ),
            (
                "db.query('select ?::numeric as v', 10**30).first[:v].to_s",
                "1000000000000000000000000000000",
            ),
            (
                "db.query('select true as t, ?::bool as f', false).first",
                r#"{"t":true,"f":false}"#,
            ),
        ],
    );
}

#[test]
fn times_and_dates_of_postgresql_are_objects() {
    check_on(
        Engine::Postgres,
        "",
        &[
            (
                "db.query(\"select date '2024-02-28' as v\").first[:v] + 2",
                r#""2024-03-01""#,
            ),
            (
                "db.query(\"select timestamptz '2024-01-02 03:04:05.000006+01' as v\").first[:v].utc.iso8601(6)",
                "2024-01-02T02:04:05.000006Z",
            ),
            (
                "{ v: db.query('select ?::timestamptz = now() at time zone ? as v', Time.at(0), 'utc').first[:v] }",
                r#"{"v":false}"#,
            ),
            (
                "db.query('select ?::timestamptz as v', Time.at(1, 5)).first[:v].utc.iso8601(6)",
                "1970-01-01T00:00:01.000005Z",
            ),
            (
                "db.query('select ?::date + 1 as v', DB::Date.new(1999, 12, 31)).first[:v].to_s",
                "2000-01-01",
            ),
            (
                "{ v: db.query(\"select 'infinity'::timestamptz as v\").first[:v].infinite? }",
                r#"{"v":1}"#,
            ),
            (
                "db.query(\"select interval '1 month 2 days 3 seconds' as v\").first[:v]",
                "1 mon 2 days 00:00:03",
            ),
            (
                "db.query(\"select '7f000001-0000-0000-0000-000000000001'::uuid as v, inet '10.0.0.1' as i\").first",
                r#"{"v":"7f000001-0000-0000-0000-000000000001","i":"10.0.0.1"}"#,
            ),
        ],
    );
}

#[test]
fn structures_of_postgresql_are_arrays_and_hashes() {
    check_on(
        Engine::Postgres,
        "",
        &[
            (
                "db.query('select array[1,null,3] as v').first[:v]",
                "[1,null,3]",
            ),
            (
                "db.query('select sum(n) as v from unnest(?::int[]) n', [1, 2, 39]).first[:v]",
                "42",
            ),
            (
                "db.query('select ?::text[] as v', ['a', nil, 'b,\"c']).first[:v]",
                r#"["a",null,"b,\"c"]"#,
            ),
            (
                "db.query('select ?::jsonb as v', { a: [1, { b: nil }] }).first[:v]['a'][1]",
                r#"{"b":null}"#,
            ),
            (
                "db.query(\"select 1 as n where ?::int = any(?::int[])\", 2, [1, 2]).size",
                "1",
            ),
            (
                "db.query(\"select '{\\\"a\\\": 1}'::jsonb ?? 'a' as v\").first",
                r#"{"v":true}"#,
            ),
        ],
    );
}

#[test]
fn decimals_count_without_rounding() {
    check(
        "def d(text) = DB::Decimal.parse(text)",
        &[
            (
                "[d('0.1') + d('0.2'), d('1.10') - 1, d('1.5') * d('1.5'), -d('2.50'), d('-3.7').abs].map(&:to_s)",
                r#"["0.3","0.10","2.25","-2.50","3.7"]"#,
            ),
            (
                "[d('1.0') == 1, d('1.0') == d('1.00'), d('1.5') > 1, d('2') >= d('1.99'), d('1.5') == 1.5]",
                "[true,true,true,true,true]",
            ),
            (
                "[d('2.345').round(2), d('-2.345').round(2), d('2.5').round, d('7').round(3)].map(&:to_s)",
                r#"["2.35","-2.35","3","7"]"#,
            ),
            (
                "failed { [d('-0.7').to_i, d('12.9').to_i, d('0.05').to_f, d('1e').to_s] }",
                "ArgumentError",
            ),
            (
                "{ h: { d('1.0') => 1 }[d('1.00')], s: [d('3'), d('1.5'), d('2.25')].sort.map(&:to_s), sum: [d('0.1')] .sum(d('0')).to_s }",
                r#"{"h":1,"s":["1.5","2.25","3"],"sum":"0.1"}"#,
            ),
            ("failed { (d('1') + 'x') }", "TypeError"),
            (
                "[DB::Decimal.new(15, -5), DB::Decimal.new(-15, -1) + 1, DB::Decimal.new(0, -3), d('1250').round(-2)].map(&:to_s)",
                r#"["1500000","-149","0","1300"]"#,
            ),
            (
                "[DB::Decimal.new(15, -1) * DB::Decimal.new(1, 1) == 15, DB::Decimal.new(15, -1).scale, DB::Decimal.new(15, -1).to_i]",
                "[true,0,150]",
            ),
        ],
    );
}

#[test]
fn dates_count_in_days() {
    check(
        "def on(text) = DB::Date.parse(text)",
        &[
            (
                "[on('2024-02-28') + 1, on('2023-02-28') + 1, on('2024-01-01') - 1].map(&:to_s)",
                r#"["2024-02-29","2023-03-01","2023-12-31"]"#,
            ),
            ("on('2024-03-01') - on('2024-02-01')", "29"),
            (
                "[on('2024-01-01') < on('2024-01-02'), on('2024-01-01') == on('2024-01-01'), on('2024-01-01') == '2024-01-01']",
                "[true,true,false]",
            ),
            (
                "{ a: { on('2024-01-01') => 1 }[on('2024-01-01')], wday: on('2024-01-01').wday, json: on('0044-03-15') }",
                r#"{"a":1,"wday":1,"json":"0044-03-15"}"#,
            ),
        ],
    );
}

#[test]
fn value_that_cannot_be_bound_says_what_would_work() {
    check(
        "",
        &[(
            "error_text { db.query('select ?', Object.new) }",
            "TypeError: a value of class Object cannot be bound: convert it to a String or a number",
        )],
    );
}
