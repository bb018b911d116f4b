import { createInput } from '../../platform/http/input.ts';
import { HttpError, invalid } from '../../platform/http/problem.ts';
import { byteSize } from '../../platform/http/readable.ts';
import type { Viewer } from '../../platform/http/router.ts';
import { accounts } from '../accounts/account-store.ts';
import { audit, type Actor } from '../audit/audit.ts';
import type { Hub } from '../hub/hub.ts';
import { bytesMissing } from '../posts/post-store.ts';
import { notifyTransferred } from '../sources/notify-owner.ts';
import { manageableSource } from '../sources/source-access.ts';
import { sources, type Source } from '../sources/source-store.ts';

/**
 * Gives a source with all its posts to another account. The source as it is then. 403 or 404 as for other changes, 422
 * for an unknown name or for one that has too little space left for its files, 409 where it cannot be.
 */
export function transferSource(
  hub: Hub, id: number, values: Record<string, unknown>, viewer: Viewer, actor: Actor,
): Source {
  return hub.db.write('transfer source', () => {
    const source = manageableSource(hub, id, viewer);
    const ownerId = newOwner(hub, source, readUsername(values), viewer);
    sources(hub).setOwner(id, ownerId);
    // The names are not copied: either account may leave.
    const detail = { from: source.ownerId, to: ownerId };
    audit(hub, 'source.transferred', actor, { kind: 'source', id, name: source.title }, detail);
    notifyTransferred(hub, source, ownerId);
    return sources(hub).find(id) ?? source;
  });
}

function readUsername(values: Record<string, unknown>): string {
  const input = createInput(values);
  const username = input.text('username', { max: 32 });
  input.done();
  return username;
}

function newOwner(hub: Hub, source: Source, username: string, viewer: Viewer): number {
  const id = accounts(hub).findByName(username)?.id;
  if (id === undefined) throw refused(422, 'There is no account with this name.');
  if (id === source.ownerId) throw refused(409, 'This account already owns the source.');
  if (source.feedUrl !== null && sources(hub).idOfFeed(source.feedUrl, id) !== undefined) {
    throw refused(409, 'This account already has a source of the same feed.');
  }
  const missing = bytesMissing(hub, source, id);
  if (missing > 0) throw noRoom(viewer.role === 'admin' ? missing : null);
  return id;
}

/** Only administrators are told the number: others would learn how much somebody else has stored. */
function noRoom(bytesMissing: number | null): HttpError {
  const missing = bytesMissing === null ? '' : `: ${byteSize(bytesMissing)} are missing`;
  const detail = `This account does not have enough space for the files of the source${missing}.`;
  const members = bytesMissing === null ? {} : { bytesMissing };
  return new HttpError(422, detail, { errors: [{ pointer: '/username', detail }], members });
}

function refused(status: 409 | 422, detail: string): HttpError {
  const errors = [{ pointer: '/username', detail }];
  return status === 422 ? invalid(errors) : new HttpError(status, detail, { errors });
}
