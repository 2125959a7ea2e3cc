"use strict";

// The page is whole without this script. It adds: zoom, cursor and read-outs of timelines, jumps from a time to its place
// on the first timeline, copying, and the choice of a theme. Nothing of a recording is ever taken for markup.

const UNITS = 1e6; // width of a run in the coordinates of lanes
const SMALLEST = 200; // of these, the narrowest part that is shown

/** What a lane's shapes say at a place of the run: one reader for each `data-read`. */
const READERS = {
  spans(scaled, at) {
    const under = [...scaled.querySelectorAll("rect")].filter(rect => {
      const left = +rect.getAttribute("x");
      return left <= at && at < left + +rect.getAttribute("width");
    });
    return under.map(rect => rect.textContent.split("\n")[0]).join(" · ");
  },
  line(scaled, at) {
    const top = +scaled.dataset.top, low = +(scaled.dataset.low || 0), height = scaled.viewBox.baseVal.height;
    const room = scaled.dataset.low === undefined ? height : height - 2;
    const nearest = new Map();
    for (const line of scaled.querySelectorAll("[data-name]")) {
      for (const point of line.points) {
        const far = Math.abs(point.x - at), before = nearest.get(line.dataset.name);
        if (far < UNITS / 100 && (before === undefined || far < before.far)) {
          nearest.set(line.dataset.name, { far, value: low + (height - point.y) / room * (top - low) });
        }
      }
    }
    return named([...nearest].map(([name, found]) => [name, found.value]), scaled.dataset.unit);
  },
  steps(scaled, at) {
    const top = +scaled.dataset.top, height = scaled.viewBox.baseVal.height;
    const found = [];
    for (const path of scaled.querySelectorAll("path")) {
      let x = 0, y = null;
      for (const [, command, one, other] of path.getAttribute("d").matchAll(/([MhvH])(-?[\d.]+)(?: (-?[\d.]+))?/g)) {
        if (command === "H" || (command === "h" && x + +one > at) || (command === "M" && +one > at)) break;
        if (command === "M") { x = +one; y = +other; }
        if (command === "h") x += +one;
        if (command === "v") y += +one;
      }
      if (y !== null) found.push([path.dataset.name, (height - y) / (height - 2) * top]);
    }
    return named(found);
  },
};

/** Names with values, as short as they can be read. */
function named(pairs, unit) {
  const said = value => value >= 100 ? Math.round(value).toLocaleString("en") : String(+value.toPrecision(3));
  return pairs.map(([name, value]) => `${name} ${said(value)}${unit ? " " + unit : ""}`).join(" · ");
}

/** Words of `ns` of run time, to the precision that a part of the run needs. */
function clock(ns, width) {
  const seconds = ns / 1e9;
  return `${seconds.toFixed(width < 2e9 ? 4 : 3)} s`;
}

class Timeline {
  constructor(element) {
    this.element = element;
    this.lanes = element.querySelector(".lanes");
    this.over = element.querySelector(".over");
    this.cursor = element.querySelector(".cursor");
    this.picked = element.querySelector(".picked");
    this.output = element.querySelector(".tools output");
    this.spoken = element.querySelector(".spoken");
    this.end = +element.dataset.end;
    this.scaled = [...element.querySelectorAll("svg.scaled")];
    this.words = [...element.querySelectorAll(".plot text[data-a]")];
    this.from = 0;
    this.to = UNITS;
    this.at = null;
    element.querySelector(".tools").addEventListener("click", event => this.press(event.target.dataset.do));
    this.lanes.addEventListener("keydown", event => this.key(event));
    this.lanes.addEventListener("wheel", event => this.wheel(event), { passive: false });
    this.lanes.addEventListener("pointermove", event => this.move(event));
    this.lanes.addEventListener("pointerdown", event => this.grab(event));
    this.lanes.addEventListener("pointerleave", () => this.point(null));
    this.lanes.addEventListener("toggle", () => this.draw(), true);
    addEventListener("resize", () => this.draw());
    this.draw();
  }

  get width() { return this.to - this.from; }

  /** Show the part [from, to) of the run. */
  show(from, to) {
    const width = Math.min(UNITS, Math.max(SMALLEST, to - from));
    this.from = Math.min(Math.max(0, from), UNITS - width);
    this.to = this.from + width;
    this.draw();
  }

  zoom(factor, about = this.at ?? this.from + this.width / 2) {
    const width = Math.min(UNITS, Math.max(SMALLEST, this.width * factor));
    const left = about - (about - this.from) / this.width * width;
    this.show(left, left + width);
  }

  pan(share) { this.show(this.from + this.width * share, this.to + this.width * share); }

  press(what) {
    if (what === "in") this.zoom(0.5);
    if (what === "out") this.zoom(2);
    if (what === "earlier") this.pan(-0.5);
    if (what === "later") this.pan(0.5);
    if (what === "whole") this.show(0, UNITS);
  }

  key(event) {
    if (event.target !== this.lanes || event.ctrlKey || event.metaKey || event.altKey) return;
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step && event.shiftKey) this.pan(step * 0.25);
    else if (step) {
      const at = Math.min(UNITS - 1, Math.max(0, (this.at ?? this.from + this.width / 2) + step * this.width / 100));
      if (at < this.from || at >= this.to) this.pan(step * 0.5);
      this.point(at);
      this.spoken.textContent = `${clock(this.time(at), this.time(this.width))}: ${this.said().join("; ")}`;
    } else if (event.key === "+" || event.key === "=") this.zoom(0.5);
    else if (event.key === "-") this.zoom(2);
    else if (event.key === "0" || event.key === "Escape") this.show(0, UNITS);
    else return;
    event.preventDefault();
  }

  wheel(event) {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    this.zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 200))), this.place(event));
  }

  /** The place of a pointer in the run; null left or right of it. */
  place(event) {
    const box = this.over.getBoundingClientRect();
    const share = (event.clientX - box.left) / box.width;
    return share < 0 || share > 1 ? null : this.from + share * this.width;
  }

  move(event) {
    if (event.target.closest(".changes")) return this.point(null);
    this.point(this.place(event));
  }

  grab(event) {
    const start = this.place(event);
    if (event.button !== 0 || start === null || event.target.closest(".changes, button")) return;
    const box = this.over.getBoundingClientRect();
    let share = 0, at = start;
    const drag = moved => {
      at = this.from + Math.min(1, Math.max(0, (moved.clientX - box.left) / box.width)) * this.width;
      share = Math.abs(at - start) / this.width;
      this.picked.style.display = "block";
      this.picked.style.left = `${(Math.min(at, start) - this.from) / this.width * 100}%`;
      this.picked.style.width = `${share * 100}%`;
    };
    const drop = dropped => {
      removeEventListener("pointermove", drag);
      removeEventListener("pointerup", drop);
      removeEventListener("pointercancel", drop);
      this.picked.style.display = "none";
      if (dropped.type === "pointerup" && share * box.width > 6) {
        // The click that follows would fold what lies under the pointer.
        addEventListener("click", click => click.preventDefault(), { capture: true, once: true });
        this.show(Math.min(at, start), Math.max(at, start));
      }
    };
    addEventListener("pointermove", drag);
    addEventListener("pointerup", drop);
    addEventListener("pointercancel", drop);
  }

  time(place) { return place / UNITS * this.end; }

  draw() {
    for (const one of this.scaled) one.setAttribute("viewBox", `${this.from} 0 ${this.width} ${one.viewBox.baseVal.height}`);
    const pixels = this.over.getBoundingClientRect().width / this.width;
    for (const word of this.words) {
      const left = Math.max(+word.dataset.a, this.from), needed = word.textContent.length * 6.1 + 6;
      const after = (Math.min(+word.dataset.b, this.to) - left) * pixels >= needed;
      const before = !after && word.dataset.before && left <= this.to
        && (left - Math.max(+word.dataset.before, this.from)) * pixels >= needed;
      word.style.display = after || before ? "" : "none";
      word.setAttribute("x", `${(left - this.from) / this.width * 100}%`);
      word.setAttribute("text-anchor", before ? "end" : "start");
      word.setAttribute("dx", before ? "-4" : "4");
    }
    this.drawTicks();
    const whole = this.width === UNITS, width = this.time(this.width);
    this.output.textContent = whole ? "The whole run" : `${clock(this.time(this.from), width)} to ${clock(this.time(this.to), width)}`;
    for (const button of this.element.querySelectorAll("[data-do]")) {
      button.disabled = { in: this.width <= SMALLEST, earlier: this.from <= 0, later: this.to >= UNITS }[button.dataset.do] ?? whole;
    }
    this.point(this.at);
  }

  drawTicks() {
    const svg = this.element.querySelector(".ticks"), width = this.time(this.width);
    const rough = width / Math.max(2, this.over.getBoundingClientRect().width / 110);
    const power = 10 ** Math.floor(Math.log10(rough)), step = [1, 2, 5, 10].map(one => one * power).find(one => one >= rough);
    svg.replaceChildren();
    for (let at = Math.ceil(this.time(this.from) / step) * step; at <= this.time(this.to); at += step) {
      const text = document.createElementNS(svg.namespaceURI, "text");
      text.setAttribute("class", "tick");
      text.setAttribute("x", `${(at - this.time(this.from)) / width * 100}%`);
      text.setAttribute("y", "12");
      text.textContent = `${+(at / 1e9).toFixed(6)} s`;
      svg.append(text);
    }
  }

  /** Put the cursor at a place of the run, and the values there beside it. */
  point(at) {
    this.at = at;
    const shown = at !== null && at >= this.from && at <= this.to;
    this.cursor.style.display = shown ? "block" : "none";
    for (const value of this.element.querySelectorAll(".value")) value.style.display = "none";
    if (!shown) return;
    this.element.classList.toggle("late", at > this.from + this.width / 2); // values stand where the cursor is not
    this.cursor.style.left = `${(at - this.from) / this.width * 100}%`;
    this.cursor.firstElementChild.textContent = clock(this.time(at), this.time(this.width));
    const high = innerHeight;
    for (const [lane, scaled] of this.read()) {
      const box = lane.getBoundingClientRect();
      if (box.bottom < 0 || box.top > high) continue;
      const text = READERS[scaled.dataset.read](scaled, at), value = lane.querySelector(".value");
      value.textContent = text;
      value.style.display = text ? "block" : "none";
    }
  }

  /** Lanes that are unfolded and can be read. */
  * read() {
    for (const scaled of this.scaled) {
      const lane = scaled.closest(".lane");
      if (scaled.dataset.read && lane && lane.getClientRects().length) yield [lane, scaled];
    }
  }

  /** What the lanes say at the cursor, in words. */
  said() {
    return [...this.read()]
      .map(([lane, scaled]) => [lane.querySelector(".label").firstChild.textContent, READERS[scaled.dataset.read](scaled, this.at)])
      .filter(([, text]) => text)
      .map(([label, text]) => `${label}: ${text}`);
  }

  /** Show the surroundings of a run time, with the cursor on it. */
  jump(ns) {
    const at = Math.min(UNITS - 1, ns / this.end * UNITS), wide = Math.min(UNITS, Math.max(SMALLEST, 4e9 / this.end * UNITS));
    this.show(at - wide / 2, at + wide / 2);
    this.element.scrollIntoView({ block: "start" });
    this.point(at);
    this.lanes.focus({ preventScroll: true });
  }
}

const timelines = [...document.querySelectorAll(".timeline")].map(element => new Timeline(element));

document.addEventListener("click", async event => {
  const at = event.target.closest("button.at"), copy = event.target.closest("button.copy");
  if (at && timelines.length) timelines[0].jump(+at.dataset.at);
  if (copy) {
    const text = copy.parentElement.querySelector("pre");
    try {
      await navigator.clipboard.writeText(text.textContent);
      copy.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(text); // the reader copies it
      copy.textContent = "Selected";
    }
    setTimeout(() => { copy.textContent = "Copy"; }, 2000);
  }
});

const THEMES = ["system", "light", "dark"];

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  document.querySelector("#theme b").textContent = theme;
  try { localStorage.setItem("highwater-theme", theme); } catch { /* a browser that keeps nothing for files */ }
}

document.querySelector("#theme").addEventListener("click", () => {
  const now = document.documentElement.dataset.theme || "system";
  setTheme(THEMES[(THEMES.indexOf(now) + 1) % THEMES.length]);
});
try {
  const kept = localStorage.getItem("highwater-theme");
  if (THEMES.includes(kept)) setTheme(kept);
} catch { /* as above */ }
