//! The response to an unhandled exception: a bare 500 in production, all details in development.

use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderValue};
use tsumugi_http::HttpResponse;
use tsumugi_mruby::{ExceptionReport, Raise, Scope};
use tsumugi_server::Mode;

use crate::frames;
use crate::host::Host;
use crate::natives::standard::html_escape;

/// Lines of source shown before and after the one that raised.
const SOURCE_LINES_AROUND: usize = 4;

/// Makes the response for an exception.
pub(crate) fn error_page(
    host: &Host,
    scope: &Scope<'_>,
    raised: Raise<'_>,
    report: &ExceptionReport,
) -> HttpResponse {
    if host.settings.mode == Mode::Production {
        return HttpResponse::internal_error();
    }
    let mut page = String::from(HEAD);
    page.push_str(&format!(
        "<h1>{}</h1><p>{}</p>",
        escape(&report.class),
        escape(&report.message)
    ));
    source(&mut page, host, report);
    statement(&mut page, scope, raised);
    page.push_str("<h2>Backtrace</h2><ol>");
    for frame in &frames::shown(report) {
        page.push_str(&format!("<li><code>{}</code></li>", escape(frame)));
    }
    page.push_str("</ol></body></html>");
    HttpResponse::new(StatusCode::INTERNAL_SERVER_ERROR, page).with(
        CONTENT_TYPE,
        HeaderValue::from_static("text/html; charset=utf-8"),
    )
}

const HEAD: &str = "<!doctype html><html lang=en><meta charset=utf-8><title>Error</title>\
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark}\
pre{padding:1rem;overflow:auto;border:1px solid #8886;border-radius:6px}mark{background:#e5484d33;color:inherit}</style><body>";

/// The source around the innermost frame of the application, from what was read when it was loaded.
fn source(page: &mut String, host: &Host, report: &ExceptionReport) {
    // A file that cannot be compiled is not in the backtrace: its message begins with the place.
    let unread = Some(&report.message).filter(|_| report.class == "SyntaxError");
    let mut places = unread.into_iter().chain(&report.backtrace);
    let found = places.find_map(|place| {
        let mut parts = place.splitn(3, ':');
        let (file, line) = (parts.next()?, parts.next()?.parse::<usize>().ok()?);
        Some((file.to_owned(), line, host.resources.source(file)?))
    });
    let Some((file, line, text)) = found else {
        return;
    };
    page.push_str(&format!(
        "<h2><code>{}:{line}</code></h2><pre>",
        escape(&file)
    ));
    let first = line.saturating_sub(SOURCE_LINES_AROUND).max(1);
    for (i, text) in text
        .lines()
        .enumerate()
        .skip(first - 1)
        .take(2 * SOURCE_LINES_AROUND + 1)
    {
        let shown = format!("{:>5}  {}\n", i + 1, escape(text));
        page.push_str(&match i + 1 == line {
            true => format!("<mark>{shown}</mark>"),
            false => shown,
        });
    }
    page.push_str("</pre>");
}

/// The statement and its binds, for errors of a database.
fn statement(page: &mut String, scope: &Scope<'_>, raised: Raise<'_>) {
    let ivar = |name: &str| scope.ivar(raised.0, scope.intern(name));
    if let Some(sql) = scope.text(ivar("@sql")) {
        page.push_str(&format!("<h2>Statement</h2><pre>{}</pre>", escape(&sql)));
        let binds = ivar("@binds");
        if !binds.is_nil()
            && let Ok(binds) = scope.text_by(binds, "inspect")
        {
            page.push_str(&format!("<p>Values: <code>{}</code></p>", escape(&binds)));
        }
    }
}

fn escape(text: &str) -> String {
    String::from_utf8_lossy(&html_escape(text.as_bytes())).into_owned()
}
