"""Every call of the key-value service by another implementation of gRPC, with code it generates from our .proto.

Prints one line for each check and ends with a status that says whether all held. Knows nothing of the server but its addresses.
usage: conformance.py FOLDER_OF_PROTO FOLDER_FOR_CODE TARGET [DATABASES]
"""

import pathlib
import struct
import sys
import threading

import grpc
from grpc_tools import protoc

proto, out, target = sys.argv[1:4]
databases = int(sys.argv[4]) if len(sys.argv) > 4 else 1
pathlib.Path(out).mkdir(parents=True, exist_ok=True)
if protoc.main(["protoc", f"-I{proto}", f"--python_out={out}", f"--grpc_python_out={out}", "tkrzw_rpc.proto"]) != 0:
    sys.exit("the .proto does not compile")
sys.path.insert(0, out)
import tkrzw_rpc_pb2 as pb  # noqa: E402
import tkrzw_rpc_pb2_grpc as rpc  # noqa: E402

SIZE = 80 * 1024 * 1024
OPTIONS = [
    ("grpc.max_receive_message_length", SIZE),
    ("grpc.max_send_message_length", SIZE),
]
channel = grpc.insecure_channel(target, options=OPTIONS)
stub = rpc.DBMServiceStub(channel)
OK, NOT_FOUND, INFEASIBLE, DUPLICATION, INVALID = 0, 7, 9, 10, 5
failed = 0


def check(name, got, wanted):
    global failed
    if got == wanted:
        print(f"ok {name}")
    else:
        failed += 1
        print(f"FAILED {name}: {got!r}, not {wanted!r}")


def refused(name, call, wanted):
    try:
        result = call()
        if hasattr(result, "__next__"):
            next(result)
        check(name, "answered", wanted)
    except grpc.RpcError as error:
        check(name, error.code(), wanted)


def unary(index):
    code = lambda response: response.status.code
    check("Clear", code(stub.Clear(pb.ClearRequest(dbm_index=index))), OK)
    check("Echo", stub.Echo(pb.EchoRequest(message="紡ぎ")).echo, "紡ぎ")
    names = {pair.first for pair in stub.Inspect(pb.InspectRequest(dbm_index=-1)).records}
    check("Inspect server", {"version", "num_dbms", "dbm_0_path", "dbm_0_count", "dbm_0_class"} - names, set())
    names = {pair.first for pair in stub.Inspect(pb.InspectRequest(dbm_index=index)).records}
    check("Inspect database", {"class", "num_records", "path"} - names, set())
    put = lambda key, value, overwrite: code(
        stub.Set(pb.SetRequest(dbm_index=index, key=key, value=value, overwrite=overwrite))
    )
    get = lambda key: stub.Get(pb.GetRequest(dbm_index=index, key=key))
    check("Set", put(b"a", b"1", False), OK)
    check("Set again", put(b"a", b"2", False), DUPLICATION)
    check("Set over", put(b"a", b"2", True), OK)
    check("Get", (code(get(b"a")), get(b"a").value), (OK, b"2"))
    check("Get missing", code(get(b"none")), NOT_FOUND)
    check("Get omitted", stub.Get(pb.GetRequest(dbm_index=index, key=b"a", omit_value=True)).value, b"")
    pairs = [pb.BytesPair(first=b"m%d" % n, second=b"v%d" % n) for n in range(10)]
    check("SetMulti", code(stub.SetMulti(pb.SetMultiRequest(dbm_index=index, records=pairs, overwrite=True))), OK)
    many = stub.GetMulti(pb.GetMultiRequest(dbm_index=index, keys=[b"m1", b"none", b"m2"]))
    check("GetMulti", (code(many), [pair.second for pair in many.records]), (NOT_FOUND, [b"v1", b"v2"]))
    check(
        "AppendMulti",
        code(stub.AppendMulti(pb.AppendMultiRequest(dbm_index=index, records=pairs[:1], delim=b","))),
        OK,
    )
    check("AppendMulti value", get(b"m0").value, b"v0,v0")
    keys = [pair.first for pair in pairs]
    check("RemoveMulti", code(stub.RemoveMulti(pb.RemoveMultiRequest(dbm_index=index, keys=keys))), OK)
    check("RemoveMulti missing", code(stub.RemoveMulti(pb.RemoveMultiRequest(dbm_index=index, keys=keys))), NOT_FOUND)
    check("Append", code(stub.Append(pb.AppendRequest(dbm_index=index, key=b"a", value=b"3", delim=b":"))), OK)
    check("Append value", get(b"a").value, b"2:3")
    check("Remove", code(stub.Remove(pb.RemoveRequest(dbm_index=index, key=b"a"))), OK)
    check("Remove missing", code(stub.Remove(pb.RemoveRequest(dbm_index=index, key=b"a"))), NOT_FOUND)
    exchange = lambda **fields: stub.CompareExchange(pb.CompareExchangeRequest(dbm_index=index, key=b"x", **fields))
    check("CompareExchange", code(exchange(desired_existence=True, desired_value=b"1")), OK)
    lost = exchange(desired_existence=True, desired_value=b"2", get_actual=True)
    check("CompareExchange lost", (code(lost), lost.actual, lost.found), (INFEASIBLE, b"1", True))
    kept = exchange(expected_existence=True, expect_any_value=True, desire_no_update=True, get_actual=True)
    check("CompareExchange kept", (code(kept), kept.actual), (OK, b"1"))
    check("CompareExchange removes", code(exchange(expected_existence=True, expected_value=b"1")), OK)
    check("CompareExchange waits", code(exchange(expected_existence=True, expect_any_value=True, retry_wait=0.05)), INFEASIBLE)
    plus = lambda by: stub.Increment(pb.IncrementRequest(dbm_index=index, key=b"n", increment=by, initial=100)).current
    check("Increment", (plus(5), plus(-10), plus(-(2**63))), (105, 95, 95))
    check("Increment value", get(b"n").value, struct.pack(">q", 95))
    state = lambda key, value: pb.RecordState(existence=value is not None, key=key, value=value or b"")
    multi = lambda expected, desired: code(
        stub.CompareExchangeMulti(pb.CompareExchangeMultiRequest(dbm_index=index, expected=expected, desired=desired))
    )
    check("CompareExchangeMulti", multi([state(b"p", None)], [state(b"p", b"1"), state(b"q", b"2")]), OK)
    check("CompareExchangeMulti lost", multi([state(b"p", None)], [state(b"q", None)]), INFEASIBLE)
    rekey = lambda **fields: code(stub.Rekey(pb.RekeyRequest(dbm_index=index, **fields)))
    check("Rekey", rekey(old_key=b"p", new_key=b"r"), OK)
    check("Rekey missing", rekey(old_key=b"p", new_key=b"r"), NOT_FOUND)
    check("Rekey taken", rekey(old_key=b"r", new_key=b"q"), DUPLICATION)
    check("Rekey copies", rekey(old_key=b"r", new_key=b"q", overwrite=True, copying=True), OK)
    check("Count", stub.Count(pb.CountRequest(dbm_index=index)).count, 3)
    found = stub.Search(pb.SearchRequest(dbm_index=index, mode="regex", pattern=b"[qr]", capacity=10))
    check("Search", sorted(found.matched), [b"q", b"r"])
    check("Search mode", code(stub.Search(pb.SearchRequest(dbm_index=index, mode="?"))), INVALID)
    check("GetFileSize", stub.GetFileSize(pb.GetFileSizeRequest(dbm_index=index)).file_size > 0, True)
    check("ShouldBeRebuilt", stub.ShouldBeRebuilt(pb.ShouldBeRebuiltRequest(dbm_index=index)).tobe, False)
    check("Rebuild", code(stub.Rebuild(pb.RebuildRequest(dbm_index=index))), OK)
    check("Synchronize", code(stub.Synchronize(pb.SynchronizeRequest(dbm_index=index, hard=True))), OK)
    large = bytes(64 * 1024 * 1024)
    check("64 MiB", (put(b"large", large, True), get(b"large").value == large), (OK, True))
    check("64 MiB and one byte", put(b"large", large + b"x", True), INVALID)
    check("Clear", code(stub.Clear(pb.ClearRequest(dbm_index=index))), OK)


def queue(index):
    pop = lambda wait: stub.PopFirst(pb.PopFirstRequest(dbm_index=index, retry_wait=wait))
    push = lambda **fields: stub.PushLast(pb.PushLastRequest(dbm_index=index, value=b"v", **fields))
    check("PushLast", push(wtime=1.0).status.code, OK)
    popped = pop(0)
    check("PopFirst", (popped.key, popped.value), (struct.pack(">Q", 100_000_000), b"v"))
    check("PopFirst empty", pop(0.05).status.code, NOT_FOUND)
    threading.Timer(0.2, lambda: push(wtime=-1.0, notify=True)).start()
    check("PopFirst waits", pop(60).value, b"v")


def streams(index):
    requests = [
        pb.StreamRequest(echo_request=pb.EchoRequest(message="hi")),
        pb.StreamRequest(set_request=pb.SetRequest(dbm_index=index, key=b"s", value=b"1", overwrite=True)),
        pb.StreamRequest(append_request=pb.AppendRequest(dbm_index=index, key=b"s", value=b"2"), omit_response=True),
        pb.StreamRequest(get_request=pb.GetRequest(dbm_index=index, key=b"s")),
        pb.StreamRequest(increment_request=pb.IncrementRequest(dbm_index=index, key=b"i", increment=2)),
        pb.StreamRequest(
            compare_exchange_request=pb.CompareExchangeRequest(dbm_index=index, key=b"s", desired_existence=True)
        ),
        pb.StreamRequest(remove_request=pb.RemoveRequest(dbm_index=index, key=b"s")),
    ]
    answers = list(stub.Stream(iter(requests)))
    kinds = [answer.WhichOneof("response_oneof") for answer in answers]
    wanted = ["echo", "set", "get", "increment", "compare_exchange", "remove"]
    check("Stream order", kinds, [name + "_response" for name in wanted])
    check("Stream value", answers[2].get_response.value, b"12")
    check("Stream number", answers[3].increment_response.current, 2)
    check("Stream status", answers[4].compare_exchange_response.status.code, INFEASIBLE)
    stub.Clear(pb.ClearRequest(dbm_index=index))
    for key in (b"a", b"b", b"c"):
        stub.Set(pb.SetRequest(dbm_index=index, key=key, value=key.upper()))
    op = pb.IterateRequest
    script = [
        (op(operation=op.OP_NONE), (OK, b"")),
        (op(operation=op.OP_GET), (NOT_FOUND, b"")),
        (op(operation=op.OP_FIRST), (OK, b"")),
        (op(operation=op.OP_STEP), (OK, b"a")),
        (op(operation=op.OP_GET), (OK, b"b")),
        (op(operation=op.OP_LAST), (OK, b"")),
        (op(operation=op.OP_PREVIOUS), (OK, b"")),
        (op(operation=op.OP_GET), (OK, b"b")),
        (op(operation=op.OP_JUMP, key=b"bb"), (OK, b"")),
        (op(operation=op.OP_GET), (OK, b"c")),
        (op(operation=op.OP_JUMP_LOWER, key=b"b"), (OK, b"")),
        (op(operation=op.OP_GET), (OK, b"a")),
        (op(operation=op.OP_JUMP_UPPER, key=b"b", jump_inclusive=True), (OK, b"")),
        (op(operation=op.OP_SET, value=b"x"), (OK, b"")),
        (op(operation=op.OP_GET, omit_key=True), (OK, b"")),
        (op(operation=op.OP_REMOVE), (OK, b"")),
        (op(operation=op.OP_GET), (OK, b"c")),
        (op(operation=op.OP_NEXT), (OK, b"")),
        (op(operation=op.OP_NEXT), (NOT_FOUND, b"")),
    ]

    def requests_of(script):
        for request, _ in script:
            request.dbm_index = index
            yield request

    told = [(answer.status.code, answer.key) for answer in stub.Iterate(requests_of(script))]
    check("Iterate", told, [wanted for _, wanted in script])


def refusals():
    invalid = grpc.StatusCode.INVALID_ARGUMENT
    refused("index -1", lambda: stub.Get(pb.GetRequest(dbm_index=-1)), invalid)
    refused("index beyond", lambda: stub.Count(pb.CountRequest(dbm_index=databases)), invalid)
    refused("Iterate -1", lambda: stub.Iterate(iter([pb.IterateRequest(dbm_index=-1)])), invalid)
    refused("Stream empty", lambda: stub.Stream(iter([pb.StreamRequest()])), invalid)
    precondition = grpc.StatusCode.FAILED_PRECONDITION
    refused("Replicate", lambda: stub.Replicate(pb.ReplicateRequest()), precondition)
    refused("ChangeMaster", lambda: stub.ChangeMaster(pb.ChangeMasterRequest()), grpc.StatusCode.UNIMPLEMENTED)


for index in range(databases):
    print(f"database {index}")
    unary(index)
    queue(index)
    streams(index)
refusals()
channel.close()
sys.exit(1 if failed else 0)
