/** Bytes of robots.txt that are read; RFC 9309 asks for 500 KiB at least. */
export const ROBOTS_BYTES = 512 * 1024;

/** The most rules of a site's robots.txt that the hub compares with a page's path, which takes up to 90 ms. */
const MAX_RULES = 10_000;

/** The name by which robots.txt addresses the hub, in lower case. */
const OWN_NAME = 'contenthub';

/** A rule of robots.txt. `pattern`: the beginning of the paths that the rule allows or forbids, with `*` and `$`. */
type Rule = { allows: boolean; pattern: string };

export type RobotsRules = Rule[];

/** Reads the rules for the hub from robots.txt (RFC 9309): the groups that name the hub, or else the groups for `*`. */
export function parseRobots(text: string): RobotsRules {
  const rules: Record<'own' | 'everybody', Rule[]> = { own: [], everybody: [] };
  let isNamed = false;
  let group = { own: false, everybody: false };
  let isInRules = true; // in robots.txt, the lines `user-agent` of a group precede the rules
  for (const [field, value] of linesOf(text)) {
    if (field === 'user-agent') {
      if (isInRules) group = { own: false, everybody: false };
      isInRules = false;
      if (/^[a-z_-]*/i.exec(value)?.[0].toLowerCase() === OWN_NAME) group.own = isNamed = true;
      if (value === '*') group.everybody = true;
    } else if (field === 'allow' || field === 'disallow') {
      isInRules = true;
      const rule = { allows: field === 'allow', pattern: comparable(value) };
      for (const who of ['own', 'everybody'] as const) {
        if (group[who] && value !== '' && rules[who].length < MAX_RULES) rules[who].push(rule);
      }
    }
  }
  return isNamed ? rules.own : rules.everybody;
}

function linesOf(text: string): [field: string, value: string][] {
  const whole = text.length < ROBOTS_BYTES ? text : text.slice(0, text.lastIndexOf('\n') + 1); // drops a cut last line
  return whole.split(/[\r\n]+/).map((line) => {
    const [content = ''] = line.split('#', 1);
    const colon = content.indexOf(':');
    return [content.slice(0, Math.max(0, colon)).trim().toLowerCase(), content.slice(colon + 1).trim()];
  });
}

/** Whether the rules allow the page: the longest matching rule decides, and of equally long rules an allowing rule. */
export function allowsPage(rules: RobotsRules, url: URL): boolean {
  const path = comparable(url.pathname + url.search);
  const [longest] = rules.filter(({ pattern }) => fits(pattern, path))
    .sort((a, b) => b.pattern.length - a.pattern.length || Number(b.allows) - Number(a.allows));
  return longest?.allows ?? true;
}

/** Escapes or unescapes characters (`%7E`) of a path or pattern, so that equal paths look equal (RFC 9309, 2.2.2). */
function comparable(path: string): string {
  return path.replace(/[^\0-\x7f]+/g, encodeURIComponent).replace(/%[0-9a-f]{2}/gi, (escaped) => {
    const character = String.fromCharCode(parseInt(escaped.slice(1), 16));
    return /[\w.~-]/.test(character) ? character : escaped.toUpperCase();
  });
}

function fits(pattern: string, path: string): boolean {
  const isWhole = pattern.endsWith('$');
  const [first = '', ...parts] = (isWhole ? pattern.slice(0, -1) : pattern).split('*');
  if (!path.startsWith(first)) return false;
  let at = first.length;
  for (const part of isWhole ? parts.slice(0, -1) : parts) {
    const found = path.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  const last = parts.at(-1);
  if (!isWhole) return true;
  return last === undefined ? at === path.length : path.length - last.length >= at && path.endsWith(last);
}
