import { MINUTE, SECOND } from '../../platform/clock.ts';
import type { MemberRequest } from '../../platform/http/router.ts';
import { takeTurn, type StoreHub } from '../hub/hub.ts';
import type { NamedLimit } from '../hub/limits.ts';
import { auditRecords } from './audit-store.ts';

export const AUDIT_EVENTS = {
  'account.changed': 'An account was given another role or state',
  'account.deleted': 'A person deleted their account',
  'account.exported': 'A person downloaded their data',
  'account.joined': 'A person joined by an invitation link',
  'account.password-changed': 'A password was changed',
  'account.password-link-made': 'A link for a new password was made',
  'account.renamed': 'A person changed their display name',
  'attachment.deleted': 'A file was removed from a post',
  'attachment.quarantined': 'A stored file was found to be infected',
  'attachment.refused': 'An infected upload was refused',
  'backup.restored': 'The hub was restored from a backup',
  'hub.changed': 'The hub was given another name, text or accent',
  'invitation.created': 'An invitation link was made',
  'invitation.withdrawn': 'An invitation link was withdrawn',
  'job.discarded': 'A dead-lettered job was discarded',
  'job.retried': 'A dead-lettered job was put back into the queue',
  'post.changed': 'A post was edited',
  'post.created': 'A post was written',
  'post.deleted': 'A post was deleted',
  'post.files-added': 'Files were added to a post',
  'post.withdrawn': 'A post was taken back into a draft',
  'retention.applied': 'Rows past their retention period were removed',
  'session.created': 'Somebody signed in',
  'session.ended': 'Somebody signed out, or ended another session of the same account',
  'session.others-ended': 'Somebody ended all other sessions of the same account',
  'set-up-link.created': 'A link for the first account was printed',
  'source.address-changed': 'A feed was given another address',
  'source.authors-changed': 'A source was made to show or hide the authors of its posts',
  'source.created': 'A source was added',
  'source.deleted': 'A source was deleted',
  'source.full-text-chosen': 'Fetching the full texts of a source was switched on or off',
  'source.offer-declined': 'An offered source was declined',
  'source.offer-withdrawn': 'The offer of a source was withdrawn',
  'source.offered': 'A source was offered to a member',
  'source.password-changed': 'The password of a feed was given, replaced or taken back',
  'source.paused': 'A source was paused',
  'source.renamed': 'A source was given another title',
  'source.resumed': 'A source was resumed',
  'source.transferred': 'A source was given to an administrator, or accepted by a member',
  'source.visibility-changed': 'A source was made public or private',
  'sources.imported': 'Feeds were imported from OPML',
  'token.created': 'An API token was made',
  'token.revoked': 'An API token was revoked',
  'webhook.rotated': 'A webhook was given a new secret',
} as const;

export type AuditEvent = keyof typeof AUDIT_EVENTS;

/**
 * Equal acts by one actor on one target within a minute become one record, because people can repeat these without
 * end. Never add changes of roles, passwords, tokens, links or sign-ins: each has a record of its own.
 */
const MERGED: readonly AuditEvent[] = [
  'account.exported', 'account.renamed', 'hub.changed', 'post.changed', 'source.full-text-chosen', 'source.paused',
  'source.renamed', 'source.resumed', 'source.visibility-changed',
];

/**
 * Sign-ins, new passwords, and acts that end sessions or tokens have a rate limit that other acts do not use up, so a
 * member can still sign in and end stolen sessions and tokens. Each needs the password or a link for a new one, or the
 * session or token that it ends.
 */
const ACCESS: readonly AuditEvent[] = [
  'account.password-changed', 'session.created', 'session.ended', 'session.others-ended', 'token.revoked',
];

/** Rate limit on the audited acts of one account, including merged acts; the acts in ACCESS count separately. */
const ACTS: NamedLimit = { name: 'acts', burst: 7_200, everyMs: 5 * SECOND };

/**
 * The id is null for the command line, the hub itself, and somebody who deletes their account. `recheck` throws if the
 * actor has lost the right to the act; an actor whose session has ended already has no `recheck`.
 */
export type Actor = { id: number | null; name: string; address: string | null; recheck?: () => void };

type AuditTarget = { kind: string; id: number | null; name: string };

/** The details of an audit event: a flat object that never contains a secret. */
export type AuditDetail = Record<string, string | number | boolean | null>;

export const COMMAND_LINE: Actor = { id: null, name: 'command line', address: null };
export const THE_HUB: Actor = { id: null, name: 'hub', address: null };

export type By = Pick<MemberRequest, 'viewer' | 'address' | 'recheck'>;

export function actorOf({ viewer: { id, username }, address, recheck }: By): Actor {
  return { id, name: username, address, recheck };
}

/**
 * Call it in the transaction of the act, which must not happen if this throws: the session, token, role or account
 * behind it may be gone. An act that ends the actor's own session or token calls `audit` first.
 */
export function audit(
  hub: StoreHub, event: AuditEvent, by: Actor | By, target?: AuditTarget, detail: AuditDetail = {},
): void {
  const actor = 'viewer' in by ? actorOf(by) : by;
  actor.recheck?.();
  if (actor.id !== null) takeTurn(hub, ACTS, ACCESS.includes(event) ? `${actor.id} access` : String(actor.id));
  const mergeSince = MERGED.includes(event) ? hub.clock() - MINUTE : undefined;
  auditRecords(hub).insert({
    at: hub.clock(),
    act: event,
    actorId: actor.id,
    actorName: actor.name,
    targetKind: target?.kind ?? null,
    targetId: target?.id ?? null,
    targetName: target?.name ?? null,
    address: actor.address,
    detail: JSON.stringify(detail),
  }, mergeSince);
}
