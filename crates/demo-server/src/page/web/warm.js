// Warm and cold decisions, side by side.

import { post, Refusal } from './api.js';
import { byId, counted, element } from './dom.js';

const form = byId('warm');
const message = byId('sold');

const whole = (number) => Math.round(number).toLocaleString('en');

/** Shows the result of a side. `most` is the greater rate, which fills its bar. */
function show(kind, { decisionsPerSecond, readsPerSecond, reads, durationMs }, most) {
  const side = byId(kind);
  const bar = side.querySelector('meter');
  bar.max = most;
  bar.value = decisionsPerSecond;
  side.querySelector('.verdict').textContent = `${whole(decisionsPerSecond)} decisions/s`;
  const rows = [
    ['Reads a second', whole(readsPerSecond)],
    ['Reads', reads.toLocaleString('en')],
    ['Time', `${whole(durationMs)} ms`],
  ];
  side.querySelector('dl').replaceChildren(
    ...rows.map(([name, value]) =>
      element('div', {}, element('dt', {}, name), element('dd', {}, value)),
    ),
  );
}

function summary({ decisions, sold, cold, warm }) {
  return (
    `${counted(decisions, 'decision')} after ${counted(sold, 'event')}. ` +
    `Cold: ${counted(cold.reads, 'read')}. Warm: ${counted(warm.reads, 'read')}.`
  );
}

form.addEventListener('submit', async (submitted) => {
  submitted.preventDefault();
  if (form.ariaBusy === 'true') return;
  const { sold, decisions } = form.elements;
  form.ariaBusy = 'true';
  message.className = '';
  message.textContent = 'Deciding …';
  try {
    const size = { sold: sold.valueAsNumber, decisions: decisions.valueAsNumber };
    const sale = await post('/demo/decisions', size);
    const most = Math.max(sale.cold.decisionsPerSecond, sale.warm.decisionsPerSecond);
    show('cold-side', sale.cold, most);
    show('warm-side', sale.warm, most);
    message.textContent = summary(sale);
  } catch (failed) {
    message.className = 'bad';
    message.textContent =
      failed instanceof Refusal ? `Nothing was decided: ${failed.message}.` : 'The server does not answer.';
  } finally {
    form.ariaBusy = 'false';
  }
});
