// What the programs of this folder share: the load, the clock, and the line that they print. Not part of the product.
// `node PROGRAM.mjs pushed|stored URL COUNT` prints `queries=N seconds=S sum=X`.

// As many as every program beside these has.
export const PUSHES = 64;
export const RUNNING = 100;
export const POOL = 16;

export const [how, url, count] = [process.argv[2], process.argv[3], Number(process.argv[4])];

// Pushes one job after the other, with so many pushes under way.
export const push = async (send) => {
  let next = 0;
  const lane = async () => {
    while (next < count) await send(next++);
  };
  await Promise.all(Array.from({ length: PUSHES }, lane));
};

export const counter = () => {
  const state = { done: 0, sum: 0 };
  return { state, add: (n) => ((state.done += 1), (state.sum += n)) };
};

export const until = async (reached) => {
  while (!(await reached())) await new Promise((resolve) => setTimeout(resolve, 2));
};

export const print = (begun, sum) => {
  const seconds = (performance.now() - begun) / 1e3;
  console.log(`queries=${count} seconds=${seconds.toFixed(6)} sum=${sum}`);
};
