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
})();
