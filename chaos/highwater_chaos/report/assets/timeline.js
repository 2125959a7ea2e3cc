// The timeline: zoom, move, and a readout of what is at the pointer.
//
// Tracks are drawn in percentages of the run, so the page zooms by one number, the width of all tracks, and moves by
// scrolling. Curves have values as coordinates, from which the readout takes them.
"use strict";

(() => {
  /** Pixels that all tracks are wide at most. Beyond it browsers draw with too few digits. */
  const WIDEST = 4e6;
  /** Pixels that a drag must cross before it is no click. */
  const DRAG = 5;
  /** Pixels between two ticks of the axis, at least. */
  const APART = 90;
  const STEPS = [1, 2, 5];
  /** Pixels of a letter in a track, about. */
  const LETTER = 6.3;

  /** @typedef {{x: number, width: number, text: string, label: SVGTextElement | null, element: SVGSVGElement}} Span
   *  Percentages of the run, and what it says. */
  /** @typedef {{name: string, xs: number[], values: (number | null)[]}} Curve  In units of its track. */

  /** @param {number} ns @param {number} [within] The time that is in sight: what more digits would not tell apart. */
  function seconds(ns, within = 0) {
    const digits = within > 0 && within < 2e6 ? 6 : within > 0 && within < 2e9 ? 4 : 3;
    return `${(ns / 1e9).toFixed(digits)} s`;
  }

  /** @param {string} path @returns {{xs: number[], values: (number | null)[]}} What a curve's path holds. */
  function read(path) {
    const xs = [], values = [];
    let x = 0, y = 0, end = 0;
    for (const [, command, rest] of path.matchAll(/([MLhvVZ])([^MLhvVZ]*)/g)) {
      const numbers = rest.trim().split(/\s+/).map(Number);
      if (command === "M" || command === "L") {
        if (xs.length > 0 && numbers[0] > end) xs.push(end), values.push(null);
        [x, y] = numbers;
        xs.push(x), values.push(-y);
      } else if (command === "h") {
        x += numbers[0];
        end = x;
      } else if (command === "v") {
        y += numbers[0];
        if (xs[xs.length - 1] === x) values[values.length - 1] = -y;
        else xs.push(x), values.push(-y);
      }
    }
    return { xs, values };
  }

  /** @param {number[]} xs Ascending. @param {number} x @returns {number} The last index whose value is at most x; -1: none. */
  function before(xs, x) {
    let low = 0, high = xs.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (xs[middle] <= x) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  class Timeline {
    /** @param {HTMLElement} section */
    constructor(section) {
      /** @param {string} selector */
      const find = selector => /** @type {HTMLElement} */ (section.querySelector(selector));
      this.section = section;
      this.scroller = find(".scroller");
      this.wide = find(".wide");
      this.cursor = find(".cursor");
      this.chosen = find(".chosen");
      this.readout = find(".readout");
      this.range = find(".range");
      this.axis = /** @type {SVGSVGElement} */ (/** @type {unknown} */ (find(".axis .plot")));
      this.end = Number(section.dataset.end);
      this.zoom = 1;
      /** @type {Map<Element, Span[]>} */
      this.spans = new Map();
      /** @type {Map<Element, Curve[]>} */
      this.curves = new Map();
      this.due = false;
      this.dragged = false;
      /** Is called when another part of the run is in sight. */
      this.changed = () => {};
      /** Is called when that part has stayed for a while. */
      this.moved = () => {};
      this.noting = 0;
      find(".tools").hidden = false;
      this.listen(find(".tools"));
      this.update();
    }

    /** Where tracks begin, in pixels of the scroller. */
    get left() {
      return this.axis.getBoundingClientRect().left - this.wide.getBoundingClientRect().left;
    }

    /** The width in which tracks are seen. */
    get room() {
      return this.scroller.clientWidth - this.left;
    }

    /** The run time in sight, as shares of the run. */
    get sight() {
      const from = this.scroller.scrollLeft / (this.room * this.zoom);
      return { from, to: from + 1 / this.zoom };
    }

    /** @param {number} clientX @returns {number} The share of the run there. */
    shareAt(clientX) {
      const box = this.axis.getBoundingClientRect();
      return Math.min(1, Math.max(0, (clientX - box.left) / box.width));
    }

    /** Show a part of the run. @param {number} from @param {number} to As shares of the run. */
    show(from, to) {
      const closest = Math.max(1, Math.min(WIDEST / this.room, this.end / 1e4));
      this.zoom = Math.min(closest, Math.max(1, 1 / Math.max(to - from, 1e-12)));
      this.wide.style.setProperty("--zoom", String(this.zoom));
      // In the middle, if it cannot be shown as large as asked for.
      const middle = (from + to) / 2;
      this.scroller.scrollLeft = (middle - 0.5 / this.zoom) * this.room * this.zoom;
      this.soon();
    }

    /** @param {number} factor @param {number} at The share of the run that stays where it is. */
    zoomBy(factor, at) {
      const { from, to } = this.sight;
      const width = Math.min(1, (to - from) / factor);
      const start = Math.min(1 - width, Math.max(0, at - ((at - from) * width) / (to - from)));
      this.show(start, start + width);
    }

    /** Show an instant, with some time about it. @param {number} ns */
    showInstant(ns) {
      const at = ns / this.end, half = Math.min(0.5, Math.max(0.01, 5e8 / this.end));
      this.show(at - half, at + half);
      this.placeCursor(at);
      this.section.scrollIntoView({ block: "nearest" });
      this.scroller.focus({ preventScroll: true });
    }

    /** @param {number} share */
    placeCursor(share) {
      this.cursor.hidden = false;
      this.cursor.style.left = `${this.left + share * this.room * this.zoom}px`;
    }

    /** @param {HTMLElement} tools */
    listen(tools) {
      tools.addEventListener("click", event => {
        const button = /** @type {HTMLElement | null} */ (/** @type {Element} */ (event.target).closest("[data-do]"));
        if (button) this.act(button.dataset.do ?? "");
      });
      this.scroller.addEventListener("keydown", event => this.key(event));
      this.scroller.addEventListener("wheel", event => {
        if (!event.ctrlKey && !event.metaKey) return;
        event.preventDefault();
        this.zoomBy(Math.exp(-event.deltaY * 0.003), this.shareAt(event.clientX));
      }, { passive: false });
      this.scroller.addEventListener("scroll", () => this.soon());
      this.scroller.addEventListener("pointerdown", event => {
        this.dragged = false;
        this.drag(event);
      });
      this.scroller.addEventListener("click", event => {
        if (this.dragged && event.detail > 0) event.preventDefault(); // a drag does not fold a track
      });
      this.scroller.addEventListener("dblclick", event => {
        if (this.plotOf(event)) this.show(0, 1);
      });
      this.scroller.addEventListener("pointermove", event => this.hover(event));
      this.scroller.addEventListener("pointerleave", () => {
        this.readout.hidden = this.cursor.hidden = true;
      });
      this.section.addEventListener("toggle", () => this.soon(), true);
      addEventListener("resize", () => this.soon());
    }

    /** @param {string} what */
    act(what) {
      const { from, to } = this.sight;
      if (what === "in") this.zoomBy(2, (from + to) / 2);
      if (what === "out") this.zoomBy(0.5, (from + to) / 2);
      if (what === "reset") this.show(0, 1);
      if (what === "fold" || what === "unfold") {
        this.section.querySelectorAll("details").forEach(one => (one.open = what === "unfold"));
      }
    }

    /** @param {KeyboardEvent} event */
    key(event) {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const step = this.room / 5;
      const acts = {
        "+": () => this.act("in"),
        "=": () => this.act("in"),
        "-": () => this.act("out"),
        0: () => this.act("reset"),
        ArrowLeft: () => (this.scroller.scrollLeft -= step),
        ArrowRight: () => (this.scroller.scrollLeft += step),
        Home: () => (this.scroller.scrollLeft = 0),
        End: () => (this.scroller.scrollLeft = this.room * this.zoom),
      };
      const act = acts[/** @type {keyof typeof acts} */ (event.key)];
      if (!act) return;
      event.preventDefault();
      act();
    }

    /** @param {Event} event @returns {Element | null} The track that the pointer is on. */
    plotOf(event) {
      const target = /** @type {Element} */ (event.target);
      const row = target.closest(".row");
      return row && !target.closest(".label") ? row.querySelector(".plot") : null;
    }

    /** Choose a part of the run by dragging, or move with Shift held. @param {PointerEvent} down */
    drag(down) {
      if (down.button !== 0 || down.pointerType === "touch" || !this.plotOf(down)) return;
      const start = this.shareAt(down.clientX), scrolled = this.scroller.scrollLeft;
      let dragged = false;
      /** @param {PointerEvent} event */
      const move = event => {
        dragged ||= Math.abs(event.clientX - down.clientX) > DRAG;
        if (!dragged) return;
        if (down.shiftKey) this.scroller.scrollLeft = scrolled + down.clientX - event.clientX;
        else this.choose(start, this.shareAt(event.clientX));
      };
      /** @param {PointerEvent} event */
      const end = event => {
        removeEventListener("pointermove", move);
        removeEventListener("pointerup", end);
        removeEventListener("pointercancel", end);
        this.chosen.hidden = true;
        if (!dragged) return;
        this.dragged = true;
        if (down.shiftKey || event.type === "pointercancel") return;
        const stop = this.shareAt(event.clientX);
        this.show(Math.min(start, stop), Math.max(start, stop));
      };
      addEventListener("pointermove", move);
      addEventListener("pointerup", end);
      addEventListener("pointercancel", end);
      down.preventDefault();
      this.scroller.focus({ preventScroll: true });
    }

    /** @param {number} one @param {number} other */
    choose(one, other) {
      const width = this.room * this.zoom;
      this.chosen.hidden = false;
      this.chosen.style.left = `${this.left + Math.min(one, other) * width}px`;
      this.chosen.style.width = `${Math.abs(one - other) * width}px`;
    }

    /** @param {PointerEvent} event */
    hover(event) {
      const plot = this.plotOf(event);
      this.readout.hidden = !plot;
      if (!plot) {
        this.cursor.hidden = true;
        return;
      }
      const share = this.shareAt(event.clientX);
      this.placeCursor(share);
      const { from, to } = this.sight;
      const label = plot.closest(".row")?.querySelector(".label")?.firstChild?.textContent ?? "";
      const lines = [...this.said(plot, share, event.clientY), ...this.values(plot, share)];
      const title = document.createElement("b");
      title.textContent = `${seconds(share * this.end, (to - from) * this.end)}${label ? ` · ${label}` : ""}`;
      this.readout.replaceChildren(title, ...lines.map(text => {
        const line = document.createElement("span");
        line.textContent = text;
        return line;
      }));
      const box = this.readout.getBoundingClientRect();
      const right = event.clientX + 16 + box.width < innerWidth;
      const below = event.clientY + 16 + box.height < innerHeight;
      this.readout.style.left = `${Math.max(4, right ? event.clientX + 16 : event.clientX - 12 - box.width)}px`;
      this.readout.style.top = `${Math.max(4, below ? event.clientY + 16 : event.clientY - 12 - box.height)}px`;
    }

    /** @param {Element} plot @param {number} share @param {number} clientY @returns {string[]} Spans and marks there. */
    said(plot, share, clientY) {
      const slack = 4 / (this.room * this.zoom);
      return this.spansOf(plot)
        .filter(one => {
          const start = one.x / 100, end = (one.x + one.width) / 100;
          if (share < start - slack || share > Math.max(end, start + slack)) return false;
          const box = (one.element.firstElementChild ?? one.element).getBoundingClientRect();
          return !plot.classList.contains("faults") || (clientY >= box.top - 2 && clientY <= box.bottom + 2);
        })
        .slice(0, 8)
        .map(one => {
          const start = (one.x / 100) * this.end;
          if (one.width === 0) return `${one.text}, at ${seconds(start)}`;
          return `${one.text} (${seconds(start)} to ${seconds(start + (one.width / 100) * this.end)})`;
        });
    }

    /** @param {Element} plot @param {number} share @returns {string[]} The values of its curves there. */
    values(plot, share) {
      const units = plot.querySelector("svg.c")?.getAttribute("viewBox")?.split(" ")[2];
      return this.curvesOf(plot).map(({ name, xs, values }) => {
        const index = before(xs, share * Number(units)), value = index < 0 ? null : values[index];
        return `${name}: ${value === null ? "none" : value.toLocaleString("en", { maximumFractionDigits: 3 })}`;
      });
    }

    /** @param {Element} plot @returns {Span[]} */
    spansOf(plot) {
      let spans = this.spans.get(plot);
      if (!spans) {
        spans = [...plot.querySelectorAll("svg.s, svg.m")].map(found => {
          const element = /** @type {SVGSVGElement} */ (found), title = element.querySelector("title");
          const text = title?.textContent ?? "";
          title?.remove(); // the readout says it
          const label = element.querySelector("text");
          const width = parseFloat(element.getAttribute("width") ?? "0");
          return { x: parseFloat(element.getAttribute("x") ?? "0"), width, text, label, element };
        });
        this.spans.set(plot, spans);
      }
      return spans;
    }

    /** @param {Element} plot @returns {Curve[]} */
    curvesOf(plot) {
      let curves = this.curves.get(plot);
      if (!curves) {
        curves = [...plot.querySelectorAll("path[data-name]")].map(path => {
          return { name: path.getAttribute("data-name") ?? "", ...read(path.getAttribute("d") ?? "") };
        });
        this.curves.set(plot, curves);
      }
      return curves;
    }

    /** Draw again what depends on the part in sight, once a frame. */
    soon() {
      if (this.due) return;
      this.due = true;
      requestAnimationFrame(() => {
        this.due = false;
        this.update();
        this.changed();
        clearTimeout(this.noting);
        this.noting = setTimeout(() => this.moved(), 200);
      });
    }

    update() {
      const { from, to } = this.sight;
      this.range.textContent = this.zoom === 1
        ? `whole run, ${seconds(this.end)}`
        : `${seconds(from * this.end, (to - from) * this.end)} to ${seconds(Math.min(1, to) * this.end, (to - from) * this.end)}`;
      this.drawTicks(from, to);
      const top = this.scroller.getBoundingClientRect();
      for (const plot of this.wide.querySelectorAll(".row:not(.axis) > .plot")) {
        if (!plot.checkVisibility()) continue;
        const box = plot.getBoundingClientRect();
        if (box.bottom >= top.top && box.top <= top.bottom) this.placeTexts(plot, from, to);
      }
    }

    /** Put a span's text to where the span comes into sight; leave it out where there is no room.
     * @param {Element} plot @param {number} from @param {number} to */
    placeTexts(plot, from, to) {
      const width = this.room * this.zoom;
      if (plot.classList.contains("faults")) {
        this.placeFaultTexts(plot, from, to, width);
        return;
      }
      for (const one of this.spansOf(plot)) {
        if (one.width === 0) continue;
        const start = Math.max(one.x / 100, from), end = Math.min((one.x + one.width) / 100, to);
        const fits = end > start && (end - start) * width > LETTER * one.text.length + 6;
        if (fits && !one.label) {
          one.label = document.createElementNS("http://www.w3.org/2000/svg", "text");
          one.label.textContent = one.text;
          one.label.setAttribute("y", "11");
          one.element.append(one.label);
        }
        if (!one.label) continue;
        one.label.setAttribute("visibility", fits ? "visible" : "hidden");
        if (fits) one.label.setAttribute("x", String((start - one.x / 100) * width + 4));
      }
    }

    /** The text of a fault may run on behind the fault, up to the next text of its line, or stand before it.
     * @param {Element} plot @param {number} from @param {number} to @param {number} width */
    placeFaultTexts(plot, from, to, width) {
      /** @type {Map<string, number>} Where each line is free, in pixels of all tracks. */
      const free = new Map();
      for (const one of this.spansOf(plot).filter(one => one.label).sort((a, b) => a.x - b.x)) {
        const line = one.element.getAttribute("y") ?? "0", label = /** @type {SVGTextElement} */ (one.label);
        const x = (one.x / 100) * width, end = ((one.x + one.width) / 100) * width;
        const length = LETTER * (label.textContent ?? "").length + 6;
        const start = Math.min(Math.max(x, from * width), to * width - length) + 4;
        const inSight = end >= from * width && x <= to * width;
        const fits = inSight && start >= (free.get(line) ?? -Infinity);
        label.setAttribute("visibility", fits ? "visible" : "hidden");
        if (!fits) continue;
        label.setAttribute("x", String(start - x));
        free.set(line, start + length);
      }
    }

    /** @param {number} from @param {number} to */
    drawTicks(from, to) {
      const rough = ((to - from) * this.end * APART) / this.room;
      const power = 10 ** Math.floor(Math.log10(rough));
      const step = power * (STEPS.find(one => one * power >= rough) ?? 10);
      const digits = Math.max(0, -Math.floor(Math.log10(step / 1e9) + 1e-9));
      const ticks = [];
      for (let index = Math.ceil((from * this.end) / step); index * step <= Math.min(1, to) * this.end; index++) {
        const text = document.createElementNS("http://www.w3.org/2000/svg", "text");
        text.setAttribute("x", `${((index * step) / this.end) * 100}%`);
        text.setAttribute("y", "12");
        if (index === 0) text.setAttribute("class", "first");
        text.textContent = `${((index * step) / 1e9).toFixed(digits)} s`;
        ticks.push(text);
      }
      this.axis.replaceChildren(...ticks);
    }
  }

  /** Let several timelines, of runs that are compared, show the same time. @param {Timeline[]} views */
  function together(views) {
    /** @type {Timeline | null} The one that leads: where the pointer or the focus was last. */
    let leader = null;
    for (const view of views) {
      for (const kind of ["pointerdown", "wheel", "focusin", "pointerenter"]) {
        view.section.addEventListener(kind, () => (leader = view), { passive: true });
      }
      view.changed = () => {
        if (leader !== view) return;
        const { from, to } = view.sight;
        const others = views.filter(other => other !== view);
        others.forEach(other => other.show((from * view.end) / other.end, (to * view.end) / other.end));
      };
    }
  }

  /** Keep the part in sight in the address, as #t=FROM,TO in seconds, so that a link shows it. @param {Timeline[]} views */
  function keepInAddress(views) {
    const go = () => {
      const [, from, to] = /^#t=(\d+(?:\.\d+)?),(\d+(?:\.\d+)?)$/.exec(location.hash) ?? [];
      if (to && Number.isFinite(Number(from)) && Number.isFinite(Number(to))) views.forEach(view => view.show((Number(from) * 1e9) / view.end, (Number(to) * 1e9) / view.end));
    };
    const [first] = views;
    first.moved = () => {
      const { from, to } = first.sight, is = location.hash.startsWith("#t=");
      const [start, stop] = [from, Math.min(1, to)].map(share => Number(((share * first.end) / 1e9).toFixed(6)));
      if (first.zoom > 1) history.replaceState(null, "", `#t=${start},${stop}`);
      else if (is) history.replaceState(null, "", "#");
    };
    addEventListener("hashchange", go);
    go();
  }

  /** Paper has no scrolling: print the whole run, and show the part again after that. @param {Timeline[]} views */
  function printWhole(views) {
    /** @type {{from: number, to: number}[]} */
    let shown = [];
    addEventListener("beforeprint", () => {
      shown = views.map(view => view.sight);
      views.forEach(view => (view.show(0, 1), view.update()));
    });
    addEventListener("afterprint", () => views.forEach((view, index) => view.show(shown[index].from, shown[index].to)));
  }

  const views = [...document.querySelectorAll("section.timeline")].map(section => {
    return new Timeline(/** @type {HTMLElement} */ (section));
  });
  together(views);
  if (views.length > 0) keepInAddress(views), printWhole(views);
  document.addEventListener("click", event => {
    const link = /** @type {HTMLElement | null} */ (/** @type {Element} */ (event.target).closest("a[data-at]"));
    if (!link || views.length === 0) return;
    event.preventDefault();
    views[0].showInstant(Number(link.dataset.at));
  });
})();
