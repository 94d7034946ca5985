//! A mail as an author writes it, and as it is sent: RFC 5322 and MIME, written by lettre. Knows no server.
//! Rule: no text of a mail can begin a header field of its own, whatever clients have put into it: a control character is an error, never cut out.
//! It goes to each address that it was given, or nowhere: who gets it is never read out of a header field that was written.

use bytes::Bytes;
use lettre::address::Envelope;
use lettre::message::header::{
    self, ContentTransferEncoding, ContentType, HeaderName, HeaderValue,
};
use lettre::message::{
    Attachment as AttachmentPart, Body, Mailbox, Mailboxes, Message, MultiPart, SinglePart,
};

use crate::error::Error;
use crate::limits::{FIELD_BYTES_MAX, FIELDS_MAX, MailLimits};

/// A mail. An address is `ann@example.org` or `Ann <ann@example.org>`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mail {
    /// Who sends it; none for the application's own (`MAIL_FROM`).
    pub from: Option<String>,
    /// Who gets it.
    pub to: Vec<String>,
    /// Who gets a copy.
    pub cc: Vec<String>,
    /// Who gets a copy that nobody else sees.
    pub bcc: Vec<String>,
    /// Where answers go, when not to `from`.
    pub reply_to: Option<String>,
    /// What it is about.
    pub subject: String,
    /// What it says, as plain text.
    pub text: Option<String>,
    /// The same as a page.
    pub html: Option<String>,
    /// Header fields of its own, `List-Unsubscribe` for example.
    pub headers: Vec<(String, String)>,
    /// Files.
    pub attachments: Vec<Attachment>,
}

/// A file of a mail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// Its name, without a path.
    pub name: String,
    /// Its type, `text/csv`.
    pub content_type: String,
    /// What is in it.
    pub body: Bytes,
}

/// A mail that can be sent.
pub(crate) struct PreparedMail {
    pub envelope: Envelope,
    pub bytes: Vec<u8>,
    pub id: String,
}

impl Mail {
    /// An empty mail.
    pub fn new() -> Mail {
        Mail::default()
    }

    /// From this address.
    #[must_use]
    pub fn from(mut self, address: impl Into<String>) -> Mail {
        self.from = Some(address.into());
        self
    }

    /// To this address, too.
    #[must_use]
    pub fn to(mut self, address: impl Into<String>) -> Mail {
        self.to.push(address.into());
        self
    }

    /// With a copy to this address.
    #[must_use]
    pub fn cc(mut self, address: impl Into<String>) -> Mail {
        self.cc.push(address.into());
        self
    }

    /// With a copy to this address that the others do not see.
    #[must_use]
    pub fn bcc(mut self, address: impl Into<String>) -> Mail {
        self.bcc.push(address.into());
        self
    }

    /// With answers to this address.
    #[must_use]
    pub fn reply_to(mut self, address: impl Into<String>) -> Mail {
        self.reply_to = Some(address.into());
        self
    }

    /// About this.
    #[must_use]
    pub fn subject(mut self, subject: impl Into<String>) -> Mail {
        self.subject = subject.into();
        self
    }

    /// With this plain text.
    #[must_use]
    pub fn text(mut self, text: impl Into<String>) -> Mail {
        self.text = Some(text.into());
        self
    }

    /// With this page.
    #[must_use]
    pub fn html(mut self, html: impl Into<String>) -> Mail {
        self.html = Some(html.into());
        self
    }

    /// With a header field more.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Mail {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// With a file.
    #[must_use]
    pub fn attach(
        mut self,
        name: impl Into<String>,
        content_type: impl Into<String>,
        body: impl Into<Bytes>,
    ) -> Mail {
        self.attachments.push(Attachment {
            name: name.into(),
            content_type: content_type.into(),
            body: body.into(),
        });
        self
    }

    /// The mail as it is sent. `number` makes its id, which has to differ from those of all other mails.
    pub(crate) fn prepare(&self, number: u128, limits: &MailLimits) -> Result<PreparedMail, Error> {
        let recipients = self.to.len() + self.cc.len() + self.bcc.len();
        check_max("mail.recipients_max", recipients, limits.recipients_max)?;
        check_max("FIELDS_MAX", self.headers.len(), FIELDS_MAX)?;
        let attached: usize = self.attachments.iter().map(|file| file.body.len()).sum();
        let texts = [&self.text, &self.html].map(|text| text.as_ref().map_or(0, String::len));
        let bytes = attached.saturating_add(texts.iter().sum());
        check_max("mail.message_bytes_max", bytes, limits.message_bytes_max)?;
        if recipients == 0 {
            return Err(Error::Mail("a mail needs to:, cc: or bcc:".to_owned()));
        }
        let from = self.from.as_deref().ok_or_else(|| {
            Error::Mail("a mail needs from:, or MAIL_FROM in the environment".to_owned())
        })?;
        let from = mailbox("from", from)?;
        let id = format!("<{number:032x}@{}>", from.email.domain());
        let (to, cc) = (mailboxes("to", &self.to)?, mailboxes("cc", &self.cc)?);
        let bcc = mailboxes("bcc", &self.bcc)?;
        let recipients = to.iter().chain(&cc).chain(&bcc);
        let addresses = recipients.map(|recipient| recipient.email.clone());
        let envelope = Envelope::new(Some(from.email.clone()), addresses.collect());
        let mut builder = Message::builder()
            .message_id(Some(id.clone()))
            .from(from)
            .subject(field("subject", &self.subject)?)
            .envelope(envelope.map_err(unbuilt)?);
        if !to.is_empty() {
            builder = builder.header(header::To::from(Mailboxes::from(to)));
        }
        if !cc.is_empty() {
            builder = builder.header(header::Cc::from(Mailboxes::from(cc)));
        }
        if let Some(address) = &self.reply_to {
            builder = builder.reply_to(mailbox("reply_to", address)?);
        }
        for (name, value) in &self.headers {
            builder = builder.raw_header(own_field(name, value)?);
        }
        let message = match self.content()? {
            Content::Single(part) => builder.singlepart(part),
            Content::Multi(part) => builder.multipart(part),
        };
        let message = message.map_err(unbuilt)?;
        let bytes = message.formatted();
        check_max(
            "mail.message_bytes_max",
            bytes.len(),
            limits.message_bytes_max,
        )?;
        Ok(PreparedMail {
            envelope: message.envelope().clone(),
            bytes,
            id,
        })
    }

    fn content(&self) -> Result<Content, Error> {
        let said = match (self.text.as_deref(), self.html.as_deref()) {
            (Some(text), Some(html)) => Content::Multi(MultiPart::alternative_plain_html(
                with_line_ends(text),
                with_line_ends(html),
            )),
            (Some(text), None) => Content::Single(SinglePart::plain(with_line_ends(text))),
            (None, Some(html)) => Content::Single(SinglePart::html(with_line_ends(html))),
            (None, None) => return Err(Error::Mail("a mail needs text: or html:".to_owned())),
        };
        if self.attachments.is_empty() {
            return Ok(said);
        }
        let mixed = MultiPart::mixed();
        let mut mixed = match said {
            Content::Single(part) => mixed.singlepart(part),
            Content::Multi(part) => mixed.multipart(part),
        };
        for file in &self.attachments {
            let name = field("name of an attachment", &file.name)?;
            let wrong = |_| {
                Error::Mail(format!(
                    "{:?} is no type of an attachment; write one such as text/csv",
                    file.content_type
                ))
            };
            field("type of an attachment", &file.content_type)?;
            let content_type = ContentType::parse(&file.content_type).map_err(wrong)?;
            // Else its line ends go out as they are, and some servers take a lone LF before a dot for the end of the mail.
            let encoding = ContentTransferEncoding::Base64;
            let body = Body::new_with_encoding(file.body.to_vec(), encoding)
                .map_err(|_| Error::Mail("an attachment cannot be encoded".to_owned()))?;
            let part = AttachmentPart::new(name).body(body, content_type);
            mixed = mixed.singlepart(part);
        }
        Ok(Content::Multi(mixed))
    }
}

enum Content {
    Single(SinglePart),
    Multi(MultiPart),
}

/// The text with CR LF at the end of each line, at once: where one is missing, lettre moves the rest for each line.
fn with_line_ends(text: &str) -> String {
    let lines = text.replace("\r\n", "\n").replace('\r', "\n");
    lines.replace('\n', "\r\n")
}

fn check_max(name: &str, count: usize, max: usize) -> Result<(), Error> {
    match count > max {
        true => Err(Error::Mail(format!(
            "the mail is larger than {name} ({max}): {count}"
        ))),
        false => Ok(()),
    }
}

/// Text of one field, without what ends a field.
fn field(what: &str, text: &str) -> Result<String, Error> {
    if text.len() > FIELD_BYTES_MAX {
        let message =
            format!("the {what} of a mail is longer than FIELD_BYTES_MAX ({FIELD_BYTES_MAX})");
        return Err(Error::Mail(message));
    }
    match text.chars().any(char::is_control) {
        true => Err(Error::Mail(format!(
            "the {what} of a mail has a control character, such as the end of a line"
        ))),
        false => Ok(text.to_owned()),
    }
}

/// `ann@example.org` or `Ann <ann@example.org>`, and nothing before or after it.
pub(crate) fn mailbox(what: &str, text: &str) -> Result<Mailbox, Error> {
    let text = field(what, text)?;
    let text = text.trim();
    let (name, address) = match text
        .strip_suffix('>')
        .and_then(|text| text.rsplit_once('<'))
    {
        Some((name, address)) => (Some(unquoted(name.trim())), address),
        None => (None, text),
    };
    let wrong = |_| {
        Error::Mail(format!(
            "the {what} of a mail is no address: write ann@example.org or Ann <ann@example.org>"
        ))
    };
    let address = address.parse().map_err(wrong)?;
    Ok(Mailbox::new(name.filter(|name| !name.is_empty()), address))
}

/// Those of one field.
fn mailboxes(what: &str, texts: &[String]) -> Result<Vec<Mailbox>, Error> {
    texts.iter().map(|text| mailbox(what, text)).collect()
}

fn unbuilt(error: lettre::error::Error) -> Error {
    Error::Mail(format!("the mail: {error}"))
}

fn unquoted(name: &str) -> String {
    let inner = name
        .strip_prefix('"')
        .and_then(|name| name.strip_suffix('"'));
    inner.map_or_else(|| name.to_owned(), |inner| inner.replace("\\\"", "\""))
}

/// A header field of the author's own. Those that the mail has anyway are not for this.
fn own_field(name: &str, value: &str) -> Result<HeaderValue, Error> {
    const KNOWN: [&str; 13] = [
        "from",
        "sender",
        "to",
        "cc",
        "bcc",
        "reply-to",
        "subject",
        "date",
        "message-id",
        "mime-version",
        "content-type",
        "content-transfer-encoding",
        "content-disposition",
    ];
    let lower = name.to_ascii_lowercase();
    let is_name = !name.is_empty()
        && name.len() <= FIELD_BYTES_MAX
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if !is_name || KNOWN.contains(&lower.as_str()) {
        return Err(Error::Mail(format!(
            "{name:?} is no header field that a mail can have beside its own"
        )));
    }
    let name = HeaderName::new_from_ascii(name.to_owned());
    let name = name.map_err(|_| Error::Mail("a header field of a mail has no name".to_owned()))?;
    Ok(HeaderValue::new(name, field("header field", value)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain() -> Mail {
        Mail::new()
            .from("app@example.org")
            .to("ann@example.org")
            .subject("s")
            .text("t")
    }

    #[track_caller]
    fn check_refused(mail: Mail, expected: &str) {
        let error = mail.prepare(1, &MailLimits::default()).err();
        let error = error.map(|error| error.to_string()).unwrap_or_default();
        assert!(error.contains(expected), "{mail:?}: {error:?}");
    }

    fn sent(mail: &Mail) -> String {
        let prepared = mail.prepare(1, &MailLimits::default()).unwrap();
        String::from_utf8(prepared.bytes).unwrap()
    }

    #[test]
    fn line_ends_of_texts_and_attachments_are_whole_and_their_number_costs_nothing() {
        let evil = "a\n.\nMAIL FROM:<eve@example.org>\r.\rb";
        let mail = plain().text(evil).html(evil);
        let mail = mail.attach("a.txt", "text/plain", evil);
        let text = sent(&mail).replace("\r\n", "");
        assert!(!text.contains(['\r', '\n']), "{text:?}");
        // By the end of each line in turn this would take minutes.
        let lines = "\n".repeat(1_000_000);
        let prepared = plain().text(lines).prepare(1, &MailLimits::default());
        assert!(prepared.unwrap().bytes.len() > 2_000_000);
    }

    #[test]
    fn text_of_a_client_cannot_begin_a_header_field() {
        for evil in [
            "x\r\nBcc: eve@example.org",
            "x\nBcc: eve@example.org",
            "x\rBcc: y",
            "x\0",
            "x\u{85}y",
            "x\u{7f}",
        ] {
            check_refused(plain().subject(evil), "control character");
            check_refused(
                plain().to(format!("{evil} <a@example.org>")),
                "control character",
            );
            check_refused(
                plain().to(format!("a@example.org{evil}")),
                "control character",
            );
            check_refused(plain().cc(evil), "control character");
            check_refused(plain().bcc(evil), "control character");
            check_refused(plain().reply_to(evil), "control character");
            check_refused(plain().from(evil), "control character");
            check_refused(plain().header("X-Note", evil), "control character");
            check_refused(plain().attach(evil, "text/plain", "x"), "control character");
            check_refused(
                plain().attach("x", format!("text/plain{evil}"), "x"),
                "control character",
            );
        }
        check_refused(plain().header("X-A: 1\r\nBcc", "x"), "is no header field");
        check_refused(
            plain().header("Bcc", "eve@example.org"),
            "is no header field",
        );
        check_refused(plain().header("", "x"), "is no header field");
    }

    #[test]
    fn address_is_one_and_nothing_beside_it() {
        for wrong in [
            "",
            "ann",
            "a@example.org, b@example.org",
            "a@example.org>",
            "<a@example.org> x",
            "a b@example.org",
            "Ann a@example.org",
            "a@b@c",
        ] {
            check_refused(plain().to(wrong), "is no address");
        }
        let text = sent(
            &plain()
                .to("\"Ann, the \\\"first\\\"\" <ann@example.org>")
                .cc("日本 <j@example.org>"),
        );
        assert!(text.contains("<ann@example.org>"), "{text}");
        assert!(text.contains("Cc: =?utf-8?b?"), "{text}");
    }

    /// lettre's own reader of header fields takes some of these for none, or for two.
    const UNUSUAL: [&str; 7] = [
        "\"x y\"@b.example",
        "\"a,b\"@b.example",
        "\"a@c.example, b\"@b.example",
        "\"a<b>\"@b.example",
        "a@[127.0.0.1]",
        "o'neil+tag@b.example",
        "Ann, of b <ann@b.example>",
    ];

    #[test]
    fn mail_goes_to_each_address_that_it_was_given() {
        let given = |place: usize, address: &str| match place {
            0 => plain().to(address).cc("c@d.example").bcc("e@f.example"),
            1 => plain().cc(address).cc("c@d.example").bcc("e@f.example"),
            _ => plain().bcc(address).bcc("c@d.example").cc("e@f.example"),
        };
        for address in UNUSUAL {
            let bare = mailbox("to", address).unwrap().email.to_string();
            for place in 0..3 {
                let prepared = given(place, address).prepare(1, &MailLimits::default());
                let prepared = prepared.unwrap_or_else(|error| panic!("{address}: {error}"));
                let envelope = prepared.envelope.to().iter();
                let mut found: Vec<String> = envelope.map(ToString::to_string).collect();
                found.sort();
                let mut expected = [&*bare, "ann@example.org", "c@d.example", "e@f.example"];
                expected.sort_unstable();
                assert_eq!(found, expected, "{address} at {place}");
                let text = String::from_utf8(prepared.bytes).unwrap();
                assert!(!text.contains("Bcc"), "{text}");
                assert_eq!(text.contains(&bare), place < 2, "{text}");
            }
        }
        // However many there are, and whichever comes first.
        let mail = UNUSUAL.iter().fold(plain(), |mail, each| mail.to(*each));
        let prepared = mail.prepare(1, &MailLimits::default()).unwrap();
        assert_eq!(prepared.envelope.to().len(), UNUSUAL.len() + 1);
        let from = prepared.envelope.from().map(ToString::to_string);
        assert_eq!(from.as_deref(), Some("app@example.org"));
        let text = String::from_utf8(prepared.bytes).unwrap();
        assert_eq!(text.matches("To: ").count(), 1, "{text}");
    }

    #[test]
    fn mail_is_text_page_and_files_as_it_has_them() {
        let text = sent(&plain().bcc("secret@example.org"));
        assert!(text.contains("From: app@example.org\r\n"), "{text}");
        assert!(text.contains("\r\n\r\nt"), "{text}");
        assert!(
            text.contains("Message-ID: <00000000000000000000000000000001@example.org>"),
            "{text}"
        );
        assert!(!text.contains("secret@"), "{text}");
        let whole = plain()
            .html("<b>t</b>")
            .attach("日.csv", "text/csv", "a,b")
            .header("X-Note", "1");
        let text = sent(&whole);
        for part in [
            "multipart/mixed",
            "multipart/alternative",
            "text/html",
            "text/csv",
            "X-Note: 1",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let prepared = whole
            .bcc("b@example.org")
            .prepare(1, &MailLimits::default())
            .unwrap();
        assert_eq!(prepared.envelope.to().len(), 2);
    }

    #[test]
    fn mail_without_what_it_needs_is_refused() {
        check_refused(Mail::new().from("a@b.example").text("t"), "needs to:");
        check_refused(Mail::new().to("a@b.example").text("t"), "needs from:");
        check_refused(
            Mail::new().from("a@b.example").to("a@b.example"),
            "needs text:",
        );
        check_refused(
            plain().attach("x", "text", "x"),
            "is no type of an attachment",
        );
    }

    #[test]
    fn one_more_than_a_limit_is_refused_with_its_name() {
        let limits = MailLimits::default();
        let to =
            |count: usize| (0..count).fold(plain(), |mail, n| mail.to(format!("n{n}@example.org")));
        assert!(to(limits.recipients_max - 1).prepare(1, &limits).is_ok());
        check_refused(to(limits.recipients_max), "mail.recipients_max (100): 101");
        let fields =
            |count: usize| (0..count).fold(plain(), |mail, n| mail.header(format!("X-{n}"), "x"));
        assert!(fields(FIELDS_MAX).prepare(1, &limits).is_ok());
        check_refused(fields(FIELDS_MAX + 1), "FIELDS_MAX (32): 33");
        assert!(
            plain()
                .subject("x".repeat(FIELD_BYTES_MAX))
                .prepare(1, &limits)
                .is_ok()
        );
        check_refused(
            plain().subject("x".repeat(FIELD_BYTES_MAX + 1)),
            "FIELD_BYTES_MAX (1024)",
        );
        let small = MailLimits {
            message_bytes_max: 1_000,
            ..limits
        };
        let longest = (1..1_000)
            .rev()
            .find(|length| plain().text("x".repeat(*length)).prepare(1, &small).is_ok());
        let longest = longest.expect("a mail of some length");
        let prepared = plain()
            .text("x".repeat(longest))
            .prepare(1, &small)
            .unwrap();
        assert!(prepared.bytes.len() <= 1_000);
        let error = plain()
            .text("x".repeat(1_001))
            .prepare(1, &small)
            .err()
            .unwrap();
        assert!(
            error
                .to_string()
                .contains("mail.message_bytes_max (1000): 1001"),
            "{error}"
        );
    }
}
