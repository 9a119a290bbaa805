// Forms of the lab: what was typed is not lost while the server is away. A form is sent only where
// somebody answers; else it stays as it is, and says so beside its button.
"use strict";

(() => {
  const PATIENCE_MS = 5000;
  const AWAY = "Not sent: the server does not answer. What you typed stays here; send it when you are connected again.";
  const BACK = "Connected again: you can send it now.";
  const UNKNOWN = "What this would do is not known at the moment.";

  let isAsking = false;
  let passed = null; // the form that is on its way
  let latest = null; // the request for a preview that counts
  let isFailed = false; // the preview is missing

  async function isThere() {
    try {
      const answer = await fetch("/health/liveness", {
        cache: "no-store", signal: AbortSignal.timeout(PATIENCE_MS),
      });
      return answer.status < 500; // a proxy can answer for a server that is away
    } catch {
      return false;
    }
  }

  function held(form, words, isWrong) {
    let place = form.querySelector(".held");
    if (!place) {
      place = document.createElement("p");
      place.setAttribute("role", "alert");
      form.append(place);
    }
    place.className = isWrong ? "held attention" : "held quiet";
    place.textContent = words;
  }

  document.addEventListener("submit", async (event) => {
    const form = event.target;
    if (!form.matches("form.lab")) return;
    if (form === passed) {
      passed = null;
      return;
    }
    event.preventDefault();
    if (event.submitter?.getAttribute("aria-disabled") === "true") {
      held(form, `Nothing was done. ${document.getElementById("will")?.textContent ?? ""}`, true);
      return;
    }
    if (isAsking) return;
    isAsking = true;
    const isAnswered = await isThere();
    isAsking = false;
    if (!isAnswered) {
      held(form, AWAY, true);
      return;
    }
    form.querySelector(".held")?.remove();
    passed = form;
    form.requestSubmit(event.submitter);
    passed = null; // also where the browser found a field that is not filled in
  });

  // A preview that cannot be made: an old one would be of another text.
  function failed(words) {
    const place = document.getElementById("preview");
    if (!place) return;
    const heading = document.createElement("h2");
    heading.textContent = "Preview";
    const said = document.createElement("p");
    said.className = "attention";
    said.setAttribute("role", "status");
    said.textContent = `There is no preview now: ${words}`;
    place.replaceChildren(heading, said);
    const will = document.getElementById("will");
    if (will) will.textContent = UNKNOWN;
    isFailed = true;
  }

  const isPreview = (event) => event.detail?.ctx?.sourceElement?.matches?.("form.lab");

  document.addEventListener("htmx:before:request", (event) => {
    if (isPreview(event)) latest = event.detail.ctx;
  });
  document.addEventListener("htmx:after:request", (event) => {
    if (!isPreview(event)) return;
    if (isAsking) {
      event.preventDefault(); // what is being sent is what was shown when the button was pressed
      return;
    }
    const {response, text} = event.detail.ctx;
    isFailed = false;
    if (response.status < 400) return;
    event.preventDefault(); // it is a whole page, and no preview
    const page = new DOMParser().parseFromString(text, "text/html");
    const why = page.querySelector("main .diagnostic p");
    failed(why ? why.textContent.trim().replace(/\s+/g, " ") : `the server says ${response.status}.`);
  });
  document.addEventListener("htmx:error", (event) => {
    if (!isPreview(event) || event.detail.ctx !== latest) return; // a newer one is under way
    failed("the server does not answer. What you typed stays here.");
  });

  document.addEventListener("brenner:connected", () => {
    for (const place of document.querySelectorAll("form.lab .held")) {
      if (place.textContent === AWAY) held(place.closest("form"), BACK, false);
    }
    const form = document.getElementById("action");
    if (isFailed && form) form.dispatchEvent(new Event("change", {bubbles: true}));
  });
})();
