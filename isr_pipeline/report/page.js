// Draws the charts in the colours of the reader's scheme, and again when it changes.
(function () {
  "use strict";
  const charts = JSON.parse(document.getElementById("charts").textContent);
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const narrow = window.matchMedia("(max-width: 600px)");
  const still = { responsive: true, displayModeBar: false, scrollZoom: false };

  function coloured(value, style) {
    if (typeof value === "string") {
      const named = /^var\((--[a-z0-9-]+)\)$/.exec(value);
      return named ? style.getPropertyValue(named[1]).trim() : value;
    }
    if (Array.isArray(value)) { return value.map((one) => coloured(one, style)); }
    if (value && typeof value === "object") {
      const copy = {};
      for (const key of Object.keys(value)) { copy[key] = coloured(value[key], style); }
      return copy;
    }
    return value;
  }

  function axis(given, style) {
    return Object.assign({
      gridcolor: style.getPropertyValue("--rule").trim(), zeroline: false, fixedrange: true,
      linecolor: style.getPropertyValue("--rule").trim(), automargin: true,
    }, given);
  }

  // Long names would leave a phone no room for the chart; hovering still gives them whole.
  function shorten(yaxis, traces) {
    const names = [...new Set(traces.flatMap((trace) => trace.y || []))];
    if (yaxis.type !== "category" || !names.some((name) => String(name).length > 20)) { return; }
    yaxis.tickvals = names;
    yaxis.ticktext = names.map((name) => {
      const text = String(name);
      return text.length > 20 ? text.slice(0, 7) + "…" + text.slice(-12) : text;
    });
  }

  function draw(id) {
    const element = document.getElementById(id);
    const style = getComputedStyle(document.documentElement);
    const chart = coloured(charts[id], style);
    const layout = Object.assign({
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", autosize: true,
      font: { family: "system-ui, sans-serif", size: narrow.matches ? 11 : 13,
              color: style.getPropertyValue("--ink").trim() },
      margin: { l: 54, r: 12, t: 12, b: 48 },
      legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0 },
    }, chart.layout);
    layout.xaxis = axis(chart.layout.xaxis, style);
    layout.yaxis = axis(chart.layout.yaxis, style);
    if (narrow.matches) {
      shorten(layout.yaxis, chart.data);
      for (const trace of chart.data) { if (trace.colorbar) { trace.showscale = false; } }
    }
    Plotly.react(element, chart.data, layout, still);
  }

  function drawAll() { Object.keys(charts).forEach(draw); }
  drawAll();
  dark.addEventListener("change", drawAll);
  narrow.addEventListener("change", drawAll);
}());
