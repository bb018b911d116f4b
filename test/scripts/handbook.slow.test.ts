// Protects the handbook: every command in it does what it promises, in the order in which it is read.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { accounts } from '../../src/features/accounts/account-store.ts';
import { addNotes } from '../support/accounts.ts';
import { addJob } from '../support/stored-jobs.ts';
import { countRows } from '../support/stored-rows.ts';
import { freePort } from '../support/ports.ts';
import { startReceiver } from '../support/receiver.ts';
import { bootSystem } from '../support/booted-system.ts';
import { onWholeStream } from '../support/clamd.ts';
import { createClient, type Client } from '../support/client.ts';
import { readHandbook, variantsOf, type Block } from '../support/handbook.ts';
import { ELSEWHERE, inlineCommands } from '../support/handbook-commands.ts';
import { startHub } from '../support/hub.ts';
import { temporaryDataDir } from '../support/hub-process.ts';
import { ADAS_PASSWORD, operator, readVersion, type InForeground, type Operator } from '../support/operator.ts';
import { query } from '../support/restore-hub.ts';
import { PROJECT_ROOT, type Outcome } from '../support/run-program.ts';
import { temporaryProject, writeFiles } from '../support/temporary-project.ts';
import { requireRoot, requireTool } from '../support/tools.ts';
import { uploadPath, writePost } from '../support/uploads.ts';
import { waitUntil } from '../support/wait-until.ts';

const HANDBOOK = readHandbook();

/** What stands in the handbook for something of the reader's own, and what it is here; see support/operator.ts. */
const OURS: [theirs: RegExp, ours: string][] = [
  [/<this project>/g, '"$REMOTE"'],
  [/(\/safe\/place\/)?hub-backup\.key/g, '"$SAFE"/hub-backup.key'],
  [/\/safe\/place/g, '"$SAFE"'],
  [/--identity KEY <backup_dir>/g, '--identity "$SAFE"/hub-backup.key "$FAR"/20260131-031500'],
  [/<backup> --identity KEY/g, '"$FAR"/20260131-031500/backup.tar.gz.age --identity "$SAFE"/hub-backup.key'],
  [/--identity KEY$/g, '--identity "$SAFE"/hub-backup.key'],
  [/(fetch |name=)20260131-031500/g, '$1"$(cd "$HUB" && scripts/restic-backups.sh list | sed -n "$ s/ .*//p")"'],
  [/<backup(_dir)?>/g, 'data/backups/20260131-031500'],
  [/20260131-031500/g, '"$(ls "$HUB"/data/backups | grep -xE "[0-9]{8}-[0-9]{6}" | tail -n 1)"'],
  [/\/mnt\/backup-disk/g, '"$FAR"'],
  [/\/etc\/content-hub/g, '"$ETC"'],
  [/(install-systemd\.sh(?: --with-bridge)?)/g, '$1 --root "$IMAGE" --user nobody'],
  [/rclone config(?! file)/g, 'rclone config create box alias remote="$BOX"'],
  [/--recipient RECIPIENT/g, '--recipient "$(age-keygen -y "$SAFE"/hub-backup.key)"'],
  [/<version>/g, '"$(git rev-parse HEAD~1)"'],
  [/--to REF/g, '--to main'],
  [/v2\.0\.1/g, 'origin/main'],
  [/^scp -pr (.*) new-machine:$/gm, 'mkdir -p "$HUB"/../new/home && cp -pr $1 "$HUB"/../new/home/'],
  [/~\/("\$\(ls [^)]*\)"|\.env)/g, '../$1'],
  [/--hours N/g, '--hours 2'],
  [/--every HOURS/g, '--every 2'],
  [/--state STATE/g, '--state failed'],
  [/retry <id>/g, 'retry 9001'],
  [/discard <id>/g, 'discard 9002'],
  [/(disable|enable|role|reset-password) <name>/g, '$1 bob'],
  [/<VARIABLE>…/g, 'PORT DATA_DIR'],
  [/post (?:12|<id>)/g, 'post 1'],
  [/upload (?:'Barn owl\.jpg'|<file>)/g, 'upload owls.txt'],
  [/^sha256sum -c/g, 'cd data/backups/"$(ls data/backups | grep -xE "[0-9]{8}-[0-9]{6}" | tail -n 1)" && sha256sum -c'],
  [/^tar xzf /g, 'cd data && tar xzf '],
  [/<ab>\/<hash>/g, '$LOST'],
  [/:3311/g, ':"$BRIDGE_PORT"'],
];

function ours(theirs: string): string {
  return OURS.reduce((text, [pattern, own]) => text.replace(pattern, own), theirs);
}

/** Ada's hub, as far as the walk has come. */
type Walk = Operator & {
  hub: InForeground;
  ada: Client;
  file: { sha256: string; path: string };
  folder: 'hub' | 'new/content-hub' | 'new/home/content-hub';
  ran: Set<string>; // lines that have succeeded, as they were run
};

type Step = (walk: Walk, text: string) => Promise<unknown>;

/** For the blocks below each heading, in their order: how each is run, and what has to come of it. */
const STEPS: Record<string, Step[]> = {
  'The first start': [
    async (walk, text) => {
      await done(walk, text);
      const unit = readFileSync(join(walk.place('image'), 'etc/systemd/system/content-hub-web.service'), 'utf8');
      assert.ok(unit.includes(`WorkingDirectory=${walk.place('hub')}`));
    },
    async (walk, text) => assert.match((await done(walk, text)).stdout, /^http:\S+\/join\/\S+\n$/),
  ],
  'The first backup': [
    async (walk, text) => {
      const { stdout } = await done(walk, text);
      assert.match(stdout, /^result=verified off-site=none .*dir=/m);
      assert.match(stdout, /^VERIFIED/m);
      const files = readdirSync(walk.place(`hub/data/backups/${backupsOf(walk)[0]}`)).sort();
      assert.deepEqual(files, ['SHA256SUMS', 'hub.db', 'uploads.tar.gz']);
    },
    async (walk, text) => {
      await done(walk, text);
      assert.match(readFileSync(walk.place('crontab'), 'utf8'), /^15 3 \* \* \* .*nightly-backup\.sh'$/m);
    },
    async (walk, text) => assert.match((await done(walk, text)).stdout, /^REHEARSED: /m),
  ],
  'Interim backups': [
    async (walk, text) => {
      await done(walk, text);
      assert.match(readFileSync(walk.place('crontab'), 'utf8'), /^15 0,1,2,4,.*interim-backup\.sh' --every 1$/m);
      const timer = readFileSync(join(walk.place('image'), 'etc/systemd/system/content-hub-interim.timer'), 'utf8');
      assert.match(timer, /^OnCalendar=.* 0,1,2,4,/m);
    },
  ],
  'Off-site copies': [
    async (walk, text) => {
      await done(walk, 'rclone config');
      const { stderr } = await done(walk, text);
      const [recipient = 'none was printed'] = /age1\w+/.exec(stderr) ?? [];
      for (const name of ['BACKUP_OFFSITE_DIR', 'BACKUP_RCLONE_REMOTE']) settleAsSaid(walk, name);
      settleAsSaid(walk, 'BACKUP_AGE_RECIPIENT', recipient);
      assert.match((await done(walk, './scripts/backup.sh')).stdout, /result=verified off-site=done/);
      for (const place of [walk.place('far'), walk.place('box/hub')]) {
        const copies = readdirSync(place, { recursive: true }).filter((name) => String(name).includes('/'));
        assert.deepEqual(copies.sort(), backupsOf(walk).map((name) => `${name}/backup.tar.gz.age`), place);
      }
    },
    async (walk, text) => {
      assert.match((await done(walk, text)).stdout, /^VERIFIED/m);
      assert.deepEqual(readdirSync(walk.env['TMPDIR'] ?? '').filter((name) => name.startsWith('hub-scratch')), []);
    },
    async (walk, text) => {
      const places = ['far', 'box/hub'].map((place) => walk.place(place));
      const copiesIn = (place: string): string[] => readdirSync(place).filter((name) => !name.startsWith('.')).sort();
      const old = Array.from({ length: 90 }, (_, n) => `20200101-0000${n + 10}`); // names, whatever the seconds
      for (const path of places.flatMap((place) => old.map((name) => join(place, name)))) {
        mkdirSync(path);
        writeFileSync(join(path, 'hub.db'), '');
        utimesSync(path, 0, 0);
      }
      await done(walk, text);
      for (const place of places) {
        assert.deepEqual(copiesIn(place), [...old, ...backupsOf(walk)].slice(-90), 'however old they are');
        for (const name of old) rmSync(join(place, name), { recursive: true, force: true });
      }
    },
  ],
  'To prove that a copy can be restored': [
    async (walk, text) => assert.equal((await done(walk, text)).stdout.match(/^COMPARED: /gm)?.length, 2),
    async (walk, text) => assert.match((await done(walk, text)).stdout, /^PROVEN: /m),
  ],
  'Large hubs': [
    async (walk, text) => {
      await done(walk, text);
      for (const name of ['BACKUP_RESTIC_REPOSITORY', 'BACKUP_RESTIC_PASSWORD_FILE']) settleAsSaid(walk, name);
      const { status, stderr } = await walk.run(ours('./scripts/off-site.sh check'), 'hub');
      assert.deepEqual([status, /exclude each other/.test(stderr)], [2, true]);
      await done(walk, 'sed -i "s/^BACKUP_AGE_RECIPIENT/#&/" .env; cp /etc/content-hub/restic-password /safe/place');
      await done(walk, './scripts/off-site.sh send data/backups/20260131-031500 restic');
      await done(walk, './scripts/drill.sh restic');
    },
    async (walk, text) => {
      const backup = walk.place(`hub/data/backups/${backupsOf(walk).at(-1)}`);
      const before = readFileSync(join(backup, 'SHA256SUMS'));
      rmSync(backup, { recursive: true });
      await done(walk, text);
      assert.deepEqual(readFileSync(join(backup, 'SHA256SUMS')), before);
    },
  ],
  'A damaged restic repository': [
    async (walk, text) => {
      await done(walk, text);
      assert.match((await done(walk, './scripts/restic-backups.sh list')).stdout, /^\S+ [0-9a-f]{16} [0-9a-f]{64} .* \d+-\d+\n$/);
    },
    async (walk, text) => {
      rmSync(walk.place(`hub/data/backups/${backupsOf(walk).at(-1)}`), { recursive: true });
      await done(walk, text);
      await done(walk, 'sed -i "/^BACKUP_RESTIC/d; s/^#BACKUP_AGE/BACKUP_AGE/" .env');
    },
  ],
  'The recovery kit': [
    async (walk, text) => {
      await done(walk, text);
      const kit = readFileSync(walk.place('hub/recovery-kit.txt'), 'utf8');
      assert.match(kit, /rclone\.conf {3}\(sealed below\)/);
      assert.match(kit, /^-----BEGIN AGE ENCRYPTED FILE-----$/m);
      const { recoveryKit } = (await walk.ada.get('/api/health')).json<{ recoveryKit: { ageSeconds: number } | null }>();
      assert.ok(recoveryKit !== null);
    },
  ],
  Restoring: [
    async (walk, text) => {
      await writePost(walk, { client: walk.ada, sourceId: await addNotes(walk.ada) });
      assert.equal(postsIn(walk), 2);
      await done(walk, text);
      assert.equal(postsIn(walk), 1);
      assert.equal((await walk.ada.get('/api/account')).status, 401, 'everybody has to sign in again');
      await signIn(walk);
      assert.equal(readdirSync(walk.place('hub/data')).filter((name) => name.startsWith('pre-restore-')).length, 1);
    },
    async (walk, text) => {
      const asFile = 'CONFIRM_RESTORE=YES ./scripts/restore.sh <backup> --identity KEY';
      for (const line of [...text.trim().split('\n'), asFile]) {
        await writePost(walk, { client: walk.ada, sourceId: await addNotes(walk.ada) });
        await done(walk, line);
        assert.equal(postsIn(walk), 1, line);
        await signIn(walk);
        removeKept(walk);
      }
      assert.deepEqual(readdirSync(walk.place('hub/data/tmp')), []);
    },
    async (walk, text) => {
      await done(walk, './scripts/hubctl restore begin data/backups/20260131-031500', 'CONFIRM_RESTORE=YES ');
      assert.match((await done(walk, text)).stderr, /interrupted in phase 'staged': rolling back/);
      assert.equal((await walk.ada.get('/api/account')).status, 200, 'the data from before');
    },
    async (walk, text) => {
      await walk.hub.interrupt();
      await done(walk, 'cp .env "$SAFE"/.env');
      const data = readFileSync(uploadPath(walk.place('hub/data'), walk.file.sha256));
      walk.folder = 'new/content-hub';
      walk.hub = await walk.runHub(ours(text), 'new');
      await signIn(walk);
      const served = await fetch(walk.address + walk.file.path);
      assert.deepEqual(Buffer.from(await served.arrayBuffer()), data);
      assert.equal(postsIn(walk), 1);
      await walk.hub.interrupt();
      walk.folder = 'hub';
    },
  ],
  'One post or one file': [
    async (walk, text) => {
      const { stdout } = await done(walk, text);
      assert.match(stdout, new RegExp(`^upload ${walk.file.sha256}  .*  owls\\.txt  \\(post 1\\)$`, 'm'));
      const { attachments } = JSON.parse(readFileSync(walk.place('hub/post-12.json'), 'utf8'));
      assert.equal(attachments[0].sha256, walk.file.sha256);
      assert.equal(readFileSync(walk.place('hub/owl.jpg'), 'utf8'), OWLS);
    },
  ],
  Upgrading: [
    async (walk, text) => {
      const manifest = readFileSync(walk.place('hub/package.json'), 'utf8');
      walk.release('package.json', manifest.replace(/"version": "[^"]*"/, '"version": "99.0.0"'));
      walk.hub = await walk.runHub('npm start', 'hub');
      await signIn(walk);
      assert.match((await done(walk, text)).stdout, /^UPGRADED from .* to 99\.0\.0 /m);
      assert.match((await walk.ada.get('/api/metrics')).text, /^service_build_info\{.*version="99\.0\.0"/m);
      assert.equal(postsIn(walk), 1);
    },
    async (walk, text) => {
      walk.release('package.json', walk.authored('package.json').replace('99.0.0', '99.0.1'));
      assert.match((await done(walk, text)).stdout, /^UPGRADED from 99\.0\.0 .* to 99\.0\.1 /m);
    },
    async (walk, text) => assert.equal((await done(walk, text)).stdout, 'no interrupted upgrade found\n'),
    async (walk, text) => {
      await walk.hub.interrupt();
      await done(walk, text);
      assert.equal(readVersion(walk.place('hub')), '99.0.0');
      assert.equal(postsIn(walk), 1);
      await walk.run('git checkout -q main', 'hub');
    },
  ],
  'Moving to another machine': [
    async (walk, text) => done(walk, text),
    async (walk, text) => {
      walk.hub = await walk.runHub(ours(text), 'new/home');
      walk.folder = 'new/home/content-hub';
      await signIn(walk);
      assert.equal(postsIn(walk), 1);
      await walk.hub.interrupt();
      walk.folder = 'hub';
      walk.hub = await walk.runHub('npm start', 'hub');
      await signIn(walk);
    },
  ],
  'Files are missing': [
    async (walk, text) => {
      const { sha256 } = walk.file;
      const lost = uploadPath(walk.place('hub/data'), sha256);
      walk.env['LOST'] = `${sha256.slice(0, 2)}/${sha256}`;
      rmSync(lost);
      await done(walk, text);
      assert.equal(readFileSync(lost, 'utf8'), OWLS);
    },
  ],
  'Webhook secrets': [
    async (walk, text) => {
      await done(walk, text);
      assert.equal(readFileSync(join(walk.env['ETC'] ?? '', 'secret-key')).length, 32);
      settleAsSaid(walk, 'HUB_SECRET_KEY_FILE');
      await restart(walk);
      await signIn(walk);
      assert.equal((await walk.ada.post('/api/sources', { kind: 'webhook', title: 'Hook' })).status, 201);
    },
  ],
  "A backup without the hub's scripts": [
    async (walk, text) => {
      await done(walk, 'sed -i "s/^BACKUP_AGE/#&/" .env');
      for (const name of ['BACKUP_RESTIC_REPOSITORY', 'BACKUP_RESTIC_PASSWORD_FILE']) settleAsSaid(walk, name);
      await done(walk, text);
      await done(walk, './scripts/verify-backup.sh ./20260131-031500; rm -r ./20260131-031500');
      await done(walk, 'sed -i "/^BACKUP_RESTIC/d; s/^#BACKUP_AGE/BACKUP_AGE/" .env');
    },
    async (walk, text) => {
      await done(walk, text);
      const name = String(backupsOf(walk).at(-1));
      assert.match((await done(walk, `./scripts/verify-backup.sh ./${name}`)).stdout, /^VERIFIED/m);
      rmSync(walk.place(`hub/${name}`), { recursive: true });
    },
  ],
  'Trust in versions': [
    async (walk, text) => {
      await walk.run(SIGN_VERSION, 'hub');
      const [shown = ''] = /(?:[0-9A-F]{4} +){9}[0-9A-F]{4}/.exec((await done(walk, text)).stdout) ?? [];
      walk.settle('hub', `UPGRADE_VERIFY=signed\nUPGRADE_SIGNERS=${shown.replaceAll(' ', '')}`);
    },
    async (walk, text) => {
      assert.match((await done(walk, text)).stdout, /^already at the newest version/);
      await walk.run("sed -i '/^UPGRADE_/d' .env", 'hub');
    },
  ],
  // release.slow.test.ts runs the first two blocks, set-up-offline.slow.test.ts and upgrade-archive.slow.test.ts the others.
  'An archive of a version': Array.from({ length: 4 }, () => async () => {}),
};

/** The authors sign the newest version as v1.2.3 and publish their key. */
const SIGN_VERSION = `export GNUPGHOME="$SAFE"/gnupg && mkdir -m 700 "$GNUPGHOME"
gpg --batch -q --pinentry-mode loopback --passphrase '' --quick-generate-key Authors ed25519 sign never
gpg --armor --export >authors.asc
git tag -s -u Authors -m v1.2.3 v1.2.3
gpgconf --kill all`;

test('an operator who follows the handbook from its first block to the last gets what it promises', async (t) => {
  for (const tool of ['age', 'curl', 'git', 'gpg', 'npm', 'rclone', 'restic', 'sqlite3', 'systemctl']) if (!requireTool(t, tool)) return;
  const walk = await begin(t);
  const blocks = HANDBOOK.blocks.filter(({ kind }) => kind === 'sh');
  assert.deepEqual([...new Set(blocks.map(({ section }) => section))], Object.keys(STEPS));
  for (const [section, under] of Object.entries(Object.groupBy(blocks, ({ section: heading }) => heading))) {
    const steps = STEPS[section] ?? [];
    assert.equal(under?.length, steps.length, `a block below "${section}" is not known:\n${textOf(under)}`);
    for (const [index, step] of steps.entries()) await step(walk, under?.[index]?.text ?? '');
  }
  await scanUploads(t, walk);
  await runEveryCommand(walk);
});

/** The hub as it is cloned and first started; Ada follows the link, and writes a post with a file. */
async function begin(t: TestContext): Promise<Walk> {
  const place = await operator(t);
  const { url } = await startReceiver(t);
  const alerts = [`ALERT_WEBHOOK_URL=${url}`, 'ALERT_WEBHOOK_FORMAT=json'];
  const { hub, ada } = await place.firstStart('OUTBOUND_ALLOW=127.0.0.0/8', ...alerts);
  mkdirSync(place.place('new'));
  const writer = { client: ada, sourceId: await addNotes(ada) };
  const { attachments: [sent] } = await writePost(place, writer, [{ filename: 'owls.txt', data: OWLS }]);
  assert.ok(sent);
  const file = { sha256: sent.sha256, path: new URL(sent.url).pathname };
  return { ...place, hub, ada, file, folder: 'hub', ran: new Set() };
}

const OWLS = 'Barn owls hunt at night.';

async function signIn(walk: Walk): Promise<void> {
  walk.ada = createClient(walk.address);
  const answer = await walk.ada.post('/api/session', { username: 'ada', password: ADAS_PASSWORD });
  assert.ok(answer.status < 300, answer.text);
}

async function restart(walk: Walk): Promise<void> {
  await walk.hub.interrupt();
  walk.hub = await walk.runHub('npm start', walk.folder);
}

/** Runs text of the handbook in the hub's folder; all of it has to succeed. */
async function done(walk: Walk, text: string, before = ''): Promise<Outcome> {
  const outcome = await walk.run(before + ours(text), walk.folder);
  assert.equal(outcome.status, 0, `${text}\n${outcome.stdout}${outcome.stderr}`);
  for (const line of text.trim().split('\n')) walk.ran.add(ours(line));
  return outcome;
}

/** Puts a setting into .env as the handbook writes it, with our places and that value in the place of "…". */
function settleAsSaid(walk: Walk, name: string, value = ''): void {
  const said = HANDBOOK.spans.find((span) => span.startsWith(`${name}=`));
  assert.ok(said, `the handbook says how ${name} is set`);
  const own = ours(said).replaceAll(/"?\$([A-Z]+)"?/g, (_all, variable: string) => walk.env[variable] ?? '');
  walk.settle('hub', own.replace(/=.*…$/, `=${value}`));
}

function backupsOf(walk: Walk): string[] {
  return readdirSync(walk.place('hub/data/backups')).filter((name) => /^\d{8}-\d{6}$/.test(name)).sort();
}

/** What the handbook says to do when it is no longer needed. */
function removeKept(walk: Walk): void {
  const kept = readdirSync(walk.place('hub/data')).filter((name) => name.startsWith('pre-restore-'));
  for (const name of kept) rmSync(walk.place(`hub/data/${name}`), { recursive: true });
}

function postsIn(walk: Walk): number {
  return query(walk.place(`${walk.folder}/data`), (db) => countRows({ db }, 'posts'));
}

function textOf(blocks: Block[] | undefined): string {
  return (blocks ?? []).map(({ text }) => text).join('\n');
}

/** The lines for .env, with a bridge and something in clamd's place that calls every file clean. */
async function scanUploads(t: TestContext, walk: Walk): Promise<void> {
  const clamd = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', (start: Buffer) => {
      if (start.toString().startsWith('zPING')) socket.end('PONG\0');
    });
    onWholeStream(socket, () => socket.end('stream: OK\0'));
  });
  await new Promise<void>((resolve) => clamd.listen(0, '127.0.0.1', resolve));
  t.after(() => clamd.close());
  const port = String(await freePort());
  walk.env['BRIDGE_PORT'] = port;
  const env = { CLAMD_ADDRESS: `127.0.0.1:${(clamd.address() as AddressInfo).port}`, CLAMD_BRIDGE_PORT: port };
  const program = [walk.place('hub/src/bin/launch.ts'), 'clamd-bridge'];
  const bridge = spawn(process.execPath, program, { env, stdio: 'ignore' });
  t.after(() => bridge.kill('SIGKILL'));
  const isUp = (): Promise<boolean> => fetch(`http://127.0.0.1:${port}/health`).then(({ ok }) => ok, () => false);
  await waitUntil('the bridge listens', isUp);

  // The block of signed versions has been tried with a key of the test's own.
  for (const { text } of HANDBOOK.blocks.filter(({ kind, text }) => kind === 'ini' && !text.startsWith('UPGRADE_'))) {
    for (const line of text.trim().split('\n')) walk.settle('hub', line.replace(':3311', `:${port}`));
  }
  await restart(walk);
  const writer = { client: walk.ada, sourceId: await addNotes(walk.ada) };
  const { attachments } = await writePost(walk, writer, [{ filename: 'bats.txt', data: 'Bats do so as well.' }]);
  assert.deepEqual(attachments.map(({ scan }) => scan), ['clean']);
}

/** What stands in the first table, in every form that its options allow, and what stands within sentences. */
async function runEveryCommand(walk: Walk): Promise<void> {
  query(walk.place('hub/data'), (db) => {
    accounts({ db, clock: Date.now }).create({ username: 'bob', displayName: 'Bob', role: 'member', passwordHash: '' });
    for (const id of [9001, 9002]) addJob({ db }, { id, payload: { sourceId: 0 }, state: 'failed' });
  });
  for (const command of [...HANDBOOK.usages.flatMap(variantsOf), ...inlineCommands(HANDBOOK)]) {
    if (command in ELSEWHERE || command === 'npm start') continue; // which runs all the while
    if (!walk.ran.has(ours(command))) await done(walk, command);
  }
  await done(walk, './scripts/hubctl doctor --hashes');
}

test('what the handbook has systemd do works in a system that is booted by it', async (t) => {
  if (!requireTool(t, 'systemd-nspawn') || !requireRoot(t, 'only root can start another system')) return;
  const packages = ['node_modules/better-sqlite3', 'node_modules/node-addon-api'];
  const parts = ['scripts', 'src', 'migrations', 'package.json', ...packages];
  const system = await bootSystem(t, temporaryProject(t, parts), '/opt/hub');
  const block = HANDBOOK.blocks.find(({ section }) => section === 'The first start')?.text ?? '';
  const asDaemon = block.replace('sudo ', '').replace('.sh', '.sh --user daemon');
  const installed = await system.sh(`chmod 755 /opt/hub && cd /opt/hub && ${asDaemon}`);
  assert.equal(installed.status, 0, installed.stderr);
  assert.match((await system.sh(`systemctl list-timers`)).stdout, /content-hub-backup\.timer/);
  assert.equal((await system.sh('cd /opt/hub && ./scripts/install-systemd.sh --remove')).status, 0);
  assert.doesNotMatch((await system.sh(`systemctl list-timers`)).stdout, /content-hub/);
});

test('Prometheus takes the configuration of the handbook with the rules, and the hub has the numbers it names', async (t) => {
  if (!requireTool(t, 'promtool')) return;
  const folder = temporaryDataDir(t);
  const config = HANDBOOK.blocks.find(({ kind }) => kind === 'yaml')?.text ?? '';
  writeFiles(folder, {
    'content-hub.token': 'a token',
    'content-hub-alerts.yml': readFileSync(join(PROJECT_ROOT, 'scripts/monitoring/alerts.yml'), 'utf8'),
    'prometheus.yml': config.replaceAll('/etc/prometheus', folder),
  });
  const checked = spawnSync('promtool', ['check', 'config', join(folder, 'prometheus.yml')], { encoding: 'utf8' });
  assert.equal(checked.status, 0, checked.stdout + checked.stderr);
  assert.match(checked.stdout, /SUCCESS: \d+ rules found/);
  const hub = await startHub(t, { METRICS_TOKEN: 'a-token-of-the-test', BACKUP_OFFSITE_DIR: '/mnt/far' });
  const metrics = await hub.anybody.get('/api/metrics', { authorization: 'Bearer a-token-of-the-test' });
  assert.equal(metrics.status, 200);
  const named = HANDBOOK.spans.join(' ').match(/\bservice_\w+/g) ?? [];
  assert.deepEqual(named.filter((name) => !metrics.text.includes(`# TYPE ${name} `)), []);
});
