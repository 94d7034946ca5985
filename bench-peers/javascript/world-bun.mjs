// The World/Fortune endpoints on Bun and its own client of PostgreSQL, to be measured beside Tsumugi. Not part of the product.
// `bun world-bun.mjs ADDRESS URL WORKERS`: a process a worker, all of which share the port, each with CONNECTIONS on which Bun pipelines.
import { fortunesPage, unique, wanted } from "./pages.mjs";

const [address, url, workers] = process.argv.slice(2);
const CONNECTIONS = 1;

if (!process.env.WORLD_WORKER) {
  const environment = { ...process.env, WORLD_WORKER: "1" };
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

const sql = new Bun.SQL(url, { max: CONNECTIONS });
const HTML = { headers: { "content-type": "text/html; charset=utf-8" } };

const random = () => Math.floor(Math.random() * 10000) + 1;
const world = async () => (await sql`select id, randomnumber as "randomNumber" from world where id = ${random()}`)[0];
const worlds = (count) => Promise.all(Array.from({ length: count }, world));
const query = (request) => request.url.slice(request.url.indexOf("?") + 1);

const update = async (count) => {
  const found = unique(await worlds(count));
  for (const row of found) row.randomNumber = random();
  const [ids, numbers] = [found.map((row) => row.id), found.map((row) => row.randomNumber)];
  await sql`update world set randomnumber = fresh.number
    from unnest(${`{${ids}}`}::int[], ${`{${numbers}}`}::int[]) as fresh (id, number) where world.id = fresh.id`;
  return found;
};

const at = address.lastIndexOf(":");
Bun.serve({
  hostname: address.slice(0, at),
  port: Number(address.slice(at + 1)),
  reusePort: true,
  routes: {
    "/plaintext": () => new Response("Hello, World!"),
    "/json": () => Response.json({ message: "Hello, World!" }),
    "/db": async () => Response.json(await world()),
    "/queries": async (request) => Response.json(await worlds(wanted(query(request)))),
    "/updates": async (request) => Response.json(await update(wanted(query(request)))),
    "/fortunes": async () => new Response(fortunesPage(await sql`select id, message from fortune`), HTML),
  },
  fetch: () => new Response("not found\n", { status: 404 }),
});
