/**
 * node test/support/operated-day.ts quiet | connected
 * An operator's day: a hub is started, used, backed up, looked at, upgraded and restored by the scripts, and a day of
 * its schedule passes. `quiet`: nothing is configured, and nobody adds a source of others. `connected`: everything that
 * connects is configured, each to a host of the name that it has in `CONNECTIONS`.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { addFeed, addNotes, addPost, itemsAt } from './accounts.ts';
import type { Client } from './client.ts';
import { fullTextOf } from './full-texts.ts';
import { operator } from './operator.ts';
import { PROJECT_ROOT, runProgram } from './run-program.ts';
import { UNTIL_EXIT, writeFiles } from './temporary-project.ts';
import { writePost } from './uploads.ts';
import { waitUntil } from './wait-until.ts';

const isConnected = process.argv[2] === 'connected';
const place = await operator(UNTIL_EXIT);
const data = place.place('hub/data');
// npm of set-up asks the registry whether it is there: here it is this machine, where it is not.
place.env['npm_config_registry'] = 'http://127.0.0.1:9/';

const SETTINGS = [
  'VIRUS_SCAN_URL=http://scanner.example/', 'ALERT_WEBHOOK_URL=http://alert.example/',
  'HEARTBEAT_URL=http://heartbeat.example/', 'BACKUP_RCLONE_REMOTE=box:hub',
  'BACKUP_RESTIC_REPOSITORY=rest:http://snapshots.example/', `BACKUP_RESTIC_PASSWORD_FILE=${place.place('password')}`,
];
writeFiles(place.place('.'), {
  password: 'a password\n', '.config/rclone/rclone.conf': '[box]\ntype = webdav\nurl = http://copies.example/\nvendor = other\n',
});

/** Runs a line of the operator's; `fails` says that it has to fail here, because nobody answers as it expects. */
async function run(line: string, fails = false): Promise<void> {
  const { status, stdout, stderr } = await place.run(line, 'hub');
  assert.equal(status !== 0, fails, `${line}: ${stdout}${stderr}`);
  console.error(`done: ${line}`);
}

/** Adds a feed, and opens the image and the full text of the feed's post when the worker has fetched the post. */
async function readFeed(ada: Client): Promise<void> {
  await addFeed(ada, 'http://feed.example/feed');
  type Post = { attachments: { url: string; filename: string }[] };
  const images = async (): Promise<string[]> => (await itemsAt<Post>(ada, '/api/posts'))
    .flatMap(({ attachments }) => attachments.filter(({ filename }) => filename === 'owl.png').map(({ url }) => url));
  await waitUntil('the post is there', async () => (await images()).length > 0);
  const [post] = await itemsAt<{ id: number }>(ada, '/api/posts');
  await ada.post(`/api/posts/${post?.id}/full-text`);
  await waitUntil('the page was asked for', async () => (await fullTextOf(ada, post?.id ?? 0)).state === 'failed');
  for (const url of await images()) assert.equal((await ada.get(new URL(url, place.address).pathname)).status, 200, url);
}

async function scanThroughBridge(): Promise<void> {
  const env = { ...place.env, CLAMD_ADDRESS: 'clamd.example:3310', CLAMD_BRIDGE_PORT: '3311' };
  const bridge = spawn(process.execPath, [join(PROJECT_ROOT, 'src/bin/launch.ts'), 'clamd-bridge'], { env, stdio: 'ignore' });
  UNTIL_EXIT.after(() => bridge.kill('SIGKILL'));
  const request = { method: 'POST', body: 'x', headers: { 'content-type': 'application/octet-stream' } };
  const ask = (): Promise<string> => fetch('http://127.0.0.1:3311/scan', request).then((answer) => answer.text(), () => '');
  await waitUntil('the bridge has reached clamd', async () => /closed the connection|broke off/.test(await ask()));
  bridge.kill('SIGKILL');
}

async function passDay(env: Record<string, string>): Promise<void> {
  const program = join(import.meta.dirname, 'day-of-schedule.ts');
  const { status, stderr } = await runProgram(process.execPath, [program], { env: { DATA_DIR: data, ...env } });
  assert.equal(status, 0, stderr);
}

const { hub, ada } = await place.firstStart(...isConnected ? SETTINGS : []);
const notes = await addNotes(ada);
await addPost(ada, notes);
await writePost(place, { client: ada, sourceId: notes }, [{ filename: 'owls.txt', data: 'Owls hunt at night.' }]);
for (const path of ['/', '/settings', '/admin', '/api/health', '/api/metrics', '/posts.atom']) {
  assert.equal((await ada.get(path)).status, 200, path);
}
if (isConnected) await readFeed(ada);

const unanswered = isConnected;
await run('./scripts/healthcheck.sh && ./scripts/await-health.sh 1 1 --worker');
await run('./scripts/hubctl status >/dev/null || :');
await run('./scripts/hubctl doctor >/dev/null || :');
await run('./scripts/nightly-backup.sh 2>/dev/null', unanswered);
await run('./scripts/restore.sh --list', unanswered);
await run('./scripts/drill.sh', true);
await run('./scripts/interim-backup.sh >/dev/null 2>&1 || :');
await run('./scripts/hubctl recovery-kit >"$SAFE/kit.txt"');
await run('./scripts/install-systemd.sh --user nobody --root "$IMAGE"');
await run('./scripts/install-backup-cron.sh');
if (isConnected) {
  await run('./scripts/hubctl alerts test', true);
  await run('./scripts/hubctl heartbeat', true);
  await run('./scripts/restic-backups.sh list', true);
  await scanThroughBridge();
  await run('git remote set-url origin http://versions.example/hub.git && ./scripts/upgrade.sh', true);
} else {
  place.release('CHANGELOG.md', 'A new version\n');
  await run('./scripts/upgrade.sh');
  await run('./scripts/verify-backup.sh --rehearse "$(ls -d data/backups/2* | head -n 1)"');
  await run('CONFIRM_RESTORE=YES ./scripts/restore.sh "$(ls -d data/backups/2* | head -n 1)"');
}
await hub.interrupt();
await passDay(isConnected
  ? { ...Object.fromEntries(SETTINGS.map((line) => line.split(/=(.*)/).slice(0, 2))), BASE_URL: 'https://certificate.example' }
  : {});
if (isConnected) {
  const realNpm = `PATH="$(printf '%s' "$PATH" | cut -d : -f 2-)" npm_config_registry=http://packages.example/`;
  await run(`rm node_modules/.installed-lock.json && ${realNpm} npm_config_fetch_retries=0 ./scripts/set-up.sh`, true);
}
