//! What is to be known of an SQL text before it is sent: its text with `$1` for `?`, and whether it may share a connection.
//! A text of the builder is sent as it is. Not a parser: what is code, quoted or a comment the scanner of `sql` says; here are the first words, the names and what they mean.
//! Rule: a text is looked at once; what was found is kept, for as many texts as [`PLANS_MAX`].

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use foldhash::fast::RandomState;
use tsumugi_sql::POSTGRES;
use tsumugi_sql::scan::{self, Kind, SentPiece, is_word};

use crate::limits::PLANS_MAX;
use crate::sql_text::{Placeholders, SqlText};

/// An SQL text as it is sent.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(super) sql: Arc<str>,
    pub(super) effect: StatementEffect,
    /// It has run, and its command tag shows no change.
    pub(super) harmless: Cell<bool>,
}

impl Plan {
    fn of(sql: &SqlText) -> Plan {
        let (sent, effect) = match sql.placeholders() {
            Placeholders::Native => (Arc::clone(sql.text()), effect(sql)),
            Placeholders::Question if mixes(sql) => (numbered(sql), StatementEffect::Mixed),
            Placeholders::Question => (numbered(sql), effect(sql)),
        };
        Plan {
            sql: sent,
            effect,
            harmless: Cell::new(false),
        }
    }
}

/// What a statement does to the session it runs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StatementEffect {
    /// Nothing that the next user would notice.
    None,
    /// It begins, ends or marks a transaction.
    Transaction,
    /// It locks a table until the transaction ends, and means nothing outside one.
    Lock,
    /// It leaves something behind: a setting, a temporary table, a lock, a subscription.
    Session,
    /// It runs code that may leave anything behind: a procedure, or a block.
    Procedure,
    /// It takes data from the client.
    CopyIn,
    /// It has both kinds of placeholders, so that a value would have two places.
    Mixed,
}

/// What to do about [`StatementEffect::Mixed`].
pub(super) const MIXED: &str =
    "this statement has ? as well as $1: use one kind of placeholder, and ?? for a question mark";

/// The plans of one pool.
#[derive(Default)]
pub(super) struct Plans {
    /// Of texts with `?`, as callers write them.
    question: PlanMap,
    /// Of texts as the server takes them, as the builder writes them. One of these may look like one of the others and mean something else.
    native: PlanMap,
}

/// Plans by their texts.
type PlanMap = RefCell<HashMap<Arc<str>, Rc<Plan>, RandomState>>;

impl Plans {
    pub(super) fn of(&self, sql: &SqlText) -> Rc<Plan> {
        let known = match sql.placeholders() {
            Placeholders::Question => &self.question,
            Placeholders::Native => &self.native,
        };
        if let Some(plan) = known.borrow().get(&**sql) {
            return Rc::clone(plan);
        }
        let plan = Rc::new(Plan::of(sql));
        let mut plans = known.borrow_mut();
        if plans.len() >= PLANS_MAX {
            // Texts that are made anew for each call would fill any cache; those used again come back at once.
            plans.clear();
        }
        plans.insert(Arc::clone(sql.text()), Rc::clone(&plan));
        plan
    }
}

/// `sql` with `$1`, `$2`, … for each `?` and one `?` for each `??`.
fn numbered(sql: &SqlText) -> Arc<str> {
    if !sql.contains('?') {
        return Arc::clone(sql.text());
    }
    let mut out = String::with_capacity(sql.len() + 8);
    scan::translate(sql, POSTGRES.lexicon, |sent, _| match sent {
        SentPiece::Same(text) => out.push_str(text),
        SentPiece::Question => out.push('?'),
        SentPiece::Placeholder(number) => {
            if scan::swallows_number(&out) {
                out.push(' ');
            }
            out.push('$');
            out.push_str(itoa::Buffer::new().format(number));
        }
    });
    out.into()
}

/// A text, of which it is not known who wrote it, as it is sent: one with `$1` has no other placeholders.
pub(super) fn sent(sql: &SqlText) -> Arc<str> {
    let mut after_dollar = false;
    let is_native = scan::pieces(sql, POSTGRES.lexicon).any(|piece| {
        let is_number = after_dollar && piece.text.starts_with(|c: char| c.is_ascii_digit());
        after_dollar = piece.kind == Kind::Code && piece.text.ends_with('$');
        is_number && piece.kind == Kind::Code
    });
    match is_native {
        true => Arc::clone(sql.text()),
        false => numbered(sql),
    }
}

/// Whether a text has both `?` and `$1`.
fn mixes(sql: &str) -> bool {
    if !(sql.contains('?') && sql.contains('$')) {
        return false;
    }
    let (mut question, mut number, mut after_dollar) = (false, false, false);
    for piece in scan::pieces(sql, POSTGRES.lexicon) {
        if piece.kind != Kind::Code {
            after_dollar = false;
            continue;
        }
        let code = piece.text;
        number |= after_dollar && code.starts_with(|c: char| c.is_ascii_digit());
        after_dollar = code.ends_with('$');
        question |= code.replace("??", "").contains('?');
    }
    question && number
}

/// Where in `sql` that is of which the server says `position`: it counts the characters of what it was sent, from 1.
pub(super) fn source_offset(sql: &SqlText, position: u32) -> Option<usize> {
    let mut before = usize::try_from(position).ok()?.checked_sub(1)?;
    if sql.placeholders() == Placeholders::Native {
        let mut ends = sql.char_indices().map(|(at, _)| at).chain([sql.len()]);
        return ends.nth(before);
    }
    let mut found = None;
    scan::translate(sql, POSTGRES.lexicon, |sent, at| {
        if found.is_some() {
            return;
        }
        let space = || usize::from(sql.get(..at).is_some_and(scan::swallows_number));
        let characters = match sent {
            SentPiece::Same(text) => text.chars().count(),
            SentPiece::Question => 1,
            SentPiece::Placeholder(number) => {
                space() + 1 + itoa::Buffer::new().format(number).len()
            }
        };
        if before >= characters {
            before -= characters;
            return;
        }
        let within = match sent {
            SentPiece::Same(text) => text.char_indices().nth(before),
            SentPiece::Question | SentPiece::Placeholder(_) => None,
        };
        found = Some(at + within.map_or(0, |(offset, _)| offset));
    });
    // Something is missing at the end.
    found.or((before == 0).then_some(sql.len()))
}

/// What the first words say.
fn effect(sql: &str) -> StatementEffect {
    let mut words = words(sql);
    let mut next = || {
        words
            .next()
            .map(str::to_ascii_lowercase)
            .unwrap_or_default()
    };
    let first = next();
    match first.as_str() {
        "begin" | "start" | "commit" | "end" | "rollback" | "abort" | "savepoint" | "release" => {
            StatementEffect::Transaction
        }
        "prepare" if next() == "transaction" => StatementEffect::Transaction,
        "set" | "reset" | "listen" | "unlisten" | "prepare" | "deallocate" | "discard"
        | "declare" | "load" => StatementEffect::Session,
        "lock" => StatementEffect::Lock,
        "do" | "call" => StatementEffect::Procedure,
        "create" => {
            let mut kind = next();
            if kind == "or" {
                // OR REPLACE
                (_, kind) = (next(), next());
            }
            match kind.as_str() {
                "temp" | "temporary" | "local" | "global" => StatementEffect::Session,
                _ if names(sql).any(|name| name == "pg_temp") => StatementEffect::Session,
                "table" | "materialized" => effect_within(sql),
                _ => StatementEffect::None,
            }
        }
        "copy" if words.any(|word| word.eq_ignore_ascii_case("stdin")) => StatementEffect::CopyIn,
        "update" if names(sql).any(|name| name == "pg_settings") => StatementEffect::Session,
        "select" | "with" | "values" | "insert" | "update" | "delete" | "merge" | "explain" => {
            effect_within(sql)
        }
        _ => StatementEffect::None,
    }
}

/// What a query does besides: functions that lock for the session or change a setting, and rows kept in a temporary table, which EXPLAIN ANALYZE
/// makes too.
fn effect_within(sql: &str) -> StatementEffect {
    let mut makes = false;
    let mut names = names(sql).peekable();
    while let Some(name) = names.next() {
        let locks = name.starts_with("pg_") && name.contains("advisory_lock");
        if makes
            && matches!(&*name, "local" | "global")
            && names.peek().is_some_and(|next| is_temporary(next))
        {
            continue;
        }
        let keeps = makes && (is_temporary(&name) || name == "pg_temp");
        if locks || keeps || name == "set_config" || name == ESCAPED {
            return StatementEffect::Session;
        }
        makes = matches!(&*name, "into" | "create");
    }
    StatementEffect::None
}

fn is_temporary(name: &str) -> bool {
    matches!(name, "temp" | "temporary")
}

/// Whether `sql` is a COPY whose other end is `end`, and nothing besides: the server would run all statements of a text, whatever they do to the
/// caller's transaction or to the session.
pub(super) fn is_copy(sql: &str, end: CopyEnd) -> bool {
    let mut words = words(sql);
    let end = match end {
        CopyEnd::Stdin => "stdin",
        CopyEnd::Stdout => "stdout",
    };
    let mut next_is = |word: &str| {
        words
            .next()
            .is_some_and(|next| next.eq_ignore_ascii_case(word))
    };
    next_is("copy") && words.any(|word| word.eq_ignore_ascii_case(end)) && is_single(sql)
}

/// Where the data of a COPY come from or go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CopyEnd {
    Stdin,
    Stdout,
}

/// Whether nothing follows the first semicolon.
fn is_single(sql: &str) -> bool {
    let mut ended = false;
    scan::pieces(sql, POSTGRES.lexicon).all(|piece| {
        let behind = match (piece.kind, ended) {
            (Kind::Comment, _) => "",
            (Kind::Code, false) => match piece.text.split_once(';') {
                Some((_, behind)) => {
                    ended = true;
                    behind
                }
                None => "",
            },
            (Kind::Quoted, false) => "",
            (Kind::Code | Kind::Quoted, true) => piece.text,
        };
        behind.chars().all(|c| c == ';' || c.is_whitespace())
    })
}

/// Whether a statement of a script begins, ends or marks a transaction, as far as its first word shows. `end`, which may be that of a function's body,
/// does not: [`ends_transaction`] sees it.
pub(super) fn has_transaction_command(script: &str) -> bool {
    let mut words = first_words(script);
    words.any(|(first, second)| match &*first {
        "begin" | "start" | "commit" | "rollback" | "abort" | "savepoint" | "release" => true,
        "prepare" => second == "transaction",
        _ => false,
    })
}

/// The first two words of each statement of a script.
fn first_words(script: &str) -> impl Iterator<Item = (String, String)> {
    let mut pieces = scan::pieces(script, POSTGRES.lexicon)
        .filter(|piece| piece.kind != Kind::Comment)
        .filter(|piece| !piece.text.trim().is_empty());
    std::iter::from_fn(move || {
        let mut words = [String::new(), String::new()];
        let mut place = words.iter_mut();
        let mut any = false;
        for piece in pieces.by_ref() {
            any = true;
            if piece.kind == Kind::Code && piece.text.contains(';') {
                break;
            }
            if let Some(word) = place.next() {
                *word = piece.text.to_ascii_lowercase();
            }
        }
        let [first, second] = words;
        any.then_some((first, second))
    })
}

/// Whether a statement of a script, by its command tag, ended the transaction that the script ran in. One that begins a transaction comes behind
/// such a one, or means nothing; `ROLLBACK` is also the tag of `rollback to savepoint`, which ends none.
pub(super) fn ends_transaction(script: &str, command: &str) -> bool {
    match command {
        "COMMIT" | "BEGIN" | "START TRANSACTION" | "PREPARE TRANSACTION" => true,
        "ROLLBACK" => words(script).any(|word| word.eq_ignore_ascii_case("chain")),
        _ => false,
    }
}

/// Stands for a name with escapes, `U&"\0061"`, which may be any.
const ESCAPED: &str = "U&";

/// The words and the names in quotes, as the server reads them: letters outside quotes are small.
fn names(sql: &str) -> impl Iterator<Item = Cow<'_, str>> {
    let mut is_escaped = false;
    let mut before = "";
    scan::pieces(sql, POSTGRES.lexicon).filter_map(move |piece| {
        let text = piece.text;
        let name = match piece.kind {
            Kind::Code if is_word(text) => Some(Cow::Owned(text.to_ascii_lowercase())),
            Kind::Quoted if is_escaped && text.starts_with('"') => Some(Cow::Borrowed(ESCAPED)),
            Kind::Quoted => quoted(text),
            _ => None,
        };
        is_escaped = text == "&" && before.eq_ignore_ascii_case("u");
        before = text;
        name
    })
}

/// The name between quotes; none of a literal.
fn quoted(text: &str) -> Option<Cow<'_, str>> {
    let name = text.strip_prefix('"')?;
    let name = name.strip_suffix('"').unwrap_or(name);
    Some(match name.contains('"') {
        true => Cow::Owned(name.replace("\"\"", "\"")),
        false => Cow::Borrowed(name),
    })
}

/// Whether a statement's command tag shows that the session has changed.
pub(super) fn changes_session(command: &str) -> bool {
    matches!(
        command,
        "BEGIN"
            | "START TRANSACTION"
            | "SAVEPOINT"
            | "SET"
            | "RESET"
            | "LISTEN"
            | "UNLISTEN"
            | "PREPARE"
            | "DEALLOCATE"
            | "DEALLOCATE ALL"
            | "DISCARD ALL"
            | "DISCARD PLANS"
            | "DISCARD TEMP"
            | "DISCARD SEQUENCES"
            | "DECLARE CURSOR"
            | "LOAD"
    )
}

/// The words outside quotes and comments.
fn words(sql: &str) -> impl Iterator<Item = &str> {
    scan::words(sql, POSTGRES.lexicon).map(|(word, _)| word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(sql: &str, expected: &str) {
        assert_eq!(&*numbered(&sql.into()), expected);
    }

    #[test]
    fn question_marks_become_numbers() {
        check("select ?, ? + ?", "select $1, $2 + $3");
        check("select $1", "select $1");
        check("where a=?", "where a=$1");
        check("(?,?)", "($1,$2)");
        check("limit? offset?", "limit $1 offset $2");
    }

    #[test]
    fn two_question_marks_are_one() {
        check("a ?? 'b' and c = ?", "a ? 'b' and c = $1");
        check("a ??| b", "a ?| b");
        check("????", "??");
        check("???", "?$1");
    }

    #[test]
    fn literals_names_and_comments_are_left_alone() {
        check("'?' || ? || 'it''s ?'", "'?' || $1 || 'it''s ?'");
        check(r"e'\'?' || ?", r"e'\'?' || $1");
        check(r"'\' || ?", r"'\' || $1");
        check(r"name'\' || ?", r"name'\' || $1");
        check("\"a?\"\"?\" = ?", "\"a?\"\"?\" = $1");
        check("? -- what?\n, ?", "$1 -- what?\n, $2");
        check("/* ? /* ? */ ? */ ?", "/* ? /* ? */ ? */ $1");
        check("$$ ? $$ || ?", "$$ ? $$ || $1");
        check("$a$ ? $$ ? $a$ || ?", "$a$ ? $$ ? $a$ || $1");
        check("a$1$ || ?", "a$1$ || $1");
        check("'open ?", "'open ?");
        check("/* open ?", "/* open ?");
        check("名 = ?", "名 = $1");
    }

    #[test]
    fn a_position_in_what_was_sent_is_one_in_the_text() {
        for sql in [
            "select ^nothing",
            "select ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ^nothing",
            "select '?', a ?? b, 名, ? ^nothing -- ?",
            "select ^?",
            "select ^??",
            "select ?, ^",
            "select 1 limit? offset ^x",
        ] {
            let (before, after) = sql.split_once('^').unwrap();
            let sent = numbered(&before.into()).chars().count();
            let position = u32::try_from(sent).unwrap() + 1;
            let offset = source_offset(&format!("{before}{after}").into(), position);
            assert_eq!(offset, Some(before.len()), "{sql}");
        }
        assert_eq!(source_offset(&"select ?".into(), 100), None);
        assert_eq!(source_offset(&"select ?".into(), 0), None);
    }

    #[track_caller]
    fn check_effect(sql: &str, expected: StatementEffect) {
        assert_eq!(effect(sql), expected, "{sql}");
    }

    #[test]
    fn statements_that_change_a_session_are_recognised() {
        for sql in [
            "BEGIN",
            "  -- note\n start transaction",
            "/* a */ commit",
            "savepoint a",
            "prepare transaction 'x'",
        ] {
            check_effect(sql, StatementEffect::Transaction);
        }
        for sql in [
            "SET search_path = x",
            "listen a",
            "create temp table t(n int)",
            "CREATE TEMPORARY VIEW v as select 1",
            "prepare p as select 1",
            "select pg_advisory_lock(1)",
            "select pg_try_advisory_lock_shared(1)",
            "SELECT PG_ADVISORY_LOCK(1)",
            "create or replace temp view v as select 1",
            "select 1 as n into temp t",
            "select set_config('search_path', 'x', false)",
            "discard all",
            "create table pg_temp.t(n int)",
            "create function pg_temp.f() returns int language sql as 'select 1'",
            "select 1 as n into pg_temp.t",
            "create table t as select set_config('search_path', 'x', false)",
            "explain analyze select pg_advisory_lock(1)",
            "update pg_settings set setting = 'x' where name = 'search_path'",
            "select \"set_config\"('search_path', 'x', false)",
            "select pg_catalog.\"pg_advisory_lock\"/* ' */(5)",
            "with a as (select \"pg_try_advisory_lock\"(5)) select * from a",
            "select U&\"s\\0065t_config\"('search_path', 'x', false)",
            "select 1 as n into \"pg_temp\".t",
            "create table \"pg_temp\".t(n int)",
            "update \"pg_settings\" set setting = 'x' where name = 'search_path'",
        ] {
            check_effect(sql, StatementEffect::Session);
        }
        for sql in [
            "select 1",
            "create table t(n int)",
            "select pg_advisory_xact_lock(1)",
            "select 'pg_advisory_lock'",
            "select * from advisory_locks",
            "select \"SET_CONFIG\", \"set_config of it\", 'set_config', u & \"flags\" from settings",
            "create or replace view v as select 1",
            "insert into temp_readings values (1)",
            "update settings set a = 1",
            "create function f() returns text language sql as $$ select set_config('a', 'b', false) $$",
            "grant execute on function pg_advisory_lock(bigint) to somebody",
            "insert into local values (1)",
            "explain analyze create table t as select 1",
            "copy t to stdout",
            "",
        ] {
            check_effect(sql, StatementEffect::None);
        }
        check_effect("COPY t FROM STDIN", StatementEffect::CopyIn);
        check_effect("lock table t", StatementEffect::Lock);
        check_effect("do $$ begin end $$", StatementEffect::Procedure);
        check_effect("CALL p()", StatementEffect::Procedure);
        check_effect("savepoint block", StatementEffect::Transaction);
    }

    #[test]
    fn temporary_tables_are_seen_wherever_a_query_makes_them() {
        for sql in [
            "explain analyze create temp table t as select 1",
            "explain (analyze) create local temporary table t as select 1",
            "select 1 as n into local temp x",
            "select 1 as n into temporary x",
        ] {
            check_effect(sql, StatementEffect::Session);
        }
    }

    #[test]
    fn copy_is_one_statement_between_the_client_and_a_table() {
        for (sql, end) in [
            ("copy t from stdin", CopyEnd::Stdin),
            (
                "/* a */ COPY t (a, b) FROM STDIN with (format csv, delimiter ';');\n-- b;\n",
                CopyEnd::Stdin,
            ),
            (
                "copy (select ';' from \"a;b\") to stdout ; ;",
                CopyEnd::Stdout,
            ),
        ] {
            assert!(is_copy(sql, end), "{sql}");
        }
        for sql in [
            "commit; copy t from stdin",
            "copy t from stdin; commit",
            "copy t from stdin;/**/commit",
            "copy t from stdin;'x'",
            "insert into t values (1)",
            "copy t to stdout",
            "copy t from '/tmp/stdin'",
            "",
        ] {
            assert!(!is_copy(sql, CopyEnd::Stdin), "{sql}");
        }
    }

    #[test]
    fn commands_of_transactions_are_seen_at_the_beginning_of_statements() {
        for script in [
            "commit",
            "insert into t values (';'); -- ;\n Commit and chain",
            "select 1;; begin; select 2",
            "select f();/* a */start transaction",
            "savepoint s",
            "prepare transaction 'a'",
        ] {
            assert!(has_transaction_command(script), "{script}");
        }
        for script in [
            "",
            "insert into t values ('; commit; ')",
            "do $$ begin commit; end $$; select \"commit\"",
            "prepare p as select 1; comment on table t is 'begin'",
            "create function f() returns int begin atomic select 1; select 2; end; select 3",
        ] {
            assert!(!has_transaction_command(script), "{script}");
        }
    }

    #[test]
    fn script_ends_its_transaction_by_what_the_server_says_of_it() {
        for (script, command, expected) in [
            ("commit; begin", "COMMIT", true),
            ("rollback; begin", "ROLLBACK", false),
            ("rollback; begin", "BEGIN", true),
            ("rollback and chain", "ROLLBACK", true),
            ("rollback to s", "ROLLBACK", false),
            ("insert into t values (1)", "INSERT 0 1", false),
        ] {
            assert_eq!(
                ends_transaction(script, command),
                expected,
                "{script}: {command}"
            );
        }
    }

    #[test]
    fn both_kinds_of_placeholders_are_noticed() {
        for (sql, expected) in [
            ("select ?, $1", true),
            ("select $1 where a = ?", true),
            ("select ?, ?", false),
            ("select $1, $2", false),
            ("select $1, a ?? 'b'", false),
            ("select '$1', ?", false),
            ("select $$ ? $$, $1", false),
            ("select a$1, ?", false),
        ] {
            assert_eq!(mixes(sql), expected, "{sql}");
        }
    }

    #[test]
    fn text_of_the_builder_is_sent_as_it_is() {
        let built = |sql: &str| SqlText::native(sql.to_owned());
        let plans = Plans::default();
        let written = plans.of(&"select a ? 'b'".into());
        let sql = "select a ? 'b', a ?? 'c', $1";
        let plan = plans.of(&built(sql));
        assert_eq!((&*plan.sql, plan.effect), (sql, StatementEffect::None));
        assert_eq!(&*plans.of(&built("select a ? 'b'")).sql, "select a ? 'b'");
        assert_eq!(&*written.sql, "select a $1 'b'");
        for (before, after) in [("select 名 ? 'b', ", "nothing"), ("select ", ""), ("", "x")] {
            let sql = built(&format!("{before}{after}"));
            let position = u32::try_from(before.chars().count()).unwrap() + 1;
            assert_eq!(
                source_offset(&sql, position),
                Some(before.len()),
                "{before}"
            );
        }
        assert_eq!(source_offset(&built("select"), 100), None);
    }

    #[test]
    fn plans_are_kept_up_to_their_limit() {
        let plans = Plans::default();
        let first = plans.of(&"select ?".into());
        assert!(Rc::ptr_eq(&first, &plans.of(&"select ?".into())));
        for number in 0..=PLANS_MAX {
            plans.of(&format!("select {number}").into());
            plans.of(&SqlText::native(format!("select {number}")));
        }
        assert!(plans.question.borrow().len() <= PLANS_MAX);
        assert!(plans.native.borrow().len() <= PLANS_MAX);
    }
}
