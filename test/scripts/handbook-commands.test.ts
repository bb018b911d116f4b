// Protects the operator: what the handbook has one type is run by a test.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { readHandbook } from '../support/handbook.ts';
import { ELSEWHERE, inlineCommands, NO_COMMANDS } from '../support/handbook-commands.ts';
import { PROJECT_ROOT } from '../support/run-program.ts';

const HANDBOOK = readHandbook();

test('no command of the handbook is without a test, and no test of them without its command', () => {
  const commands = [...HANDBOOK.usages, ...inlineCommands(HANDBOOK)];
  const programs = new RegExp('^(CONFIRM_RESTORE=YES )?\\./(\\.runtime/upgrade/new/)?scripts/|' +
    '^(npm|tar|sha256sum|curl|rclone|restic|crontab|systemctl|journalctl|git|du|rm) ');
  assert.deepEqual(commands.filter((command) => !programs.test(command)), [], 'neither known nor named as no command');
  assert.deepEqual(NO_COMMANDS.filter((code) => !HANDBOOK.spans.includes(code)), []);
  for (const [command, [file, says]] of Object.entries(ELSEWHERE)) {
    assert.ok(commands.includes(command), command);
    assert.ok(readFileSync(join(PROJECT_ROOT, 'test', file), 'utf8').includes(says), `${file} runs ${command}`);
  }
  const scripts = [...HANDBOOK.usages.join(' ').matchAll(/\.\/scripts\/(\S+)/g)].map(([, name = '']) => name);
  assert.deepEqual(scripts.filter((name) => !existsSync(join(PROJECT_ROOT, 'scripts', name))), []);
  const kinds = new Set(HANDBOOK.blocks.map(({ kind }) => kind));
  assert.deepEqual([...kinds].sort(), ['ini', 'sh', 'yaml'], 'a block of another kind is run by no test');
});
