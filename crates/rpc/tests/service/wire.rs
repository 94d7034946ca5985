//! Field numbers and types of every message, written and read by hand: what clients of Tkrzw-RPC send and expect.
//! No generated code takes part on this side.

use crate::raw_client::{RawClient, RawReply, b, d, n};
use crate::rig::{Rig, on_loop};

/// The status SUCCESS, empty, in field 1.
const OK: [u8; 2] = [0x0a, 0];

/// A call's name, the fields of its request, its whole answer.
type Call = (&'static str, Vec<Vec<u8>>, Vec<u8>);

/// Calls one after the other on one server.
fn check(calls: &[Call]) {
    let rig = Rig::start();
    on_loop(async {
        let bare = RawClient::connect(rig.tcp()).await;
        for (name, request, expected) in calls {
            let reply = bare.call(name, &[request.concat()]).await;
            let expected = RawReply {
                code: 0,
                message: String::new(),
                messages: vec![expected.clone()],
            };
            assert_eq!(reply, expected, "{name}");
        }
    });
}

fn ok(fields: &[Vec<u8>]) -> Vec<u8> {
    [OK.to_vec(), fields.concat()].concat()
}

/// A status that is no success; its message is not looked at.
async fn status(bare: &RawClient, name: &str, request: &[Vec<u8>]) -> i64 {
    let reply = bare.call(name, &[request.concat()]).await;
    assert_eq!(reply.code, 0, "{name}: {reply:?}");
    let message = &reply.messages[0];
    // Field 1, its length, in it field 1 as a number.
    assert_eq!(
        (message[0], message[2]),
        (0x0a, 0x08),
        "{name}: {message:?}"
    );
    i64::from(message[3])
}

#[test]
fn values_are_set_read_and_removed() {
    check(&[
        ("Echo", vec![b(1, "hi")], ok(&[b(2, "hi")])),
        ("Set", vec![n(1, 1), b(2, "k"), b(3, "v"), n(4, 1)], ok(&[])),
        ("Get", vec![n(1, 1), b(2, "k")], ok(&[b(2, "v")])),
        ("Get", vec![n(1, 1), b(2, "k"), n(3, 1)], ok(&[])),
        (
            "Append",
            vec![n(1, 1), b(2, "k"), b(3, "w"), b(4, ",")],
            ok(&[]),
        ),
        ("Get", vec![n(1, 1), b(2, "k")], ok(&[b(2, "v,w")])),
        ("Remove", vec![n(1, 1), b(2, "k")], ok(&[])),
        ("Count", vec![n(1, 1)], ok(&[])),
    ]);
}

#[test]
fn multi_calls_carry_records_as_pairs() {
    let pair = |key: &str, value: &str| b(2, [b(1, key), b(2, value)].concat());
    check(&[
        (
            "SetMulti",
            vec![pair("a", "1"), pair("b", "2"), n(3, 1)],
            ok(&[]),
        ),
        ("AppendMulti", vec![pair("a", "x"), b(3, "-")], ok(&[])),
        (
            "GetMulti",
            vec![b(2, "a"), b(2, "b")],
            ok(&[pair("a", "1-x"), pair("b", "2")]),
        ),
        ("Count", vec![], ok(&[n(2, 2)])),
        ("RemoveMulti", vec![b(2, "a"), b(2, "b")], ok(&[])),
    ]);
}

#[test]
fn records_are_compared_and_counted() {
    let state =
        |field: u64, key: &str, value: &str| b(field, [n(1, 1), b(2, key), b(3, value)].concat());
    let any = b(2, [n(1, 1), b(2, "m"), n(4, 1)].concat());
    check(&[
        (
            "CompareExchange",
            vec![b(2, "k"), n(6, 1), b(7, "v"), n(9, 1)],
            ok(&[]),
        ),
        (
            "CompareExchange",
            vec![
                b(2, "k"),
                n(3, 1),
                b(4, "v"),
                n(8, 1),
                n(9, 1),
                d(10, 0.5),
                n(11, 1),
            ],
            ok(&[b(2, "v"), n(3, 1)]),
        ),
        (
            "CompareExchange",
            vec![b(2, "k"), n(3, 1), n(5, 1)],
            ok(&[n(3, 1)]),
        ),
        (
            "Increment",
            vec![b(2, "n"), n(3, -3), n(4, 10)],
            ok(&[n(2, 7)]),
        ),
        (
            "CompareExchangeMulti",
            vec![b(2, b(2, "m")), state(3, "m", "1")],
            ok(&[]),
        ),
        ("CompareExchangeMulti", vec![any, b(3, b(2, "m"))], ok(&[])),
        (
            "Rekey",
            vec![b(2, "n"), b(3, "o"), n(4, 1), n(5, 1)],
            ok(&[]),
        ),
        ("Count", vec![], ok(&[n(2, 2)])),
    ]);
}

#[test]
fn queue_search_and_maintenance_calls_have_their_wire_fields() {
    let key = 100_000_000_u64.to_be_bytes();
    check(&[
        ("PushLast", vec![b(2, "v"), d(3, 1.0), n(4, 1)], ok(&[])),
        (
            "Search",
            vec![b(2, "begin"), b(3, [0, 0]), n(4, 5)],
            ok(&[b(2, key)]),
        ),
        (
            "PopFirst",
            vec![n(1, 0), d(4, 0.1)],
            ok(&[b(2, key), b(3, "v")]),
        ),
        ("PushLast", vec![b(2, "v"), d(3, 1.0)], ok(&[])),
        ("PopFirst", vec![n(2, 1), n(3, 1)], ok(&[])),
        ("Synchronize", vec![n(2, 1)], ok(&[])),
        ("Rebuild", vec![], ok(&[])),
        ("ShouldBeRebuilt", vec![], ok(&[])),
        ("GetFileSize", vec![], ok(&[])),
        ("Clear", vec![], ok(&[])),
    ]);
}

#[test]
fn status_code_is_field_1_of_the_status_message() {
    let rig = Rig::start();
    on_loop(async {
        let bare = RawClient::connect(rig.tcp()).await;
        assert_eq!(status(&bare, "Get", &[b(2, "k")]).await, 7);
        assert_eq!(status(&bare, "Remove", &[b(2, "k")]).await, 7);
        assert_eq!(status(&bare, "PopFirst", &[]).await, 7);
        bare.call("Set", &[[b(2, "k"), b(3, "v")].concat()]).await;
        assert_eq!(status(&bare, "Set", &[b(2, "k"), b(3, "v")]).await, 10);
        assert_eq!(
            status(&bare, "CompareExchange", &[b(2, "k"), n(6, 1)]).await,
            9
        );
        assert_eq!(status(&bare, "Search", &[b(2, "sideways")]).await, 5);
        let params = b(3, [b(1, "make_backup"), b(2, ".copy")].concat());
        assert_eq!(status(&bare, "Synchronize", &[params]).await, 4);
    });
}

#[test]
fn a_stream_has_its_calls_in_a_oneof() {
    let rig = Rig::start();
    on_loop(async {
        let bare = RawClient::connect(rig.tcp()).await;
        let requests = [
            b(1, b(1, "hi")),
            b(3, [b(2, "k"), b(3, "v")].concat()),
            b(2, b(2, "k")),
            [b(5, [b(2, "k"), b(3, "w")].concat()), n(101, 1)].concat(),
            b(2, b(2, "k")),
            b(6, [b(2, "k"), n(3, 1), n(5, 1), n(9, 1)].concat()),
            b(4, b(2, "x")),
            b(7, [b(2, "n"), n(3, 2)].concat()),
        ];
        let reply = bare.call("Stream", &requests).await;
        assert_eq!(reply.code, 0);
        let expected = [
            b(1, ok(&[b(2, "hi")])),
            b(3, OK),
            b(2, ok(&[b(2, "v")])),
            b(2, ok(&[b(2, "vw")])),
            b(6, ok(&[b(2, "vw"), n(3, 1)])),
        ];
        assert_eq!(reply.messages[..5], expected);
        assert_eq!(
            (reply.messages[5][0], reply.messages[6].as_slice()),
            (4 << 3 | 2, &b(7, ok(&[n(2, 2)]))[..])
        );
        assert_eq!(reply.messages.len(), 7);
    });
}

#[test]
fn a_cursor_has_its_operations_by_number() {
    let rig = Rig::start();
    on_loop(async {
        let bare = RawClient::connect(rig.tcp()).await;
        let pair = |key: &str| b(2, [b(1, key), b(2, "v")].concat());
        bare.call("SetMulti", &[[pair("a"), pair("b"), pair("c")].concat()])
            .await;
        let requests = [
            vec![],
            n(2, 1),
            n(2, 8),
            n(2, 6),
            [n(2, 11), n(7, 1)].concat(),
            [n(2, 8), n(6, 1)].concat(),
            n(2, 2),
            n(2, 7),
            n(2, 8),
            [n(2, 3), b(3, "bb")].concat(),
            n(2, 8),
            [n(2, 4), b(3, "c"), n(5, 1)].concat(),
            [n(2, 9), b(4, "w")].concat(),
            n(2, 8),
            [n(2, 5), b(3, "a")].concat(),
            n(2, 10),
            n(2, 8),
        ];
        let reply = bare.call("Iterate", &requests).await;
        let done = ok(&[]);
        let record = |key: &str, value: &str| ok(&[b(2, key), b(3, value)]);
        let expected = [
            done.clone(),
            done.clone(),
            record("a", "v"),
            done.clone(),
            ok(&[b(2, "b")]),
            ok(&[b(3, "v")]),
            done.clone(),
            done.clone(),
            record("b", "v"),
            done.clone(),
            record("c", "v"),
            done.clone(),
            done.clone(),
            record("c", "w"),
            done.clone(),
            done.clone(),
            record("c", "w"),
        ];
        assert_eq!((reply.code, reply.messages), (0, expected.to_vec()));
    });
}

#[test]
fn health_and_reflection_answer_beside_the_databases() {
    let rig = Rig::start();
    on_loop(async {
        let bare = RawClient::connect(rig.tcp()).await;
        for service in ["", "tkrzw_rpc.DBMService", "tsumugi_kv.StoreService"] {
            let reply = bare
                .call_at("/grpc.health.v1.Health/Check", &[b(1, service)])
                .await;
            assert_eq!(
                (reply.code, &reply.messages[0][..]),
                (0, &n(1, 1)[..]),
                "{service}"
            );
        }
        for version in ["v1", "v1alpha"] {
            let path = format!("/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo");
            let reply = bare.call_at(&path, &[b(7, "")]).await;
            let text = String::from_utf8_lossy(&reply.messages[0]).into_owned();
            assert!(text.contains("tkrzw_rpc.DBMService"), "{version}: {text}");
            assert!(
                text.contains("tsumugi_kv.StoreService"),
                "{version}: {text}"
            );
            assert!(text.contains("grpc.health.v1.Health"), "{version}: {text}");
            let reply = bare.call_at(&path, &[b(4, "grpc.health.v1.Health")]).await;
            let text = String::from_utf8_lossy(&reply.messages[0]).into_owned();
            assert!(text.contains("HealthCheckResponse"), "{version}: {text}");
        }
    });
}

#[test]
fn missing_method_has_grpcs_own_code() {
    let rig = Rig::start();
    on_loop(async {
        let bare = RawClient::connect(rig.tcp()).await;
        for (path, code) in [
            ("/tkrzw_rpc.DBMService/Replicate", 9),
            ("/tkrzw_rpc.DBMService/ChangeMaster", 12),
            ("/tkrzw_rpc.DBMService/Fly", 12),
            ("/other.Service/Get", 12),
        ] {
            assert_eq!(bare.call_at(path, &[vec![]]).await.code, code, "{path}");
        }
        assert_eq!(bare.call("Stream", &[vec![]]).await.code, 3);
    });
}
