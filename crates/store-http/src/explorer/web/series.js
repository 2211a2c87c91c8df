// Series as a line chart.

import { prometheus } from './api.js';
import { byId, counted, element, onSubmit, row, svg } from './dom.js';
import { attempt } from './notice.js';

const POINTS = 240;
const MAX_LINES = 6;
const HEIGHT = 260;
const MARGIN = { top: 10, right: 10, bottom: 24, left: 64 };
const form = byId('query');

/** Loads the names of the series, and draws again what is chosen. */
export async function showSeries() {
  const names = await prometheus('label/__name__/values', {});
  byId('names').replaceChildren(...names.map((name) => element('option', { value: name })));
  if (!form.elements.query.value) {
    byId('drawn').textContent = `${counted(names.length, 'name')} of series.`;
    return;
  }
  await draw();
}

async function draw() {
  const { query, span } = form.elements;
  // Rounded up, so that the samples of this second are drawn.
  const end = Math.ceil(Date.now() / 1000);
  const start = end - Number(span.value);
  const step = Math.max(Math.ceil((end - start) / POINTS), 1);
  const { result } = await prometheus('query_range', { query: query.value, start, end, step });
  const all = result.map(({ metric, values }) => ({ name: nameOf(metric), points: pointsOf(values) }));
  const lines = all.filter(({ points }) => points.length > 0);
  const drawn = lines.slice(0, MAX_LINES);
  byId('drawn').textContent = lines.length > drawn.length
    ? `${drawn.length} of ${lines.length} series are drawn.`
    : `${lines.length || 'No'} series.`;
  byId('chart').replaceChildren(...(drawn.length ? [chart(drawn, start, end, 3 * step)] : []));
  byId('legend').replaceChildren(
    ...drawn.map(({ name, points }, index) => {
      const key = element('span', { className: `key key-${index}` }, name);
      return row(key, shortened(points.at(-1)[1]));
    }),
  );
}

function nameOf({ __name__, ...labels }) {
  const pairs = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  return `${__name__ ?? ''}${pairs.length || !__name__ ? `{${pairs.join(', ')}}` : ''}`;
}

/** Values such as NaN are left out. */
const pointsOf = (values) =>
  values.map(([time, text]) => [time, Number(text)]).filter(([, value]) => Number.isFinite(value));

/** Lines with gaps where points are further apart than `gap`. */
function chart(lines, start, end, gap) {
  const width = Math.max(byId('chart').clientWidth, 280);
  const values = lines.flatMap(({ points }) => points.map(([, value]) => value));
  const [lowest, highest] = [Math.min(...values, 0), Math.max(...values, 0)];
  const range = highest - lowest || 1;
  const x = (time) => MARGIN.left + ((time - start) / (end - start)) * (width - MARGIN.left - MARGIN.right);
  const y = (value) =>
    HEIGHT - MARGIN.bottom - ((value - lowest) / range) * (HEIGHT - MARGIN.top - MARGIN.bottom);
  const path = (points) => points
    .map(([time, value], index) => {
      const follows = index > 0 && time - points[index - 1][0] <= gap;
      const point = `${x(time).toFixed(1)} ${y(value).toFixed(1)}`;
      // A point alone is a dot.
      return follows ? `L${point}` : `M${point}h0`;
    })
    .join('');
  const ticks = [0, 1, 2, 3, 4].map((tick) => lowest + (tick / 4) * range);
  const across = { x1: MARGIN.left, x2: width - MARGIN.right };
  const label = `${lines.map(({ name }) => name).join(', ')} from ${timeOf(start)} to ${timeOf(end)}`;
  return svg(
    'svg',
    { viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT, role: 'img', 'aria-label': label },
    ...ticks.flatMap((tick) => [
      svg('line', { ...across, y1: y(tick), y2: y(tick), class: 'grid' }),
      svg('text', { x: MARGIN.left - 6, y: y(tick) + 4, 'text-anchor': 'end' }, shortened(tick)),
    ]),
    svg('text', { x: MARGIN.left, y: HEIGHT - 6 }, timeOf(start)),
    svg('text', { x: width - MARGIN.right, y: HEIGHT - 6, 'text-anchor': 'end' }, timeOf(end)),
    ...lines.map(({ points }, index) => svg('path', { class: `line line-${index}`, d: path(points) })),
  );
}

const timeOf = (seconds) => new Date(seconds * 1000).toLocaleString([], { dateStyle: 'short', timeStyle: 'short' });

const shortened = (value) => {
  const size = Math.abs(value);
  const [divisor, unit] = size >= 1e9 ? [1e9, 'G'] : size >= 1e6 ? [1e6, 'M'] : size >= 1e4 ? [1e3, 'k'] : [1, ''];
  return `${Number((value / divisor).toPrecision(4))}${unit}`;
};

onSubmit(form, () => attempt(draw));
