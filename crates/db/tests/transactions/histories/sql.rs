//! The statements of a history on each database. Knows no model.
//! Table `w` has no key on its numbers, so that what ran twice is seen; its column `k` is unique, and 0 is taken.

use tsumugi_db::Database;

use super::program::Act;
use crate::Kind;

const SQLITE: &str = "
create table w(id integer not null, k integer unique); create index w_id on w(id); insert into w values (0, 0);
create table p(a integer, b integer); insert into p values (1, 7);
create table r(id integer);
create trigger ra after insert on r begin insert into w(id) values (new.id); select raise(abort, 'no'); end;
";

const POSTGRES: &str = "
create table w(id int not null, k int unique); create index on w(id); insert into w values (0, 0);
create table p(a int, b int); insert into p values (1, 7);
create function wr(n int) returns int language plpgsql as $$ begin insert into w(id) values (n); return n; end $$;
create function ra(n int) returns int language plpgsql as $$ begin insert into w(id) values (n); raise exception 'no'; end $$;
create function slow(n int) returns int language plpgsql as $$ begin insert into w(id) values (n); perform pg_sleep(0.02); return n; end $$;
create function late(n int) returns int language plpgsql as $$ begin insert into w(id) values (n); perform pg_sleep(0.5); return n; end $$;
create function hi(n int) returns int language plpgsql as
    $$ begin insert into w(id) values (n); return n; exception when unique_violation then return -1; end $$;
create procedure wp(n int) language plpgsql as $$ begin insert into w(id) values (n); end $$;
create procedure cr(n int) language plpgsql as
    $$ begin insert into w(id) values (n); commit; raise exception using errcode = '26000'; end $$;
";

const FIREBIRD: &str = "
create table w(id integer not null, k integer unique);
create index w_id on w(id);
create table p(a integer, b integer);
create exception no_way 'no';
create procedure wr(n integer) returns (m integer) as begin insert into w(id) values (:n); m = n; suspend; end;
create procedure ra(n integer) returns (m integer) as begin insert into w(id) values (:n); m = n; exception no_way; suspend; end;
create procedure late(n integer) returns (m integer) as begin insert into w(id) values (:n); m = n; suspend; exception no_way; end;
create procedure slow(n integer) returns (m integer) as declare i integer = 0;
    begin insert into w(id) values (:n); while (i < 100000) do i = i + 1; m = n; suspend; end;
create function hi(n integer) returns integer as begin begin insert into w(id) values (:n); when any do return -1; end return n; end;
create function lasting(n integer) returns integer as declare i integer = 0; begin
    insert into w(id) values (:n);
    while (datediff(millisecond from current_timestamp to cast('now' as timestamp)) < 500) do i = i + 1;
    return n; end;
create procedure wp(n integer) as begin insert into w(id) values (:n); end;
insert into w values (0, 0);
insert into p values (1, 7);
";

/// Reads the table that is altered.
pub(super) const ALTERED: &str = "select * from p";
/// What one of its columns is called half of the time, where its type is not what changes.
pub(super) const RENAMED: &str = "renamed";

/// Whether that table is as it was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Altered {
    No,
    Yes,
}

/// The next alteration of that table, there and back.
pub(super) fn alteration(kind: Kind, from: Altered) -> &'static str {
    match (kind, from) {
        (Kind::Postgres, Altered::No) => "alter table p alter column b type int8",
        (Kind::Postgres, Altered::Yes) => "alter table p alter column b type int4",
        (_, Altered::No) => "alter table p rename column b to renamed",
        (_, Altered::Yes) => "alter table p rename column renamed to b",
    }
}

pub(super) async fn set_up(db: &Database, kind: Kind) {
    let script = match kind {
        Kind::Sqlite => SQLITE,
        Kind::Postgres => POSTGRES,
        Kind::Firebird => FIREBIRD,
    };
    db.execute_script(script).await.unwrap();
}

/// The statement for an act, with a place for its number.
pub(super) fn of(act: Act, kind: Kind) -> &'static str {
    match (act, kind) {
        (Act::Insert, _) | (Act::CommitAndRaise, Kind::Sqlite | Kind::Firebird) => {
            "insert into w(id) values (?)"
        }
        (Act::Returning, _) | (Act::Selecting | Act::Hiding, Kind::Sqlite) => {
            "insert into w(id) values (?) returning id"
        }
        (Act::Selecting, Kind::Postgres) => "select wr(?)",
        (Act::Selecting, Kind::Firebird) => "select * from wr(?)",
        (Act::Hiding, Kind::Postgres) => "select hi(?)",
        (Act::Hiding, Kind::Firebird) => "select hi(cast(? as integer)) from rdb$database",
        (Act::Procedure, Kind::Sqlite) => {
            "with v(x) as (select ?) insert into w(id) select x from v"
        }
        (Act::Procedure, Kind::Postgres) => "call wp(?)",
        (Act::Procedure, Kind::Firebird) => "execute procedure wp(?)",
        (Act::Slow, Kind::Sqlite) => {
            "insert into w(id) with recursive c(x) as (select 1 union all select x + 1 from c where x < 50000) \
             select ? from c where x = 50000"
        }
        (Act::Late, Kind::Sqlite) => {
            "insert into w(id) with recursive c(x) as (select 1 union all select x + 1 from c where x < 20000000) \
             select ? union all select x from c where x < 0"
        }
        (Act::Late, Kind::Postgres) => "select late(?)",
        (Act::Late, Kind::Firebird) => "select lasting(cast(? as integer)) from rdb$database",
        (Act::Slow, Kind::Postgres) => "select slow(?)",
        (Act::Slow, Kind::Firebird) => "select * from slow(?)",
        (Act::Duplicate, Kind::Sqlite | Kind::Postgres) => {
            "insert into w(id, k) values (?, null), (-1, 0)"
        }
        (Act::Duplicate, Kind::Firebird) => {
            "insert into w(id, k) select cast(? as integer), cast(null as integer) from rdb$database \
             union all select -1, 0 from rdb$database"
        }
        (Act::RaiseLate, Kind::Firebird) => "select * from late(?)",
        (Act::Raise | Act::RaiseLate, Kind::Sqlite) => "insert into r values (?)",
        (Act::Raise | Act::RaiseLate, Kind::Postgres) => "select ra(?)",
        (Act::Raise, Kind::Firebird) => "select * from ra(?)",
        (Act::CommitAndRaise, Kind::Postgres) => "call cr(?)",
    }
}
