//! Stubs of calls to other servers, for tests in Ruby: a stub's answer is a job on a fibre of its own. Which stub answers is the client's business.
//! Rule: whatever the answer is, an exception of a block included, becomes the end of the call, never of the test's run.

use std::rc::Rc;

use http::header::{HeaderMap, HeaderName, HeaderValue};
use http::{Method, StatusCode};
use tsumugi_client::{StubAnswer, StubFuture, StubOutcome, StubReply, StubbedCall};
use tsumugi_mruby::{Result, Scope, Value};

use crate::answer::answer;
use crate::driver::{self, Bounds};
use crate::host::{Host, JobResult};
use crate::natives::arguments::{text, whole};
use crate::natives::definitions::Natives;
use crate::natives::web::calls::header_pairs;

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    // method or nil, url, the stub's number
    natives.plain("http_stub", |host, scope, call| {
        let method = call.argument(0);
        let method = match method.is_nil() {
            true => None,
            false => {
                let name = text(scope, method, "the method")?.to_ascii_uppercase();
                let wrong = |_| scope.error("ArgumentError", "the method is a word such as :get");
                Some(Method::from_bytes(name.as_bytes()).map_err(wrong)?)
            }
        };
        let url = text(scope, call.argument(1), "the URL")?;
        let index: i64 = whole(call.argument(2)).unwrap_or_default();
        // The host has the stubs.
        let weak = Rc::downgrade(host);
        let run: StubAnswer = Box::new(move |call| match weak.upgrade() {
            Some(host) => perform(host, index, call),
            None => Box::pin(async { Err("the application has ended".to_owned()) }),
        });
        let added = host.web.stubs.add(method, &url, run);
        added.map_err(|error| scope.error("ArgumentError", error.to_string()))?;
        Ok(Value::nil())
    })?;
    natives.plain("http_stubs_open", |host, _, _| {
        host.web.stubs.open();
        Ok(Value::nil())
    })?;
    natives.plain("http_stubbed_calls", |host, scope, _| {
        let calls = host.web.stubs.calls();
        scope.list(
            calls
                .iter()
                .map(|call| scope.array_of(&parts(scope, call)?)),
        )
    })
}

/// `[method, url, [[name, value], …], body, [[capture, value], …]]`
fn parts<'s>(scope: &'s Scope<'_>, call: &StubbedCall) -> Result<'s, [Value<'s>; 5]> {
    let captures = call.captures.iter();
    let captures = captures.map(|(name, value)| scope.strings([name.as_bytes(), value.as_bytes()]));
    Ok([
        scope.string(call.method.as_str())?,
        scope.string(&call.url)?,
        header_pairs(scope, &call.headers)?,
        scope.string(&call.body)?,
        scope.list(captures)?,
    ])
}

fn perform(host: Rc<Host>, index: i64, call: StubbedCall) -> StubFuture {
    Box::pin(async move {
        let job = answer(move |scope| {
            let [method, url, headers, body, captures] = parts(scope, &call)?;
            let arguments = [scope.integer(index), method, url, headers, body, captures];
            scope.call(scope.constant("Tsumugi::Stubs")?, "job", &arguments)
        });
        let finish = |scope: &Scope<'_>, ended: JobResult<'_>| match ended {
            Ok(value) => outcome(scope, value),
            Err(raised) => Err(scope.report(raised).to_string()),
        };
        driver::run(&host, job, &Bounds::default(), finish).await
    })
}

/// Of the Symbol of a failure, or of `[status, [[name, value], …], body]`.
fn outcome(scope: &Scope<'_>, value: Value<'_>) -> std::result::Result<StubOutcome, String> {
    if let Some(failure) = value.as_symbol() {
        return Ok(match scope.symbol_name(failure).as_str() {
            "timeout" => StubOutcome::Silence,
            "refused" => StubOutcome::Refused,
            _ => StubOutcome::BrokenOff,
        });
    }
    let parts: Vec<Value<'_>> = scope.elements(value).collect();
    let &[status, pairs, body] = parts.as_slice() else {
        return Err("it answers nothing".to_owned());
    };
    let status = whole(status).and_then(|status| StatusCode::from_u16(status).ok());
    let status = status.ok_or("its status: is no status from 100 to 999")?;
    let mut headers = HeaderMap::new();
    for pair in scope.elements(pairs) {
        let pair: Vec<Value<'_>> = scope.elements(pair).collect();
        let bytes = |place: usize| pair.get(place).and_then(|part| scope.bytes(*part));
        let name = HeaderName::from_bytes(&bytes(0).unwrap_or_default());
        let value = HeaderValue::from_bytes(&bytes(1).unwrap_or_default());
        match (name, value) {
            (Ok(name), Ok(value)) => headers.append(name, value),
            _ => return Err("its headers: have a name or a value that is none".to_owned()),
        };
    }
    Ok(StubOutcome::Reply(StubReply {
        status,
        headers,
        body: scope.bytes(body).unwrap_or_default().into(),
    }))
}
