//! What is held is counted, and comes back to the plugin alone. In the same process; the server under load is another matter.
//! One test, because the counters are the process's.

use std::future::IntoFuture as _;

use tsumugi::tokio;
use tsumugi::trial;

use crate::{Counts, routes};

#[test]
fn resources_of_clients_that_leave_return_to_zero() {
    trial::run(routes, async |client| {
        let live = async || client.get("/live").await.json::<Counts>();
        let mut socket = client.get("/socket").websocket().await.unwrap();
        socket.send("a").await.unwrap();
        assert_eq!(socket.receive().await, Ok("a".into()));
        assert_eq!(live().await.sockets, 1);
        drop(socket);
        for path in ["/wait", "/stream", "/tx"] {
            let call = client.get(path).into_future();
            let left = tokio::time::timeout(std::time::Duration::from_millis(3), call);
            assert!(left.await.is_err(), "{path} is left while it runs");
        }
        assert!(client.get("/tx").await.status.is_success());
        assert_eq!(client.get("/wait").await.text(), "1");
        let plugin_alone = Counts {
            plugins: 1,
            requests: 0,
            streams: 0,
            transactions: 0,
            sockets: 0,
            ticks: 0,
        };
        while live().await != plugin_alone {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    });
}
