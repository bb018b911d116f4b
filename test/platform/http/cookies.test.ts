// Protects session cookies from scripts, other hosts and other sites' forms.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cookieName, readCookie, setCookie } from '../../../src/platform/http/headers.ts';

test('a cookie is found by its whole name among others', () => {
  const cases: [header: string | undefined, value: string | undefined][] = [
    ['a=1', '1'],
    ['b=2; a=1; c=3', '1'],
    ['b=2;a=1', '1'],
    ['  a = 1 ; b=2', '1'],
    ['a=1; a=2', '1'],
    ['a=x=y==', 'x=y=='],
    ['a=', ''],
    ['aa=1; xa=2; A=3', undefined],
    ['a', undefined],
    ['=1; ;;; b', undefined],
    ['', undefined],
    [undefined, undefined],
  ];
  for (const [header, value] of cases) assert.equal(readCookie(header, 'a'), value, String(header));
});

test('a cookie is bound to its host over https, and always out of reach of scripts and other sites\' forms', () => {
  assert.equal(setCookie('s', 'v', { secure: false, maxAge: 60 }), 's=v; Path=/; HttpOnly; SameSite=Lax; Max-Age=60');
  assert.equal(
    setCookie('s', 'v', { secure: true, maxAge: 60 }),
    '__Host-s=v; Path=/; HttpOnly; SameSite=Lax; Max-Age=60; Secure',
  );
  assert.equal(cookieName('s', true), '__Host-s');
  assert.equal(cookieName('s', false), 's');
});
