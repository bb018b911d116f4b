import type { SettingList } from './settings.ts';

/** Of the environment, which other programs share, names so long that a likeness is hardly an accident. */
const LONG = 10;
const SLIPS = 2;

/** Every name under which these settings are read. */
export function namesOf(list: SettingList): string[] {
  return Object.values(list).flatMap(({ name, secret }) =>
    secret === 'bytes' ? [`${name}_FILE`] : secret === 'text' ? [name, `${name}_FILE`] : [name]);
}

/**
 * What is wrong with names in .env that look like ours. The file is the hub's own, so these are mistakes: the
 * default that would hold instead may remove what was to be kept.
 */
export function misspeltNames(names: readonly string[], known: readonly string[]): string[] {
  return names.flatMap((name) => {
    const near = nearestName(name, known, Math.max(1, Math.floor(name.length / 4)));
    return near === undefined ? [] : [`${name} in .env is not a setting; did you mean ${near}?`];
  });
}

/** What is wrong with names in the environment. They may be another program's: worth a warning only. */
export function doubtfulNames(names: readonly string[], known: readonly string[]): string[] {
  return names.filter((name) => name.length >= LONG || name.startsWith('HUB_')).flatMap((name) => {
    const near = nearestName(name, known, SLIPS);
    return near === undefined ? [] : [`${name} in the environment is not a setting; did you mean ${near}?`];
  });
}

/** The known name that this one most likely stands for; undefined for a known one and for one that is like none. */
function nearestName(name: string, known: readonly string[], slips: number): string | undefined {
  if (known.includes(name)) return undefined;
  const asFile = known.find((one) => one === `${name}_FILE` || `${one}_FILE` === name);
  if (asFile !== undefined) return asFile;
  const signs = signsOf(name.toUpperCase());
  const near = known.filter((one) => Math.abs(one.length - name.length) <= slips)
    .filter((one) => differing(signsOf(one), signs) <= 2 * slips)
    .map((one) => ({ one, distance: distance(name.toUpperCase(), one) }))
    .sort((a, b) => a.distance - b.distance)[0];
  return near && near.distance <= slips ? near.one : undefined;
}

/** One bit for each letter or digit that occurs. */
function signsOf(name: string): number {
  let bits = 0;
  for (let at = 0; at < name.length; at++) bits |= 1 << (name.charCodeAt(at) & 31);
  return bits;
}

/** How many bits differ. A slip changes two at most: most names need no closer look, which takes ten times as long. */
function differing(a: number, b: number): number {
  let count = 0;
  for (let bits = a ^ b; bits !== 0; bits &= bits - 1) count++;
  return count;
}

/** Signs that are missing, too many, other ones or swapped with their neighbour (optimal string alignment). */
function distance(a: string, b: string): number {
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const other = a[i - 1] === b[j - 1] ? 0 : 1;
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      next[j] = Math.min(
        (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + other,
        isSwapped ? (before[j - 2] ?? 0) + 1 : Infinity,
      );
    }
    [before, row] = [row, next];
  }
  return row[b.length] ?? 0;
}
