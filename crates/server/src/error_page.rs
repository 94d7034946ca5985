//! Answers that tell a developer what went wrong: a page for browsers, text for every other client. Only for development; decides no status.
//! Rule: a page goes to clients that name HTML among what they accept, as browsers do and programs do not; what it shows is escaped.

use std::fmt::Write as _;

use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, StatusCode};
use tsumugi_http::HttpResponse;

use crate::limits::{PAGE_SOURCE_LINES_AROUND, TEXT_PART_LINES_MAX, TEXT_SOURCE_LINES_AROUND};

/// What is told of one error.
#[derive(Clone, Debug)]
pub struct ErrorPage {
    /// The status of the answer.
    pub status: StatusCode,
    /// The class of the error, or what it is about.
    pub title: String,
    /// What it says.
    pub message: String,
    /// Where it was raised.
    pub source: Option<SourceExcerpt>,
    /// What else helps, in this order.
    pub parts: Vec<PagePart>,
}

/// A place in a file, and the lines around it.
#[derive(Clone, Debug)]
pub struct SourceExcerpt {
    file: String,
    line: usize,
    /// Lines with their numbers.
    lines: Vec<(usize, String)>,
}

/// Some lines below a heading.
#[derive(Clone, Debug)]
pub struct PagePart {
    /// What they are.
    pub heading: &'static str,
    /// The lines.
    pub lines: Vec<String>,
}

impl SourceExcerpt {
    /// The lines around `line` of a file with this text.
    pub fn new(file: &str, line: usize, text: &str) -> SourceExcerpt {
        let first = line.saturating_sub(PAGE_SOURCE_LINES_AROUND).max(1);
        let numbered = text.lines().enumerate().map(|(i, text)| (i + 1, text));
        let lines = numbered
            .skip(first - 1)
            .take_while(|(number, _)| *number <= line.saturating_add(PAGE_SOURCE_LINES_AROUND))
            .map(|(number, text)| (number, text.to_owned()));
        SourceExcerpt {
            file: file.to_owned(),
            line,
            lines: lines.collect(),
        }
    }
}

impl ErrorPage {
    /// The answer in the form that a client with these header fields reads.
    pub fn response(&self, request: &HeaderMap) -> HttpResponse {
        let shown = self.without_passwords();
        if !accepts_html(request) {
            return HttpResponse::text(self.status, shown.text());
        }
        let html = HeaderValue::from_static("text/html; charset=utf-8");
        HttpResponse::new(self.status, shown.html()).with(CONTENT_TYPE, html)
    }

    /// Whoever asks sees it, and the line that fails is often the one with the database's URL.
    fn without_passwords(&self) -> ErrorPage {
        let mut page = self.clone();
        page.message = without_passwords(&page.message);
        let source = page.source.iter_mut();
        let lines = source.flat_map(|source| source.lines.iter_mut().map(|(_, line)| line));
        let parts = page.parts.iter_mut().flat_map(|part| &mut part.lines);
        for line in lines.chain(parts) {
            *line = without_passwords(line);
        }
        page
    }

    fn text(&self) -> String {
        let mut text = format!("{} {}", self.status.as_u16(), self.title);
        if !self.message.is_empty() {
            let _ = write!(text, ": {}", self.message);
        }
        text.push('\n');
        if let Some(source) = &self.source {
            let _ = write!(text, "{}:{}\n\n", source.file, source.line);
            let near = |number: usize| number.abs_diff(source.line) <= TEXT_SOURCE_LINES_AROUND;
            for (number, line) in source.lines.iter().filter(|(number, _)| near(*number)) {
                let mark = if *number == source.line { '>' } else { ' ' };
                let _ = writeln!(text, "{mark} {number:>4}  {line}");
            }
        }
        for part in &self.parts {
            let _ = write!(text, "\n{}\n", part.heading);
            for line in part.lines.iter().take(TEXT_PART_LINES_MAX) {
                let _ = writeln!(text, "  {line}");
            }
            if let Some(more @ 1..) = part.lines.len().checked_sub(TEXT_PART_LINES_MAX) {
                let _ = writeln!(
                    text,
                    "  … {more} more: ask with `Accept: text/html` for all"
                );
            }
        }
        text
    }

    fn html(&self) -> String {
        let (title, message) = (escaped(&self.title), escaped(&self.message));
        let mut page = format!("{HEAD}<h1>{title}</h1><p>{message}</p>");
        if let Some(source) = &self.source {
            let (file, line) = (escaped(&source.file), source.line);
            let _ = write!(page, "<h2><code>{file}:{line}</code></h2><pre>");
            for (number, text) in &source.lines {
                let shown = format!("{number:>5}  {}\n", escaped(text));
                page.push_str(&match *number == line {
                    true => format!("<mark>{shown}</mark>"),
                    false => shown,
                });
            }
            page.push_str("</pre>");
        }
        for part in &self.parts {
            let lines = escaped(&part.lines.join("\n"));
            let _ = write!(page, "<h2>{}</h2><pre>{lines}</pre>", part.heading);
        }
        page.push_str("</body></html>");
        page
    }
}

const HEAD: &str = "<!doctype html><html lang=en><meta charset=utf-8><title>Error</title>\
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark}\
pre{padding:1rem;overflow:auto;border:1px solid #8886;border-radius:6px}mark{background:#e5484d33;color:inherit}</style><body>";

/// `text` with `…` in place of the password of each URL in it. What is quoted wrongly may hold an `@` or a slash: it ends at the last `@`.
fn without_passwords(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("://") {
        shown.push_str(before);
        shown.push_str("://");
        let is_end = |char: char| char.is_whitespace() || matches!(char, '"' | '\'' | '`');
        let (url, behind) = after.split_at(after.find(is_end).unwrap_or(after.len()));
        match url.rsplit_once('@') {
            Some((login, host)) => {
                let user = login.split(':').next().unwrap_or_default();
                let mark = if login == user { "" } else { ":…" };
                shown.extend([user, mark, "@", host]);
            }
            None => shown.push_str(url),
        }
        rest = behind;
    }
    shown + rest
}

/// Whether a client names HTML among what it accepts (RFC 9110 section 12.5.1): whoever takes anything has not asked for a page.
fn accepts_html(request: &HeaderMap) -> bool {
    let fields = request.get_all(ACCEPT).iter();
    let mut ranges = fields
        .filter_map(|field| field.to_str().ok())
        .flat_map(|field| field.split(','));
    ranges.any(|range| {
        let mut words = range.split(';').map(str::trim);
        let is_html = words
            .next()
            .is_some_and(|name| name.eq_ignore_ascii_case("text/html"));
        let is_refused = |word: &str| {
            let weight = word.strip_prefix("q=").or_else(|| word.strip_prefix("Q="));
            weight.and_then(|weight| weight.parse::<f32>().ok()) == Some(0.0)
        };
        is_html && !words.any(is_refused)
    })
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(char),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> ErrorPage {
        let text: String = (1..=9).map(|n| format!("line {n} <\n")).collect();
        ErrorPage {
            status: StatusCode::INTERNAL_SERVER_ERROR,
            title: "ArgumentError".into(),
            message: "no <b>".into(),
            source: Some(SourceExcerpt::new("app.rb", 5, &text)),
            parts: vec![PagePart {
                heading: "Backtrace",
                lines: (0..20).map(|n| format!("app.rb:{n}")).collect(),
            }],
        }
    }

    #[test]
    fn text_is_short_and_shows_the_place_with_its_lines() {
        let text = page().text();
        let begin = "500 ArgumentError: no <b>\napp.rb:5\n\n     3  line 3 <\n     4  line 4 <\n>    5  line 5 <\n     6  line 6 <\n     7  line 7 <\n\nBacktrace\n  app.rb:0\n";
        assert!(text.starts_with(begin), "{text}");
        assert!(text.contains("app.rb:7\n  … 12 more"), "{text}");
    }

    #[test]
    fn password_of_a_url_is_shown_nowhere() {
        for (text, expected) in [
            ("no URL: a@b", "no URL: a@b"),
            ("http://host:80/a", "http://host:80/a"),
            (
                "DB.connect \"postgres://u:pw@db/x\", a",
                "DB.connect \"postgres://u:…@db/x\", a",
            ),
            (
                "postgres://u:p@s/w@db/x and redis://u@r",
                "postgres://u:…@db/x and redis://u@r",
            ),
            ("redis://:pw@r", "redis://:…@r"),
        ] {
            assert_eq!(without_passwords(text), expected);
        }
        let mut page = page();
        let line = "x \"postgres://u:secret@db/x\"".to_owned();
        page.message.clone_from(&line);
        page.source = Some(SourceExcerpt::new("app.rb", 1, &line));
        page.parts[0].lines = vec![line];
        let shown = page.without_passwords();
        for text in [shown.text(), shown.html()] {
            assert!(
                !text.contains("secret") && text.contains("postgres://u:…@db/x"),
                "{text}"
            );
        }
    }

    #[test]
    fn page_escapes_what_it_shows() {
        let html = page().html();
        assert!(html.contains("<p>no &lt;b&gt;</p>"), "{html}");
        assert!(html.contains("<mark>    5  line 5 &lt;\n</mark>"), "{html}");
        assert!(html.contains("    1  line 1"), "{html}");
        assert!(html.contains("app.rb:19</pre>"), "{html}");
    }

    #[test]
    fn place_at_either_end_of_a_file_is_shown() {
        for (line, expected) in [
            (1, vec![1, 2]),
            (2, vec![1, 2]),
            (0, vec![1, 2]),
            (9, vec![]),
        ] {
            let numbers = SourceExcerpt::new("app.rb", line, "a\nb").lines;
            let numbers: Vec<usize> = numbers.into_iter().map(|(number, _)| number).collect();
            assert_eq!(numbers, expected, "{line}");
        }
    }

    #[test]
    fn page_is_for_clients_that_name_html() {
        let check = |accept: &str, expected: bool| {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, accept.parse().unwrap());
            assert_eq!(accepts_html(&headers), expected, "{accept}");
        };
        check(
            "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
            true,
        );
        check("application/json, Text/HTML;q=0.5", true);
        check("text/html;q=0, */*", false);
        check("*/*", false);
        check("text/*", false);
        check("application/json", false);
        assert!(!accepts_html(&HeaderMap::new()));
    }
}
