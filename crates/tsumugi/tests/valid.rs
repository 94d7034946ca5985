//! Bodies and queries with a shape: what handlers get, what clients are told, in which language, and what a form shows again.

use tsumugi::Invalid;
use tsumugi::prelude::*;
use tsumugi::shapes::limits::SHAPE_HARD_PATTERN_BYTES_MAX;
use tsumugi::shapes::{
    Failures, FieldFailure, Format, InputShape, MessageCatalog, TextPattern, boolean, integer,
    list, object, text,
};
use tsumugi::trial::Client;

#[derive(Serialize, Deserialize)]
struct Item {
    name: String,
    price: i64,
}

#[derive(Serialize, Deserialize)]
struct Order {
    customer: String,
    email: Option<String>,
    kind: String,
    from: Option<i64>,
    to: Option<i64>,
    items: Vec<Item>,
    tags: Vec<String>,
}

impl Validate for Order {
    fn shape() -> InputShape {
        let item = InputShape::new()
            .field("name", text().length(1..=20))
            .field("price", integer().min(1));
        InputShape::new()
            .field("customer", text().length(2..=100))
            .field("email", text().format(Format::Email).optional())
            .field("kind", text().one_of(["new", "used"]).default("new"))
            .field("from", integer().optional())
            .field("to", integer().optional())
            .field("items", list(object(item)).length(1..=3))
            .field("tags", list(text().length(1..=5)).default_empty())
    }

    fn validate(&self, failures: &mut Failures) {
        if self.from.zip(self.to).is_some_and(|(from, to)| from > to) {
            failures.add("from", FieldFailure::key("reversed"));
        }
    }
}

#[derive(Serialize, Deserialize)]
struct Page {
    page: u32,
    all: bool,
}

impl Validate for Page {
    fn shape() -> InputShape {
        InputShape::new()
            .field("page", integer().min(1).max(1000).default(1))
            .field("all", boolean().default(false))
    }
}

#[derive(Deserialize)]
struct BrokenShape {}

impl Validate for BrokenShape {
    fn shape() -> InputShape {
        InputShape::new().field("a", text().min(1))
    }
}

#[derive(Deserialize)]
struct Code {
    #[expect(dead_code, reason = "only its type is looked at")]
    code: u8,
}

impl Validate for Code {
    fn shape() -> InputShape {
        let digits = TextPattern::regex("^[0-9]+$").expect("a pattern");
        InputShape::new().field("code", text().matching(digits))
    }
}

#[derive(Deserialize)]
struct Account {
    #[expect(dead_code, reason = "it is only checked")]
    password: String,
}

impl Validate for Account {
    fn shape() -> InputShape {
        let strong = TextPattern::regex(r"(?=.*\d)(?=.*[A-Z])").expect("a pattern");
        InputShape::new().field("password", text().matching(strong))
    }
}

struct App;

impl Plugin for App {
    async fn start(worker: &Worker) -> Result<App> {
        let mut catalog = MessageCatalog::default();
        catalog
            .say("en", "reversed", "must not be after to")
            .map_err(Error::other)?;
        catalog
            .say("ja", "reversed", "to より後です")
            .map_err(Error::other)?;
        worker.use_messages(catalog);
        Ok(App)
    }
}

async fn again(order: Result<Valid<Order>>) -> Result<String> {
    let invalid: Box<Invalid> = match order {
        Ok(Valid(order)) => return Ok(order.customer),
        Err(Error::Invalid(invalid)) => invalid,
        Err(error) => return Err(error),
    };
    let value = |path: &str| invalid.value(path).unwrap_or_default();
    let errors = |path: &str| invalid.errors(path).join(", ");
    let price = "items[0].price";
    Ok(format!(
        "{} {}; {} {}",
        value("customer"),
        errors("customer"),
        value(price),
        errors(price)
    ))
}

fn routes() -> Router<App> {
    Router::new()
        .route(
            "/orders",
            post(async |Valid(order): Valid<Order>| Json(order)),
        )
        .route("/again", post(again))
        .route(
            "/page",
            get(async |ValidQuery(page): ValidQuery<Page>| Json(page)),
        )
        .route("/broken", post(async |Valid(_): Valid<BrokenShape>| ()))
        .route("/code", post(async |Valid(_): Valid<Code>| ()))
        .route("/account", post(async |Valid(_): Valid<Account>| ()))
        .route(
            "/taken",
            post(async |messages: FieldMessages| {
                Err::<(), Error>(messages.invalid("name", FieldFailure::key("taken")))
            }),
        )
}

/// What the application answers to this JSON.
async fn check(client: &Client<App>, json: &str, status: u16, expected: &str) {
    let call = client
        .post("/orders")
        .body("application/json", json.to_owned());
    let reply = call.await;
    assert_eq!(
        (reply.status.as_u16(), reply.text()),
        (status, expected),
        "{json}"
    );
}

#[test]
fn body_that_fits_its_shape_is_the_type_with_defaults() {
    tsumugi::trial::run(routes, async |client| {
        check(
            client,
            r#"{"customer":"日本","other":1,"items":[{"name":"pen","price":"2"}]}"#,
            200,
            r#"{"customer":"日本","email":null,"kind":"new","from":null,"to":null,"items":[{"name":"pen","price":2}],"tags":[]}"#,
        )
        .await;
    });
}

#[test]
fn body_that_does_not_fit_is_answered_with_every_failure_and_its_path() {
    tsumugi::trial::run(routes, async |client| {
        let json = r#"{"customer":"x","email":"no","items":[{"name":"pen","price":0},{"price":3}],"tags":["longer"]}"#;
        let reply = client.post("/orders").body("application/json", json).await;
        assert_eq!(reply.status.as_u16(), 422);
        let found: serde_json::Value = serde_json::from_str(reply.text()).expect("JSON");
        let expected = serde_json::json!({ "errors": {
            "customer": ["must have at least 2 characters"],
            "email": ["must be an email address"],
            "items[0].price": ["must be at least 1"],
            "items[1].name": ["is missing"],
            "tags[0]": ["must have at most 5 characters"],
        }});
        assert_eq!(found, expected);
        check(
            client,
            "[]",
            422,
            r#"{"errors":{"body":["must be an object"]}}"#,
        )
        .await;
        let reversed = r#"{"customer":"Ada","from":2,"to":1,"items":[{"name":"pen","price":2}]}"#;
        check(
            client,
            reversed,
            422,
            r#"{"errors":{"from":["must not be after to"]}}"#,
        )
        .await;
        let reply = client.post("/orders").body("application/json", "{").await;
        assert_eq!(reply.status.as_u16(), 400);
        let reply = client.post("/orders").body("text/plain", "{}").await;
        assert_eq!(reply.status.as_u16(), 415);
        let reply = client.post("/code").form("code=999").await;
        assert_eq!(reply.status.as_u16(), 422);
        assert!(
            reply.text().starts_with(r#"{"errors":{"body":["#),
            "{}",
            reply.text()
        );
    });
}

#[test]
fn text_too_long_for_a_pattern_with_look_around_is_refused_by_the_limit() {
    tsumugi::trial::run(routes, async |client| {
        let max = SHAPE_HARD_PATTERN_BYTES_MAX;
        for (length, status) in [(max, 204), (max + 1, 422), (200_000, 422)] {
            let form = format!("password={}A1", "a".repeat(length - 2));
            let reply = client.post("/account").form(form).await;
            assert_eq!(reply.status.as_u16(), status, "{}", reply.text());
            let is_named = reply.text().contains("SHAPE_HARD_PATTERN_BYTES_MAX");
            assert_eq!(is_named, status == 422, "{}", reply.text());
        }
    });
}

#[test]
fn messages_are_in_the_language_of_the_client() {
    tsumugi::trial::run(routes, async |client| {
        let japanese = "ja-JP,en;q=0.5";
        let call = client.post("/orders").header("accept-language", japanese);
        let reply = call
            .form("customer=Ada&from=2&to=1&items[0].name=a&items[0].price=1")
            .await;
        assert_eq!(reply.text(), r#"{"errors":{"from":["to より後です"]}}"#);
        let reply = client.post("/taken").header("accept-language", "ja").await;
        assert_eq!(
            reply.text(),
            r#"{"errors":{"name":["すでに使われています"]}}"#
        );
        let reply = client.post("/taken").await;
        assert_eq!(reply.text(), r#"{"errors":{"name":["is taken"]}}"#);
    });
}

#[test]
fn form_that_does_not_fit_keeps_its_values_beside_the_messages() {
    tsumugi::trial::run(routes, async |client| {
        let form = "customer=x&items[0].name=a&items[0].price=none";
        assert_eq!(
            client.post("/again").form(form).await.text(),
            "x must have at least 2 characters; none must be an integer"
        );
        let form = "customer=Ada&items[7].name=a&items[7].price=2";
        assert_eq!(client.post("/again").form(form).await.text(), "Ada");
    });
}

#[test]
fn query_is_checked_as_a_form() {
    tsumugi::trial::run(routes, async |client| {
        assert_eq!(
            client.get("/page").await.text(),
            r#"{"page":1,"all":false}"#
        );
        assert_eq!(
            client.get("/page?page=7&all=yes").await.text(),
            r#"{"page":7,"all":true}"#
        );
        let reply = client.get("/page?page=1001").await;
        assert_eq!(reply.status.as_u16(), 422);
        assert_eq!(
            reply.text(),
            r#"{"errors":{"page":["must be at most 1000"]}}"#
        );
    });
}

#[test]
fn shape_that_makes_no_sense_is_an_error_of_the_application() {
    tsumugi::trial::run(routes, async |client| {
        assert_eq!(
            client.post("/broken").form("a=1").await.status.as_u16(),
            500
        );
    });
}
