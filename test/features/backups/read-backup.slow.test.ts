// Protects single posts and files out of a backup: what comes back is what was stored, and nothing else is touched.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { gunzipSync, gzipSync } from 'node:zlib';
import { addPost, backupHub, changeDatabase, copyOf, renewHashes } from '../../support/backup-hub.ts';
import { hubctl } from '../../support/hubctl.ts';
import { hubEnvironment } from '../../support/hub-process.ts';
import { PROJECT_ROOT } from '../../support/run-program.ts';
import { retitlePosts } from '../../support/stored-posts.ts';
import { temporaryFolder } from '../../support/temporary-project.ts';

const PICTURE = randomBytes(700_000);

/** A backup with posts and three files, and the words of hubctl, confined as ever, with what it wrote. */
async function savedHub(t: TestContext) {
  const hub = backupHub(t);
  addPost(hub.db, 2, '<p>Their “faces”\n are discs.</p>');
  retitlePosts(hub, 'Owls\x1b[2J of the night', 2);
  const picture = hub.upload(PICTURE, 'Barn owl.jpg', 2);
  const [first, second] = [hub.upload('first notes', 'notes.txt'), hub.upload('second notes', 'notes.txt')];
  const { name, path } = await hub.backup();
  const run = (args: string[], cwd = PROJECT_ROOT) => {
    const launch = [join(PROJECT_ROOT, 'src/bin/launch.ts'), 'hubctl', 'backup', ...args];
    const { status, stdout, stderr } = spawnSync(process.execPath, launch, { env: hubEnvironment(hub.dataDir), cwd });
    return { status, stdout, stderr: stderr.toString().replace(/^\(.*--.*\n/gm, '') };
  };
  return { hub, name, path, run, picture: picture.sha256, notes: [first.sha256, second.sha256] };
}

test('a backup shows what it holds, and which posts and files have a text in their names', async (t) => {
  const { hub, name, path, picture } = await savedHub(t);
  const { status, stdout } = await hubctl(hub.dataDir, 'backup', 'show', name);
  assert.equal(status, 0);
  assert.match(stdout, new RegExp(`^Backup ${path}\n  made +\\S+Z by version 1\\.2\\.3, schema \\d+\n` +
    '  content +1 account, 1 source, 2 posts\n  attachments +3 in 3 files, 684 KiB\n$'.replace('684 KiB', '[\\d.]+ .iB')));

  const found = (await hubctl(hub.dataDir, 'backup', 'show', path, 'OWL')).stdout.split('\n').slice(4);
  assert.equal(found[0], 'post 2  1970-01-01T00:00:00.001Z  Owls [2J of the night', 'nothing moves the cursor');
  assert.match(found[1] ?? '', new RegExp(`^upload ${picture}  [\\d.]+ .iB  Barn owl\\.jpg  \\(post 2\\)$`));
  assert.deepEqual(found.slice(2), ['']);
});

test('one post comes back with its files\' names, one upload byte by byte, by its hash or its name', async (t) => {
  const { hub, run, name, path, picture, notes } = await savedHub(t);
  const before = tree(hub.dataDir);
  const { post, attachments } = JSON.parse(run(['extract', name, 'post', '2']).stdout.toString());
  assert.deepEqual([post.id, post.source_id, post.content_html], [2, 1, '<p>Their “faces”\n are discs.</p>']);
  assert.deepEqual(attachments.map(({ filename, sha256 }: Record<string, unknown>) => [filename, sha256]), [['Barn owl.jpg', picture]]);

  assert.ok(run(['extract', name, 'upload', 'Barn owl.jpg']).stdout.equals(PICTURE));
  const elsewhere = join(temporaryFolder(t), 'copy');
  cpSync(path, elsewhere, { recursive: true });
  assert.ok(run(['extract', './copy', 'upload', picture], join(elsewhere, '..')).stdout.equals(PICTURE), 'a folder anywhere');
  assert.equal(run(['extract', name, 'upload', notes[1] ?? '']).stdout.toString(), 'second notes');

  const both = run(['extract', name, 'upload', 'notes.txt']);
  assert.deepEqual([both.status, both.stdout.length], [1, 0]);
  for (const hash of notes) assert.match(both.stderr, new RegExp(`^${hash}  .*notes\\.txt  \\(post 1\\)$`, 'm'));
  assert.match(both.stderr, /backup: several files have that name: give the SHA-256 of one file\n$/);
  assert.deepEqual(tree(hub.dataDir), before, 'nothing was written, in the hub or the backup');
});

test('what is not there, was lost before, or is damaged is said, and nothing of it is printed', async (t) => {
  const { hub, name, path, picture, notes } = await savedHub(t);
  const said = async (args: string[]): Promise<string> => {
    const { status, stdout, stderr } = await hubctl(hub.dataDir, 'backup', ...args);
    assert.deepEqual([status, stdout], [1, ''], args.join());
    return stderr;
  };
  assert.match(await said(['extract', name, 'post', '77']), /there is no post 77 in this backup/);
  assert.match(await said(['extract', name, 'upload', 'owl.png']), /there is no upload "owl\.png" in this backup/);
  assert.match(await said(['show', '20200101-000000']), /there is no folder .*20200101-000000 \(restore\.sh --list shows all backups\)/);
  assert.match(await said(['show', join(path, 'hub.db')]), /hub\.db is not the folder of a backup/);
  assert.match(await said(['show', hub.dataDir]), /SHA256SUMS is missing/);

  const damaged = copyOf(path, 'damaged');
  const tar = gunzipSync(rawArchive(path));
  const at = tar.indexOf(PICTURE.subarray(0, 64)) + 600_000;
  tar.writeUInt8(tar.readUInt8(at) ^ 1, at);
  writeFileSync(join(damaged, 'uploads.tar.gz'), gzipSync(tar));
  renewHashes(damaged);
  assert.match(await said(['extract', damaged, 'upload', picture]), /holds uploads\/.* with other content/);

  const forged = copyOf(path, 'forged');
  changeDatabase(forged, (db) => retitlePosts({ db }, 'Forged', 2));
  cpSync(join(path, 'SHA256SUMS'), join(forged, 'SHA256SUMS'));
  assert.match(await said(['extract', forged, 'post', '2']), /hub\.db does not match SHA256SUMS/);

  const piped = copyOf(path, 'piped');
  renameSync(join(piped, 'hub.db'), `${piped}.db`);
  symlinkSync(`${piped}.db`, join(piped, 'hub.db'));
  assert.match(await said(['show', piped]), /hub\.db is not a plain file/);

  rmSync(join(hub.dataDir, 'uploads', (notes[0] ?? '').slice(0, 2), notes[0] ?? ''));
  const { path: degraded } = await hub.backup();
  assert.match(await said(['extract', degraded, 'upload', notes[0] ?? '']), /is not in the backup: it was missing when the backup was made/);
  assert.match((await hubctl(hub.dataDir, 'backup', 'show', degraded)).stdout, new RegExp(`^  absent +uploads/../${notes[0]} is missing$`, 'm'));
});

test('an encrypted copy is said to be one', async (t) => {
  const { hub } = await savedHub(t);
  const sealed = join(temporaryFolder(t), '20260131-031500');
  mkdirSync(sealed);
  writeFileSync(join(sealed, 'backup.tar.gz.age'), '');
  assert.match((await hubctl(hub.dataDir, 'backup', 'show', sealed)).stderr, /the backup is encrypted: decrypt it first/);
});

test('whoever reads only the beginning, or has no space for it, gets no stack trace', async (t) => {
  const { hub, name } = await savedHub(t);
  const command = [process.execPath, join(PROJECT_ROOT, 'src/bin/launch.ts'), 'hubctl', 'backup', 'extract', name, 'upload'];
  for (const [way, said] of [['| head -c 1 | wc -c', ''], ['>/dev/full', 'hubctl: the output could not be written: ENOSPC']]) {
    const env = { ...hubEnvironment(hub.dataDir), PATH: '/usr/bin:/bin' };
    const run = spawnSync('sh', ['-c', `"$0" "$@" ${way}`, ...command, 'Barn owl.jpg'], { env });
    const stderr = run.stderr.toString().replace(/^\(.*--.*\n/gm, '');
    assert.equal(stderr.slice(0, (said ?? '').length || undefined), said);
    assert.doesNotMatch(stderr, /node:internal/);
  }
});

function rawArchive(path: string): Buffer {
  assert.ok(existsSync(path));
  return execFileSync('cat', [join(path, 'uploads.tar.gz')], { maxBuffer: 1e8 });
}

/** Every file and folder there. */
function tree(dataDir: string): string[] {
  return readdirSync(dataDir, { recursive: true }).map(String).filter((name) => !/hub\.db-(wal|shm)$/.test(name)).sort();
}
