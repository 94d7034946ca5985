//! Descriptions written as words, whole and in pieces; what a real server sent is replayed in `tests/`.

use super::*;
use crate::Violation;

/// `k1` the statement's kind, `select`, `bind`, `n2` how many, `#1` a column's number, `t497` its type, `l4` its length, `s-2` its scale,
/// `f`, `r`, `o`, `a` names, `.` the column's end, `cut`, `end`.
fn data(words: &str) -> Vec<u8> {
    let mut out = Vec::new();
    for word in words.split_whitespace() {
        match word {
            "select" => out.push(4),
            "bind" => out.push(5),
            "." => out.push(8),
            "cut" => out.push(2),
            "end" => out.push(1),
            _ => {
                let (letter, rest) = word.split_at(1);
                let tag = match letter {
                    "k" => 21,
                    "n" => 7,
                    "#" => 9,
                    "t" => 11,
                    "l" => 14,
                    "s" => 13,
                    "f" => 16,
                    "r" => 17,
                    "o" => 18,
                    "a" => 19,
                    other => panic!("{other}"),
                };
                let bytes = match tag {
                    16.. if tag != 21 => rest.as_bytes().to_vec(),
                    _ => rest.parse::<i32>().unwrap().to_le_bytes().to_vec(),
                };
                out.push(tag);
                out.extend(u16::try_from(bytes.len()).unwrap().to_le_bytes());
                out.extend(bytes);
            }
        }
    }
    out
}

fn describe(answers: &[&str]) -> Result<Progress, Violation> {
    let mut describe = Describe::new();
    let mut last = Ok(Progress::More(Vec::new()));
    for answer in answers {
        last = Ok(describe.read(&data(answer))?);
    }
    last
}

/// The statement's kind, its columns and its parameters.
fn check(answers: &[&str], expected: &str) {
    let Ok(Progress::Done(statement)) = describe(answers) else {
        panic!("{answers:?}");
    };
    let column = |column: &Column| {
        let Column {
            kind,
            nullable,
            scale,
            length,
            alias,
            ..
        } = column;
        let mark = if *nullable { "?" } else { "" };
        format!("{kind:?}{mark}({length},{scale}) {alias}")
    };
    let list = |columns: &[Column]| columns.iter().map(column).collect::<Vec<_>>().join(", ");
    let (columns, parameters) = (list(&statement.columns), list(&statement.parameters));
    assert_eq!(
        format!("{:?}: {columns} | {parameters}", statement.kind),
        expected
    );
}

const ONE: &str = "#1 t496 s0 l4 fID rT oU aID .";
const TWO: &str = "#2 t581 s-4 l8 fN rT oU aTOTAL .";

#[test]
fn statement_is_described_by_its_columns_and_parameters() {
    check(
        &[&format!(
            "k1 select n2 {ONE} {TWO} bind n1 #1 t449 l40 . end"
        )],
        "Select: Long(4,0) ID, Int64?(8,-4) TOTAL | Varying?(40,0) ",
    );
    check(&["k5 select n0 bind n0 end"], "Ddl:  | ");
    check(&["k8 select n0 bind n0 end"], "ExecuteProcedure:  | ");
}

#[test]
fn description_that_was_cut_is_requested_from_the_first_missing_item() {
    let cut = format!("k1 select n2 {ONE} #2 t581 s-4 cut");
    let Ok(Progress::More(items)) = describe(&[&cut]) else {
        panic!("more");
    };
    assert_eq!(items[..7], [4, 20, 2, 2, 0, 7, 9]);
    assert_eq!(items[16..23], [5, 20, 2, 1, 0, 7, 9]);
    let rest = format!("select n2 {TWO} bind n1 #1 t449 l40 . end");
    check(
        &[&cut, &rest],
        "Select: Long(4,0) ID, Int64?(8,-4) TOTAL | Varying?(40,0) ",
    );
}

#[test]
fn cut_between_the_sections_asks_for_parameters_only() {
    let cut = format!("k1 select n1 {ONE} cut");
    let Ok(Progress::More(items)) = describe(&[&cut]) else {
        panic!("more");
    };
    assert_eq!(items[..5], [5, 20, 2, 1, 0]);
    check(&[&cut, "bind n0 end"], "Select: Long(4,0) ID | ");
}

#[test]
fn answer_that_brings_nothing_new_ends_it() {
    let cut = format!("k1 select n2 {ONE} cut");
    assert!(describe(&[&cut, "select n2 cut"]).is_err());
    assert!(describe(&["cut"]).is_err());
}

#[test]
fn description_without_end_is_refused() {
    let mut describe = Describe::new();
    let long = "x".repeat(60_000);
    let mut refused = None;
    for number in 1..1000 {
        let columns = format!("k1 select n1000 #{number} t496 l4 f{long} r{long} . cut");
        refused = describe.read(&data(&columns)).err();
        if refused.is_some() {
            break;
        }
    }
    assert!(matches!(refused, Some(Violation::TooMany { .. })));
}

#[test]
fn columns_that_do_not_add_up_are_refused() {
    for words in [
        "k1 select n1 #2 t496 l4 . bind n0 end",
        "k1 select n1 #1 t496 l4 . #2 t496 l4 . bind n0 end",
        "k1 select n-1",
        "k1 select n40000",
        "k1 select n1 #1 t600",
        "k1 select n1 #1 t496 l70000",
        "k77 select n0 bind n0 end",
    ] {
        assert!(describe(&[words]).is_err(), "{words}");
    }
    let changed = "select n3 #2 t496 l4 . bind n0 end";
    assert!(describe(&[&format!("k1 select n2 {ONE} cut"), changed]).is_err());
}

#[test]
fn description_cut_anywhere_is_refused_or_asks_on() {
    let whole = data(&format!(
        "k1 select n2 {ONE} {TWO} bind n1 #1 t449 l40 . end"
    ));
    for at in 0..whole.len() - 1 {
        let found = Describe::new().read(&whole[..at]);
        assert!(!matches!(found, Ok(Progress::Done(_))), "at {at}");
    }
}

#[test]
fn text_column_is_described_with_its_character_set() {
    let mut column = Column::of(449).unwrap();
    column.sub_type = 4 | 2 << 8;
    assert_eq!(column.character_set(), Some(4));
    let mut column = Column::of(521).unwrap();
    (column.sub_type, column.scale) = (1, 52);
    assert_eq!(column.character_set(), Some(52));
    column.sub_type = 0;
    assert_eq!(column.character_set(), None);
    assert_eq!(Column::of(496).unwrap().character_set(), None);
}
