//! One store of keys and values under both faces: of a handler in Rust and one in Ruby that want the same key, one computes.

use tsumugi::tokio;

use crate::Engine;
use crate::on_each;

#[test]
fn value_that_one_face_computes_is_waited_for_by_the_other() {
    on_each(
        |_| String::new(),
        async |engine, client| {
            if engine != Engine::Sqlite {
                return;
            }
            let text = async |path: String| {
                let reply = client.get(&path).await;
                assert_eq!(reply.status, 200, "{path}: {}", reply.text());
                reply.text().to_owned()
            };
            for (first, second) in [("rust", "ruby"), ("ruby", "rust")] {
                let before = text("/rust/computed".into()).await;
                // The first has begun to compute when the second asks.
                let (one, two) = tokio::join!(text(format!("/{first}/fetch/{first}/300")), async {
                    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
                    text(format!("/{second}/fetch/{first}/0")).await
                });
                assert_eq!((&*one, &*two), (first, first));
                let later = text(format!("/{second}/fetch/{first}/0")).await;
                assert_eq!(later, first);
                let computed = text("/rust/computed".into()).await;
                let times = computed.parse::<u64>().unwrap() - before.parse::<u64>().unwrap();
                assert_eq!(times, 1, "{first} computes alone");
            }
            // What is no text is the same as well.
            for (first, second) in [("rust", "ruby"), ("ruby", "rust")] {
                let key = format!("list-of-{first}");
                let list = r#"[{"id":1,"name":"花"}]"#;
                assert_eq!(text(format!("/{first}/list/{key}")).await, list);
                assert_eq!(text(format!("/{second}/list/{key}")).await, list);
            }
        },
    );
}
