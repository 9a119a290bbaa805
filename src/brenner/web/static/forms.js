// Forms of the lab: typed text is not lost while the server is unavailable. A form is sent only if the
// server responds; otherwise it stays open and shows a message beside its button.
"use strict";

(() => {
  const PATIENCE_MS = 5000;
  const AWAY = "Not sent: the server does not respond. Your text is still here. Send it again when the connection is back.";
  const BACK = "Reconnected. You can send the form now.";
  const UNKNOWN = "The effect of this form is unknown at the moment.";

  let isAsking = false;
  let passed = null; // the form that is being sent
  let latest = null; // the latest request for a preview
  let isFailed = false; // the preview is missing

  async function isThere() {
    try {
      const answer = await fetch("/health/liveness", {
        cache: "no-store", signal: AbortSignal.timeout(PATIENCE_MS),
      });
      return answer.status < 500; // a proxy can respond for an unavailable server
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
      held(form, `No changes were made. ${document.getElementById("will")?.textContent ?? ""}`, true);
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
    passed = null; // also if the browser found an empty required field
  });

  // Show that a preview failed: the old one would show another text.
  function failed(words) {
    const place = document.getElementById("preview");
    if (!place) return;
    const heading = document.createElement("h2");
    heading.textContent = "Preview";
    const said = document.createElement("p");
    said.className = "attention";
    said.setAttribute("role", "status");
    said.textContent = `No preview: ${words}`;
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
      event.preventDefault(); // the form is being sent with the preview that was shown
      return;
    }
    const {response, text} = event.detail.ctx;
    isFailed = false;
    if (response.status < 400) return;
    event.preventDefault(); // the response is a whole page, not a preview
    const page = new DOMParser().parseFromString(text, "text/html");
    const why = page.querySelector("main .diagnostic p");
    failed(why ? why.textContent.trim().replace(/\s+/g, " ") : `the server responded with status ${response.status}.`);
  });
  document.addEventListener("htmx:error", (event) => {
    if (!isPreview(event) || event.detail.ctx !== latest) return; // a newer request is running
    failed("the server does not respond. Your text is still here.");
  });

  // A field loses its error when its input is fixed: at once if no preview can tell, else as soon as
  // the preview has no error for it.
  function clear(field) {
    field.classList.remove("wrong");
    for (const each of field.querySelectorAll("[aria-invalid]")) each.removeAttribute("aria-invalid");
    for (const each of field.querySelectorAll(":scope > .faults, :scope > [id$='-faults']")) each.replaceChildren();
    const faults = document.getElementById("faults");
    for (const each of faults?.querySelectorAll("a") ?? []) {
      if (named(field).includes(each.hash.slice(1))) each.closest("li").remove();
    }
    if (faults && !faults.querySelector("li")) faults.remove();
  }

  const named = (field) => [field, ...field.querySelectorAll("[name]")].flatMap((each) => [each.id, each.name]);

  document.addEventListener("input", (event) => {
    const form = event.target.closest("form.lab");
    const field = event.target.closest(".field.wrong");
    if (field && form && !form.hasAttribute("hx-post") && event.target.value.trim()) clear(field);
  });
  document.addEventListener("htmx:after:swap", () => {
    const form = document.querySelector("form.lab[hx-post]");
    const preview = document.getElementById("preview");
    if (!form || !preview || isFailed) return;
    const wrong = [...preview.querySelectorAll("#preview-faults a")].map((each) => each.hash.slice(1));
    if (preview.querySelector("#preview-faults li:not(:has(a))")) return; // of no field, or of several
    for (const field of form.querySelectorAll(".field.wrong")) {
      if (!named(field).some((name) => name && wrong.includes(name))) clear(field);
    }
    if (!wrong.length) document.getElementById("faults")?.remove();
  });

  document.addEventListener("brenner:connected", () => {
    for (const place of document.querySelectorAll("form.lab .held")) {
      if (place.textContent === AWAY) held(place.closest("form"), BACK, false);
    }
    const form = document.getElementById("action");
    if (isFailed && form) form.dispatchEvent(new Event("change", {bubbles: true}));
  });
})();
