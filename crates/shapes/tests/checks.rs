//! Checks of values against shapes, over trees and over forms: what fits, what fails, where, and with which words.

use std::borrow::Cow;
use std::convert::Infallible;

use tsumugi_shapes::limits::{
    SHAPE_CHOICES_SHOWN_MAX, SHAPE_FAILURES_MAX, SHAPE_HARD_PATTERN_BYTES_MAX,
    SHAPE_HARD_PATTERN_TEXTS_MAX, SHAPE_ITEMS_MAX, SHAPE_PATTERN_STEPS_MAX,
    SHAPE_PATTERN_TRIALS_MAX, SHAPE_TRIAL_BYTES,
};
use tsumugi_shapes::{
    FormFields, FormNode, FormValues, Format, InputKind, InputShape, Literal, MessageCatalog,
    Outcome, TextPattern, Values, any, boolean, check, file, integer, list, number, object, text,
};

/// A value of a test.
#[derive(Clone, Debug, PartialEq)]
enum Tree {
    Null,
    Truth(bool),
    Integer(i64),
    Number(f64),
    Text(String),
    File,
    List(Vec<Tree>),
    Object(Vec<(String, Tree)>),
}

struct Trees;

impl Values for Trees {
    type Input = Tree;
    type Output = Tree;
    type Error = Infallible;

    fn kind(&self, input: &Tree) -> Result<InputKind, Infallible> {
        Ok(match input {
            Tree::Null => InputKind::Null,
            Tree::Truth(truth) => InputKind::Boolean(*truth),
            Tree::Integer(integer) => InputKind::Integer(*integer),
            Tree::Number(number) => InputKind::Number(*number),
            Tree::Text(text) => InputKind::Text {
                is_empty: text.is_empty(),
            },
            Tree::File => InputKind::File,
            Tree::List(_) => InputKind::List,
            Tree::Object(_) => InputKind::Object,
        })
    }

    fn text<'a>(&'a self, input: &'a Tree) -> Result<Cow<'a, str>, Infallible> {
        Ok(match input {
            Tree::Text(text) => text.into(),
            other => panic!("{other:?} is no text"),
        })
    }

    fn field(&self, object: &Tree, name: &str) -> Result<Option<Tree>, Infallible> {
        let Tree::Object(fields) = object else {
            panic!("{object:?} is no object");
        };
        let found = fields.iter().find(|(known, _)| known == name);
        Ok(found.map(|(_, value)| value.clone()))
    }

    fn items(&self, input: &Tree, max: usize) -> Result<Option<Vec<(u64, Tree)>>, Infallible> {
        Ok(match input {
            Tree::List(items) => {
                let items = items.iter().take(max.saturating_add(1)).cloned();
                Some((0..).zip(items).collect())
            }
            _ => None,
        })
    }

    fn keep(&self, input: &Tree) -> Result<Tree, Infallible> {
        Ok(input.clone())
    }

    fn literal(&self, literal: &Literal) -> Result<Tree, Infallible> {
        Ok(match literal {
            Literal::Boolean(truth) => Tree::Truth(*truth),
            Literal::Integer(integer) => Tree::Integer(*integer),
            Literal::Number(number) => Tree::Number(*number),
            Literal::Text(text) => Tree::Text(text.to_string()),
            Literal::EmptyList => Tree::List(Vec::new()),
        })
    }

    fn list(&self, items: Vec<Tree>) -> Result<Tree, Infallible> {
        Ok(Tree::List(items))
    }

    fn object(&self, fields: Vec<(&str, Tree)>) -> Result<Tree, Infallible> {
        let fields = fields
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value));
        Ok(Tree::Object(fields.collect()))
    }

    fn nothing(&self) -> Tree {
        Tree::Null
    }
}

fn t(text: &str) -> Tree {
    Tree::Text(text.to_owned())
}

fn o<const N: usize>(fields: [(&str, Tree); N]) -> Tree {
    Tree::Object(fields.map(|(name, value)| (name.to_owned(), value)).into())
}

/// The messages in English, each as `path: words`.
fn messages(outcome: &Outcome<Tree>) -> Vec<String> {
    let messages = MessageCatalog::default().messages("en", &outcome.failures, "body");
    let lines = messages.iter().flat_map(|(path, texts)| {
        let line = move |text: &String| format!("{path}: {text}");
        texts.iter().map(line)
    });
    lines.collect()
}

fn run(shape: &InputShape, input: &Tree) -> Outcome<Tree> {
    shape.examine().unwrap();
    let Ok(outcome) = check(shape, &Trees, input);
    outcome
}

fn fits(shape: &InputShape, input: Tree, expected: Tree) {
    let outcome = run(shape, &input);
    assert_eq!(messages(&outcome), Vec::<String>::new());
    assert_eq!(outcome.value, expected);
}

fn fails(shape: &InputShape, input: Tree, expected: &[&str]) {
    assert_eq!(messages(&run(shape, &input)), expected);
}

fn order() -> InputShape {
    let item = InputShape::new()
        .field("name", text().length(1..=20))
        .field("price", integer().min(1));
    InputShape::new()
        .field("customer", text().length(2..=100))
        .field("email", text().format(Format::Email).optional())
        .field("kind", text().one_of(["new", "used"]).default("new"))
        .field("gift", boolean().default(false))
        .field("items", list(object(item)).length(1..=3))
        .field("tags", list(text().length(..=5)).default_empty())
}

#[test]
fn object_that_fits_has_its_defaults_and_no_other_fields() {
    let item = || o([("name", t("pen")), ("price", Tree::Integer(3))]);
    fits(
        &order(),
        o([
            ("customer", t("日本")),
            ("email", Tree::Null),
            ("other", t("dropped")),
            ("items", Tree::List(vec![item()])),
        ]),
        o([
            ("customer", t("日本")),
            ("kind", t("new")),
            ("gift", Tree::Truth(false)),
            ("items", Tree::List(vec![item()])),
            ("tags", Tree::List(Vec::new())),
        ]),
    );
}

#[test]
fn all_failures_are_collected_with_their_paths() {
    let items = vec![
        o([("name", t("pen")), ("price", Tree::Integer(0))]),
        o([("name", t("a pen that is far too long"))]),
        Tree::Integer(7),
    ];
    fails(
        &order(),
        o([
            ("customer", t("x")),
            ("email", t("nowhere")),
            ("kind", t("old")),
            ("gift", t("perhaps")),
            ("items", Tree::List(items)),
            (
                "tags",
                Tree::List(vec![t("short"), t("longer"), Tree::Integer(1)]),
            ),
        ]),
        &[
            "customer: must have at least 2 characters",
            "email: must be an email address",
            "kind: must be one of new, used",
            "gift: must be true or false",
            "items[0].price: must be at least 1",
            "items[1].name: must have at most 20 characters",
            "items[1].price: is missing",
            "items[2]: must be an object",
            "tags[1]: must have at most 5 characters",
            "tags[2]: must be a string",
        ],
    );
    fails(
        &order(),
        Tree::List(Vec::new()),
        &["body: must be an object"],
    );
}

#[test]
fn partial_value_keeps_what_fits_in_its_place() {
    let shape = InputShape::new().field("n", list(integer()));
    let outcome = run(
        &shape,
        &o([("n", Tree::List(vec![t("1"), t("x"), t("3")]))]),
    );
    let n = Tree::List(vec![Tree::Integer(1), Tree::Null, Tree::Integer(3)]);
    assert_eq!(outcome.value, o([("n", n)]));
}

#[test]
fn numbers_are_converted_and_bound() {
    let shape = |rule| InputShape::new().field("n", rule);
    let of = |value| o([("n", value)]);
    fits(&shape(integer()), of(t("-7")), of(Tree::Integer(-7)));
    fits(&shape(number()), of(t("1e3")), of(Tree::Number(1000.0)));
    fits(
        &shape(number()),
        of(Tree::Integer(2)),
        of(Tree::Number(2.0)),
    );
    fails(
        &shape(integer()),
        of(Tree::Number(1.0)),
        &["n: must be an integer"],
    );
    fails(
        &shape(integer()),
        of(Tree::Truth(true)),
        &["n: must be an integer"],
    );
    fails(&shape(number()), of(t("1e999")), &["n: must be a number"]);
    let bound = || integer().min(i64::MAX - 1).max(i64::MAX);
    fits(
        &shape(bound()),
        of(Tree::Integer(i64::MAX - 1)),
        of(Tree::Integer(i64::MAX - 1)),
    );
    fails(
        &shape(bound()),
        of(Tree::Integer(i64::MAX - 2)),
        &["n: must be at least 9223372036854775806"],
    );
    fails(
        &shape(number().max(0.5)),
        of(Tree::Number(0.75)),
        &["n: must be at most 0.5"],
    );
    fails(
        &shape(number().min(0)),
        of(Tree::Number(f64::NAN)),
        &["n: must be at least 0"],
    );
    fits(
        &shape(integer().one_of([1, 2])),
        of(t("2")),
        of(Tree::Integer(2)),
    );
    fails(
        &shape(integer().one_of([1, 2])),
        of(t("3")),
        &["n: must be one of 1, 2"],
    );
}

#[test]
fn empty_text_is_no_value_unless_the_length_begins_at_zero() {
    let of = || o([("a", t(""))]);
    for required in [text(), integer(), number()] {
        let shape = InputShape::new().field("a", required);
        fails(&shape, of(), &["a: is empty"]);
        fails(&shape, o([]), &["a: is missing"]);
        fails(&shape, o([("a", Tree::Null)]), &["a: is missing"]);
    }
    fits(
        &InputShape::new().field("a", text().optional()),
        of(),
        o([]),
    );
    fits(
        &InputShape::new().field("a", text().length(0..=3)),
        of(),
        of(),
    );
    fails(
        &InputShape::new().field("a", boolean()),
        of(),
        &["a: must be true or false"],
    );
}

#[test]
fn pattern_and_any_and_length_are_those_of_the_author() {
    let code = TextPattern::regex("^[A-Z]{2}$").unwrap();
    let shape = InputShape::new()
        .field("code", text().matching(code))
        .field("pin", text().length(4..=4))
        .field("any", any().optional());
    fails(
        &shape,
        o([("code", t("xy")), ("pin", t("12345"))]),
        &["code: has a wrong format", "pin: must have 4 characters"],
    );
    let fitting = || {
        o([
            ("code", t("XY")),
            ("pin", t("日本日本")),
            ("any", o([("x", Tree::Null)])),
        ])
    };
    fits(&shape, fitting(), fitting());
}

#[test]
fn texts_that_are_hard_to_decide_share_their_trials() {
    use std::cell::Cell;
    use std::rc::Rc;

    let count = |hard: usize| {
        let trials = Rc::new(Cell::new(0));
        let counted = Rc::clone(&trials);
        let quick = |text: &str| (text != "hard").then_some(true);
        let whole = move |_: &str| {
            counted.set(counted.get() + 1);
            Some(true)
        };
        let pattern = TextPattern::expression(quick, whole);
        let item = text().matching(pattern);
        let shape = InputShape::new()
            .field("a", list(item.clone()))
            .field("b", list(item));
        let mut items = vec![t("hard"); hard];
        items.push(t("easy"));
        let input = o([("a", Tree::List(items)), ("b", Tree::List(vec![t("easy")]))]);
        (messages(&run(&shape, &input)).len(), trials.get())
    };
    let max = SHAPE_PATTERN_TRIALS_MAX;
    assert_eq!(count(max), (0, max));
    // One more does not fit, and what is easy still does.
    assert_eq!(count(max + 1), (1, max));
}

#[test]
fn text_is_hard_to_decide_beyond_the_steps_of_the_quick_engine() {
    // The first alternative has two ways for each letter, which are tried in vain before the second one fits.
    let pattern = TextPattern::regex("^(?:(?:a(?!x)|a(?!y))*c|a*b)$").expect("a pattern");
    let shape = InputShape::new().field("a", list(text().matching(pattern)));
    let failures = |letters: u32, count: usize| {
        let item = t(&format!("{}b", "a".repeat(letters as usize)));
        let input = o([("a", Tree::List(vec![item; count]))]);
        messages(&run(&shape, &input)).len()
    };
    let beyond = SHAPE_PATTERN_STEPS_MAX.ilog2() + 1;
    let within = SHAPE_PATTERN_STEPS_MAX.ilog2() - 3;
    // All fit, and those beyond the steps use up the trials of the request.
    assert_eq!(failures(beyond, SHAPE_PATTERN_TRIALS_MAX), 0);
    assert_eq!(failures(beyond, SHAPE_PATTERN_TRIALS_MAX + 1), 1);
    assert_eq!(failures(within, SHAPE_PATTERN_TRIALS_MAX + 1), 0);
}

/// The usual rule of a password, which begins anew at each place of a text and reads the rest of it there.
const PASSWORD: &str = r"(?=.*\d)(?=.*[A-Z])";

#[test]
fn text_beyond_the_limit_of_hard_patterns_is_refused_by_its_name() {
    let fails = |source: &str, length: usize| {
        let pattern = TextPattern::regex(source).expect("a pattern");
        let shape = InputShape::new().field("a", text().matching(pattern));
        let long = format!("{}A1", "a".repeat(length - 2));
        messages(&run(&shape, &o([("a", t(&long))]))).join("")
    };
    let max = SHAPE_HARD_PATTERN_BYTES_MAX;
    assert_eq!(fails("(?=.*A)(?=.*1)", max), "");
    for length in [max + 1, 200_000] {
        let refused = fails("(?=.*A)(?=.*1)", length);
        assert!(refused.contains("4096 bytes"), "{refused}");
        assert!(
            refused.contains("SHAPE_HARD_PATTERN_BYTES_MAX"),
            "{refused}"
        );
    }
    // What needs no steps back takes a time that grows with the text.
    assert_eq!(fails("A1$", 200_000), "");
}

#[test]
fn long_texts_of_one_request_share_what_hard_patterns_may_cost() {
    use std::cell::Cell;
    use std::rc::Rc;

    let cost = |length: usize, count: usize| {
        let squares = Rc::new(Cell::new(0));
        let counted = Rc::clone(&squares);
        let quick = move |text: &str| {
            counted.set(counted.get() + text.len() * text.len());
            Some(true)
        };
        let item = text().matching(TextPattern::expression(quick, |_| Some(true)));
        let shape = InputShape::new().field("a", list(item).length(..));
        let items = vec![t(&"a".repeat(length)); count];
        let failed = messages(&run(&shape, &o([("a", Tree::List(items))])));
        (failed, squares.get())
    };
    let (long, texts) = (SHAPE_HARD_PATTERN_BYTES_MAX, SHAPE_HARD_PATTERN_TEXTS_MAX);
    let most = long * long * texts;
    assert_eq!(cost(long, texts), (Vec::new(), most));
    let (failed, squares) = cost(long, texts + 1);
    assert_eq!((failed.len(), squares), (1, most));
    assert!(
        failed[0].contains("SHAPE_HARD_PATTERN_TEXTS_MAX"),
        "{failed:?}"
    );
    // Four times as many of half the length, and whatever a body has room for costs no more.
    assert_eq!(cost(long / 2, texts * 4), (Vec::new(), most));
    for (length, count) in [(long, 4_000), (long / 8, 32_000), (16, 200_000)] {
        assert!(cost(length, count).1 <= most, "{length} {count}");
    }
}

#[test]
fn texts_of_a_hard_pattern_are_checked_in_a_time_that_does_not_grow_with_the_body() {
    let pattern = TextPattern::regex(PASSWORD).expect("a pattern");
    let shape = InputShape::new().field("a", list(text().matching(pattern)).length(..));
    let took = |length: usize, count: usize| {
        let items = vec![t(&"a".repeat(length)); count];
        let input = o([("a", Tree::List(items))]);
        let begun = std::time::Instant::now();
        assert!(!messages(&run(&shape, &input)).is_empty());
        begun.elapsed()
    };
    // What takes hours where each text is looked at as a whole.
    let (one, sixteen_mib) = (took(SHAPE_HARD_PATTERN_BYTES_MAX, 1), took(16 << 20, 5));
    let many = took(SHAPE_HARD_PATTERN_BYTES_MAX, 4_000);
    let little = std::time::Duration::from_secs(30);
    for took in [sixteen_mib, many] {
        assert!(took < little || took < one * 200, "{one:?} {took:?}");
    }
}

#[test]
fn long_text_that_is_hard_to_decide_counts_as_several() {
    let count = |length: usize, hard: usize| {
        let pattern = TextPattern::expression(|_| None, |_| Some(true));
        let shape = InputShape::new().field("a", list(text().matching(pattern)));
        let items = vec![t(&"a".repeat(length)); hard];
        messages(&run(&shape, &o([("a", Tree::List(items))]))).len()
    };
    let (max, part) = (SHAPE_PATTERN_TRIALS_MAX, SHAPE_TRIAL_BYTES);
    assert_eq!(count(part - 1, max), 0);
    assert_eq!(count(part, max / 2), 0);
    assert_eq!(count(part, max / 2 + 1), 1);
    // The longest one alone is decided.
    assert_eq!(count(SHAPE_HARD_PATTERN_BYTES_MAX, 1), 0);
}

#[test]
fn expression_on_which_the_engine_gives_up_does_not_fit() {
    // Each character more doubles the steps.
    let pattern = || TextPattern::regex("^(?=(a+a+)+$)b?").expect("a pattern");
    assert!(!pattern().fits(&format!("{}b", "a".repeat(40))));
    assert!(pattern().fits("aaaa"));
    let shape = InputShape::new().field("a", list(text().matching(pattern())));
    let items = vec![t(&format!("{}b", "a".repeat(40))); 20];
    let outcome = run(&shape, &o([("a", Tree::List(items))]));
    assert_eq!(messages(&outcome).len(), 20);
}

#[test]
fn message_names_as_many_choices_as_the_limit() {
    for (count, is_cut) in [
        (SHAPE_CHOICES_SHOWN_MAX, false),
        (SHAPE_CHOICES_SHOWN_MAX + 1, true),
    ] {
        let names: Vec<String> = (0..count).map(|number| format!("c{number}")).collect();
        let shape = InputShape::new().field("a", text().one_of(names));
        let words = messages(&run(&shape, &o([("a", t("x"))]))).join("");
        assert!(
            words.contains(&format!("c{}", SHAPE_CHOICES_SHOWN_MAX - 1)),
            "{words}"
        );
        assert!(
            !words.contains(&format!("c{SHAPE_CHOICES_SHOWN_MAX}")),
            "{words}"
        );
        assert_eq!(words.contains('…'), is_cut, "{words}");
    }
}

#[test]
fn list_beyond_its_length_is_not_walked() {
    let numbers = |count: usize| o([("n", Tree::List(vec![t("x"); count]))]);
    let shape = InputShape::new().field("n", list(text()));
    fits(&shape, numbers(SHAPE_ITEMS_MAX), numbers(SHAPE_ITEMS_MAX));
    fails(
        &shape,
        numbers(SHAPE_ITEMS_MAX + 1),
        &["n: must have at most 1000 items"],
    );
    let shape = InputShape::new().field("n", list(integer()).length(2..=2));
    fails(&shape, numbers(3), &["n: must have 2 items"]);
}

#[test]
fn failures_beyond_their_limit_end_the_walk() {
    let numbers = |count: usize| o([("n", Tree::List(vec![t("x"); count]))]);
    let shape = InputShape::new().field("n", list(integer()));
    let exact = run(&shape, &numbers(SHAPE_FAILURES_MAX));
    assert!(!exact.failures.is_cut());
    let more = messages(&run(&shape, &numbers(SHAPE_FAILURES_MAX + 1)));
    assert_eq!(more.len(), SHAPE_FAILURES_MAX + 1);
    assert_eq!(more.last().unwrap(), "body: and more that does not fit");
}

/// The same over a form.
fn submit(shape: &InputShape, pairs: &[(&str, Tree)]) -> Outcome<Tree> {
    shape.examine().unwrap();
    let pairs = pairs.iter().map(|(name, value)| (*name, value.clone()));
    let fields = FormFields::new(pairs);
    let values = FormValues::new(&fields, &Trees);
    let Ok(outcome) = check(shape, &values, &FormNode::root());
    outcome
}

#[test]
fn form_names_its_inputs_by_paths() {
    let address = InputShape::new().field("city", text());
    let shape = InputShape::new()
        .field("address", object(address))
        .field(
            "items",
            list(object(InputShape::new().field("price", integer().min(1)))),
        )
        .field("tags", list(text()))
        .field("ids", list(integer()))
        .field("photo", file());
    let outcome = submit(
        &shape,
        &[
            ("items[10].price", t("10")),
            ("items[2].price", t("2")),
            ("address.city", t("Kyoto")),
            ("tags", t("a")),
            ("tags", t("")),
            ("tags", t("b")),
            ("ids[]", t("1")),
            ("ids[]", t("2")),
            ("photo", Tree::File),
        ],
    );
    assert_eq!(messages(&outcome), Vec::<String>::new());
    let price = |n| o([("price", Tree::Integer(n))]);
    assert_eq!(
        outcome.value,
        o([
            ("address", o([("city", t("Kyoto"))])),
            ("items", Tree::List(vec![price(2), price(10)])),
            ("tags", Tree::List(vec![t("a"), t("b")])),
            ("ids", Tree::List(vec![Tree::Integer(1), Tree::Integer(2)])),
            ("photo", Tree::File),
        ])
    );
    let outcome = submit(
        &shape,
        &[
            ("items[7].price", t("0")),
            ("items[007].price", t("1")),
            ("items[99999999999999999999].price", t("1")),
            ("items[x].price", t("1")),
            ("tags.x", t("a")),
            ("photo", t("")),
        ],
    );
    assert_eq!(
        messages(&outcome),
        [
            "address: is missing",
            "items[7].price: must be at least 1",
            "ids: is missing",
            "photo: is missing",
        ]
    );
}
