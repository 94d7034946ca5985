// The live part of the board: counts and list follow the server; forms are sent without loading the page, and again while there is no answer.
// Everything works without it, by plain forms.
"use strict";

const board = document.getElementById("board");
const waiting = document.getElementById("waiting");
const counts = { open: document.getElementById("count-open"), done: document.getElementById("count-done") };
const TRIES_MAX = 60;

const pause = (ms) => new Promise((ended) => setTimeout(ended, ms));
const newNumber = () => [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

// Asks until there is an answer that is none of a server in trouble. What is sent twice does the same as once.
async function ask(path, options = {}) {
  for (let tries = 1; ; tries += 1) {
    const response = await fetch(path, { ...options, headers: { "x-requested-with": "board" } }).catch(() => null);
    waiting.hidden = response !== null && response.status < 500;
    if (waiting.hidden || tries === TRIES_MAX) return response;
    await pause(1000);
  }
}

// The list as it is now, unless it is being searched or somebody is at one of its buttons.
async function refresh() {
  const response = await ask("/board" + location.search);
  if (response?.ok) show(await response.text());
}

function show(html) {
  const place = board.contains(document.activeElement) ? document.activeElement.getAttribute("aria-label") : null;
  board.innerHTML = html;
  if (place) board.querySelector(`[aria-label="${CSS.escape(place)}"]`)?.focus();
}

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!form.matches("form[data-board]") || !board) return;
  event.preventDefault();
  if (form.dataset.sending) return;
  form.dataset.sending = "yes";
  const data = new URLSearchParams(new FormData(form));
  data.set("sent_as", newNumber());
  const response = await ask(form.action, { method: "POST", body: data });
  delete form.dataset.sending;
  // It was there when the page was made, so another has deleted it.
  if (response?.status === 404) return refresh();
  if (!response?.ok) return form.submit();
  if (location.search) await refresh();
  else show(await response.text());
  if (form.classList.contains("add")) form.querySelector("input[name=title]").value = "";
});

function follow() {
  const events = new EventSource("/events");
  events.addEventListener("count", (event) => {
    const count = JSON.parse(event.data);
    const now = `${count.open} ${count.done} ${count.version ?? ""}`;
    counts.open.textContent = count.open;
    counts.done.textContent = count.done;
    if (now !== board.dataset.version) refresh();
    board.dataset.version = now;
  });
  // A browser comes back by itself from a connection that broke, and not from an error.
  events.addEventListener("error", () => {
    if (events.readyState === EventSource.CLOSED) setTimeout(follow, 1000);
  });
  addEventListener("pagehide", () => events.close());
}

if (board) follow();
