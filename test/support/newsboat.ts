import Database from 'better-sqlite3';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { runProgram } from './run-program.ts';
import { temporaryFolder } from './temporary-project.ts';

type Article = { guid: string; title: string; unread: number };

/** Debian's newsboat with an account of the kind FeedHQ: its own cache tells what it has. */
export function newsboat(t: TestContext, { address, username, password }: { address: string; username: string; password: string }) {
  const folder = temporaryFolder(t);
  const [config, cache] = [join(folder, 'config'), join(folder, 'cache.db')];
  writeFileSync(config, `urls-source feedhq
feedhq-url "${address}"
feedhq-login "${username}"
feedhq-password "${password}"
feedhq-min-items 100
feedhq-show-special-feeds no
`);
  writeFileSync(join(folder, 'urls'), '');
  const options = ['-C', config, '-u', join(folder, 'urls'), '-c', cache];
  const env = { PATH: process.env['PATH'] ?? '', HOME: folder, TERM: 'xterm', LC_ALL: 'C.UTF-8' };
  return {
    reload: () => runProgram('newsboat', [...options, '-x', 'reload'], { env }),
    articles(): Article[] {
      const db = new Database(cache, { readonly: true });
      try {
        return db.prepare<[], Article>('SELECT guid, title, unread FROM rss_item ORDER BY guid').all();
      } finally {
        db.close();
      }
    },
    /** Presses keys on its terminal; ends it when `isDone` resolves. */
    async press(keys: string, isDone: Promise<unknown>): Promise<void> {
      const command = ['newsboat', ...options].map((word) => `'${word}'`).join(' ');
      const terminal = spawn('script', ['-qec', command, '/dev/null'], { env, stdio: ['pipe', 'ignore', 'ignore'] });
      t.after(() => terminal.kill('SIGKILL'));
      terminal.stdin.write(keys);
      await isDone;
      terminal.stdin.end('qqq');
      if (terminal.exitCode === null) await once(terminal, 'exit');
    },
  };
}
