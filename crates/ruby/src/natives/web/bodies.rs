//! Reading request bodies: whole, as a form, in pieces; and the files in a form.

use std::path::{Path, PathBuf};
use std::rc::{Rc, Weak};

use http::header::CONTENT_TYPE;
use tsumugi_http::BodyType;
use tsumugi_http::upload::{FormPart, PartContent};
use tsumugi_mruby::{NativeCall, Raise, Result, Scope, Value};

use super::super::parameters::halt;
use crate::answer::{Failure, attempt, attempt_only};
use crate::natives::arguments::{data, text, whole};
use crate::natives::definitions::{Natives, exchange};
use crate::web::incoming::{BodyError, OffWorker};

/// A file of a form that Ruby holds. The request owns the file.
type Upload = Weak<FormPart<OffWorker>>;

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.data_class("Upload")?;
    natives.waiting("body", |_, scope, call| {
        let exchange = exchange(scope, call.argument(0))?;
        Ok(attempt(
            async move { exchange.body.whole().await },
            |scope, bytes| scope.string(bytes),
        ))
    })?;
    natives.waiting("body_piece", |_, scope, call| {
        let exchange = exchange(scope, call.argument(0))?;
        Ok(attempt(
            async move { exchange.body.piece().await },
            |scope, piece| scope.string_or_nil(piece),
        ))
    })?;
    // How the body is read by its content type; nil when there is no way.
    natives.of_request("body_type", |_, scope, exchange, _| {
        let read = |name: &str| Value::symbol(scope.intern(name));
        Ok(match BodyType::of(&exchange.request.headers) {
            Some(BodyType::Json) => read("json"),
            Some(BodyType::Urlencoded) => read("form"),
            Some(BodyType::Multipart) => read("multipart"),
            None => Value::nil(),
        })
    })?;
    natives.plain("upload_bytes_max", |host, scope, _| {
        Ok(scope.count(host.settings.http.upload_bytes_max))
    })?;
    natives.waiting("body_parts", |host, scope, call| {
        let exchange = exchange(scope, call.argument(0))?;
        let host = Rc::clone(host);
        let form = async move {
            let content_type = exchange.request.headers.get(CONTENT_TYPE);
            let content_type = content_type
                .and_then(|value| value.to_str().ok())
                .unwrap_or_default();
            let limits = &host.settings.http;
            exchange.body.form(content_type, limits, &host.worker).await
        };
        Ok(attempt(form, |scope, form| {
            scope.list(form.iter().map(|part| part_value(scope, part)))
        }))
    })?;
    uploads(natives)
}

/// `[name, text]` for a field, `[name, upload, filename, content type, size]` for a file.
fn part_value<'c>(scope: &'c Scope<'c>, part: &Rc<FormPart<OffWorker>>) -> Result<'c, Value<'c>> {
    let (head, content) = (&part.head, &part.content);
    let Some(filename) = &head.filename else {
        let bytes = match content {
            PartContent::Memory(bytes) => bytes.as_ref(),
            PartContent::Disk(_) => &[], // only files go to disk
        };
        return scope.strings([head.name.as_bytes(), bytes]);
    };
    let upload: Upload = Rc::downgrade(part);
    scope.array_of(&[
        scope.string(&head.name)?,
        scope.wrap_as("Tsumugi::Native::Upload", upload)?,
        scope.string(filename)?,
        scope.string_or_nil(head.content_type.as_deref())?,
        scope.count(content.length()),
    ])
}

fn uploads<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.waiting("upload_read", |_, scope, call| {
        let part = part(scope, call)?;
        let (Some(offset), Some(count)) = (
            whole::<usize>(call.argument(1)),
            whole::<usize>(call.argument(2)),
        ) else {
            return Err(scope.error("ArgumentError", "offset and length are Integers from 0"));
        };
        let bytes = async move {
            match &part.content {
                PartContent::Memory(bytes) => {
                    let from = offset.min(bytes.len());
                    Ok(bytes.slice(from..from.saturating_add(count).min(bytes.len())))
                }
                PartContent::Disk(spooled) => {
                    let read = spooled.read(offset as u64, count).await;
                    read.map_err(|error| unreadable(&error))
                }
            }
        };
        Ok(attempt(bytes, |scope, bytes| scope.string(bytes)))
    })?;
    natives.waiting("upload_save", |_, scope, call| {
        let part = part(scope, call)?;
        let path = PathBuf::from(text(scope, call.argument(1), "the path")?);
        Ok(attempt_only(async move {
            let saved = part.save(path.clone()).await;
            saved.map_err(|error| unwritable(&path, error))
        }))
    })?;
    natives.waiting("upload_replace", |_, scope, call| {
        let part = part(scope, call)?;
        let path = PathBuf::from(text(scope, call.argument(1), "the path")?);
        Ok(attempt_only(async move {
            let saved = part.replace(path.clone()).await;
            saved.map_err(|error| unwritable(&path, error))
        }))
    })
}

fn part<'c>(scope: &'c Scope<'c>, call: &NativeCall<'c>) -> Result<'c, Rc<FormPart<OffWorker>>> {
    let upload = data::<Upload>(scope, call.argument(0), "the upload", "an Upload")?;
    upload.upgrade().ok_or_else(|| {
        scope.error(
            "IOError",
            "the request is over, and its uploads with it: save them before",
        )
    })
}

/// An IOError with this message.
struct IoFailure(String);

impl Failure for IoFailure {
    fn raise<'s>(&self, scope: &'s Scope<'_>) -> Raise<'s> {
        scope.error("IOError", &self.0)
    }
}

fn unwritable(path: &Path, error: tsumugi_http::Error) -> IoFailure {
    match error {
        tsumugi_http::Error::Spool(error) => {
            let shown = path.display();
            IoFailure(format!("the upload cannot be saved as {shown}: {error}"))
        }
        error => unreadable(&error),
    }
}

fn unreadable(error: &tsumugi_http::Error) -> IoFailure {
    let source = std::error::Error::source(error).map(ToString::to_string);
    IoFailure(format!("{error}: {}", source.unwrap_or_default()))
}

impl Failure for BodyError {
    fn raise<'s>(&self, scope: &'s Scope<'_>) -> Raise<'s> {
        match self {
            BodyError::Refused { status, message } => halt(scope, *status, message),
            BodyError::Misuse(message) => scope.error("IOError", message),
        }
    }
}
