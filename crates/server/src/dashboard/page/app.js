// The page of the dashboard: asks the server it came from for JSON, draws it, and sends what an operator decides.
// Not the place of any rule: what may be seen and what may be done is the server's to say.
// Rule: whatever the server answers becomes text, never markup; nothing is asked of another server.

// ---- Words -------------------------------------------------------------------------------------------------------------------------

/** Every word of the page: English, Japanese. `{name}` is replaced. */
const WORDS = {
  skip: ["Skip to the content", "本文へ移動"],
  views: ["Views", "表示"],
  overview: ["Overview", "概要"],
  requests: ["Under way", "処理中"],
  traces: ["Traces", "トレース"],
  trace: ["Trace", "トレース"],
  errors: ["Errors", "エラー"],
  statements: ["Statements", "SQL 文"],
  databases: ["Pools", "接続プール"],
  stores: ["Stores", "ストア"],
  work: ["Work", "ジョブ等"],
  reloads: ["Reloads", "再読み込み"],
  server: ["Server", "サーバー"],

  colours: ["Colours", "配色"],
  colours_auto: ["System", "自動"],
  colours_light: ["Light", "ライト"],
  colours_dark: ["Dark", "ダーク"],
  language: ["Language", "言語"],
  pause: ["Pause", "一時停止"],
  resume: ["Resume", "再開"],
  close: ["Close", "閉じる"],
  no: ["Leave it", "やめる"],
  filter: ["Filter", "絞り込み"],
  show_more: ["Show {n} more", "あと {n} 件を表示"],
  cut: ["The server keeps or sends no more than these.", "サーバーが保持・送信するのはここまでです。"],
  nothing_matches: ["Nothing matches the filter.", "条件に合うものはありません。"],

  state_starting: ["Asking", "接続中"],
  state_live: ["Live", "更新中"],
  state_paused: ["Paused", "停止中"],
  state_failing: ["No answer", "応答なし"],
  state_login: ["Locked", "要ログイン"],
  trouble_none: ["The server does not answer; this page goes on asking.", "サーバーが応答しません。問い合わせを続けています。"],
  trouble_since: ["The server does not answer; this page goes on asking. What it shows is from {time}.", "サーバーが応答しません。問い合わせを続けています。表示は {time} のものです。"],
  trouble_silent: ["A worker does not answer: {workers}. What it has is missing here, and requests on it wait.", "応答しないワーカーがあります: {workers}。この表示にはその分が含まれず、そのワーカーのリクエストは待たされています。"],
  silent_since: ["{worker}, since {time}", "{worker}({time} から)"],
  trouble_refused: ["The server refuses: {error}", "サーバーが拒否しました: {error}"],
  unknown_view: ["There is no such view.", "そのような画面はありません。"],

  login_title: ["This server asks for a token", "トークンが必要です"],
  login_text: ["It is in the file that --admin-token-file names. A cookie holds for twelve hours.", "--admin-token-file で指定したファイルの内容です。Cookie は 12 時間有効です。"],
  login_token: ["Token", "トークン"],
  login_go: ["Open the dashboard", "ダッシュボードを開く"],
  login_wrong: ["That is not the token.", "トークンが違います。"],

  minute: ["Minute", "1 分"],
  hour: ["Hour", "1 時間"],
  span: ["Span of the charts", "グラフの期間"],
  ready: ["ready", "受付可"],
  not_ready: ["not ready: {why}", "受付不可: {why}"],
  up_for: ["up {time}", "稼働 {time}"],
  workers_n: ["workers: {n}", "ワーカー: {n}"],
  chart_requests: ["Requests per second", "毎秒リクエスト数"],
  chart_latency: ["Time to answer", "応答時間"],
  chart_errors: ["Errors per second", "毎秒エラー数"],
  chart_cpu: ["Processor, cores in use", "CPU 使用コア数"],
  chart_memory: ["Memory", "メモリー"],
  chart_connections: ["Connections", "接続数"],
  chart_says: ["{title}. {now}. Highest: {max}.", "{title}。{now}。最大: {max}。"],
  chart_keys: ["Arrow keys show earlier values.", "矢印キーで過去の値を表示します。"],
  at_before: ["{time} ago", "{time}前"],
  now: ["now", "現在"],
  p50: ["p50", "p50"],
  p99: ["p99", "p99"],

  routes: ["Routes", "ルート"],
  routes_none: ["No request has come yet.", "まだリクエストはありません。"],
  route: ["Route", "ルート"],
  count_requests: ["Requests", "リクエスト"],
  count_errors: ["Errors", "エラー"],
  share_errors: ["Share of errors", "エラー率"],

  requests_none: ["Nothing is under way.", "処理中のものはありません。"],
  requests_sum: ["{n} under way", "処理中 {n} 件"],
  since: ["Since", "経過"],
  kind: ["Kind", "種類"],
  what: ["Request", "リクエスト"],
  worker: ["Worker", "ワーカー"],
  waits_for: ["Waits for", "待ち"],
  waits_since: ["For", "待ち時間"],
  place: ["Place", "場所"],
  action: ["Action", "操作"],
  runs: ["runs", "実行中"],
  cancel: ["Cancel", "中止"],
  cancel_yes: ["Cancel it", "中止する"],
  cancel_this: ["Cancel {what}", "{what} を中止"],
  cancel_title: ["Cancel this?", "これを中止しますか?"],
  cancel_text: ["Its code is interrupted where it waits, and its ensure blocks run. The client gets an error.", "待っている場所で処理を打ち切り、ensure を実行します。クライアントにはエラーが返ります。"],
  cancel_done: ["Cancelled: {what}", "中止しました: {what}"],
  kind_request: ["request", "リクエスト"],
  kind_job: ["job", "ジョブ"],
  kind_timer: ["timer", "タイマー"],
  kind_websocket: ["WebSocket", "WebSocket"],
  kind_stream: ["stream", "ストリーム"],
  wait_sql: ["SQL", "SQL"],
  wait_kv: ["store", "ストア"],
  wait_http: ["HTTP call", "HTTP 呼び出し"],
  wait_sleep: ["sleep", "スリープ"],
  wait_lock: ["lock", "ロック"],
  wait_channel: ["channel", "チャンネル"],
  wait_body: ["body", "ボディ"],
  wait_pool: ["pool", "プール"],
  wait_client: ["client", "クライアント"],
  wait_mail: ["mail", "メール"],

  statements_none: ["No statement has been run yet.", "まだ SQL 文は実行されていません。"],
  sort_by: ["Sorted by", "並べ替え"],
  by_time: ["total time", "合計時間"],
  by_calls: ["calls", "回数"],
  by_mean: ["mean", "平均"],
  by_p99: ["p99", "p99"],
  sql: ["Statement", "SQL 文"],
  database: ["Database", "データベース"],
  calls: ["Calls", "回数"],
  rows: ["Rows", "行数"],
  total: ["Total", "合計"],
  mean: ["Mean", "平均"],
  max: ["Max", "最大"],
  details: ["Details", "詳細"],
  details_of: ["Details of {what}", "{what} の詳細"],
  explain: ["Explain", "実行計画"],
  explain_asks: ["Asking the database …", "データベースに問い合わせています…"],
  fingerprint: ["Fingerprint", "指紋"],
  counted_since: ["Counted since {time}.", "{time} からの集計です。"],
  reset: ["Count anew", "集計し直す"],
  reset_title: ["Forget the figures of all statements?", "すべての SQL 文の集計を消しますか?"],
  reset_text: ["They are counted anew from now on. Nothing else changes.", "今から集計し直します。ほかには何も変わりません。"],
  reset_done: ["Counting anew.", "集計し直しています。"],

  databases_none: ["The application has opened no database.", "アプリケーションはデータベースを開いていません。"],
  role: ["Role", "役割"],
  in_use: ["In use", "使用中"],
  connections: ["Connections", "接続"],
  waiting: ["Waiting", "待ち"],
  column_statements: ["Statements", "SQL 文"],
  column_errors: ["Errors", "エラー"],
  column_transactions: ["Transactions", "トランザクション"],
  column_commits_unknown: ["Commits unknown", "結果不明のコミット"],
  column_acquired: ["Acquired", "貸し出し"],
  column_wait_ms: ["Waited in all", "待ち時間の合計"],

  stores_none: ["The application has opened no store.", "アプリケーションはストアを開いていません。"],
  store: ["Store", "ストア"],
  records: ["Records", "レコード"],
  size: ["Size", "サイズ"],
  hit_rate: ["Hit rate", "ヒット率"],
  hits: ["Hits", "ヒット"],
  misses: ["Misses", "ミス"],
  column_reads: ["Reads", "読み取り"],
  column_writes: ["Writes", "書き込み"],
  column_capacity: ["Capacity", "容量"],
  column_expired: ["Expired", "期限切れ"],
  column_evicted: ["Evicted", "追い出し"],
  column_queued: ["Queued", "書き込み待ち"],
  column_engine: ["Engine", "エンジン"],
  records_of: ["Records of {store}", "{store} のレコード"],
  records_none: ["No key begins with this.", "これで始まるキーはありません。"],
  prefix: ["Keys that begin with", "キーの先頭"],
  look: ["Look", "表示"],
  key: ["Key", "キー"],
  value: ["Value", "値"],
  expires: ["Expires", "期限"],
  never: ["never", "なし"],
  hidden_value: ["hidden: it may be a secret", "非表示 (秘密の可能性)"],
  binary: ["binary", "バイナリー"],
  first_page: ["First keys", "先頭へ"],
  next_page: ["Next keys", "次へ"],
  back_to_stores: ["All stores", "ストア一覧"],
  in_time: ["in {time}", "{time}後"],

  timers: ["Timers", "タイマー"],
  timers_none: ["The application declares no timer.", "タイマーは宣言されていません。"],
  timer: ["Timer", "タイマー"],
  period: ["Period", "周期"],
  last: ["Last", "前回"],
  took: ["Took", "所要"],
  next: ["Next", "次回"],
  error: ["Error", "エラー"],
  queues: ["Jobs", "ジョブ"],
  queues_none: ["No job is waiting.", "待っているジョブはありません。"],
  jobs_none: ["The application declares no jobs.", "ジョブは宣言されていません。"],
  queue: ["Queue", "キュー"],
  queue_ready: ["Ready", "実行待ち"],
  queue_scheduled: ["Scheduled", "予約"],
  queue_running: ["Running", "実行中"],
  queue_dead: ["Dead", "失敗"],
  dead: ["Dead jobs", "失敗したジョブ"],
  dead_none: ["No job has died.", "失敗したジョブはありません。"],
  id: ["Id", "ID"],
  attempts: ["Attempts", "試行"],
  failed: ["Failed", "失敗"],
  retry: ["Retry", "再実行"],
  drop: ["Drop", "破棄"],
  retry_this: ["Retry {what}", "{what} を再実行"],
  drop_this: ["Drop {what}", "{what} を破棄"],
  retry_kind: ["Retry all of {kind}", "{kind} をすべて再実行"],
  retry_kind_title: ["Retry every dead job of this kind?", "この種類の失敗したジョブをすべて再実行しますか?"],
  retry_kind_text: ["Each becomes ready at once, with all its attempts.", "それぞれ試行回数を戻して、すぐに実行待ちになります。"],
  retry_done: ["Ready again: {what}", "実行待ちに戻しました: {what}"],
  drop_title: ["Drop this job for good?", "このジョブを完全に破棄しますか?"],
  drop_text: ["It is deleted and cannot be brought back.", "削除され、元に戻せません。"],
  drop_done: ["Dropped: {what}", "破棄しました: {what}"],
  channels: ["Channels", "チャンネル"],
  channels_none: ["No channel has been used.", "チャンネルは使われていません。"],
  channel: ["Channel", "チャンネル"],
  scope: ["Reaches", "範囲"],
  scope_cluster: ["every process", "全プロセス"],
  scope_process: ["this process", "このプロセス"],
  subscribers: ["Subscribers", "購読者"],
  messages: ["Messages", "メッセージ"],

  errors_none: ["No error has been raised.", "エラーは起きていません。"],
  once: ["once", "1 回"],
  times_n: ["{n} times", "{n} 回"],
  first_seen: ["First", "初回"],
  last_seen: ["Last", "最終"],
  backtrace: ["Backtrace", "バックトレース"],

  reloads_none: ["The application has not been loaded anew.", "再読み込みはありません。"],
  when: ["When", "日時"],
  trigger: ["Trigger", "きっかけ"],
  outcome: ["Outcome", "結果"],
  outcome_loaded: ["loaded", "成功"],
  outcome_failed: ["failed", "失敗"],

  traces_none: ["No trace has been kept yet.", "まだトレースはありません。"],
  status: ["Status", "状態"],
  spans: ["Spans", "スパン"],
  span_name: ["Span", "スパン"],
  timeline: ["Timeline", "時間軸"],
  attributes: ["Attributes", "属性"],
  begins: ["Begins", "開始"],
  after_begin: ["after {time}", "{time}後"],
  kind_template: ["template", "テンプレート"],
  trace_sum: ["{name}: {time}, spans: {n}", "{name}: {time}、スパン: {n}"],
  trace_open: ["Open trace {id}", "トレース {id} を開く"],
  trace_gone: ["This trace is no longer kept.", "このトレースはもう保持されていません。"],
  trace_empty: ["This trace has no spans.", "このトレースにはスパンがありません。"],
  back_to_traces: ["All traces", "トレース一覧"],
  exporter_none: ["No collector: traces stay in this process.", "コレクターなし。トレースはこのプロセス内だけに残ります。"],
  exporter_to: ["Sent to {endpoint}: {sent}; dropped: {dropped}; failed: {failed}.", "送信先 {endpoint}: 送信 {sent}、破棄 {dropped}、失敗 {failed}。"],

  versions: ["Versions", "バージョン"],
  options: ["Options", "オプション"],
  limits: ["Limits", "上限"],
  listeners: ["Listeners", "待ち受け"],
  name: ["Name", "名前"],
  default_value: ["Default", "既定値"],
  unit: ["Unit", "単位"],
  features: ["Features", "機能"],
  none: ["none", "なし"],
  yes: ["yes", "はい"],
  not: ["no", "いいえ"],
  changed: ["changed", "変更あり"],
};

const LANGUAGES = ["en", "ja"];

/** What the browser remembers of this page; without storage it remembers nothing. */
const memory = {
  read(name) {
    try { return localStorage.getItem(`tsumugi.${name}`); } catch { return null; }
  },
  write(name, value) {
    try { localStorage.setItem(`tsumugi.${name}`, value); } catch { /* A private window may have none. */ }
  },
};

let language = LANGUAGES.includes(memory.read("language")) ? memory.read("language")
  : (navigator.language ?? "en").toLowerCase().startsWith("ja") ? "ja" : "en";

/** The word of this key in the language of the page. */
function t(key, values = {}) {
  const words = WORDS[key];
  if (!words) {
    console.error(`no word for ${key}`);
    return key;
  }
  return words[LANGUAGES.indexOf(language)].replace(/\{(\w+)\}/g, (all, name) => values[name] ?? all);
}

/** The word for a name that the server chose: one of ours, or the name itself. */
const wordOf = (family, name) => Object.hasOwn(WORDS, `${family}_${name}`) ? t(`${family}_${name}`) : text(name);

// ---- Texts and figures --------------------------------------------------------------------------------------------------------------

const NOTHING = "–";

/** A value of the server as text. Characters that are not seen, or that turn the text around them, are shown by their names. */
function text(value) {
  if (value === null || value === undefined) return NOTHING;
  const written = typeof value === "string" ? value : typeof value === "object" ? JSON.stringify(value) : String(value);
  return written.replace(/[\u0000-\u0008\u000b-\u001f\u007f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g, (c) => {
    const code = c.charCodeAt(0);
    if (code < 0x20) return String.fromCharCode(0x2400 + code);
    return code === 0x7f ? "\u2421" : `[U+${code.toString(16).toUpperCase().padStart(4, "0")}]`;
  });
}

const isNumber = (value) => typeof value === "number" && Number.isFinite(value);
const formats = new Map();
function format(options) {
  const key = language + JSON.stringify(options);
  if (!formats.has(key)) formats.set(key, new Intl.NumberFormat(language, options));
  return formats.get(key);
}

function count(value) {
  if (!isNumber(value)) return NOTHING;
  if (Math.abs(value) >= 1e6) return format({ notation: "compact", maximumFractionDigits: 2 }).format(value);
  return format({ maximumFractionDigits: 0 }).format(value);
}

/** A rate or another figure that need not be whole. */
function figure(value) {
  if (!isNumber(value)) return NOTHING;
  if (Math.abs(value) >= 1e5) return count(value);
  const digits = value === 0 || Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return format({ maximumFractionDigits: digits }).format(value);
}

const percent = (value) => isNumber(value) ? format({ style: "percent", maximumSignificantDigits: value < 0.01 ? 1 : value > 0.99 ? 4 : 2 }).format(value) : NOTHING;

function bytes(value) {
  if (!isNumber(value)) return NOTHING;
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let at = 0;
  while (Math.abs(value) >= 1024 && at < units.length - 1) {
    value /= 1024;
    at += 1;
  }
  return `${at === 0 ? count(value) : figure(value)} ${units[at]}`;
}

const TIME_WORDS = { en: ["s", "min", "h", "d"], ja: ["秒", "分", "時間", "日"] };

/** A length of time in milliseconds, to two or three digits. */
function time(ms) {
  if (!isNumber(ms)) return NOTHING;
  const [second, minute, hour, day] = TIME_WORDS[language];
  if (ms < 0) ms = 0;
  if (ms > 0 && ms < 1) return `${figure(Math.max(1, ms * 1000) | 0)} µs`;
  if (ms < 1000) return `${figure(ms)} ms`;
  if (ms < 60_000) return `${format({ maximumFractionDigits: ms < 10_000 ? 1 : 0 }).format(Math.floor(ms / 100) / 10)} ${second}`;
  const seconds = Math.floor(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} ${minute} ${seconds % 60} ${second}`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 1440) return `${Math.floor(minutes / 60)} ${hour} ${minutes % 60} ${minute}`;
  const hours = Math.floor(minutes / 60);
  return `${Math.floor(hours / 24)} ${day} ${hours % 24} ${hour}`;
}

/** Whole seconds from a second on: for what is counted while one looks. */
const elapsed = (ms) => isNumber(ms) && ms >= 1000 ? time(Math.floor(ms / 1000) * 1000) : time(isNumber(ms) ? Math.floor(Math.max(0, ms)) : ms);

/** How far the server's clock is ahead of the browser's. */
let clockAhead = 0;
const serverNow = () => Date.now() + clockAhead;
const ago = (at) => isNumber(at) ? serverNow() - at : null;

/** A moment: its time of day, with its date when it is another day. */
function moment(at) {
  if (!isNumber(at) || Math.abs(at) > 8.64e15) return NOTHING;
  const date = new Date(at);
  const today = new Date(serverNow());
  const clock = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
  if (date.toDateString() === today.toDateString()) return date.toLocaleTimeString(language, { ...clock, second: "2-digit" });
  const year = date.getFullYear() === today.getFullYear() ? {} : { year: "numeric" };
  return `${date.toLocaleDateString(language, { ...year, month: "short", day: "numeric" })} ${date.toLocaleTimeString(language, clock)}`;
}

// ---- Elements -----------------------------------------------------------------------------------------------------------------------

const SVG = "http://www.w3.org/2000/svg";

function fill(node, properties, children) {
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

/** An element. Strings among its children become text. */
const h = (tag, properties, ...children) => fill(document.createElement(tag), properties, children);
const s = (tag, properties, ...children) => fill(document.createElementNS(SVG, tag), properties, children);
const byId = (id) => document.getElementById(id);

const code = (value) => h("code", { title: text(value) }, text(value));
const when = (at) => isNumber(at) && Math.abs(at) <= 8.64e15 ? h("time", { datetime: new Date(at).toISOString(), title: new Date(at).toISOString() }, moment(at)) : NOTHING;
const chip = (kind, words) => h("span", { class: `chip ${kind}` }, words);
const button = (words, onclick, properties) => h("button", { type: "button", onclick, ...properties }, words);

/** A link to a view of this page. */
function link(view, values, ...children) {
  return h("a", { href: place(view, values) }, ...children);
}

function place(view, values = {}) {
  const query = new URLSearchParams(Object.entries(values).filter(([, value]) => value !== null && value !== undefined && value !== ""));
  return `#/${view}${query.size ? `?${query}` : ""}`;
}

/** A part of a view, with its heading and what stands beside it. */
function section(title, beside, ...children) {
  return h("section", {}, h("div", { class: "head" }, h("h2", {}, title), h("div", { class: "tools" }, ...[beside].flat())), ...children);
}

/** A choice of some, as buttons of which one is pressed. */
function choice(label, options, chosen, choose) {
  const buttons = options.map(([name, words]) => button(words, () => {
    for (const each of buttons) each.setAttribute("aria-pressed", each.dataset.name === name);
    choose(name);
  }, { "data-name": name, "aria-pressed": String(name === chosen) }));
  return h("div", { class: "choice", role: "group", "aria-label": label }, ...buttons);
}

/** A share from 0 to 1 as a bar beside its text. */
function meter(share, words, kind = "") {
  const bar = h("span", { class: `meter ${kind}`, "aria-hidden": "true" });
  bar.style.setProperty("--share", `${Math.max(0, Math.min(1, share || 0)) * 100}%`);
  return h("span", { class: "metered" }, bar, h("span", {}, words));
}

// ---- The server ---------------------------------------------------------------------------------------------------------------------

const ANSWER_MS_MAX = 10_000;

/** What the server said instead of what was asked for; `status` is 0 when it said nothing. */
class Refusal extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function answer(path, options, signal) {
  const ends = AbortSignal.any([AbortSignal.timeout(ANSWER_MS_MAX), ...(signal ? [signal] : [])]);
  let response;
  let body;
  try {
    response = await fetch(path, { credentials: "same-origin", cache: "no-store", redirect: "error", signal: ends, ...options });
    body = await response.text();
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Refusal(0, "");
  }
  let value = null;
  try { value = JSON.parse(body); } catch { /* A refusal may be plain text; a success may not. */ }
  if (!response.ok) throw new Refusal(response.status, text(value?.error ?? body.slice(0, 500)));
  if (value === null || typeof value !== "object") throw new Refusal(0, "");
  if (isNumber(value.now)) clockAhead = value.now - Date.now();
  return value;
}

/** Data by its name. */
function read(name, values = {}, signal = undefined) {
  const query = new URLSearchParams(Object.entries(values).filter(([, value]) => value !== null && value !== undefined));
  return answer(`api/${name}${query.size ? `?${query}` : ""}`, {}, signal);
}

/** An action by its name. */
function act(name, values = {}) {
  const headers = { "Content-Type": "application/json", "X-Tsumugi-Action": "1" };
  return answer(`api/${name}`, { method: "POST", headers, body: JSON.stringify(values) });
}

/** Does what an operator asked for and says how it went; the view is asked anew. */
async function perform(name, values, done) {
  try {
    await act(name, values);
    notify(done);
  } catch (error) {
    if (error.status === 401) return login();
    notify(error.status ? t("trouble_refused", { error: error.message }) : t("trouble_none"), "bad");
  }
  shell.soon();
}

// ---- Notices and questions ----------------------------------------------------------------------------------------------------------

const NOTICE_MS = 6000;
let noticeTimer;

function notify(words, kind = "good") {
  const notice = byId("notice");
  notice.textContent = words;
  notice.dataset.kind = kind;
  clearTimeout(noticeTimer);
  noticeTimer = setTimeout(() => { notice.textContent = ""; }, NOTICE_MS);
}

/** Asks before something is done; resolves to whether to do it. The button that changes nothing has the focus. */
function ask(title, words, subject, yes) {
  const dialog = byId("question");
  byId("question-title").textContent = title;
  byId("question-text").textContent = words;
  byId("question-subject").textContent = subject;
  byId("question-subject").hidden = !subject;
  byId("question-yes").textContent = yes;
  return new Promise((resolve) => {
    const end = (decision) => {
      dialog.onclose = null;
      if (dialog.open) dialog.close();
      resolve(decision);
    };
    byId("question-yes").onclick = () => end(true);
    byId("question-no").onclick = () => end(false);
    // That of the question before may come when this one is open.
    dialog.onclose = () => { if (!dialog.open) end(false); };
    dialog.showModal();
    byId("question-no").focus();
  });
}

/** Opens the panel at the side. */
function openDrawer(title, ...children) {
  byId("drawer-title").textContent = title;
  byId("drawer-body").replaceChildren(...children);
  byId("drawer-close").onclick = () => byId("drawer").close();
  if (!byId("drawer").open) byId("drawer").showModal();
  byId("drawer-close").focus();
}

// ---- Tables -------------------------------------------------------------------------------------------------------------------------

const ROWS_AT_ONCE = 200;
/** How a table is drawn where it has too little room, from the widest way to the narrowest; the last has the names of columns in each row. */
const FITS = ["", "dense", "cards"];
/** Where there is never room for a table: the width is that of the style sheet. */
const phone = matchMedia("(max-width: 48rem)");
/** By which column a table is sorted, by the table's name, while the page is open. */
const sorts = new Map();

/** Every string and number within a value, for the filter. */
function contents(value) {
  if (value === null || value === undefined) return "";
  return typeof value === "object" ? Object.values(value).map(contents).join(" ") : String(value);
}

function compare(a, b) {
  const missing = (value) => value === null || value === undefined || value === "";
  if (missing(a) || missing(b)) return missing(a) - missing(b);
  return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), language, { numeric: true });
}

/**
 * A table that stays while its rows change: a row is known by its key, and a cell is drawn anew only when what it shows has changed, so that
 * focus and selection survive. A column is { name, label, number, cell(row) → text or [what it depends on, () → element], sort(row) }.
 */
class Table {
  constructor({ name, caption, columns, key, sort, empty, filter }) {
    Object.assign(this, { name, columns, key, empty });
    this.sort = sorts.get(name) ?? sort ?? null;
    this.rows = [];
    this.shown = ROWS_AT_ONCE;
    this.drawn = new Map();
    this.words = "";
    this.headers = columns.map((column) => this.header(column));
    this.body = h("tbody", { role: "rowgroup" });
    this.note = h("p", { class: "note" });
    this.table = h("table", { role: "table", "data-table": name }, h("caption", { class: "unseen" }, caption),
      h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, ...this.headers)), this.body);
    this.scroll = h("div", { class: "scroll" }, this.table);
    this.node = h("div", { class: "sheet" }, this.scroll, this.note);
    this.fitted = { level: 0, width: 0 };
    // Not within the observer itself, which must not change what it observes.
    new ResizeObserver(() => requestAnimationFrame(() => this.fit())).observe(this.node);
    this.filter = filter ? h("input", { type: "search", class: "filter", placeholder: t("filter"), "aria-label": `${t("filter")}: ${caption}`, oninput: (event) => {
      this.words = event.target.value.trim().toLowerCase();
      this.draw();
    } }) : null;
    this.markSort();
  }

  header(column) {
    const label = column.label ? t(column.label) : "";
    const properties = { role: "columnheader", scope: "col", class: column.number ? "number" : null };
    if (!column.sort) return h("th", properties, column.quiet ? h("span", { class: "unseen" }, label) : label);
    return h("th", properties, button(label, () => this.sortBy(column), { class: "sort" }));
  }

  sortBy(column) {
    const [name, down] = this.sort ?? [];
    this.sort = [column.name, name === column.name ? !down : Boolean(column.number)];
    sorts.set(this.name, this.sort);
    this.markSort();
    this.draw();
  }

  markSort() {
    this.columns.forEach((column, at) => {
      if (!column.sort) return;
      const [name, down] = this.sort ?? [];
      this.headers[at].setAttribute("aria-sort", name !== column.name ? "none" : down ? "descending" : "ascending");
    });
  }

  show(rows, more = false) {
    this.rows = Array.isArray(rows) ? rows : [];
    this.more = more;
    this.draw();
  }

  chosen() {
    let rows = this.rows;
    if (this.words) rows = rows.filter((row) => contents(row).toLowerCase().includes(this.words));
    const column = this.sort && this.columns.find(({ name }) => name === this.sort[0]);
    if (!column?.sort) return rows;
    const direction = this.sort[1] ? -1 : 1;
    const missing = (value) => value === null || value === undefined;
    const keyed = rows.map((row) => [column.sort(row), row]);
    keyed.sort(([a], [b]) => missing(a) || missing(b) ? missing(a) - missing(b) : direction * compare(a, b));
    return keyed.map(([, row]) => row);
  }

  draw() {
    const all = this.chosen();
    const focused = document.activeElement;
    const met = new Map();
    all.slice(0, this.shown).forEach((row, at) => {
      let key = String(this.key(row, at));
      while (met.has(key)) key += "\u0000";
      const drawn = this.drawn.get(key) ?? this.newRow(row);
      drawn.row.value = row;
      this.drawRow(drawn, row);
      met.set(key, drawn);
      if (this.body.children[at] !== drawn.node) this.body.insertBefore(drawn.node, this.body.children[at] ?? null);
    });
    for (const [key, drawn] of this.drawn) if (!met.has(key)) drawn.node.remove();
    this.drawn = met;
    if (focused !== document.activeElement && this.body.contains(focused)) focused.focus({ preventScroll: true });
    this.drawNote(all.length);
    this.fit();
  }

  /** Chooses the widest way in which nothing has to be scrolled sideways. It gets no wider again before its room changes. */
  fit() {
    const { clientWidth: width } = this.node;
    if (width === 0) return;
    let level = phone.matches ? FITS.length - 1 : width === this.fitted.width ? this.fitted.level : 0;
    const isTooWide = () => this.scroll.scrollWidth > this.scroll.clientWidth;
    const apply = () => FITS.forEach((name, at) => name && this.node.classList.toggle(name, at === level));
    for (apply(); level < FITS.length - 1 && isTooWide(); apply()) level += 1;
    this.fitted = { level, width };
  }

  newRow(value) {
    const { columns } = this;
    const cells = columns.map((column) => h("td", {
      role: "cell", class: [column.number && "number", column.wide && (columns.filter(({ wide }) => wide).length > 1 ? "wide" : "wide only"), column.kind].filter(Boolean).join(" ") || null,
      "data-label": column.label ? t(column.label) : null,
    }));
    // Buttons of a row ask for its value when they are pressed: it may have changed since they were drawn.
    return { node: h("tr", { role: "row" }, ...cells), cells, known: [], row: { value } };
  }

  drawRow(drawn, row) {
    this.columns.forEach((column, at) => {
      const cell = column.cell(row, drawn.row);
      const [depends, make] = Array.isArray(cell) ? cell : [cell, null];
      if (drawn.known[at] === depends) return;
      drawn.known[at] = depends;
      drawn.cells[at].replaceChildren(make ? make() : depends);
    });
  }

  drawNote(length) {
    const parts = [];
    if (length === 0) parts.push(this.rows.length ? t("nothing_matches") : t(this.empty));
    if (length > this.shown) {
      parts.push(button(t("show_more", { n: count(Math.min(length - this.shown, ROWS_AT_ONCE * 5)) }), () => {
        this.shown += ROWS_AT_ONCE * 5;
        this.draw();
      }, { class: "quiet" }));
    } else if (this.more && length > 0) {
      parts.push(t("cut"));
    }
    this.table.classList.toggle("empty", length === 0);
    const depends = JSON.stringify(parts.map((part) => typeof part === "string" ? part : part.textContent));
    if (this.noted === depends) return;
    this.noted = depends;
    this.note.replaceChildren(...parts);
  }
}

/** Columns of the usual kinds, by the field they show. */
const column = {
  text: (name, label, options) => ({ name, label, cell: (row) => text(row[name]), sort: (row) => row[name], ...options }),
  code: (name, label, options) => ({ name, label, kind: "mono", cell: (row) => [text(row[name]), () => code(row[name])], sort: (row) => row[name], ...options }),
  count: (name, label, options) => ({ name, label, number: true, cell: (row) => count(row[name]), sort: (row) => row[name], ...options }),
  time: (name, label, options) => ({ name, label, number: true, cell: (row) => time(row[name]), sort: (row) => row[name], ...options }),
  bytes: (name, label, options) => ({ name, label, number: true, cell: (row) => bytes(row[name]), sort: (row) => row[name], ...options }),
  moment: (name, label, options) => ({ name, label, cell: (row) => [`${moment(row[name])}`, () => when(row[name])], sort: (row) => row[name], ...options }),
  errors: (name, label, options) => ({ name, label, number: true, cell: (row) => row[name] > 0 ? [count(row[name]), () => h("strong", { class: "bad" }, count(row[name]))] : count(row[name]), sort: (row) => row[name], ...options }),
  trace: (name, label, options) => ({ name, label, kind: "mono", cell: (row) => [text(row[name]), () => traceLink(row[name])], ...options }),
};

const traceLink = (id) => id ? h("a", { href: place("trace", { id }), title: text(id), "aria-label": t("trace_open", { id: text(id) }) }, text(id).slice(-8)) : NOTHING;

// ---- Charts -------------------------------------------------------------------------------------------------------------------------

/** The least round figure that is not below `value`; for bytes a power of two, or one and a half of it. */
function roundUp(value, binary) {
  if (!(value > 0)) return 1;
  const power = binary ? 2 ** Math.floor(Math.log2(value)) : 10 ** Math.floor(Math.log10(value));
  const steps = binary ? [1, 1.5, 2] : [1, 1.5, 2, 3, 4, 5, 6, 8, 10];
  return steps.map((step) => step * power).find((step) => step >= value * 0.999999) ?? value;
}

const numbers = (values) => Array.isArray(values) ? values.map((value) => isNumber(value) ? value : null) : [];

/**
 * A chart of one or two series over time. The lines are stretched to the width of the page; texts are HTML beside them, so that they are not,
 * and in a column of their own, so that no line runs through them.
 * It is read by pointer and by arrow keys, and says its latest and highest values to who does not see it.
 */
class Chart {
  constructor({ title, series, show, binary = false, least = 0 }) {
    Object.assign(this, { title, show, binary, least, at: null });
    this.series = series.map(({ name, colour, words }) => ({
      name, words, value: h("b", {}),
      area: s("path", { class: `area ${colour}` }), line: s("path", { class: `line ${colour}` }), colour,
    }));
    this.top = h("span", {});
    this.half = h("span", {});
    this.bottom = h("span", {});
    this.begin = h("span", {});
    this.cursor = s("line", { class: "cursor", y1: 0, y2: 100, visibility: "hidden" });
    this.plot = h("div", { class: "plot", tabindex: "0", role: "img" },
      s("svg", { viewBox: "0 0 59 100", preserveAspectRatio: "none", "aria-hidden": "true", focusable: "false" },
        s("path", { class: "grid", d: "M0 0H59M0 50H59M0 100H59" }),
        ...this.series.map(({ area }, at) => at === 0 ? area : null), ...this.series.map(({ line }) => line), this.cursor));
    this.moment = h("span", { class: "moment" });
    this.node = h("figure", { class: "chart" },
      h("figcaption", {}, h("span", { class: "title" }, title, this.moment),
        h("span", { class: "values" }, ...this.series.map(({ colour, words, value }) => h("span", { class: `reading ${colour}` }, words ? h("i", {}, words) : null, value)))),
      h("div", { class: "graph" }, h("p", { class: "scale", "aria-hidden": "true" }, this.top, this.half, this.bottom), this.plot,
        h("p", { class: "axis", "aria-hidden": "true" }, this.begin, h("span", {}, t("now")))));
    this.plot.addEventListener("pointermove", (event) => this.point(event));
    this.plot.addEventListener("pointerleave", () => this.look(null));
    this.plot.addEventListener("blur", () => this.look(null));
    this.plot.addEventListener("keydown", (event) => this.key(event));
  }

  point(event) {
    const box = this.plot.getBoundingClientRect();
    this.look(Math.round((event.clientX - box.left) / box.width * (this.length - 1)));
  }

  key(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (event.key === "Escape") this.look(null);
    if (!step) return;
    event.preventDefault();
    this.look((this.at ?? this.length - 1) + (this.at === null && step < 0 ? 0 : step));
  }

  look(at) {
    this.at = at === null ? null : Math.max(0, Math.min(this.length - 1, at));
    this.draw();
  }

  update(data, stepMs) {
    this.values = this.series.map(({ name }) => numbers(data[name]));
    this.length = Math.max(2, ...this.values.map((values) => values.length));
    this.stepMs = stepMs;
    this.draw();
  }

  draw() {
    if (!this.values) return;
    const highest = Math.max(0, ...this.values.flat());
    const top = Math.max(this.least, roundUp(highest, this.binary));
    this.series.forEach((series, at) => {
      const values = this.values[at];
      series.line.setAttribute("d", trail(values, top, this.length, false));
      series.area.setAttribute("d", trail(values, top, this.length, true));
      const index = this.at ?? values.length - 1;
      series.value.textContent = this.show(values[index] ?? null);
    });
    const x = (this.at ?? 0) * 59 / (this.length - 1);
    this.cursor.setAttribute("x1", x);
    this.cursor.setAttribute("x2", x);
    this.cursor.setAttribute("visibility", this.at === null ? "hidden" : "visible");
    this.moment.textContent = this.at === null ? "" : ` ${t("at_before", { time: time((this.length - 1 - this.at) * this.stepMs) })}`;
    this.top.textContent = this.show(top);
    this.half.textContent = this.show(top / 2);
    this.bottom.textContent = this.show(0);
    this.begin.textContent = t("at_before", { time: time((this.length - 1) * this.stepMs) });
    this.plot.setAttribute("aria-label", this.sentence(highest));
  }

  sentence(highest) {
    const now = this.series.map(({ words, value }) => `${words ? `${words} ` : ""}${value.textContent}`).join(", ");
    return `${t("chart_says", { title: this.title, now: `${this.moment.textContent.trim()} ${now}`.trim(), max: this.show(highest) })} ${t("chart_keys")}`;
  }
}

/** The path of some values; it is broken where one is missing. */
function trail(values, top, length, closed) {
  const points = values.map((value, at) => value === null ? null : [at * 59 / (length - 1), 100 - Math.min(1, value / top) * 100]);
  let path = "";
  let run = [];
  const end = () => {
    if (run.length === 0) return;
    const line = run.map(([x, y]) => `${x.toFixed(2)} ${y.toFixed(2)}`).join("L");
    path += closed ? `M${run[0][0].toFixed(2)} 100L${line}L${run.at(-1)[0].toFixed(2)} 100Z` : `M${line}${run.length === 1 ? "h.01" : ""}`;
    run = [];
  };
  for (const point of points) {
    if (point) run.push(point);
    else end();
  }
  end();
  return path;
}

// ---- Views --------------------------------------------------------------------------------------------------------------------------
// A view is { every, open(values) → { nodes, ask(signal) → data, show(data) } }: it is built once, and shown anew with each answer.

const SECOND = 1000;
const SOME_SECONDS = 5000;
let span = "minute";

const overview = {
  every: SECOND,
  open() {
    const rate = (value) => figure(value);
    const one = (title, name, colour, show, options) => new Chart({ title: t(title), series: [{ name, colour }], show, ...options });
    const charts = [
      one("chart_requests", "requests", "ai", rate, { least: 1 }),
      new Chart({ title: t("chart_latency"), show: time, series: [
        { name: "p99_ms", colour: "fuji", words: t("p99") }, { name: "p50_ms", colour: "ai", words: t("p50") },
      ] }),
      one("chart_errors", "errors", "kurenai", rate, { least: 1 }),
      one("chart_cpu", "cpu", "kohaku", figure, { least: 1 }),
      one("chart_memory", "memory", "matsu", bytes, { binary: true, least: 2 ** 20 }),
      one("chart_connections", "connections", "ai", figure, { least: 1 }),
    ];
    let last = null;
    const draw = () => {
      const series = last?.[span];
      if (!series) return;
      const step = isNumber(series.step_ms) && series.step_ms > 0 ? series.step_ms : SECOND;
      const perSecond = (values) => numbers(values).map((value) => value === null ? null : value * 1000 / step);
      const data = { ...series, requests: perSecond(series.requests), errors: perSecond(series.errors) };
      for (const chart of charts) chart.update(data, step);
    };
    const spans = choice(t("span"), [["minute", t("minute")], ["hour", t("hour")]], span, (name) => {
      span = name;
      draw();
    });
    const since = h("span", { class: "note" });
    const routes = new Table({
      name: "routes", caption: t("routes"), empty: "routes_none", filter: true, key: (row) => row.route, sort: ["requests", true],
      columns: [
        column.code("route", "route", { wide: true }),
        column.count("requests", "count_requests"),
        column.errors("errors", "count_errors"),
        { name: "share", label: "share_errors", number: true, cell: (row) => row.errors > 0 && row.requests > 0 ? percent(row.errors / row.requests) : NOTHING, sort: (row) => row.requests > 0 ? row.errors / row.requests : null },
        column.time("p50_ms", "p50"),
        column.time("p99_ms", "p99"),
      ],
    });
    return {
      nodes: [heading("overview", spans), h("div", { class: "charts" }, ...charts.map(({ node }) => node)), section(t("routes"), [since, routes.filter], routes.node)],
      ask: (signal) => read("overview", {}, signal),
      show(data) {
        last = data;
        draw();
        routes.show(data.routes, data.more);
        since.textContent = isNumber(data.routes_since_at) ? t("counted_since", { time: moment(data.routes_since_at) }) : "";
        shell.facts(data);
      },
    };
  },
};

const named = (row) => row.path ? `${text(row.method ?? "")} ${text(row.path)}`.trim() : text(row.route ?? row.id);

async function cancel(row) {
  const yes = await ask(t("cancel_title"), t("cancel_text"), named(row), t("cancel_yes"));
  if (yes) await perform("requests/cancel", { id: row.id }, t("cancel_done", { what: named(row) }));
}

const requests = {
  every: SECOND,
  open() {
    const table = new Table({
      name: "requests", caption: t("requests"), empty: "requests_none", filter: true, key: (row) => row.id, sort: ["since_at", false],
      columns: [
        { name: "since_at", label: "since", number: true, cell: (row) => elapsed(ago(row.since_at)), sort: (row) => row.since_at },
        { name: "kind", label: "kind", cell: (row) => [language + text(row.kind), () => chip("plain", wordOf("kind", row.kind))], sort: (row) => row.kind },
        { name: "what", label: "what", wide: true, kind: "mono", cell: (row) => [named(row) + text(row.route), () => h("span", {}, code(named(row)), row.path && row.route && row.route !== `${row.method} ${row.path}` && row.route !== row.path ? h("small", {}, text(row.route)) : null)], sort: (row) => row.path ?? row.route },
        { name: "waits_for", label: "waits_for", wide: true, cell: (row) => [language + JSON.stringify(row.waits_for ?? null), () => waiting(row.waits_for)], sort: (row) => row.waits_for?.kind },
        { name: "waits_since", label: "waits_since", number: true, cell: (row) => row.waits_for ? elapsed(ago(row.waits_for.since_at)) : NOTHING, sort: (row) => row.waits_for?.since_at },
        { name: "place", label: "place", kind: "mono", cell: (row) => [text(row.waits_for?.place), () => row.waits_for?.place ? code(row.waits_for.place) : NOTHING], sort: (row) => row.waits_for?.place },
        column.text("worker", "worker", { number: true }),
        column.trace("trace_id", "trace"),
        { name: "action", label: "action", quiet: true, cell: (row, held) => [String(row.cancellable), () => row.cancellable ? button(t("cancel"), () => cancel(held.value), { class: "small danger", "aria-label": t("cancel_this", { what: named(row) }) }) : ""] },
      ],
    });
    const sum = h("p", { class: "sum" });
    return {
      nodes: [heading("requests", table.filter), sum, table.node],
      ask: (signal) => read("requests", {}, signal),
      show(data) {
        const rows = data.requests ?? [];
        const kinds = new Map();
        for (const row of rows) {
          const kind = row.waits_for ? wordOf("wait", row.waits_for.kind) : t("runs");
          kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
        }
        const parts = [...kinds].sort((a, b) => b[1] - a[1]).map(([kind, n]) => chip("plain", `${kind} ${count(n)}`));
        sum.replaceChildren(...rows.length ? [t("requests_sum", { n: count(rows.length) + (data.more ? "+" : "") }), ...parts] : []);
        table.show(rows, data.more);
      },
    };
  },
};

function waiting(wait) {
  if (!wait) return chip("good", t("runs"));
  return h("span", {}, chip("wait", wordOf("wait", wait.kind)), " ", wait.what && wait.what !== wait.kind ? code(wait.what) : null);
}

let statementsBy = "time";

const statements = {
  every: SOME_SECONDS,
  open() {
    const table = new Table({
      name: "statements", caption: t("statements"), empty: "statements_none", filter: true, key: (row) => `${row.database} ${row.fingerprint}`,
      columns: [
        { name: "sql", label: "sql", wide: true, kind: "sql", cell: (row) => [text(row.sql), () => code(row.sql)] },
        { name: "total_ms", label: "total", number: true, cell: (row) => [`${time(row.total_ms)} ${row.share}`, () => meter(row.share, time(row.total_ms))] },
        column.count("calls", "calls", { sort: null }),
        column.time("mean_ms", "mean", { sort: null }),
        column.time("p99_ms", "p99", { sort: null }),
        column.count("rows", "rows", { sort: null }),
        column.errors("errors", "count_errors", { sort: null }),
        column.code("place", "place", { sort: null }),
        { name: "action", label: "action", quiet: true, cell: (row, held) => ["", () => button(t("details"), () => openStatement(held.value), { class: "small", "aria-label": t("details_of", { what: text(row.sql).slice(0, 80) }) })] },
      ],
    });
    const since = h("p", { class: "note" });
    const by = choice(t("sort_by"), ["time", "calls", "mean", "p99"].map((name) => [name, t(`by_${name}`)]), statementsBy, (name) => {
      statementsBy = name;
      shell.soon();
    });
    const reset = button(t("reset"), async () => {
      if (await ask(t("reset_title"), t("reset_text"), "", t("reset"))) await perform("statements/reset", {}, t("reset_done"));
    }, { class: "quiet" });
    return {
      nodes: [heading("statements", by, table.filter, reset), table.node, since],
      ask: (signal) => read("statements", { by: statementsBy }, signal),
      show(data) {
        const rows = data.statements ?? [];
        const whole = Math.max(...rows.map((row) => row.total_ms ?? 0), 0);
        table.show(rows.map((row) => ({ ...row, share: whole > 0 ? Math.round((row.total_ms ?? 0) / whole * 100) / 100 : 0 })), data.more);
        since.textContent = isNumber(data.since_at) ? t("counted_since", { time: moment(data.since_at) }) : "";
      },
    };
  },
};

/** A statement in the panel: its text, its figures, its plan when it is asked for. */
function openStatement(row) {
  const plan = h("pre", { class: "plan", tabindex: "0", "aria-live": "polite", hidden: true });
  const explain = button(t("explain"), async () => {
    plan.hidden = false;
    plan.textContent = t("explain_asks");
    explain.disabled = true;
    try {
      plan.textContent = text((await act("statements/explain", { fingerprint: row.fingerprint, database: row.database })).plan);
    } catch (error) {
      plan.textContent = error.status ? error.message : t("trouble_none");
      if (error.status === 401) login();
    }
    explain.disabled = false;
  }, { class: "primary" });
  openDrawer(t("details"), h("pre", { class: "sql", tabindex: "0" }, text(row.sql)), facts([
    ["database", text(row.database)], ["place", text(row.place)], ["calls", count(row.calls)], ["count_errors", count(row.errors)], ["rows", count(row.rows)],
    ["total", time(row.total_ms)], ["mean", time(row.mean_ms)], ["p99", time(row.p99_ms)], ["max", time(row.max_ms)], ["fingerprint", text(row.fingerprint)],
  ]), h("p", { class: "buttons" }, explain), plan);
}

/** Names and values below each other. */
const facts = (pairs) => h("dl", { class: "facts" }, ...pairs.map(([word, value]) => h("div", {}, h("dt", {}, t(word)), h("dd", {}, value))));

/** Fields that are bytes, though their names do not say so. */
const BYTES = ["capacity"];

/** Further fields of rows that have no column of their own, as columns by our words for them, or else by the server's names. */
function furtherColumns(rows, known) {
  const names = new Set(rows.flatMap((row) => Object.keys(row)));
  for (const name of names) if (known.includes(name) || rows.every((row) => row[name] === null || row[name] === undefined)) names.delete(name);
  return [...names].map((name) => {
    const [, stem, unit] = name.match(/^(.*?)_?(ms|bytes|at|rate)?$/);
    const kind = { ms: "time", bytes: "bytes", at: "moment" }[unit] ?? (BYTES.includes(name) ? "bytes" : rows.some((row) => isNumber(row[name])) ? "count" : "text");
    const made = column[kind](name, null);
    const word = `column_${name}`;
    const own = (unit ? stem : name).replaceAll("_", " ").replace(/^./, (first) => first.toUpperCase());
    return { ...made, further: Object.hasOwn(WORDS, word) ? t(word) : own };
  });
}

/** A table of which some columns are known only when rows have come. */
class OpenTable {
  constructor(options) {
    this.options = options;
    this.node = h("div", {});
    this.names = null;
    this.show([]);
  }

  show(rows, more) {
    const list = Array.isArray(rows) ? rows : [];
    const further = furtherColumns(list, this.options.known);
    const own = this.options.columns.filter(({ name, optional }) => !optional || list.some((row) => row[name] !== null && row[name] !== undefined));
    const names = [...own, ...further].map(({ name }) => name).join();
    if (names !== this.names) {
      this.names = names;
      const at = own.findIndex(({ quiet }) => quiet);
      const columns = [...own];
      columns.splice(at < 0 ? columns.length : at, 0, ...further);
      this.table = new Table({ ...this.options, columns });
      further.forEach(({ name, further: label }) => this.label(columns.findIndex((each) => each.name === name), label));
      this.node.replaceChildren(this.table.node);
    }
    this.table.show(list, more);
  }

  /** Gives a column this head. */
  label(at, words) {
    (this.table.headers[at].querySelector("button") ?? this.table.headers[at]).textContent = words;
    const newRow = this.table.newRow.bind(this.table);
    this.table.newRow = (value) => {
      const drawn = newRow(value);
      drawn.cells[at].dataset.label = words;
      return drawn;
    };
  }
}

const databases = {
  every: 2 * SECOND,
  open() {
    const table = new OpenTable({
      name: "databases", caption: t("databases"), empty: "databases_none", key: (row) => `${row.database} ${row.role} ${row.worker}`,
      known: ["database", "role", "kind", "worker", "busy", "connections", "max", "waiting"],
      columns: [
        column.code("database", "database", { wide: true }),
        column.text("kind", "kind"),
        column.text("role", "role", { optional: true }),
        column.text("worker", "worker", { number: true, optional: true }),
        { name: "busy", label: "in_use", cell: (row) => [`${row.busy}/${row.max}`, () => inUse(row)], sort: (row) => row.busy },
        column.count("connections", "connections"),
        column.errors("waiting", "waiting"),
      ],
    });
    return { nodes: [heading("databases"), table.node], ask: (signal) => read("databases", {}, signal), show: (data) => table.show(data.pools, data.more) };
  },
};

function inUse(row) {
  const whole = row.max ?? row.connections;
  const share = whole > 0 ? row.busy / whole : 0;
  return meter(share, `${count(row.busy)} / ${count(whole)}`, share >= 1 ? "bad" : share >= 0.8 ? "warn" : "");
}

const stores = {
  every: SOME_SECONDS,
  open(values) {
    if (values.store) return openRecords(values);
    const table = new OpenTable({
      name: "stores", caption: t("stores"), empty: "stores_none", key: (row) => row.store,
      known: ["store", "kind", "records", "bytes", "hits", "misses", "hit_rate"],
      columns: [
        { name: "store", label: "store", kind: "mono", wide: true, cell: (row) => [text(row.store), () => link("stores", { store: row.store }, text(row.store))], sort: (row) => row.store },
        column.text("kind", "kind"),
        column.count("records", "records"),
        column.bytes("bytes", "size"),
        { name: "hit_rate", label: "hit_rate", cell: (row) => [String(row.hit_rate), () => isNumber(row.hit_rate) ? meter(row.hit_rate, percent(row.hit_rate)) : NOTHING], sort: (row) => row.hit_rate },
        column.count("hits", "hits"),
        column.count("misses", "misses"),
      ],
    });
    return { nodes: [heading("stores"), table.node], ask: (signal) => read("stores", {}, signal), show: (data) => table.show(data.stores, data.more) };
  },
};

/** The records of one store whose keys begin with a prefix, a page of keys at a time. */
function openRecords({ store, prefix = "", after }) {
  const table = new Table({
    name: "records", caption: t("records_of", { store: text(store) }), empty: "records_none", key: (row) => row.key,
    columns: [
      { name: "key", label: "key", kind: "mono", wide: true, cell: (row) => [text(row.key_text ?? row.key), () => code(row.key_text ?? row.key)] },
      { name: "value", label: "value", kind: "mono", wide: true, cell: (row) => [`${language}${row.hidden} ${row.binary} ${text(row.preview)}`, () => preview(row)] },
      column.bytes("size", "size", { sort: null }),
      { name: "expires_at", label: "expires", cell: (row) => row.expires_at ? t("in_time", { time: time(Math.max(0, row.expires_at - serverNow())) }) : t("never") },
    ],
  });
  const field = h("input", { type: "search", id: "prefix", value: prefix, autocomplete: "off", spellcheck: "false" });
  const form = h("form", { class: "asking", role: "search", onsubmit: (event) => {
    event.preventDefault();
    location.hash = place("stores", { store, prefix: field.value });
  } }, h("label", { for: "prefix" }, t("prefix")), field, h("button", { type: "submit", class: "primary" }, t("look")));
  const pages = h("p", { class: "pages" });
  return {
    nodes: [heading("stores", link("stores", {}, t("back_to_stores"))), h("h2", { class: "mono" }, text(store)), form, table.node, pages],
    ask: (signal) => read("records", { store, prefix, after }, signal),
    show(data) {
      table.show(data.records);
      pages.replaceChildren(...[
        after ? link("stores", { store, prefix }, t("first_page")) : null,
        data.after !== null && data.after !== undefined ? link("stores", { store, prefix, after: data.after }, t("next_page")) : null,
      ].filter(Boolean));
    },
  };
}

function preview(row) {
  if (row.hidden) return chip("wait", t("hidden_value"));
  return h("span", {}, row.binary ? chip("plain", t("binary")) : null, row.binary ? " " : null, code(row.preview));
}

const work = {
  every: 2 * SECOND,
  open() {
    const timers = new Table({
      name: "timers", caption: t("timers"), empty: "timers_none", key: (row, at) => `${row.name} ${row.place} ${at}`,
      columns: [
        { name: "name", label: "timer", kind: "mono", cell: (row) => [`${row.name} ${row.place}`, () => timerName(row)], sort: (row) => row.name ?? row.place },
        column.text("period", "period"), column.text("kind", "kind"), column.text("worker", "worker", { number: true }),
        column.moment("last_at", "last"), column.time("last_ms", "took"),
        { name: "last_error", label: "error", wide: true, cell: (row) => row.last_error ? [text(row.last_error), () => h("span", { class: "bad" }, text(row.last_error))] : NOTHING },
        { name: "next_at", label: "next", cell: (row) => isNumber(row.next_at) ? t("in_time", { time: elapsed(row.next_at - serverNow()) }) : NOTHING, sort: (row) => row.next_at },
      ],
    });
    const queues = new Table({
      name: "queues", caption: t("queues"), empty: "queues_none", key: (row) => `${row.queue} ${row.kind}`,
      columns: [
        column.code("queue", "queue"), column.code("kind", "kind", { wide: true }), column.count("ready", "queue_ready"), column.count("scheduled", "queue_scheduled"),
        column.count("running", "queue_running"), column.errors("dead", "queue_dead"),
      ],
    });
    const dead = deadJobs();
    const channels = new Table({
      name: "channels", caption: t("channels"), empty: "channels_none", key: (row) => `${row.name} ${row.cluster}`, sort: ["name", false],
      columns: [
        column.code("name", "channel", { wide: true }),
        { name: "cluster", label: "scope", cell: (row) => t(row.cluster ? "scope_cluster" : "scope_process"), sort: (row) => String(row.cluster) },
        column.count("subscribers", "subscribers"), column.count("messages", "messages"),
      ],
    });
    const noJobs = h("p", { class: "note", hidden: true }, t("jobs_none"));
    const deadSection = section(t("dead"), dead.tools, dead.table.node);
    return {
      nodes: [heading("work"), section(t("queues"), null, queues.node, noJobs), deadSection, section(t("timers"), null, timers.node), section(t("channels"), null, channels.node)],
      ask: (signal) => read("work", {}, signal),
      show(data) {
        timers.show(data.timers);
        channels.show(data.channels);
        noJobs.hidden = Boolean(data.jobs);
        noJobs.textContent = data.jobs_error ? text(data.jobs_error) : t("jobs_none");
        noJobs.classList.toggle("bad", Boolean(data.jobs_error));
        queues.node.hidden = deadSection.hidden = !data.jobs;
        queues.show(data.jobs?.queues);
        dead.show(data.jobs?.dead ?? [], data.jobs?.more);
      },
    };
  },
};

/** What a timer is called, and where it is declared; that is its name where it has no other. */
const timerName = ({ name, place: declared }) => h("span", {}, code(name ?? declared), name && declared ? h("small", {}, text(declared)) : null);

const jobName = (row) => `${text(row.kind)} ${text(row.id)}`;

/** Jobs that have died: each may be retried or dropped, and all of a kind retried. */
function deadJobs() {
  const retry = (row) => perform("jobs/retry", { id: row.id }, t("retry_done", { what: jobName(row) }));
  const drop = async (row) => {
    if (await ask(t("drop_title"), t("drop_text"), jobName(row), t("drop"))) await perform("jobs/drop", { id: row.id }, t("drop_done", { what: jobName(row) }));
  };
  const table = new Table({
    name: "dead", caption: t("dead"), empty: "dead_none", key: (row) => row.id, filter: true,
    columns: [
      column.moment("failed_at", "failed"), column.code("kind", "kind"), column.code("queue", "queue"), column.code("id", "id"), column.count("attempts", "attempts"),
      { name: "error", label: "error", wide: true, cell: (row) => [text(row.error), () => h("span", { class: "bad", title: text(row.error) }, text(row.error))] },
      { name: "action", label: "action", quiet: true, cell: (row, held) => ["", () => h("span", { class: "pair" },
        button(t("retry"), () => retry(held.value), { class: "small", "aria-label": t("retry_this", { what: jobName(row) }) }),
        button(t("drop"), () => drop(held.value), { class: "small danger", "aria-label": t("drop_this", { what: jobName(row) }) }))] },
    ],
  });
  const tools = h("span", { class: "tools" });
  let known = "";
  const show = (rows, more) => {
    table.show(rows, more);
    const kinds = [...new Set(rows.map(({ kind }) => kind))].slice(0, 6);
    if (JSON.stringify(kinds) === known) return;
    known = JSON.stringify(kinds);
    tools.replaceChildren(...kinds.map((kind) => button(t("retry_kind", { kind: text(kind) }), async () => {
      if (await ask(t("retry_kind_title"), t("retry_kind_text"), text(kind), t("retry"))) await perform("jobs/retry", { kind }, t("retry_done", { what: text(kind) }));
    }, { class: "quiet" })), table.filter);
  };
  show([], false);
  tools.replaceChildren(table.filter);
  return { table, tools, show };
}

const errors = {
  every: SOME_SECONDS,
  open() {
    const list = h("div", { class: "groups" });
    const note = h("p", { class: "note" });
    const drawn = new Map();
    return {
      nodes: [heading("errors"), list, note],
      ask: (signal) => read("errors", {}, signal),
      show(data) {
        const rows = data.errors ?? [];
        const met = new Set();
        rows.forEach((row, at) => {
          const key = JSON.stringify([row.place, row.class]);
          if (met.has(key)) return;
          met.add(key);
          const group = drawn.get(key) ?? { node: h("details", { class: "group" }), known: "" };
          drawn.set(key, group);
          const depends = JSON.stringify(row);
          if (group.known !== depends) drawError(group, row);
          group.known = depends;
          if (list.children[at] !== group.node) list.insertBefore(group.node, list.children[at] ?? null);
        });
        for (const [key, { node }] of drawn) if (!met.has(key)) { node.remove(); drawn.delete(key); }
        note.textContent = rows.length === 0 ? t("errors_none") : data.more ? t("cut") : "";
      },
    };
  },
};

/** A group of errors; its summary stays the same element, which may have the focus. */
function drawError(group, row) {
  const summary = group.node.querySelector("summary") ?? group.node.appendChild(h("summary", {}));
  summary.replaceChildren(
    h("span", { class: "error-head" }, h("strong", { class: "bad" }, text(row.class)), " ", code(row.place), h("span", { class: "grow" }), chip("plain", t(row.count === 1 ? "once" : "times_n", { n: count(row.count) })), " ", h("span", { class: "faint" }, when(row.last_at))),
    h("span", { class: "error-message" }, text(row.message)));
  const trace = Array.isArray(row.backtrace) ? row.backtrace : [];
  const body = h("div", { class: "error-body" }, facts([
    ["route", row.route ? code(row.route) : NOTHING], ["first_seen", when(row.first_at)], ["last_seen", when(row.last_at)], ["trace", traceLink(row.trace_id)],
  ]), h("h3", {}, t("backtrace")), trace.length ? h("ol", { class: "backtrace" }, ...trace.map((line) => h("li", {}, code(line)))) : h("p", { class: "note" }, t("none")));
  group.node.querySelector(".error-body")?.remove();
  group.node.append(body);
}

const reloads = {
  every: SOME_SECONDS,
  open() {
    const table = new Table({
      name: "reloads", caption: t("reloads"), empty: "reloads_none", key: (row, at) => `${row.at} ${row.trigger} ${row.outcome} ${row.place}`, sort: ["at", true],
      columns: [
        column.moment("at", "when"),
        column.text("trigger", "trigger"),
        { name: "outcome", label: "outcome", cell: (row) => [language + text(row.outcome), () => chip(row.outcome === "failed" ? "bad" : "good", wordOf("outcome", row.outcome))], sort: (row) => row.outcome },
        column.time("took_ms", "took"),
        { name: "error", label: "error", wide: true, kind: "message", cell: (row) => [`${text(row.error)} ${text(row.place)}`, () => row.error ? h("span", {}, h("span", { class: "bad" }, text(row.error)), row.place ? h("small", {}, text(row.place)) : null) : NOTHING] },
      ],
    });
    return { nodes: [heading("reloads"), table.node], ask: (signal) => read("reloads", {}, signal), show: (data) => table.show(data.reloads, data.more) };
  },
};

const traces = {
  every: 2 * SECOND,
  open() {
    const table = new Table({
      name: "traces", caption: t("traces"), empty: "traces_none", filter: true, key: (row) => row.trace_id, sort: ["at", true],
      columns: [
        column.moment("at", "when"),
        { name: "route", label: "route", wide: true, kind: "mono", cell: (row) => [`${language}${row.kind} ${text(row.route)}`, () => tracedName(row)], sort: (row) => row.route },
        { name: "status", label: "status", cell: (row) => [text(row.status), () => statusChip(row.status)], sort: (row) => row.status },
        { name: "took_ms", label: "took", number: true, cell: (row) => [`${time(row.took_ms)} ${row.share}`, () => meter(row.share, time(row.took_ms))], sort: (row) => row.took_ms },
        column.count("spans", "spans"),
        column.trace("trace_id", "trace"),
      ],
    });
    const exporter = h("p", { class: "note" });
    return {
      nodes: [heading("traces", table.filter), exporter, table.node],
      ask: (signal) => read("traces", {}, signal),
      show(data) {
        const rows = data.traces ?? [];
        const longest = Math.max(0, ...rows.map((row) => row.took_ms ?? 0));
        table.show(rows.map((row) => ({ ...row, share: longest > 0 ? Math.round((row.took_ms ?? 0) / longest * 100) / 100 : 0 })), data.more);
        const to = data.exporter ?? {};
        exporter.textContent = to.endpoint ? t("exporter_to", { endpoint: text(to.endpoint), sent: count(to.sent), dropped: count(to.dropped), failed: count(to.failed) }) : t("exporter_none");
      },
    };
  },
};

/** What a trace is of; where that is no request, the sort of work stands in front. */
function tracedName(row) {
  const isRequest = row.kind === "request";
  return h("span", {}, isRequest ? null : chip("plain", wordOf("kind", row.kind)), isRequest ? null : " ", link("trace", { id: row.trace_id }, text(row.route)));
}

const statusChip = (status) => status === null || status === undefined ? NOTHING : chip(status >= 500 || status === "error" ? "bad" : status >= 400 ? "wait" : "good", text(status));

const SPANS_MAX = 1000;
const DEPTH_MAX = 16;

/** Spans below their parents, in order of time, with their depths. Spans whose parents are not there begin anew. */
function spansInOrder(spans) {
  const list = spans.slice(0, SPANS_MAX).sort((a, b) => compare(a.at_us, b.at_us));
  const ids = new Set(list.map(({ id }) => id));
  const children = new Map();
  for (const span of list) {
    const parent = span.parent !== span.id && ids.has(span.parent) ? span.parent : null;
    children.set(parent, [...children.get(parent) ?? [], span]);
  }
  const ordered = [];
  const met = new Set();
  const walk = (parent, depth) => {
    for (const span of children.get(parent) ?? []) {
      if (met.has(span)) continue;
      met.add(span);
      ordered.push({ ...span, depth: Math.min(depth, DEPTH_MAX) });
      walk(span.id, depth + 1);
    }
  };
  walk(null, 0);
  // Spans that are each other's parents hang below nothing.
  for (const span of list) if (!met.has(span)) { met.add(span); ordered.push({ ...span, depth: 0 }); }
  return ordered;
}

const SPAN_COLOURS = { request: "ai", job: "ai", timer: "ai", websocket: "ai", stream: "ai", sql: "kohaku", kv: "matsu", http: "fuji" };

/** The word for the kind of a span: what it serves, or what it waits for. */
const spanKind = (kind) => wordOf(Object.hasOwn(WORDS, `kind_${kind}`) ? "kind" : "wait", kind);

const trace = {
  every: SOME_SECONDS,
  open({ id = "" }) {
    const board = h("div", {});
    const sum = h("span", {});
    let known = "";
    return {
      under: "traces",
      nodes: [heading("trace", link("traces", {}, t("back_to_traces"))), h("p", { class: "sum" }, sum, h("span", { class: "mono faint" }, text(id))), board],
      ask: async (signal) => {
        try {
          return await read("trace", { id }, signal);
        } catch (error) {
          if (error.status === 404) return { spans: null };
          throw error;
        }
      },
      show(data) {
        const depends = JSON.stringify(data.spans);
        if (depends === known) return;
        known = depends;
        const [first] = spansInOrder(data.spans ?? []);
        sum.textContent = first ? t("trace_sum", { name: text(first.name), n: count(data.spans.length), time: time((first.took_us ?? 0) / 1000) }) : "";
        board.replaceChildren(data.spans?.length ? waterfall(data.spans) : h("p", { class: "note" }, t(data.spans ? "trace_empty" : "trace_gone")));
      },
    };
  },
};

/** A trace as a table in which each span has its bar on one scale of time. */
function waterfall(spans) {
  const rows = spansInOrder(spans);
  const end = Math.max(1, ...rows.map(({ at_us: at, took_us: took }) => (at ?? 0) + (took ?? 0)));
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((share) => h("span", {}, time(end * share / 1000)));
  const head = h("tr", { role: "row" }, ...["span_name", "took", "timeline"].map((word) => h("th", { role: "columnheader", scope: "col", class: word === "took" ? "number" : word === "timeline" ? "timeline" : null }, t(word), word === "timeline" ? h("span", { class: "ticks", "aria-hidden": "true" }, ...ticks) : null)));
  const body = rows.map((row) => spanRow(row, end));
  return h("div", { class: "sheet" }, h("div", { class: "scroll" }, h("table", { class: "waterfall", role: "table" }, h("caption", { class: "unseen" }, t("trace")), h("thead", { role: "rowgroup" }, head), h("tbody", { role: "rowgroup" }, ...body))),
    spans.length > SPANS_MAX ? h("p", { class: "note" }, t("cut")) : null);
}

function spanRow(row, end) {
  const colour = SPAN_COLOURS[row.kind] ?? "plain";
  const bar = h("span", { class: `stroke ${row.error ? "kurenai" : colour}` });
  bar.style.setProperty("--from-share", (row.at_us ?? 0) / end);
  bar.style.setProperty("--took-share", (row.took_us ?? 0) / end);
  const title = h("button", { type: "button", class: "span", onclick: () => openSpan(row) }, h("i", { class: `dot ${colour}` }), h("span", { class: "span-kind" }, spanKind(row.kind)), h("span", { class: "span-name" }, text(row.name)));
  title.style.setProperty("--depth", row.depth);
  return h("tr", { role: "row", class: row.error ? "failed" : null },
    h("td", { role: "cell", class: "name" }, title), h("td", { role: "cell", class: "number" }, time((row.took_us ?? 0) / 1000)), h("td", { role: "cell", class: "timeline" }, bar));
}

function openSpan(row) {
  const attributes = Object.entries(row.attributes ?? {});
  openDrawer(text(row.name), facts([
    ["kind", spanKind(row.kind)], ["begins", t("after_begin", { time: time((row.at_us ?? 0) / 1000) })], ["took", time((row.took_us ?? 0) / 1000)], ["place", text(row.place)],
  ]), row.error ? h("pre", { class: "bad" }, text(row.error === true ? t("error") : row.error)) : null,
  h("h3", {}, t("attributes")), attributes.length ? h("dl", { class: "facts long" }, ...attributes.map(([name, value]) => h("div", {}, h("dt", {}, text(name)), h("dd", {}, text(value))))) : h("p", { class: "note" }, t("none")));
}

const server = {
  every: SOME_SECONDS,
  open() {
    const words = (value) => value === true ? t("yes") : value === false ? t("not") : Array.isArray(value) ? (value.length ? value.map(text).join(", ") : t("none")) : text(value);
    const versions = h("dl", { class: "facts" });
    const pairs = (name, caption) => new Table({
      name, caption: t(caption), empty: "none", key: (row) => row.name,
      columns: [column.code("name", "name"), { name: "value", label: "value", wide: true, kind: "mono", cell: (row) => words(row.value) }],
    });
    const options = pairs("options", "options");
    const listeners = pairs("listeners", "listeners");
    const changed = (row) => row.default !== undefined && row.default !== null && row.value !== row.default;
    const limits = new Table({
      name: "limits", caption: t("limits"), empty: "none", filter: true, key: (row) => row.name,
      columns: [
        column.code("name", "name", { wide: true }),
        { name: "value", label: "value", number: true, cell: (row) => [`${text(row.value)} ${changed(row)}`, () => h("span", {}, changed(row) ? chip("wait", t("changed")) : null, " ", isNumber(row.value) ? format({ maximumFractionDigits: 3 }).format(row.value) : words(row.value))], sort: (row) => row.value },
        { name: "default", label: "default_value", number: true, cell: (row) => isNumber(row.default) ? format({ maximumFractionDigits: 3 }).format(row.default) : words(row.default), sort: (row) => row.default },
        column.text("unit", "unit"),
      ],
    });
    const OWN = ["versions", "options", "limits", "listeners", "features", "now", "more"];
    let known = "";
    return {
      nodes: [heading("server"), section(t("versions"), null, versions), section(t("listeners"), null, listeners.node), section(t("options"), null, options.node), section(t("limits"), limits.filter, limits.node)],
      ask: (signal) => read("server", {}, signal),
      show(data) {
        const flat = { ...data, ...data.versions };
        const rest = Object.entries(flat).filter(([name]) => !OWN.includes(name)).map(([name, value]) => [name.replaceAll("_", " "), words(name.endsWith("_at") ? moment(value) : value)]);
        rest.push([t("features"), words(data.features)]);
        if (JSON.stringify(rest) !== known) versions.replaceChildren(...rest.map(([name, value]) => h("div", {}, h("dt", {}, text(name)), h("dd", {}, value))));
        known = JSON.stringify(rest);
        options.show(Object.entries(data.options ?? {}).map(([name, value]) => ({ name, value })));
        const open = data.listeners ?? [];
        listeners.show(open.map((each, at) => typeof each === "object" && each ? { name: each.name ?? each.kind ?? `${at}`, value: each.address ?? JSON.stringify(each) } : { name: `${at + 1}`, value: each }));
        limits.show(data.limits, data.more);
      },
    };
  },
};

const VIEWS = { overview, requests, traces, trace, errors, statements, databases, stores, work, reloads, server };

/** The heading of a view, with what stands beside it. */
const heading = (word, ...beside) => h("div", { class: "head" }, h("h1", { tabindex: "-1" }, t(word)), h("div", { class: "tools" }, ...beside));

// ---- The shell: which view is open, and when it asks ------------------------------------------------------------------------------------

const FAILING_MS = 3000;
const FACTS_MS = 10_000;

const shell = {
  view: null,
  every: SECOND,
  paused: false,
  timer: null,
  asking: null,
  answeredAt: null,
  factsAt: 0,

  /** Opens the view that the address names. */
  open(moved) {
    const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
    const name = path || "overview";
    const values = Object.fromEntries(new URLSearchParams(query));
    this.stop();
    // What a dialog shows is of the view that is left.
    for (const dialog of document.querySelectorAll("dialog[open]")) dialog.close();
    const view = Object.hasOwn(VIEWS, name) ? VIEWS[name] : null;
    this.every = view?.every ?? SECOND;
    this.view = view ? view.open(values) : null;
    byId("view").replaceChildren(...this.view ? this.view.nodes : [h("p", { class: "note" }, t("unknown_view"))]);
    byId("view").setAttribute("aria-busy", String(Boolean(this.view)));
    document.title = `${t(view ? name : "unknown_view")} · Tsumugi`;
    for (const each of byId("nav").querySelectorAll("a")) {
      if (each.hash === `#/${this.view?.under ?? name}`) each.setAttribute("aria-current", "page");
      else each.removeAttribute("aria-current");
    }
    if (moved) {
      scrollTo(0, 0);
      byId("view").querySelector("h1")?.focus({ preventScroll: true });
      byId("nav").querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
    }
    this.ask(true);
  },

  stop() {
    clearTimeout(this.timer);
    this.asking?.abort();
    this.asking = null;
  },

  /** Asks now, whatever the timer says. */
  soon() {
    this.stop();
    this.ask(true);
  },

  /** Asks the server for what the view shows, shows it, and asks again later. A hidden or paused page does not ask. */
  async ask(wanted = false) {
    clearTimeout(this.timer);
    if (!this.view || document.hidden || (this.paused && !wanted)) return;
    const view = this.view;
    const asking = new AbortController();
    this.asking = asking;
    let wait = this.every;
    try {
      const data = await view.ask(asking.signal);
      if (this.asking !== asking) return;
      this.answered(data.silent_workers ?? []);
      view.show(data);
      this.refreshFacts();
    } catch (error) {
      if (this.asking !== asking) return;
      if (!(error instanceof Refusal)) throw error;
      if (error.status === 401) return login();
      this.failed(error);
      wait = Math.max(wait, FAILING_MS);
    } finally {
      if (this.asking === asking) byId("view").setAttribute("aria-busy", "false");
    }
    if (this.asking !== asking) return;
    this.asking = null;
    if (!this.paused) this.timer = setTimeout(() => this.ask(), wait);
  },

  answered(silent) {
    this.answeredAt = Date.now();
    const workers = silent.map((one) => t("silent_since", { worker: count(one.worker), time: moment(one.since_at) })).join("; ");
    if (silent.length) this.trouble(t("trouble_silent", { workers }));
    else byId("trouble").hidden = true;
    this.state(this.paused ? "paused" : "live");
  },

  failed({ status, message }) {
    const words = status ? t("trouble_refused", { error: message })
      : this.answeredAt ? t("trouble_since", { time: moment(this.answeredAt + clockAhead) }) : t("trouble_none");
    this.trouble(words);
    this.state("failing");
  },

  /** Says what is wrong. An alert is read out when it changes, so it is left as it is while it says the same. */
  trouble(words) {
    if (byId("trouble").hidden || byId("trouble").textContent !== words) byId("trouble").textContent = words;
    byId("trouble").hidden = false;
  },

  state(name) {
    byId("state").dataset.state = name;
    if (byId("state-text").textContent !== t(`state_${name}`)) byId("state-text").textContent = t(`state_${name}`);
  },

  /** The top of every view says how the server is; views other than the overview ask for it now and then. */
  async refreshFacts() {
    if (Date.now() - this.factsAt < FACTS_MS) return;
    this.factsAt = Date.now();
    try {
      this.facts(await read("overview"));
    } catch { /* The view says what is wrong. */ }
  },

  /** What is known of the server at the top of every view. */
  facts(data) {
    this.known = data;
    this.factsAt = Date.now();
    const parts = [
      data.ready === null || data.ready === undefined ? chip("good", t("ready")) : chip("bad", t("not_ready", { why: text(data.ready) })),
      h("span", {}, text(data.version)), h("span", {}, t("up_for", { time: elapsed(ago(data.started_at)) })), h("span", {}, t("workers_n", { n: count(data.workers) })),
    ];
    const facts = byId("facts");
    const depends = parts.map((part) => part.textContent).join();
    if (this.shown === depends) return;
    this.shown = depends;
    facts.replaceChildren(...parts);
  },
};

/** Asks for the token; the view is opened again when it was the right one. */
function login() {
  shell.stop();
  shell.view = null;
  shell.state("login");
  byId("trouble").hidden = true;
  if (byId("login")) return;
  for (const dialog of document.querySelectorAll("dialog[open]")) dialog.close();
  const token = h("input", { type: "password", id: "token", autocomplete: "current-password", required: true, "aria-describedby": "login-error" });
  const wrong = h("p", { class: "bad", id: "login-error", role: "alert" });
  const enter = async (event) => {
    event.preventDefault();
    wrong.textContent = "";
    try {
      await act("login", { token: token.value });
      shell.open(true);
    } catch (error) {
      wrong.textContent = error.status === 401 || error.status === 403 ? t("login_wrong") : error.status ? error.message : t("trouble_none");
      token.select();
    }
  };
  document.title = `${t("login_title")} · Tsumugi`;
  byId("view").setAttribute("aria-busy", "false");
  byId("view").replaceChildren(h("form", { id: "login", class: "card", onsubmit: enter }, h("h1", {}, t("login_title")), h("p", {}, t("login_text")),
    h("label", { for: "token" }, t("login_token")), token, wrong, h("p", { class: "buttons" }, h("button", { type: "submit", class: "primary" }, t("login_go")))));
  token.focus();
}

/** Gives the fixed parts of the page the words of its language. */
function translate() {
  document.documentElement.lang = language;
  for (const node of document.querySelectorAll("[data-word]")) node.textContent = t(node.dataset.word);
  for (const node of document.querySelectorAll("[data-label][aria-label]")) node.setAttribute("aria-label", t(node.dataset.label));
  byId("pause").textContent = t(shell.paused ? "resume" : "pause");
  shell.shown = null;
  if (shell.known) shell.facts(shell.known);
  shell.state(byId("state").dataset.state);
}

function dress(theme) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

function start() {
  const theme = ["light", "dark"].includes(memory.read("theme")) ? memory.read("theme") : "auto";
  dress(theme);
  byId("theme").value = theme;
  byId("theme").onchange = (event) => {
    memory.write("theme", event.target.value);
    dress(event.target.value);
  };
  byId("language").value = language;
  byId("language").onchange = (event) => {
    language = event.target.value;
    memory.write("language", language);
    translate();
    shell.open(false);
  };
  byId("pause").onclick = () => {
    shell.paused = !shell.paused;
    byId("pause").textContent = t(shell.paused ? "resume" : "pause");
    if (shell.paused) {
      shell.stop();
      shell.state("paused");
    } else {
      shell.ask();
    }
  };
  document.querySelector(".skip").onclick = (event) => {
    event.preventDefault();
    byId("view").focus();
  };
  addEventListener("hashchange", () => shell.open(true));
  document.addEventListener("visibilitychange", () => document.hidden ? shell.stop() : shell.ask());
  translate();
  shell.open(false);
}

start();
