// Tests the client @doughtnerd/message-store-connector. The argument is the URL.
const assert = require('node:assert/strict');
const { randomUUID } = require('node:crypto');
const { Client } = require('pg');
const { EventideClient, MessageStore, PostgresClient } = require('@doughtnerd/message-store-connector');

async function main() {
  const connection = new Client({ connectionString: process.argv[2] });
  await connection.connect();
  const store = new MessageStore(new EventideClient(new PostgresClient(connection)));
  const message = (type, data, metadata = {}) => ({ id: randomUUID(), type, data, metadata });

  assert.deepEqual(await store.getStreamVersion('cart-1'), { streamVersion: null });
  await store.writeMessage('cart-1', message('Added', { item: 'a' }));
  await store.writeMessage('cart-1', message('Added', { item: 'b' }, { correlationStreamName: 'order-1' }), 0);
  await store.writeBatch('cart-2', [message('Added', { item: 'c' }), message('Added', { item: 'd' })]);
  assert.deepEqual(await store.getStreamVersion('cart-1'), { streamVersion: 1 });
  await assert.rejects(
    store.writeMessage('cart-1', message('Added', {}), 5),
    /Wrong expected version: 5 \(Stream: cart-1, Stream Version: 1\)/,
  );

  const stream = await store.getStreamMessages('cart-1', { startingPosition: 1, batchSize: 10 });
  assert.deepEqual(stream.map(({ position, data }) => [position, data]), [[1, { item: 'b' }]]);
  assert.equal((await store.getLastStreamMessage('cart-2'))[0].data.item, 'd');
  const category = await store.getCategoryMessages('cart', {});
  assert.deepEqual(category.map(({ data }) => data.item), ['a', 'b', 'c', 'd']);
  const correlated = await store.getCategoryMessages('cart', { correlation: 'order' });
  assert.deepEqual(correlated.map(({ data }) => data.item), ['b']);

  const items = await store.project('cart-1', {
    projectionName: 'Items',
    entity: () => [],
    handlers: { Added: (items, { data }) => [...items, data.item] },
  });
  assert.deepEqual(items, ['a', 'b']);

  const seen = [];
  const subscription = await store.subscribeToCategory(
    'counter', 'cart', { Added: async ({ data }) => seen.push(data.item) },
    { pollingInterval: 10, positionUpdateInterval: 1 },
  );
  await store.writeMessage('cart-3', message('Added', { item: 'e' }));
  const deadline = Date.now() + 20_000;
  while (seen.length < 5 && Date.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  subscription.unsubscribe();
  assert.deepEqual(seen, ['a', 'b', 'c', 'd', 'e']);
}

main().then(() => process.exit(0), (error) => {
  console.error(error);
  process.exit(1);
});
