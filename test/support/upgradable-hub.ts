import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { addNotes, addPost, everyTitle, itemsAt } from './accounts.ts';
import { MIGRATIONS, oneMigrationMore } from './migrated-database.ts';
import { operator } from './operator.ts';
import type { Outcome } from './run-program.ts';

/** Ada's hub, run by npm start in a clone, and the authors of the project, who release versions. */
export async function upgradableHub(t: TestContext, ...settings: string[]) {
  const place = await operator(t);
  const { hub, ada } = await place.firstStart(...settings);
  const notes = await addNotes(ada);
  const data = place.place('hub/data');
  const git = (args: string): string =>
    execFileSync('git', ['-C', place.place('hub'), ...args.split(' ')], { encoding: 'utf8', env: place.env }).trim();
  const schema = async (): Promise<number> =>
    (await ada.get('/api/health')).json<{ schemaVersion: number }>().schemaVersion - MIGRATIONS.length;

  let version = 0;
  return {
    ...place, hub, ada, notes, git, schema, data,
    posts: async (): Promise<string[]> => (await itemsAt<{ title: string }>(ada, '/api/posts')).map(({ title }) => title),
    /** The titles of all posts, over all pages of the list. */
    everyTitle: (): Promise<string[]> => everyTitle(ada),
    write: (title: string): Promise<number> => addPost(ada, notes, title),
    /** A version with a table more, and with those changes of files. */
    releaseWith(changes: Record<string, [from: string | RegExp, to: string]> = {}): void {
      const number = String(MIGRATIONS.length + ++version).padStart(4, '0');
      const table = `-- safe: yes\nCREATE TABLE of_${version} (id INTEGER PRIMARY KEY AUTOINCREMENT) STRICT;\n`;
      const changed = Object.entries({ 'package.json': [/"version": ".*"/, `"version": "99.${version}.0"`] as const, ...changes })
        .map(([path, [from, to]]) => {
          const before = place.authored(path);
          const after = before.replace(from, () => to);
          assert.notEqual(after, before, path);
          return [path, after];
        });
      const file = `${number}_of_${version}.sql`;
      place.release(`migrations/${file}`, table, { ...oneMigrationMore(file, table, place.authored), ...Object.fromEntries(changed) });
    },
    upgrade: (args = ''): Promise<Outcome> => place.run(`./scripts/upgrade.sh ${args}`, 'hub'),
    /** What upgrades leave behind, in the project and in its data. */
    leftovers: (): string[] => [
      ...readdirSync(place.place('hub/.runtime/upgrade')).filter((name) => name !== 'flock'),
      ...readdirSync(data).filter((name) => name.startsWith('pre-')), ...readdirSync(join(data, 'tmp')),
      ...readdirSync(join(data, 'run')).filter((name) => /^restore|^hub\.failed/.test(name)),
    ],
  };
}
