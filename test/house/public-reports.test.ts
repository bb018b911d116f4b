// Protects the answers to public bug reports: none of them is forgotten.
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { reportIds, skipReports } from '../support/public-reports.ts';

const TESTS = join(import.meta.dirname, '..');

/** Rows that an older test shows: its file, and its name. */
const SHOWN: Record<string, [file: string, name: string]> = {
  L01: ['features/backups/backup-make.slow.test.ts', 'case 27: a path with quotes, percent signs and letters of all kinds is a path like another'],
  L02: ['features/backups/backup-attachments.slow.test.ts', 'case 41: uploads may lie on another disk, behind a link'],
  L04: ['scripts/off-site-folder.slow.test.ts', 'case 92: a folder that is missing or is a file is found by check, and nothing is made'],
  L05a: ['scripts/off-site-folder.slow.test.ts', 'a backup arrives with its three files and the same hashes, once, however often it is sent'],
  L05b: ['scripts/off-site-folder.slow.test.ts', 'case 92: an empty mount point where backups were sent before is not taken for the disk'],
  L05c: ['scripts/backup-dir.slow.test.ts', 'a mount point without its disk gets no nightly and no interim backup, and backup.sh begins on a new disk'],
  L05e: ['scripts/backup-dir.slow.test.ts', 'a mount point without its disk gets no nightly and no interim backup, and backup.sh begins on a new disk'],
  L09: ['scripts/backup-scripts.slow.test.ts', 'case 7: backup.sh on a DATA_DIR without a hub fails and makes nothing there'],
  L13: ['features/backups/backup-attachments.slow.test.ts', 'case 35: links, pipes and folders in the place of a file are not followed, and a pipe holds nobody up'],
  L14: ['scripts/install-backup-cron.slow.test.ts', 'the night in which clocks go from 3 to 4 has a backup by cron, too'],
  'N03/pos': ['features/feeds/output-feeds.test.ts', 'characters that XML cannot hold are left out, whatever was stored'],
  'N03/sou': ['features/feeds/output-feeds.test.ts', 'characters that XML cannot hold are left out, whatever was stored'],
  N04: ['features/feeds/output-feeds.test.ts', 'the Atom feeds are valid and hold the posts, newest first'],
  N05: ['features/feeds/output-feeds.test.ts', 'the JSON feeds have the members that JSON Feed 1.1 requires, and hold the posts'],
  N06: ['features/feeds/output-feeds.test.ts', 'who has the newest posts already gets 304, and everything again when there is more'],
  N06b: ['platform/http/compressed-answers.test.ts', 'who has either form is told that it has not changed, by the tag of that form'],
  N07: ['features/feeds/output-feeds.test.ts', 'who has the newest posts already gets 304, and everything again when there is more'],
  N08: ['features/feeds/output-feeds.test.ts', 'pages tell readers of feeds where their feeds are'],
};

test('every row that an older test shows has its test', () => {
  const isThere = ([file, name]: [string, string]): boolean => readFileSync(join(TESTS, file), 'utf8').includes(name);
  assert.deepEqual(Object.entries(SHOWN).filter(([, shown]) => !isThere(shown)), []);
});

test('every input made after a public report has its case in a test, or the reason why it stays', { skip: skipReports }, () => {
  const tests = globSync('*/**/*public-reports*.test.ts', { cwd: TESTS });
  const named = tests.map((file) => readFileSync(join(TESTS, file), 'utf8')).join('\n').replaceAll('\\u00ad', '\u00ad');
  const isNamed = (id: string): boolean => new RegExp(`(?<!\\w)${id.replace(/[.*+?^$()|[\]\\]/g, '\\$&')}(?!\\w)`, 'u').test(named);
  assert.deepEqual(reportIds().filter((id) => !isNamed(id)), []);
});
