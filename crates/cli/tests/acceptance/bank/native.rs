//! The bank of bank.rb in Rust, as a process of this test's program. Rule: the same paths, the same tables, the same answers in the same cases.

use tsumugi::cluster::Error as ClusterError;
use tsumugi::db::{Isolation, PipelineAtomicity, ReadTarget, SqlText, Value};
use tsumugi::prelude::*;

/// What its command line is, between lines.
pub const ARGUMENTS: &str = "BANK_ARGUMENTS";

const ENTRY: &str = "insert into entries (key, part, client, sequence, source, target, amount) values (?, ?, ?, ?, ?, ?, ?)";

struct Bank {
    db: Db,
    cluster: Cluster,
    name: String,
}

impl Plugin for Bank {
    async fn start(worker: &Worker) -> Result<Bank> {
        let mut options = Options::default();
        options.reads = ReadTarget::Replica;
        let db = Db::connect(&worker.env("BANK_DATABASE")?, options).await?;
        worker.use_cluster(Cluster::over(&db)?);
        let (cluster, name) = (worker.cluster(), worker.env("BANK_NAME")?);
        Ok(Bank { db, cluster, name })
    }
}

#[derive(Deserialize)]
#[serde(crate = "tsumugi::serde")]
struct Entry {
    key: String,
    client: i64,
    sequence: i64,
}

#[derive(Deserialize)]
#[serde(crate = "tsumugi::serde")]
struct Transfer {
    key: String,
    client: i64,
    sequence: i64,
    source: i64,
    target: i64,
    amount: i64,
    serializable: bool,
}

#[derive(Deserialize)]
#[serde(crate = "tsumugi::serde")]
struct Client {
    client: i64,
}

#[derive(Deserialize)]
#[serde(crate = "tsumugi::serde")]
struct Visit {
    visit: i64,
}

fn note(entry: &Entry, part: i64) -> Vec<Value> {
    let none = None::<i64>;
    values![
        entry.key.clone(),
        part,
        entry.client,
        entry.sequence,
        none,
        none,
        none
    ]
}

async fn transfer(bank: State<Bank>, Query(t): Query<Transfer>) -> Result<&'static str> {
    let mut options = TransactionOptions::default();
    options.isolation = match t.serializable {
        true => Isolation::Serializable,
        false => Isolation::ReadCommitted,
    };
    bank.db
        .tx_with_retries(3, options, async |tx: &Tx| {
            let take = "update accounts set balance = balance - ? where id = ? and balance >= ?";
            let took = tx
                .execute(take, values![t.amount, t.source, t.amount])
                .await?;
            if took.affected == 0 {
                return Err(Error::conflict("not-kept insufficient funds"));
            }
            let give = "update accounts set balance = balance + ? where id = ?";
            tx.execute(give, values![t.amount, t.target]).await?;
            let entry = values![
                t.key.clone(),
                0,
                t.client,
                t.sequence,
                t.source,
                t.target,
                t.amount
            ];
            tx.execute(ENTRY, entry).await?;
            Ok(())
        })
        .await?;
    Ok("committed")
}

async fn single(bank: State<Bank>, Query(entry): Query<Entry>) -> Result<&'static str> {
    bank.db.execute(ENTRY, note(&entry, 0)).await?;
    Ok("committed")
}

async fn pair(bank: State<Bank>, Query(entry): Query<Entry>) -> Result<&'static str> {
    let statement = |part| -> (SqlText, Vec<Value>) { (ENTRY.into(), note(&entry, part)) };
    let both = vec![statement(1), statement(2)];
    for outcome in bank.db.pipeline(both, PipelineAtomicity::All).await? {
        outcome?;
    }
    Ok("committed")
}

async fn numbers(bank: &Bank, sql: &str, values: Vec<Value>) -> Result<String> {
    let rows = bank.db.read().query(sql, values).await?;
    let row = rows.first().ok_or_else(|| Error::not_found("no row"))?;
    let mut text = "read".to_owned();
    for value in (0..).map_while(|column| row.value(column)) {
        text += &format!(" {}", value.as_integer().unwrap_or(-1));
    }
    Ok(text)
}

async fn last(bank: State<Bank>, Query(of): Query<Client>) -> Result<String> {
    let sql = "select coalesce(max(sequence), 0) as last, pg_is_in_recovery()::int as standby from entries where client = ?";
    numbers(&bank, sql, values![of.client]).await
}

async fn sum(bank: State<Bank>) -> Result<String> {
    numbers(
        &bank,
        "select sum(balance)::bigint as sum from accounts",
        Vec::new(),
    )
    .await
}

async fn visit(session: Session, Query(to): Query<Visit>) -> Result<&'static str> {
    session.set("visit", to.visit).await?;
    Ok("committed")
}

async fn visited(session: Session) -> Result<String> {
    Ok(format!(
        "read {}",
        session.get::<i64>("visit")?.unwrap_or(0)
    ))
}

async fn tick(bank: &Bank) -> Result<()> {
    let wait = LockWait::UpTo(Duration::ZERO);
    let ttl = Duration::from_secs(3);
    let beats = async |token| {
        let begin = "insert into ticks (name, token, began) values (?, ?, clock_timestamp())";
        bank.db
            .tx(async |tx: &Tx| {
                tx.fence("beat", token).await?;
                tx.execute(begin, values![bank.name.clone(), token]).await?;
                Ok::<_, Error>(())
            })
            .await?;
        let mark = "insert into marks (token, at) values (?, clock_timestamp())";
        for _ in 0..4 {
            sleep(Duration::from_millis(100)).await;
            bank.db
                .tx(async |tx: &Tx| {
                    tx.fence("beat", token).await?;
                    tx.execute(mark, values![token]).await?;
                    Ok::<_, Error>(())
                })
                .await?;
        }
        Ok::<_, Error>(())
    };
    bank.cluster.lock("beat", ttl, wait, beats).await?
}

/// Whether the database is certain, and why there is no answer of the ordinary kind.
fn refusal(error: Error) -> (u16, String) {
    let error = match error {
        Error::Refused { status, message } => return (status.as_u16(), message.into_owned()),
        Error::Db(error) | Error::Cluster(ClusterError::Database(error)) => error,
        error => return (503, format!("unknown {error}")),
    };
    let text = error.to_string();
    let is_certain = !matches!(error, DbError::CommitUnknown { .. })
        && !text.contains("may or may not have run");
    let said = match is_certain {
        true => "not-kept",
        false => "unknown",
    };
    (503, format!("{said} {}: {text}", error.kind()))
}

fn routes() -> Router<Bank> {
    let sessions = std::env::var("BANK_SESSIONS").expect("the test says where they are");
    Router::new()
        .sessions(Sessions::in_store(sessions))
        .map_err(refusal)
        .route("/name", get(async |bank: State<Bank>| bank.name.clone()))
        .route("/transfer", post(transfer))
        .route("/note", post(single))
        .route("/pair", post(pair))
        .route("/last", get(last))
        .route("/sum", get(sum))
        .route("/visit", get(visited).post(visit))
        .every(
            Duration::from_secs(1),
            On::OneInCluster { name: "beat" },
            async |bank: &Bank| tick(bank).await,
        )
}

/// Serves until it is ended, if this process was started for it.
pub fn serve_if_asked() {
    let Ok(arguments) = std::env::var(ARGUMENTS) else {
        return;
    };
    let arguments = ["bank"].into_iter().chain(arguments.lines());
    let _ended = tsumugi::Commands::new(routes).main_with(arguments.map(Into::into));
}
