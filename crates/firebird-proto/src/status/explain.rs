//! The text of an error, from its clauses. Not the words: those are the rows of `code.rs`.
//! Rule: what only leads to another clause is left out, and no argument is lost but those of exceptions.

use std::fmt::Write;

use super::{Argument, Clause, GdsCode};

/// One line that says what happened.
pub(super) fn explain(clauses: &[Clause]) -> String {
    let telling = clauses.iter().any(|clause| !clause.code.is_wrapper());
    let mut text = String::new();
    let mut before = None;
    for clause in clauses {
        if telling && clause.code.is_wrapper() {
            continue;
        }
        // An argument of its own and a place belong to what was said before them.
        let separator = match clause.code {
            _ if text.is_empty() => "",
            // Its name comes next, and its text after that.
            _ if before == Some(GdsCode::EXCEPTION) => " ",
            GdsCode::RANDOM | GdsCode::EXCEPTION_TEXT | GdsCode::EXCEPTION_NAMED => ": ",
            GdsCode::AT_LINE | GdsCode::CONCURRENT_TRANSACTION => ", ",
            _ => "; ",
        };
        text.push_str(separator);
        append_clause(&mut text, clause);
        before = Some(clause.code);
    }
    text
}

fn append_clause(text: &mut String, clause: &Clause) {
    match clause.code.words() {
        // Its number says nothing, and the arguments of its text are in the text.
        Some(words) if clause.code == GdsCode::EXCEPTION => text.push_str(words),
        Some(words) if clause.code == GdsCode::EXCEPTION_TEXT => {
            fill(text, words, clause.arguments.get(..1).unwrap_or_default());
        }
        Some(words) => fill(text, words, &clause.arguments),
        None => {
            text.push_str("error ");
            // A String takes everything.
            let _ = write!(text, "{}", clause.code);
            list(text, &clause.arguments);
        }
    }
}

/// Writes `words` with its arguments in their places, and those without a place after it.
fn fill(text: &mut String, words: &str, arguments: &[Argument]) {
    let mut used = 0;
    let mut rest = words;
    while let Some((before, after)) = rest.split_once('{') {
        text.push_str(before);
        let Some((number, after)) = after.split_once('}') else {
            break;
        };
        let number: usize = number.parse().unwrap_or(0);
        used = used.max(number);
        match number.checked_sub(1).and_then(|at| arguments.get(at)) {
            Some(argument) => {
                let _ = write!(text, "{argument}");
            }
            None => text.push('?'),
        }
        rest = after;
    }
    text.push_str(rest);
    list(text, arguments.get(used..).unwrap_or_default());
}

fn list(text: &mut String, arguments: &[Argument]) {
    for (at, argument) in arguments.iter().enumerate() {
        text.push_str(if at == 0 { " (" } else { ", " });
        let _ = write!(text, "{argument}");
    }
    if !arguments.is_empty() {
        text.push(')');
    }
}
