// pg-boss under Node: its calls fetch and complete in batches, several at a time, without the pauses that its own workers make between two fetches.
import PgBoss from "pg-boss";
import { POOL, RUNNING, counter, how, print, push, until, url } from "./load.mjs";

const QUEUE = "empty";
const LANES = 4;

const boss = new PgBoss({ connectionString: url, max: POOL, supervise: false, schedule: false });
boss.on("error", (error) => console.error(error));
await boss.start();
await boss.deleteQueue(QUEUE).catch(() => {});
await boss.createQueue(QUEUE);
const { state, add } = counter();
const total = Number(process.argv[4]);
const send = (n) => boss.send(QUEUE, { n });
if (how === "stored") {
  const jobs = Array.from({ length: total }, (_, n) => ({ name: QUEUE, data: { n } }));
  while (jobs.length > 0) await boss.insert(jobs.splice(0, 1_000));
}
const lane = async () => {
  while (state.done < total) {
    const jobs = await boss.fetch(QUEUE, { batchSize: RUNNING });
    if (jobs.length === 0) {
      await new Promise((resolve) => setTimeout(resolve, 1));
      continue;
    }
    for (const job of jobs) add(job.data.n);
    await boss.complete(QUEUE, jobs.map((job) => job.id));
  }
};
const begun = performance.now();
const lanes = Array.from({ length: LANES }, lane);
if (how === "pushed") await push(send);
await Promise.all(lanes);
await until(async () => (await boss.getQueueSize(QUEUE, { before: "completed" })) === 0);
print(begun, state.sum);
await boss.stop({ graceful: false });
process.exit(0);
