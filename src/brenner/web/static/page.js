// Small aids on any page: folds that load their content when they are opened, buttons that copy a
// command, and the choice of a theme. Without scripts a fold has a link, and the rest is not shown.
"use strict";

(() => {
  // Folds: `data-load` is an address, `data-part` selects the content on that page.
  async function load(fold) {
    if (fold.dataset.loaded) return;
    fold.dataset.loaded = "asked";
    try {
      const answer = await fetch(fold.dataset.load, {headers: {Accept: "text/html"}});
      if (!answer.ok) throw new Error(answer.statusText);
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const part = page.querySelector(fold.dataset.part);
      if (!part) throw new Error("no such part");
      const content = document.createElement("div");
      content.className = part.className ? `loaded ${part.className}` : "loaded";
      content.append(...part.childNodes);
      fold.querySelector(":scope > summary").after(content);
      for (const link of fold.querySelectorAll(":scope > p")) link.remove();
      fold.dataset.loaded = "yes";
    } catch { // the link in the fold is still there
      delete fold.dataset.loaded;
    }
  }

  document.addEventListener("toggle", (event) => {
    if (event.target.open && event.target.dataset?.load) load(event.target);
  }, true);

  // A page that updates itself keeps what was loaded.
  document.addEventListener("brenner:refreshing", (event) => {
    for (const fold of document.querySelectorAll("details[data-loaded=yes]")) {
      const place = event.detail.querySelector(`#${CSS.escape(fold.id)}`);
      if (place?.dataset.load) place.replaceWith(event.detail.importNode(fold, true));
    }
  });

  // A link to a message that is inside a closed fold: the server knows its page.
  function find() {
    const number = /^#m(\d+)$/.exec(location.hash)?.[1];
    if (!number || document.querySelector(location.hash)) return;
    if (/\/thread$/.test(location.pathname)) location.replace(`?message=${number}`);
  }

  addEventListener("hashchange", find);
  find();

  // Commands can be copied where the browser allows it.
  const COMMANDS = ".card pre, .empty pre, .clients pre, pre[data-copy]";

  function offerCopies() {
    if (!navigator.clipboard) return;
    for (const place of document.querySelectorAll(COMMANDS)) {
      if (place.nextElementSibling?.classList.contains("copy")) continue;
      const button = document.createElement("button");
      button.type = "button";
      button.className = "copy";
      button.textContent = "Copy";
      button.setAttribute("aria-label", `Copy: ${place.textContent.slice(0, 80)}`);
      place.after(button);
    }
  }

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button.copy");
    if (!button) return;
    try {
      await navigator.clipboard.writeText(button.previousElementSibling.textContent.trim());
      button.textContent = "Copied";
    } catch {
      button.textContent = "Not allowed";
    }
    setTimeout(() => (button.textContent = "Copy"), 2000);
  });

  document.addEventListener("brenner:refreshed", offerCopies);
  offerCopies();

  // The theme: as the system has it, or the reader's choice, which this browser remembers.
  const THEME = "brenner-theme";
  const choice = document.querySelector("[data-theme-choice]");

  function wear(theme) {
    if (theme) document.documentElement.dataset.theme = theme;
    else delete document.documentElement.dataset.theme;
    choice.value = theme || "";
  }

  if (choice) {
    choice.closest("[hidden]").hidden = false;
    wear(document.documentElement.dataset.theme);
    choice.addEventListener("change", () => {
      wear(choice.value);
      try {
        if (choice.value) localStorage.setItem(THEME, choice.value);
        else localStorage.removeItem(THEME);
      } catch { // it is worn on this page only
      }
    });
    addEventListener("storage", (event) => {
      if (event.key === THEME) wear(event.newValue);
    });
  }

  // Provenance is shown or hidden in place: what one reads stays where it is on the screen.
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-provenance]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    const main = document.getElementById("main");
    const place = [...main.querySelectorAll("[data-step]")].find((each) =>
      each.getBoundingClientRect().bottom > 0);
    const before = place?.getBoundingClientRect().top;
    const isShown = main.classList.toggle("provenance");
    const [here, there] = [new URL(location.href), new URL(link.href)];
    here.searchParams.delete("provenance");
    there.searchParams.delete("provenance");
    (isShown ? here : there).searchParams.set("provenance", "1");
    history.replaceState(history.state, "", here);
    link.href = there;
    link.textContent = isShown ? "Hide provenance" : "Show provenance";
    link.toggleAttribute("aria-current", isShown);
    if (isShown) link.setAttribute("aria-current", "true");
    if (place) scrollBy({top: place.getBoundingClientRect().top - before, behavior: "instant"});
  });

  // The outline shows which item one reads.
  const seen = new Set();
  const watcher = new IntersectionObserver((changes) => {
    for (const each of changes) {
      if (each.isIntersecting) seen.add(each.target.id);
      else seen.delete(each.target.id);
    }
    const links = [...document.querySelectorAll("[data-outline] li a")];
    const first = links.find((each) => seen.has(each.hash.slice(1)));
    for (const link of links) link.removeAttribute("aria-current");
    if (!first) return;
    first.setAttribute("aria-current", "true");
    const [frame, box] = [first.closest("[data-outline]"), first.offsetTop];
    if (box < frame.scrollTop || box > frame.scrollTop + frame.clientHeight - 48) {
      frame.scrollTop = box - frame.clientHeight / 2;
    }
  }, {rootMargin: "-40px 0px -50% 0px"});

  function watch() {
    watcher.disconnect();
    seen.clear();
    for (const link of document.querySelectorAll("[data-outline] li a[href^='#']")) {
      const place = document.getElementById(link.hash.slice(1));
      if (place) watcher.observe(place);
    }
  }

  document.addEventListener("brenner:refreshed", watch);
  watch();
})();
