import { readFileSync } from 'node:fs';
import { timeOfBackup } from '../features/backups/backup-name.ts';
import { HUB_ID } from '../features/backups/offsite-hub.ts';

/** One of a hub's backups in a repository. What restic's tags do not say is null. */
export type Snapshot = {
  id: string;
  hub: string;
  name: string;
  bytes: string | null;
  schema: string | null;
  verified: string | null; // when it was verified on its hub's machine, as in a backup's name
  origin: string | null; // the same for all hubs that came from one backup; null before version 1.0.1
};

/** Parses one snapshot from restic's JSON. Empty if it is not a backup of a hub. */
export function toSnapshot(value: unknown): Snapshot[] {
  const { id, tree, tags } = (value ?? {}) as { id?: unknown; tree?: unknown; tags?: unknown };
  const isWhole = typeof id === 'string' && /^[0-9a-f]{64}$/.test(id) && typeof tree === 'string';
  if (!isWhole || !Array.isArray(tags)) return [];
  const said = (key: string, form: RegExp): string | null => {
    const [only, ...more] = tags.map(String).filter((tag) => tag.startsWith(`${key}=`));
    const text = only?.slice(key.length + 1) ?? '';
    return more.length === 0 && form.test(text) ? text : null;
  };
  const [hub, name, verified] = [said('hub', HUB_ID), said('name', NAME), said('verified', NAME)];
  if (hub === null || name === null || timeOfBackup(name) === undefined) return [];
  const [bytes, schema] = [said('bytes', /^\d{1,15}$/), said('schema', /^\d{1,6}$/)];
  return [{ id, hub, name, verified, origin: said('origin', HUB_ID), bytes, schema }];
}

const NAME = /^\d{8}-\d{6}$/;

/** The list in a JSON file, or on standard input; empty for anything else. */
export function readList(from: string | 0): unknown[] {
  const list: unknown = JSON.parse(readFileSync(from, 'utf8'));
  return Array.isArray(list) ? list : [];
}
