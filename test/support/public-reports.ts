import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

// Small inputs made after public bug reports. Each row of the table in their README.md has an id.
const REPORTS = join(import.meta.dirname, '../../../shared/corpora/public-reports');

/** For tests that read the inputs: why they are skipped, or false. */
export const skipReports = existsSync(REPORTS) ? false : 'the inputs made after public reports are not beside this checkout';

/** The input of this name, such as `A01a.xml`. */
export function reported(file: string): Buffer {
  return readFileSync(join(REPORTS, file));
}

/** The ids of all rows of the table. */
export function reportIds(): string[] {
  const table = readFileSync(join(REPORTS, 'README.md'), 'utf8').split('\n# Table\n')[1] ?? '';
  return table.split('\n').flatMap((line) => /^\| (?!id |---)(.+?) \|/u.exec(line)?.[1] ?? []);
}
