//! What the text of a statement shows before it is sent: whether it only reads, and what it may do to the transaction that it runs in. Not a
//! parser. Rule: where the words do not show it, a statement may write.

/// What a statement may do to a transaction, as far as its first words show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextKind {
    /// It reads and does nothing else.
    Reads,
    /// It changes nothing that is committed. The server takes no snapshot for it, and a query behind it would take one too early for what follows:
    /// `SET TRANSACTION` and `LOCK` come before the first.
    Silent,
    /// Like that, and statements that are prepared in the session may be gone.
    Deallocates,
    /// No snapshot is taken for it either, and there may be something to commit afterwards.
    Deferred,
    /// It may write.
    Writes,
}

impl TextKind {
    pub(crate) fn of(sql: &str) -> TextKind {
        let word = first_word(sql);
        let is_one_of = |words: &[&str]| words.iter().any(|one| word.eq_ignore_ascii_case(one));
        if is_one_of(SILENT) {
            TextKind::Silent
        } else if is_one_of(DEALLOCATES) {
            TextKind::Deallocates
        } else if is_one_of(&["notify", "fetch", "move"]) {
            TextKind::Deferred
        } else if reads(sql) {
            TextKind::Reads
        } else {
            TextKind::Writes
        }
    }
}

/// Whether a statement may write, as far as its text shows it: a SELECT does not that calls nothing but known functions of the server's own.
pub fn may_write(sql: &str) -> bool {
    TextKind::of(sql) == TextKind::Writes
}

/// First words of statements behind which what is prepared in the session may be gone.
const DEALLOCATES: &[&str] = &["deallocate", "discard"];

/// Whether what is prepared in the session may be gone behind this statement.
pub(crate) fn deallocates(sql: &str) -> bool {
    let word = first_word(sql);
    DEALLOCATES.iter().any(|one| word.eq_ignore_ascii_case(one))
}

fn first_word(sql: &str) -> &str {
    let text = behind_comments(sql);
    let word = text.split(|character| !is_of_word(character)).next();
    word.unwrap_or_default()
}

/// First words of statements for which the server takes no snapshot and which write nothing.
const SILENT: &[&str] = &[
    "abort",
    "begin",
    "checkpoint",
    "commit",
    "end",
    "listen",
    "lock",
    "release",
    "reset",
    "rollback",
    "savepoint",
    "set",
    "show",
    "start",
    "unlisten",
];

/// What may stand before a parenthesis in a text that only reads: words of the grammar, and functions of the server's own. Sorted.
const HARMLESS: &[&str] = &[
    "all",
    "and",
    "any",
    "array_agg",
    "as",
    "avg",
    "between",
    "by",
    "cast",
    "coalesce",
    "count",
    "date_trunc",
    "distinct",
    "exists",
    "extract",
    "filter",
    "from",
    "greatest",
    "in",
    "join",
    "json_agg",
    "jsonb_agg",
    "lateral",
    "least",
    "length",
    "like",
    "limit",
    "lower",
    "max",
    "min",
    "not",
    "now",
    "nullif",
    "numeric",
    "offset",
    "on",
    "or",
    "over",
    "round",
    "row",
    "row_number",
    "select",
    "some",
    "sum",
    "union",
    "unnest",
    "upper",
    "using",
    "values",
    "varchar",
    "when",
    "where",
];

/// Whether a text is a SELECT that makes no table and calls nothing that may write. Where a comment begins it is not known.
pub(crate) fn reads(sql: &str) -> bool {
    let mut words = sql
        .split(|character: char| !is_of_word(character))
        .filter(|word| !word.is_empty());
    let is_select = words
        .next()
        .is_some_and(|word| word.eq_ignore_ascii_case("select"));
    is_select
        && !words.any(|word| word.eq_ignore_ascii_case("into"))
        && !sql.contains("--")
        && !sql.contains("/*")
        && sql
            .match_indices('(')
            .all(|(at, _)| is_harmless(sql.get(..at)))
}

/// Whether what stands before a parenthesis makes no call of it, or a harmless one. A name in quotes may be any.
fn is_harmless(before: Option<&str>) -> bool {
    let before = before.unwrap_or_default().trim_end();
    if before.ends_with('"') {
        return false;
    }
    let mut words = before.rsplit(|character| !is_of_word(character));
    let word = words.next().unwrap_or_default();
    let qualifier = before.strip_suffix(word).unwrap_or_default().trim_end();
    // What has these names in a schema of its own may do anything.
    let is_own = !qualifier.ends_with('.');
    word.is_empty() || is_own && HARMLESS.binary_search(&&*word.to_ascii_lowercase()).is_ok()
}

fn is_of_word(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '$')
}

/// A text without the comments at its beginning, which nest (PostgreSQL documentation, 4.1.5).
pub(crate) fn behind_comments(sql: &str) -> &str {
    let mut rest = sql;
    let mut depth = 0_usize;
    loop {
        rest = match (depth, rest.as_bytes()) {
            (_, [b'/', b'*', ..]) => {
                depth += 1;
                rest.get(2..).unwrap_or_default()
            }
            (1.., [b'*', b'/', ..]) => {
                depth -= 1;
                rest.get(2..).unwrap_or_default()
            }
            (1.., [_, ..]) => {
                let mut letters = rest.chars();
                letters.next();
                letters.as_str()
            }
            (0, [b'-', b'-', ..]) => rest.split_once('\n').map_or("", |(_, rest)| rest),
            (0, [b';', ..]) => rest.get(1..).unwrap_or_default(),
            (0, [first, ..]) if first.is_ascii_whitespace() => rest.trim_start(),
            (_, _) => return rest,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn select_reads_unless_it_may_call_what_writes() {
        let check = |sql: &str, expected: bool| assert_eq!(reads(sql), expected, "{sql}");
        check("select count(*) from t where lower(a) in ('x')", true);
        check(
            "select a.b from a join lateral (select 1) c on (true)",
            true,
        );
        check("select next_number()", false);
        check("select \"count\"(*) from t", false);
        check("select audit.count(1)", false);
        check("select audit . lower ( 'x' )", false);
        check("select 1 into t", false);
        check("select lower -- of\n('x')", false);
        check(
            "with a as (delete from t returning 1) select * from a",
            false,
        );
    }

    #[test]
    fn statement_without_a_snapshot_is_known_by_its_first_word() {
        let check =
            |sql: &str, expected: TextKind| assert_eq!(TextKind::of(sql), expected, "{sql}");
        check("select a from t where b = $1 for update", TextKind::Reads);
        check(
            "Set transaction isolation level serializable",
            TextKind::Silent,
        );
        check("-- first\n lock table t", TextKind::Silent);
        check("/* a */ ROLLBACK to savepoint s", TextKind::Silent);
        check("settle", TextKind::Writes);
        check("deallocate all", TextKind::Deallocates);
        check("notify jobs", TextKind::Deferred);
        check("fetch 1 from c", TextKind::Deferred);
        check("insert into t values ($1)", TextKind::Writes);
        check("select next_number()", TextKind::Writes);
        check("", TextKind::Writes);
    }
}
