// News is seen: how much is new since the reader looked, a short tint on what changed, a count in the
// title of a hidden page, desktop notifications if the reader asked for them, and the preview of an
// open form.
"use strict";

(() => {
  const POLL_MS = 10000; // while the page is hidden, it has no event stream
  const GATHER_MS = 300;
  const TINT_MS = 4000;
  const PATIENCE_MS = 20000;
  const MOST_TINTED = 200;
  const URGENT = ["BLOCKED", "QUESTION"];
  const WANTED = "brenner-notify"; // in the local storage
  // What is tinted if it changed: the innermost of these, or the outermost that is new as a whole.
  const PARTS = ["article", "section", "li", "tr", "td", "th", "dd", "p", "h1", "h2", "h3", ".count"];
  const WHERE = "#main, #rail, #card, #head";
  const COUNTERS = ".filters, .sieve, .contents, .outline"; // say again what the page says elsewhere

  const thread = document.body.dataset.thread;
  const place = document.getElementById("since");
  const address = thread ? `/sessions/${encodeURIComponent(thread)}/news` : "";
  const isLive = document.getElementById("connection")?.dataset.live === "yes";
  const plural = (count, one, many) => `${count} ${count === 1 ? one : many}`;
  const oneLine = (text) => String(text).replace(/[\p{C}\p{Z}]+/gu, " ").slice(0, 100);

  async function ask(query = "") {
    const answer = await fetch(`${address}?format=json${query}`, {
      headers: {Accept: "application/json"}, cache: "no-store", signal: AbortSignal.timeout(PATIENCE_MS),
    });
    if (!answer.ok) throw new Error(answer.statusText);
    return answer.json();
  }

  // New since the reader looked.
  function link(to, words, name) {
    const found = document.createElement("a");
    found.href = to;
    found.className = name;
    found.textContent = words;
    return found;
  }

  function show(news) {
    const parts = [];
    if (news.count) parts.push(link(news.first, `${news.count} new since you looked`, "jump"));
    if (news.count && news.look?.changed) {
      const words = `${plural(news.look.changed, "item", "items")} changed`;
      parts.push(link(news.look.link, words, "changes"));
    }
    if (news.count) {
      const button = document.createElement("button");
      button.type = "button";
      button.dataset.seen = news.seen;
      button.textContent = "Mark as seen";
      parts.push(button);
    }
    const words = parts.map((each) => each.textContent).join();
    place.hidden = !parts.length;
    if (words === place.dataset.words && !place.contains(document.activeElement)) {
      place.replaceChildren(...parts);
    } else if (words !== place.dataset.words) {
      const name = place.contains(document.activeElement) && document.activeElement.className;
      place.replaceChildren(...parts);
      if (name) place.querySelector(`.${name}`)?.focus();
    }
    place.dataset.words = words;
  }

  async function count() {
    try {
      show(await ask());
    } catch { // the next update asks again
    }
  }

  place?.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-seen]");
    if (!button) return;
    button.disabled = true;
    try {
      await fetch(button.dataset.seen, {headers: {Accept: "text/html"}, cache: "no-store"});
    } finally {
      await count();
      document.getElementById("main")?.focus({preventScroll: true});
    }
  });

  // A short tint on what an update changed. Times become older without any news.
  function wordsOf(part) {
    let words = "";
    const walker = document.createTreeWalker(part, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (!node.parentElement.closest("time")) words += node.data;
    }
    return words.replace(/\s+/g, " ").trim();
  }

  const parts = () => [...document.querySelectorAll(WHERE)].flatMap((region) =>
    [...region.querySelectorAll(PARTS.join())].filter((each) => !each.closest(COUNTERS)));

  let before = null; // the words of all parts, and their IDs, before the update

  function remember() {
    const found = parts();
    before = {words: new Set(found.map(wordsOf)), ids: new Set(found.map((each) => each.id))};
  }

  function tint() {
    if (!before) return;
    const changed = new Set(parts().filter((each) => {
      const words = wordsOf(each);
      return words && !before.words.has(words);
    }));
    const isNew = (part) => part.id && !before.ids.has(part.id);
    const isWhole = (part) => isNew(part) || [...part.querySelectorAll(PARTS.join())].every((each) =>
      changed.has(each) || !wordsOf(each));
    const found = [...changed].filter((part) => {
      if (!isWhole(part)) return false;
      for (let outer = part.parentElement; outer; outer = outer.parentElement) {
        if (changed.has(outer) && isWhole(outer)) return false;
      }
      return true;
    }).slice(0, MOST_TINTED);
    for (const each of found) each.classList.add("fresh");
    setTimeout(() => {
      for (const each of found) each.classList.remove("fresh");
    }, TINT_MS);
    before = null;
  }

  document.addEventListener("brenner:refreshing", remember);
  document.addEventListener("brenner:refreshed", () => {
    tint();
    if (address) count();
  });

  // A count in the title while the page is hidden.
  let title = null; // without the count
  let timer = 0;
  let last = 0; // the position up to which messages are known
  let arrived = 0;

  async function poll() {
    try {
      const news = await ask(`&after=${last}`);
      if (!document.hidden) return;
      arrived += news.arrived_count;
      last = Math.max(last, news.position);
      for (const each of news.arrived) notify(each.message_id, each.type, each.from);
      if (arrived) document.title = `(${arrived}) ${title}`;
    } catch { // the server is unavailable: the next poll asks again
    }
  }

  async function hide() {
    title ??= document.title;
    arrived = 0;
    try {
      last = (await ask()).position;
    } catch {
      return;
    }
    clearInterval(timer);
    if (document.hidden) timer = setInterval(poll, POLL_MS);
  }

  function unhide() {
    clearInterval(timer);
    if (title !== null) document.title = title;
    title = null;
    count();
  }

  // Desktop notifications, if the reader asked for them.
  const button = document.querySelector("[data-notify]");
  const said = document.querySelector("[data-notify-words]");
  const notified = new Set();

  function isWanted() {
    try {
      return Notification.permission === "granted" && localStorage.getItem(WANTED) === "yes";
    } catch { // the browser has neither, or storage is disabled
      return false;
    }
  }

  function notify(id, type, sender) {
    if (!URGENT.includes(type) || notified.has(id) || !isWanted()) return;
    notified.add(id);
    try {
      const found = new Notification(`${type} from ${oneLine(sender)}`, {
        body: thread, tag: `brenner-message-${id}`,
      });
      found.addEventListener("click", () => {
        focus();
        location.assign(`/messages/${id}`);
        found.close();
      });
    } catch { // some browsers allow them to service workers only
    }
  }

  function showWanted() {
    const isOn = isWanted();
    button.textContent = isOn ? "Notifications on" : "Notify me";
    button.setAttribute("aria-pressed", String(isOn));
  }

  async function toggle() {
    if (isWanted()) {
      localStorage.removeItem(WANTED);
      said.textContent = "";
    } else if (await Notification.requestPermission() === "granted") {
      localStorage.setItem(WANTED, "yes");
      said.textContent = "for BLOCKED and QUESTION, while a page of the session is open";
    } else {
      said.textContent = "Your browser does not allow notifications from this page.";
    }
    showWanted();
  }

  if (button && address && isLive && "Notification" in window && isSecureContext) {
    button.closest("[hidden]").hidden = false;
    showWanted();
    button.addEventListener("click", toggle);
  }

  // An open form: its preview is requested again, as if a field had changed. A form with a preview
  // has the address of the preview in `hx-post`.
  const form = isLive ? null : document.querySelector("main form.lab[action^='/lab/sessions/']");
  let mail = []; // messages that the preview does not include yet
  let waiting = 0;
  let focused = null;

  const status = form && document.createElement("p");
  if (form) {
    status.id = "arrived";
    status.setAttribute("role", "status");
    (form.querySelector(":scope > .buttons") || form.lastElementChild).before(status);
  }

  function arrivedWords() {
    const latest = mail[mail.length - 1];
    const at = new Date(latest.at).toLocaleTimeString([], {hour: "2-digit", minute: "2-digit", hourCycle: "h23"});
    const one = `${latest.type || "A message"} from ${oneLine(latest.sender)} arrived at ${at}.`;
    return mail.length > 1 ? `${mail.length} new messages arrived. The latest: ${one}` : one;
  }

  function preview() {
    waiting = 0;
    if (form.matches("[hx-post$='/preview']")) form.dispatchEvent(new Event("change", {bubbles: true}));
    else status.textContent = arrivedWords();
  }

  document.addEventListener("htmx:before:swap", () => {
    focused = document.activeElement?.id || null;
  });
  document.addEventListener("htmx:after:swap", () => {
    if (!form) return;
    if (document.activeElement === document.body && focused) {
      document.getElementById(focused)?.focus({preventScroll: true}); // the button was replaced
    }
    if (mail.length && !waiting) {
      status.textContent = `${arrivedWords()} The preview is up to date; what you typed has not changed.`;
      mail = [];
    }
  });

  document.addEventListener("brenner:mail", (event) => {
    const {message_id: id, type, sender, thread_id: where} = event.detail;
    if (form) {
      mail.push(event.detail);
      clearTimeout(waiting);
      waiting = setTimeout(preview, GATHER_MS);
    } else if (where === thread && !document.hasFocus()) {
      notify(id, type, sender);
    }
  });

  if (address && isLive) {
    document.addEventListener("visibilitychange", () => (document.hidden ? hide() : unhide()));
    count();
  }
})();
