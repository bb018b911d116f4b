import { DAY, HOUR, MINUTE } from '../../platform/clock.ts';
import type { XmlElement } from '../../platform/markup/xml-tree.ts';
import { firstLine } from './feed-text.ts';

const PERIODS = new Map([
  ['hourly', HOUR], ['daily', DAY], ['weekly', 7 * DAY], ['monthly', 30 * DAY], ['yearly', 365 * DAY],
]);

/** How long the publisher wants to be left alone, in ms: `ttl` in minutes, else the syndication module; or null. */
export function publishedInterval(channel: XmlElement): number | null {
  const minutes = Number(firstLine(channel, ['ttl']) ?? NaN);
  if (minutes > 0 && Number.isFinite(minutes)) return Math.round(minutes * MINUTE);
  const period = PERIODS.get(firstLine(channel, ['sy:updateperiod', 'syn:updateperiod'])?.toLowerCase() ?? '');
  if (period === undefined) return null;
  const frequency = Number(firstLine(channel, ['sy:updatefrequency', 'syn:updatefrequency']) ?? 1);
  return frequency > 0 && Number.isFinite(frequency) ? Math.round(period / frequency) : period;
}
