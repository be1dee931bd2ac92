
// Cursor and zoom for the charts of this page, which are whole without it. It reads the data block
// of each figure, moves the view of its picture, and writes labels; it draws no series. Where values
// stand and how they read is in the data, as shares of the axes and as text; it has no rule of its
// own. Text goes into the page as text only.
"use strict";
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const SIDE = 1000;
  // Labels that an axis has room for.
  const MOST = 9;
  const together = new Map();

  const make = (name, attributes, parent) => {
    const element = document.createElementNS(SVG, name);
    for (const key in attributes) element.setAttribute(key, attributes[key]);
    parent.append(element);
    return element;
  };
  const percent = (share) => `${(share * 100).toFixed(2)}%`;

  // ---- One chart. ----

  class Chart {
    constructor(figure) {
      this.data = JSON.parse(figure.querySelector("script").textContent);
      this.figure = figure;
      this.stage = figure.querySelector(".stage");
      this.plot = figure.querySelector(".plot");
      this.picture = figure.querySelector(".picture");
      this.frame = figure.querySelector(".frame");
      this.marks = [...figure.querySelectorAll(".mark")];
      this.boxes = [...figure.querySelectorAll(".legend input")];
      this.group = this.data.together ? together.get(this.data.together) ?? [] : [];
      this.group.push(this);
      if (this.data.together) together.set(this.data.together, this.group);
      this.x = [0, 1];
      this.y = [0, 1];
      this.here = null;
      this.stops = this.data.stops;
      this.prepare();
    }

    prepare() {
      const legend = this.figure.querySelector(".legend");
      this.outputs = this.boxes.map((box) => {
        const output = document.createElement("output");
        box.parentElement.append(output);
        box.addEventListener("change", () => this.look());
        return output;
      });
      this.where = document.createElement("span");
      this.where.className = "here";
      legend.append(this.where);
      this.button = document.createElement("button");
      this.button.type = "button";
      this.button.textContent = "Whole chart";
      this.button.hidden = true;
      this.button.addEventListener("click", () => this.zoom(0, 1));
      legend.append(this.button);
      this.told = document.createElement("p");
      this.told.className = "unseen";
      this.told.setAttribute("role", "status");
      this.stage.append(this.told);
      this.stage.tabIndex = 0;
      this.stage.setAttribute("role", "group");
      this.stage.setAttribute("aria-label", `${this.figure.querySelector("h3").textContent}: arrow keys `
        + "move the cursor, plus and minus zoom, 0 shows the whole chart");
      this.stage.addEventListener("pointermove", (event) => this.moved(event));
      this.stage.addEventListener("pointerleave", () => this.from === undefined && this.point(null));
      this.stage.addEventListener("pointerdown", (event) => this.pressed(event));
      this.stage.addEventListener("pointerup", (event) => this.released(event));
      this.stage.addEventListener("pointercancel", () => this.endRange());
      this.stage.addEventListener("dblclick", () => this.zoom(0, 1));
      this.stage.addEventListener("keydown", (event) => this.key(event));
    }

    shown(n) {
      return this.boxes[n].checked;
    }

    // Where a pointer is, as shares of the whole axes.
    share(event) {
      const box = this.frame.getBoundingClientRect();
      const within = (share) => Math.min(1, Math.max(0, share));
      const x = within((event.clientX - box.left) / box.width);
      const y = within((box.bottom - event.clientY) / box.height);
      return [this.x[0] + x * (this.x[1] - this.x[0]), this.y[0] + y * (this.y[1] - this.y[0])];
    }

    moved(event) {
      const [x, y] = this.share(event);
      if (this.from !== undefined) this.drawRange(x);
      this.point(this.nearest(x), this.cell(x, y));
    }

    pressed(event) {
      if (event.button === 0) {
        [this.from] = this.share(event);
        this.stage.setPointerCapture(event.pointerId);
      }
    }

    released(event) {
      const [to] = this.share(event);
      const [low, high] = [Math.min(this.from ?? to, to), Math.max(this.from ?? to, to)];
      this.endRange();
      if ((high - low) / (this.x[1] - this.x[0]) > 0.02) this.zoom(low, high);
    }

    drawRange(to) {
      this.endRange(this.from);
      const on = (share) => (share - this.x[0]) / (this.x[1] - this.x[0]);
      const [low, high] = [on(Math.min(this.from, to)), on(Math.max(this.from, to))];
      this.range = make("rect", { class: "range", x: percent(low), width: percent(high - low), height: "100%" }, this.plot);
    }

    endRange(from) {
      this.range?.remove();
      this.from = from;
    }

    // The stop there, by its number; null without any.
    nearest(share) {
      const far = (stop) => Math.abs(stop - share);
      return this.stops.reduce((best, stop, n) => best === null || far(stop) < far(this.stops[best]) ? n : best, null);
    }

    // What the heat map has at a place.
    cell(x, y) {
      const heat = this.data.heat;
      const column = heat?.columns[Math.floor((x - heat.from) / heat.width)];
      if (column === undefined) return null;
      const rows = heat.edges.length - 1;
      const row = Math.min(rows - 1, Math.floor(y * rows));
      return `${heat.edges[row]} to ${heat.edges[row + 1]}: ${heat.levels[column[row]] ?? "none"}`;
    }

    key(event) {
      const [low, high] = this.x;
      const seen = [...this.stops.keys()].filter((n) => this.stops[n] >= low - 1e-5 && this.stops[n] <= high + 1e-5);
      const now = seen.indexOf(this.here);
      const by = event.shiftKey ? 10 : 1;
      const go = (n) => this.point(seen[Math.min(seen.length - 1, Math.max(0, n))] ?? null, null, true);
      const around = this.here === null ? (low + high) / 2 : this.stops[this.here];
      const scale = (factor) => this.zoom(around - (around - low) * factor, around + (high - around) * factor);
      const keys = {
        ArrowRight: () => go(now + by),
        ArrowLeft: () => go(now < 0 ? seen.length - 1 : now - by),
        Home: () => go(0),
        End: () => go(seen.length - 1),
        "+": () => scale(0.5),
        "=": () => scale(0.5),
        "-": () => scale(2),
        0: () => this.zoom(0, 1),
        Escape: () => this.zoom(0, 1),
      };
      const act = !event.ctrlKey && !event.metaKey && !event.altKey && keys[event.key];
      if (act) {
        event.preventDefault();
        act();
      }
    }

    point(stop, cell, tell) {
      for (const one of this.group) one.show(stop === null ? null : one.nearest(this.stops[stop]), one === this ? cell : null);
      if (tell) this.told.textContent = this.readout;
    }

    show(stop, cell) {
      this.here = stop;
      this.cell_ = cell ?? null;
      this.cursor?.remove();
      this.cursor = null;
      const { x, names, series } = this.data;
      const name = stop === null ? "" : names[stop];
      this.where.textContent = this.cell_ ? `${name} · ${this.cell_}` : name;
      this.readout = `${x.name} ${this.where.textContent}`;
      this.outputs.forEach((output) => { output.textContent = ""; });
      if (stop === null) return;
      const across = (this.stops[stop] - this.x[0]) / (this.x[1] - this.x[0]);
      this.cursor = make("g", {}, this.plot);
      make("line", { class: "cursor", x1: percent(across), x2: percent(across), y1: 0, y2: "100%" }, this.cursor);
      series.forEach((one, n) => {
        const found = one.at[stop];
        if (found === null || !this.shown(n)) return;
        this.outputs[n].textContent = one.labels[stop];
        this.readout += `, ${one.name} ${one.labels[stop]}`;
        const up = (found - this.y[0]) / (this.y[1] - this.y[0]);
        if (up < 0 || up > 1) return;
        const colour = this.picture.querySelector(`.${this.boxes[n].className.replace("k", "s")}`);
        make("circle", { class: "spot", fill: getComputedStyle(colour).stroke, cx: percent(across), cy: percent(1 - up), r: 4.5 }, this.cursor);
      });
    }

    zoom(low, high) {
      const length = Math.min(1, Math.max(high - low, 1e-3));
      const from = Math.min(1 - length, Math.max(0, low));
      for (const one of this.group) {
        one.x = [from, from + length];
        one.look();
      }
    }

    // Shows what the view has come to.
    look() {
      const whole = this.x[1] - this.x[0] > 1 - 1e-9;
      this.button.hidden = whole;
      this.y = whole || this.data.heat ? [0, 1] : this.fitting();
      const [x0, x1] = this.x;
      const [y0, y1] = this.y;
      this.picture.setAttribute("viewBox", [x0 * SIDE, (1 - y1) * SIDE, (x1 - x0) * SIDE, (y1 - y0) * SIDE].join(" "));
      this.ticks(".gx", this.data.x, this.x, true);
      this.ticks(".gy", this.data.y, this.y, false);
      for (const mark of this.marks) {
        const up = mark.dataset.x !== undefined;
        const share = up ? (mark.dataset.x - x0) / (x1 - x0) : 1 - (mark.dataset.y - y0) / (y1 - y0);
        mark.setAttribute("display", share < 0 || share > 1 ? "none" : "inline");
        const [line, text] = mark.children;
        for (const key of up ? ["x1", "x2"] : ["y1", "y2"]) line.setAttribute(key, percent(share));
        text.setAttribute(up ? "x" : "y", percent(share));
      }
      this.show(this.here, this.cell_);
    }

    // The part of the y axis that what is seen takes up.
    fitting() {
      const { y, series } = this.data;
      const seen = series.flatMap((one, n) => one.at.filter((found, stop) =>
        this.shown(n) && found !== null && this.stops[stop] >= this.x[0] && this.stops[stop] <= this.x[1]));
      if (seen.length === 0) return [0, 1];
      const low = y.zero ? 0 : Math.min(...seen);
      const high = Math.max(...seen);
      const room = Math.max((high - low) * 0.08, 0.02);
      return [y.zero ? 0 : Math.max(0, low - room), Math.min(1, high + room)];
    }

    // As many ranks of ticks as there is room for; on the whole axis as many as it is drawn with.
    ticks(place, axis, [from, to], up) {
      const group = this.figure.querySelector(place);
      group.replaceChildren();
      const inside = axis.ticks.filter(([at]) => at >= from - 1e-5 && at <= to + 1e-5);
      let rank = 1;
      while (to - from < 1 && rank < 9 && inside.filter((one) => one[2] <= rank + 1).length <= MOST) rank++;
      for (const [at, label, own] of inside.filter((one) => one[2] <= rank)) {
        const share = (at - from) / (to - from);
        const on = percent(up ? share : 1 - share);
        const tick = make("g", { class: own > 0 && own === rank ? "minor" : "major" }, group);
        make("line", up ? { x1: on, x2: on, y1: 0, y2: "100%" } : { x1: 0, x2: "100%", y1: on, y2: on }, tick);
        const text = make("text", up ? { x: on, y: "100%", dy: 18 } : { x: -8, y: on, dy: 4 }, tick);
        text.textContent = label;
        if (text.getBoundingClientRect().right > document.documentElement.clientWidth) text.setAttribute("class", "before");
      }
    }
  }

  for (const figure of document.querySelectorAll("figure.chart")) new Chart(figure);
})();
