//! The check of forms against forged requests: which requests must show the session's token, and where they show it.
//! Rule: it comes before every layer and handler; a mounted application checks its own.

use std::rc::Rc;

use http::header::CONTENT_TYPE;
use tsumugi_http::session::TOKEN;
use tsumugi_http::{RequestBody, query};

use crate::context::Context;
use crate::error::{Error, Result};
use crate::handler::Endpoint;

const REFUSAL: &str = "this form does not come from a page of this site, or that page is too old: load it again. (For its author: the \
                       form needs the field _csrf with the session's token, or the request the header x-csrf-token.)";

/// An endpoint that a forged form does not reach.
pub(crate) fn guard<S: 'static>(endpoint: Endpoint<S>) -> Endpoint<S> {
    Rc::new(move |mut context| {
        let endpoint = Rc::clone(&endpoint);
        if !context.needs_token() {
            return endpoint(context);
        }
        Box::pin(async move {
            check(&mut context).await?;
            endpoint(context).await
        })
    })
}

async fn check<S>(context: &mut Context<S>) -> Result<()> {
    let session = context.session().await?;
    if !session.is_stored() {
        return Ok(());
    }
    let header = context.headers().get("x-csrf-token");
    let sent = match header.and_then(|header| header.to_str().ok()) {
        Some(token) => Some(token.to_owned()),
        None => field(context).await?,
    };
    match sent {
        Some(sent) if session.is_token(&sent) => Ok(()),
        _ => Err(Error::forbidden(REFUSAL)),
    }
}

/// The field of a form that is no upload. Its body is kept for the handler.
async fn field<S>(context: &mut Context<S>) -> Result<Option<String>> {
    let urlencoded = "application/x-www-form-urlencoded";
    let content_type = context.headers().get(CONTENT_TYPE);
    let text = content_type.and_then(|value| value.to_str().ok());
    if !text.is_some_and(|text| text.trim_start().starts_with(urlencoded)) {
        return Ok(None);
    }
    let bytes = context.take_body()?.read_all().await?;
    let pairs = query::form(&bytes, context.worker().http_limits().parameters_max)?;
    let found = pairs.into_iter().find(|(name, _)| name == TOKEN);
    let token = found.map(|(_, token)| token.into_owned());
    context.put_body(RequestBody::in_memory(bytes));
    Ok(token)
}
