//! What is to be known of an SQL text before it is sent: what its first words do, and where the statements of a script end.
//! Refuses nothing: `backend.rs` does. Not a parser: what is code, quoted or a comment the scanner of `sql` says. Rule: the text is sent as it is.

use super::calls;
use tsumugi_sql::FIREBIRD;
use tsumugi_sql::scan::{self, Kind};

/// What a statement does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StatementEffect {
    /// It reads.
    Read,
    /// It changes rows that are there, and returns a row of NULLs if there is none.
    Change,
    /// It adds rows, or runs code that may: a procedure, a block, a function in a query.
    Write,
    /// It changes tables, or what else is in the schema.
    Schema,
    /// It begins, ends or marks a transaction.
    Transaction,
    /// It leaves something behind in the session.
    Session,
}

/// What the first words say, and whether it sets something of the session's.
pub(super) fn effect(sql: &str) -> StatementEffect {
    match first_words(sql) {
        StatementEffect::Transaction => StatementEffect::Transaction,
        _ if names_set_context(sql) && sets_context(sql) => StatementEffect::Session,
        StatementEffect::Read if calls::calls_stored_code(sql) => StatementEffect::Write,
        effect => effect,
    }
}

/// Whether the name is in a text at all: most are not looked at any further.
fn names_set_context(sql: &str) -> bool {
    const NAME: &str = "set_context";
    let mut names = sql.split('$').skip(1).map(|after| after.get(..NAME.len()));
    names.any(|name| name.is_some_and(|name| name.eq_ignore_ascii_case(NAME)))
}

/// Whether RDB$SET_CONTEXT is called for more than the transaction: for the session, or for what is said only when it runs, as all that is in a
/// text that a block executes.
fn sets_context(sql: &str) -> bool {
    let executes = words(sql)
        .next()
        .is_some_and(|(word, _)| word.eq_ignore_ascii_case("execute"));
    let is_literal =
        |piece: &scan::Piece<'_>| piece.kind == Kind::Quoted && !piece.text.starts_with('"');
    let mut literals = scan::pieces(sql, FIREBIRD.lexicon).filter(is_literal);
    if executes && literals.any(|piece| names_set_context(piece.text)) {
        return true;
    }
    let code = scan::pieces(sql, FIREBIRD.lexicon)
        .filter(|piece| piece.kind != Kind::Comment && !piece.text.trim().is_empty());
    let texts: Vec<_> = code.map(|piece| piece.text.trim()).collect();
    let calls =
        |text: &str| text.eq_ignore_ascii_case("rdb$set_context") || text == "\"RDB$SET_CONTEXT\"";
    let namespace = |at: usize| match (texts.get(at + 1), texts.get(at + 2)) {
        (Some(&"("), namespace) => namespace.copied(),
        _ => None,
    };
    let mut called = texts.iter().enumerate().filter(|(_, text)| calls(text));
    called.any(|(at, _)| namespace(at) != Some("'USER_TRANSACTION'"))
}

/// What the first words say.
fn first_words(sql: &str) -> StatementEffect {
    let mut words = words(sql).map(|(word, _)| word);
    let mut next = || {
        words
            .next()
            .map(str::to_ascii_lowercase)
            .unwrap_or_default()
    };
    match next().as_str() {
        "select" | "with" => StatementEffect::Read,
        "commit" | "rollback" | "savepoint" | "release" => StatementEffect::Transaction,
        // UPDATE OR INSERT always has a row.
        "update" if next() != "or" => StatementEffect::Change,
        "delete" | "merge" => StatementEffect::Change,
        "set" => match next().as_str() {
            "transaction" => StatementEffect::Transaction,
            "generator" => StatementEffect::Write,
            "statistics" => StatementEffect::Schema,
            _ => StatementEffect::Session,
        },
        "alter" if next() == "session" => StatementEffect::Session,
        "create" | "alter" | "drop" | "recreate" | "comment" | "grant" | "revoke" | "declare" => {
            StatementEffect::Schema
        }
        _ => StatementEffect::Write,
    }
}

/// The words outside quotes and comments, with where they end.
fn words(sql: &str) -> impl Iterator<Item = (&str, usize)> {
    scan::words(sql, FIREBIRD.lexicon)
}

/// The statements of a script, which end with `;`, or with what `set term` says. What is between `begin` and `end` of a
/// procedure, a trigger, a function, a package or a block belongs to it.
pub(super) fn statements(script: &str) -> Vec<&str> {
    let (mut statements, mut rest) = (Vec::new(), script);
    let mut term = ";";
    while !rest.is_empty() {
        let end = end_of_statement(rest, term);
        let (statement, after) = rest.split_at(end);
        rest = after.strip_prefix(term).unwrap_or(after);
        match new_term(statement) {
            Some(other) => term = other,
            None if has_code(statement) => statements.push(statement.trim()),
            None => {}
        }
    }
    statements
}

/// Whether there is anything but comments and blanks.
fn has_code(statement: &str) -> bool {
    scan::pieces(statement, FIREBIRD.lexicon)
        .any(|piece| piece.kind != Kind::Comment && !piece.text.trim().is_empty())
}

/// What statements end with from here on.
fn new_term(statement: &str) -> Option<&str> {
    let mut words = words(statement);
    let (set, term) = (words.next()?, words.next()?);
    let is = |word: &str, expected: &str| word.eq_ignore_ascii_case(expected);
    if !(is(set.0, "set") && is(term.0, "term")) {
        return None;
    }
    let term = statement.get(term.1..)?.trim();
    (!term.is_empty()).then_some(term)
}

/// Where the first statement ends.
fn end_of_statement(script: &str, term: &str) -> usize {
    let mut body = Body::default();
    let mut at = 0;
    for piece in scan::pieces(script, FIREBIRD.lexicon) {
        if piece.kind == Kind::Code {
            if term != ";" || !body.is_open() {
                // Other terminators are signs or words that no statement has.
                if let Some(found) = piece.text.find(term) {
                    return at + found;
                }
            }
            body.word(piece.text);
        }
        at += piece.text.len();
    }
    script.len()
}

/// How deep in the body of a procedure a text is.
#[derive(Default)]
struct Body {
    words: usize,
    verb: Verb,
    /// The statement is of a kind that has a body.
    expected: bool,
    /// It was said what the body is.
    defined: bool,
    begun: bool,
    depth: usize,
}

/// The first word.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Verb {
    #[default]
    Other,
    Create,
    Execute,
}

impl Body {
    fn word(&mut self, text: &str) {
        if !scan::is_word(text) {
            return;
        }
        let word = text.to_ascii_lowercase();
        match (self.words, self.verb, word.as_str()) {
            (0, _, "create" | "alter" | "recreate") => self.verb = Verb::Create,
            (0, _, "execute") => self.verb = Verb::Execute,
            (1, Verb::Execute, "block") => self.expected = true,
            // OR ALTER may stand between.
            (1..4, Verb::Create, "procedure" | "trigger" | "function" | "package") => {
                self.expected = true;
            }
            _ => {}
        }
        self.words += 1;
        match word.as_str() {
            "as" => self.defined = true,
            "begin" | "case" => {
                self.begun = true;
                self.depth += 1;
            }
            "end" => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
    }

    /// Whether a semicolon is one of the body's.
    fn is_open(&self) -> bool {
        self.expected && self.defined && (!self.begun || self.depth > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(script: &str, expected: &[&str]) {
        assert_eq!(statements(script), expected, "{script}");
    }

    #[test]
    fn statements_end_with_semicolons_outside_quotes_and_comments() {
        check("a; b", &["a", "b"]);
        check(
            "a ';' ; \";\"; -- ;\n c /* ; */;",
            &["a ';'", "\";\"", "-- ;\n c /* ; */"],
        );
        check(" ; -- nothing\n;; ", &[]);
        check("select q'{;}' from t;b", &["select q'{;}' from t", "b"]);
    }

    #[test]
    fn a_body_belongs_to_its_statement() {
        let procedure = "create or alter procedure p(a int) returns (b int) as declare c int; begin if (a = 1) then begin b = case a when 1 then 2 end; end suspend; end";
        check(&format!("{procedure}; select 1"), &[procedure, "select 1"]);
        let block = "execute block as begin a = 1; end";
        check(&format!("{block};{block}"), &[block, block]);
        check(
            "execute procedure p(1); alter trigger t inactive; x",
            &["execute procedure p(1)", "alter trigger t inactive", "x"],
        );
        check(
            "select case a when 1 then 2 end from t; create table t(a int); x",
            &[
                "select case a when 1 then 2 end from t",
                "create table t(a int)",
                "x",
            ],
        );
    }

    #[test]
    fn a_script_may_say_what_ends_its_statements() {
        check(
            "set term ^ ; create procedure p as begin a; end^ b^ set term ; ^ c; d",
            &["create procedure p as begin a; end", "b", "c", "d"],
        );
    }

    #[test]
    fn the_first_words_tell_what_a_statement_does() {
        for (sql, expected) in [
            ("select 1", StatementEffect::Read),
            ("-- a\n WITH x as (select 1) select", StatementEffect::Read),
            ("insert into t", StatementEffect::Write),
            ("execute procedure p", StatementEffect::Write),
            ("update or insert", StatementEffect::Write),
            ("Update t set", StatementEffect::Change),
            ("delete from", StatementEffect::Change),
            ("recreate table t", StatementEffect::Schema),
            ("commit", StatementEffect::Transaction),
            ("set  transaction", StatementEffect::Transaction),
            ("set role x", StatementEffect::Session),
            ("alter session reset", StatementEffect::Session),
            ("alter table t add n int", StatementEffect::Schema),
            (
                "select RDB$Set_Context('USER_SESSION', 'a', 1) from rdb$database",
                StatementEffect::Session,
            ),
            (
                "select \"RDB$SET_CONTEXT\" /* ' */ (?, 'a', 1) from rdb$database",
                StatementEffect::Session,
            ),
            (
                "execute block as declare n int; begin n = rdb$set_context( 'USER_SESSION', 'a', 1); end",
                StatementEffect::Session,
            ),
            (
                "select rdb$set_context ('USER_TRANSACTION', 'a', 1) from rdb$database",
                StatementEffect::Write,
            ),
            (
                "execute block as declare n int; begin execute statement 'select rdb$set_context(''USER_SESSION'', ''a'', 1) from rdb$database' into n; end",
                StatementEffect::Session,
            ),
            (
                "execute block as begin execute statement q'{select RDB$SET_CONTEXT('USER_SESSION', 'a', 1) from rdb$database}'; end",
                StatementEffect::Session,
            ),
            ("select f(1) from rdb$database", StatementEffect::Write),
            (
                "with x as (select \"F\"(1) as a from t) select a from x",
                StatementEffect::Write,
            ),
            (
                "execute block returns (a int) as begin for select 1 from t into a do suspend; end",
                StatementEffect::Write,
            ),
            (
                "select 'rdb$set_context(', rdb$get_context('USER_SESSION', 'a') from rdb$database",
                StatementEffect::Read,
            ),
            ("set generator g to 1", StatementEffect::Write),
            ("", StatementEffect::Write),
        ] {
            assert_eq!(effect(sql), expected, "{sql}");
        }
    }
}
