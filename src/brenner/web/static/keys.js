// Single-key shortcuts, and the help over any page. Links and fields do the same without them, and
// the help has a switch to turn them off, for example for voice input.
"use strict";

(() => {
  const OFF = "brenner-keys-off";
  const SEQUENCE_MS = 1500;
  const TYPED_IN = "input:not([type=checkbox], [type=radio], [type=button], [type=submit]),"
    + " textarea, select, [contenteditable]:not([contenteditable=false])";
  let began = 0; // when `g` was pressed
  let last = null; // where j or k led

  const one = (selector) => document.querySelector(selector);

  function areOff() {
    try {
      return localStorage.getItem(OFF) === "yes";
    } catch { // storage is disabled in this browser
      return false;
    }
  }

  function turn(isOn) {
    try {
      if (isOn) localStorage.removeItem(OFF);
      else localStorage.setItem(OFF, "yes");
    } catch {
      return false;
    }
    return true;
  }

  // The switch needs this script, so the script shows it.
  function connectSwitch(place) {
    const box = place.querySelector("[data-keys-switch]");
    if (!box) return;
    box.closest("[hidden]")?.removeAttribute("hidden");
    box.checked = !areOff();
    box.addEventListener("change", () => {
      if (!turn(box.checked)) box.checked = !box.checked;
    });
  }

  function go(link) {
    if (link) location.assign(link.href);
    return Boolean(link);
  }

  // The palette, or the search field if its script is not there.
  function find() {
    const button = one("[data-palette]:not([hidden])");
    if (button) {
      button.click();
      return true;
    }
    const field = one("#query") || one("#q");
    if (!field) return false;
    field.focus();
    field.select();
    return true;
  }

  function press(selector) {
    const found = one(selector);
    if (found) found.click();
    return Boolean(found);
  }

  // Go to the next or previous marked place. Folded ones are skipped.
  function step(direction) {
    const places = [...document.querySelectorAll("[data-step]")].filter((each) =>
      each.getClientRects().length);
    if (!places.length) return false;
    const here = document.activeElement.closest("[data-step]") || last;
    const at = places.indexOf(here);
    const next = at < 0 ? firstFrom(places, direction) : at + direction;
    last = places[Math.min(Math.max(next, 0), places.length - 1)];
    last.focus({preventScroll: true});
    last.scrollIntoView({block: isSeen(last) ? "nearest" : "start"});
    return true;
  }

  function firstFrom(places, direction) {
    const below = places.findIndex((each) => each.getBoundingClientRect().top >= 0);
    const found = below < 0 ? places.length : below;
    return direction > 0 ? found : found - 1;
  }

  function isSeen(place) {
    const box = place.getBoundingClientRect();
    return box.top >= 0 && box.bottom <= innerHeight;
  }

  function sheet() {
    const dialog = one("dialog.help");
    if (dialog?.open) {
      dialog.close();
      return true;
    }
    dialog?.remove(); // it is closed, but its event has not arrived yet
    if (!one("#sheet")) open(); // otherwise the page itself is the sheet
    return true;
  }

  async function open() {
    const link = one("[data-help]");
    try {
      const answer = await fetch(link.href, {headers: {Accept: "text/html"}});
      if (!answer.ok) throw new Error(answer.statusText);
      const found = new DOMParser().parseFromString(await answer.text(), "text/html");
      if (!one("#sheet")) show(found.getElementById("sheet"));
    } catch {
      location.assign(link.href);
    }
  }

  function show(content) {
    const dialog = document.createElement("dialog");
    const close = document.createElement("button");
    dialog.className = "help";
    dialog.setAttribute("aria-label", "Help");
    close.type = "button";
    close.className = "close";
    close.textContent = "Close";
    close.addEventListener("click", () => dialog.close());
    dialog.addEventListener("close", () => dialog.remove());
    dialog.append(close, content);
    document.body.append(dialog);
    connectSwitch(dialog);
    dialog.showModal();
  }

  // The browser closes dialogs. Close the note with the focus, else the last one.
  function leave() {
    if (one("dialog[open]")) return false;
    const notes = [...document.querySelectorAll("details.note[open]")];
    const note = notes.find((each) => each.contains(document.activeElement)) || notes.pop();
    if (note) {
      if (note.contains(document.activeElement)) note.querySelector("summary").focus();
      note.open = false;
    } else if (document.activeElement.matches("input[type=search]")) {
      document.activeElement.blur();
    } else {
      return false;
    }
    return true;
  }

  const DOES = {
    "?": sheet,
    "/": find,
    j: () => step(1),
    k: () => step(-1),
    p: () => press("[data-provenance]"),
    d: () => press("a.draft-switch"),
    n: () => press("#since a.jump"),
  };

  function isDone(key) {
    if (key === "g") {
      began = Date.now();
      return true;
    }
    const isSecond = Date.now() - began < SEQUENCE_MS;
    began = 0;
    if (isSecond) return key === "h" && go(one(".masthead a.home"));
    if (one("dialog[open]") && key !== "?") return false;
    if (/^[1-9]$/.test(key)) return go(one(`[data-tab="${key}"]`));
    return Object.hasOwn(DOES, key) && DOES[key]();
  }

  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing || event.ctrlKey || event.metaKey) return;
    if (event.key === "Escape") {
      if (leave()) event.preventDefault();
      return;
    }
    const isAlone = event.key.length === 1 && (!event.altKey || event.key === "?" || event.key === "/");
    // The focus leaves a dialog a moment after it has closed.
    const isTyped = event.target.closest(TYPED_IN) && !event.target.closest("dialog:not([open])");
    if (!isAlone || areOff() || isTyped) return;
    if (isDone(event.key)) event.preventDefault();
  });

  document.addEventListener("click", (event) => {
    const isPlain = !(event.ctrlKey || event.metaKey || event.shiftKey || event.button);
    if (isPlain && event.target.closest("[data-help]") && !one("#sheet")) {
      event.preventDefault();
      open();
    }
  });

  // If the tabs do not fit, scroll the open one into view.
  function showTab() {
    const tabs = one(".tabs");
    const open = tabs?.querySelector("[aria-current]");
    if (!open) return;
    const [all, box] = [tabs.getBoundingClientRect(), open.getBoundingClientRect()];
    if (box.right > all.right) tabs.scrollLeft += box.right - all.right + 16;
  }

  // In a picture that does not fit: the item of the page, else the latest session on the right.
  function showItem() {
    const picture = one(".genealogy");
    if (!picture) return;
    const box = one(".genealogy .is-start")?.getBoundingClientRect();
    const around = picture.getBoundingClientRect();
    picture.scrollLeft += box ? (box.left + box.right - around.left - around.right) / 2
      : picture.scrollWidth;
  }

  connectSwitch(document);
  showTab();
  showItem();
})();
