// The catalogue of a Firebird database as JSON, by node-firebird's pool: `node server.js ADDRESS URL`.
// Blobs come with their contents, bytes as base64, all of a result asked for at once in the transaction of their rows.
"use strict";

const http = require("node:http");
const Firebird = require("node-firebird");

const [address, url] = process.argv.slice(2);
const [host, port] = address.split(":");
const place = new URL(url);
const options = {
  host: place.hostname,
  port: Number(place.port || 3050),
  database: decodeURIComponent(place.pathname.slice(1)),
  user: decodeURIComponent(place.username),
  password: decodeURIComponent(place.password),
  encoding: "UTF8",
  lowercase_keys: true,
  blobReadChunkSize: 65535,
};
const POOLS = {
  "/pool": Firebird.pool(5, options),
  "/prepared": Firebird.pool(5, { ...options, statementCacheSize: 16 }),
};

const ALL = "select * from rdb$relations";
const PARTS = {
  ten: "select first 10 * from rdb$relations",
  plain:
    "select rdb$relation_id, rdb$system_flag, rdb$dbkey_length, rdb$format, rdb$field_id, rdb$relation_name, rdb$security_class, " +
    "rdb$external_file, rdb$owner_name, rdb$default_class, rdb$flags, rdb$relation_type from rdb$relations",
};
const PAGE =
  "<!DOCTYPE html><html><head><title>The catalogue of a database</title></head><body><h1>The catalogue, by node-firebird</h1></body></html>\n";

const call = (start) => new Promise((done, fail) => start((error, value) => (error ? fail(error) : done(value))));

// What a blob holds; the driver hands out a function for each.
const content = (blob, transaction) =>
  new Promise((done, fail) => {
    blob(transaction, (error, _name, events) => {
      if (error) return fail(error);
      const pieces = [];
      events.on("data", (piece) => pieces.push(piece));
      events.on("end", () => done(Buffer.concat(pieces).toString("base64")));
      events.on("error", fail);
    });
  });

async function relations(pool, sql) {
  const db = await call((done) => pool.get(done));
  try {
    // Without blobs one call does it all.
    if (sql === PARTS.plain) return JSON.stringify(await call((done) => db.query(sql, [], done)));
    const transaction = await call((done) => db.transaction(Firebird.ISOLATION_READ_COMMITTED_READ_ONLY, done));
    try {
      const rows = await call((done) => transaction.query(sql, [], done));
      const reads = [];
      for (const row of rows) {
        for (const key of Object.keys(row)) {
          const value = row[key];
          if (typeof value === "function") reads.push(content(value, transaction).then((text) => (row[key] = text)));
        }
      }
      await Promise.all(reads);
      return JSON.stringify(rows);
    } finally {
      await call((done) => transaction.commit(done));
    }
  } finally {
    db.detach();
  }
}

const server = http.createServer((request, response) => {
  const asked = new URL(request.url, "http://localhost");
  const pool = POOLS[asked.pathname];
  if (!pool) {
    response.setHeader("content-type", "text/html; charset=utf-8");
    return response.end(PAGE);
  }
  relations(pool, PARTS[asked.searchParams.get("only")] || ALL).then(
    (body) => {
      response.setHeader("content-type", "application/json");
      response.end(body);
    },
    (error) => {
      response.statusCode = 500;
      response.end(`${error.message}\n`);
    },
  );
});
server.listen(Number(port), host);
