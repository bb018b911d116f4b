import { ACCOUNT, accounts, type Account, type Role } from '../features/accounts/account-store.ts';
import { makePasswordLink, setState, type PasswordLink } from '../features/accounts/govern-account.ts';
import { INVITATION_HOURS, joinUrl, makeInvitation } from '../features/accounts/join-hub.ts';
import { settleJob } from '../features/admin/job-list.ts';
import { alertJson } from '../features/alerts/alert-list.ts';
import {
  ALERT_STATES, storedAlerts, TEST, TEST_MESSAGE, type StoredAlert,
} from '../features/alerts/alert-store.ts';
import { formatFor, receiverOf, sendAlert } from '../features/alerts/send-alert.ts';
import { integrityProblems, reindex } from '../features/backups/snapshot-store.ts';
import { removeDatabaseNote } from '../features/hub/database-note.ts';
import { COMMAND_LINE } from '../features/audit/audit.ts';
import { jobs } from '../features/hub/hub.ts';
import { progressText } from '../features/hub/progress-views.ts';
import { previewRetention, removeOldRowsNow, type ExpiredRows } from '../features/retention/remove-old-rows.ts';
import { DAY, HOUR, isoTime } from '../platform/clock.ts';
import { parseId } from '../platform/http/input.ts';
import { HttpError } from '../platform/http/http-error.ts';
import { JOB_STATES, type JobRow } from '../platform/jobs/job-records.ts';
import { singleLine } from '../platform/markup/tidy-text.ts';
import { UsageError, type Command, type CommandContext, type ExitCode, type Values } from './command.ts';

export const accountCommand: Command = {
  options: { json: { type: 'boolean' } },
  operands: 3,

  async run([act, name, role], { json }, context): Promise<ExitCode> {
    if (act === 'list' && name === undefined) return listAccounts(json, context);
    if (!['reset-password', 'disable', 'enable', 'role'].includes(act ?? '') || name === undefined) {
      throw new UsageError('expected list, reset-password <name>, disable <name>, enable <name> or role <name> <role>');
    }
    if (act === 'role' ? role !== 'admin' && role !== 'member' : role !== undefined) {
      throw new UsageError(act === 'role' ? 'the role must be admin or member' : `unexpected argument ${role}`);
    }
    const hub = await context.openHub();
    const account = accounts(hub).findByName(name);
    if (!account) return refuse(`there is no account ${name}`, context);
    try {
      if (act === 'reset-password') return showLink(makePasswordLink(hub, account.id, COMMAND_LINE), json, context);
      const change = act === 'role' ? { role: role as Role } : { disabled: act === 'disable' };
      context.out(stateText(setState(hub, account.id, change, COMMAND_LINE)));
    } catch (error) {
      if (error instanceof HttpError) return refuse(error.message, context);
      throw error;
    }
    return 0;
  },
};

function stateText({ username, role, disabledAt }: Account): string {
  return disabledAt === null
    ? `The account ${username} is enabled and has the role ${role}.\n`
    : `The account ${username} is disabled: its sessions and tokens have ended, and it cannot sign in.\n`;
}

function refuse(reason: string, { err }: CommandContext): ExitCode {
  err(`${reason}\n`);
  return 1;
}

function showLink({ url, expiresAt }: PasswordLink, json: unknown, { out }: CommandContext): ExitCode {
  out(json ? `${JSON.stringify({ url, expiresAt: isoTime(expiresAt) })}\n` : `${url}\n`);
  return 0;
}

async function listAccounts(json: unknown, { out, lookAtHub }: CommandContext): Promise<ExitCode> {
  const { hub } = await lookAtHub();
  const all = accounts(hub).list(0, Number.MAX_SAFE_INTEGER).map((account) =>
    ({ ...ACCOUNT.show(account), disabled: account.disabledAt !== null }));
  const line = ({ id, username, role, disabled, createdAt, displayName }: (typeof all)[number]): string =>
    `${[id, username, role, disabled ? 'disabled' : 'active', createdAt, displayName].join('\t')}\n`;
  out(json ? `${JSON.stringify(all)}\n` : all.map(line).join(''));
  return 0;
}

export const alertsCommand: Command = {
  options: { state: { type: 'string' }, json: { type: 'boolean' } },
  operands: 1,

  run([act], values, context) {
    if (act === 'test') return testReceiver(context);
    if (act === 'list') return listAlerts(values, context);
    throw new UsageError('expected test or list');
  },
};

export const inviteCommand: Command = {
  options: { role: { type: 'string' }, hours: { type: 'string' } },
  operands: 0,

  async run(_args, { role = 'member', hours = String(INVITATION_HOURS.standard) }, context): Promise<ExitCode> {
    if (role !== 'admin' && role !== 'member') throw new UsageError('--role must be admin or member');
    const count = Number(hours);
    if (!/^\d+$/.test(String(hours)) || count < 1 || count > INVITATION_HOURS.max) {
      throw new UsageError(`--hours must be an integer from 1 to ${INVITATION_HOURS.max}`);
    }
    const { token } = makeInvitation(await context.openHub(), role, count * HOUR, COMMAND_LINE);
    context.out(`${joinUrl(context.config, token)}\n`);
    return 0;
  },
};

export const jobsCommand: Command = {
  options: { state: { type: 'string' }, json: { type: 'boolean' } },
  operands: 2,

  run([act, id], values, context) {
    if (act === 'list' && id === undefined) return listJobs(values, context);
    if (act === 'retry' || act === 'discard') return changeJob(act, id, context);
    throw new UsageError('expected list, retry <id> or discard <id>');
  },
};

export const retentionCommand: Command = {
  options: { 'dry-run': { type: 'boolean' }, json: { type: 'boolean' } },
  operands: 0,

  async run(_args, values, { out, lookAtHub, openHub }): Promise<ExitCode> {
    const isDryRun = values['dry-run'] === true;
    const hub = isDryRun ? (await lookAtHub()).hub : await openHub();
    const found = previewRetention(hub);
    if (!isDryRun) await removeOldRowsNow(hub, COMMAND_LINE);
    const json = found.map(({ kind, keptMs, before, rows }) =>
      ({ kind, keptDays: keptMs / DAY, before: isoTime(before), rows }));
    out(values['json'] ? `${JSON.stringify(json)}\n` : found.map(expiredLine).join(''));
    return 0;
  },
};

export const reindexCommand: Command = {
  options: {},
  operands: 0,

  async run(_args, _values, context): Promise<ExitCode> {
    const { db, config: { dataDir } } = await context.openHub();
    reindex(db);
    const [problem] = integrityProblems(db);
    if (problem !== undefined) return refuse(`more than an index is damaged: ${problem}. See hubctl doctor`, context);
    removeDatabaseNote(dataDir);
    context.out('All indices were made anew. The database is intact.\n');
    return 0;
  },
};

/** Sends one alert immediately, without the queue. Of the receiver's address, which is secret, shows only the host. */
async function testReceiver(context: CommandContext): Promise<ExitCode> {
  const { hub } = await context.lookAtHub();
  const receiver = receiverOf(hub);
  if (!receiver) return refuse('no receiver is configured: ALERT_WEBHOOK_URL is not set', context);
  const { body: text, ...message } = TEST_MESSAGE;
  const alert = { ...message, text, event: TEST, at: hub.clock(), hubUrl: context.config.baseUrl };
  const { isDelivered, detail } = await sendAlert(receiver, alert);
  const why = receiver.format === 'auto' ? ', which ALERT_WEBHOOK_FORMAT=auto derives from the address' : '';
  context.out(`${isDelivered ? '' : 'not '}delivered: ${detail}\nformat: ${formatFor(receiver)}${why}\n`);
  return isDelivered ? 0 : 1;
}

async function listAlerts({ state, json }: Values, context: CommandContext): Promise<ExitCode> {
  const known = ALERT_STATES.find((one) => one === state);
  if (state !== undefined && !known) throw new UsageError(`--state must be one of ${ALERT_STATES.join(', ')}`);
  const { hub } = await context.lookAtHub();
  const found = storedAlerts(hub, { limit: LISTED + 1, state: known });
  return tellNewest(found, json, json ? alertJson : alertLine, known ? `no ${known} alerts` : 'no alerts', context);
}

function alertLine({ id, state, event, attempts, createdAt, title, suppressed, lastError }: StoredAlert): string {
  const more = suppressed > 0 ? ` (and ${suppressed} more)` : '';
  const when = isoTime(createdAt);
  return `${[id, state, event, `${attempts} attempts`, when, title + more, singleLine(lastError ?? '')].join('\t')}\n`;
}

async function listJobs({ state = 'failed', json }: Values, context: CommandContext): Promise<ExitCode> {
  const known = JOB_STATES.find((one) => one === state);
  if (!known && state !== 'all') throw new UsageError(`--state must be one of ${JOB_STATES.join(', ')}, all`);
  const { hub } = await context.lookAtHub();
  const found = jobs(hub).list({ limit: LISTED + 1, state: known });
  return tellNewest(found, json, json ? jobRowJson : jobLine, known ? `no ${state} jobs` : 'no jobs', context);
}

/** A job with its payload, which only the operator may see. */
function jobRowJson({ runAt, leaseExpiresAt, createdAt, finishedAt, ...job }: JobRow) {
  return {
    ...job,
    runAt: isoTime(runAt), leaseExpiresAt: isoTime(leaseExpiresAt),
    createdAt: isoTime(createdAt), finishedAt: isoTime(finishedAt),
  };
}

function jobLine({ id, kind, dedupeKey, state, attempts, maxAttempts, runAt, lastError, ...far }: JobRow): string {
  const subject = dedupeKey === null ? kind : `${kind} ${dedupeKey}`;
  const { progress: done, progressTotal: total } = far;
  const isUnderWay = done !== null && far.finishedAt === null;
  const about = isUnderWay ? progressText({ done, total }) : singleLine(lastError ?? '');
  return `${[id, state, subject, `${attempts}/${maxAttempts}`, isoTime(runAt), about].join('\t')}\n`;
}

async function changeJob(
  act: 'retry' | 'discard', id: string | undefined, context: CommandContext,
): Promise<ExitCode> {
  const jobId = parseId(id ?? '');
  if (jobId === undefined) throw new UsageError(`jobs ${act} needs the id of a job`);
  const hub = await context.openHub();
  const job = jobs(hub).find(jobId);
  if (job && settleJob(hub, act, job, COMMAND_LINE)) return 0;
  return refuse(act === 'retry'
    ? `job ${jobId} cannot be retried: it has not failed, or another job for the same source is waiting`
    : `job ${jobId} cannot be discarded: it does not exist, is running or has ended`, context);
}

function expiredLine({ kind, before, rows }: ExpiredRows): string {
  return `${kind}\t${rows}\t${before === null ? 'kept for ever' : `older than ${isoTime(before)}`}\n`;
}

const LISTED = 100;

function tellNewest<Item>(
  found: Item[], json: unknown, write: (item: Item) => unknown, none: string, { out, err }: CommandContext,
): ExitCode {
  const written = found.slice(0, LISTED).map(write);
  if (json) out(`${JSON.stringify(written)}\n`);
  else if (written.length === 0) err(`${none}\n`);
  else out(written.join(''));
  if (found.length > LISTED) err(`only the newest ${LISTED} are listed\n`);
  return 0;
}
