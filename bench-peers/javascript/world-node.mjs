// The World/Fortune endpoints on Node's cluster and postgres.js, to be measured beside Tsumugi where Bun is not to be had. Not part of the
// product. `node world-node.mjs ADDRESS URL WORKERS`: a process a worker, each with CONNECTIONS on which postgres.js pipelines.
import cluster from "node:cluster";
import http from "node:http";
import postgres from "postgres";
import { fortunesPage, unique, wanted } from "./pages.mjs";

const [address, url, workers] = process.argv.slice(2);
const CONNECTIONS = 1;

const serve = () => {
  const sql = postgres(url, { max: CONNECTIONS, max_pipeline: 1000, onnotice: () => {} });
  const random = () => Math.floor(Math.random() * 10000) + 1;
  const world = async () => (await sql`select id, randomnumber as "randomNumber" from world where id = ${random()}`)[0];
  const worlds = (count) => Promise.all(Array.from({ length: count }, world));
  const ROUTES = {
    "/plaintext": () => "Hello, World!",
    "/json": () => ({ message: "Hello, World!" }),
    "/db": world,
    "/queries": (query) => worlds(wanted(query)),
    "/updates": async (query) => {
      const found = unique(await worlds(wanted(query)));
      for (const row of found) row.randomNumber = random();
      const [ids, numbers] = [found.map((row) => row.id), found.map((row) => row.randomNumber)];
      await sql`update world set randomnumber = fresh.number from unnest(${ids}::int[], ${numbers}::int[]) as fresh (id, number)
        where world.id = fresh.id`;
      return found;
    },
    "/fortunes": async () => fortunesPage(await sql`select id, message from fortune`),
  };
  const TYPES = { "/plaintext": "text/plain", "/fortunes": "text/html; charset=utf-8" };
  const server = http.createServer(async (request, response) => {
    const [path, query] = request.url.split("?");
    const route = ROUTES[path];
    try {
      if (!route) return response.writeHead(404).end();
      const answer = await route(query);
      const body = typeof answer === "string" ? answer : JSON.stringify(answer);
      response.writeHead(200, { "content-type": TYPES[path] ?? "application/json", "content-length": Buffer.byteLength(body) });
      response.end(body);
    } catch (error) {
      response.writeHead(500).end(`${error.message}\n`);
    }
  });
  const at = address.lastIndexOf(":");
  server.listen(Number(address.slice(at + 1)), address.slice(0, at));
};

if (cluster.isPrimary) {
  for (let started = 0; started < Number(workers); started++) cluster.fork();
  cluster.on("exit", () => process.exit(1));
  process.on("SIGTERM", () => process.exit(0));
} else {
  serve();
}
