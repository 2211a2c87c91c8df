// The charts and their queries over the server's own series.

const slowest = (metric) => `1000 * max(${metric}{job="registrar"})`;

export const CHARTS = [
  {
    title: 'Throughput',
    unit: '/s',
    lines: [
      { name: 'requests', query: 'sum(registrar_http_request_rate{job="registrar"})' },
      { name: 'events', query: 'sum(registrar_events_rate{job="registrar"})' },
      { name: 'messages', query: 'sum(registrar_messages_rate{job="registrar"})' },
    ],
  },
  {
    title: 'Latency of the slowest interface',
    unit: ' ms',
    lines: [
      { name: 'p50', query: slowest('registrar_http_latency_p50_seconds') },
      { name: 'p99', query: slowest('registrar_http_latency_p99_seconds') },
    ],
  },
];
