// Protects the first hour of a newcomer: start, join by the printed link, add a feed, read it and stop.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { createClient } from '../../support/client.ts';
import { rss, serving } from '../../support/feeds.ts';
import { startHubProcess, temporaryDataDir } from '../../support/hub-process.ts';
import { startOrigin } from '../../support/origin.ts';
import { catches } from '../../support/run-program.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { startWebWithAccount } from '../../support/web-with-account.ts';

const PROJECT = resolve(import.meta.dirname, '../../..');

test('npm start: a newcomer joins by the printed link, adds a feed, reads it as page, JSON and Atom, and stops the hub', async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'smoke '));
  const hub = spawn('npm', ['start'], {
    cwd: PROJECT,
    env: { ...process.env, DATA_DIR: dataDir, PORT: '0', OUTBOUND_ALLOW: '127.0.0.0/8' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const printed = { out: '', err: '' };
  hub.stdout.on('data', (chunk) => (printed.out += chunk));
  hub.stderr.on('data', (chunk) => (printed.err += chunk));
  t.after(() => {
    hub.kill('SIGKILL');
    rmSync(dataDir, { recursive: true, force: true });
  });
  await waitUntil('the set-up link', () => /works once\): \S+\n/.test(printed.out) || hub.exitCode !== null);
  const address = /running at (\S+)/.exec(printed.out)?.[1] ?? assert.fail(`no address:\n${printed.out}${printed.err}`);
  const link = /works once\): (\S+)/.exec(printed.out)?.[1] ?? '';

  if (process.platform === 'linux') {
    const start = readFileSync(join(dataDir, 'run/hub.pid'), 'utf8').trim();
    const environment = readFileSync(`/proc/${start}/environ`, 'utf8');
    assert.match(environment, /\0MALLOC_ARENA_MAX=2\0/, 'the supervisor returns freed memory');
    const family = [start, ...readFileSync(`/proc/${start}/task/${start}/children`, 'utf8').trim().split(' ')];
    assert.ok(family.length >= 3, 'start.ts, web and worker');
    const caught = family.filter((pid) => catches(readFileSync(`/proc/${pid}/status`, 'utf8'), 10));
    assert.deepEqual(caught, [], 'no process of the hub opens a debugger at SIGUSR1');
  }

  const newcomer = createClient(address);
  const joined = await newcomer.form(link.slice(address.length), { username: 'ada', password: 'correct horse battery' });
  assert.equal(joined.status, 303, joined.text);

  const items = [{ guid: 'a', title: 'Barn owls' }];
  const origin = await startOrigin(t, { '/feed': serving(() => rss('Owls', items)) });
  const added = await newcomer.form('/sources', { url: `${origin.url}/feed`, visibility: 'public' });
  assert.equal(added.status, 303, added.text);
  const source = added.headers.get('location')?.replace(/\?.*/, '') ?? '';

  assert.match((await newcomer.page('/')).text, /Barn owls/);
  assert.match((await newcomer.get('/api/posts')).text, /"title":"Barn owls"/);
  assert.match((await newcomer.get('/posts.atom')).text, /<title>Barn owls<\/title>/);

  items.push({ guid: 'b', title: 'Tawny owls' });
  assert.equal((await newcomer.form(`${source}/sync`)).status, 303);
  await waitUntil('the new post', async () => (await newcomer.get('/api/posts')).text.includes('Tawny owls'));

  const ended = once(hub, 'exit');
  hub.kill('SIGTERM');
  const [code, signal] = await ended;
  assert.ok(code === 0 || signal === 'SIGTERM', `npm ended with ${code} ${signal}:\n${printed.err}`);
  await assert.rejects(fetch(`${address}/api/health?probe=live`), 'nothing listens any more');
});

test('a hub that npm start has not started says in its log how to make the first account, while it has none', async (t) => {
  const dataDir = temporaryDataDir(t);
  const { web } = await startWebWithAccount(t, dataDir);
  await web.end('SIGTERM');
  assert.match(String(web.lines('no account yet')[0]?.['toDo']), /^as this account run .*\/scripts\/hubctl invite --role admin, and open /);
  const again = startHubProcess(t, 'web', dataDir);
  await again.logged('listening');
  await again.end('SIGTERM');
  assert.deepEqual(again.lines('no account yet'), []);
});
