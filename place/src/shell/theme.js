"use strict";
// The button that changes between light and dark. Until somebody uses it the system decides.
document.getElementById("theme").addEventListener("click", function () {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
});
