//! Cuts a `multipart/form-data` body (RFC 7578) into parts. Pure: pieces of the body in, events out; knows no socket and no file.
//! Pieces may be cut anywhere. What is kept between two pieces is bounded by the longest delimiter or by `part_header_bytes_max`.

use bytes::{Buf, Bytes, BytesMut};
use memchr::memmem;

use crate::{
    error::{Error, Result, check_limit},
    limits::{BOUNDARY_BYTES_MAX, HttpLimits},
};

const HEAD_END: &[u8] = b"\r\n\r\n";

/// What a part says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartHead {
    /// The name of the form's field.
    pub name: String,
    /// The name of the file, without directories. Never a path, but otherwise as the client chose it.
    pub filename: Option<String>,
    /// The content type, as the client chose it.
    pub content_type: Option<String>,
}

/// What comes next in a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FormEvent {
    /// A part begins.
    Part(PartHead),
    /// More of the part's content, never empty.
    Data(Bytes),
    /// The part is complete.
    PartEnd,
    /// The last part was complete. What follows is ignored.
    End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Preamble,
    AfterDelimiter,
    Head,
    Content,
    Epilogue,
}

/// A body that is being cut. Feed a piece, take events until there are none, feed the next, and call `finish` at the end.
#[derive(Debug)]
pub struct Parser {
    buffer: BytesMut,
    delimiter: Vec<u8>,
    state: State,
    parts: usize,
    parts_max: usize,
    head_bytes_max: usize,
}

impl Parser {
    /// A parser for a body of this content type, which must be `multipart/form-data` with a boundary.
    pub fn new(content_type: &str, limits: &HttpLimits) -> Result<Parser> {
        let boundary = boundary(content_type)?;
        Ok(Parser {
            // The first delimiter may stand at the very beginning, as if a line had just ended.
            buffer: BytesMut::from(&b"\r\n"[..]),
            delimiter: format!("\r\n--{boundary}").into_bytes(),
            state: State::Preamble,
            parts: 0,
            parts_max: limits.parts_max,
            head_bytes_max: limits.part_header_bytes_max,
        })
    }

    /// Adds a piece of the body.
    pub fn feed(&mut self, piece: &[u8]) {
        if self.state != State::Epilogue {
            self.buffer.extend_from_slice(piece);
        }
    }

    /// The next event, or `None` when it needs more of the body.
    pub fn event(&mut self) -> Result<Option<FormEvent>> {
        loop {
            match self.state {
                State::Preamble => {
                    let Some(at) = memmem::find(&self.buffer, &self.delimiter) else {
                        self.buffer.advance(self.certain_bytes());
                        return Ok(None);
                    };
                    self.buffer.advance(at + self.delimiter.len());
                    self.state = State::AfterDelimiter;
                }
                State::AfterDelimiter => match self.after_delimiter()? {
                    None => return Ok(None),
                    Some(State::Epilogue) => {
                        self.state = State::Epilogue;
                        self.buffer.clear();
                        return Ok(Some(FormEvent::End));
                    }
                    Some(state) => self.state = state,
                },
                State::Head => return self.head(),
                State::Content => return Ok(self.content()),
                State::Epilogue => return Ok(None),
            }
        }
    }

    /// The body has ended: an error if parts were missing.
    pub fn finish(&self) -> Result<()> {
        match self.state {
            State::Epilogue => Ok(()),
            _ => Err(Error::Malformed(
                "multipart body: it ends before its last boundary",
            )),
        }
    }

    /// How many buffered bytes cannot be the beginning of a delimiter.
    fn certain_bytes(&self) -> usize {
        (self.buffer.len() + 1).saturating_sub(self.delimiter.len())
    }

    /// A delimiter is followed by `--`, or by blanks and the end of the line.
    fn after_delimiter(&mut self) -> Result<Option<State>> {
        let malformed = Err(Error::Malformed(
            "multipart body: no line end after a boundary",
        ));
        if self.buffer.starts_with(b"--") {
            return Ok(Some(State::Epilogue));
        }
        let blanks = self
            .buffer
            .iter()
            .take_while(|byte| **byte == b' ' || **byte == b'\t')
            .count();
        if blanks > BOUNDARY_BYTES_MAX {
            return malformed;
        }
        let rest = self.buffer.get(blanks..).unwrap_or_default();
        if rest.starts_with(b"\r\n") {
            // The line end stays: it is also the end of an empty head.
            self.buffer.advance(blanks);
            return Ok(Some(State::Head));
        }
        match rest {
            [] | [b'\r'] => Ok(None),
            [b'-'] if blanks == 0 => Ok(None),
            _ => malformed,
        }
    }

    fn head(&mut self) -> Result<Option<FormEvent>> {
        let end = memmem::find(&self.buffer, HEAD_END);
        // Without an end in sight, the last bytes may be the beginning of the end.
        let length = end.unwrap_or_else(|| self.buffer.len().saturating_sub(HEAD_END.len() - 1));
        check_limit("part_header_bytes_max", length, self.head_bytes_max as u64)?;
        let Some(end) = end else { return Ok(None) };
        check_limit("parts_max", self.parts + 1, self.parts_max as u64)?;
        self.parts += 1;
        let head = self.buffer.split_to(end);
        self.buffer.advance(HEAD_END.len());
        self.state = State::Content;
        Ok(Some(FormEvent::Part(part_head(&head)?)))
    }

    fn content(&mut self) -> Option<FormEvent> {
        match memmem::find(&self.buffer, &self.delimiter) {
            Some(0) => {
                self.buffer.advance(self.delimiter.len());
                self.state = State::AfterDelimiter;
                Some(FormEvent::PartEnd)
            }
            Some(at) => Some(FormEvent::Data(self.buffer.split_to(at).freeze())),
            None => match self.certain_bytes() {
                0 => None,
                certain => Some(FormEvent::Data(self.buffer.split_to(certain).freeze())),
            },
        }
    }
}

/// The boundary that a content type names.
fn boundary(content_type: &str) -> Result<String> {
    let (kind, parameters) = content_type.split_once(';').unwrap_or((content_type, ""));
    if !kind.trim().eq_ignore_ascii_case("multipart/form-data") {
        return Err(Error::ContentType("multipart/form-data"));
    }
    let found = parameters_of(parameters)
        .into_iter()
        .find(|(name, _)| name.eq_ignore_ascii_case("boundary"));
    let is_boundary_byte =
        |byte: u8| byte.is_ascii_alphanumeric() || b"'()+_,-./:=? ".contains(&byte);
    match found {
        Some((_, boundary))
            if (1..=BOUNDARY_BYTES_MAX).contains(&boundary.len())
                && boundary.bytes().all(is_boundary_byte)
                && !boundary.ends_with(' ') =>
        {
            Ok(boundary)
        }
        _ => Err(Error::Malformed(
            "content type: no valid multipart boundary",
        )),
    }
}

fn part_head(head: &[u8]) -> Result<PartHead> {
    let head = std::str::from_utf8(head).map_err(|_| Error::Malformed("part head: not UTF-8"))?;
    let mut disposition = None;
    let mut content_type = None;
    for line in head.split("\r\n").filter(|line| !line.is_empty()) {
        let (name, value) = line
            .split_once(':')
            .ok_or(Error::Malformed("part head: a line without a colon"))?;
        if name.eq_ignore_ascii_case("content-disposition") {
            disposition = Some(value);
        } else if name.eq_ignore_ascii_case("content-type") {
            content_type = Some(value.trim().to_owned());
        }
    }
    let (kind, parameters) =
        disposition
            .and_then(|value| value.split_once(';'))
            .ok_or(Error::Malformed(
                "part head: no content-disposition with a name",
            ))?;
    if !kind.trim().eq_ignore_ascii_case("form-data") {
        return Err(Error::Malformed(
            "part head: content-disposition is not form-data",
        ));
    }
    let mut parameters = parameters_of(parameters);
    let mut take = |wanted: &str| {
        let place = parameters
            .iter()
            .position(|(name, _)| name.eq_ignore_ascii_case(wanted))?;
        Some(parameters.swap_remove(place).1)
    };
    let name = take("name").ok_or(Error::Malformed(
        "part head: no content-disposition with a name",
    ))?;
    // Some clients send the whole path of the file. It is private and must not reach a file system.
    let filename = take("filename").map(|path| {
        path.rsplit(['/', '\\'])
            .next()
            .unwrap_or_default()
            .to_owned()
    });
    Ok(PartHead {
        name,
        filename,
        content_type,
    })
}

/// The parameters `; name=value; name="value"`. In quotes only a quote can be escaped, as browsers and curl do it; a backslash is
/// otherwise itself.
fn parameters_of(text: &str) -> Vec<(&str, String)> {
    let mut parameters = Vec::new();
    let mut rest = text;
    while let Some((name, value)) = rest.split_once('=') {
        let name = name.trim_matches([' ', '\t', ';']);
        let value = value.trim_start();
        let Some(quoted) = value.strip_prefix('"') else {
            let (value, tail) = value.split_once(';').unwrap_or((value, ""));
            parameters.push((name, value.trim().to_owned()));
            rest = tail;
            continue;
        };
        let mut unquoted = String::new();
        let mut characters = quoted.chars();
        while let Some(character) = characters.next() {
            match character {
                '"' => break,
                '\\' if characters.as_str().starts_with('"') => {
                    characters.next();
                    unquoted.push('"');
                }
                other => unquoted.push(other),
            }
        }
        parameters.push((name, unquoted));
        rest = characters.as_str();
    }
    parameters
}

#[cfg(test)]
mod tests {
    use super::*;

    const TYPE: &str = "multipart/form-data; boundary=xyz";

    fn limits() -> HttpLimits {
        HttpLimits {
            parts_max: 3,
            part_header_bytes_max: 100,
            ..HttpLimits::default()
        }
    }

    /// What the parts of a body hold, or the error, when it comes in pieces of `size` bytes.
    fn cut(body: &[u8], size: usize) -> Result<Vec<(PartHead, Vec<u8>)>> {
        let mut parser = Parser::new(TYPE, &limits())?;
        let mut parts: Vec<(PartHead, Vec<u8>)> = Vec::new();
        for piece in body.chunks(size) {
            parser.feed(piece);
            while let Some(event) = parser.event()? {
                match event {
                    FormEvent::Part(head) => parts.push((head, Vec::new())),
                    FormEvent::Data(data) => parts.last_mut().unwrap().1.extend_from_slice(&data),
                    FormEvent::PartEnd | FormEvent::End => {}
                }
            }
            assert!(parser.buffer.len() <= size + 100 + parser.delimiter.len() + 4);
        }
        parser.finish().map(|()| parts)
    }

    fn check(body: &str, expected: &[(&str, &str)]) {
        for size in [1, 2, 3, 7, 1000] {
            let parts = cut(body.as_bytes(), size).unwrap();
            let parts: Vec<_> = parts
                .iter()
                .map(|(head, data)| (head.name.as_str(), std::str::from_utf8(data).unwrap()))
                .collect();
            assert_eq!(parts, expected, "in pieces of {size}: {body:?}");
        }
    }

    fn field(name: &str, value: &str) -> String {
        format!("--xyz\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
    }

    #[test]
    fn parts_come_out_whole_however_they_were_cut() {
        let body = format!(
            "{}{}{}--xyz--\r\n",
            field("a", "1"),
            field("b", ""),
            field("c", "x\r\n--xy\r\n-")
        );
        check(&body, &[("a", "1"), ("b", ""), ("c", "x\r\n--xy\r\n-")]);
    }

    #[test]
    fn preamble_and_epilogue_are_ignored() {
        check(
            &format!("preamble\r\n{}--xyz--epilogue --xyz", field("a", "1")),
            &[("a", "1")],
        );
        check("--xyz--", &[]);
    }

    #[test]
    fn blanks_may_follow_a_boundary() {
        let body = "--xyz \t\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n--xyz--";
        check(body, &[("a", "1")]);
    }

    #[test]
    fn files_have_a_name_without_directories_and_a_type() {
        let head = |disposition: &str| {
            let body = format!(
                "--xyz\r\ncontent-disposition: {disposition}\r\nContent-Type: text/csv\r\n\r\n\r\n--xyz--"
            );
            cut(body.as_bytes(), 64).map(|mut parts| parts.remove(0).0)
        };
        let found = head(r#"form-data; filename="C:\dir\a;b\".csv"; name="f""#).unwrap();
        let expected = PartHead {
            name: "f".into(),
            filename: Some("a;b\".csv".into()),
            content_type: Some("text/csv".into()),
        };
        assert_eq!(found, expected);
        assert_eq!(
            head(r#"form-data; name="f"; filename="../../etc/passwd""#)
                .unwrap()
                .filename
                .unwrap(),
            "passwd"
        );
        assert!(head("attachment; name=f").is_err());
        assert!(head("form-data; filename=f").is_err());
        assert!(head("form-data").is_err());
    }

    #[test]
    fn a_body_that_ends_early_is_malformed() {
        let body = format!("{}--xyz--", field("a", "1"));
        for end in 0..body.len() {
            assert!(
                matches!(cut(&body.as_bytes()[..end], 5), Err(Error::Malformed(_))),
                "{end}"
            );
        }
    }

    #[test]
    fn a_boundary_must_end_its_line() {
        let body = "--xyzz\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n--xyz--";
        assert!(matches!(cut(body.as_bytes(), 5), Err(Error::Malformed(_))));
    }

    #[test]
    fn one_part_more_than_the_limit_is_an_error_that_names_it() {
        let body = |parts: usize| format!("{}--xyz--", field("a", "1").repeat(parts));
        assert_eq!(cut(body(3).as_bytes(), 9).unwrap().len(), 3);
        assert!(
            cut(body(4).as_bytes(), 9)
                .unwrap_err()
                .to_string()
                .contains("parts_max")
        );
    }

    #[test]
    fn one_byte_more_than_the_limit_in_a_head_is_an_error_that_names_it() {
        let body = |fill: usize| {
            let head = "\r\nContent-Disposition: form-data; name=a\r\nX: ";
            format!(
                "--xyz{head}{}\r\n\r\n\r\n--xyz--",
                "x".repeat(100 - head.len() + fill)
            )
        };
        for size in [1, 1000] {
            assert_eq!(cut(body(0).as_bytes(), size).unwrap().len(), 1);
            let error = cut(body(1).as_bytes(), size).unwrap_err().to_string();
            assert!(error.contains("part_header_bytes_max"), "{error}");
        }
        assert!(cut(&b"--xyz\r\n".repeat(200), 1).is_err());
    }

    #[test]
    fn the_content_type_must_have_a_usable_boundary() {
        let found = |text: &str| boundary(text).ok();
        assert_eq!(
            found("Multipart/Form-Data; charset=utf-8; Boundary=\"a b\"").as_deref(),
            Some("a b")
        );
        assert_eq!(
            found(&format!("{}{}", TYPE, "x".repeat(67))).map(|text| text.len()),
            Some(70)
        );
        assert_eq!(found(&format!("{}{}", TYPE, "x".repeat(68))), None);
        for text in [
            "",
            "text/plain",
            "multipart/form-data",
            "multipart/form-data; boundary=",
            "multipart/form-data; boundary=a\"b",
        ] {
            assert_eq!(found(text), None, "{text}");
        }
    }
}
