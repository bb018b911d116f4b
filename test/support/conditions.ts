import { takeSnapshot, troublesOf, type Subject } from '../../src/features/health/condition.ts';
import { CONDITIONS } from '../../src/features/health/conditions.ts';
import type { Hub } from '../../src/features/hub/hub.ts';

/** The names of the conditions that now have a problem on this tile of the overview. */
export function conditionsOn(hub: Hub, subject: Subject): string[] {
  const snapshot = takeSnapshot(hub);
  return CONDITIONS.filter((one) => troublesOf(one, snapshot).some((trouble) => trouble.subject === subject))
    .map(({ name }) => name);
}
