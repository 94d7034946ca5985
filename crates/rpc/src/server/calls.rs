//! Every call of the service by its message: finds the database, asks it, answers. Knows no connection.
//! What the database says is a status inside the answer; gRPC's own codes are for calls that reach none.

use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use futures_util::Stream;
use tonic::{Request, Response, Status, Streaming};
use tsumugi_kv::{self as kv, KvDatabase, Pair, Write, WriteResult};

use super::budget::Claim;
use super::conversation::StreamCall;
use super::cursor::Iteration;
use super::exchange::exchange;
use super::lane::{LaneStore, ServiceLane};
use super::outcome::{
    self, DatabaseError, missing, of_done, of_error, of_read, of_write, status, success,
};
use super::waiting::{self, WaitSubject};
use super::watch_count::WatchCount;
use super::{inspect, maintenance};
use crate::code::TkrzwCode;
use crate::proto::dbm_service_server::DbmService;
use crate::proto::*;

/// Reads or writes of one call on a database in memory between which others get their turn.
const RECORDS_PER_TURN: usize = 512;

/// Reads of one call on a database on disk that are done in place. More may mean as many looks at files.
const READS_IN_PLACE_MAX: usize = 32;

/// The service on one worker. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Calls {
    lane: Arc<ServiceLane>,
    /// Those of the connection.
    watches: Arc<WatchCount>,
}

/// An answer, with the bytes that it has claimed for its way out.
pub(crate) type Reply<T> = Result<(T, Claim), Status>;

type Answer<T> = Result<Response<T>, Status>;

/// Replies of a stream, as the generated code takes them.
type ReplyBoxStream<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

impl Calls {
    pub(crate) fn new(lane: Arc<ServiceLane>) -> Calls {
        let watches = Arc::default();
        Calls { lane, watches }
    }

    pub(crate) fn lane(&self) -> &Arc<ServiceLane> {
        &self.lane
    }

    pub(crate) fn watches(&self) -> &Arc<WatchCount> {
        &self.watches
    }

    pub(crate) fn store(&self, index: i32) -> Result<&LaneStore, Status> {
        self.lane.store(index)
    }

    /// Counts what the database said, on its way into the answer.
    pub(crate) fn count_status(&self, status: StatusProto) -> Option<StatusProto> {
        self.lane.figures.status(status.code);
        Some(status)
    }

    pub(crate) async fn written(
        &self,
        index: i32,
        write: Write,
        call: &'static str,
    ) -> Result<Option<StatusProto>, Status> {
        let written = self.submitted(index, write, call).await?;
        Ok(self.count_status(of_write(&written)))
    }

    /// What a write came to. `call` is the name of the call or of its request.
    pub(crate) async fn submitted(
        &self,
        index: i32,
        write: Write,
        call: &'static str,
    ) -> Result<Result<WriteResult, StatusProto>, Status> {
        let database = match self.store(index)? {
            LaneStore::Local(database) => database,
            LaneStore::Engine(engine) => {
                return Ok(Box::pin(engine.call(call).submit(write)).await);
            }
        };
        let written = match write {
            Write::Batch(writes) if database.is_in_memory() => {
                Ok(WriteResult::Each(in_turns(database, writes).await))
            }
            write => database.submit(write).await,
        };
        Ok(written.map_err(|error| of_error(&error)))
    }

    /// An answer that may be large.
    fn large<T>(&self, answer: T, bytes: usize) -> Reply<T> {
        Ok((answer, self.lane.claim(bytes)?))
    }

    /// Does what blocks away from the worker.
    async fn offloaded<T: Send + 'static>(
        &self,
        database: &KvDatabase,
        work: impl FnOnce(&KvDatabase) -> T + Send + 'static,
    ) -> Result<T, Status> {
        let database = database.clone();
        let done = self.lane.pool.run(move || work(&database)).await;
        done.map_err(|error| Status::resource_exhausted(error.to_string()))
    }
}

/// An answer that has claimed nothing.
pub(crate) fn small<T>(answer: T) -> Reply<T> {
    Ok((answer, Claim::default()))
}

/// Writes on their own, in order, and lets others have their turn in between. Who is not there any more leaves the rest unwritten.
async fn in_turns(database: &KvDatabase, writes: Vec<Write>) -> Vec<kv::Result<WriteResult>> {
    let mut each = Vec::with_capacity(writes.len());
    let mut writes = writes.into_iter();
    loop {
        let turn: Vec<Write> = writes.by_ref().take(RECORDS_PER_TURN).collect();
        match database.submit(Write::Batch(turn)).await {
            Ok(WriteResult::Each(written)) => each.extend(written),
            other => each.push(other),
        }
        if writes.len() == 0 {
            return each;
        }
        tokio::task::yield_now().await;
    }
}

/// What GetMulti has found so far.
struct FoundRecords {
    status: StatusProto,
    records: Vec<BytesPair>,
    bytes: usize,
    bytes_max: usize,
}

impl FoundRecords {
    fn new(bytes_max: usize) -> FoundRecords {
        FoundRecords {
            status: success(),
            records: Vec::new(),
            bytes: 0,
            bytes_max,
        }
    }

    /// What an engine has of those keys.
    fn of_pairs(pairs: Result<Vec<Pair>, StatusProto>, keys: usize) -> FoundRecords {
        let mut found = FoundRecords::new(0);
        match pairs {
            Ok(pairs) => {
                if pairs.len() < keys {
                    found.status = missing();
                }
                found.bytes = pairs
                    .iter()
                    .map(|(key, value)| key.len() + value.len())
                    .sum();
                let pair = |(first, second)| BytesPair { first, second };
                found.records = pairs.into_iter().map(pair).collect();
            }
            Err(status) => found.status = status,
        }
        found
    }

    /// Looks for further records, until they are more than an answer may hold.
    fn look(&mut self, database: &KvDatabase, keys: &[Bytes]) {
        for first in keys {
            if self.bytes > self.bytes_max {
                return;
            }
            let (read, value) = of_read(database.get(first));
            let code = self.status.code;
            match value {
                Some(second) => {
                    self.bytes += first.len() + second.len();
                    let first = first.clone();
                    self.records.push(BytesPair { first, second });
                }
                // An error comes before what is missing.
                None if code == TkrzwCode::Success as i32 || code == TkrzwCode::NotFound as i32 => {
                    self.status = read;
                }
                None => {}
            }
        }
    }
}

/// The time that PushLast names; `None` for now.
fn push_time(wtime: f64) -> Result<Option<SystemTime>, StatusProto> {
    if wtime < 0.0 {
        return Ok(None);
    }
    let since = Duration::try_from_secs_f64(wtime).ok();
    let at = since.and_then(|since| SystemTime::UNIX_EPOCH.checked_add(since));
    match at {
        Some(at) => Ok(Some(at)),
        None => Err(status(TkrzwCode::InvalidArgument, "wtime is no time")),
    }
}

fn count_of<E: DatabaseError>(count: Result<u64, E>) -> (StatusProto, i64) {
    match count {
        Ok(count) => (success(), i64::try_from(count).unwrap_or(i64::MAX)),
        Err(error) => (error.status(), 0),
    }
}

/// Calls that are one write each, and are answered by its status.
macro_rules! writes {
    ($($call:ident($request:ident) -> $answer:ident = $write:expr;)*) => {
        impl Calls {
            $(pub(crate) async fn $call(&self, request: $request) -> Reply<$answer> {
                let status = self
                    .written(request.dbm_index, $write(request), stringify!($request))
                    .await?;
                small($answer { status })
            })*
        }
    };
}

writes! {
    set(SetRequest) -> SetResponse = outcome::set;
    set_multi(SetMultiRequest) -> SetMultiResponse = outcome::set_each;
    remove(RemoveRequest) -> RemoveResponse = outcome::remove;
    remove_multi(RemoveMultiRequest) -> RemoveMultiResponse = outcome::remove_each;
    append(AppendRequest) -> AppendResponse = outcome::append;
    append_multi(AppendMultiRequest) -> AppendMultiResponse = outcome::append_each;
    compare_exchange_multi(CompareExchangeMultiRequest) -> CompareExchangeMultiResponse = outcome::exchange_each;
    rekey(RekeyRequest) -> RekeyResponse = outcome::rekey;
    clear(ClearRequest) -> ClearResponse = outcome::clear;
}

/// The other calls of one message and one answer.
impl Calls {
    pub(crate) async fn echo(&self, request: EchoRequest) -> Reply<EchoResponse> {
        let answer = outcome::echo(request);
        let bytes = answer.echo.len();
        self.large(answer, bytes)
    }

    pub(crate) async fn inspect(&self, request: InspectRequest) -> Reply<InspectResponse> {
        let index = request.dbm_index;
        // Away from the worker: sizes are looks at files.
        let records = if index < 0 {
            let engines = inspect::engine_counts(&self.lane).await;
            let lane = Arc::clone(&self.lane);
            let code = self.lane.pool.run(move || inspect::server(&lane, &engines));
            Ok(code
                .await
                .map_err(|error| Status::resource_exhausted(error.to_string()))?)
        } else {
            match self.store(index)? {
                LaneStore::Local(database) => {
                    Ok(self.offloaded(database, inspect::database).await?)
                }
                LaneStore::Engine(engine) => inspect::engine(engine).await,
            }
        };
        let (status, records) = match records {
            Ok(records) => (success(), records),
            Err(status) => (status, Vec::new()),
        };
        let status = self.count_status(status);
        small(InspectResponse { status, records })
    }

    pub(crate) async fn get(&self, request: GetRequest) -> Reply<GetResponse> {
        let (status, value) = match self.store(request.dbm_index)? {
            LaneStore::Local(database) => of_read(database.get(&request.key)),
            LaneStore::Engine(engine) => {
                of_read(Box::pin(engine.call("Get").get(request.key)).await)
            }
        };
        let value = value.filter(|_| !request.omit_value).unwrap_or_default();
        let bytes = value.len();
        let status = self.count_status(status);
        self.large(GetResponse { status, value }, bytes)
    }

    pub(crate) async fn get_multi(&self, request: GetMultiRequest) -> Reply<GetMultiResponse> {
        let mut found = FoundRecords::new(self.lane.shared.limits.message_bytes_max);
        let database = match self.store(request.dbm_index)? {
            LaneStore::Local(database) => database,
            LaneStore::Engine(engine) => {
                let count = request.keys.len();
                // Boxed, as everywhere: calls of databases here are not to be moved about with the room for those of engines.
                let engine = engine.call("GetMulti");
                let pairs = Box::pin(engine.records(request.keys)).await;
                return self.found(FoundRecords::of_pairs(pairs, count));
            }
        };
        if database.is_in_memory() {
            let mut turns = request.keys.chunks(RECORDS_PER_TURN).peekable();
            while let Some(keys) = turns.next() {
                found.look(database, keys);
                if turns.peek().is_some() {
                    tokio::task::yield_now().await;
                }
            }
        } else if request.keys.len() <= READS_IN_PLACE_MAX {
            found.look(database, &request.keys);
        } else {
            let look = move |database: &KvDatabase| {
                found.look(database, &request.keys);
                found
            };
            found = self.offloaded(database, look).await?;
        }
        self.found(found)
    }

    fn found(&self, found: FoundRecords) -> Reply<GetMultiResponse> {
        let status = self.count_status(found.status);
        let records = found.records;
        self.large(GetMultiResponse { status, records }, found.bytes)
    }

    pub(crate) async fn compare_exchange(
        &self,
        request: CompareExchangeRequest,
    ) -> Reply<CompareExchangeResponse> {
        let store = self.store(request.dbm_index)?;
        let (mut answer, exchanged) = exchange(&self.lane, store, request, None).await;
        answer.status = answer.status.and_then(|status| self.count_status(status));
        let claim = exchanged.claim(self.lane.claim(answer.actual.len()))?;
        Ok((answer, claim))
    }

    pub(crate) async fn increment(&self, request: IncrementRequest) -> Reply<IncrementResponse> {
        let write = outcome::increment(&request);
        let written = self
            .submitted(request.dbm_index, write, "Increment")
            .await?;
        small(IncrementResponse {
            status: self.count_status(of_write(&written)),
            current: outcome::number(&written),
        })
    }

    pub(crate) async fn pop_first(&self, request: PopFirstRequest) -> Reply<PopFirstResponse> {
        let wait = request.retry_wait;
        let popped = match self.store(request.dbm_index)? {
            LaneStore::Local(database) => {
                let subject = WaitSubject::Queue;
                let popped = waiting::write(&self.lane, database, subject, wait, Write::PopFirst);
                popped.await.map_err(|error| of_error(&error))
            }
            LaneStore::Engine(engine) => {
                let engine = engine.call("PopFirst");
                Box::pin(waiting::engine_pop(&self.lane, &engine, None, wait)).await
            }
        };
        let mut answer = PopFirstResponse::default();
        let status = match popped {
            Ok(WriteResult::Popped { key, value }) => {
                if !request.omit_key {
                    answer.key = key;
                }
                if !request.omit_value {
                    answer.value = value;
                }
                success()
            }
            Ok(_) => missing(),
            Err(status) => status,
        };
        answer.status = self.count_status(status);
        // The record is gone, so its answer is sent whatever else waits.
        let claim = self.lane.claim(answer.value.len()).unwrap_or_default();
        Ok((answer, claim))
    }

    pub(crate) async fn push_last(&self, request: PushLastRequest) -> Reply<PushLastResponse> {
        let status = match push_time(request.wtime) {
            Ok(at) => {
                let value = outcome::compact(request.value);
                let index = request.dbm_index;
                let push = Write::PushLast { value, at };
                let written = self.submitted(index, push, "PushLast").await?;
                // Those who wait at an engine see what is pushed.
                if let LaneStore::Local(database) = self.store(index)?
                    && request.notify
                    && written.is_ok()
                {
                    waiting::notify(database, WaitSubject::Queue);
                }
                of_write(&written)
            }
            Err(status) => {
                self.store(request.dbm_index)?;
                status
            }
        };
        let status = self.count_status(status);
        small(PushLastResponse { status })
    }

    pub(crate) async fn count(&self, request: CountRequest) -> Reply<CountResponse> {
        let (status, count) = match self.store(request.dbm_index)? {
            LaneStore::Local(database) => count_of(match database.known_count() {
                Some(count) => Ok(count),
                None => self.offloaded(database, KvDatabase::count).await?,
            }),
            LaneStore::Engine(engine) => count_of(engine.call("Count").count().await),
        };
        let status = self.count_status(status);
        small(CountResponse { status, count })
    }

    pub(crate) async fn get_file_size(
        &self,
        request: GetFileSizeRequest,
    ) -> Reply<GetFileSizeResponse> {
        let (status, file_size) = match self.store(request.dbm_index)? {
            LaneStore::Local(database) => {
                count_of(self.offloaded(database, KvDatabase::file_size).await?)
            }
            LaneStore::Engine(engine) => {
                let refused = "knows no size of its records alone";
                (engine.call("GetFileSize").refused(refused), 0)
            }
        };
        let status = self.count_status(status);
        small(GetFileSizeResponse { status, file_size })
    }

    pub(crate) async fn rebuild(&self, request: RebuildRequest) -> Reply<RebuildResponse> {
        let status = match self.store(request.dbm_index)? {
            LaneStore::Local(database) => {
                of_done(self.offloaded(database, KvDatabase::rebuild).await?)
            }
            LaneStore::Engine(engine) => engine
                .call("Rebuild")
                .refused("is put in order by those who run the server"),
        };
        let status = self.count_status(status);
        small(RebuildResponse { status })
    }

    pub(crate) async fn should_be_rebuilt(
        &self,
        request: ShouldBeRebuiltRequest,
    ) -> Reply<ShouldBeRebuiltResponse> {
        // What is on disk puts itself in order, and so does an engine.
        self.store(request.dbm_index)?;
        let status = self.count_status(success());
        small(ShouldBeRebuiltResponse {
            status,
            tobe: false,
        })
    }

    pub(crate) async fn synchronize(
        &self,
        request: SynchronizeRequest,
    ) -> Reply<SynchronizeResponse> {
        let status = match self.store(request.dbm_index)? {
            LaneStore::Local(database) => self.synchronized(database, &request).await?,
            LaneStore::Engine(engine) => {
                maintenance::synchronize_engine(&engine.call("Synchronize"), &request).await
            }
        };
        let status = self.count_status(status);
        small(SynchronizeResponse { status })
    }

    async fn synchronized(
        &self,
        database: &KvDatabase,
        request: &SynchronizeRequest,
    ) -> Result<StatusProto, Status> {
        let folder = match maintenance::backup(database, &request.params) {
            Ok(folder) => folder,
            Err(refused) => return Ok(refused),
        };
        let synchronized = match request.hard {
            true => database.synchronize().await.map(drop),
            false => Ok(()),
        };
        let done = match (synchronized, folder) {
            (Ok(()), Some(folder)) => {
                let backup = move |database: &KvDatabase| database.replace_backup(&folder);
                self.offloaded(database, backup).await?
            }
            (synchronized, _) => synchronized,
        };
        Ok(of_done(done))
    }

    pub(crate) async fn search(&self, request: SearchRequest) -> Reply<SearchResponse> {
        let store = self.store(request.dbm_index)?;
        let matched = match (maintenance::search(&request), store) {
            (Ok((mode, capacity)), LaneStore::Local(database)) => {
                let pattern = request.pattern;
                // Who drops the call drops this, and the search ends.
                let caller = Arc::new(());
                let waits = Arc::downgrade(&caller);
                let search = move |database: &KvDatabase| {
                    database.search(mode, &pattern, capacity, || waits.strong_count() > 0)
                };
                let matched = self.offloaded(database, search).await?;
                drop(caller);
                matched.map_err(|error| of_error(&error))
            }
            (Ok((_, capacity)), LaneStore::Engine(engine)) => {
                let limit = if capacity == 0 { usize::MAX } else { capacity };
                let engine = engine.call("Search");
                engine.search(request.mode, request.pattern, limit).await
            }
            (Err(refused), _) => Err(refused),
        };
        let (status, matched) = match matched {
            Ok(matched) => (success(), matched),
            Err(status) => (status, Vec::new()),
        };
        let bytes = matched.iter().map(Bytes::len).sum();
        let status = self.count_status(status);
        self.large(SearchResponse { status, matched }, bytes)
    }

    pub(crate) async fn change_master(
        &self,
        _: ChangeMasterRequest,
    ) -> Reply<ChangeMasterResponse> {
        Err(Status::unimplemented(
            "this server is no replica of another",
        ))
    }
}

/// The calls with streams, which the generated service knows.
#[tonic::async_trait]
impl DbmService for Calls {
    type StreamStream = StreamCall;
    type IterateStream = Iteration;
    type ReplicateStream = ReplyBoxStream<ReplicateResponse>;

    async fn stream(&self, request: Request<Streaming<StreamRequest>>) -> Answer<StreamCall> {
        Ok(Response::new(StreamCall::new(
            Arc::clone(&self.lane),
            request.into_inner(),
        )))
    }

    async fn iterate(&self, request: Request<Streaming<IterateRequest>>) -> Answer<Iteration> {
        Ok(Response::new(Iteration::new(
            Arc::clone(&self.lane),
            request.into_inner(),
        )))
    }

    async fn replicate(&self, _: Request<ReplicateRequest>) -> Answer<Self::ReplicateStream> {
        Err(Status::failed_precondition(
            "this server keeps no log to replicate from",
        ))
    }
}
