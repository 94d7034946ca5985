//! A service of an engine that the test plays: what it cannot do, what it does not answer, what it lost. Engines that exist are tested with
//! `tsumugi-stores`.

use std::num::NonZeroUsize;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use tsumugi_kv::{
    ChangeEvent, Desired, Expected, KeyRange, Lifetime, Pair, RekeySource, SetMode, Write,
    WriteResult,
};
use tsumugi_rpc::client::CompareExchange;
use tsumugi_rpc::proto::*;
use tsumugi_rpc::server::{
    EngineError, EngineSource, EngineWatch, RemoteEngine, RemoteFuture, ServedDatabase,
    ServedStore, ServiceSettings,
};
use tsumugi_rpc::{Client, Error, TkrzwCode};
use tsumugi_testkit::pause;
use tsumugi_worker::{BoundServer, Config, Pool, Signals};

use crate::rig::{Rig, on_loop};

/// An engine that knows nothing but `get`, `set` and watches. It takes no batch but of sets.
struct TestEngine;

/// Where it is.
struct TestSource {
    opens: bool,
}

fn answer<T: 'static>(answer: Result<T, EngineError>) -> RemoteFuture<T> {
    Box::pin(std::future::ready(answer))
}

fn cannot<T: 'static>() -> RemoteFuture<T> {
    let text = "a store of tests has none of it";
    answer(Err(EngineError::new(TkrzwCode::NotImplemented, text)))
}

fn lost() -> EngineError {
    let text = "a store of tests is away; a write may or may not have taken place";
    EngineError::new(TkrzwCode::Network, text)
}

impl EngineSource for TestSource {
    fn place(&self) -> String {
        "test://here".to_owned()
    }

    fn engine(&self) -> &'static str {
        "a store of tests"
    }

    fn open(&self, _: &Pool) -> RemoteFuture<Rc<dyn RemoteEngine>> {
        let opened: Rc<dyn RemoteEngine> = Rc::new(TestEngine);
        answer(if self.opens { Ok(opened) } else { Err(lost()) })
    }
}

impl RemoteEngine for TestEngine {
    fn get(&self, key: Bytes) -> RemoteFuture<Option<Bytes>> {
        match &key[..] {
            b"never" => Box::pin(std::future::pending()),
            b"lost" => answer(Err(lost())),
            _ => answer(Ok(Some(key))),
        }
    }

    fn lifetime(&self, _: Bytes) -> RemoteFuture<Option<Lifetime>> {
        cannot()
    }

    fn records(&self, keys: Vec<Bytes>) -> RemoteFuture<Vec<Pair>> {
        answer(Ok(keys.into_iter().map(|key| (key.clone(), key)).collect()))
    }

    fn write(&self, write: Write) -> RemoteFuture<WriteResult> {
        match write {
            Write::Set { key, .. } | Write::Append { key, .. } if key == "lost" => {
                answer(Err(lost()))
            }
            Write::Set { .. } => answer(Ok(WriteResult::Done)),
            Write::Append { key, .. } if key != "k" => answer(Ok(WriteResult::Done)),
            _ => cannot(),
        }
    }

    fn pop(&self, _: Option<Bytes>, _: Duration) -> RemoteFuture<WriteResult> {
        cannot()
    }

    fn page(&self, _: KeyRange, _: usize) -> RemoteFuture<Vec<Pair>> {
        cannot()
    }

    fn count(&self) -> RemoteFuture<u64> {
        cannot()
    }

    fn search(&self, _: String, _: Bytes, _: usize) -> RemoteFuture<Vec<Bytes>> {
        cannot()
    }

    fn synchronize(&self) -> RemoteFuture<()> {
        cannot()
    }

    fn backup(&self) -> RemoteFuture<()> {
        cannot()
    }

    fn inspect(&self) -> RemoteFuture<Vec<(String, String)>> {
        answer(Ok(vec![("engine".to_owned(), "test".to_owned())]))
    }

    fn watch(&self, prefix: Bytes) -> RemoteFuture<Box<dyn EngineWatch>> {
        match prefix.is_empty() {
            true => cannot(),
            false => answer(Ok(Box::new(TestWatch { key: Some(prefix) }))),
        }
    }
}

/// One change, and then the engine is lost.
struct TestWatch {
    key: Option<Bytes>,
}

impl EngineWatch for TestWatch {
    fn next(
        &mut self,
    ) -> std::pin::Pin<Box<dyn Future<Output = Result<ChangeEvent, EngineError>> + '_>> {
        let change = self.key.take().map(ChangeEvent::Put);
        Box::pin(std::future::ready(change.ok_or_else(lost)))
    }
}

fn serve(calls_max: usize) -> Rig {
    Rig::with(move |settings, _, _| {
        settings.databases = vec![ServedDatabase::engine(TestSource { opens: true })];
        settings.limits.engine_calls_max = calls_max;
    })
}

fn with(work: impl AsyncFnOnce(Client)) {
    let rig = serve(16);
    on_loop(async { work(rig.client()).await });
}

/// Its code and its text.
fn status<T: std::fmt::Debug>(answer: Result<T, Error>) -> (TkrzwCode, String) {
    match answer {
        Err(Error::Database { code, message }) => (code, message),
        other => panic!("{other:?}"),
    }
}

#[test]
fn call_that_an_engine_cannot_do_is_not_implemented_with_the_names_of_both() {
    with(async |kv| {
        let exchange = CompareExchange::new("k", Expected::Any, Desired::Keep);
        let backup = SynchronizeRequest {
            params: vec![StringPair {
                first: "make_backup".to_owned(),
                second: String::new(),
            }],
            ..SynchronizeRequest::default()
        };
        let backup = kv.call::<_, SynchronizeResponse>("Synchronize", &backup);
        let backup = backup.await.map(|answer| {
            let status = answer.status.unwrap();
            (TkrzwCode::of(status.code), status.message)
        });
        let rekey = kv.rekey("a", "b", SetMode::Overwrite, RekeySource::Move);
        let wait = Duration::from_secs(60);
        let refusals = [
            (
                "CompareExchange",
                status(kv.compare_exchange(exchange).await),
            ),
            ("Increment", status(kv.increment("n", 1, 0).await)),
            ("Append", status(kv.append("k", "v", "").await)),
            ("Rekey", status(rekey.await)),
            ("PopFirst", status(kv.pop_first(wait).await)),
            ("PushLast", status(kv.push_last("v", None).await)),
            ("Push", status(kv.push("q", "v").await)),
            ("Pop", status(kv.pop("q", wait).await)),
            ("Touch", status(kv.touch("k", None).await)),
            ("Lifetime", status(kv.lifetime("k").await)),
            ("Count", status(kv.count().await)),
            ("Clear", status(kv.clear().await)),
            ("GetFileSize", status(kv.file_size().await)),
            ("Rebuild", status(kv.rebuild().await)),
            ("Synchronize", status(kv.synchronize().await)),
            ("Synchronize", backup.unwrap()),
            ("Search", status(kv.search("contain", "a", 0).await)),
        ];
        for (call, (code, text)) in refusals {
            assert_eq!(code, TkrzwCode::NotImplemented, "{call}: {text}");
            let expected = format!("{call}: a store of tests ");
            assert!(text.starts_with(&expected), "{call}: {text}");
        }
        let mut cursor = kv.iterate(11).await.unwrap();
        for operation in 1..=11 {
            let request = IterateRequest {
                operation,
                ..IterateRequest::default()
            };
            cursor.send(&request).await.unwrap();
        }
        for answer in cursor.finish().await.unwrap() {
            let status = answer.status.unwrap();
            assert_eq!(TkrzwCode::of(status.code), TkrzwCode::NotImplemented);
            assert!(
                status.message.starts_with("Iterate: "),
                "{}",
                status.message
            );
        }
        let watch = kv.watch("").await.err().unwrap();
        assert!(matches!(watch, Error::Unsupported { .. }), "{watch}");
        assert!(watch.to_string().contains("a store of tests"), "{watch}");
    });
}

#[test]
fn engine_that_is_away_fails_its_call_and_nothing_else() {
    with(async |kv| {
        for answer in [
            status(kv.get("lost").await),
            status(kv.set("lost", "v", SetMode::Overwrite).await),
        ] {
            assert_eq!(answer.0, TkrzwCode::Network);
            assert!(answer.1.contains("may or may not"), "{}", answer.1);
        }
        assert_eq!(kv.get("a").await.unwrap().unwrap(), "a");
        assert!(kv.set("a", "v", SetMode::Overwrite).await.unwrap());
        kv.echo("here").await.unwrap();
    });
}

#[test]
fn batch_that_an_engine_has_not_is_done_one_by_one_and_says_how_far_it_came() {
    with(async |kv| {
        let append = async |keys: &[&'static str]| {
            let records = keys.iter().map(|key| (Bytes::from(*key), Bytes::from("v")));
            kv.append_multi(records.collect::<Vec<_>>(), ",".into())
                .await
        };
        append(&["a", "b", "c"]).await.unwrap();
        let (code, text) = status(append(&["a", "b", "lost", "z"]).await);
        assert_eq!(code, TkrzwCode::Network);
        assert!(text.contains("may or may not"), "{text}");
        assert!(text.ends_with("2 of 4 writes were done before"), "{text}");
    });
}

#[test]
fn watch_whose_engine_is_lost_begins_again_with_a_gap() {
    with(async |kv| {
        let mut watch = kv.watch("k").await.unwrap();
        for _ in 0..2 {
            assert_eq!(watch.next().await.unwrap(), ChangeEvent::Put("k".into()));
            assert_eq!(watch.next().await.unwrap(), ChangeEvent::Gap);
        }
    });
}

#[test]
fn call_beyond_engine_calls_max_is_refused_by_its_name_until_another_has_gone() {
    let rig = serve(1);
    on_loop(async {
        let kv = rig.client();
        let other = kv.clone();
        // Refused as long as the other one comes first.
        let waiting =
            tokio::task::spawn_local(async move { while other.get("never").await.is_err() {} });
        let refused = loop {
            match kv.get("a").await {
                Ok(_) => tokio::task::yield_now().await,
                Err(error) => break error.to_string(),
            }
        };
        assert!(refused.contains("engine_calls_max"), "{refused}");
        waiting.abort();
        while kv.get("a").await.is_err() {
            pause();
        }
    });
}

#[test]
fn engine_is_inspected_by_the_names_of_a_database() {
    with(async |kv| {
        let server = kv.at(-1).inspect().await.unwrap();
        let engine = kv.inspect().await.unwrap();
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert!(server.contains(&pair("dbm_0_path", "test://here")));
        for expected in [
            pair("path", "test://here"),
            pair("class", "Engine"),
            pair("healthy", "true"),
            pair("engine", "test"),
        ] {
            assert!(engine.contains(&expected), "{engine:?}");
        }
    });
}

#[test]
fn engine_that_cannot_be_opened_ends_the_start_with_its_place() {
    let settings = ServiceSettings {
        databases: vec![ServedDatabase::engine(TestSource { opens: false })],
        ..ServiceSettings::default()
    };
    let config = Config {
        workers: NonZeroUsize::MIN,
        listen: vec!["127.0.0.1:0".parse().unwrap()],
        signals: Signals::Leave,
        ..Config::default()
    };
    let server = BoundServer::bind(config).unwrap();
    let store = ServedStore::new(settings).unwrap();
    let error = server.run(move |worker| store.service(worker)).unwrap_err();
    let mut text = error.to_string();
    let mut source = std::error::Error::source(&error);
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    assert!(
        text.contains("cannot open test://here: a store of tests is away"),
        "{text}"
    );
}
