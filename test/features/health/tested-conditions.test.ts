// Protects that no condition is without a test that makes the condition true.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { CONDITIONS } from '../../../src/features/health/conditions.ts';
import { PROJECT_ROOT } from '../../support/run-program.ts';

const FAULTS = 'test/scripts/fault-and-mouths.slow.test.ts';

/** For each condition that is in no fault of FAULTS: the test file, below test/features, that makes it true. */
const ELSEWHERE: Record<string, string> = {
  'settings-changed': 'history/changed-settings.slow', 'secrets-readable': 'hub/exposed-secrets', 'web-silent': 'admin/findings', 'queue-late': 'admin/findings',
  'jobs-failed': 'admin/findings', 'content-quota': 'sources/content-quota', 'webhook-silent': 'admin/findings',
  'scanner-silent': 'admin/scanner-told', 'error-burst': 'alerts/alerts-watch.slow', 'alert-undelivered': 'admin/findings',
  'alert-format-unclear': 'alerts/alerts-auto-format', 'backup-none': 'admin/admin', 'backup-interim-failed': 'backups/interim-shown',
  'drill-failed': 'backups/drill-shown', 'restore-unproven': 'backups/drill-shown',
  'backup-stale': 'backups/backup-shown', 'backup-offsite-stale': 'backups/offsite-shown.slow', 'restic-undecided': 'backups/offsite-hub',
  'database-gone': 'backups/damaged-database.slow', 'index-damaged': 'backups/damaged-database.slow',
  'certificate-ending': 'history/certificate', 'certificate-for-other-name': 'history/certificate',
};

const textOf = (path: string): string => {
  const whole = join(PROJECT_ROOT, path);
  return existsSync(whole) ? readFileSync(whole, 'utf8') : '';
};

test('every condition is in the table of faults, or in a test file that names the condition', () => {
  const faults = new Set([...textOf(FAULTS).matchAll(/^ +condition: '([\w-]+)'/gm)].map(([, name = '']) => name));
  for (const { name } of CONDITIONS) {
    const path = `test/features/${ELSEWHERE[name]}.test.ts`;
    if (name in ELSEWHERE) {
      assert.ok(new RegExp(`'${name}[' ]`).test(textOf(path)), `ELSEWHERE in tested-conditions.test.ts says that ${path} makes the ` +
        `condition ${name} true, but ${path} lacks '${name}': call conditionsOn (test/support/conditions.ts) there`);
    } else {
      assert.ok(faults.has(name), `no test makes the condition ${name} true: add a fault with condition: '${name}' to ` +
        `FAULTS in ${FAULTS}, or test it below test/features and add that file to ELSEWHERE in tested-conditions.test.ts`);
    }
  }
  const known = new Set<string>(CONDITIONS.map(({ name }) => name));
  const unknown = [...faults, ...Object.keys(ELSEWHERE)].filter((name) => !known.has(name));
  assert.deepEqual(unknown, [], `${FAULTS} and ELSEWHERE in tested-conditions.test.ts name only conditions of conditions.ts`);
});
