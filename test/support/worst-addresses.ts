const Q = '"';

/** Paths for the addresses that have more than one worst case, by the template of the route. */
const PATHS: Record<string, string[]> = {
  '/': ['/', '/?limit=100', `/?q=${Q.repeat(3_000)}`, '/?order=oldest', '/?show=each', '/?show=each&order=oldest'],
  '/all': ['/all', `/all?q=${Q.repeat(3_000)}`, '/all?q=', '/all?order=oldest'],
  '/unread/posts/:id': ['/unread/posts/1', '/unread/posts/1?order=oldest', '/unread/posts/1?show=each'],
  '/public': ['/public?limit=100', `/public?limit=100&q=${'x '.repeat(3_000)}`, `/public?q=${Q.repeat(4_500)}`],
  '/folders/:name': [`/folders/${encodeURIComponent(`${Q.repeat(95)}2`)}`],
  '/sources': [
    '/sources?limit=100', '/sources?show=mine', '/sources?show=others', `/sources?folder=${Q.repeat(95)}2000`,
    `/sources?q=${Q.repeat(3_000)}`,
  ],
  '/sources/imports/:id': ['/sources/imports/1'],
  '/sources/:id': ['/sources/1', '/sources/2', '/sources/1?limit=100'],
  '/sources/:id/settings': ['/sources/1/settings', '/sources/2/settings'],
  '/write/:draft': [`/write/${'1'.repeat(16)}`],
  '/write': ['/write', '/write?source=1999'],
  '/history': ['/history?limit=100'],
  '/notifications': ['/notifications?limit=100'],
  '/sources/:source/posts/:id': ['/sources/1/posts/1'],
  '/folders/:name/posts/:id': [`/folders/${encodeURIComponent(`${Q.repeat(95)}1`)}/posts/1`],
};

const BY_STATE = ['/admin/jobs', '/admin/alerts'];

/** What to ask a route that reads for, so that it shows the most of what `addWorstRows` has stored. */
export function worstAddresses(path: string): string[] {
  const one = path.replace(/:\w+\*?/g, '1');
  const isList = path.startsWith('/admin/') && one === path;
  return PATHS[path] ?? (isList ? [one, `${one}?limit=100`, ...BY_STATE.includes(one) ? [`${one}?state=all`] : []] : [one]);
}
