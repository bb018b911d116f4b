// Protects the sources whose types were stripped beforehand: they save memory, and never stand in for a changed source.
import assert from 'node:assert/strict';
import { readdirSync, statSync, truncateSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { confinedCommand, nodeFacts } from '../../../src/app/processes/confined-command.ts';
import { readConfig } from '../../../src/features/hub/read-config.ts';
import { runProgram } from '../../support/run-program.ts';
import { copyFolder, temporaryProject, writeFiles } from '../../support/temporary-project.ts';

const PROGRAM = `import { answer } from '../answer.ts';
const loaded: boolean = process.moduleLoadList.some((name: string) => name.includes('amaro'));
console.log(answer, loaded ? 'with a stripper' : 'without');\n`;

/** A project with a small program, in a folder whose name a URL would have to escape. */
function smallProject(t: TestContext) {
  const project = temporaryProject(t, ['package.json', 'src/bin/load-stripped.js', 'src/bin/strip-types.ts']);
  const folder = join(dirname(project), '50% #1?');
  copyFolder(project, folder);
  writeFiles(folder, { 'src/bin/web.ts': PROGRAM, 'src/answer.ts': 'export const answer: number = 1;\n', 'data/x': '' });
  const config = readConfig({ DATA_DIR: join(folder, 'data') }, { projectRoot: folder, readFile: () => '{"version":"1"}' });
  const { file, args } = confinedCommand(config, 'web', [], nodeFacts(process, folder));
  const output = async (...words: string[]): Promise<string> => {
    const { status, stdout, stderr } = await runProgram(file, words, { env: {} });
    assert.deepEqual([status, stderr], [0, '']);
    return stdout.trim();
  };
  return {
    stripped: join(folder, '.runtime/stripped'),
    strip: () => output('--disable-warning=ExperimentalWarning', join(folder, 'src/bin/strip-types.ts')),
    run: () => output(...args),
    change: (source: string) => writeFiles(folder, { 'src/answer.ts': source }),
  };
}

test('a confined process loads stripped sources, and a source that has changed since as it is now', async (t) => {
  const { strip, run, change } = smallProject(t);
  assert.equal(await run(), '1 with a stripper');
  await strip();
  assert.equal(await run(), '1 without');

  change('export const answer: number = 2;\n');
  assert.equal(await run(), '2 with a stripper');
  await strip();
  assert.equal(await run(), '2 without');
});

test('a stripped source that a power cut has shortened is not used, and made again', async (t) => {
  const { strip, run, stripped } = smallProject(t);
  await strip();
  for (const name of readdirSync(stripped)) truncateSync(join(stripped, name), statSync(join(stripped, name)).size >> 1);

  assert.equal(await run(), '1 with a stripper');
  await strip();
  assert.equal(await run(), '1 without');
});

test('stripping keeps one plain file per source, and none of earlier sources', async (t) => {
  const { strip, change, stripped } = smallProject(t);
  await strip();
  const before = readdirSync(stripped);
  change('export const answer: number = 2;\n');
  await strip();

  const after = readdirSync(stripped, { withFileTypes: true });
  assert.ok(after.every((entry) => entry.isFile()));
  assert.deepEqual([before.length, after.length], [4, 4]); // three sources, and when they were stripped
  assert.equal(after.filter(({ name }) => !before.includes(name)).length, 1);
});
