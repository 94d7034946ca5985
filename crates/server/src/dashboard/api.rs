//! What one endpoint of the dashboard is: its kind, what it is given, what it answers. Knows no endpoint.
//! Rule: an answer is JSON, an error is a status and a text for people, and both are made without waiting for a worker that may be stuck.

use std::pin::Pin;

use serde_json::{Value, json};

pub(crate) use super::api_error::{ApiError, ApiResult};
use super::state::Dashboard;
pub(crate) use super::text::{cut, cut_to};
use crate::limits::DASHBOARD_QUERY_PARAMETERS_MAX;

/// How an endpoint answers.
pub(crate) enum ApiEndpoint {
    /// GET, at once, from what workers have left.
    View(fn(&Dashboard, &ApiQuery) -> ApiResult),
    /// GET, after something that is waited for.
    Question(for<'d> fn(&'d Dashboard, ApiQuery) -> ApiFuture<'d>),
    /// POST, with the body's JSON: the only kind that changes anything.
    Action(for<'d> fn(&'d Dashboard, Value) -> ApiFuture<'d>),
}

/// The same, being made on the admin thread.
pub(crate) type ApiFuture<'d> = Pin<Box<dyn Future<Output = ApiResult> + 'd>>;

/// The decoded parameters of a query.
#[derive(Debug, Default)]
pub(crate) struct ApiQuery(Vec<(String, String)>);

impl ApiQuery {
    pub fn parse(text: &str) -> Result<ApiQuery, ApiError> {
        let pairs = tsumugi_http::query::pairs(text, DASHBOARD_QUERY_PARAMETERS_MAX);
        let pairs = pairs.map_err(|error| ApiError::bad_request(error.to_string()))?;
        let owned = pairs.into_iter();
        let owned = owned.map(|(name, value)| (name.into_owned(), value.into_owned()));
        Ok(ApiQuery(owned.collect()))
    }

    /// The first value of this name.
    pub fn value(&self, name: &str) -> Option<&str> {
        let mut pairs = self.0.iter();
        let found = pairs.find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// A text of an action's body that has to be there.
pub(crate) fn required<'b>(body: &'b Value, name: &str) -> Result<&'b str, ApiError> {
    let text = body.get(name).and_then(Value::as_str);
    text.ok_or_else(|| ApiError::bad_request(format!("the body has no text {name:?}")))
}

/// The first `max` items under `name`, and whether there were more.
pub(crate) fn list(name: &str, mut items: Vec<Value>, max: usize) -> Value {
    let more = items.len() > max;
    items.truncate(max);
    json!({ name: items, "more": more })
}

#[cfg(test)]
mod tests {
    use http::StatusCode;

    use super::*;

    #[test]
    fn list_of_one_item_more_than_the_limit_says_that_there_are_more() {
        assert_eq!(
            list("a", vec![json!(1)], 1),
            json!({"a": [1], "more": false})
        );
        assert_eq!(
            list("a", vec![json!(1), json!(2)], 1),
            json!({"a": [1], "more": true})
        );
    }

    #[test]
    fn query_gives_the_first_value_of_a_name() {
        let query = ApiQuery::parse("a=1+2&b&a=3").unwrap();
        assert_eq!(query.value("a"), Some("1 2"));
        assert_eq!(query.value("b"), Some(""));
        assert_eq!(query.value("c"), None);
        let many = vec!["a"; DASHBOARD_QUERY_PARAMETERS_MAX + 1].join("&");
        assert_eq!(
            ApiQuery::parse(&many).unwrap_err().status,
            StatusCode::BAD_REQUEST
        );
    }
}
