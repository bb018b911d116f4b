/** Characters of robots.txt that are read; RFC 9309 asks for 500 KiB at least. */
export const ROBOTS_BYTES = 512 * 1024;

/** The name by which robots.txt addresses the hub, in lower case. */
const OWN_NAME = 'contenthub';

/** A rule of robots.txt. `pattern`: the beginning of the paths that the rule allows or forbids, with `*` and `$`. */
type Rule = { allows: boolean; pattern: string };

/** The rules of a site for the hub. */
export type RobotsRules = Rule[];

/** Reads the rules for the hub from robots.txt (RFC 9309): the groups that name the hub, or else the groups for `*`. */
export function parseRobots(text: string): RobotsRules {
  const rules: Record<'own' | 'everybody', Rule[]> = { own: [], everybody: [] };
  let isNamed = false;
  let group = { own: false, everybody: false };
  let isInRules = true; // a group begins with the names of programs, followed by its rules
  for (const [field, value] of linesOf(text)) {
    if (field === 'user-agent') {
      if (isInRules) group = { own: false, everybody: false };
      isInRules = false;
      if (value.toLowerCase() === OWN_NAME) group.own = isNamed = true;
      if (value === '*') group.everybody = true;
    } else if (field === 'allow' || field === 'disallow') {
      isInRules = true;
      const rule = { allows: field === 'allow', pattern: value };
      for (const who of ['own', 'everybody'] as const) if (group[who] && value !== '') rules[who].push(rule);
    }
  }
  return isNamed ? rules.own : rules.everybody;
}

function linesOf(text: string): [field: string, value: string][] {
  return text.split(/[\r\n]+/).map((line) => {
    const [content = ''] = line.split('#', 1);
    const colon = content.indexOf(':');
    return [content.slice(0, Math.max(0, colon)).trim().toLowerCase(), content.slice(colon + 1).trim()];
  });
}

/** Whether the rules allow the page: the longest matching rule decides, and of equally long rules an allowing rule. */
export function allowsPage(rules: RobotsRules, url: URL): boolean {
  const path = url.pathname + url.search;
  const [longest] = rules.filter(({ pattern }) => fits(pattern, path))
    .sort((a, b) => b.pattern.length - a.pattern.length || Number(b.allows) - Number(a.allows));
  return longest?.allows ?? true;
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
