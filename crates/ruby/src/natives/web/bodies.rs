//! Reading request bodies: whole, as a form, in pieces; and the files in a form.

use std::path::PathBuf;
use std::rc::{Rc, Weak};

use http::header::CONTENT_TYPE;
use tsumugi_http::BodyType;
use tsumugi_http::upload::{FormPart, Offload as _, PartContent};
use tsumugi_mruby::{NativeCall, Result, Scope, Value};

use super::super::parameters::halt;
use crate::answer::{Answer, Operation, answer, nil, raise};
use crate::natives::arguments::{text, wrong_type};
use crate::natives::definitions::{Natives, exchange};
use crate::web::incoming::{BodyError, OffWorker};

/// A file of a form that Ruby holds. The request owns the file.
type Upload = Weak<FormPart<OffWorker>>;

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.data_class("Upload")?;
    natives.waiting("body", |_, scope, call| {
        let exchange = exchange(scope, call.argument(0))?;
        Ok(Box::pin(async move {
            match exchange.body.whole().await {
                Ok(bytes) => answer(move |scope| scope.string(&bytes)),
                Err(failure) => failed(failure),
            }
        }) as Operation)
    })?;
    natives.waiting("body_piece", |_, scope, call| {
        let exchange = exchange(scope, call.argument(0))?;
        Ok(Box::pin(async move {
            match exchange.body.piece().await {
                Ok(Some(bytes)) => answer(move |scope| scope.string(&bytes)),
                Ok(None) => nil(),
                Err(failure) => failed(failure),
            }
        }) as Operation)
    })?;
    // How the body is read by its content type; nil when there is no way.
    natives.plain("body_type", |_, scope, call| {
        let exchange = exchange(scope, call.argument(0))?;
        let read = |name: &str| Value::symbol(scope.intern(name));
        Ok(match BodyType::of(&exchange.request.headers) {
            Some(BodyType::Json) => read("json"),
            Some(BodyType::Urlencoded) => read("form"),
            Some(BodyType::Multipart) => read("multipart"),
            None => Value::nil(),
        })
    })?;
    natives.plain("upload_bytes_max", |host, scope, _| {
        let max = host.settings.http.upload_bytes_max;
        Ok(scope.integer(i64::try_from(max).unwrap_or(i64::MAX)))
    })?;
    natives.waiting("body_parts", |host, scope, call| {
        let exchange = exchange(scope, call.argument(0))?;
        let host = Rc::clone(host);
        Ok(Box::pin(async move {
            let content_type = exchange.request.headers.get(CONTENT_TYPE);
            let content_type = content_type
                .and_then(|value| value.to_str().ok())
                .unwrap_or_default();
            let limits = &host.settings.http;
            match exchange.body.form(content_type, limits, &host.worker).await {
                Ok(form) => answer(move |scope| {
                    let array = scope.array(form.len())?;
                    for part in form.iter() {
                        scope.push(array, part_value(scope, part)?)?;
                    }
                    Ok(array)
                }),
                Err(failure) => failed(failure),
            }
        }) as Operation)
    })?;
    uploads(natives)
}

/// `[name, text]` for a field, `[name, upload, filename, content type, size]` for a file.
fn part_value<'c>(scope: &'c Scope<'c>, part: &Rc<FormPart<OffWorker>>) -> Result<'c, Value<'c>> {
    let row = scope.array(5)?;
    scope.push(row, scope.string(&part.head.name)?)?;
    let (Some(filename), content) = (&part.head.filename, &part.content) else {
        let bytes = match &part.content {
            PartContent::Memory(bytes) => bytes.as_ref(),
            PartContent::Disk(_) => &[], // only files go to disk
        };
        scope.push(row, scope.string(bytes)?)?;
        return Ok(row);
    };
    let upload: Upload = Rc::downgrade(part);
    scope.push(
        row,
        scope.wrap(scope.constant("Tsumugi::Native::Upload")?, upload)?,
    )?;
    scope.push(row, scope.string(filename)?)?;
    scope.push(
        row,
        match &part.head.content_type {
            Some(content_type) => scope.string(content_type)?,
            None => Value::nil(),
        },
    )?;
    let size = i64::try_from(content.length()).unwrap_or(i64::MAX);
    scope.push(row, scope.integer(size))?;
    Ok(row)
}

fn uploads<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.waiting("upload_read", |_, scope, call| {
        let part = part(scope, call)?;
        let whole = |value: Value<'_>| value.as_integer().and_then(|n| usize::try_from(n).ok());
        let (Some(offset), Some(count)) = (whole(call.argument(1)), whole(call.argument(2))) else {
            return Err(scope.error("ArgumentError", "offset and length are Integers from 0"));
        };
        Ok(Box::pin(async move {
            let bytes = match &part.content {
                PartContent::Memory(bytes) => {
                    let from = offset.min(bytes.len());
                    Ok(bytes.slice(from..from.saturating_add(count).min(bytes.len())))
                }
                PartContent::Disk(spooled) => spooled.read(offset as u64, count).await,
            };
            match bytes {
                Ok(bytes) => answer(move |scope| scope.string(&bytes)),
                Err(error) => unreadable(&error),
            }
        }) as Operation)
    })?;
    natives.waiting("upload_save", |host, scope, call| {
        let part = part(scope, call)?;
        let path = PathBuf::from(text(scope, call.argument(1), "the path")?);
        let offload = OffWorker::new(&host.worker);
        Ok(Box::pin(async move {
            let shown = path.display().to_string();
            let saved = match &part.content {
                PartContent::Disk(spooled) => spooled.save(path).await,
                PartContent::Memory(bytes) => {
                    let bytes = bytes.clone();
                    let write = move || {
                        use std::io::Write as _;
                        std::fs::File::create_new(path)?.write_all(&bytes)
                    };
                    let written = offload.offload(write).await;
                    written.map_err(tsumugi_http::Error::Spool)
                }
            };
            match saved {
                Ok(()) => nil(),
                Err(tsumugi_http::Error::Spool(error)) => raise(
                    "IOError",
                    format!("the upload cannot be saved as {shown}: {error}"),
                ),
                Err(error) => unreadable(&error),
            }
        }) as Operation)
    })
}

fn part<'c>(scope: &'c Scope<'c>, call: &NativeCall<'c>) -> Result<'c, Rc<FormPart<OffWorker>>> {
    let upload = scope
        .data::<Upload>(call.argument(0))
        .ok_or_else(|| wrong_type(scope, call.argument(0), "the upload", "an Upload"))?;
    upload.upgrade().ok_or_else(|| {
        scope.error(
            "IOError",
            "the request is over, and its uploads with it: save them before",
        )
    })
}

fn unreadable(error: &tsumugi_http::Error) -> Answer {
    let source = std::error::Error::source(error).map(ToString::to_string);
    raise(
        "IOError",
        format!("{error}: {}", source.unwrap_or_default()),
    )
}

fn failed(error: BodyError) -> Answer {
    match error {
        BodyError::Refused { status, message } => {
            answer(move |scope| Err(halt(scope, status, &message)))
        }
        BodyError::Misuse(message) => raise("IOError", message),
    }
}
