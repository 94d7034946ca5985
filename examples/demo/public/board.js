// The live part of the board: counts and list follow the server; forms are sent without loading the page.
// Everything works without it, by plain forms.
"use strict";

const board = document.getElementById("board");
const counts = { open: document.getElementById("count-open"), done: document.getElementById("count-done") };

// The list as it is now, unless it is being searched or somebody is at one of its buttons.
async function refresh() {
  const response = await fetch("/board" + location.search, { headers: { "x-requested-with": "board" } });
  if (response.ok) show(await response.text());
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
  const response = await fetch(form.action, {
    method: "POST",
    body: new URLSearchParams(new FormData(form)),
    headers: { "x-requested-with": "board" },
  });
  if (!response.ok) return form.submit();
  if (location.search) await refresh();
  else show(await response.text());
  if (form.classList.contains("add")) form.querySelector("input[name=title]").value = "";
});

if (board) {
  let known = `${counts.open.textContent} ${counts.done.textContent}`;
  const events = new EventSource("/events");
  events.addEventListener("count", (event) => {
    const count = JSON.parse(event.data);
    const now = `${count.open} ${count.done}`;
    counts.open.textContent = count.open;
    counts.done.textContent = count.done;
    if (now !== known) refresh();
    known = now;
  });
  addEventListener("pagehide", () => events.close());
}
