// Protects from a restic repository that is damaged and called verified: it is read, and damage is told with its repair.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { watchConditions } from '../../src/features/health/watch-conditions.ts';
import { alertEvents } from '../../src/features/alerts/alert-store.ts';
import { DAY } from '../../src/platform/clock.ts';
import { startHub } from '../support/hub.ts';
import { retitlePosts } from '../support/stored-posts.ts';
import { flipBit, packsOf, resticHub, type ResticHub } from '../support/restic.ts';
import { testWith } from '../support/tools.ts';

const test = testWith('restic');
const DAMAGED = /the repository: DAMAGED: .* see "A damaged restic repository" in scripts\/README\.md/;

/** What restore.sh --list says of each backup in the repository. */
async function shownOf(hub: ResticHub): Promise<string[]> {
  const { status, stdout, stderr } = await hub.run('restore.sh', ['--list']);
  assert.equal(status, 0, stderr);
  const [, lines = ''] = stdout.split('restore.sh --restic NAME\n');
  return lines.split('\n').filter(Boolean).map((line) => line.replace(/^.* schema \d+ +/, ''));
}

/** The hub's restic from now on: its repository has more than 1 GiB, as far as it says. Returns what it read last. */
function sayLarge(hub: ResticHub): () => string[] {
  const log = join(hub.folder, 'reads');
  hub.replace('restic', `case "$*" in check*) echo "$2" >>'${log}' ;; esac
    case "$*" in *subset=1G) echo 'read 1073741824 bytes of data packs' ;; *) exec REAL "$@" ;; esac`);
  return () => {
    const parts = readFileSync(log, 'utf8').split('\n').filter(Boolean).map((line) => line.split('=')[1] ?? '');
    writeFileSync(log, '');
    return parts;
  };
}

/** As if the hub had read and listed all that it knows of a day earlier. */
function passDay(hub: ResticHub): void {
  const [name = ''] = readdirSync(join(hub.dataDir, 'run')).filter((file) => file.startsWith('restic-reading.'));
  const path = join(hub.dataDir, 'run', name);
  writeFileSync(path, readFileSync(path, 'utf8').replace(/\b\d{13}\b/g, (at) => String(Number(at) - DAY)));
}

function partOf(pack: string, parts: number): string {
  return `${parseInt(basename(pack).slice(0, 2), 16) % parts + 1}/${parts}`;
}

test('a bit flipped in every pack fails the next run and raises an alert, and no backup in the repository is called verified', async (t) => {
  const hub = resticHub(t);
  for (let n = 0; n < 3; n++) hub.upload(randomBytes(100_000));
  for (const days of [2, 1]) assert.equal((await hub.send(await hub.verified(Date.now() - days * DAY))).status, 0);
  assert.ok((await shownOf(hub)).every((line) => /^verified 20.* UTC$/.test(line)));
  assert.ok(packsOf(hub).length >= 4);
  packsOf(hub).forEach((pack) => flipBit(pack));

  const last = await hub.verified();
  const { status, stderr } = await hub.send(last, { BACKUP_RESTIC_KEEP: 'last=1' });

  assert.equal(status, 1);
  assert.match(stderr, DAMAGED);
  assert.equal((await hub.list()).length, 3, 'nothing is removed from a damaged repository');
  assert.deepEqual(new Set(await shownOf(hub)), new Set(['in a repository that is DAMAGED']));
  assert.notEqual((await hub.run('restic-backups.sh', ['fetch', last], { DATA_DIR: join(hub.folder, 'new') })).status, 0);

  const told = await startHub(t, {
    BACKUP_RESTIC_REPOSITORY: hub.repository, BACKUP_RESTIC_PASSWORD_FILE: hub.password, ALERT_WEBHOOK_URL: 'http://127.0.0.1:8/',
  });
  told.handle.config.dataDir !== hub.dataDir && execFileSync('cp', ['-a', `${hub.dataDir}/run/.`, `${told.dataDir}/run`]);
  watchConditions(told.handle);
  const { isOpen, subjects } = alertEvents(told.handle).find('backup-offsite-failed') ?? assert.fail('no alert');
  assert.deepEqual([isOpen, /^The restic repository is damaged: .* DAMAGED: .*scripts\/README\.md/.test(subjects[0] ?? '')], [1, true], subjects[0]);
});

test('a larger repository is read in parts: until all of them were, its backups are sent and being checked, which is no warning', async (t) => {
  const hub = resticHub(t);
  for (let n = 0; n < 3; n++) hub.upload(randomBytes(50_000));
  const reads = sayLarge(hub);
  const name = await hub.verified();
  const first = await hub.send(name);
  assert.equal(first.status, 0, first.stderr);
  const parts = new Set(packsOf(hub).map((pack) => partOf(pack, 2)));
  const [whole, part = '', ...more] = reads();
  assert.deepEqual([whole, more, parts.has(part)], ['1G', [], true], 'one part that is not empty');
  if (parts.size === 2) {
    assert.deepEqual(await shownOf(hub), ['sent, being checked']);
    const { stdout } = await hub.run('hubctl', ['status', '--json']);
    const { findings } = JSON.parse(stdout) as { findings: { subject: string; level: string }[] };
    assert.equal(findings.find(({ subject }) => subject === 'Copies by restic')?.level, 'good');
    assert.equal((await hub.send(name)).status, 0);
    assert.deepEqual([reads(), await shownOf(hub)], [[], ['sent, being checked']], 'the next one the next day');
    passDay(hub);
    assert.equal((await hub.send(name)).status, 0);
    assert.deepEqual([reads(), parts.has(part)], [[part === '1/2' ? '2/2' : '1/2'], true]);
  }
  assert.match(String(await shownOf(hub)), /^verified 20/);

  // One bit of the pack that was read last is found when its turn comes, on the second day, and from then on at once.
  const pack = packsOf(hub).find((path) => partOf(path, 2) === part) ?? '';
  passDay(hub);
  flipBit(pack);
  const found = await hub.send(name);
  assert.deepEqual([found.status, reads()], [1, [part]]);
  assert.match(found.stderr, DAMAGED);
  assert.equal((await hub.send(name)).status, 1);
  assert.deepEqual([reads(), await shownOf(hub)], [[part], ['in a repository that is DAMAGED']]);
  flipBit(pack);
  assert.equal((await hub.send(name)).status, 0);
  assert.match(String(await shownOf(hub)), /^verified 20/, 'a disk that could not be read for a while');
});

test('a damaged index, snapshot or repository that cannot be opened is told in the same words', async (t) => {
  const hub = resticHub(t);
  const name = await hub.verified();
  assert.equal((await hub.send(name)).status, 0);
  for (const what of ['index', 'snapshots', 'config', 'keys']) {
    const path = join(hub.repository, what);
    const file = statSync(path).isFile() ? path : join(path, String(readdirSync(path)[0]));
    flipBit(file);
    const { status, stderr } = await hub.send(name);
    assert.equal(status, 1, what);
    assert.match(stderr, /DAMAGED: .* see "A damaged restic repository" in scripts\/README\.md/, what);
    if (what === 'index') hub.restic('rebuild-index');
    else flipBit(file);
  }
  assert.equal((await hub.send(name)).status, 0);
});

/** Sends two backups, of which the second adds a large attachment, and names the packs that each added. */
async function sendTwo(hub: ResticHub): Promise<{ names: [string, string]; packs: [string[], string[]]; kept: { path: string } }> {
  const kept = hub.upload(randomBytes(100_000));
  const first = await hub.verified(Date.now() - DAY);
  assert.equal((await hub.send(first)).status, 0);
  const before = packsOf(hub);
  hub.upload(randomBytes(200_000));
  const second = await hub.verified();
  assert.equal((await hub.send(second)).status, 0);
  return { names: [first, second], packs: [before, packsOf(hub).filter((pack) => !before.includes(pack))], kept };
}

test('by the words of the handbook a damaged repository is repaired in its place, and loses only what nobody has any more', async (t) => {
  const hub = resticHub(t);
  const { names: [first, second], packs: [before, added], kept } = await sendTwo(hub);
  const largest = (packs: string[]): string => packs.toSorted((a, b) => statSync(b).size - statSync(a).size)[0] ?? '';
  const bad = [largest(before), largest(added)];
  bad.forEach(flipBit);
  assert.equal((await hub.send(second)).status, 1);

  // The database of the first backup is gone from this machine and from the hub.
  rmSync(join(hub.dataDir, 'backups', first), { recursive: true });
  const script = `
    export RESTIC_REPOSITORY='${hub.repository}' RESTIC_PASSWORD_FILE='${hub.password}' RESTIC_CACHE_DIR='${hub.folder}/mine'
    restic check --read-data 2>&1 | sed -n 's/.*Pack ID does not match, want \\([0-9a-f]*\\),.*/\\1/p' >'${hub.folder}/bad' || :
    while read -r id; do rm -f "$RESTIC_REPOSITORY/data/$(echo "$id" | cut -c 1-2)/$id"; done <'${hub.folder}/bad'
    restic -q rebuild-index`;
  execFileSync('sh', ['-c', script], { env: hub.env });
  assert.deepEqual(readFileSync(join(hub.folder, 'bad'), 'utf8').split('\n').filter(Boolean).sort(), bad.map((path) => basename(path)).sort());
  assert.ok(bad.every((path) => !existsSync(path)));
  retitlePosts(hub, 'changed since');
  const third = await hub.verified(Date.now() + 2_000);
  const stored = await hub.send(third);
  assert.deepEqual([stored.status, /storing the file again/.test(stored.stderr)], [1, true], stored.stderr);
  await hub.send(third);
  const into = join(hub.folder, 'new');
  const fetched = await hub.run('restic-backups.sh', ['fetch', third], { DATA_DIR: into });
  assert.equal(fetched.status, 0, fetched.stderr);
  assert.ok(existsSync(kept.path));
  for (const { name, id } of await hub.list()) {
    renameSync(into, `${into} of ${name}`);
    if ((await hub.run('restic-backups.sh', ['fetch', name], { DATA_DIR: into })).status === 0) continue;
    hub.restic('forget', id);
  }
  const { status, stderr } = await hub.send(third);
  assert.equal(status, 0, stderr);
  const left = await shownOf(hub);
  assert.ok(left.length >= 1 && left.every((line) => line.startsWith('verified 20')), left.join());
});
