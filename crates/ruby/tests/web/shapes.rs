//! Shapes of bodies and queries: what handlers get, what clients are told, in which language, and what a form shows again.

use tsumugi_shapes::limits::SHAPE_HARD_PATTERN_BYTES_MAX;

use crate::rig::{Answer, Rig};

const JSON: &str = "application/json";
const FORM: &str = "application/x-www-form-urlencoded";

const ORDER: &str = r#"
shape :item do
  text :name, length: 1..20
  integer(:price, min: 1) { |price| "is odd" if price.odd? }
end
shape :order do
  text :customer, length: 2..100
  text :email, format: :email, optional: true
  text :kind, in: %w[new used], default: "new"
  integer :from, optional: true
  integer :to, optional: true
  list :items, :item, length: 1..3
  list :tags, of: :text, each: { length: 1..5 }, default: []
  object(:address, optional: true) { text :code, format: /\A\d{3}\z/ }
  rule(:from, :to) { |order| :reversed if order[:from] && order[:to] && order[:from] > order[:to] }
end
messages :en, reversed: "must not be after to"
messages :ja, reversed: "to より後です", odd_thing: "奇数です"
post("/orders") { body.check :order }
"#;

fn check(rig: &Rig, body: &str, status: u16, expected: &str) {
    let answer = rig.post("/orders", JSON, body.as_bytes());
    assert_eq!(
        (answer.status, answer.text().as_str()),
        (status, expected),
        "{body}"
    );
}

#[test]
fn body_that_fits_its_shape_has_symbols_and_defaults() {
    let rig = Rig::serve(ORDER);
    check(
        &rig,
        r#"{"customer":"日本","other":1,"items":[{"name":"pen","price":"2"}],"address":{"code":"123"}}"#,
        200,
        r#"{"customer":"日本","kind":"new","items":[{"name":"pen","price":2}],"tags":[],"address":{"code":"123"}}"#,
    );
}

#[test]
fn body_that_does_not_fit_is_answered_with_every_failure_and_its_path() {
    let rig = Rig::serve(ORDER);
    check(
        &rig,
        r#"{"customer":"x","email":"no","kind":"old","from":2,"to":1,"items":[{"name":"pen","price":0},{"price":3},{"name":"a","price":2}],"tags":["longer"],"address":{"code":"12"}}"#,
        422,
        concat!(
            r#"{"errors":{"customer":["must have at least 2 characters"],"email":["must be an email address"],"kind":["must be one of new, used"],"#,
            r#""items[0].price":["must be at least 1"],"items[1].name":["is missing"],"tags[0]":["must have at most 5 characters"],"#,
            r#""address.code":["has a wrong format"],"items[1].price":["is odd"],"from":["must not be after to"]}}"#
        ),
    );
    check(
        &rig,
        "[]",
        422,
        r#"{"errors":{"body":["must be an object"]}}"#,
    );
    check(
        &rig,
        r#"{"items":[1,2,3,4]}"#,
        422,
        r#"{"errors":{"customer":["is missing"],"items":["must have at most 3 items"]}}"#,
    );
    let answer = rig.post("/orders", JSON, b"{");
    assert_eq!(answer.status, 400);
}

fn in_language(rig: &Rig, path: &str, language: &str) -> Answer {
    let accept = format!("accept-language: {language}");
    let media_type = format!("content-type: {JSON}");
    rig.send("POST", path, &[&accept, &media_type], b"{}")
}

#[test]
fn messages_are_in_the_language_of_the_client_or_of_the_application() {
    let app = "shape(:a) { text :name }
post('/') { body.check :a }
post('/own') { invalid name: [:taken, :odd_thing, 'literally'] }
messages :ja, odd_thing: '奇数です'
messages :de, missing: 'fehlt'";
    let rig = Rig::serve(app);
    for (language, expected) in [
        ("ja-JP,en;q=0.5", "入力してください"),
        ("de", "fehlt"),
        ("fr", "is missing"),
    ] {
        let expected = format!(r#"{{"errors":{{"name":["{expected}"]}}}}"#);
        assert_eq!(in_language(&rig, "/", language).text(), expected);
    }
    assert_eq!(
        in_language(&rig, "/own", "ja").text(),
        r#"{"errors":{"name":["すでに使われています","奇数です","literally"]}}"#
    );
    assert_eq!(
        in_language(&rig, "/own", "en").text(),
        r#"{"errors":{"name":["is taken","odd thing","literally"]}}"#
    );
    let rig = Rig::serve(&format!("{app}\nmessages only: :ja"));
    assert_eq!(
        in_language(&rig, "/", "en").text(),
        r#"{"errors":{"name":["入力してください"]}}"#
    );
}

#[test]
fn form_that_does_not_fit_is_shown_again_with_values_and_messages() {
    let app = r##"
shape(:order) do
  text :customer, length: 1..5
  list(:items) { integer :price, min: 1 }
end
helpers do
  def page(form)
    rows = form.indices("items").map { |i| "#{i}:#{form["items[#{i}].price"]}#{form.errors("items[#{i}].price")}" }
    html "<input name=customer value='#{h form[:customer].to_s}'>#{form.errors(:customer)} #{rows.join(' ')} #{form.valid?}"
  end
end
get("/") { page Tsumugi::Form.new(customer: "Ada", items: [{ price: 3 }]) }
post("/") do
  order = body.check(:order) { |form| page form }
  invalid(customer: :taken) { |form| page form } if order[:customer] == "root"
  order
end"##;
    let rig = Rig::serve(app);
    assert_eq!(
        rig.get("/").text(),
        "<input name=customer value='Ada'>[] 0:3[] true"
    );
    let sent = b"customer=%3Ctoo%20long%3E&items%5B0%5D.price=7&items%5B1%5D.price=x";
    let answer = rig.post("/", FORM, sent);
    assert_eq!(
        (answer.status, answer.text().as_str()),
        (
            422,
            r#"<input name=customer value='&lt;too long&gt;'>["must have at most 5 characters"] 0:7[] 1:x["must be an integer"] false"#
        )
    );
    let answer = rig.post("/", FORM, b"customer=Ada&items%5B0%5D.price=7");
    assert_eq!(answer.text(), r#"{"customer":"Ada","items":[{"price":7}]}"#);
    let answer = rig.post("/", FORM, b"customer=root&items%5B0%5D.price=7");
    assert_eq!(
        (answer.status, answer.text().as_str()),
        (
            422,
            r#"<input name=customer value='root'>["is taken"] 0:7[] false"#
        )
    );
    let answer = rig.post(
        "/",
        JSON,
        br#"{"customer":"longer than five","items":[{"price":0}]}"#,
    );
    assert!(
        answer.text().contains("0:0[\"must be at least 1\"]"),
        "{}",
        answer.text()
    );
}

#[test]
fn file_of_a_form_and_parameters_of_a_query_are_checked_alike() {
    let app =
        "shape(:photo) { file :photo; boolean :public, default: false; number :scale, in: 0.5..2 }
shape(:page) { integer :page, in: 1...1001, default: 1; list :tag, of: :text, optional: true }
post('/') { p = body.check(:photo); [p[:photo].size, p[:public], p[:scale]] }
get('/') { query.check :page }";
    let rig = Rig::serve(app);
    let body = "--b\r\ncontent-disposition: form-data; name=\"photo\"; filename=\"a\"\r\n\r\nabc\r\n--b\r\n\
                content-disposition: form-data; name=\"scale\"\r\n\r\n1.5\r\n--b--\r\n";
    let answer = rig.post("/", "multipart/form-data; boundary=b", body.as_bytes());
    assert_eq!(answer.text(), "[3,false,1.5]");
    let answer = rig.post("/", FORM, b"photo=x&scale=3");
    assert_eq!(
        answer.text(),
        r#"{"errors":{"photo":["must be a file"],"scale":["must be at most 2"]}}"#
    );
    assert_eq!(
        rig.get("/?tag=a&tag=b").text(),
        r#"{"page":1,"tag":["a","b"]}"#
    );
    assert_eq!(
        rig.get("/?page=1001").text(),
        r#"{"errors":{"page":["must be at most 1000"]}}"#
    );
}

#[test]
fn check_in_a_block_may_wait_and_uses_helpers() {
    let app = "shape(:user) do
  text(:name) { |name| sleep 0.001; :taken if known.include?(name) }
  rule { |user| 'is reserved' if user[:name] == 'root' }
end
helpers { def known = %w[ada] }
post('/') { body.check :user }";
    let rig = Rig::serve(app);
    let post = |name: &str| {
        rig.post("/", FORM, format!("name={name}").as_bytes())
            .text()
    };
    assert_eq!(post("ada"), r#"{"errors":{"name":["is taken"]}}"#);
    assert_eq!(post("root"), r#"{"errors":{"body":["is reserved"]}}"#);
    assert_eq!(post("eve"), r#"{"name":"eve"}"#);
}

#[test]
fn text_too_long_for_a_regexp_with_look_around_is_refused_by_the_limit() {
    let app = "shape(:account) do
  text :password, format: /(?=.*\\d)(?=.*[A-Z])/
  text :code, format: /A1\\z/, optional: true
end
post('/') { body.check(:account); 'ok' }";
    let rig = Rig::serve(app);
    let max = SHAPE_HARD_PATTERN_BYTES_MAX;
    for (length, status) in [(max, 200), (max + 1, 422), (200_000, 422)] {
        let text = format!("{}A1", "a".repeat(length - 2));
        let answer = rig.post("/", FORM, format!("password={text}").as_bytes());
        assert_eq!(answer.status, status, "{}", answer.text());
        let is_named = answer.text().contains("SHAPE_HARD_PATTERN_BYTES_MAX");
        assert_eq!(is_named, status == 422, "{}", answer.text());
        // What needs no steps back has no such limit.
        let body = format!("password=A1&code={text}");
        let answer = rig.post("/", FORM, body.as_bytes());
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
}

#[test]
fn shape_that_makes_no_sense_is_refused_when_the_application_loads() {
    for (shape, expected) in [
        ("text :a, min: 1", "a: min is not for"),
        ("text :a, size: 1", "there is no :size"),
        ("text :a, format: :zip", "format: is :email"),
        ("integer :a, in: 2..1", "no value is within"),
        ("integer :a, in: []", "SHAPE_CHOICES_MAX"),
        ("number :a, in: 0.5...2.5", "ends before"),
        ("text :a, length: -1", "length: is an Integer from 0"),
        ("object :a", "needs a block"),
        ("object :a, :nothing", "there is no shape :nothing"),
        ("list :a, of: :thing", "takes of:"),
        ("text 'a'", "is a Symbol"),
        ("text :a; text :a", "twice"),
    ] {
        let error = Rig::refused(&format!("shape(:s) do\n{shape}\nend"), |_| {});
        assert!(error.contains(expected), "{shape}: {error}");
    }
}
