//! The trace of a job: what is under way where it is pushed, kept in its row, and read where it runs. Records nothing itself.
//! Rule: what is malformed is as good as absent; then the job begins a trace of its own.

use tsumugi_trace::{Activity, ActivityKind, ActivityStart, OwnedActivity, Subject, TraceParent};

/// What is under way here, as a job's row keeps it: the value of `traceparent`, and behind a space that of `tracestate`, if there is one.
pub(crate) fn trace_here() -> Option<String> {
    let activity = tsumugi_trace::current()?;
    let parent = activity.as_parent();
    Some(match activity.trace_state() {
        Some(state) => format!("{parent} {state}"),
        None => parent.to_string(),
    })
}

/// Begins the activity of a job, as a part of the trace of what has pushed it.
pub(crate) fn begin_job(name: &str, trace: Option<&str>) -> OwnedActivity {
    let (parent, state) = trace.map_or((None, None), read);
    Activity::begin(ActivityStart {
        kind: ActivityKind::Job,
        subject: Subject::Named(name.into()),
        number: None,
        given_id: None,
        parent,
        trace_state: parent.and(state),
        started_at: std::time::Instant::now(),
    })
}

fn read(trace: &str) -> (Option<TraceParent>, Option<Box<str>>) {
    let (parent, state) = match trace.split_once(' ') {
        Some((parent, state)) => (parent, Some(state.into())),
        None => (trace, None),
    };
    (TraceParent::parse(parent.as_bytes()), state)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn job_is_a_part_of_the_trace_in_its_row_and_has_an_id_of_its_own() {
        assert_eq!(trace_here(), None);
        let row = format!("{PARENT} vendor=1");
        let first = begin_job("thumbnail", Some(&row));
        assert_eq!(first.trace_state(), Some("vendor=1"));
        let pushed = first.enter(trace_here).unwrap();
        let (trace, own) = (first.trace_id(), first.span_id());
        assert_eq!(trace.to_string(), "0af7651916cd43dd8448eb211c80319c");
        assert_eq!(pushed, format!("00-{trace}-{own}-01 vendor=1"));
        let second = begin_job("thumbnail", Some(&pushed));
        assert_eq!(second.trace_id(), trace);
        assert_ne!(second.id().to_string(), first.id().to_string());
    }

    #[test]
    fn row_without_a_trace_or_with_a_malformed_one_begins_a_trace() {
        for row in [None, Some(""), Some("00-0-0-01 vendor=1"), Some("紡ぎ")] {
            let job = begin_job("thumbnail", row);
            assert_ne!(
                job.trace_id().to_string(),
                "0af7651916cd43dd8448eb211c80319c"
            );
            assert_eq!(job.trace_state(), None);
        }
    }
}
