// Protects what comes back from a restic repository: the backup's own folder, on any machine, or nothing.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { backupHub, verify } from '../support/backup-hub.ts';
import { migrateAnew } from '../support/migrated-database.ts';
import { contents } from '../support/off-site.ts';
import { resticHub, type ResticHub } from '../support/restic.ts';
import { testWith } from '../support/tools.ts';
import { waitUntil } from '../support/wait-until.ts';

const test = testWith('restic');

/** A hub with two uploads whose backup of that name is in its repository. */
async function sentHub(t: TestContext): Promise<{ hub: ResticHub; name: string; backup: string }> {
  const hub = resticHub(t);
  hub.upload('an upload');
  hub.upload(Buffer.alloc(200_000, 'a larger upload'));
  const name = await hub.verified();
  const { status, stderr } = await hub.send(name);
  assert.equal(status, 0, stderr);
  return { hub, name, backup: join(hub.dataDir, 'backups', name) };
}

test('on a new machine with repository and password alone a backup is its folder again, byte by byte', async (t) => {
  const { hub, name, backup } = await sentHub(t);
  const dataDir = join(hub.folder, 'new machine');

  const { status, stdout, stderr } = await hub.run('restic-backups.sh', ['fetch', name], { DATA_DIR: dataDir });

  assert.equal(status, 0, stderr);
  const fetched = join(dataDir, 'backups', name);
  assert.equal(stdout, `${fetched}\n`);
  assert.deepEqual(contents(fetched), contents(backup));
  assert.equal((await verify(fetched)).verdict, 'verified');
  assert.deepEqual(readdirSync(join(dataDir, 'tmp')), []);
  const again = await hub.run('restic-backups.sh', ['fetch', name], { DATA_DIR: dataDir });
  assert.equal(again.status, 1);
  assert.match(again.stderr, /is there already/);
});

test('nothing is left of a backup that does not come back whole, and the reason is said', async (t) => {
  const { hub, name, backup } = await sentHub(t);
  rmSync(backup, { recursive: true });
  const unknown = await hub.run('restic-backups.sh', ['fetch', '20200101-000000']);
  assert.deepEqual([unknown.status, unknown.stdout], [1, '']);
  assert.match(unknown.stderr, /there is no backup 20200101-000000 in /);

  const packs = readdirSync(join(hub.repository, 'data'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  for (const pack of packs) {
    const bytes = readFileSync(pack);
    bytes.writeUInt8(bytes.readUInt8(20) ^ 1, 20);
    rmSync(pack);
    writeFileSync(pack, bytes);
  }
  const harmed = await hub.run('restic-backups.sh', ['fetch', name]);
  assert.deepEqual([harmed.status, harmed.stdout], [1, '']);
  assert.match(harmed.stderr, /could not be restored whole: .*could not be fetched/s);
  assert.equal(existsSync(backup), false);
  assert.deepEqual(hub.leftovers(), []);
});

test('what a killed fetch leaves in DATA_DIR goes with the next run or the next night, but not while one is under way', async (t) => {
  const { hub, name, backup } = await sentHub(t);
  rmSync(backup, { recursive: true });
  hub.replace('restic', 'REAL "$@" || exit; case $1 in restore) pkill -KILL -s $(ps -o sid= $$) ;; esac');
  assert.notEqual((await hub.run('restic-backups.sh', ['fetch', name])).status, 0);
  const [left = assert.fail('nothing was left'), ...more] = hub.leftovers();
  assert.deepEqual(more, []);
  assert.equal((await hub.run('off-site.sh', ['missed'])).status, 0);
  assert.deepEqual(hub.leftovers(), []);

  mkdirSync(join(hub.dataDir, 'tmp', left));
  const goOn = join(hub.folder, 'go on');
  hub.replace('restic', `[ $1 != restore ] || until [ -e '${goOn}' ]; do sleep 0.1; done; exec REAL "$@"`);
  const slow = hub.run('restic-backups.sh', ['fetch', name]);
  const isFetching = (): boolean => hub.leftovers().some((one) => existsSync(join(hub.dataDir, 'tmp', one, 'restic.out')));
  await waitUntil('it fetches', isFetching);
  assert.ok(!hub.leftovers().includes(left));
  assert.equal((await hub.run('restic-backups.sh', ['list'])).status, 0);
  writeFileSync(goOn, '');
  assert.deepEqual([(await slow).status, hub.leftovers()], [0, []]);
});

test('two hubs in one repository keep apart: each has its own, and a name that both have asks for the hub', async (t) => {
  const { hub, name } = await sentHub(t);
  migrateAnew(); // another id
  const other = backupHub(t);
  other.upload('of the other hub');
  const { name: its } = await other.backup({ clock: () => Date.parse(name.replace(/(....)(..)(..)-(..)(..)(..)/, '$1-$2-$3T$4:$5:$6Z')) });
  assert.equal(its, name);
  const its2 = { DATA_DIR: other.dataDir };
  const { status, stdout, stderr } = await hub.run('off-site.sh', ['send', join(other.dataDir, 'backups', its)], its2);
  assert.equal(status, 0, stderr);
  assert.match(stdout, /done, listed back and compared/);

  const list = await hub.list();
  assert.deepEqual(list.map((one) => one.name), [name, name]);
  const into = { DATA_DIR: join(hub.folder, 'new machine') };
  const unclear = await hub.run('restic-backups.sh', ['fetch', name], into);
  assert.equal(unclear.status, 1);
  assert.match(unclear.stderr, /several hubs have a backup .*: say which: [0-9a-f]{16}\/\d+-\d+ [0-9a-f]{16}\//);
  const ours = list.find(({ verified }) => verified !== '-')?.hub;
  const fetched = await hub.run('restic-backups.sh', ['fetch', `${ours}/${name}`], into);
  assert.equal(fetched.status, 0, fetched.stderr);
  assert.deepEqual(contents(join(into.DATA_DIR, 'backups', name)), contents(join(hub.dataDir, 'backups', name)));
});

test('what a disk cannot hold is refused before it is fetched', async (t) => {
  const { hub, name } = await sentHub(t);
  hub.replace('df', 'echo Avail; echo 100000');
  const into = join(hub.folder, 'new machine');
  mkdirSync(into);

  const { status, stderr } = await hub.run('restic-backups.sh', ['fetch', name], { DATA_DIR: into });

  assert.equal(status, 1);
  assert.match(stderr, /not enough disk space in .*: \d+ MiB are needed, 0 are free/);
  assert.deepEqual(readdirSync(join(into, 'backups')), []);
  assert.ok(statSync(into).isDirectory());
});
