// postgres.js alone, under Node: connections keep DEPTH queries in flight each until COUNT were answered. Not part of the product.
// `node pg.mjs COUNT DEPTH URL [CONNECTIONS [SQL]]` prints `queries=N seconds=S sum=X cpu=S`. JavaScript has one thread: all connections are its.
import postgres from "postgres";

const [count, depth, url, connections = "1", sql] = process.argv.slice(2);
const [share, many] = [Math.floor(Number(count) / Number(connections)), Number(depth)];

// The same keys in every program: a linear congruence from 1.
const keys = () => {
  let state = 1;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return ((state >>> 8) % 10000) + 1;
  };
};

const run = async () => {
  const db = postgres(url, { max: 1, max_pipeline: many, fetch_types: false, onnotice: () => {} });
  const next = keys();
  // Its constant column is the first of the row. Only that one is made a value, as by the programs beside this one.
  const ask = sql
    ? async () => Number((await db.unsafe(sql, [], { prepare: true }).raw())[0][0])
    : async () => (await db`select id, randomnumber from world where id = ${next()}`)[0].randomnumber;
  let [left, sum] = [share, 0];
  const lane = async () => {
    while (left-- > 0) {
      const value = await ask();
      sum += value;
    }
  };
  await Promise.all(Array.from({ length: many }, lane));
  await db.end();
  return sum;
};

const started = performance.now();
const before = process.cpuUsage();
const sums = await Promise.all(Array.from({ length: Number(connections) }, run));
const spent = process.cpuUsage(before);
const seconds = (performance.now() - started) / 1e3;
const sum = sums.reduce((all, each) => all + each, 0);
const cpu = (spent.user + spent.system) / 1e6;
console.log(`queries=${share * Number(connections)} seconds=${seconds.toFixed(6)} sum=${sum} cpu=${cpu.toFixed(6)}`);
