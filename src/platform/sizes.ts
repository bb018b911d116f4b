const UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

/** 1536 → "1.5 KiB". Unless said, there is one decimal below 10, and the unit suits the size. */
export function byteSize(bytes: number, decimals?: number, unit?: (typeof UNITS)[number]): string {
  // 1023.5 is 1024 once it is shown.
  const fitting = Math.min(Math.floor(Math.log2(Math.max(bytes * 1.0005, 1)) / 10), UNITS.length - 1);
  const power = unit === undefined ? fitting : UNITS.indexOf(unit);
  const value = bytes / 1024 ** power;
  const shown = decimals ?? (value < 10 ? 1 : 0);
  if (power > 0) return `${value.toFixed(shown)} ${UNITS[power]}`;
  return Math.round(value) === 1 ? '1 byte' : `${Math.round(value)} ${UNITS[0]}`;
}

/** Seconds → "1:02:03" or "4:05". */
export function duration(seconds: number): string {
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, Math.floor(seconds) % 60];
  const shown = parts[0] === 0 ? parts.slice(1) : parts;
  return shown.map((part, index) => (index === 0 ? String(part) : String(part).padStart(2, '0'))).join(':');
}
