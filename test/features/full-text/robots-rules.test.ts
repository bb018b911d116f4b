// Protects sites from fetches that their robots.txt forbids (RFC 9309), and the hub from hostile robots.txt.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allowsPage, parseRobots } from '../../../src/features/full-text/robots-rules.ts';

const CASES: [what: string, robots: string, path: string, isAllowed: boolean][] = [
  ['no rules', '', '/a', true],
  ['everything is forbidden', 'User-agent: *\nDisallow: /', '/a', false],
  ['an empty rule forbids nothing', 'User-agent: *\nDisallow:', '/a', true],
  ['another program is forbidden', 'User-agent: Other\nDisallow: /', '/a', true],
  ['the hub’s own group counts alone', 'User-agent: *\nDisallow: /\n\nuser-agent: contenthub\nDisallow: /b', '/a', true],
  ['several programs share a group', 'User-agent: Other\nUser-agent: ContentHub\nDisallow: /a', '/a', false],
  ['groups of one program are joined', 'User-agent: *\nAllow: /c\n\nUser-agent: *\nDisallow: /a', '/a', false],
  ['the longest rule decides', 'User-agent: *\nDisallow: /a\nAllow: /a/b', '/a/b/c', true],
  ['of two rules as long, the allowing one', 'User-agent: *\nDisallow: /a\nAllow: /a', '/a', true],
  ['a star', 'User-agent: *\nDisallow: /*/private*.html', '/x/private/owl.html', false],
  ['the end', 'User-agent: *\nDisallow: /*.pdf$', '/a.pdf?x', true],
  ['the end with a star', 'User-agent: *\nDisallow: /*.pdf$', '/a.pdf.pdf', false],
  ['the end without a star', 'User-agent: *\nDisallow: /a$', '/ab', true],
  ['a query', 'User-agent: *\nDisallow: /a?id=', '/a?id=1', false],
  ['comments and other lines', '# hello\nSitemap: https://x.test/\r\nUser-agent: * # all\r\nnonsense\r\nDisallow: /a # no', '/a', false],
];

for (const [what, robots, path, isAllowed] of CASES) {
  test(`robots.txt: ${what}`, () => {
    assert.equal(allowsPage(parseRobots(robots), new URL(`https://x.test${path}`)), isAllowed);
  });
}
