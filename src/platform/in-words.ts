import { DAY, HOUR, isoTime, MINUTE, SECOND } from './clock.ts';

const UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

/** Formats bytes, by default in the largest fitting unit, with one decimal if few: "5 bytes", "1.5 KiB", "15 KiB". */
export function byteSize(bytes: number, decimals?: number, unit?: (typeof UNITS)[number]): string {
  // 1023.5 rounds to 1024, so the value takes the next unit.
  const fitting = Math.min(Math.floor(Math.log2(Math.max(bytes * 1.0005, 1)) / 10), UNITS.length - 1);
  const power = unit === undefined ? fitting : UNITS.indexOf(unit);
  const value = bytes / 1024 ** power;
  const shown = decimals ?? (value < 10 ? 1 : 0);
  if (power > 0) return `${value.toFixed(shown)} ${UNITS[power]}`;
  return Math.round(value) === 1 ? '1 byte' : `${Math.round(value)} bytes`;
}

/** The number with its noun: "1 post", "1,200 posts", "2 tries". */
export function plural(count: number, one: string, many = `${one}s`): string {
  const digits = count < 1_000 ? String(count) : count.toLocaleString('en'); // its first call takes 30 ms
  return `${digits} ${count === 1 ? one : many}`;
}

/** Formats ms, rounded down, in the largest fitting unit: "3 s", "12 min", "47 h"; in days from 48 h on. */
export function duration(ms: number): string {
  if (ms < MINUTE) return `${Math.max(0, Math.floor(ms / SECOND))} s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min`;
  return ms < 2 * DAY ? `${Math.floor(ms / HOUR)} h` : `${Math.floor(ms / DAY)} days`;
}

const SCALES: [name: string, ms: number][] = [['h', HOUR], ['min', MINUTE], ['s', SECOND], ['ms', 1]];

/** Formats a measured time in ms with up to one decimal: "13.5 ms", "1.2 s", "2 h". */
export function measuredTime(ms: number): string {
  const [name, size] = SCALES.find(([, least]) => ms >= least) ?? ['ms', 1];
  return `${Math.round(10 * ms / size) / 10} ${name}`;
}

/** Formats the seconds of a recording: "1:02:03" or "4:05". */
export function playingTime(seconds: number): string {
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, Math.floor(seconds) % 60];
  const shown = parts[0] === 0 ? parts.slice(1) : parts;
  return shown.map((part, index) => (index === 0 ? String(part) : String(part).padStart(2, '0'))).join(':');
}

/** Formats unix ms to the minute: "2026-11-22 13:05 UTC". */
export function utcTime(at: number): string {
  return `${isoTime(at).slice(0, 16).replace('T', ' ')} UTC`;
}
