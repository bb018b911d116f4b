import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Browser } from './browser.ts';
import { temporaryFolder } from './temporary-project.ts';

/** Files on disk that a person may choose in a form; `choose` does so in the page's only file input. */
export function filesToChoose(t: TestContext, contents: Record<string, Buffer | string>) {
  const folder = temporaryFolder(t);
  for (const [name, content] of Object.entries(contents)) writeFileSync(join(folder, name), content);
  return {
    choose: (browser: Browser, ...names: string[]): Promise<void> =>
      browser.type('main input[type=file]', names.map((name) => join(folder, name)).join('\n')),
  };
}
