//! Replicas that stand still with their connections open. Rule: no read waits for one beyond its limit, and none goes there until it answers again.

use super::*;

/// Above what a read may take that began on a replica and ended on the primary, on a crowded machine.
const READ_MAX: Duration = Duration::from_secs(60);

/// The same read in several ways; where it ran, and the number.
async fn read_in_each_way(db: &Users, user: &Rc<Recency>) -> Vec<(i64, i64)> {
    let sql = "select coalesce(inet_server_port(), 0), n from t where id = 1";
    let reads = db.reads();
    let begun = Instant::now();
    let query = async { numbers(&reads.query(sql, []).await.unwrap()) };
    let transaction = async {
        let tx = reads.begin(TransactionOptions::read_only()).await.unwrap();
        let found = numbers(&tx.query(sql, []).await.unwrap());
        tx.commit().await.unwrap();
        found
    };
    let stream = async {
        let by = BatchSize::default();
        let mut stream = reads.stream_by(sql, [], by).await.unwrap();
        numbers(&stream.next().await.unwrap().unwrap())
    };
    let all = async { tokio::join!(query, transaction, stream) };
    let (query, transaction, stream) = user.scope(all).await;
    assert!(begun.elapsed() < READ_MAX, "{:?}", begun.elapsed());
    vec![query, transaction, stream]
}

fn check_frozen(statement_timeout: Duration) {
    let cluster = Cluster::start();
    run(async {
        let mut options = cluster.options();
        options.statement_timeout = statement_timeout;
        let db = cluster.connect(options).await;
        let bob = user();
        let [standing, going] = &cluster.replicas;
        let standing_port = i64::from(standing.port());
        // Connections to both are open.
        for replica in &cluster.replicas {
            db.until(&bob, |port| port == i64::from(replica.port()))
                .await;
        }
        let ann = user();
        db.write(&ann, 7).await;
        let frozen = standing.frozen();
        // It is in the rotation still: some of these begin there.
        for _ in 0..4 {
            for (port, n) in read_in_each_way(&db, &ann).await {
                assert!(port != standing_port && n == 7, "{port} {n}");
            }
        }
        // Now it has left.
        let until = Instant::now() + Duration::from_secs(3);
        let mut reads = 0;
        while Instant::now() < until || reads < 20 {
            assert_ne!(db.read(&bob).await.0, standing_port);
            reads += 1;
            sleep(Duration::from_millis(10)).await;
        }
        db.until(&bob, |port| port == i64::from(going.port())).await;
        drop(frozen);
        db.until(&bob, |port| port == standing_port).await;
        db.0.close();
    });
}

#[test]
fn read_that_began_on_a_frozen_replica_ends_elsewhere_and_the_replica_leaves_the_rotation() {
    check_frozen(Duration::from_secs(30));
}

#[test]
fn read_with_a_short_limit_does_not_wait_until_the_replica_is_looked_at() {
    check_frozen(Duration::from_millis(700));
}

#[test]
fn replicas_that_all_stand_still_leave_reads_to_the_primary() {
    let cluster = Cluster::start();
    run(async {
        let db = cluster.connect(cluster.options()).await;
        let bob = user();
        for replica in &cluster.replicas {
            db.until(&bob, |port| port == i64::from(replica.port()))
                .await;
        }
        let frozen = cluster.replicas.each_ref().map(Server::frozen);
        for _ in 0..4 {
            for (port, _) in read_in_each_way(&db, &bob).await {
                assert_eq!(port, cluster.port());
            }
        }
        // What is connected anew while none answers has the primary.
        let begun = Instant::now();
        let other = cluster.connect(cluster.options()).await;
        assert_eq!(other.read(&bob).await.0, cluster.port());
        assert!(begun.elapsed() < READ_MAX, "{:?}", begun.elapsed());
        drop(frozen);
        for users in [&db, &other] {
            users.until(&bob, |port| cluster.is_replica(port)).await;
            users.0.close();
        }
    });
}
