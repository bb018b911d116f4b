import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { uploads } from '../features/attachments/attachment-store.ts';
import { compareUploads, uploadFiles } from '../features/attachments/upload-files.ts';
import type { Hub } from '../features/hub/hub.ts';
import { readHealth } from '../features/health/read-health.ts';
import { readStorageSizes } from '../features/health/storage-space.ts';
import { byteSize } from '../platform/http/html.ts';
import type { Command } from './command.ts';

/** The result of one check; `problem` is null if it passed. */
type Finding = { subject: string; state: string; problem: string | null };

const NAMED = 10;

/** Checks the integrity of the database and the uploads, and whether the worker runs. */
export const doctorCommand: Command = {
  options: { hashes: { type: 'boolean' }, json: { type: 'boolean' } },
  operands: 0,

  async run(_args, values, { out, openHub }) {
    const hub = await openHub();
    const findings = [
      checkDatabase(hub),
      ...await checkUploads(hub, values['hashes'] === true),
      checkWorker(hub),
      checkSpace(hub),
      ...hub.config.doubtfulNames.map((problem) => ({ subject: 'settings', state: 'check the names', problem })),
    ];
    const isWell = findings.every(({ problem }) => problem === null);
    out(values['json'] ? `${JSON.stringify({ ok: isWell, findings })}\n` : findings.map(line).join(''));
    return isWell ? 0 : 1;
  },
};

function checkDatabase({ db }: Hub): Finding {
  const result = String(db.pragma('quick_check(1)'));
  const isWell = result === 'ok';
  return { subject: 'database', state: isWell ? 'intact' : 'damaged', problem: isWell ? null : result };
}

async function checkUploads(hub: Hub, withHashes: boolean): Promise<Finding[]> {
  const { strays, missing } = await compareUploads(hub);
  const changed = withHashes ? await listChanged(hub, new Set(missing)) : [];
  const whatChanged = 'changed on disk or unreadable; restore them from a backup';
  return [
    finding('uploads', missing, 'missing or of the wrong size; restore them from a backup'),
    ...(withHashes ? [finding('contents of uploads', changed, whatChanged)] : []),
    finding('strays', strays, 'not referenced by the database; the worker removes them within a day'),
  ];
}

async function listChanged(hub: Hub, missing: Set<string>): Promise<string[]> {
  const changed = [];
  const { named } = uploads(hub);
  for (let rows = named('', 100); rows.length > 0; rows = named(rows.at(-1)?.sha256 ?? '', 100)) {
    for (const { sha256 } of rows) {
      if (!missing.has(sha256) && await isChanged(hub, sha256)) changed.push(sha256);
    }
  }
  return changed;
}

/** Whether a file's content differs from its hash or cannot be read; a file that was swept meanwhile is fine. */
async function isChanged(hub: Hub, sha256: string): Promise<boolean> {
  const found = await hashOf(uploadFiles(hub).pathOf(sha256)).catch(() => undefined);
  return found !== sha256 && uploads(hub).scanOf(sha256) !== undefined;
}

async function hashOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  return hash.digest('hex');
}

function finding(subject: string, files: string[], what: string): Finding {
  if (files.length === 0) return { subject, state: 'ok', problem: null };
  const more = files.length > NAMED ? ` and ${files.length - NAMED} more` : '';
  return { subject, state: `${files.length} ${what}`, problem: files.slice(0, NAMED).join(' ') + more };
}

function checkWorker(hub: Hub): Finding {
  const { ok, lastSeenSeconds } = readHealth(hub).worker;
  const state = lastSeenSeconds === null ? 'never seen' : `last seen ${lastSeenSeconds} s ago`;
  return { subject: 'worker', state, problem: ok ? null : 'the worker is not running; sources are not synchronised' };
}

function checkSpace({ config }: Hub): Finding {
  const { freeBytes } = readStorageSizes(config.databasePath);
  return { subject: 'space', state: `${byteSize(freeBytes)} free`, problem: null };
}

function line({ subject, state, problem }: Finding): string {
  return `${problem === null ? 'ok  ' : 'BAD '} ${subject}: ${state}${problem === null ? '' : `\n     ${problem}`}\n`;
}
