import type { Db } from '../../platform/db/open-database.ts';
import { createInput } from '../../platform/http/input.ts';
import { HttpError, invalid } from '../../platform/http/problem.ts';
import { byteSize } from '../../platform/http/readable.ts';
import type { Actor, RecordAct } from '../audit/audit.ts';
import type { Viewer } from '../../platform/http/router.ts';
import type { ChangingSources } from './change-source.ts';
import type { Source, SourceStore } from './source-store.ts';

export type TransferSourceDeps = {
  db: Db;
  sources: SourceStore;
  changing: Pick<ChangingSources, 'manageable'>;
  recordAct: RecordAct;
  /** The id of the account of that name; given by app. */
  accountNamed(username: string): number | undefined;
  /** How many bytes too few that account has left for the files of the source; given by app. */
  bytesMissing(source: Source, accountId: number): number;
  /** Tells the owner of before and the new one, in the same transaction; given by app. */
  tellTransferred(source: Source, newOwnerId: number): void;
};

export type TransferSource = ReturnType<typeof createTransferSource>;

/** Gives a source with all its posts to another account. */
export function createTransferSource(deps: TransferSourceDeps) {
  const { db, sources, changing, recordAct, accountNamed, bytesMissing, tellTransferred } = deps;

  function newOwner(source: Source, username: string, viewer: Viewer): number {
    const id = accountNamed(username);
    if (id === undefined) throw refused(422, 'There is nobody of this name.');
    if (id === source.ownerId) throw refused(409, 'This account owns the source already.');
    if (source.feedUrl !== null && sources.idOfFeed(source.feedUrl, id) !== undefined) {
      throw refused(409, 'This account has a source of the same feed already.');
    }
    const missing = bytesMissing(source, id);
    if (missing > 0) throw noRoom(viewer.role === 'admin' ? missing : null);
    return id;
  }

  /**
   * The source as it is then. 403 or 404 as for other changes, 422 for an unknown name or for one that has too little
   * space left for its files, 409 where it cannot be.
   */
  return db.transaction('transfer source', (
    id: number, values: Record<string, unknown>, viewer: Viewer, actor: Actor,
  ): Source => {
    const source = changing.manageable(id, viewer);
    const ownerId = newOwner(source, readUsername(values), viewer);
    sources.setOwner(id, ownerId);
    // The names are not copied: either account may leave.
    const detail = { from: source.ownerId, to: ownerId };
    recordAct('source.transferred', actor, { kind: 'source', id, name: source.title }, detail);
    tellTransferred(source, ownerId);
    return sources.find(id) ?? source;
  });
}

function readUsername(values: Record<string, unknown>): string {
  const input = createInput(values);
  const username = input.text('username', { max: 32 });
  input.done();
  return username;
}

/** Only administrators are told the number: others would learn how much somebody else has stored. */
function noRoom(bytesMissing: number | null): HttpError {
  const missing = bytesMissing === null ? '' : `: ${byteSize(bytesMissing)} are missing`;
  const detail = `This account has too little space left for the files of the source${missing}.`;
  const members = bytesMissing === null ? {} : { bytesMissing };
  return new HttpError(422, detail, { errors: [{ pointer: '/username', detail }], members });
}

function refused(status: 409 | 422, detail: string): HttpError {
  const errors = [{ pointer: '/username', detail }];
  return status === 422 ? invalid(errors) : new HttpError(status, detail, { errors });
}
