import { sumUploads, uploads } from '../features/attachments/attachment-store.ts';
import { findStraysAndMissing, uploadFiles } from '../features/attachments/upload-files.ts';
import { hashFile } from '../features/backups/manifest.ts';
import { finding, findings, problemsOf, unknownYet, type Finding } from '../features/health/findings.ts';
import type { Hub } from '../features/hub/hub.ts';
import type { Command, CommandContext } from './command.ts';
import { showProgress } from './progress.ts';
import { jsonOf, findingLines, overallVerdict } from './status.ts';

const NAMED = 10;

const FROM_BACKUP = 'Get them from a backup: ./scripts/hubctl backup extract <backup> upload <sha256>.';

/** Checks the database and the uploads, then prints the findings of the overview, each with what to do. */
export const doctorCommand: Command = {
  options: { hashes: { type: 'boolean' }, json: { type: 'boolean' } },
  operands: 0,

  async run(_args, values, context) {
    const { out, lookAtHub } = context;
    const { hub, pending } = await lookAtHub();
    const uploaded = await checkUploads(hub, values['hashes'] === true, context).catch(unknownYet('Uploads', pending));
    const all = [databaseFinding(hub), ...uploaded, ...checkSettings(hub), ...findings(hub, pending)];
    out(values['json'] ? jsonOf(all) : all.map(findingLines).join('') + overallVerdict(all));
    return problemsOf(all).length === 0 ? 0 : 1;
  },
};

function databaseFinding({ db }: Hub): Finding {
  const subject = 'Integrity of the database';
  const result = String(db.pragma('quick_check(1)'));
  if (result === 'ok') return finding({ subject, state: 'intact' });
  return finding({
    subject, level: 'bad', state: 'damaged', problem: result,
    whatToDo: 'Stop the hub, see to the disk, and restore the newest verified backup (./scripts/restore.sh --list).',
  });
}

function checkSettings({ config }: Hub): Finding[] {
  return config.doubtfulNames.map((problem) => finding({
    subject: 'Settings', level: 'warn', state: 'check the names', problem,
    whatToDo: 'Correct or remove it in .env or the environment, then restart the hub.',
  }));
}

async function checkUploads(hub: Hub, withHashes: boolean, context: CommandContext): Promise<Finding[]> {
  const { strays, missing } = await findStraysAndMissing(hub);
  const changed = withHashes ? await listChanged(hub, new Set(missing), context) : [];
  return [
    about('Uploads', missing, 'missing or of the wrong size', FROM_BACKUP),
    ...(withHashes ? [about('Contents of uploads', changed, 'changed on disk or unreadable', FROM_BACKUP)] : []),
    about('Strays', strays, 'not named by the database', 'Nothing: the worker removes them within a day.'),
  ];
}

async function listChanged(hub: Hub, missing: Set<string>, context: CommandContext): Promise<string[]> {
  const changed = [];
  const { named } = uploads(hub);
  const { onStep, onProgress, end } = showProgress(context, 'doctor', 'nothing');
  const { uploadBytes } = sumUploads(hub);
  let done = 0;
  onStep('contents of uploads');
  for (let rows = named('', 100); rows.length > 0; rows = named(rows.at(-1)?.sha256 ?? '', 100)) {
    for (const { sha256, bytes } of rows) {
      if (!missing.has(sha256) && await isChanged(hub, sha256)) changed.push(sha256);
      onProgress(done += bytes, uploadBytes);
    }
  }
  end();
  return changed;
}

/** Whether a file's content differs from its hash or cannot be read; a file that was swept meanwhile is fine. */
async function isChanged(hub: Hub, sha256: string): Promise<boolean> {
  const found = await hashFile(uploadFiles(hub).pathOf(sha256)).catch(() => undefined);
  return found?.sha256 !== sha256 && uploads(hub).scanOf(sha256) !== undefined;
}

function about(subject: string, files: string[], what: string, whatToDo: string): Finding {
  if (files.length === 0) return finding({ subject, state: 'ok' });
  const more = files.length > NAMED ? ` and ${files.length - NAMED} more` : '';
  const problem = `${files.slice(0, NAMED).join(' ')}${more}.`;
  return finding({ subject, level: 'bad', state: `${files.length} ${what}`, problem, whatToDo });
}
