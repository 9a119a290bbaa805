// Live pages: the server announces new messages, then the page is requested again and updated in
// place. Focus, selection, scroll position and open folds stay.
// A form of the lab is never updated; the state of the connection is shown. What other scripts need
// to know is announced as events: brenner:mail, brenner:refreshing, brenner:refreshed.
"use strict";

(() => {
  const GATHER_MS = 250; // one request for news that arrives together
  const SPREAD_MS = 750; // spreads the requests of many viewers
  const PATIENCE_MS = 20000;
  const AGAIN_MS = 3000;
  const FRESH_MS = 5000;
  const TIMES_MS = 20000;
  const RUN_MS = 3000;
  const REGIONS = ["notice", "head", "rail", "card", "main"];
  const MINUTE = 60, HOUR = 3600, DAY = 86400;

  const state = document.getElementById("connection");
  const spoken = document.getElementById("news");
  const isLive = state?.dataset.live === "yes";
  // A form of the lab is about the session in its address.
  const thread = document.body.dataset.thread
    || decodeURIComponent(/^\/lab\/sessions\/([^/]+)\//.exec(location.pathname)?.[1] ?? "");
  let seen = state?.dataset.place || "";
  let source = null;
  let lostAt = null;
  let isAway = false; // the server responds, but its store is unavailable
  let timer = 0; // until the page is requested
  let isAsking = false;
  let isWanted = false;
  let skew = 0; // milliseconds that this clock is ahead of the server's
  let came = []; // messages not announced yet

  const clock = (at) => at.toLocaleTimeString([], {hour: "2-digit", minute: "2-digit", hourCycle: "h23"});
  const oneLine = (text) => String(text).replace(/[\p{C}\p{Z}]+/gu, " ").slice(0, 100);

  // Times: the same words as the server's.
  function ago(at) {
    const seconds = Math.trunc((Date.now() - skew - at) / 1000);
    if (Math.abs(seconds) < 45) return "just now";
    if (seconds < 0 || seconds >= 14 * DAY) return new Date(at).toISOString().slice(0, 10);
    if (seconds >= 2 * DAY) return `${Math.trunc(seconds / DAY)} d ago`;
    if (seconds >= HOUR) return `${Math.trunc(seconds / HOUR)} h ago`;
    if (seconds >= MINUTE) return `${Math.trunc(seconds / MINUTE)} min ago`;
    return `${seconds} s ago`;
  }

  function keepTimes() {
    for (const each of document.querySelectorAll("time[data-ago]")) {
      const at = Date.parse(each.dateTime);
      const words = Number.isNaN(at) ? "" : ago(at);
      if (words && each.textContent !== words) each.textContent = words;
    }
  }

  // The state of the connection, and new messages.
  function say(text, isLost = false) {
    if (state.textContent !== text) state.textContent = text;
    state.classList.toggle("lost", isLost);
  }

  const fine = () => say(isLive ? "Live" : "Connected");

  function connected() {
    if (isAway) return;
    if (!lostAt) {
      if (state.textContent !== "Reconnected") fine();
      return;
    }
    lostAt = null;
    say("Reconnected");
    document.dispatchEvent(new CustomEvent("brenner:connected"));
    setTimeout(() => {
      if (!lostAt && !isAway) fine();
    }, FRESH_MS);
  }

  function lost() {
    lostAt ??= new Date();
    const words = isLive ? "reconnecting" : "your text is kept";
    say(`Disconnected since ${clock(lostAt)}, ${words}`, true);
  }

  function announce() {
    if (!came.length) return;
    const last = came[came.length - 1];
    const words = `${last.type || "Message"} from ${oneLine(last.sender)}, ${clock(new Date(last.at))}`;
    spoken.textContent = came.length > 1 ? `${came.length} new messages. The latest: ${words}` : words;
    came = [];
  }

  // Request the page again, one request at a time.
  function want(wait = GATHER_MS) {
    if (timer || document.hidden || !isLive) return;
    timer = setTimeout(ask, wait + Math.random() * SPREAD_MS);
  }

  async function ask() {
    timer = 0;
    isWanted = isAsking;
    if (isAsking) return;
    isAsking = true;
    try {
      await refresh();
    } catch { // the server is unavailable or overloaded
      want(AGAIN_MS);
    } finally {
      isAsking = false;
    }
    if (isWanted) want();
  }

  async function refresh() {
    const answer = await fetch(location.href, {
      headers: {Accept: "text/html"}, cache: "no-cache", signal: AbortSignal.timeout(PATIENCE_MS),
    });
    if (answer.redirected || (!answer.ok && answer.status < 500 && answer.status !== 429)) {
      location.reload(); // the page moved or is gone
      return;
    }
    if (!answer.ok) throw new Error(answer.statusText);
    const date = Date.parse(answer.headers.get("Date"));
    if (!Number.isNaN(date)) skew = Math.round((Date.now() - date) / 5000) * 5000;
    change(new DOMParser().parseFromString(await answer.text(), "text/html"));
    announce();
    if (document.querySelector("#notice .away")) want(AGAIN_MS);
  }

  function change(fresh) {
    const pairs = REGIONS.map((id) => [document.getElementById(id), fresh.getElementById(id)]);
    if (pairs.some(([now, then]) => !now !== !then)) {
      location.reload();
      return;
    }
    document.dispatchEvent(new CustomEvent("brenner:refreshing", {detail: fresh}));
    for (const [now, then] of pairs) {
      if (now) htmx.swap({text: then.outerHTML, target: now, sourceElement: now, swap: "outerMorph"});
    }
    document.title = fresh.title;
    keepTimes();
    document.dispatchEvent(new CustomEvent("brenner:refreshed"));
  }

  // The event stream. A hidden page closes it, because a browser has few connections. It catches up
  // when it is shown again.
  function listen() {
    if (source || document.hidden) return;
    const asked = new URLSearchParams({after: seen, thread});
    source = new EventSource(`/events?${asked}`);
    source.addEventListener("open", () => {
      connected();
      if (document.querySelector("#notice .away")) want();
    });
    source.addEventListener("error", () => {
      lost();
      if (source?.readyState !== EventSource.CLOSED) return; // the browser reconnects itself
      hush();
      setTimeout(listen, AGAIN_MS * (1 + Math.random()));
    });
    source.addEventListener("mail", (event) => {
      seen = event.lastEventId;
      const message = JSON.parse(event.data);
      if (isLive) came.push(message);
      document.dispatchEvent(new CustomEvent("brenner:mail", {detail: message}));
      want();
    });
    source.addEventListener("reset", (event) => {
      seen = event.lastEventId;
      if (isLive && performance.now() > AGAIN_MS) location.reload();
      else want(); // just loaded: reloading would not help
    });
    source.addEventListener("away", (event) => {
      isAway = true;
      say(`Store unavailable since ${clock(new Date(JSON.parse(event.data).since))}`, true);
      want();
    });
    source.addEventListener("back", () => {
      isAway = false;
      lostAt = new Date();
      connected();
      want();
    });
  }

  function hush() {
    source?.close();
    source = null;
  }

  // A run in progress changes without mail.
  function followRun() {
    if (document.querySelector("[data-runs='running']")) want();
  }

  // Before there was an overview, the artifact had its address: an old link such as `#T2` names an
  // item that is only in the artifact.
  const artifact = document.querySelector("main[data-artifact]")?.dataset.artifact;
  const anchor = location.hash.slice(1);
  if (artifact && anchor && !document.getElementById(anchor)) {
    location.replace(`${artifact}#${anchor}`);
    return;
  }

  setInterval(keepTimes, TIMES_MS);
  if (!isLive && !document.querySelector("main form.lab[action^='/lab']")) return;
  document.addEventListener("visibilitychange", () => (document.hidden ? hush() : listen()));
  setInterval(followRun, RUN_MS);
  addEventListener("pagehide", hush);
  addEventListener("pageshow", listen);
  listen();
})();
