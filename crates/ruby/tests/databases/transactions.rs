//! Transactions of a fibre: what belongs to them, how they end, and that no other fibre notices.

use std::io::Write as _;
use std::time::Duration;

use crate::{ALL, BOTH, Engine, Served, check, check_on};

const TABLE: &str = "db.execute_script 'create table t(n integer primary key)'\n";

#[test]
fn transaction_commits_unless_its_block_raises() {
    check(
        &format!("{TABLE}def count = db.query('select count(*) as n from t').first[:n]"),
        &[
            (
                "db.transaction { db.execute 'insert into t values (1)' }; count",
                "1",
            ),
            (
                "(db.transaction { db.execute 'insert into t values (2)'; raise 'no' } rescue 0); count",
                "1",
            ),
            (
                "db.transaction { db.execute 'insert into t values (3)'; halt 200, n: 3 }",
                r#"{"n":3}"#,
            ),
            ("count", "1"),
            (
                "db.transaction { db.execute 'insert into t values (4)'; break }; count",
                "2",
            ),
            (
                "def early = db.transaction { db.execute('insert into t values (5)'); return 5 }; early; count",
                "3",
            ),
            (
                "db.transaction { |tx| { same: tx.equal?(db), value: tx.query('select max(n) as n from t').first[:n] } }",
                r#"{"same":true,"value":5}"#,
            ),
        ],
    );
}

#[test]
fn transaction_that_the_database_undid_is_no_lost_connection() {
    let count = format!("{TABLE}def count = db.query('select count(*) as n from t').first[:n]");
    let rescued = "error_text { db.transaction { db.execute 'insert into t values (1)'; db.query('selec 1') rescue 0 } }";
    check_on(
        Engine::Postgres,
        &count,
        &[
            (
                rescued,
                "DB::TransactionRolledBack: the transaction was rolled back: a statement in it had failed",
            ),
            ("count", "0"),
            (
                "failed { db.transaction { db.query('selec 1') } }",
                "DB::SyntaxError",
            ),
            (
                "failed { db.transaction { db.execute(\"set local idle_in_transaction_session_timeout = 50\"); sleep 0.3; db.query('select 1') } }",
                "DB::TransactionRolledBack",
            ),
            (
                "failed { db.transaction { db.query('select pg_terminate_backend(pg_backend_pid())') } }",
                "DB::ConnectionLost",
            ),
        ],
    );
    check_on(
        Engine::Sqlite,
        &count,
        &[
            (
                "db.transaction { db.execute 'insert into t values (1)'; db.query('selec 1') rescue 0 }; count",
                "1",
            ),
            ("count", "1"),
        ],
    );
}

/// Ends its own connection at the commit, where 1 was inserted.
const ENDS: &str = "db.execute_script \"create function gone() returns trigger language plpgsql as
      'begin if new.n = 1 then perform pg_terminate_backend(pg_backend_pid()); end if; return null; end';
    create constraint trigger gone after insert on t deferrable initially deferred for each row execute function gone()\"";

#[test]
fn transaction_whose_connection_is_lost_is_run_again_where_nothing_was_kept() {
    let end = "db.query('select pg_terminate_backend(pg_backend_pid())')";
    let tries = |retries: u32, block: &str| {
        format!(
            "tries = 0
             error = begin
               db.transaction(retries: {retries}) {{ tries += 1; {block} }}
               nil
             rescue DB::Error => e
               [e.class.to_s, e.retryable?]
             end
             [tries, error, db.query('select count(*) as n from t').first[:n]]"
        )
    };
    let insert = "db.execute('insert into t values (?)', tries)";
    let amid = format!("{insert}; {end} if tries == 1");
    let both = format!("db.execute('insert into t values (?)', tries + 20); {end}");
    check_on(
        Engine::Postgres,
        &format!("{TABLE}{ENDS}"),
        &[
            (&tries(0, &both), r#"[1,["DB::ConnectionLost",true],0]"#),
            (
                &tries(0, insert),
                r#"[1,["DB::TransactionRolledBack",true],0]"#,
            ),
            (
                &tries(0, "db.query('selec 1')"),
                r#"[1,["DB::SyntaxError",false],0]"#,
            ),
            (&tries(1, &amid), "[2,null,1]"),
            (&tries(2, &both), r#"[3,["DB::ConnectionLost",true],1]"#),
        ],
    );
}

#[test]
fn commit_unknown_is_a_lost_connection_that_is_not_run_again() {
    let block = "tries += 1; raise DB::CommitUnknown, 'as if'";
    check(
        TABLE,
        &[(
            &format!(
                "tries = 0
                 begin
                   db.transaction(retries: 3) {{ {block} }}
                 rescue DB::ConnectionLost => e
                   [tries, e.class.to_s, e.xid, e.retryable?]
                 end"
            ),
            r#"[1,"DB::CommitUnknown",null,false]"#,
        )],
    );
}

#[test]
fn nested_transaction_joins_the_outer_one() {
    check(
        &format!("{TABLE}def count = db.query('select count(*) as n from t').first[:n]"),
        &[
            (
                "(db.transaction { db.transaction { db.execute 'insert into t values (1)' }; raise 'no' } rescue 0); count",
                "0",
            ),
            (
                "db.transaction { db.transaction { db.execute 'insert into t values (1)' } }; count",
                "1",
            ),
        ],
    );
}

#[test]
fn statements_of_other_fibres_are_outside() {
    check(
        TABLE,
        &[(
            "begun = Tsumugi::Channel.new(1)
              looked = Tsumugi::Channel.new(1)
              count = -> { db.query('select count(*) as n from t').first[:n] }
              parallel(-> {
                db.transaction do
                  db.execute 'insert into t values (1)'
                  begun << true
                  looked.pop
                  count.call
                end
              }, -> {
                begun.pop
                outside = count.call
                looked << true
                outside
              })",
            "[1,0]",
        )],
    );
}

#[test]
fn statement_that_failed_ends_a_transaction_of_postgresql_only() {
    let line = "db.transaction do
                  db.execute 'insert into t values (1)'
                  db.execute('insert into t values (1)') rescue 0
                  db.execute 'insert into t values (2)'
                end";
    check_on(Engine::Sqlite, TABLE, &[(line, "1")]);
    check_on(
        Engine::Postgres,
        TABLE,
        &[
            (&format!("failed {{ {line} }}"), "DB::Error"),
            ("db.query('select count(*) as n from t').first[:n]", "0"),
        ],
    );
}

#[test]
fn isolation_is_the_servers() {
    check_on(
        Engine::Postgres,
        "",
        &[
            (
                "db.transaction(isolation: :serializable) { db.query('show transaction_isolation').first.values[0] }",
                "serializable",
            ),
            (
                "db.transaction(isolation: :repeatable_read) { db.query('show transaction_isolation').first.values[0] }",
                "repeatable read",
            ),
            (
                "db.transaction { db.query('show transaction_isolation').first.values[0] }",
                "read committed",
            ),
            (
                "db.transaction(mode: :read_only) { db.query('show transaction_read_only').first.values[0] }",
                "on",
            ),
            (
                "said { db.transaction(isolation: :none) { } }",
                "transaction takes isolation: :read_committed, :repeatable_read or :serializable, not none",
            ),
        ],
    );
}

#[test]
fn parallel_in_a_transaction_is_refused() {
    check(
        TABLE,
        &[
            (
                "error_text { db.transaction { parallel(-> { 1 }) } }",
                "DB::UsageError: parallel in a transaction would run its branches outside: run it before or after",
            ),
            ("db.transaction { 1 }; parallel(-> { 1 })", "[1]"),
        ],
    );
}

#[test]
fn savepoint_is_undone_alone() {
    check(
        &format!("{TABLE}def all = db[:t].order(:n).pluck(:n)"),
        &[
            (
                "db.transaction do
                   db[:t].insert(n: 1)
                   (db.transaction(savepoint: true) { db[:t].insert(n: 2); db[:t].insert(n: 2) }) rescue 0
                   db.transaction(savepoint: true) { db[:t].insert(n: 3) }
                 end
                 all",
                "[1,3]",
            ),
            (
                "(db.transaction { db.transaction(savepoint: true) { db[:t].insert(n: 4) }; raise 'no' }) rescue 0; all",
                "[1,3]",
            ),
            ("db.transaction(savepoint: true) { db[:t].insert(n: 5) }; all", "[1,3,5]"),
        ],
    );
}

#[test]
fn savepoint_left_while_a_stream_is_open_is_undone() {
    let setup = "db.create(:t) { integer :n }
        def all = db[:t].order(:n).pluck(:n)
        20.times { |n| db[:t].insert(n: 100 + n) }";
    for engine in ALL {
        check_on(
            engine,
            setup,
            &[
                (
                    "db.transaction do
                       db[:t].insert(n: 1)
                       stream = nil
                       begin
                         db.transaction(savepoint: true) do
                           db[:t].insert(n: 2)
                           stream = db.stream('select n from t')
                           raise 'no'
                         end
                       rescue RuntimeError
                         stream.each { |row| break }
                       end
                       db[:t].insert(n: 3)
                     end
                     all.reject { |n| n >= 100 }",
                    "[1,3]",
                ),
                ("all.size", "22"),
            ],
        );
    }
}

#[test]
fn several_rows_go_in_together_or_not_at_all() {
    check(
        &format!("{TABLE}def all = db[:t].order(:n).pluck(:n)"),
        &[
            (
                "failed { db[:t].insert([{ n: 1 }, { n: 1 }]) }",
                "DB::UniqueViolation",
            ),
            (
                "failed { db[:t].insert_id([{ n: 1 }, { n: 1 }]) }",
                "DB::UniqueViolation",
            ),
            (
                "db.transaction { db[:t].insert(n: 3); db[:t].insert_id([{ n: 1 }, { n: 1 }]) } rescue all",
                "[]",
            ),
            (
                "db.transaction do
                   db.transaction(savepoint: true) { db[:t].insert_id([{ n: 1 }, { n: 1 }]) } rescue 0
                   db[:t].insert(n: 2)
                 end
                 all",
                "[2]",
            ),
        ],
    );
}

#[test]
fn after_commit_block_runs_once_it_is_committed() {
    check(
        &format!("{TABLE}def all = db[:t].order(:n).pluck(:n)"),
        &[
            (
                "said = []
                 db.transaction do
                   db.after_commit { said << :outer << all }
                   db.transaction(savepoint: true) { db.after_commit { said << :undone }; raise 'no' } rescue 0
                   db.transaction(savepoint: true) { db.after_commit { said << :inner } }
                   db[:t].insert(n: 1)
                   said << :last
                 end
                 said",
                r#"["last","outer",[1],"inner"]"#,
            ),
            (
                "said = []; (db.transaction { db.after_commit { said << 1 }; raise 'no' }) rescue 0; said",
                "[]",
            ),
            ("said = []; db.after_commit { said << 1 }; said", "[1]"),
            // What a savepoint has kept goes with the one around it.
            (
                "said = []
                 db.transaction do
                   (db.transaction(savepoint: true) do
                     db.transaction(savepoint: true) { db.after_commit { said << :inner } }
                     db.after_commit { said << :outer }
                     raise 'no'
                   end) rescue 0
                   db.transaction(savepoint: true) { db.transaction(savepoint: true) { db.after_commit { said << :kept } } }
                   db.read.after_commit { said << :reading }
                   said << :last
                 end
                 said",
                r#"["last","kept","reading"]"#,
            ),
            // Blocks of a transaction that is left by a jump, and of the next one of the fibre.
            (
                "said = []
                 [1].each { |n| db.transaction { db.after_commit { said << n }; break } }
                 db.transaction { db.after_commit { said << 2 } }
                 said",
                "[1,2]",
            ),
        ],
    );
}

#[test]
fn committed_block_that_raises_takes_no_other_with_it() {
    let blocks = |first: &str| {
        format!(
            "said = []
             error = begin
               db.transaction do
                 db[:t].insert(n: 1)
                 db.after_commit {{ said << 1; {first} }}
                 db.after_commit {{ said << 2; raise ArgumentError, 'second' }}
                 db.after_commit {{ said << db[:t].count; halt }}
                 db.after_commit {{ said << 4 }}
               end
             rescue Exception => e
               e.class.to_s
             end
             db[:t].where(n: 1).delete
             [error, said]"
        )
    };
    check(
        TABLE,
        &[
            (
                &blocks("raise KeyError, 'first'"),
                r#"["KeyError",[1,2,1,4]]"#,
            ),
            (&blocks("halt"), r#"["Tsumugi::Halt",[1,2,1,4]]"#),
            (&blocks("0"), r#"["ArgumentError",[1,2,1,4]]"#),
        ],
    );
}

#[test]
fn committed_block_is_not_repeated_for_a_later_error() {
    check(
        TABLE,
        &[(
            "tries = 0
             error = failed do
               db.transaction(retries: 3) do
                 tries += 1
                 db[:t].insert(n: tries)
                 db.after_commit { raise DB::SerializationFailure, 'later' }
               end
             end
             [error, tries, db[:t].count]",
            r#"["DB::SerializationFailure",1,1]"#,
        )],
    );
}

#[test]
fn transaction_that_could_not_be_serialized_is_run_again() {
    let line = |retries| {
        format!(
            "tries = 0
             begin
               db.transaction(isolation: :serializable, retries: {retries}) do
                 tries += 1
                 db[:t].insert(n: 7)
                 db.after_commit {{ tries += 10 }}
                 raise (tries.odd? ? DB::SerializationFailure : DB::DeadlockDetected).new('again') if tries < 3
               end
             rescue DB::SerializationFailure => e
               raise if e.class == DB::Error
             end
             [tries, db[:t].count]"
        )
    };
    check(TABLE, &[(&line(1), "[2,0]"), (&line(2), "[13,1]")]);
}

#[test]
fn deadlock_of_two_transactions_is_an_error_of_one() {
    let app = "
        get('/') {
          db.execute_script 'create table d(n integer primary key, v integer); insert into d values (1, 0), (2, 0)'
          first = Tsumugi::Channel.new(2)
          locked = Tsumugi::Channel.new(2)
          side = ->(one, other) {
            begin
              db.transaction do
                db[:d].where(n: one).update(v: 1)
                first << one
                sleep 0.001 while first.size < 2
                db[:d].where(n: other).update(v: 1)
              end
              'done'
            rescue DB::SerializationFailure => e
              e.class.to_s
            end
          }
          parallel(-> { side.call(1, 2) }, -> { side.call(2, 1) }).sort
        }";
    let served = Served::new(Engine::Postgres, "pool: 3", app);
    served.check("/", r#"["DB::DeadlockDetected","done"]"#);
}

/// Every other request has a transaction that is rolled back; the others must never see what it did, nor lose what they did.
#[test]
fn sixty_four_fibres_never_mix() {
    let app = format!(
        "{TABLE}
        get('/') {{
          found = parallel(*(1..64).map {{ |n| -> {{
            if n.odd?
              begin
                db.transaction do
                  db.execute 'insert into t values (?)', 1000 + n
                  sleep 0.002
                  mine = db.query('select n from t where n > 1000').map {{ |row| row[:n] }}
                  raise 'mixed: ' + mine.inspect unless mine == [1000 + n]
                  raise ArgumentError
                end
              rescue ArgumentError
                n
              end
            else
              seen = db.query('select count(*) as n from t where n > 1000').first[:n]
              raise 'seen' unless seen == 0
              sleep 0.001
              db.query('select cast(? as integer) as n', n).first[:n]
            end
          }} }})
          {{ right: found == (1..64).to_a, left: db.query('select count(*) as n from t').first[:n] }}
        }}"
    );
    for engine in BOTH {
        let served = Served::new(engine, "pool: 3", &app);
        for _ in 0..3 {
            served.check("/", r#"{"right":true,"left":0}"#);
        }
    }
}

/// The same with the builder: half of the transactions keep what they did but for a part, half of them nothing, and all wait in between.
#[test]
fn sixty_four_fibres_never_mix_with_the_builder() {
    let app = format!(
        "{TABLE}
        class Undo < StandardError; end
        def seen = db[:t].where(col(:n) > 1000).order(:n).pluck(:n)
        get('/') {{
          found = parallel(*(1..64).map {{ |n| -> {{
            begin
              db.transaction do
                db[:t].insert(n: 1000 + n)
                sleep 0.002
                raise \"mixed: #{{seen}}\" unless seen == [1000 + n]
                begin
                  db.transaction(savepoint: true) {{ db[:t].insert(n: 2000 + n); sleep 0.001; raise Undo }}
                rescue Undo
                end
                db[:t].where(n: 1000 + n).update(n: n)
                sleep 0.001
                db.after_commit {{ raise 'it is not there' unless db[:t].where(n: n).exists? }}
                raise Undo if n.odd?
                raise \"mixed: #{{seen}}\" unless seen == []
              end
            rescue Undo
            end
            raise 'seen from outside' unless seen == []
            n
          }} }})
          kept = db[:t].order(:n).pluck(:n)
          db[:t].all_rows!.delete
          {{ right: found == (1..64).to_a, kept: kept == (1..64).select(&:even?) }}
        }}"
    );
    for engine in BOTH {
        let served = Served::new(engine, "pool: 3", &app);
        for _ in 0..3 {
            served.check("/", r#"{"right":true,"kept":true}"#);
        }
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test's own thread")]
fn client_that_goes_away_undoes_its_transaction() {
    let app = format!(
        "{TABLE}
        get('/slow') {{ db.transaction {{ db.execute 'insert into t values (1)'; sleep 60 }} }}
        get('/count') {{ db.query('select count(*) as n from t').first[:n].to_s }}
        get('/write') {{ db.transaction {{ db.execute 'insert into t values (1)' }}.to_s }}"
    );
    for engine in BOTH {
        let served = Served::new(engine, "pool: 1", &app);
        let mut client = served.rig.connect();
        client
            .write_all(b"GET /slow HTTP/1.1\r\nhost: x\r\n\r\n")
            .unwrap();
        std::thread::sleep(Duration::from_millis(150));
        drop(client);
        // The only connection for transactions: this waits until the abandoned one is over.
        served.check("/write", "1");
        served.check("/count", "1");
        if engine == Engine::Postgres {
            let open = "select count(*) from pg_stat_activity where state like 'idle in%' and datname = current_database()";
            assert_eq!(served.psql(open).trim(), "0");
        }
    }
}

#[test]
fn deadline_in_a_statement_undoes_the_transaction() {
    let database = tsumugi_testkit::postgres::Server::shared().database();
    let app = format!(
        "plugin(:db) {{ DB.connect '{}', pool: 1 }}
        {TABLE}
        get('/slow') {{ db.transaction {{ db.execute 'insert into t values (1)'; db.query 'select pg_sleep(60)' }} }}
        get('/write') {{ db.transaction {{ db.execute 'insert into t values (1)' }}.to_s }}",
        database.url()
    );
    let rig = crate::rig::Rig::with(&app, |settings| settings.limits.request_ms_max = 2_000);
    assert_eq!(rig.get("/slow").status, 504);
    assert_eq!(rig.get("/write").text(), "1");
}

#[test]
fn insert_answers_its_id_on_both() {
    for (engine, table) in [
        (
            Engine::Sqlite,
            "create table t(id integer primary key, n integer)",
        ),
        (
            Engine::Postgres,
            "create table t(id serial primary key, n integer unique)",
        ),
    ] {
        check_on(
            engine,
            &format!("db.execute_script '{table}'"),
            &[
                ("db.insert('insert into t(n) values (?)', 5)", "1"),
                ("db.insert('insert into t(n) values (?);', 6)", "2"),
                (
                    "db.insert('insert into t(n) values (?) returning id', 7)",
                    "3",
                ),
                ("db.execute('update t set n = n + ?', 10)", "3"),
            ],
        );
    }
}
