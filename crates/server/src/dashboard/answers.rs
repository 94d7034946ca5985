//! What an application answers to the dashboard from the databases, stores and jobs that it has, on its worker. Knows no language of applications.
//! Rule: everything here only reads, but for jobs that an operator retries or drops.

use serde_json::{Value, json};
use tsumugi_db::limits::STATEMENT_ORIGINAL_BYTES_MAX;
use tsumugi_db::statement_original;
use tsumugi_jobs::JobQueue;

use super::parts::{AdminParts, DROP, EXPLAIN, JOBS, RECORDS, RETRY, STORES, text};
use super::question::{AdminQuestion, QuestionAnswer as Answer, QuestionError};
use super::{stores, work};

/// Answers a question from what an application has.
pub(crate) async fn answer(parts: AdminParts, question: AdminQuestion) -> Answer {
    let AdminQuestion::Named { name, parameters } = question;
    match name {
        EXPLAIN => explain(parts, &parameters).await,
        STORES => Some(Ok(stores::shown(parts.stores).await)),
        RECORDS => stores::records(parts.stores, &parameters).await,
        JOBS => {
            let jobs = work::jobs(parts.jobs.first()?).await;
            Some(jobs.map_err(QuestionError::Refused))
        }
        RETRY | DROP => Some(change(parts.jobs.first()?, name, &parameters).await),
        _ => None,
    }
}

async fn explain(parts: AdminParts, parameters: &Value) -> Answer {
    let name = text(parameters, "database");
    let fingerprint = u64::from_str_radix(text(parameters, "fingerprint"), 16).ok();
    let mut databases = parts.databases.iter();
    let database = databases.find(|database| *database.name() == *name)?;
    let Some(sql) = fingerprint.and_then(|fingerprint| statement_original(name, fingerprint))
    else {
        let text = format!(
            "the text of this statement is not kept: it was counted anew, gave way to others, or has more than {STATEMENT_ORIGINAL_BYTES_MAX} bytes (STATEMENT_ORIGINAL_BYTES_MAX); a shorter one is there again once it has run"
        );
        return Some(Err(QuestionError::Absent(text)));
    };
    let plan = database.explain(&sql).await;
    Some(
        plan.map(|plan| json!({ "plan": plan }))
            .map_err(|error| QuestionError::Refused(error.to_string())),
    )
}

async fn change(queue: &JobQueue, name: &str, parameters: &Value) -> Result<Value, QuestionError> {
    let refused = |text: &str| Err(QuestionError::Refused(text.to_owned()));
    let id = parameters.get("id").and_then(work::id_of);
    let changed = match (name, id) {
        (RETRY, Some(id)) => queue.retry(id).await.map(u64::from),
        (RETRY, None) => match text(parameters, "kind") {
            "" => return refused("this takes the id of a job, or a kind"),
            kind => queue.retry_dead(kind).await,
        },
        (_, Some(id)) => queue.drop(id).await.map(u64::from),
        (_, None) => return refused("this takes the id of a job"),
    };
    match changed {
        Ok(0) => Err(QuestionError::Absent(
            "there is no such job, or it runs".to_owned(),
        )),
        Ok(changed) => Ok(json!({ "ok": true, "changed": changed })),
        Err(error) => Err(QuestionError::Refused(error.to_string())),
    }
}
