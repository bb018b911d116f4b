import { DAY, HOUR, MINUTE } from '../../platform/clock.ts';
import type { PreparedPost } from './post-store.ts';

/** A post of a fetched feed whose id the hub does not know. */
export type NewPost = Pick<PreparedPost, 'guid' | 'url' | 'givenUrl' | 'link' | 'title' | 'publishedAt'>;

/**
 * A stored post; times are in unix ms. `hasLeft`: 1 if it has left its feed. `isFirst`: its source has no earlier post
 * with its link.
 */
export type OldPost = {
  guid: string; url: string | null; title: string; publishedAt: number; createdAt: number; hasLeft: number;
  isFirst?: boolean;
};

export type Moved = { from: string; to: string };

type Pair = { one: NewPost; old: OldPost; grade: number };

// `before` is what the hub or a feed writes before the address in an id.
const ADDRESS = /^(.*?)https?:\/\/(?:www\.)?([^/?#]+)([^?#]*?)\/?([?#].*)?$/is;

function partsOf(address: string | null): { before: string; host: string; rest: string; end: string } | undefined {
  const [, before = '', host, rest = '', end = ''] = ADDRESS.exec(address ?? '') ?? [];
  return host === undefined ? undefined : { before, host, rest, end };
}

/** The forms of an address, or of an id with one: http or https, `www.` or not, a slash at the path's end or not. */
export function formsOf(text: string, otherHosts: Iterable<string> = []): string[] {
  const parts = partsOf(text);
  if (!parts) return [text];
  const { before, host, rest, end } = parts;
  return [host, ...otherHosts].flatMap((name) => ['http://', 'http://www.', 'https://', 'https://www.']
    .flatMap((scheme) => ['', '/'].map((slash) => before + scheme + name + rest + slash + end)));
}

function isSameAddress(one: string | null, other: string | null): boolean {
  const [a, b] = [partsOf(one), partsOf(other)];
  return a !== undefined && b !== undefined && a.host === b.host && a.before === b.before && isSamePath(one, other);
}

function isSamePath(one: string | null, other: string | null): boolean {
  const [a, b] = [partsOf(one), partsOf(other)];
  return a !== undefined && b !== undefined && a.rest === b.rest && a.end === b.end;
}

/** A post whose feed gives no time counts as published up to about this long before it arrived, in the feed's order. */
const FEED_ORDER = 10_000; // ms

/** At least so many different times of a source tell whether they are only dates. */
const SEVERAL = 4;

/**
 * Whether a time (unix ms) of a feed is only a date, which many posts share: midnight, in UTC or in a zone of its own,
 * which it has in common with the `others` of its source; an hour more or less is summer time.
 */
export function isOnlyDate(time: number, others: readonly number[]): boolean {
  if (time % DAY === 0) return true;
  const fromMidnight = (other: number): number => Math.abs((((other - time) % DAY) + DAY * 1.5) % DAY - DAY / 2);
  return time % (15 * MINUTE) === 0 && others.length >= SEVERAL && others.every((other) => fromMidnight(other) <= HOUR);
}

/**
 * How surely a new post is a stored one under another id: 4 for an id that is the same address in another form, 3 if
 * link, title and time agree, 2 if only the time was lost or corrected, 1 if one of title and link differs; 0: not.
 * `isDate`: the time is only a date. A link to a front page (`link` is null) says nothing.
 */
export function gradeOf(one: NewPost, old: OldPost, isDate: boolean): number {
  if (isSameAddress(one.guid, old.guid)) return 4;
  const isLinked = one.link !== null && [one.url, one.givenUrl].some((url) => isSameAddress(url, old.url));
  const isTitled = one.title !== '' && one.title === old.title;
  const isTimed = one.publishedAt === old.publishedAt;
  if (isLinked && isTitled && isTimed) return 3;
  if (isLinked && isTitled && old.isFirst && mayHaveLostTime(one, old)) return 2;
  const isExact = isTimed && !isDate;
  if (isTimed && isTitled && (isExact || (one.link !== null && isSamePath(one.url, old.url)))) return 1;
  return isExact && isLinked && old.isFirst ? 1 : 0;
}

/** Whether the feed gave the stored post a time and gives the new one none, or gives it one that is no later. */
function mayHaveLostTime({ publishedAt }: NewPost, old: OldPost): boolean {
  return publishedAt === null ? old.createdAt - old.publishedAt > FEED_ORDER : publishedAt <= old.publishedAt;
}

/**
 * Which new posts are which stored ones, the surest first; none where a new or a stored post has two equally sure
 * partners, but that what has left the feed, such as a copy from before an earlier move, yields to what has not. A
 * stored post whose id the feed has too (`inFeed`) is another post.
 */
export function pairUp(pairs: Pair[], inFeed: ReadonlySet<string>): Pair[] {
  const taken = new Set<string>();
  const moved: Pair[] = [];
  for (const grade of [4, 3, 2, 1]) {
    const left = pairs.filter((pair) => pair.grade === grade && !taken.has(pair.one.guid) && !taken.has(pair.old.guid));
    const ofOld = Map.groupBy(left, ({ old }) => old.guid);
    for (const all of Map.groupBy(left, ({ one }) => one.guid).values()) {
      const [pair, another] = all.some(({ old }) => !old.hasLeft) ? all.filter(({ old }) => !old.hasLeft) : all;
      if (!pair || another || inFeed.has(pair.old.guid) || ofOld.get(pair.old.guid)?.length !== 1) continue;
      moved.push(pair);
      taken.add(pair.one.guid).add(pair.old.guid);
    }
  }
  return moved;
}

/** A site has one host, and perhaps another for a part of its posts. */
const MOST_HOSTS = 2;

/** The hosts that most of the moved posts had before, where their addresses only got another one. */
export function formerHosts(moved: Pair[]): string[] {
  const moves = moved.filter(({ one, old }) => isSamePath(one.url, old.url) && !isSameAddress(one.url, old.url));
  const byHost = Map.groupBy(moves.flatMap(({ old }) => partsOf(old.url)?.host ?? []), (host) => host);
  return [...byHost].sort(([, one], [, other]) => other.length - one.length).slice(0, MOST_HOSTS).map(([host]) => host);
}
