// The palette: type to find a session, item, agent or action, and go there. It opens with `/`
// (keys.js), Ctrl-K or its button. Its entries are loaded when it opens. The button replaces the
// search field, which does the search without this script.
"use strict";

(() => {
  const MAX_SHOWN = 40;
  const button = document.querySelector("[data-palette]");
  if (!button) return;

  // The folded words of a text: without case and accents.
  const fold = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();

  function make(tag, properties, ...children) {
    const made = Object.assign(document.createElement(tag), properties);
    made.append(...children);
    return made;
  }

  // Entries

  // Actions of the page that is open, which only this script can do.
  function pageActions() {
    const marks = document.querySelector("[data-provenance]");
    if (!marks) return [];
    return [{title: "Show or hide who wrote each part", id: "", detail: "", key: "p",
      killed: false, act: () => marks.click()}];
  }

  const sessionOf = (entry, group) => group.endsWith("this session") ? "" : entry.session || "";

  function flatten(found) {
    const groups = found.groups.map((group) => ({...group, entries: [...group.entries]}));
    const here = pageActions();
    const after = groups[0]?.name === "Actions" ? 1 : 0;
    if (here.length) groups.splice(after, 0, {name: "On this page", entries: here});
    return groups.flatMap((group, place) => group.entries.map((entry) => ({
      ...entry,
      group: group.name,
      place,
      name: fold(`${entry.id} ${entry.title}`),
      words: fold([entry.id, entry.title, entry.detail, sessionOf(entry, group.name),
        entry.killed ? "killed" : ""].join(" ")),
    })));
  }

  // How well an entry matches all parts of what was typed: lower is better, null is not at all.
  function rank(entry, parts) {
    let sum = 0;
    for (const part of parts) {
      const at = entry.words.indexOf(part);
      if (at < 0) return null;
      if (fold(entry.id) === part) continue;
      const isStart = at === 0 || /[^\p{L}\p{N}]/u.test(entry.words[at - 1]);
      sum += (isStart ? 1 : 2) + (entry.name.includes(part) ? 0 : 2);
    }
    return sum;
  }

  // The best entries, together with others of their group; the group with the best comes first.
  function matching(entries, typed) {
    const parts = fold(typed).split(/\s+/).filter(Boolean);
    if (!parts.length) return entries;
    const found = entries.map((entry) => ({entry, worth: rank(entry, parts)}))
      .filter((each) => each.worth !== null)
      .sort((one, other) => one.worth - other.worth || one.entry.place - other.entry.place
        || one.entry.killed - other.entry.killed)
      .map((each) => each.entry);
    const order = [...new Set(found.map((entry) => entry.group))];
    return found.sort((one, other) => order.indexOf(one.group) - order.indexOf(other.group));
  }

  // The dialog

  function open() {
    if (document.querySelector("dialog[open]")) return;
    const list = make("div", {id: "palette-list", role: "listbox"});
    list.setAttribute("aria-label", "Found");
    const field = make("input", {id: "palette-field", type: "text", autocomplete: "off",
      role: "combobox", enterKeyHint: "go", spellcheck: false,
      placeholder: "Item, session, agent or action"});
    for (const [name, value] of Object.entries({label: "Find or go to", expanded: "true",
      controls: list.id, autocomplete: "list"})) field.setAttribute(`aria-${name}`, value);
    const close = make("button", {type: "button", className: "close-palette"}, "Close");
    const status = make("p", {className: "palette-status", role: "status"}, "Loading …");
    const dialog = make("dialog", {className: "palette"},
      make("div", {className: "palette-field"}, field, close), list, status);
    dialog.setAttribute("aria-label", "Find or go to");
    const state = {dialog, field, list, status, entries: [], shown: [], at: 0, search: ""};
    close.addEventListener("click", () => dialog.close());
    dialog.addEventListener("close", () => dialog.remove());
    dialog.addEventListener("click", (event) => {
      if (event.target === dialog) dialog.close(); // beside it
    });
    field.addEventListener("input", () => show(state));
    field.addEventListener("keydown", (event) => pressed(state, event));
    list.addEventListener("click", (event) => {
      const option = event.target.closest("[role=option]");
      if (option) choose(state, Number(option.dataset.at), event);
    });
    document.body.append(dialog);
    dialog.showModal();
    field.focus();
    load(state);
  }

  async function load(state) {
    try {
      const answer = await fetch(button.dataset.palette, {headers: {Accept: "application/json"}});
      if (!answer.ok) throw new Error(answer.statusText);
      const found = await answer.json();
      state.search = found.search;
      state.entries = flatten(found);
      show(state);
    } catch {
      state.status.textContent = "Cannot load the entries. Close this and try again.";
    }
  }

  function show(state) {
    const typed = state.field.value.trim();
    const all = matching(state.entries, typed);
    state.shown = all.slice(0, MAX_SHOWN);
    const more = all.length - state.shown.length;
    if (typed && state.search) {
      const link = `${state.search}?q=${encodeURIComponent(typed)}`;
      state.shown.push({title: `Search for “${typed}”`, id: "", detail: "items and messages",
        key: "", killed: false, group: "Search", link});
    }
    state.list.replaceChildren(...groupsOf(state.shown));
    state.status.textContent = more > 0 ? `${more} more: type to find them.`
      : all.length || !state.search ? "" : typed ? "Nothing matches. Enter searches for it." : "";
    select(state, 0);
  }

  function groupsOf(shown) {
    const groups = new Map();
    shown.forEach((entry, at) => {
      if (!groups.has(entry.group)) groups.set(entry.group, []);
      groups.get(entry.group).push(option(entry, at));
    });
    return [...groups].map(([name, options], number) => {
      const label = make("div", {id: `palette-group-${number}`, className: "palette-group",
        role: "presentation"}, name);
      const group = make("div", {role: "group"}, label, ...options);
      group.setAttribute("aria-labelledby", label.id);
      return group;
    });
  }

  function option(entry, at) {
    const title = make(entry.killed ? "s" : "span", {className: "entry-title"}, entry.title);
    const made = make("div", {id: `palette-option-${at}`, role: "option", className: "entry"});
    if (entry.id) made.append(make("span", {className: "id"}, entry.id), " ");
    made.append(title);
    const aside = [entry.killed ? "killed" : "", entry.detail].filter(Boolean).join(", ");
    if (aside) made.append(" ", make("span", {className: "quiet"}, aside));
    const session = sessionOf(entry, entry.group);
    if (session) made.append(" ", make("span", {className: "quiet"}, session));
    if (entry.key) {
      const keys = entry.key.split(" ").map((key) => make("kbd", {}, key));
      const around = make("span", {className: "keys"}, ...keys);
      around.setAttribute("aria-hidden", "true");
      made.append(around);
    }
    made.dataset.at = at;
    return made;
  }

  function select(state, at) {
    const options = [...state.list.querySelectorAll("[role=option]")];
    options.forEach((each, number) => each.setAttribute("aria-selected", String(number === at)));
    state.at = options.length ? at : 0;
    if (options[at]) {
      state.field.setAttribute("aria-activedescendant", options[at].id);
      options[at].scrollIntoView({block: "nearest"});
      if (at === 0) state.list.scrollTop = 0; // with the name of the group
    } else {
      state.field.removeAttribute("aria-activedescendant");
    }
  }

  function pressed(state, event) {
    const last = state.shown.length - 1;
    const next = {ArrowDown: state.at >= last ? 0 : state.at + 1,
      ArrowUp: state.at <= 0 ? last : state.at - 1,
      PageDown: Math.min(state.at + 8, last), PageUp: Math.max(state.at - 8, 0)}[event.key];
    if (event.isComposing) return;
    if (event.key === "Enter") {
      event.preventDefault();
      choose(state, state.at, event);
    } else if (next !== undefined && last >= 0) {
      event.preventDefault();
      select(state, next);
    }
  }

  function choose(state, at, event) {
    const entry = state.shown[at];
    if (!entry) return;
    state.dialog.close();
    if (entry.act) entry.act();
    else if (event.ctrlKey || event.metaKey) window.open(entry.link, "_blank", "noopener");
    else location.assign(entry.link);
  }

  // Where it opens from

  button.addEventListener("click", open);
  document.addEventListener("keydown", (event) => {
    const isKey = (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey
      && event.key.toLowerCase() === "k";
    if (!isKey || event.defaultPrevented || event.isComposing) return;
    event.preventDefault();
    const palette = document.querySelector("dialog.palette");
    if (palette) palette.close();
    else open();
  });
  for (const form of document.querySelectorAll(".masthead form.search")) form.hidden = true;
  button.hidden = false;
})();
