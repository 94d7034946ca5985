//! The response to an unhandled exception: a bare 500 in production, all details in development. In which form they are sent is the server's.

use http::{HeaderMap, StatusCode};
use tsumugi_http::HttpResponse;
use tsumugi_mruby::{ExceptionReport, Raise, Scope};
use tsumugi_server::{ErrorPage, Mode, PagePart, SourceExcerpt};

use crate::frames;
use crate::host::Host;
use crate::resources::Resources;

/// Makes the response for an exception to a request with these header fields.
pub(crate) fn error_response(
    host: &Host,
    scope: &Scope<'_>,
    request: &HeaderMap,
    raised: Raise<'_>,
    report: &ExceptionReport,
) -> HttpResponse {
    if host.settings.mode == Mode::Production {
        return HttpResponse::internal_error();
    }
    let mut page = error_page(&host.resources, report);
    page.parts.splice(..0, statement(scope, raised));
    page.response(request)
}

/// What is told of an exception, with the source around the innermost frame of the application, from what was read when it was loaded.
pub(crate) fn error_page(resources: &Resources, report: &ExceptionReport) -> ErrorPage {
    // A file that cannot be compiled is not in the backtrace: its message begins with the place.
    let unread = Some(&report.message).filter(|_| report.class == "SyntaxError");
    let places = unread.into_iter().chain(&report.backtrace);
    let frames = frames::shown(report);
    let backtrace = (!frames.is_empty()).then_some(PagePart {
        heading: "Backtrace",
        lines: frames,
    });
    ErrorPage {
        status: StatusCode::INTERNAL_SERVER_ERROR,
        title: report.class.clone(),
        message: report.message.clone(),
        source: source(resources, places),
        parts: backtrace.into_iter().collect(),
    }
}

/// The source around the first of these places whose file was loaded; each begins with `file:line:`, or is that.
pub(crate) fn source<'p>(
    resources: &Resources,
    mut places: impl Iterator<Item = &'p String>,
) -> Option<SourceExcerpt> {
    places.find_map(|place| {
        let mut parts = place.splitn(3, ':');
        let (file, line) = (parts.next()?, parts.next()?.parse().ok()?);
        let text = resources.source(file)?;
        Some(SourceExcerpt::new(file, line, &text))
    })
}

/// The statement and its binds, for errors of a database.
fn statement(scope: &Scope<'_>, raised: Raise<'_>) -> Vec<PagePart> {
    let ivar = |name: &str| scope.ivar(raised.0, scope.intern(name));
    let Some(sql) = scope.text(ivar("@sql")) else {
        return Vec::new();
    };
    let mut parts = vec![PagePart {
        heading: "Statement",
        lines: sql.lines().map(str::to_owned).collect(),
    }];
    let binds = ivar("@binds");
    if !binds.is_nil()
        && let Ok(binds) = scope.text_by(binds, "inspect")
    {
        parts.push(PagePart {
            heading: "Values",
            lines: vec![binds],
        });
    }
    parts
}
