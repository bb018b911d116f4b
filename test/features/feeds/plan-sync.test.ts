// Protects the rhythm of syncs: as often as a source is worth it, and ever less often while it fails.
import assert from 'node:assert/strict';
import test from 'node:test';
import { planAfterFailure, planNextSync } from '../../../src/features/feeds/plan-sync.ts';
import { DAY, HOUR, MINUTE } from '../../../src/platform/clock.ts';

const NOW = Date.UTC(2026, 0, 31, 12);
/** The least and the most that chance gives. */
const CHANCES = [0, 0.5, 1 - Number.EPSILON];
const SHORTEST = 15 * MINUTE;

type Case = { when: string; ago: number[]; askedFor?: number; from: number; to: number };

/** Posts at equal distances, the newest one distance old. */
function every(gap: number, count = 10): number[] {
  return Array.from({ length: count }, (_, index) => (index + 1) * gap);
}

function plan(ago: number[], askedFor: number, chance: number): number {
  return planNextSync({ publishedAt: ago.map((age) => NOW - age), askedFor }, NOW, () => chance);
}

test('the next sync is as far away as the rhythm of a source and its publisher ask', () => {
  const cases: Case[] = [
    { when: 'nothing is known', ago: [], from: 54 * MINUTE, to: HOUR },
    { when: 'a post every four hours: half of that', ago: every(4 * HOUR), from: 108 * MINUTE, to: 2 * HOUR },
    { when: 'posts in any order', ago: every(4 * HOUR).toReversed(), from: 108 * MINUTE, to: 2 * HOUR },
    { when: 'only the ten newest count', ago: [...every(4 * HOUR), 900 * DAY], from: 108 * MINUTE, to: 2 * HOUR },
    { when: 'a post every minute', ago: every(MINUTE), from: SHORTEST, to: 16.5 * MINUTE },
    { when: 'one post just now', ago: [0], from: SHORTEST, to: 16.5 * MINUTE },
    { when: 'several posts at once, a day ago', ago: [DAY, DAY, DAY], from: 2.7 * HOUR, to: 3 * HOUR },
    { when: 'a post every week', ago: every(7 * DAY), from: 21.6 * HOUR, to: DAY },
    { when: 'silent for two days', ago: [48, 49, 50].map((age) => age * HOUR), from: 5.4 * HOUR, to: 6 * HOUR },
    { when: 'silent for years', ago: [900 * DAY], from: 21.6 * HOUR, to: DAY },
    { when: 'posts of the future only', ago: [-HOUR, -DAY], from: 54 * MINUTE, to: HOUR },
    { when: 'one of the future', ago: [-9 * DAY, ...every(4 * HOUR)], from: 108 * MINUTE, to: 2 * HOUR },
    { when: 'more is asked for', ago: every(MINUTE), askedFor: 3 * HOUR, from: 3 * HOUR, to: 3.3 * HOUR },
    { when: 'about as much is asked for', ago: every(4 * HOUR), askedFor: 118 * MINUTE, from: 118 * MINUTE,
      to: 130 * MINUTE },
    { when: 'less is asked for', ago: every(4 * HOUR), askedFor: HOUR, from: 108 * MINUTE, to: 2 * HOUR },
    { when: 'almost a day is asked for', ago: [], askedFor: 23 * HOUR, from: 23 * HOUR, to: DAY },
    { when: 'a day is asked for', ago: [], askedFor: DAY, from: DAY, to: DAY },
    { when: 'a year is asked for', ago: every(MINUTE), askedFor: 365 * DAY, from: DAY, to: DAY },
  ];
  for (const { when, ago, askedFor = 0, from, to } of cases) {
    const plans = CHANCES.map((chance) => plan(ago, askedFor, chance));
    assert.equal(plans[0], from, `${when}, at the least`);
    assert.ok(plans.every((at) => at >= from && at <= to), `${when}: ${plans.map((at) => at / MINUTE)} minutes`);
    assert.equal(plans.at(-1), to, `${when}, at the most`);
  }
});

test('no rhythm, request or chance leads out of 15 minutes to 24 hours', () => {
  const gaps = [0, 1, MINUTE, 29 * MINUTE, 31 * MINUTE, HOUR, 2 * DAY, 9_999 * DAY, Number.MAX_SAFE_INTEGER];
  const requests = [-DAY, 0, 1, SHORTEST, HOUR, DAY, DAY + 1, Number.MAX_SAFE_INTEGER, Infinity];
  for (const gap of gaps) {
    for (const askedFor of requests) {
      for (const chance of CHANCES) {
        const at = plan(every(gap, 3), askedFor, chance);
        assert.ok(Number.isInteger(at) && at >= SHORTEST && at <= DAY, `${gap}, ${askedFor}, ${chance}: ${at}`);
        assert.ok(at >= Math.min(askedFor, DAY), `${gap}, ${askedFor}, ${chance}: sooner than asked for`);
      }
    }
  }
});

test('a source is asked less and less often the longer it is silent', () => {
  const plans = [HOUR, 8 * HOUR, DAY, 3 * DAY, 5 * DAY].map((silence) => plan([silence, silence + HOUR], 0, 0));
  for (const [index, at] of plans.entries()) assert.ok(at > (plans[index - 1] ?? 0), String(plans));
});

test('failures are followed by longer and longer pauses of a day at most', () => {
  const most = [0, 1, 2, 3, 4].map((failures) => planAfterFailure(failures, () => 1 - Number.EPSILON));
  assert.deepEqual(most, [1, 2, 4, 8, 16].map((hours) => hours * HOUR));
  const least = [0, 1, 2, 3, 4].map((failures) => planAfterFailure(failures, () => 0));
  assert.deepEqual(least, [1, 2, 4, 8, 16].map((hours) => hours * HOUR * 0.9));
  for (const failures of [5, 6, 10, 11, 1_000, Number.MAX_SAFE_INTEGER]) {
    assert.equal(planAfterFailure(failures, () => 0), 21.6 * HOUR, String(failures));
    assert.equal(planAfterFailure(failures, () => 1 - Number.EPSILON), DAY, String(failures));
  }
});
