import type { Format } from './exposition.ts';

type Range = { type: string; version: string | undefined; quality: number };

type Match = { quality: number; specificity: number };

const OFFERED: Record<Format, { type: string; version: string }> = {
  prometheus: { type: 'text/plain', version: '0.0.4' },
  openmetrics: { type: 'application/openmetrics-text', version: '1.0.0' },
};

/** By name with the version, by name, by main type, by anything. */
const NAMED = 2;

/**
 * The format an `Accept` header asks for (RFC 9110, 12.5.1): the most specific range that fits a format gives its
 * quality. OpenMetrics is answered only to who ranks it highest by name; 0.0.4 is the last resort, never a 406.
 */
export function negotiateFormat(accept: string | undefined): Format {
  const ranges = (accept ?? '*/*').toLowerCase().split(',').map(parseRange);
  const openMetrics = bestMatch(ranges, OFFERED.openmetrics);
  const prometheus = bestMatch(ranges, OFFERED.prometheus);
  const wanted = openMetrics.specificity >= NAMED && openMetrics.quality > 0;
  return wanted && openMetrics.quality >= prometheus.quality ? 'openmetrics' : 'prometheus';
}

function parseRange(text: string): Range {
  const [type = '', ...parameters] = text.split(';').map((part) => part.trim());
  const values = new Map(parameters.map((parameter): [string, string] => {
    const [name = '', value = ''] = parameter.split('=', 2);
    return [name.trim(), value.trim().replace(/^"(.*)"$/, '$1')];
  }));
  return { type, version: values.get('version'), quality: parseQuality(values.get('q') ?? '1') };
}

/** A weight that is none counts as 0, as if the range had not been sent. */
function parseQuality(text: string): number {
  return /^(0(\.\d{0,3})?|1(\.0{0,3})?)$/.test(text) ? Number(text) : 0;
}

function bestMatch(ranges: readonly Range[], offered: { type: string; version: string }): Match {
  let best: Match = { quality: 0, specificity: -1 };
  for (const range of ranges) {
    const specificity = specificityOf(range, offered);
    const better = specificity > best.specificity
      || (specificity === best.specificity && range.quality > best.quality);
    if (specificity >= 0 && better) best = { quality: range.quality, specificity };
  }
  return best;
}

function specificityOf({ type, version }: Range, offered: { type: string; version: string }): number {
  if (type === offered.type) {
    if (version === undefined) return NAMED;
    return version === offered.version ? NAMED + 1 : -1;
  }
  if (type === `${offered.type.split('/')[0]}/*`) return 1;
  return type === '*/*' ? 0 : -1;
}
