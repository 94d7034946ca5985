# What allographer's author measured, with what Debian's nim brings: asynchttpserver, and libpq behind a pool of connections for each thread.
# `/` finds 500 rows by their key, all awaited together, as one array of JSON; `/show` is a string, `/html` a page. Not part of the product.
# Rule: nothing is shared between threads. Whatever memory management does with that is what is measured.
#
# usage: server ADDRESS:PORT URL POOL; with --threads:on one thread for each processor listens on the same port

import std/[asyncdispatch, asynchttpserver, deques, json, os, posix, strutils]
when compileOption("threads"):
  import std/cpuinfo
import postgres

const
  finds = 500
  statement = "find"
  sql = "select id, randomnumber from world where id = $1"
  page = "<!DOCTYPE html>\n<html>\n<head><title>Hello</title></head>\n<body><h1>Hello, World!</h1></body>\n</html>\n"

type
  Pool = ref object
    idle: Deque[PPGconn]
    waiting: Deque[Future[PPGconn]]

proc connect(url: string): PPGconn =
  result = pqconnectdb(url.cstring)
  if pqstatus(result) != CONNECTION_OK:
    quit "cannot connect: " & $pqerrorMessage(result)
  let prepared = pqprepare(result, statement, sql, 1, nil)
  if pqresultStatus(prepared) != PGRES_COMMAND_OK:
    quit "cannot prepare: " & $pqerrorMessage(result)
  pqclear(prepared)
  register(AsyncFD(pqsocket(result)))

proc newPool(url: string, size: int): Pool =
  result = Pool(idle: initDeque[PPGconn](), waiting: initDeque[Future[PPGconn]]())
  for _ in 1 .. size:
    result.idle.addLast connect(url)

proc take(pool: Pool): Future[PPGconn] =
  result = newFuture[PPGconn]("take")
  if pool.idle.len > 0:
    result.complete pool.idle.popFirst
  else:
    pool.waiting.addLast result

proc give(pool: Pool, connection: PPGconn) =
  if pool.waiting.len > 0:
    pool.waiting.popFirst.complete connection
  else:
    pool.idle.addLast connection

proc readable(socket: AsyncFD): Future[void] =
  let future = newFuture[void]("readable")
  proc ready(socket: AsyncFD): bool =
    future.complete()
    true
  addRead(socket, ready)
  future

proc find(pool: Pool, id: int): Future[JsonNode] {.async.} =
  let connection = await pool.take()
  let value = $id
  var values = allocCStringArray([value])
  let sent = pqsendQueryPrepared(connection, statement, 1, values, nil, nil, 0)
  deallocCStringArray(values)
  if sent != 1:
    quit "cannot send: " & $pqerrorMessage(connection)
  discard pqflush(connection)
  var row: JsonNode
  while true:
    if pqconsumeInput(connection) != 1:
      quit "cannot read: " & $pqerrorMessage(connection)
    if pqisBusy(connection) == 1:
      await readable(AsyncFD(pqsocket(connection)))
      continue
    let found = pqgetResult(connection)
    if found.isNil:
      break
    if pqresultStatus(found) != PGRES_TUPLES_OK or pqntuples(found) != 1:
      quit "cannot find " & value & ": " & $pqerrorMessage(connection)
    row = %*{"id": parseInt($pqgetvalue(found, 0, 0)), "randomnumber": parseInt($pqgetvalue(found, 0, 1))}
    pqclear(found)
  pool.give connection
  return row

proc all(pool: Pool): Future[string] {.async.} =
  var reads: seq[Future[JsonNode]]
  for id in 1 .. finds:
    reads.add pool.find(id)
  return $ %(await all(reads))

proc serve(address: string, url: string, size: int) {.async.} =
  let
    colon = address.rfind(':')
    pool = newPool(url, size)
    server = newAsyncHttpServer(reuseAddr = true, reusePort = true)
  proc answer(request: Request) {.async, gcsafe.} =
    case request.url.path
    of "/":
      let body = await pool.all()
      await request.respond(Http200, body, newHttpHeaders({"Content-Type": "application/json"}))
    of "/show", "/hello":
      await request.respond(Http200, "hello\n", newHttpHeaders({"Content-Type": "text/plain"}))
    of "/html":
      await request.respond(Http200, page, newHttpHeaders({"Content-Type": "text/html; charset=utf-8"}))
    else:
      await request.respond(Http404, "")
  server.listen(Port(parseInt(address[colon + 1 .. ^1])), address[0 ..< colon])
  while true:
    if server.shouldAcceptRequest():
      await server.acceptRequest(answer)
    else:
      await sleepAsync(5)

proc run() {.thread.} =
  waitFor serve(paramStr(1), paramStr(2), parseInt(paramStr(3)))

when isMainModule:
  if paramCount() != 3:
    quit "usage: server ADDRESS:PORT URL POOL"
  # A client that closes during its answer ends the request, not the server.
  signal(SIGPIPE, SIG_IGN)
  when compileOption("threads"):
    var threads = newSeq[Thread[void]](countProcessors())
    for thread in threads.mitems:
      createThread(thread, run)
    joinThreads(threads)
  else:
    run()
