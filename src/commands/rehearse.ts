import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { credentials as credentialsOf } from '../features/accounts/account-store.ts';
import { servedPath } from '../features/attachments/serve-file.ts';
import { largestUploads } from '../features/attachments/attachment-store.ts';
import { uploadPath } from '../features/attachments/upload-files.ts';
import { SECOND } from '../platform/clock.ts';
import { openDatabase, type Db } from '../platform/db/open-database.ts';
import { byteSize } from '../platform/http/html.ts';
import { askReadiness } from '../app/processes/readiness.ts';
import type { Config } from '../features/hub/read-config.ts';
import { UsageError, type Command } from './command.ts';

const PATIENCE = 60 * SECOND; // for one answer
const FILES_TO_TRY = 1_000; // of a hub that had lost some

/** Checks a hub that runs on a restored DATA_DIR: its health, a page and an uploaded file. */
export const rehearseCommand: Command = {
  options: {},

  async run([address, ...rest], _values, { config, out, err }) {
    if (!address || rest.length > 0) throw new UsageError('the address of the hub is missing');
    const problem = await askForEverything(address, config, (line) => out(`  ${line}\n`));
    if (problem === null) return 0;
    err(`rehearse: ${problem}\n`);
    return 1;
  },
};

/** Runs the checks; returns the first problem, or null if all of them passed. */
async function askForEverything(address: string, config: Config, tell: (line: string) => void): Promise<string | null> {
  const unready = await askReadiness(address, AbortSignal.timeout(PATIENCE));
  if (unready !== null) return unready;
  tell('health       ready');
  const page = await ask(`${address}/`, { accept: 'text/html' });
  if (page.status !== 200 || !page.body.includes('</html>')) return `the timeline answered ${page.status}`;
  tell(`page         the timeline, ${byteSize(page.body.length, 1)}`);
  const found = pickFile(config);
  if (!found) {
    tell('attachment   none in this backup');
    return null;
  }
  const { file, token } = found;
  const { filename, sha256 } = file;
  const path = servedPath(file);
  const { status, body } = await ask(address + path, { authorization: `Bearer ${token}` });
  if (status !== 200) return `${path} answered ${status}`;
  if (createHash('sha256').update(body).digest('hex') !== sha256) return `${path} differs from what was uploaded`;
  tell(`attachment   ${JSON.stringify(filename)}, ${byteSize(body.length, 1)}, SHA-256 equal`);
  return null;
}

async function ask(url: string, headers: Record<string, string>): Promise<{ status: number; body: Buffer }> {
  const response = await fetch(url, { headers, redirect: 'error', signal: AbortSignal.timeout(PATIENCE) });
  return { status: response.status, body: Buffer.from(await response.arrayBuffer()) };
}

/** The largest file present, and a new token of its owner: the database is a temporary copy. */
function pickFile({ databasePath, dataDir }: Config) {
  const db: Db = openDatabase(databasePath);
  try {
    const files = largestUploads({ db }, FILES_TO_TRY);
    const file = files.find(({ sha256 }) => existsSync(join(dataDir, uploadPath(sha256))));
    return file && { file, token: credentialsOf({ db, clock: Date.now }).createToken(file.ownerId, 'rehearsal').token };
  } finally {
    db.close();
  }
}
