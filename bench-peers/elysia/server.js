// HttpArena's profiles on Elysia and Bun, to be measured beside Tsumugi. Not part of the product.
// `bun server.js PLAIN TLS_HTTP1 TLS H2C WORKERS`: four addresses, of which TLS and H2C are not listened on, since Bun serves no HTTP/2. A worker
// is a process; all of them share the ports. Items come from ARENA_DATASET, files from ARENA_FILES, rows from DATABASE_URL by Bun's own client.
import { Elysia } from "elysia";

const [plain, tlsHttp1, , , workers] = process.argv.slice(2);

if (!process.env.ARENA_WORKER) {
  const environment = { ...process.env, ARENA_WORKER: "1" };
  const children = Array.from({ length: Number(workers) }, () =>
    Bun.spawn([process.execPath, ...process.argv.slice(1)], { env: environment, stdio: ["ignore", "inherit", "inherit"] }),
  );
  process.on("SIGTERM", () => {
    for (const child of children) child.kill();
    process.exit(0);
  });
  await Promise.race(children.map((child) => child.exited));
  for (const child of children) child.kill();
  process.exit(1);
}

const items = await Bun.file(process.env.ARENA_DATASET).json();
const files = process.env.ARENA_FILES;
const sql = process.env.DATABASE_URL ? new Bun.SQL(process.env.DATABASE_URL, { max: 4 }) : null;
const TEXT = { "content-type": "text/plain" };
const JSON_TYPE = { "content-type": "application/json" };

const text = (value) => new Response(String(value), { headers: TEXT });
const sum = (query) => Number(query.a ?? 0) + Number(query.b ?? 0);

const priced = (count, factor) => {
  const found = items.slice(0, count).map((item) => ({ ...item, total: item.price * item.quantity * factor }));
  return { items: found, count: found.length };
};

const item = ({ rating_score, rating_count, ...row }) => ({ ...row, rating: { score: rating_score, count: rating_count } });

const app = new Elysia()
  .get("/baseline11", ({ query }) => text(sum(query)))
  .post("/baseline11", ({ query, body }) => text(sum(query) + Number(body)), { parse: "text" })
  .get("/baseline2", ({ query }) => text(sum(query)))
  .get("/pipeline", () => text("ok"))
  .get("/json/:count", ({ params, query, headers }) => {
    const body = JSON.stringify(priced(Number(params.count), Number(query.m ?? 1)));
    if (!headers["accept-encoding"]?.includes("gzip")) return new Response(body, { headers: JSON_TYPE });
    return new Response(Bun.gzipSync(body), { headers: { ...JSON_TYPE, "content-encoding": "gzip" } });
  })
  .post(
    "/upload",
    async ({ request }) => {
      let size = 0;
      for await (const piece of request.body) size += piece.byteLength;
      return text(size);
    },
    { parse: "none" },
  )
  .get("/static/:name", async ({ params }) => {
    const file = Bun.file(`${files}/${params.name}`);
    return (await file.exists()) ? new Response(file) : new Response("not found", { status: 404 });
  })
  .get("/async-db", async ({ query }) => {
    const limit = Math.min(Math.max(Number(query.limit ?? 50), 1), 50);
    const rows = await sql`select id, name, category, price, quantity, active, tags, rating_score, rating_count
      from items where price between ${Number(query.min ?? 10)} and ${Number(query.max ?? 50)} limit ${limit}`;
    const found = rows.map(item);
    return { items: found, count: found.length };
  })
  .ws("/ws", {
    message(socket, message) {
      socket.send(message);
    },
    // Messages stay as they came.
    parse: (_, message) => message,
  });

const listen = (address, tls) => {
  const at = address.lastIndexOf(":");
  const place = { hostname: address.slice(0, at), port: Number(address.slice(at + 1)), reusePort: true };
  return new Elysia().use(app).listen({ ...place, maxRequestBodySize: 64 << 20, ...(tls && { tls }) });
};

listen(plain);
listen(tlsHttp1, { cert: Bun.file(process.env.ARENA_CERTIFICATE), key: Bun.file(process.env.ARENA_KEY) });
