//! Tables made, changed and dropped from Ruby, on every database.

use crate::{ALL, Engine, HELPERS, Served, check_on};

/// The same on all.
#[track_caller]
fn check(setup: &str, lines: &[(&str, &str)]) {
    for engine in ALL {
        check_on(engine, setup, lines);
    }
}

const USERS: &str = "
  def users(**more)
    db.create(:users) do
      increments :id
      string :name, 100, **more
      decimal :balance, 10, 2, default: 0
      boolean :active, default: true
      timestamps
    end
  end
  def failing
    yield
    'nothing was raised'
  rescue DB::Error, ArgumentError => e
    \"#{e.class}: #{e.message}\"
  end
";

#[test]
fn table_is_made_once_and_a_different_one_is_named() {
    check(
        USERS,
        &[
            ("json(users(unique: true))", "true"),
            ("json(users(unique: true))", "false"),
            (
                "failing { users }",
                "DB::TableDiffers: the table users exists and is different: there is a unique index on (name), and none is wanted",
            ),
            (
                "failing { users(unique: true, nullable: true) }",
                "DB::TableDiffers: the table users exists and is different: the column name must not be NULL, and it may be is wanted",
            ),
            (
                "db.execute(\"insert into users(name) values ('a')\"); json(db.query('select active, name, balance from users').first)",
                "{\"active\":true,\"name\":\"a\",\"balance\":\"0.00\"}",
            ),
            (
                "json([db.table?(:users), db.table?('absent')])",
                "[true,false]",
            ),
        ],
    );
}

#[test]
fn every_kind_and_modifier_makes_a_table_that_compares_as_the_same() {
    let all = "
      def all
        db.create(:others) { increments :id }
        db.create(:everything) do |t|
          t.big_integer :key
          small_integer(:small).unsigned.default(3)
          medium_integer :medium, index: true
          integer :plain, default: -5
          bigInteger :big, nullable: true
          decimal :exact, 12, 3, default: '1.500'
          double :wide, default: 0.5
          float :narrow, nullable: true
          uuid :guid, nullable: true
          char :code, 2, default: 'it'
          string :words, default: \"it's a ?\"
          text :story, comment: 'long: what?'
          date :day, default_now: true
          datetime :at, default_now: true
          time :clock, default_now: true
          timestamp :moment, default_now: true
          binary :bytes, default: DB.blob('ab')
          boolean :truth, default: false
          enum :colour, %w[red blue], default: 'red'
          json :document, default: { a: 1 }
          foreign(:other_id).reference(:id).on(:others).on_delete(:cascade)
          foreign :second_id, on: :others, nullable: true, on_delete: :set_null
          timestamps
          soft_delete
          primary :key, :small
          unique :plain, :big
          index :day
          comment 'all of it'
        end
      end
      def columns(sql) = db.query(sql).columns
    ";
    check(
        all,
        &[
            ("json(all)", "true"),
            ("json(all)", "false"),
            (
                "columns('select * from everything').join(' ')",
                "key small medium plain big exact wide narrow guid code words story day at clock moment bytes truth colour document other_id second_id created_at updated_at deleted_at",
            ),
        ],
    );
}

#[test]
fn table_is_altered_renamed_and_dropped() {
    crate::check(
        USERS,
        &[
            (
                "users; db.execute(\"insert into users(name) values ('a')\").to_s",
                "1",
            ),
            (
                "db.alter(:users) { add.string :nick, 20, nullable: true, unique: true; rename_column :name, :full_name; drop_column :updated_at; add_index :full_name }; 'ok'",
                "ok",
            ),
            (
                "db.query('select * from users').columns.join(' ')",
                "id full_name balance active created_at nick",
            ),
            (
                "db.alter(:users) { change.text :full_name, default: 'none'; drop_unique :nick }; 'ok'",
                "ok",
            ),
            (
                "db.execute('insert into users(nick) values (null)'); db.query('select full_name from users order by id').map { |row| row[:full_name] }.join(' ')",
                "a none",
            ),
            (
                "db.rename :users, :people; json([db.table?(:users), db.table?(:people)])",
                "[false,true]",
            ),
            ("db.drop :people; json(db.table?(:people))", "false"),
            (
                "failing { db.alter(:people) { drop_column :x } }",
                "DB::UsageError: there is no table people",
            ),
        ],
    );
}

#[test]
fn firebird_changes_what_it_can_and_refuses_the_rest_before_there_is_sql() {
    check_on(
        Engine::Firebird,
        USERS,
        &[
            (
                "users; db.execute(\"insert into users(name) values ('a')\").to_s",
                "1",
            ),
            (
                "db.alter(:users) { add.string :nick, 20, nullable: true, unique: true; rename_column :name, :full_name; drop_column :updated_at; add_index :full_name }; 'ok'",
                "ok",
            ),
            (
                "db.query('select * from users').columns.join(' ')",
                "id full_name balance active created_at nick",
            ),
            (
                "db.alter(:users) { change.string :full_name, 200, default: 'none'; drop_unique :nick; add.enum :state, %w[on off], default: 'on', index: true }; 'ok'",
                "ok",
            ),
            (
                "db[:users].insert(nick: nil); db[:users].order(:id).pluck(:full_name, :state)",
                r#"[["a","on"],["none","on"]]"#,
            ),
            (
                "failing { db[:users].insert(state: 'x') }[0, 18]",
                "DB::CheckViolation",
            ),
            (
                "db.alter(:users) { change.string :state, 10; rename_column :full_name, :name }; db[:users].insert(state: 'x'); db[:users].where(state: 'x').pluck(:name)",
                r#"["none"]"#,
            ),
            (
                "db.alter(:users) { drop_column :state; drop_column :name }; db[:users].columns",
                r#"["id","balance","active","created_at","nick"]"#,
            ),
            (
                "failing { db.alter(:users) { add.integer :n, default: 0; change.text :nick } }",
                "DB::Unsupported: Firebird has no change of a column from or to text, json or binary: add another column",
            ),
            (
                "failing { db.alter(:users) { change.string :nick, 19 } }",
                "DB::Unsupported: Firebird has no change of a column to a shorter text: add another column",
            ),
            (
                "failing { db.rename :users, :people }",
                "DB::Unsupported: Firebird has no other name for a table that is there",
            ),
            ("db[:users].columns.size.to_s", "5"),
            ("db.drop :users; json(db.table?(:users))", "false"),
        ],
    );
}

#[test]
fn transaction_of_firebird_sees_its_own_tables_after_its_end() {
    check_on(
        Engine::Firebird,
        USERS,
        &[
            (
                "failing { db.transaction { users; db[:users].insert(name: 'a') } }[0, 18]",
                "DB::UndefinedTable",
            ),
            ("json(db.table?(:users))", "false"),
            (
                "db.transaction { users }; db[:users].insert(name: 'a').to_s",
                "1",
            ),
        ],
    );
}

#[test]
fn primary_key_of_a_recreated_table_is_the_new_one() {
    check(
        "",
        &[
            (
                "db.create(:t) { increments :id; string :name, 10 }; json(db[:t].insert(name: 'a'))",
                "1",
            ),
            (
                "db.drop :t; db.create(:t) { increments :number; string :id, 10 }; json(db[:t].insert(id: 'x'))",
                "1",
            ),
        ],
    );
}

#[test]
fn references_to_a_rebuilt_table_stay() {
    let setup = "
      db.create(:owners) { increments :id; string :name, 20 }
      db.create(:pets) { increments :id; foreign :owner_id, on: :owners, on_delete: :cascade }
      db.execute \"insert into owners(name) values ('a')\"
      db.execute 'insert into pets(owner_id) values (1)'
      def failing
        yield
        'nothing was raised'
      rescue DB::Error => e
        e.class.to_s
      end
    ";
    check(
        setup,
        &[
            (
                "db.alter(:owners) { change.string :name, 50, nullable: true }; json(db.query('select count(*) as n from pets').first)",
                "{\"n\":1}",
            ),
            (
                "failing { db.execute 'insert into pets(owner_id) values (7)' }",
                "DB::ForeignKeyViolation",
            ),
            (
                "db.execute 'delete from owners'; json(db.query('select count(*) as n from pets').first)",
                "{\"n\":0}",
            ),
        ],
    );
    check_on(
        Engine::Sqlite,
        setup,
        &[
            (
                "failing { db.transaction { db.alter(:owners) { change.text :name } } }",
                "DB::Schema::NeedsRebuild",
            ),
            (
                "db.transaction(mode: :rebuild) { db.alter(:owners) { change.text :name } }; json(db.query('select count(*) as n from pets').first)",
                "{\"n\":1}",
            ),
            (
                "failing { db.transaction(mode: :rebuild) { db.execute 'delete from owners' } }",
                "DB::ForeignKeyViolation",
            ),
            (
                "json(db.query('select count(*) as n from owners').first)",
                "{\"n\":1}",
            ),
            (
                "failing { db.execute 'insert into pets(owner_id) values (7)' }",
                "DB::ForeignKeyViolation",
            ),
            ("failing { db.drop :owners }", "DB::UsageError"),
        ],
    );
}

#[test]
fn word_for_a_column_that_stands_alone_in_alter_names_add_and_change() {
    let said =
        |step: &str| format!("begin; db.alter(:t) {{ {step} }}; rescue => e; e.message; end");
    let string = said("string :title");
    let index = said("index :title");
    let other = said("rename_colum :a, :b");
    check_on(
        Engine::Sqlite,
        "",
        &[
            (
                &string,
                "undefined method 'string' for an instance of DB::Schema::Alteration; a column is added by add.string and changed by change.string",
            ),
            (
                &index,
                "undefined method 'index' for an instance of DB::Schema::Alteration; an index is added by add_index",
            ),
            (
                &other,
                "undefined method 'rename_colum' for an instance of DB::Schema::Alteration; did you mean rename_column?",
            ),
        ],
    );
}

#[test]
fn invalid_table_is_refused_with_a_valid_form() {
    check(
        USERS,
        &[
            (
                "failing { db.create(:t) { string :a, 0 } }",
                "DB::UsageError: text of a column has 1 to 10485760 characters, not 0: longer text is of kind text",
            ),
            (
                "failing { db.create(:t) { string :a, -1 } }",
                "ArgumentError: the length of a column must be a whole number that it can have",
            ),
            (
                "failing { db.create(:t) { string :a, colour: :red } }",
                "ArgumentError: the column a has no colour: there are nullable, unsigned, default, default_now, default_raw, primary, unique, index, comment, reference, on, on_delete",
            ),
            (
                "failing { db.create(:t) { foreign :a } }",
                "DB::UsageError: give the table that a refers to, with on",
            ),
            (
                "failing { db.create(:t) { foreign :a, on: :b, on_delete: :forget } }",
                "ArgumentError: on_delete is :no_action, :restrict, :cascade, :set_null or :set_default",
            ),
            (
                "failing { db.create(:t) }",
                "ArgumentError: create t needs a block",
            ),
            (
                "failing { db.create(:t) {} }",
                "DB::UsageError: the table t has no column",
            ),
        ],
    );
}

#[test]
fn schema_that_fails_in_the_middle_is_as_it_was() {
    check(
        "db.create(:t) { increments :id; integer :a }; db.execute 'insert into t(a) values (1)'; db.execute 'insert into t(a) values (1)'",
        &[
            (
                "begin; db.alter(:t) { add.integer :b, default: 0; add_unique :a }; rescue DB::UniqueViolation; 'refused'; end",
                "refused",
            ),
            ("db.query('select * from t').columns.join(' ')", "id a"),
        ],
    );
}

#[test]
fn schema_change_beside_its_own_transaction_is_refused() {
    check(
        USERS,
        &[
            (
                "failing { db.transaction { db.migrate } }",
                "DB::UsageError: migrate takes a transaction of its own for each migration: call it before or after the one that it is called in",
            ),
            (
                "users; json(db.transaction { db.seeder(:users) { db[:users].insert(name: 'in the same') } })",
                "true",
            ),
        ],
    );
    let other = "def other = DB.connect(\"sqlite:#{Tsumugi.data_dir}/test.db\")";
    check_on(
        Engine::Sqlite,
        &format!("{USERS}{other}"),
        &[(
            "failing { db.transaction { users; other.seeder(:users) { } } }",
            "DB::UsageError: a transaction of this fibre is open on this database by another connect: this would wait for it",
        )],
    );
}

#[test]
fn alteration_that_fails_in_a_transaction_which_goes_on_keeps_no_step() {
    check_on(
        Engine::Sqlite,
        "db.create(:t) { increments :id; integer :a }; 2.times { db.execute 'insert into t(a) values (1)' }",
        &[
            (
                "db.transaction { begin; db.alter(:t) { add.integer :b, default: 0; add_unique :a }; rescue DB::UniqueViolation; 'refused'; end }",
                "refused",
            ),
            ("db.query('select * from t').columns.join(' ')", "id a"),
        ],
    );
}

#[test]
fn table_that_refers_to_itself_is_rebuilt_in_a_transaction_and_dropped_by_a_name_in_another_case() {
    check_on(
        Engine::Sqlite,
        "db.create(:nodes) { increments :id; foreign :parent_id, on: :nodes, nullable: true, on_delete: :cascade; string :name, 9 }
         db[:nodes].insert([{ parent_id: nil, name: 'root' }, { parent_id: 1, name: 'leaf' }])",
        &[
            (
                "db.transaction { db.alter(:nodes) { change.string :name, 50 } }; json(db[:nodes].order(:id).pluck(:name))",
                r#"["root","leaf"]"#,
            ),
            ("db.drop(:Nodes); json(db.table?(:nodes))", "false"),
        ],
    );
}

#[test]
fn change_that_waits_longer_than_schema_wait_for_another_is_a_pool_timeout() {
    for engine in ALL {
        let app = "
          get '/' do
            holds = -> { db.transaction { db.create(:held) { increments :id }; sleep 2 } }
            waits = -> { sleep 0.5; error_text { db.create(:waits) { increments :id } } }
            parallel(holds, waits)[1]
          end";
        // Before that, a file's writer is waited for as long as `acquire` says; a server takes its time to log in.
        let acquire = if engine == Engine::Sqlite {
            "0.2"
        } else {
            "1.5"
        };
        let served = Served::new(
            engine,
            &format!("acquire: {acquire}, schema_wait: 0.3"),
            &format!("{HELPERS}{app}"),
        );
        let text = served.rig.get("/").text();
        assert!(text.starts_with("DB::PoolTimeout: "), "{engine:?}: {text}");
        assert!(text.contains("schema_wait"), "{engine:?}: {text}");
    }
}
