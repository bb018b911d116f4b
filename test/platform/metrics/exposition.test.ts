// Protects the text formats of metrics, so that Prometheus reads every label and value as it was meant.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import {
  type Family, negotiateFormat, renderOpenMetrics, renderPrometheus,
} from '../../../src/platform/metrics/exposition.ts';
import { requireTool } from '../../support/tools.ts';

function gauge(name: string, help: string, value: number): Family {
  return { type: 'gauge', name, help, samples: [{ labels: {}, value }] };
}

function counter(name: `${string}_total`, help: string, value: number): Family {
  return { type: 'counter', name, help, samples: [{ labels: {}, value }] };
}

const ODD_VALUES = [
  '', '\\', '"', '\n', '\\n', 'a"b\\c\nd', '}', '{x="y"} 1', '# EOF', 'ünï ☃ 😀', '\t', '\r\n', ' ', '\0',
];

function oddLabels(): Family {
  const samples = ODD_VALUES.map((value, index) => ({ labels: { index: String(index), value }, value: index }));
  return { type: 'gauge', name: 'odd_labels', help: 'A "help" with \\ and\na line end.', samples };
}

function histogram(bounds: number[], counts: number[], sum: number): Family {
  const samples = [{ labels: { a: 'b' }, counts, sum }];
  return { type: 'histogram', name: 'took_seconds', help: 'Time.', bounds, samples };
}

function sampleLines(text: string): string[] {
  return text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
}

test('a family is its help, its type and its samples, in this order', () => {
  const text = renderPrometheus([gauge('up_now', 'Up.', 1), counter('done_total', 'Done.', 2)]);

  assert.equal(text, '# HELP up_now Up.\n# TYPE up_now gauge\nup_now 1\n'
    + '# HELP done_total Done.\n# TYPE done_total counter\ndone_total 2\n');
});

test('OpenMetrics names counters and infos without their suffix and ends with EOF', () => {
  const samples = [{ labels: { version: '1' }, value: 1 }];
  const info: Family = { type: 'info', name: 'build_info', help: 'B.', samples };

  assert.equal(renderOpenMetrics([counter('done_total', 'Done.', 2), info]), '# TYPE done counter\n# HELP done Done.\n'
    + 'done_total 2\n# TYPE build info\n# HELP build B.\nbuild_info{version="1"} 1\n# EOF\n');
  assert.match(renderPrometheus([info]), /^# TYPE build_info gauge$/m);
});

test('label values are escaped alike in both formats, and no value can begin a line of its own', () => {
  for (const text of [renderPrometheus([oddLabels()]), renderOpenMetrics([oddLabels()])]) {
    const lines = sampleLines(text);
    assert.equal(lines.length, ODD_VALUES.length);
    assert.equal(lines[5], 'odd_labels{index="5",value="a\\"b\\\\c\\nd"} 5');
    lines.forEach((line, index) => assert.equal(unescapeLabel(line), ODD_VALUES[index]));
  }
});

test('help escapes quotation marks in OpenMetrics only', () => {
  assert.match(renderPrometheus([oddLabels()]), /^# HELP odd_labels A "help" with \\\\ and\\na line end\.$/m);
  assert.match(renderOpenMetrics([oddLabels()]), /^# HELP odd_labels A \\"help\\" with \\\\ and\\na line end\.$/m);
});

test('values are written as both formats read them', () => {
  const cases: [number, string][] = [
    [0, '0'], [-0, '0'], [1.5, '1.5'], [1e21, '1e+21'], [1e-7, '1e-7'], [2 ** 53, '9007199254740992'],
    [NaN, 'NaN'], [Infinity, '+Inf'], [-Infinity, '-Inf'],
  ];

  for (const [value, written] of cases) {
    assert.deepEqual(sampleLines(renderPrometheus([gauge('g', 'G.', value)])), [`g ${written}`]);
  }
});

test('buckets are cumulative, and the last one is the count', () => {
  assert.deepEqual(sampleLines(renderPrometheus([histogram([0.5, 1], [3, 0, 4], 9.25)])), [
    'took_seconds_bucket{a="b",le="0.5"} 3',
    'took_seconds_bucket{a="b",le="1.0"} 3',
    'took_seconds_bucket{a="b",le="+Inf"} 7',
    'took_seconds_sum{a="b"} 9.25',
    'took_seconds_count{a="b"} 7',
  ]);
});

test('bounds of buckets have the canonical form', () => {
  const bounds = [0, 1e-7, 0.000025, 0.0001, 0.005, 1, 2.5, 10, 100_000, 1e6, 1.5e6, 1e10, 1e100];
  const lines = sampleLines(renderPrometheus([histogram(bounds, [], 0)]));

  const written = lines.slice(0, bounds.length).map((line) => /le="([^"]*)"/.exec(line)?.[1]);
  assert.deepEqual(written, ['0.0', '1e-07', '2.5e-05', '0.0001', '0.005', '1.0', '2.5', '10.0', '100000.0',
    '1e+06', '1.5e+06', '1e+10', '1e+100']);
});

test('OpenMetrics has no line that its grammar does not know', () => {
  const lines = renderOpenMetrics([oddLabels(), histogram([1], [1, 1], 3), counter('c_total', 'C.', 1)]).split('\n');

  assert.equal(lines.pop(), '');
  assert.equal(lines.pop(), '# EOF');
  for (const line of lines) assert.match(line, /^(# (TYPE|HELP) [a-z_]+ .+|[a-z_]+(\{.+\})? \S+)$/s);
});

test('promtool accepts odd labels, odd values and histograms', (t) => {
  if (!requireTool(t, 'promtool')) return;
  const values = [NaN, Infinity, -Infinity, 1e21, 1e-7];
  const samples = values.map((value, index) => ({ labels: { index: String(index) }, value }));
  const oddValues: Family = { type: 'gauge', name: 'odd_values', help: 'V.', samples };
  const input = renderPrometheus([oddLabels(), oddValues, histogram([0.001, 1e6], [1, 2, 3], 4)]);

  const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], { input, encoding: 'utf8' });
  assert.deepEqual({ status, stdout, stderr }, { status: 0, stdout: '', stderr: '' });
});

test('the format is the one that the Accept header ranks highest', () => {
  const prometheus3 = 'application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,'
    + 'application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,'
    + 'text/plain;version=0.0.4;q=0.2,*/*;q=0.1';
  const prometheus2 = 'application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,'
    + 'text/plain;version=0.0.4;q=0.5,*/*;q=0.1';
  const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8';
  const cases: [string | undefined, 'prometheus' | 'openmetrics'][] = [
    [prometheus3, 'openmetrics'],
    [prometheus2, 'openmetrics'],
    [browser, 'prometheus'],
    [undefined, 'prometheus'],
    ['', 'prometheus'],
    ['*/*', 'prometheus'],
    ['application/*', 'prometheus'],
    ['application/openmetrics-text', 'openmetrics'],
    ['APPLICATION/OpenMetrics-Text ; Version="1.0.0" ; charset=utf-8', 'openmetrics'],
    ['application/openmetrics-text;version=0.0.1', 'prometheus'],
    ['application/openmetrics-text;version=2.0.0, */*', 'prometheus'],
    ['application/openmetrics-text;q=0', 'prometheus'],
    ['application/openmetrics-text;q=0.4, text/plain;q=0.5', 'prometheus'],
    ['application/openmetrics-text;q=0.5, text/*;q=0.4', 'openmetrics'],
    ['text/plain;version=0.0.4;q=0.3, application/openmetrics-text;q=0.2, text/plain', 'prometheus'],
    ['text/plain, application/openmetrics-text', 'openmetrics'],
    ['text/plain;version=0.0.4;q=0.1, application/openmetrics-text;q=0.2, text/plain;q=0.9', 'openmetrics'],
    ['application/openmetrics-text;q=many', 'prometheus'],
    ['application/openmetrics-text;q=1.5, text/plain;q=0.1', 'prometheus'],
    [',,;;=,application/json', 'prometheus'],
  ];

  for (const [accept, format] of cases) assert.equal(negotiateFormat(accept), format, `Accept: ${accept}`);
});

/** Reads the label `value` back as the format's grammar says. */
function unescapeLabel(line: string): string {
  const escaped = /value="((?:[^"\\]|\\["\\n])*)"\} \d+$/.exec(line)?.[1] ?? 'not readable';
  return escaped.replace(/\\(.)/g, (_, char: string) => (char === 'n' ? '\n' : char));
}
