import type { SettingList } from './settings.ts';

/** Other programs share the environment, so only names at least this long are compared. */
const LONG = 10;
const SLIPS = 2;

/** All variable names of these settings, `…_FILE` included. */
export function variableNames(list: SettingList): string[] {
  return Object.values(list).flatMap(({ name, secret }) =>
    secret === 'bytes' ? [`${name}_FILE`] : secret === 'text' ? [name, `${name}_FILE`] : [name]);
}

/**
 * Errors for misspelt setting names in .env. The file is the hub's own, so a near miss is a mistake: the default that
 * would apply instead could delete data.
 */
export function misspeltNames(names: readonly string[], known: readonly string[]): string[] {
  return names.flatMap((name) => {
    const near = nearestName(name, known, Math.max(1, Math.floor(name.length / 4)));
    return near === undefined ? [] : [`${name} in .env is not a setting; did you mean ${near}?`];
  });
}

/** Warnings for names in the environment, which may be another program's. */
export function doubtfulNames(names: readonly string[], known: readonly string[]): string[] {
  return names.filter((name) => name.length >= LONG || name.startsWith('HUB_')).flatMap((name) => {
    const near = nearestName(name, known, SLIPS);
    return near === undefined ? [] : [`${name} in the environment is not a setting; did you mean ${near}?`];
  });
}

/** The closest known name; undefined if the name is known or close to none. */
function nearestName(name: string, known: readonly string[], slips: number): string | undefined {
  if (known.includes(name)) return undefined;
  const asFile = known.find((one) => one === `${name}_FILE` || `${one}_FILE` === name);
  if (asFile !== undefined) return asFile;
  const near = known.filter((one) => Math.abs(one.length - name.length) <= slips)
    .map((one) => ({ one, distance: distance(name.toUpperCase(), one) }))
    .sort((a, b) => a.distance - b.distance)[0];
  return near && near.distance <= slips ? near.one : undefined;
}

/** Edit distance with transpositions (optimal string alignment). */
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
