//! What holds for all methods of the builder: bound values, refusals, the same meaning everywhere. Not one method each, which is the table.
//! Rule: a line answers the same on every database, unless its test says of which it is.

use super::{check, setup};
use crate::{ALL, BOTH, Engine, HELPERS, Served, check_on};

#[test]
fn query_never_changes_what_it_was_made_from() {
    check(&[
        (
            "base = users.where(city: 'Oslo'); base.where(id: 1); base.order(:id).limit(1); base.all_rows!; base.select(:id); ids base",
            "[1,3]",
        ),
        (
            "base = users.where(id: 1); a = base.or_where(id: 2); b = base.or_where(id: 3); [ids(a), ids(b), ids(base)]",
            "[[1,2],[1,3],[1]]",
        ),
        (
            "base = users; base.insert_conflict.returning(:id); base.insert_sql(name: 'x').include?('returning').to_s",
            "false",
        ),
    ]);
}

#[test]
fn values_are_bound_in_the_order_of_their_places() {
    check(&[(
        "users.where(id: 1..4).limit(2).offset(1).select(:id, sql('cast(? as integer) + 0', 7).as(:n)).order(:id).with(:w, sql(\"select cast(? as integer) as x#{NOTHING}\", 9)).having('count(*) < ?', 5).group(:id).where(city: ['Oslo', 'Rome']).all",
        r#"[{"id":2,"n":7},{"id":3,"n":7}]"#,
    )]);
}

#[test]
fn digits_in_a_text_stay_a_text() {
    check(&[
        (
            "users.select(col(:name).concat('007').as(:code)).find(1)",
            r#"{"code":"an007"}"#,
        ),
        (
            "users.select(func(:replace, :name, 'an', '12345678901234567890').as(:code)).find(1)",
            r#"{"code":"12345678901234567890"}"#,
        ),
        (
            "undone { users.where(id: 1).update(name: 'a00b'); users.select(func(:replace, :name, '00', 'x').as(:code)).find(1) }",
            r#"{"code":"axb"}"#,
        ),
        (
            "users.select(:id, code: func(:coalesce, :city, '007')).find(4)",
            r#"{"id":4,"code":"007"}"#,
        ),
        (
            "users.where(col(:name).concat('007') == 'an007').pluck(:id)",
            "[1]",
        ),
    ]);
}

#[test]
fn exact_numbers_are_compared_as_numbers_with_what_functions_find() {
    check(&[
        (
            "users.where(func(:coalesce, :age, DB::Decimal.parse('99.5')) > 99).pluck(:id)",
            "[2]",
        ),
        (
            "users.where(func(:coalesce, :age, DB::Decimal.parse('99.5')) < 100).where(age: nil).pluck(:id)",
            "[2]",
        ),
        (
            "users.where(func(:abs, :age) < DB::Decimal.parse('25.5')).order(:id).pluck(:id)",
            "[3]",
        ),
        (
            "users.where(func(:abs, :age) >= DB::Decimal.parse('29.5')).order(:id).pluck(:id)",
            "[1,4]",
        ),
        (
            "users.where(:age, '>', DB::Decimal.parse('10000000000.123456789')).pluck(:id)",
            "[]",
        ),
    ]);
}

#[test]
fn exact_numbers_are_no_whole_ones_beside_those() {
    check(&[
        (
            "half = DB::Decimal.parse('0.5'); users.where(col(:age) * half > 14).order(:id).pluck(:id)",
            "[1,4]",
        ),
        (
            "users.where(col(:age) - DB::Decimal.parse('2') > DB::Decimal.parse('23.5')).order(:id).pluck(:id)",
            "[1,4]",
        ),
        (
            "users.where(:age, '>', DB::Decimal.parse('29.5')).order(:id).pluck(:id)",
            "[1,4]",
        ),
        (
            "users.where_between(:age, DB::Decimal.parse('24.5'), DB::Decimal.parse('30')).order(:id).pluck(:id)",
            "[1,3]",
        ),
        (
            "users.where(age: [DB::Decimal.parse('30'), DB::Decimal.parse('25.5')]).pluck(:id)",
            "[1]",
        ),
        (
            "users.where(col(:score) * DB::Decimal.parse('2') == 5).pluck(:id)",
            "[2]",
        ),
        (
            "undone { users.where(id: 1).update(age: col(:age) * DB::Decimal.parse('1.5')); users.find(1)[:age] }.to_s",
            "45",
        ),
    ]);
    for (engine, more) in [
        (Engine::Sqlite, r#"{"more":45.0}"#),
        (Engine::Postgres, r#"{"more":"45.00"}"#),
    ] {
        check_on(
            engine,
            &setup(engine),
            &[
                (
                    "users.select((col(:age) * DB::Decimal.parse('1.50')).as(:more)).find(1)",
                    more,
                ),
                (
                    "db.query('select age * cast(? as numeric) > 44.5 as more from users where id = 1', DB::Decimal.parse('1.50')).first[:more].then { |more| [true, 1].include?(more) }.to_s",
                    "true",
                ),
            ],
        );
    }
}

/// What stands alone has a type there only if it is said.
#[test]
fn exact_numbers_in_expressions_are_numbers_on_firebird() {
    check_on(
        Engine::Firebird,
        &setup(Engine::Firebird),
        &[
            (
                "users.select((col(:age) * DB::Decimal.parse('1.50')).as(:more)).find(1)",
                r#"{"more":"45.00"}"#,
            ),
            (
                "users.select((col(:age) * '1.50').as(:more)).find(1)",
                r#"{"more":"45.00"}"#,
            ),
            (
                "users.select(func(:maxvalue, DB::Decimal.parse('100.50'), :age).as(:most)).find(1)",
                r#"{"most":"100.50"}"#,
            ),
        ],
    );
}

#[test]
fn no_change_concerns_every_row_unless_it_says_so() {
    check(&[
        (
            "error_text { users.delete }",
            "DB::UsageError: this delete has no condition that a row could fail: say all_rows (in Ruby all_rows!) if every row is meant",
        ),
        ("failed { users.update(age: 1) }", "DB::UsageError"),
        ("failed { users.where({}).delete }", "DB::UsageError"),
        (
            "failed { users.where_not(id: 5..1).delete }",
            "DB::UsageError",
        ),
        (
            "failed { users.where_not_between(:id, 5, 1).update(age: 1) }",
            "DB::UsageError",
        ),
        (
            "failed { users.where_not(id: [nil]).delete }",
            "DB::UsageError",
        ),
        (
            "failed { users.where_not(age: (2**70)..1).delete }",
            "DB::UsageError",
        ),
        (
            "failed { users.where_not_between(:age, 2**70 + 1, 2**70).update(age: 1) }",
            "DB::UsageError",
        ),
        (
            "failed { users.where(age: -Float::INFINITY...Float::INFINITY).delete }",
            "DB::UsageError",
        ),
        (
            "failed { users.where(:score, '>', -Float::INFINITY).update(age: 1) }",
            "DB::UsageError",
        ),
        (
            "failed { users.where_not_exists(orders.group(:user_id).having(col(:user_id).in([])).select(:user_id)).delete }",
            "DB::UsageError",
        ),
        (
            "failed { users.where_not_exists(db[orders.where(id: []).as(:none)]).delete }",
            "DB::UsageError",
        ),
        (
            "undone { [orders.where_null(:user_id).delete, orders.count] }",
            "[1,3]",
        ),
        (
            "undone { orders.where_not_exists(users.where_not(age: 1..1000)).delete }.to_s",
            "4",
        ),
        ("undone { orders.where_in(:id, []).delete }.to_s", "0"),
        (
            "failed { users.where(id: 1).limit(1).delete }",
            "DB::UsageError",
        ),
        ("users.count.to_s", "4"),
    ]);
}

#[test]
fn expression_that_shares_parts_without_end_is_refused_at_once() {
    let limit = "DB::LimitExceeded: NODES_MAX is exceeded: at most 262144; nothing was run";
    check(&[
        (
            "e = col(:age); 90.times { e = e + e }; error_text { users.where(e > 0).all }",
            limit,
        ),
        (
            "e = col(:age) == 1; 90.times { e = (e & e) | e }; error_text { users.where(e).delete }",
            limit,
        ),
        (
            "e = col(:age); 90.times { e = e * e }; error_text { users.where(id: 1).update(age: e) }",
            limit,
        ),
        (
            "e = col(:age); 90.times { e = func(:coalesce, e, e) }; error_text { users.select(x: e).all }",
            limit,
        ),
        (
            "q = users; 60.times { |i| q = db[q.as(:a)].cross_join(q.as(:b)) }; error_text { q.count }",
            limit,
        ),
        ("users.count.to_s", "4"),
    ]);
}

#[test]
fn value_that_is_none_for_its_place_in_a_condition_is_an_error_of_data() {
    check(&[
        ("failed { users.where(:id, '>', []).all }", "DB::DataError"),
        (
            "failed { users.where(:id, '<=', [1, 2]).all }",
            "DB::DataError",
        ),
        (
            "failed { users.where(col(:id) > [1]).all }",
            "DB::DataError",
        ),
        (
            "failed { users.where(:name, 'like', 5).all }",
            "DB::DataError",
        ),
        (
            "failed { users.where(:name, 'not ilike', ['a']).all }",
            "DB::DataError",
        ),
        (
            "failed { users.where(col(:name).contains(nil)).all }",
            "DB::DataError",
        ),
        (
            "failed { users.where(col(:name).like({})).all }",
            "DB::DataError",
        ),
        (
            "failed { users.where_between(:id, [1]).all }",
            "DB::DataError",
        ),
        (
            "failed { users.where(:id, '>', 1..2).all }",
            "DB::UsageError",
        ),
        ("failed { users.where(:id, '=>', 1).all }", "DB::UsageError"),
    ]);
    for engine in [Engine::Postgres, Engine::Firebird] {
        let failed = |value: &str| {
            format!("failed {{ users.where(id: 1).update(age: col(:age) + {value}) }}")
        };
        let lines: Vec<String> = ["'abc'", "''", "[1]", "{}", "{ 'a' => 1 }", "\"a\\0b\""]
            .map(failed)
            .into();
        let lines: Vec<(&str, &str)> = lines
            .iter()
            .map(|line| (line.as_str(), "DB::DataError"))
            .collect();
        check_on(engine, &setup(engine), &lines);
    }
}

#[test]
fn word_null_is_a_text_and_question_marks_in_literals_stay() {
    check(&[
        (
            "undone { users.insert(name: 'NULL', city: 'NULL'); [users.where(city: 'NULL').count, users.where(city: nil).count] }",
            "[1,1]",
        ),
        ("users.where(\"'?' = '?' and id = ?\", 2).pluck(:id)", "[2]"),
        (
            "users.where('name like ? /* what? */', 'b%').pluck(:id)",
            "[2]",
        ),
        (
            "said { users.where('id = ?', 1, 2).all }.include?('values').to_s",
            "true",
        ),
    ]);
    check_on(
        Engine::Postgres,
        &setup(Engine::Postgres),
        &[
            (
                "db.select(sql(\"'{\\\"a\\\":1}'::jsonb ?? ?\", 'a').as(:has)).first",
                r#"{"has":true}"#,
            ),
            (
                "db.query('select id from users order by id limit?', 2).map { |row| row[:id] }",
                "[1,2]",
            ),
        ],
    );
}

#[test]
fn empty_table_has_no_minimum_and_no_sum() {
    check(&[(
        "none = users.where(id: 99); [none.min(:age), none.max(:age), none.sum(:age), none.avg(:age), none.count]",
        "[null,null,null,null,0]",
    )]);
}

#[test]
fn conditions_mean_the_same_whatever_the_database_thinks_of_case_and_null() {
    check(&[
        ("ids users.where(col(:name).like('c%'))", "[]"),
        ("ids users.where(col(:name).ilike('c%'))", "[3]"),
        ("ids users.where(col(:name).contains('%'))", "[]"),
        ("ids users.where(age: [25, nil])", "[2,3]"),
        ("ids users.where_not(age: [25, nil])", "[1,4]"),
        ("ids users.where(col(:age) == nil)", "[2]"),
        ("ids users.where(col(:age) != nil)", "[1,3,4]"),
    ]);
}

#[test]
fn senseless_query_is_refused_before_its_sql_is_made() {
    check(&[
        (
            "failed { users.where(:age, 'resembles', 3).all }",
            "DB::UsageError",
        ),
        ("failed { users.limit(-1) }", "ArgumentError"),
        ("failed { users.select(1) }", "TypeError"),
        ("failed { users.where }", "ArgumentError"),
        ("failed { users.join(:orders) }", "ArgumentError"),
        ("failed { users.insert(1) }", "TypeError"),
        ("failed { users.insert(nil) }", "TypeError"),
        ("failed { users.insert_id(nil) }", "TypeError"),
        ("failed { users.any? { true } }", "ArgumentError"),
        ("failed { users.count { true } }", "ArgumentError"),
        (
            "failed { users.insert([{ name: 'x' }, { nome: 'y' }]) }",
            "DB::UsageError",
        ),
        ("failed { db[3] }", "TypeError"),
        (
            "error_text { users.each(batch: 0) { } }",
            "ArgumentError: a batch has 1 to 1000 rows, not 0",
        ),
        (
            "error_text { users.each(batch: 1001) { } }",
            "ArgumentError: a batch has 1 to 1000 rows, not 1001",
        ),
        (
            "error_text { users.each(batch: '9') { } }",
            "ArgumentError: a batch has a number of rows, not a value of class String",
        ),
        ("failed { { users: users }.to_json }", "DB::UsageError"),
        (
            "failed { orders.find(1, nil).nil? ? raise(ArgumentError) : db[:tags].find(1) }",
            "DB::UsageError",
        ),
        ("failed { users.select('').all }", "DB::UsageError"),
    ]);
}

#[test]
fn values_do_not_have_the_words_that_begin_expressions() {
    check(&[
        ("failed { nil.count > 3 }", "NoMethodError"),
        ("failed { 3.sum(:a) }", "NoMethodError"),
        ("failed { 'text'.max(:a) }", "NoMethodError"),
        ("failed { { a: 1 }.col(:a) }", "NoMethodError"),
        ("failed { [1].avg(:a) }", "NoMethodError"),
        ("failed { db.sum(:a) }", "NoMethodError"),
        (
            "users.group(:city).having(count > 1).pluck(:city)",
            r#"["Oslo"]"#,
        ),
    ]);
}

#[test]
fn page_that_went_through_json_goes_on_where_it_ended() {
    let setup = "
        db.create(:events) { increments :id; timestamp :at }
        [100_000, 500_000, 500_001].each { |micros| db[:events].insert(at: Time.at(1_700_000_000, micros)) }
        def page(after) = db[:events].page_after(:at, :id, after: after, per: 1)
    ";
    for engine in ALL {
        // Firebird's timestamps do not say that they are in UTC.
        let zone = if engine == Engine::Firebird { "" } else { "Z" };
        let at = format!(r#"[{{"at":"2023-11-14T22:13:20.1{zone}"}}]"#);
        check_on(
            engine,
            setup,
            &[
                (
                    "seen = []; after = nil; while true; got = page(after); seen += got[:rows].map { |row| row[:id] }; break unless got[:hasMore]; after = JSON.parse(got[:after].to_json); end; seen",
                    "[1,2,3]",
                ),
                ("[db[:events].first[:at]]", r#"["2023-11-14T22:13:20.1Z"]"#),
                ("db[:events].select(:at).first(1)", &at),
            ],
        );
    }
}

#[test]
fn error_names_the_constraint() {
    check(&[
        ("failed { users.insert(name: 'an') }", "DB::UniqueViolation"),
        ("failed { users.insert(age: 1) }", "DB::NotNullViolation"),
        (
            "failed { orders.insert(user_id: 99) }",
            "DB::ForeignKeyViolation",
        ),
        ("failed { users.where('nonsense(').all }", "DB::SyntaxError"),
    ]);
}

#[test]
fn changed_primary_key_is_read_again() {
    for engine in ALL {
        check_on(
            engine,
            "db.execute_script 'create table t(a integer primary key, b integer)'",
            &[
                ("db[:t].insert(a: 7, b: 1).to_s", "7"),
                (
                    "db.execute_script 'drop table t; create table t(c integer primary key)'; failed { db[:t].insert(c: 1) }",
                    "DB::SyntaxError",
                ),
                ("db[:t].insert(c: 2).to_s", "2"),
                (
                    "db.execute_script 'drop table t; create table t(d integer primary key, e integer)'; failed { db[:t].insert(e: 1, d: 1) } && 'failed'",
                    "failed",
                ),
                ("db[:t].insert(e: 2, d: 3).to_s", "3"),
            ],
        );
    }
}

#[test]
fn key_learned_in_a_rolled_back_transaction_is_dropped() {
    const ANEW: &str =
        "db.execute_script('drop table tags; create table tags(word varchar(40) primary key)')";
    for engine in BOTH {
        check_on(
            engine,
            &setup(engine),
            &[
                (
                    &format!("undone {{ {ANEW}; db[:tags].insert(word: 'a') }}"),
                    "a",
                ),
                ("undone { db[:tags].insert(word: 'b').inspect }", "nil"),
                (
                    &format!(
                        "undone {{ begin; db.transaction(savepoint: true) {{ {ANEW}; db[:tags].insert(word: 'a'); raise Undo }}; rescue Undo; end; db[:tags].insert(word: 'b').inspect }}"
                    ),
                    "nil",
                ),
                (
                    &format!(
                        "db.transaction {{ {ANEW}; db[:tags].insert(word: 'a') }} + db[:tags].insert(word: 'b')"
                    ),
                    "ab",
                ),
            ],
        );
    }
}

#[test]
fn sum_of_big_numbers_is_a_number_on_request() {
    for engine in ALL {
        check_on(
            engine,
            "db.create(:big) { increments :id; big_integer :n }\ndb[:big].insert([{ n: 5_000_000_000 }, { n: 1 }])",
            &[
                ("db[:big].sum(:n).class.to_s", "Integer"),
                (
                    "db[:big].select(sql('cast(sum(n) as bigint)').as(:total))",
                    r#"[{"total":5000000001}]"#,
                ),
            ],
        );
    }
    for engine in ALL {
        let expected = match engine {
            Engine::Postgres => r#"[{"sum_n":"5000000000"}]"#,
            Engine::Sqlite | Engine::Firebird => r#"[{"sum_n":5000000000}]"#,
        };
        check_on(
            engine,
            "db.create(:big) { increments :id; big_integer :n }\ndb[:big].insert(n: 5_000_000_000)",
            &[("db[:big].select(sum(:n))", expected)],
        );
    }
}

#[test]
fn smallest_text_is_the_first_of_the_alphabet_also_of_digits() {
    const SETUP: &str = "db.create(:codes) { increments :id; string :code, 9; decimal :price, 9, 2 }
        db[:codes].insert([{ code: '10', price: DB::Decimal.parse('10') }, { code: '9', price: DB::Decimal.parse('9') }])";
    for engine in ALL {
        check_on(
            engine,
            SETUP,
            &[
                (
                    "json([db[:codes].min(:code), db[:codes].max(:code)])",
                    r#"["10","9"]"#,
                ),
                (
                    "json([db[:codes].min(:price), db[:codes].max(:price)])",
                    r#"["9.00","10.00"]"#,
                ),
                (
                    "db[:codes].select(:id).group(:id).order(sql('min(code)')).pluck(:id)",
                    "[1,2]",
                ),
                (
                    "db[:codes].select(:id).group(:id).order(min(:price)).pluck(:id)",
                    "[2,1]",
                ),
            ],
        );
    }
    for (engine, expected) in [(Engine::Sqlite, "[2,1]"), (Engine::Postgres, "[1,2]")] {
        check_on(
            engine,
            SETUP,
            &[(
                "db[:codes].select(:id).group(:id).order(min(:code)).pluck(:id)",
                expected,
            )],
        );
    }
}

#[test]
fn kinds_of_the_schema_builder_are_the_same_values_on_both() {
    let setup = "
        db.create(:prices) do
          increments :id
          decimal :price, 10, 2
          boolean :sold
          timestamp :at
          date :day
          json :data
          big_integer :n
        end
        def prices = db[:prices]
        at = Time.at(1_700_000_000, 500_000)
        prices.insert(price: DB::Decimal.parse('9.50'), sold: true, at: at, day: DB::Date.new(2024, 2, 29), data: { a: [1] }, n: 1)
        prices.insert(price: DB::Decimal.parse('10.00'), sold: false, at: at, day: DB::Date.new(2024, 3, 1), data: [], n: 2)
    ";
    for engine in BOTH {
        check_on(
            engine,
            setup,
            &[
                (
                    "prices.order(:price).first.map { |k, v| [k, v.class.to_s] }.to_h",
                    r#"{"id":"Integer","price":"DB::Decimal","sold":"TrueClass","at":"Time","day":"DB::Date","data":"Hash","n":"Integer"}"#,
                ),
                (
                    "prices.select(:price, :sold, :at, :day).order(:price).all",
                    r#"[{"price":"9.50","sold":true,"at":"2023-11-14T22:13:20.5Z","day":"2024-02-29"},{"price":"10.00","sold":false,"at":"2023-11-14T22:13:20.5Z","day":"2024-03-01"}]"#,
                ),
                (
                    "prices.where(price: DB::Decimal.parse('9.5'), sold: true).count.to_s",
                    "1",
                ),
                (
                    "prices.where(col(:price) > 9.75).pluck(:price)",
                    r#"["10.00"]"#,
                ),
                (
                    "[prices.sum(:price), prices.min(:price), prices.max(:price), prices.avg(:price)]",
                    r#"["19.50","9.50","10.00",9.75]"#,
                ),
                ("prices.sum(:price) + 1", r#""20.50""#),
                ("[prices.sum(:n), prices.max(:n)]", "[3,2]"),
                (
                    "prices.group(:sold).select(:sold, sum(:price)).having(sum(:price) > 9.75).all",
                    r#"[{"sold":false,"sum_price":"10.00"}]"#,
                ),
                ("prices.first[:data]", r#"{"a":[1]}"#),
                ("prices.where(at: prices.first[:at]).count.to_s", "2"),
            ],
        );
    }
}

#[test]
fn rows_that_are_fetched_by_a_cursor_may_be_left() {
    for engine in ALL {
        let app = format!(
            "{}
            get('/') {{
              seen = 0
              users.order(:id).each {{ |user| seen += 1; break if seen == 2 }}
              [seen, users.count]
            }}",
            setup(engine)
        );
        let served = Served::new(engine, "pool: 1", &app);
        served.check("/", "[2,4]");
        served.check("/", "[2,4]");
    }
}

#[test]
fn pool_that_is_used_up_is_an_error_and_no_empty_result() {
    let ways = [
        "users.all.to_a",
        "users.first",
        "users.find(1)",
        "users.count",
        "users.exists?",
        "users.pluck(:id)",
        "users.each { }",
        "users.paginate(1, 2)",
    ];
    let ways = ways.map(|way| format!("-> {{ {way} }}")).join(", ");
    for engine in BOTH {
        let app = format!(
            "{HELPERS}{}
            get('/') {{
              held = Tsumugi::Channel.new 1
              asked = Tsumugi::Channel.new 1
              users.count
              parallel(
                -> {{ db.transaction(mode: :read_only) {{ users.count; held << 1; asked.pop }} }},
                -> {{ held.pop; said = [{ways}].map {{ |way| failed(&way) }}; asked << 1; said.uniq }})[1]
            }}
            get('/next') {{ users.count.to_s }}",
            setup(engine)
        );
        let served = Served::new(engine, "pool: 1, acquire: 0.05", &app);
        served.check("/", r#"["DB::PoolTimeout"]"#);
        served.check("/next", "4");
    }
}
