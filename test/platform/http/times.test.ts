// Protects times that people type in their own time zone, also on days when the clocks change.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shownWallTime, wallTime } from '../../../src/platform/http/times.ts';

const CASES: [typed: string, zone: string | undefined, utc: string | undefined][] = [
  ['2026-07-01T09:00', 'Europe/Berlin', '2026-07-01T07:00:00.000Z'],
  ['2026-12-01T09:00', 'Europe/Berlin', '2026-12-01T08:00:00.000Z'],
  ['2026-10-25T04:00', 'Europe/Berlin', '2026-10-25T03:00:00.000Z'],
  ['2026-03-29T03:30', 'Europe/Berlin', '2026-03-29T01:30:00.000Z'],
  ['2026-11-27T09:00', 'Asia/Kolkata', '2026-11-27T03:30:00.000Z'],
  ['2026-11-27T09:00:30', 'America/St_Johns', '2026-11-27T12:30:30.000Z'],
  ['2026-11-27T09:00:00+02:00', 'Asia/Kolkata', '2026-11-27T07:00:00.000Z'],
  ['2026-02-30T09:00', 'UTC', undefined], ['tomorrow', 'UTC', undefined], ['', undefined, undefined],
];

test('a time without a time zone is read in the zone of its writer, and shown again as it was typed', () => {
  for (const [typed, zone, utc] of CASES) {
    const at = wallTime(typed, zone);
    assert.equal(at === undefined ? undefined : new Date(at).toISOString(), utc, `${typed} ${zone}`);
    if (at !== undefined && typed.length === 16) assert.equal(shownWallTime({ now: null, zone }, at), typed);
  }
});
