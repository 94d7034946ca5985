//! Whether the text of a statement is one that reads, as far as its words show it, whatever the database. Not a parser, and not what keeps a server from
//! writing. Rule: what a replica would refuse by its first word is refused on all databases, before it is sent.

/// First words of statements that read.
const READING: &[&str] = &["select", "with", "values", "table", "show", "explain"];

/// Words of what writes within a WITH.
const WRITING: &[&str] = &["insert", "update", "delete", "merge"];

/// Whether a statement begins as one that reads does, and has nothing that writes among its named queries.
pub(crate) fn reads(sql: &str) -> bool {
    let mut words = Words(sql);
    let Some(first) = words.next() else {
        return false;
    };
    let is_one_of = |word: &str, words: &[&str]| {
        let mut words = words.iter();
        words.any(|one| word.eq_ignore_ascii_case(one))
    };
    is_one_of(first, READING)
        && (!first.eq_ignore_ascii_case("with") || !words.any(|word| is_one_of(word, WRITING)))
}

/// The words of a text that are neither in quotes nor in comments.
struct Words<'t>(&'t str);

impl<'t> Iterator for Words<'t> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        loop {
            let text = self.0;
            let first = text.chars().next()?;
            let behind = text.get(first.len_utf8()..).unwrap_or_default();
            let second = behind.chars().next();
            self.0 = match (first, second) {
                ('-', Some('-')) => text.split_once('\n').map_or("", |(_, rest)| rest),
                ('/', Some('*')) => text.split_once("*/").map_or("", |(_, rest)| rest),
                // Doubled, the next begins where this one ends.
                ('\'' | '"' | '`', _) => behind.split_once(first).map_or("", |(_, rest)| rest),
                (letter, _) if is_of_word(letter) => {
                    let end = text.find(|letter| !is_of_word(letter));
                    let (word, rest) = text.split_at(end.unwrap_or(text.len()));
                    self.0 = rest;
                    return Some(word);
                }
                _ => behind,
            };
        }
    }
}

fn is_of_word(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '_' | '$')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statement_reads_by_its_first_word_and_its_named_queries() {
        let check = |sql: &str, expected: bool| assert_eq!(reads(sql), expected, "{sql}");
        check("select 1", true);
        check("  -- of\n/* a */ (SELECT 1) union select 2", true);
        check(
            "With a as (select 'delete' \"update\") select * from a",
            true,
        );
        check("values (1), (2)", true);
        check(
            "with a as (delete from t returning 1) select * from a",
            false,
        );
        check("with a as (select 1) update t set b = 1", false);
        check("update t set a = 1", false);
        check("-- select\ninsert into t values (1)", false);
        check("pragma journal_mode", false);
        check("execute block as begin end", false);
        check("", false);
        check("'", false);
        check("select 'é''é' /*", true);
    }
}
