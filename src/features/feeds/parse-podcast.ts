/** Seconds from `H:MM:SS`, `M:SS` or a number of seconds; null for anything else. */
export function parseDuration(text: string | null | undefined): number | null {
  const parts = text?.trim().split(':') ?? [];
  if (parts.length === 0 || parts.length > 3) return null;
  if (!parts.every((part, index) => isNumber(part, index === parts.length - 1))) return null;
  const seconds = parts.reduce((total, part) => total * 60 + Number(part), 0);
  return Math.round(seconds);
}

function isNumber(part: string, mayHaveFraction: boolean): boolean {
  return (mayHaveFraction ? /^\d{1,9}(?:\.\d+)?$/ : /^\d{1,9}$/).test(part.trim());
}

/** A count of bytes; null where it is missing, empty, zero or garbage, as lengths in feeds often are. */
export function parseByteCount(text: string | number | null | undefined): number | null {
  const digits = String(text ?? '').trim().replaceAll(',', '');
  const bytes = /^\d{1,15}(?:\.0+)?$/.test(digits) ? Number(digits) : 0;
  return bytes > 0 ? bytes : null;
}
