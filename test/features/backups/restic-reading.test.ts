// Protects what is called verified in a restic repository: all that it needs was read since it was sent, part by part.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { backupName } from '../../../src/features/backups/backup-name.ts';
import { destinationKey } from '../../../src/features/backups/offsite-status.ts';
import {
  emptyRecord, isPruningDue, loadRecord, nextPart, noteDamage, notePartRead, readAtOf, recordPath, takeIn, textOfRecord,
  WHOLE, WHOLE_BYTES, type RepositoryRecord,
} from '../../../src/features/backups/restic-record.ts';
import { loadConfig } from '../../../src/features/hub/read-config.ts';
import { DAY, HOUR } from '../../../src/platform/clock.ts';
import { hubctl } from '../../support/hubctl.ts';
import { seeded } from '../../support/random.ts';
import { sha256 } from '../../support/sha256.ts';
import { temporaryFolder } from '../../support/temporary-project.ts';

const START = Date.UTC(2026, 5, 1);
const id = (name: string): string => sha256(name);
const idWith = (firstByte: number, name: string): string => firstByte.toString(16).padStart(2, '0') + id(name).slice(2);
const packsNamed = (prefix: string, count: number): string[] => Array.from({ length: count }, (_, n) => id(`${prefix} ${n}`));

/** A repository that was found to be large. */
function large(packs: string[], snapshots: string[], at = START): RepositoryRecord {
  const reading = emptyRecord();
  takeIn(reading, packs, snapshots, at);
  assert.equal(nextPart(reading, at), WHOLE);
  notePartRead(reading, WHOLE, WHOLE_BYTES, at);
  return reading;
}

/** A run a day: what is listed is taken in, what is due is read. Returns the parts. */
function readDay(reading: RepositoryRecord, packs: string[], snapshots: string[], at: number): string[] {
  takeIn(reading, packs, snapshots, at);
  const parts: string[] = [];
  for (let part = nextPart(reading, at); part !== null && parts.length < 3; part = nextPart(reading, at, true)) {
    notePartRead(reading, part, null, at);
    parts.push(part);
  }
  return parts;
}

test('a repository of less than a gigabyte is read whole in every run, and so all in it is verified', () => {
  const reading = emptyRecord();
  takeIn(reading, packsNamed('a', 3), ['one'], START);
  assert.equal(readAtOf(reading, 'one'), null);
  for (const at of [START, START + 1, START + HOUR]) {
    takeIn(reading, packsNamed('a', 3), ['one', 'two'], at);
    assert.equal(nextPart(reading, at), WHOLE);
    notePartRead(reading, WHOLE, WHOLE_BYTES - 1, at);
    assert.deepEqual([nextPart(reading, at, true), readAtOf(reading, 'one'), readAtOf(reading, 'two')], [null, at, at]);
  }
  assert.equal(readAtOf(reading, 'three'), null);
});

test('of what restic read at random of a large one, or where it does not say how much that was, nothing is known', () => {
  for (const bytes of [WHOLE_BYTES, null, NaN]) {
    const reading = emptyRecord();
    takeIn(reading, packsNamed('a', 100), ['one'], START);
    notePartRead(reading, WHOLE, bytes, START);
    assert.equal(readAtOf(reading, 'one'), null, String(bytes));
    assert.match(nextPart(reading, START + DAY) ?? '', /^\d\/3$/);
  }
});

test('a repository that has just got a gigabyte is large without being measured', () => {
  const reading = emptyRecord();
  takeIn(reading, packsNamed('a', 100), ['one'], START, WHOLE_BYTES);
  assert.match(nextPart(reading, START) ?? '', /^\d\/3$/);
});

test('a part without packs is skipped: a few packs are read within as many runs', () => {
  const packs = [idWith(0, 'a'), idWith(28, 'b'), idWith(28, 'c')]; // with two parts, all of them lie in the first
  const reading = large(packs, ['one']);
  assert.deepEqual(readDay(reading, packs, ['one'], START + DAY), ['1/2']);
  assert.equal(readAtOf(reading, 'one'), START + DAY);
});

test('a large one is read in parts, one a day; a snapshot is verified when the last part it needs was read', () => {
  const packs = packsNamed('a', 400);
  const reading = large(packs, ['one']);
  const read: string[] = [];
  for (let day = 1; day <= 10; day++) {
    assert.equal(readAtOf(reading, 'one'), null, `day ${day}`);
    read.push(...readDay(reading, packs, ['one'], START + day * DAY));
    assert.deepEqual(readDay(reading, packs, ['one'], START + day * DAY + HOUR), [], 'once a day');
  }
  assert.deepEqual(read.sort(), ['1/10', '10/10', '2/10', '3/10', '4/10', '5/10', '6/10', '7/10', '8/10', '9/10']);
  assert.equal(readAtOf(reading, 'one'), START + DAY, 'the day since which all of it has been read');
});

test('a snapshot needs what was there when it was sent, read since then; what others added later does not keep it waiting', () => {
  const packs = packsNamed('a', 100);
  const reading = large(packs, ['one']);
  readDay(reading, packs, ['one'], START + DAY);
  for (let day = 2; day <= 4; day++) {
    packs.push(...packsNamed(`of day ${day}`, 2));
    readDay(reading, packs, ['one', 'two'], START + day * DAY);
    assert.equal(readAtOf(reading, 'two'), day < 4 ? null : START + 2 * DAY, `day ${day}`);
  }
  assert.ok(readAtOf(reading, 'one') !== null);
});

test('what pruning moved into new packs has to be read as well before a snapshot is verified', () => {
  const packs = packsNamed('a', 80);
  const reading = large(packs, ['one']);
  const [firstPart = ''] = readDay(reading, packs, ['one'], START + DAY);
  const other = firstPart === '1/2' ? 1 : 0;
  const moved = idWith(1 - other, 'moved'); // into the part that has been read
  const gone = packs.filter((pack) => parseInt(pack.slice(0, 2), 16) % 2 === other).slice(0, 10);
  const after = [...packs.filter((pack) => !gone.includes(pack)), moved];
  assert.deepEqual(readDay(reading, after, ['one'], START + 2 * DAY), [`${other + 1}/2`]);
  assert.equal(readAtOf(reading, 'one'), null);
  assert.deepEqual(readDay(reading, after, ['one'], START + 3 * DAY), [firstPart]);
  assert.ok(readAtOf(reading, 'one') !== null);
  takeIn(reading, [...after.slice(1), id('moved again')], ['one'], START + 4 * DAY);
  assert.ok(readAtOf(reading, 'one') !== null, 'it stays verified as of that time');
});

test('over a year of sending, pruning and missed days, each snapshot is called verified in turn, and no snapshot too early', () => {
  const random = seeded(7);
  let packs = packsNamed('first', 700);
  const sentOn = new Map<string, { at: number; unread: Set<string> }>();
  let snapshots: string[] = [];
  const reading = large(packs, []);
  let verified = 0;
  for (let day = 1; day <= 365; day++) {
    if (random() < 0.1) continue;
    const at = START + day * DAY;
    packs = [...packs, ...packsNamed(`day ${day}`, 3)];
    snapshots = [...snapshots, `snapshot ${day}`].slice(-60);
    sentOn.set(`snapshot ${day}`, { at, unread: new Set(packs) });
    for (const part of readDay(reading, packs, snapshots, at)) {
      const [n = 0, of = 1] = part.split('/').map(Number);
      for (const { unread } of sentOn.values()) {
        for (const pack of unread) if (parseInt(pack.slice(0, 2), 16) % of === n - 1) unread.delete(pack);
      }
    }
    for (const snapshot of snapshots) {
      if (readAtOf(reading, snapshot) === null) continue;
      verified++;
      assert.equal(sentOn.get(snapshot)?.unread.size, 0, `${snapshot} on day ${day}`);
    }
    if (isPruningDue(reading, at)) {
      reading.prunedAt = at;
      const gone = packs.filter(() => random() < 0.03);
      const into = packsNamed(`pruned on ${day}`, Math.ceil(gone.length / 2));
      packs = [...packs.filter((pack) => !gone.includes(pack)), ...into];
      for (const { unread } of sentOn.values()) { // what was in any of those may be in any of these
        gone.forEach((pack) => unread.delete(pack));
        into.forEach((pack) => unread.add(pack));
      }
      for (const snapshot of snapshots) if (readAtOf(reading, snapshot) !== null) sentOn.get(snapshot)?.unread.clear();
    }
  }
  assert.ok(verified > 1_000, `${verified}`);
  const old = snapshots.filter((name) => (sentOn.get(name)?.at ?? 0) < START + 310 * DAY);
  assert.ok(old.length > 0 && old.every((name) => readAtOf(reading, name) !== null), 'all that is two rounds old');
});

test('space is freed once a week; in a large repository not before all that was there the last time has been read', () => {
  const small = emptyRecord();
  takeIn(small, packsNamed('a', 3), [], START);
  assert.ok(isPruningDue(small, START), 'the first time');
  small.prunedAt = START;
  assert.deepEqual([6, 7].map((days) => isPruningDue(small, START + days * DAY)), [false, true]);
  small.prunedAt = START + 400 * DAY;
  assert.ok(isPruningDue(small, START), 'a clock was ahead');

  const packs = packsNamed('a', 400);
  const reading = large(packs, []);
  reading.prunedAt = START;
  const due = Array.from({ length: 10 }, (_, day) => {
    readDay(reading, packs, [], START + (day + 1) * DAY);
    return isPruningDue(reading, START + (day + 1) * DAY);
  });
  assert.equal(due.indexOf(true), 9);
});

test('damage stays until what was bad has been read and found good, or has gone, and is looked at first', () => {
  const packs = packsNamed('a', 100);
  const reading = large(packs, ['one']);
  for (let day = 1; day <= 3; day++) readDay(reading, packs, ['one'], START + day * DAY);
  const bad = nextPart(reading, START + 4 * DAY) ?? '';
  noteDamage(reading, bad, START + 4 * DAY);
  noteDamage(reading, bad, START + 5 * DAY);
  assert.equal(reading.damagedAt, START + 4 * DAY);
  assert.equal(nextPart(reading, START + 5 * DAY), bad, 'at once, and not only the next day');
  const other = bad === '1/3' ? '2/3' : '1/3';
  notePartRead(reading, other, null, START + 5 * DAY);
  assert.equal(reading.damagedAt, START + 4 * DAY, 'another part says nothing of it');
  notePartRead(reading, bad, null, START + 5 * DAY);
  assert.equal(reading.damagedAt, 0);

  noteDamage(reading, bad, START + 6 * DAY);
  takeIn(reading, packsNamed('new', 2), [], START + 6 * DAY);
  assert.equal(nextPart(reading, START + 7 * DAY), WHOLE, 'the repository was made anew: it is measured again');
  notePartRead(reading, WHOLE, 1_000, START + 7 * DAY);
  assert.equal(reading.damagedAt, 0);
});

test('nothing is to be removed while anything of it is known to be damaged, although the last part was found good', async (t) => {
  const dataDir = temporaryFolder(t);
  mkdirSync(join(dataDir, 'run'));
  const [hub, other] = ['a'.repeat(16), 'b'.repeat(16)];
  const snapshot = (of: string, name: string) =>
    ({ id: id(of + name), tree: 'x', tags: [`hub=${of}`, `name=${name}`, 'verified=20260101-000000'] });
  const [day, ...before] = [0, 1, 2].map((days) => backupName(Date.now() - days * DAY));
  const plan = join(dataDir, 'plan');
  const remove = [...before.map((name) => snapshot(hub, name)), snapshot(other, before[0] ?? '')];
  writeFileSync(plan, JSON.stringify([{ keep: [snapshot(hub, day ?? '')], remove }]));
  const env = { DATA_DIR: dataDir, BACKUP_RESTIC_REPOSITORY: '/mnt/restic', BACKUP_RESTIC_PASSWORD_FILE: '/etc/password' };
  const forgettable = () => hubctl(env, 'restic', 'forgettable', hub, day ?? '', plan);
  assert.equal((await forgettable()).stdout, before.map((name) => `${id(hub + name)}\n`).join(''), 'never what is not its own');

  const packs = packsNamed('a', 400);
  const reading = large(packs, []);
  for (const part of ['1/10', '2/10']) noteDamage(reading, part, START);
  notePartRead(reading, '1/10', null, START);
  assert.ok(!isPruningDue(reading, START));
  assert.equal(nextPart(reading, START, true), '2/10', 'the other bad one follows at once');
  writeFileSync(recordPath(dataDir, destinationKey(loadConfig(env), 'restic') ?? ''), textOfRecord(reading));
  const { status, stdout, stderr } = await forgettable();
  assert.deepEqual([status, stdout], [1, '']);
  assert.match(stderr, /nothing was removed from the repository: it is damaged, .*"A damaged restic repository"/);
});

test('parts that nobody has read for 30 days are read three in a run', () => {
  const packs = packsNamed('a', 200);
  const reading = large(packs, []);
  for (let day = 1; day <= 5; day++) readDay(reading, packs, [], START + day * DAY);
  assert.equal(readDay(reading, packs, [], START + 40 * DAY).length, 3);
  assert.equal(readDay(reading, packs, [], START + 41 * DAY).length, 2);
  assert.equal(readDay(reading, packs, [], START + 42 * DAY).length, 1);
});

test('it is kept in a file; what that cannot say, and times of a clock that was ahead, count as never', (t) => {
  const dataDir = temporaryFolder(t);
  mkdirSync(join(dataDir, 'run'));
  const reading = large(packsNamed('a', 100), ['one']);
  for (let day = 1; day <= 3; day++) readDay(reading, packsNamed('a', 100), ['one'], START + day * DAY);
  noteDamage(reading, '1/3', START + 3 * DAY);
  writeFileSync(recordPath(dataDir, 'place'), textOfRecord(reading));
  assert.deepEqual(loadRecord(dataDir, 'place', START + 3 * DAY), reading);
  assert.deepEqual(loadRecord(dataDir, 'another place', START), emptyRecord());

  const before = loadRecord(dataDir, 'place', START - DAY);
  assert.equal(readAtOf(before, 'one'), null);
  takeIn(before, packsNamed('a', 100), ['one'], START - DAY);
  for (let day = 0; day <= 3; day++) readDay(before, packsNamed('a', 100), ['one'], START + (day - 1) * DAY + HOUR);
  assert.ok(readAtOf(before, 'one') !== null, 'it does not wait for that time');
  for (const text of ['', '[]', 'null', '{"packs":7}', '{"packs":{"a":[]}}']) {
    writeFileSync(recordPath(dataDir, 'place'), text);
    assert.deepEqual(loadRecord(dataDir, 'place', START), emptyRecord(), text);
  }
});
