//! Mails in Ruby: from what the word `mail` gathered to a mail, and the mails that a test has collected back. What a mail may be is the mail crate's.

use tsumugi_mail::{Attachment, Error, Mail};
use tsumugi_mruby::{Raise, Result, Scope, Value};

use crate::answer::{Failure, attempt};
use crate::natives::arguments::{bytes, exact_text};
use crate::natives::definitions::Natives;

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    // from, to, cc, bcc, reply_to, subject, text, html, [[name, value], …], [[name, type, body], …]
    natives.waiting("mail_send", |host, scope, call| {
        let mail = Mail {
            from: optional(scope, call.argument(0), "from:")?,
            to: texts(scope, call.argument(1), "to:")?,
            cc: texts(scope, call.argument(2), "cc:")?,
            bcc: texts(scope, call.argument(3), "bcc:")?,
            reply_to: optional(scope, call.argument(4), "reply_to:")?,
            subject: optional(scope, call.argument(5), "subject:")?.unwrap_or_default(),
            text: optional(scope, call.argument(6), "text:")?,
            html: optional(scope, call.argument(7), "html:")?,
            headers: headers(scope, call.argument(8))?,
            attachments: attachments(scope, call.argument(9))?,
        };
        let mailer = host.web.mailer(&host.worker, &host.settings);
        let mailer = mailer.map_err(|error| error.raise(scope))?;
        let sending = async move { mailer.send(mail).await };
        Ok(attempt(sending, |scope, id| scope.string(id)))
    })?;
    // The same of each mail.
    natives.plain("mails_collected", |host, scope, _| {
        let mails = host.web.mails.list();
        scope.list(mails.iter().map(|mail| parts(scope, mail)))
    })
}

fn parts<'s>(scope: &'s Scope<'_>, mail: &Mail) -> Result<'s, Value<'s>> {
    let list = |texts: &[String]| scope.list(texts.iter().map(|text| scope.string(text)));
    let headers = mail.headers.iter();
    let headers = headers.map(|(name, value)| scope.strings([name.as_bytes(), value.as_bytes()]));
    let files = mail.attachments.iter().map(|file| {
        scope.strings([
            file.name.as_bytes(),
            file.content_type.as_bytes(),
            &file.body,
        ])
    });
    scope.array_of(&[
        scope.string_or_nil(mail.from.as_ref())?,
        list(&mail.to)?,
        list(&mail.cc)?,
        list(&mail.bcc)?,
        scope.string_or_nil(mail.reply_to.as_ref())?,
        scope.string(&mail.subject)?,
        scope.string_or_nil(mail.text.as_ref())?,
        scope.string_or_nil(mail.html.as_ref())?,
        scope.list(headers)?,
        scope.list(files)?,
    ])
}

fn optional<'c>(scope: &'c Scope<'c>, value: Value<'c>, what: &str) -> Result<'c, Option<String>> {
    match value.is_nil() {
        true => Ok(None),
        false => exact_text(scope, value, what).map(Some),
    }
}

fn texts<'c>(scope: &'c Scope<'c>, array: Value<'c>, what: &str) -> Result<'c, Vec<String>> {
    let elements = scope.elements(array);
    elements
        .map(|element| exact_text(scope, element, what))
        .collect()
}

fn headers<'c>(scope: &'c Scope<'c>, pairs: Value<'c>) -> Result<'c, Vec<(String, String)>> {
    let pair = |pair: Value<'c>| -> Result<'c, (String, String)> {
        let parts: Vec<Value<'c>> = scope.elements(pair).collect();
        let part = |place: usize| parts.get(place).copied().unwrap_or_else(Value::nil);
        let name = exact_text(scope, part(0), "a header's name")?;
        Ok((name, exact_text(scope, part(1), "a header's value")?))
    };
    scope.elements(pairs).map(pair).collect()
}

fn attachments<'c>(scope: &'c Scope<'c>, files: Value<'c>) -> Result<'c, Vec<Attachment>> {
    let file = |file: Value<'c>| -> Result<'c, Attachment> {
        let parts: Vec<Value<'c>> = scope.elements(file).collect();
        let part = |place: usize| parts.get(place).copied().unwrap_or_else(Value::nil);
        Ok(Attachment {
            name: exact_text(scope, part(0), "name: of an attachment")?,
            content_type: exact_text(scope, part(1), "type: of an attachment")?,
            body: bytes(scope, part(2), "body: of an attachment")?.into(),
        })
    };
    scope.elements(files).map(file).collect()
}

impl Failure for Error {
    fn raise<'s>(&self, scope: &'s Scope<'_>) -> Raise<'s> {
        let class = match self {
            Error::Mail(_) => "Mail::Invalid",
            Error::Refused { .. } if !self.is_transient() => "Mail::Refused",
            _ if self.is_transient() => "Mail::Unavailable",
            _ => "Mail::Error",
        };
        scope.error(class, self.to_string())
    }
}
