import { HttpError, notFound } from '../../platform/http/problem.ts';
import type { Viewer } from '../../platform/http/router.ts';
import type { StoreHub } from '../hub/hub.ts';
import { sources, type Source } from './source-store.ts';

/** Who asks, or whom it is asked about. */
type Person = Pick<Viewer, 'id' | 'role'>;

/** Whether the viewer may see a source and its posts. */
export function maySee(source: Source, viewer: Person | null): boolean {
  return source.visibility === 'public' || mayManage(source, viewer);
}

/** Whether the viewer may change a source and its posts. */
export function mayManage(source: Source, viewer: Person | null): boolean {
  return viewer !== null && (viewer.id === source.ownerId || viewer.role === 'admin');
}

/** Whether there is such a source and the viewer may see it. */
export function maySeeSource(hub: StoreHub, id: number, viewer: Person | null): boolean {
  const source = sources(hub).find(id);
  return source !== undefined && maySee(source, viewer);
}

/** The source, for who may see it; 404 for anybody else. */
export function visibleSource(hub: StoreHub, id: number, viewer: Viewer | null): Source {
  const source = sources(hub).find(id);
  if (!source || !maySee(source, viewer)) throw notFound('source');
  return source;
}

/** The source, for its owner and administrators; 403 for who may only see it, 404 for anybody else. */
export function manageableSource(hub: StoreHub, id: number, viewer: Viewer): Source {
  const source = visibleSource(hub, id, viewer);
  if (!mayManage(source, viewer)) throw new HttpError(403, 'Only the owner of this source can do this.');
  return source;
}
