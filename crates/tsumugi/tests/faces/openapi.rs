//! An application has the same description in both languages, but for where its routes stand.

use std::rc::Rc;

use serde::Deserialize;
use serde_json::Value;
use tsumugi::openapi::{DocumentInfo, RouteOperation, document};
use tsumugi::shapes::{InputShape, boolean, integer, list, object, text};
use tsumugi::{Path, Router, Valid, ValidQuery, Validate, get};
use tsumugi_testkit::openapi;

const RUBY: &str = r#"
shape :order do
  text :customer, length: 1..100
  text :kind, in: %w[new used], default: "new"
  list :items, length: 1..3 do
    text :name
    integer :count, min: 1
  end
end

shape :listing do
  integer :page, min: 1, max: 100, default: 1
  boolean :all, default: false
end

get("/orders") { query.check :listing }
post("/orders") { body.check :order }
get("/orders/:id", id: Integer) { |id| id }
get("/places/:x/:name", x: Float) { |x, name| [x, name] }
get("/files/*path") { |path| path }
"#;

#[derive(Deserialize)]
#[expect(dead_code, reason = "only its fields are looked at")]
struct Item {
    name: String,
    count: i64,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "only its fields are looked at")]
struct Order {
    customer: String,
    kind: String,
    items: Vec<Item>,
}

impl Validate for Order {
    fn shape() -> InputShape {
        let item = InputShape::new()
            .field("name", text())
            .field("count", integer().min(1));
        InputShape::new()
            .field("customer", text().length(1..=100))
            .field("kind", text().one_of(["new", "used"]).default("new"))
            .field("items", list(object(item)).length(1..=3))
    }
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "only its fields are looked at")]
struct Listing {
    page: i64,
    all: bool,
}

impl Validate for Listing {
    fn shape() -> InputShape {
        InputShape::new()
            .field("page", integer().min(1).max(100).default(1))
            .field("all", boolean().default(false))
    }
}

fn routes() -> Router<()> {
    async fn orders(_: ValidQuery<Listing>) {}
    async fn order(_: Valid<Order>) {}
    async fn one(_: Path<i64>) {}
    async fn place(_: Path<(f64, String)>) {}
    async fn file(_: Path<String>) {}
    Router::new()
        .route("/orders", get(orders).post(order))
        .route("/orders/{id}", get(one))
        .route("/places/{x}/{name}", get(place))
        .route("/files/{*path}", get(file))
}

fn in_ruby() -> Vec<RouteOperation> {
    let directory = tempfile::tempdir().unwrap();
    let app = directory.path().join("app.rb");
    std::fs::write(&app, RUBY).unwrap();
    let settings = tsumugi_ruby::Settings {
        app,
        data_dir: directory.path().to_owned(),
        mode: tsumugi_ruby::Mode::Development,
        ..tsumugi_ruby::Settings::default()
    };
    let limits = tsumugi_worker::WorkerLimits::default();
    let operations = tsumugi_worker::alone(limits, async |worker| {
        let app = tsumugi_ruby::App::load(&worker, Rc::new(settings));
        let app = app.await.unwrap_or_else(|error| panic!("{error}"));
        let operations = app.operations().unwrap();
        app.retire().await;
        operations
    });
    operations.unwrap()
}

/// The document, without the places of its routes.
fn described(operations: &[RouteOperation]) -> Value {
    let info = DocumentInfo {
        title: "shop".to_owned(),
        version: "0".to_owned(),
    };
    let mut document = openapi::read(&document(&info, operations));
    let paths = document["paths"].as_object_mut().unwrap().values_mut();
    for operation in paths.flat_map(|path| path.as_object_mut().unwrap().values_mut()) {
        let place = operation.as_object_mut().unwrap().remove("x-source");
        assert!(place.is_some(), "{operation}");
    }
    document
}

#[test]
fn application_has_one_description_in_both_languages() {
    let rust = described(&routes().operations().unwrap());
    let ruby = described(&in_ruby());
    assert_eq!(rust, ruby);
    let order = &rust["components"]["schemas"]["Order"];
    assert_eq!(order["required"].as_array().map(Vec::len), Some(2));
}
