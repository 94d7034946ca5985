// What the programs of World and Fortune in JavaScript share: how many rows are asked for, rows without repetition, the page of fortunes.

const ENTITIES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
const escape = (text) => text.replace(/[&<>"']/g, (sign) => ENTITIES[sign]);

// 1 to 500; what is no number is 1.
export const wanted = (query) => {
  const text = new URLSearchParams(query).get("q") ?? "";
  const number = /^[0-9]+$/.test(text) ? Number(text) : 1;
  return Math.min(Math.max(number, 1), 500);
};

// In one order everywhere, and each row once: statements of several connections must not wait for each other in a circle.
export const unique = (rows) => [...new Map(rows.map((row) => [row.id, row])).values()].sort((a, b) => a.id - b.id);

export const fortunesPage = (rows) => {
  const fortunes = [...rows, { id: 0, message: "Additional fortune added at request time." }];
  fortunes.sort((a, b) => (a.message < b.message ? -1 : a.message > b.message ? 1 : 0));
  let page = "<!DOCTYPE html><html><head><title>Fortunes</title></head><body><table><tr><th>id</th><th>message</th></tr>";
  for (const { id, message } of fortunes) page += `<tr><td>${id}</td><td>${escape(message)}</td></tr>`;
  return `${page}</table></body></html>`;
};
