//! What reaches the text of an SQL statement of the builder: names, which are quoted, and raw SQL, whose placeholders are written
//! anew. Not values, which are bound. Rule: as in the crate's head; what was put in stays inside its place.

use tsumugi_sql::scan::{Kind, Lexicon, SentPiece, pieces, translate};
use tsumugi_sql::{
    Dialect, FINGERPRINT_BYTES_MAX, FIREBIRD, Name, POSTGRES, Query, SQLITE, Value, col,
    fingerprint, raw, table,
};

const DIALECTS: [&Dialect; 3] = [&FIREBIRD, &POSTGRES, &SQLITE];

/// A name, as one part and with its dots: it is one quoted or plain name in the statement, and unquoted it is what it was.
pub fn sql_names(bytes: &[u8]) {
    let Ok(name) = std::str::from_utf8(bytes) else {
        return;
    };
    for dialect in DIALECTS {
        let sql = |query: &Query| query.to_rows(dialect).map(|statement| statement.sql);
        let bare = sql(&table("t")).unwrap_or_default();
        if let Ok(statement) = sql(&table("t").filter(col(Name::exact(name)).is_null())) {
            let rest = statement.strip_prefix(&format!("{bare} where "));
            let written = rest.and_then(|rest| rest.strip_suffix(" is null"));
            let written = written.unwrap_or_default();
            assert!(pieces(written, dialect.lexicon).all(|piece| piece.closed));
            // A word that Firebird keeps for itself is written as it folds it.
            let folded = dialect == &FIREBIRD && unquoted(written) == name.to_ascii_uppercase();
            assert!(unquoted(written) == name || folded, "{written}");
        }
        // Parsed for dots and aliases it is something else, but its quotes are closed.
        for query in [table(name), table("t").select(name), table("t").order(name)] {
            if let Ok(statement) = sql(&query) {
                assert!(pieces(&statement, dialect.lexicon).all(|piece| piece.closed));
            }
        }
    }
}

/// What a quoted or plain name stands for; nothing if it is neither.
fn unquoted(written: &str) -> String {
    let Some(quote @ ('`' | '"')) = written.chars().next() else {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_$".contains(c);
        return written.chars().filter(|c| plain(*c)).collect();
    };
    let inner = written
        .strip_prefix(quote)
        .and_then(|rest| rest.strip_suffix(quote));
    let doubled = format!("{quote}{quote}");
    match inner {
        Some(inner) if !inner.replace(&doubled, "").contains(quote) => {
            inner.replace(&doubled, &quote.to_string())
        }
        _ => String::new(),
    }
}

/// Raw SQL; the first byte chooses the dialect. The pieces are the text; what is made of it has as many placeholders as it had.
pub fn sql_raw(bytes: &[u8]) {
    let Some((&choice, bytes)) = bytes.split_first() else {
        return;
    };
    let Ok(sql) = std::str::from_utf8(bytes) else {
        return;
    };
    let Some(dialect) = DIALECTS.get(usize::from(choice) % DIALECTS.len()) else {
        return;
    };
    let joined: String = pieces(sql, dialect.lexicon)
        .map(|piece| piece.text)
        .collect();
    assert_eq!(joined, sql);
    let form = fingerprint(sql, dialect.lexicon).text;
    assert!(
        form.len() <= FINGERPRINT_BYTES_MAX && !form.contains('\''),
        "{form}"
    );
    let wanted = placeholders(sql, dialect.lexicon);
    let query = |count: usize| {
        let condition = raw(sql, vec![Value::Null; count]);
        table("t")
            .filter(condition)
            .filter(col("last").eq(1))
            .to_rows(dialect)
    };
    let Ok(statement) = query(wanted) else {
        return;
    };
    assert!(query(wanted + 1).is_err());
    assert_eq!(statement.binds.len(), wanted + 1);
    // What follows raw SQL is still code, and the last placeholder is that of the last condition.
    let mut code = String::new();
    for piece in pieces(&statement.sql, dialect.lexicon) {
        assert!(piece.closed);
        if piece.kind == Kind::Code {
            code.push_str(piece.text);
        }
    }
    assert!(code.contains(" = "));
    if dialect.name == POSTGRES.name {
        assert!(
            statement
                .sql
                .ends_with(&format!("\"last\" = ${}", wanted + 1))
        );
    } else {
        assert_eq!(placeholders(&statement.sql, dialect.lexicon), wanted + 1);
    }
}

fn placeholders(sql: &str, lexicon: Lexicon) -> usize {
    let mut found = 0;
    translate(sql, lexicon, |sent, _| {
        found += usize::from(matches!(sent, SentPiece::Placeholder(_)));
    });
    found
}
