import type { MemberRequest } from '../../platform/http/router.ts';
import type { StoreHub } from '../hub/hub.ts';
import { auditRecords } from './audit-store.ts';

/** Every kind of audit event, `noun.verb`, with what it says. */
export const AUDIT_EVENTS = {
  'account.changed': 'An account was given another name, role or state',
  'account.deleted': 'A person deleted their account',
  'account.exported': 'A person downloaded their data',
  'account.joined': 'A person joined by a link',
  'account.password-changed': 'A password was changed',
  'account.password-link-made': 'A link for a new password was made',
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
  'retention.applied': 'Rows past their retention period were removed',
  'session.created': 'Somebody signed in',
  'session.ended': 'Somebody signed out, or ended another of their sessions',
  'session.others-ended': 'Somebody ended all their other sessions',
  'set-up-link.created': 'A link for the first account was printed',
  'source.created': 'A source was added',
  'source.deleted': 'A source was deleted',
  'source.password-changed': 'The password of a feed was given, replaced or taken back',
  'source.paused': 'A source was paused',
  'source.renamed': 'A source was given another title',
  'source.resumed': 'A source was resumed',
  'source.transferred': 'A source was given to another account',
  'source.visibility-changed': 'A source was made public or private',
  'sources.imported': 'Feeds were imported from OPML',
  'token.created': 'An API token was made',
  'token.revoked': 'An API token was revoked',
  'webhook.rotated': 'A webhook was given a new secret',
} as const;

export type AuditEvent = keyof typeof AUDIT_EVENTS;

/**
 * Who did something: an account, or the command line and the hub itself (id null). `recheck` throws 401 or 403 where
 * that account may not do it any more; it is absent where the act's own transaction has checked the account, or where
 * the event is recorded though the session has ended.
 */
export type Actor = { id: number | null; name: string; address: string | null; recheck?: () => void };

type AuditTarget = { kind: string; id: number | null; name: string };

/** Flat, and never a secret. */
export type AuditDetail = Record<string, string | number | boolean | null>;

export const COMMAND_LINE: Actor = { id: null, name: 'command line', address: null };
export const THE_HUB: Actor = { id: null, name: 'hub', address: null };

/** Who asks for an act: the request of somebody who is signed in. */
export type By = Pick<MemberRequest, 'viewer' | 'address' | 'recheck'>;

/** The actor of a request. */
export function actorOf({ viewer: { id, username }, address, recheck }: By): Actor {
  return { id, name: username, address, recheck };
}

/**
 * Writes one audit event, in the caller's transaction. Throws HttpError 401 or 403 where the session, token, role or
 * account is gone with which the act was asked for: what was begun before that is not done after it. An act that ends
 * the actor's own session or token is recorded first.
 */
export function audit(
  hub: StoreHub, event: AuditEvent, by: Actor | By, target?: AuditTarget, detail: AuditDetail = {},
): void {
  const actor = 'viewer' in by ? actorOf(by) : by;
  actor.recheck?.();
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
  });
}
