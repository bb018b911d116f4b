// Protects the reading of Retry-After and cache headers as publishers write them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { freshnessMs, parseHttpDate, parseRetryAfter } from '../../../src/platform/net/response-freshness.ts';

const NOW = Date.UTC(2026, 0, 15, 12, 0, 0);
const IN_AN_HOUR = 'Thu, 15 Jan 2026 13:00:00 GMT';
const HOUR = 3_600_000;

test('all three forms of HTTP-date name the same second, in UTC whatever the local zone', () => {
  const expected = Date.UTC(1994, 10, 6, 8, 49, 37);
  for (const text of ['Sun, 06 Nov 1994 08:49:37 GMT', 'Sunday, 06-Nov-94 08:49:37 GMT', 'Sun Nov  6 08:49:37 1994']) {
    assert.equal(parseHttpDate(text, NOW), expected, text);
  }
});

test('a two-digit year lies at most 50 years ahead', () => {
  assert.equal(parseHttpDate('Sunday, 06-Nov-76 00:00:00 GMT', NOW), Date.UTC(2076, 10, 6));
  assert.equal(parseHttpDate('Sunday, 06-Nov-77 00:00:00 GMT', NOW), Date.UTC(1977, 10, 6));
});

test('text that is not an HTTP-date or not a real day is no date', () => {
  const wrong = [
    '', '0', '-1', 'tomorrow', '2026-01-15T13:00:00Z', 'Thu, 15 Jan 2026 13:00:00 +0100', 'Thu, 15 Jan 2026 13:00:00',
    'Thu, 31 Feb 2026 13:00:00 GMT', 'Thu, 15 Foo 2026 13:00:00 GMT', 'Thu, 15 Jan 2026 24:00:00 GMT',
    'Thu, 15 Jan 2026 13:60:00 GMT', 'Thu, 15 Jan 2026 13:00:61 GMT',
  ];
  for (const text of wrong) assert.equal(parseHttpDate(text, NOW), null, text);
  assert.equal(parseHttpDate('Sat, 31 Dec 2016 23:59:60 GMT', NOW), Date.UTC(2016, 11, 31, 23, 59, 59));
});

test('Retry-After is understood as seconds and as a date, and as nothing else', () => {
  assert.equal(parseRetryAfter('120', NOW), NOW + 120_000);
  assert.equal(parseRetryAfter(' 0 ', NOW), NOW);
  assert.equal(parseRetryAfter(IN_AN_HOUR, NOW), NOW + HOUR);
  assert.equal(parseRetryAfter('Thu, 15 Jan 2026 11:00:00 GMT', NOW), NOW - HOUR);
  assert.equal(parseRetryAfter('9'.repeat(400), NOW), NOW + 2 ** 31 * 1000);
  for (const value of [undefined, '', '-5', '1.5', '12 minutes', '1e3', '0x10', 'soon']) {
    assert.equal(parseRetryAfter(value, NOW), null, value);
  }
});

test('freshness is max-age less Age, never negative, and max-age counts before Expires', () => {
  assert.equal(freshnessMs({ 'cache-control': 'public, max-age=600' }, NOW), 600_000);
  assert.equal(freshnessMs({ 'cache-control': 'MAX-AGE="600"' }, NOW), 600_000);
  assert.equal(freshnessMs({ 'cache-control': 'max-age=600', 'age': '100' }, NOW), 500_000);
  assert.equal(freshnessMs({ 'cache-control': 'max-age=600', 'age': '700' }, NOW), 0);
  assert.equal(freshnessMs({ 'cache-control': 'max-age=600', 'age': 'old' }, NOW), 600_000);
  assert.equal(freshnessMs({ 'cache-control': 'max-age=600, max-age=1' }, NOW), 600_000);
  assert.equal(freshnessMs({ 'cache-control': 'max-age=60', 'expires': IN_AN_HOUR }, NOW), 60_000);
  assert.equal(freshnessMs({ 'cache-control': 's-maxage=60', 'expires': IN_AN_HOUR }, NOW), HOUR);
});

test('Expires is measured against the clock of the server that sent it', () => {
  assert.equal(freshnessMs({ expires: IN_AN_HOUR }, NOW), HOUR);
  assert.equal(freshnessMs({ expires: IN_AN_HOUR, date: 'Thu, 15 Jan 2026 12:30:00 GMT' }, NOW), HOUR / 2);
  assert.equal(freshnessMs({ expires: IN_AN_HOUR, date: 'Thu, 15 Jan 2026 14:00:00 GMT' }, NOW), 0);
});

test('an answer that must not be reused, or whose lifetime is unreadable, is not fresh', () => {
  const stale = ['no-cache', 'no-store', 'max-age=600, No-Store', 'no-cache="a, b", max-age=9', 'max-age=x', 'max-age'];
  for (const value of stale) {
    assert.equal(freshnessMs({ 'cache-control': value }, NOW), 0, value);
  }
  assert.equal(freshnessMs({ expires: '0' }, NOW), 0);
  assert.equal(freshnessMs({ expires: '-1' }, NOW), 0);
});

test('an answer that says nothing about its lifetime is null', () => {
  assert.equal(freshnessMs({}, NOW), null);
  assert.equal(freshnessMs({ 'cache-control': 'public, must-revalidate', 'age': '3' }, NOW), null);
  assert.equal(freshnessMs({ 'cache-control': 'ext="max-age=5"' }, NOW), null);
});
