//! The check of forms against forged requests: which requests must show the session's token, and where they show it.
//! Rule: it comes before every layer and handler; a mounted application checks its own.

use std::rc::Rc;

use tsumugi_http::session::{FORGERY_REFUSAL, TOKEN, TOKEN_HEADER};
use tsumugi_http::{BodyType, RequestBody, query};

use crate::context::Context;
use crate::error::{Error, Result};
use crate::handler::Endpoint;

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
    let session = context.session().await?.0;
    if !session.is_stored() {
        return Ok(());
    }
    let header = context.headers().get(TOKEN_HEADER);
    let sent = match header.and_then(|header| header.to_str().ok()) {
        Some(token) => Some(token.to_owned()),
        None => field(context).await?,
    };
    match sent {
        Some(sent) if session.is_token(&sent) => Ok(()),
        _ => Err(Error::forbidden(FORGERY_REFUSAL)),
    }
}

/// The field of a form that is no upload. Its body is kept for the handler.
async fn field<S>(context: &mut Context<S>) -> Result<Option<String>> {
    if BodyType::of(context.headers()) != Some(BodyType::Urlencoded) {
        return Ok(None);
    }
    let bytes = context.read_body().await?;
    let pairs = query::form(&bytes, context.worker().http_limits().parameters_max)?;
    let found = pairs.into_iter().find(|(name, _)| name == TOKEN);
    let token = found.map(|(_, token)| token.into_owned());
    let trailers = context.trailers().cloned().unwrap_or_default();
    context.put_body(RequestBody::in_memory(bytes).with_trailers(trailers)?);
    Ok(token)
}
