//! A line echo server on a thread per core: `cargo run -p tsumugi-worker --example echo -- 127.0.0.1:7000`.
//! Shows the least that a service is; the line `sleep N` waits N milliseconds before its echo.
#![forbid(unsafe_code)]

use std::process::ExitCode;
use std::rc::Rc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tsumugi_worker::{
    BoundServer, BoxError, Config, Connection, Current, Signals, WorkerHandle, WorkerService,
};

struct Echo {
    worker: WorkerHandle,
}

impl WorkerService for Echo {
    type App = ();

    async fn load(&self) -> Result<Rc<()>, BoxError> {
        // Read by the process that started this one, which wants to know of every load.
        println!("loaded on worker {}", self.worker.id());
        Ok(Rc::new(()))
    }

    async fn serve(&self, connection: Connection, _app: Current<()>) {
        let Connection { stream, slot, .. } = connection;
        let mut stream = BufReader::new(stream);
        let mut line = String::new();
        let mut echoed = false;
        loop {
            line.clear();
            let read = tokio::select! {
                read = stream.read_line(&mut line) => read,
                // A client whose first line is still on its way has been accepted by the kernel.
                () = self.worker.drain_started(), if echoed => break,
            };
            if !matches!(read, Ok(1..)) {
                break;
            }
            echoed = true;
            if let Some(Ok(pause_ms)) = line.trim().strip_prefix("sleep ").map(str::parse) {
                self.worker.sleep(Duration::from_millis(pause_ms)).await;
            }
            if stream.write_all(line.as_bytes()).await.is_err() {
                break;
            }
        }
        drop(slot);
    }

    async fn retire(&self, _app: Rc<()>) {}
}

fn main() -> ExitCode {
    match serve(std::env::args().skip(1)) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("echo: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Serves on these addresses until a signal; its exit code.
pub fn serve(addresses: impl Iterator<Item = String>) -> Result<u8, BoxError> {
    let mut config = Config {
        signals: Signals::Handle,
        ..Config::default()
    };
    for address in addresses {
        config.listen.push(address.parse()?);
    }
    let server = BoundServer::bind(config)?;
    for address in server.addresses() {
        println!("listening on {address}");
    }
    let exit = server.run(|worker| Echo {
        worker: worker.clone(),
    })?;
    println!("{exit:?}");
    Ok(exit.code())
}
