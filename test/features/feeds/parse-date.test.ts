// Protects the reading of dates as publishers write them, whatever the machine's time zone.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import test from 'node:test';
import { parseDate } from '../../../src/features/feeds/parse-date.ts';
import { parseDuration } from '../../../src/features/feeds/collect-attachments.ts';

function check(cases: [string, string | null][]): void {
  for (const [text, expected] of cases) {
    const found = parseDate(text);
    assert.equal(found === null ? null : new Date(found).toISOString(), expected, text);
  }
}

test('RFC 822 dates are read, also with a wrong weekday, two-digit year or missing parts', () => {
  check([
    ['Thu, 01 Jan 2004 19:48:21 GMT', '2004-01-01T19:48:21.000Z'],
    ['Mon, 01 Jan 2004 19:48:21 GMT', '2004-01-01T19:48:21.000Z'],
    ['01 Jan 2004 19:48:21 +0200', '2004-01-01T17:48:21.000Z'],
    ['Thu, 1 Jan 2004 19:48 GMT', '2004-01-01T19:48:00.000Z'],
    ['Thu,01 Jan 04 19:48:21 EST', '2004-01-02T00:48:21.000Z'],
    ['Thu, 01 Jan 2004', '2004-01-01T00:00:00.000Z'],
    ['Thu, 01 January 2004 19:48:21', '2004-01-01T19:48:21.000Z'],
    ['Thursday, January 1, 2004 7:48:21 PM', '2004-01-01T19:48:21.000Z'],
    ['Wed, 31 Jan 70 00:00:00 GMT', '1970-01-31T00:00:00.000Z'],
    ['Wed, 31 Jan 104 00:00:00 GMT', '2004-01-31T00:00:00.000Z'],
    ['03 Apr 02 1500 GMT', '2002-04-03T15:00:00.000Z'],
    [' Wed,  03 Jan 2018\n 14:11:52 GMT ', '2018-01-03T14:11:52.000Z'],
    ['Tue, 01 Oct 2019 14:30:00 -0700 (PDT)', '2019-10-01T21:30:00.000Z'],
  ]);
});

test('RFC 850, asctime and date(1) forms are read', () => {
  check([
    ['Sunday, 06-Nov-94 08:49:37 GMT', '1994-11-06T08:49:37.000Z'],
    ['Sun Nov  6 08:49:37 1994', '1994-11-06T08:49:37.000Z'],
    ['Thu Jan  1 19:48:21 PST 2004', '2004-01-02T03:48:21.000Z'],
    ['Sat Oct 05 08:51:25 -0700 2013', '2013-10-05T15:51:25.000Z'],
    ['Fri, 2006/09/15 08:19:53 EDT', '2006-09-15T12:19:53.000Z'],
  ]);
});

test('ISO 8601 is read with parts missing, compact, ordinal, and with any separator', () => {
  check([
    ['2003-12-31T10:14:55Z', '2003-12-31T10:14:55.000Z'],
    ['2003-12-31T10:14:55.123456+05:30', '2003-12-31T04:44:55.123Z'],
    ['2003-12-31 10:14:55', '2003-12-31T10:14:55.000Z'],
    ['2003-12-31t10:14-08:00', '2003-12-31T18:14:00.000Z'],
    ['2004-07-08 23:56:58.0', '2004-07-08T23:56:58.000Z'],
    ['2003-12-31', '2003-12-31T00:00:00.000Z'],
    ['2003-12', '2003-12-01T00:00:00.000Z'],
    ['2003', '2003-01-01T00:00:00.000Z'],
    ['2003-335', '2003-12-01T00:00:00.000Z'],
    ['2003335', '2003-12-01T00:00:00.000Z'],
    ['2004-366T12:00:00Z', '2004-12-31T12:00:00.000Z'],
    ['20031231', '2003-12-31T00:00:00.000Z'],
    ['20031231T101455Z', '2003-12-31T10:14:55.000Z'],
    ['20031231 10:14:55 +0100', '2003-12-31T09:14:55.000Z'],
    ['2006/01/02', '2006-01-02T00:00:00.000Z'],
  ]);
});

test('zone names mean their real offsets, places those of the time of year', () => {
  check([
    ['Thu, 01 Jul 2004 12:00:00 EST', '2004-07-01T17:00:00.000Z'],
    ['Thu, 01 Jul 2004 12:00:00 PDT', '2004-07-01T19:00:00.000Z'],
    ['Thu, 01 Jul 2004 12:00:00 CEST', '2004-07-01T10:00:00.000Z'],
    ['Thu, 01 Jul 2004 12:00:00 ET', '2004-07-01T17:00:00.000Z'],
    ['Thu, 01 Jul 2004 12:00:00 Z', '2004-07-01T12:00:00.000Z'],
    ['Thu, 01 Jul 2004 12:00:00 GMT+2', '2004-07-01T10:00:00.000Z'],
    ['Thu, 01 Jul 2004 12:00:00 UTC-03:30', '2004-07-01T15:30:00.000Z'],
    ['Thu, 01 Jul 2004 12:00:00 Etc/GMT', '2004-07-01T12:00:00.000Z'],
    ['Thu, 01 Jul 2004 12:00:00 America/Los_Angeles', '2004-07-01T19:00:00.000Z'],
    ['Thu, 01 Jan 2004 12:00:00 America/Los_Angeles', '2004-01-01T20:00:00.000Z'],
    ['Thu, 01 Jul 2004 12:00:00 XYZT', '2004-07-01T12:00:00.000Z'],
  ]);
});

test('offsets beyond -12:00 and +14:00 are clamped', () => {
  check([
    ['2004-07-01T12:00:00+99:00', '2004-06-30T22:00:00.000Z'],
    ['2004-07-01T12:00:00-2300', '2004-07-02T00:00:00.000Z'],
  ]);
});

test('24:00 is the next midnight and a leap second the next minute', () => {
  check([
    ['2003-12-31T24:00:00Z', '2004-01-01T00:00:00.000Z'],
    ['Thu, 31 Dec 1998 23:59:60 GMT', '1999-01-01T00:00:00.000Z'],
  ]);
});

test('noon and midnight are told apart on a twelve-hour clock', () => {
  check([
    ['Jan 2, 2006 12:05 AM', '2006-01-02T00:05:00.000Z'],
    ['Jan 2, 2006 12:05 p.m. EST', '2006-01-02T17:05:00.000Z'],
  ]);
});

test('numbers alone are read as month/day/year unless dots, dashes or a large number say otherwise', () => {
  check([
    ['01/02/2006', '2006-01-02T00:00:00.000Z'],
    ['31/12/2006 23:59', '2006-12-31T23:59:00.000Z'],
    ['31.12.2003', '2003-12-31T00:00:00.000Z'],
    ['02-01-2006 15:04:05', '2006-01-02T15:04:05.000Z'],
  ]);
});

test('unix seconds and milliseconds are read', () => {
  check([
    ['1072865695', '2003-12-31T10:14:55.000Z'],
    ['1072865695.5', '2003-12-31T10:14:55.500Z'],
    ['1072865695123', '2003-12-31T10:14:55.123Z'],
  ]);
});

test('month names of other languages are read, and weekdays that look like months are not', () => {
  check([
    ['Do, 05 März 2015 10:00:00 +0100', '2015-03-05T09:00:00.000Z'],
    ['mar. 06 janv. 2015 10:00:00 GMT', '2015-01-06T10:00:00.000Z'],
    ['Чт, 21 мая 2015 10:00:00 +0300', '2015-05-21T07:00:00.000Z'],
    ['Κυρ, 11 Ιούλ 2004 12:00:00 EST', '2004-07-11T17:00:00.000Z'],
    ['2004-05-25 오후 11:23:17', '2004-05-25T23:23:17.000Z'],
  ]);
});

test('what is no date is null', () => {
  for (const text of [
    '', '   ', 'yesterday', '1:2:3:4 GMT', '12:00', 'Jan', '2003-13-01', '2003-12-32', '2003-400', '99',
    '0001-01-01T00:00:00Z', 'Mon, 01 Jan 0001 00:00:00 +0000', 'Mon, 00 Jan 2004 00:00:00 GMT', '1'.repeat(5_000),
  ]) assert.equal(parseDate(text), null, text.slice(0, 60));
});

test('a day that its month does not have is no date', () => {
  for (const text of [
    'Fri, 30 Feb 2024 12:00:00 GMT', '2023-02-29', '2024-04-31T10:00:00Z', '20230229', '31.06.2023', '2023-366',
  ]) assert.equal(parseDate(text), null, text);
  check([['2024-02-29', '2024-02-29T00:00:00.000Z'], ['2000-02-29T23:00:00-02:00', '2000-03-01T01:00:00.000Z']]);
});

test('an impossible time of day does not lose the day', () => {
  check([['2003-12-31T25:99:00Z', '2003-12-31T00:00:00.000Z']]);
});

test('the machine\'s own time zone plays no part', () => {
  const parser = new URL('../../../src/features/feeds/parse-date.ts', import.meta.url).href;
  const texts = ['2004-07-08 23:56:58', 'Thu, 01 Jan 2004', '01/02/2006', 'Jan 2, 2006 10:00'];
  const script = `import { parseDate } from ${JSON.stringify(parser)};
    console.log(JSON.stringify(${JSON.stringify(texts)}.map(parseDate)));`;
  const results = ['Asia/Tokyo', 'America/New_York', 'UTC'].map((zone) => spawnSync(
    process.execPath, ['--input-type=module', '-e', script], { env: { TZ: zone }, encoding: 'utf8' },
  ).stdout.trim());
  const expected = [
    Date.UTC(2004, 6, 8, 23, 56, 58), Date.UTC(2004, 0, 1), Date.UTC(2006, 0, 2), Date.UTC(2006, 0, 2, 10),
  ];
  for (const result of results) assert.deepEqual(JSON.parse(result), expected);
});

test('podcast durations are H:MM:SS, M:SS or seconds', () => {
  const cases: [string, number | null][] = [
    ['1:09:50', 4190], ['39:27', 2367], ['114', 114], ['00:00:07.6', 8], [' 74 ', 74], ['90:00', 5400],
    ['', null], ['about an hour', null], ['1:2:3:4', null], ['-5', null], ['1e9', null],
  ];
  for (const [text, expected] of cases) assert.equal(parseDuration(text), expected, text);
});

test('two digits each between dashes are year, month and day, unless the last can be no day', () => {
  check([
    ['03-12-31', '2003-12-31T00:00:00.000Z'],
    ['03-12-31T10:14:55Z', '2003-12-31T10:14:55.000Z'],
    ['99-01-02', '1999-01-02T00:00:00.000Z'],
    ['03-12-99', '1999-12-03T00:00:00.000Z'],
    ['31.12.03', '2003-12-31T00:00:00.000Z'],
  ]);
});

test('a year after 9999 is the end of 9999', () => {
  const end = '9999-12-31T23:59:59.999Z';
  check([
    ['10000-01-01T00:00:00Z', end], ['Sat, 01 Jan 10000 00:00:00 GMT', end], ['20031-01-01', end],
    ['Fri, 31 Dec 9999 23:59:59 -0900', end], ['9999-12-31T23:59:59Z', '9999-12-31T23:59:59.000Z'],
  ]);
});
