// Line charts of the server's own series, drawn as SVG.

import { get } from './api.js';
import { byId, element, svg } from './dom.js';
import { CHARTS } from './metrics.js';

const SPAN_S = 120;
const STEP_S = 1;
const EVERY_MS = 2000;
const HEIGHT = 180;
const MARGIN = { top: 10, right: 8, bottom: 22, left: 44 };

const figures = CHARTS.map((chart) => {
  const drawing = element('div', { className: 'drawing' });
  const legend = element('figcaption');
  byId('charts').append(element('figure', {}, element('h3', {}, chart.title), drawing, legend));
  return { ...chart, drawing, legend };
});

/** Draws the charts periodically while the page is visible. */
export function keepDrawing() {
  const update = async () => {
    if (!document.hidden) await Promise.all(figures.map(show));
    setTimeout(update, EVERY_MS);
  };
  update();
}

async function show(figure) {
  const end = Math.floor(Date.now() / 1000);
  const window = { start: end - SPAN_S, end, step: STEP_S };
  try {
    const lines = await Promise.all(
      figure.lines.map(async ({ name, query }) => {
        const { data } = await get('/api/v1/query_range', { query, ...window });
        return { name, points: points(data.result[0]?.values ?? []) };
      }),
    );
    draw(figure, lines, window);
  } catch (failed) {
    figure.legend.textContent = `No measurements: ${failed.message}.`;
  }
}

/** The points of a Prometheus response. Values such as NaN are left out. */
const points = (values) =>
  values.map(([time, text]) => [time, Number(text)]).filter(([, value]) => Number.isFinite(value));

function draw({ title, unit, drawing, legend }, lines, { start, end }) {
  const width = Math.max(drawing.clientWidth, 200);
  const highest = Math.max(...lines.flatMap(({ points }) => points.map(([, value]) => value)), 0);
  const ticks = ticksTo(highest);
  const top = ticks.at(-1);
  const x = (time) =>
    MARGIN.left + ((time - start) / (end - start)) * (width - MARGIN.left - MARGIN.right);
  const y = (value) => HEIGHT - MARGIN.bottom - (value / top) * (HEIGHT - MARGIN.top - MARGIN.bottom);
  const latest = lines.map(({ name, points }) => {
    const value = points.at(-1)?.[1];
    return `${name} ${value === undefined ? 'no data' : shortened(value) + unit}`;
  });
  const label = `${title}, the last two minutes. Now: ${latest.join(', ')}.`;
  const across = { x1: MARGIN.left, x2: width - MARGIN.right };
  drawing.replaceChildren(
    svg(
      'svg',
      { viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT, role: 'img', 'aria-label': label },
      ...ticks.flatMap((tick) => [
        svg('line', { ...across, y1: y(tick), y2: y(tick), class: 'grid' }),
        svg('text', { x: MARGIN.left - 6, y: y(tick) + 4, 'text-anchor': 'end' }, shortened(tick)),
      ]),
      svg('text', { x: MARGIN.left, y: HEIGHT - 5 }, '2 min ago'),
      svg('text', { x: width - MARGIN.right, y: HEIGHT - 5, 'text-anchor': 'end' }, 'now'),
      ...lines.map(({ points }, index) =>
        svg('path', { class: `line line-${index}`, d: path(points, x, y) }),
      ),
    ),
  );
  legend.replaceChildren(
    ...latest.map((text, index) => element('span', { className: `key key-${index}` }, text)),
  );
}

/** A line through the points, with gaps at missing points. */
function path(points, x, y) {
  return points
    .map(([time, value], index) => {
      const follows = index > 0 && time - points[index - 1][0] <= 3 * STEP_S;
      return `${follows ? 'L' : 'M'}${x(time).toFixed(1)} ${y(value).toFixed(1)}`;
    })
    .join('');
}

/** Four ticks from 0 in equal steps of 1, 2 or 5 times a power of ten. The last is at least `highest`. */
function ticksTo(highest) {
  const rough = (highest || 1) / 3;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= rough);
  return [0, 1, 2, 3].map((count) => count * step);
}

function shortened(value) {
  if (value >= 10_000) return `${Number((value / 1000).toPrecision(3))}k`;
  return String(Number(value.toPrecision(3)));
}
