// What every page can do: choose a theme, copy a text, show a wide table on a narrow screen. Without a script a page shows all the same.
"use strict";

(() => {
  const THEMES = /** @type {const} */ (["system", "light", "dark"]);
  const KEY = "highwater-theme";

  /** @param {string} theme @param {HTMLElement} button */
  function apply(theme, button) {
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    button.textContent = theme === "system" ? "Theme: as the system" : `Theme: ${theme}`;
  }

  /** @returns {string} The theme that was chosen before; a browser may not let a page of a file keep anything. */
  function kept() {
    try {
      const theme = localStorage.getItem(KEY) ?? "system";
      return THEMES.some(one => one === theme) ? theme : "system";
    } catch {
      return "system";
    }
  }

  /** @param {string} theme */
  function keep(theme) {
    try {
      localStorage.setItem(KEY, theme);
    } catch {
      // It holds until the page is left.
    }
  }

  function offerThemes() {
    const button = /** @type {HTMLElement} */ (document.querySelector("button.theme"));
    let theme = kept();
    apply(theme, button);
    button.hidden = false;
    button.addEventListener("click", () => {
      theme = THEMES[(THEMES.findIndex(one => one === theme) + 1) % THEMES.length];
      apply(theme, button);
      keep(theme);
    });
  }

  /** @param {HTMLElement} pre @returns {Promise<boolean>} Whether the text is on the clipboard. */
  async function copy(pre) {
    try {
      await navigator.clipboard.writeText(pre.textContent ?? "");
      return true;
    } catch {
      // Not every browser lets a page of a file write to the clipboard. The older way works with a selection.
      const selection = /** @type {Selection} */ (getSelection());
      selection.selectAllChildren(pre);
      return document.execCommand("copy");
    }
  }

  /** @param {HTMLElement} pre */
  function offerCopy(pre) {
    const around = document.createElement("div");
    around.className = "with-copy";
    pre.replaceWith(around);
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      button.textContent = (await copy(pre)) ? "Copied" : "Selected: press Ctrl+C";
      button.addEventListener("blur", () => (button.textContent = "Copy"), { once: true });
    });
    around.append(pre, button);
  }

  /** Scroll an excerpt to the moment that it is about. @param {Element} excerpt */
  function showMoment(excerpt) {
    const then = /** @type {HTMLElement | null} */ (excerpt.querySelector(".then"));
    const box = excerpt.querySelector(".log");
    if (then && box) box.scrollTop = then.offsetTop - box.clientHeight / 2;
  }

  /** Give each cell the heading of its column, which a narrow screen shows beside it. @param {HTMLTableElement} table */
  function label(table) {
    const headings = [...(table.tHead?.rows[0].cells ?? [])].map(one => one.textContent ?? "");
    if (headings.length < 3) return;
    table.classList.add("labelled");
    for (const row of table.tBodies[0].rows) [...row.cells].forEach((cell, at) => (cell.dataset.label = headings[at]));
  }

  offerThemes();
  document.querySelectorAll(".table > table").forEach(table => label(/** @type {HTMLTableElement} */ (table)));
  document.querySelectorAll("details.plain").forEach(excerpt => {
    showMoment(excerpt);
    excerpt.addEventListener("toggle", () => showMoment(excerpt), { once: true });
  });
  document.querySelectorAll("pre.copied").forEach(pre => offerCopy(/** @type {HTMLElement} */ (pre)));
})();
