//! What a call costs: a server on one thread and clients on another, in one process, over a UNIX socket or TCP. Prints calls a second.
//! usage: load [KIND] [CALLS] [IN_FLIGHT] [ADDRESS]; KIND is echo, set, get or stream; IN_FLIGHT is how many calls are under way.

use std::num::NonZeroUsize;
use std::time::Instant;

use futures_util::stream::{self, StreamExt as _};
use tokio::task::LocalSet;
use tsumugi_kv::{KvDatabase, SetMode, Spec};
use tsumugi_rpc::client::Options;
use tsumugi_rpc::proto::stream_request::RequestOneof;
use tsumugi_rpc::proto::{GetRequest, StreamRequest};
use tsumugi_rpc::server::{ServedStore, ServiceSettings};
use tsumugi_rpc::{Client, RpcTarget};
use tsumugi_worker::{BoundServer, Config, ListenAddress};

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome {
    let mut words = std::env::args().skip(1);
    let kind = words.next().unwrap_or_else(|| "get".to_owned());
    let calls: usize = words.next().map_or(Ok(100_000), |word| word.parse())?;
    let in_flight: usize = words.next().map_or(Ok(1), |word| word.parse())?;
    let address: ListenAddress = words
        .next()
        .unwrap_or_else(|| "127.0.0.1:0".to_owned())
        .parse()?;
    let server = BoundServer::bind(Config {
        workers: NonZeroUsize::MIN,
        listen: vec![address],
        ..Config::default()
    })?;
    let target: RpcTarget = match server.addresses() {
        [ListenAddress::Tcp(address)] => format!("tkrzw://{address}").parse()?,
        [ListenAddress::Unix(path)] => format!("tkrzw+unix:{}", path.display()).parse()?,
        _ => return Err("one address".into()),
    };
    let handle = server.handle();
    let store = ServedStore::new(ServiceSettings {
        databases: vec![KvDatabase::open(&Spec::memory())?.into()],
        ..ServiceSettings::default()
    })?;
    let thread =
        std::thread::spawn(move || server.run(move |worker| store.service(worker)).is_ok());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let seconds = LocalSet::new().block_on(&runtime, measure(target, &kind, calls, in_flight))?;
    println!(
        "{kind} {in_flight} in flight: {:.0} calls/s",
        calls as f64 / seconds
    );
    handle.drain();
    drop(runtime);
    let _ = thread.join();
    Ok(())
}

async fn measure(target: RpcTarget, kind: &str, calls: usize, in_flight: usize) -> Outcome<f64> {
    let client = Client::new(target, Options::default())?;
    for number in 0..1_000_u32 {
        client
            .set(key(number), "12345678", SetMode::Overwrite)
            .await?;
    }
    let begun = Instant::now();
    if kind == "stream" {
        streamed(&client, calls, in_flight).await?;
        return Ok(begun.elapsed().as_secs_f64());
    }
    let call = |number: usize| {
        let client = client.clone();
        async move {
            let key = key(number as u32 % 1_000);
            match kind {
                "echo" => client.echo("12345678").await.map(drop),
                "set" => client
                    .set(key, "12345678", SetMode::Overwrite)
                    .await
                    .map(drop),
                _ => client.get(key).await.map(drop),
            }
        }
    };
    let mut calls = stream::iter((0..calls).map(call)).buffer_unordered(in_flight);
    while let Some(done) = calls.next().await {
        done?;
    }
    Ok(begun.elapsed().as_secs_f64())
}

async fn streamed(client: &Client, calls: usize, in_flight: usize) -> Outcome {
    let mut stream = client.stream(in_flight).await?;
    let mut sent = 0;
    for _ in 0..calls {
        while sent < calls && !stream.is_full() {
            let request = GetRequest {
                dbm_index: 0,
                key: key(sent as u32 % 1_000).into(),
                omit_value: false,
            };
            let request = StreamRequest {
                omit_response: false,
                request_oneof: Some(RequestOneof::GetRequest(request)),
            };
            stream.send(&request).await?;
            sent += 1;
        }
        stream.receive().await?;
    }
    stream.finish().await?;
    Ok(())
}

fn key(number: u32) -> Vec<u8> {
    format!("{number:08}").into_bytes()
}
