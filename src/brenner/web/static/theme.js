// The theme that the reader chose in this browser, before anything is painted. Without a choice, or
// without scripts, it is the one of the system.
"use strict";

try {
  const theme = localStorage.getItem("brenner-theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch { // storage is disabled in this browser
}
