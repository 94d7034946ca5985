// graphile-worker under Node, with its local queue and with ends that are written together.
import { createRequire } from "node:module";
import { POOL, RUNNING, counter, count, how, print, push, until, url } from "./load.mjs";

const require = createRequire(import.meta.url);
const { Logger, makeWorkerUtils, run } = require("graphile-worker");
const { Pool } = require("pg");

const pgPool = new Pool({ connectionString: url, max: POOL });
pgPool.on("error", (error) => console.error(error));
const logger = new Logger(() => () => {});
await pgPool.query("drop schema if exists graphile_worker cascade");
const utils = await makeWorkerUtils({ pgPool, logger });
await utils.migrate();
const { state, add } = counter();
if (how === "stored") {
  const jobs = Array.from({ length: count }, (_, n) => ({ identifier: "empty", payload: { n } }));
  while (jobs.length > 0) await utils.addJobs(jobs.splice(0, 1_000));
}
const begun = performance.now();
const runner = await run({
  pgPool,
  logger,
  noHandleSignals: true,
  taskList: { empty: ({ n }) => add(n) },
  preset: {
    worker: { concurrentJobs: RUNNING, localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 },
  },
});
if (how === "pushed") await push((n) => utils.addJob("empty", { n }));
await until(() => state.done >= count);
await until(async () => {
  const { rows } = await pgPool.query("select count(*)::int as waiting from graphile_worker.jobs");
  return rows[0].waiting === 0;
});
print(begun, state.sum);
await runner.stop();
process.exit(0);
