import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { PROJECT_ROOT, runProgram } from './support/run-program.ts';
import { temporaryProject, writeFiles } from './support/temporary-project.ts';

const KEPT = 'node_modules/.cache/stripped.json';

/** A project of which set-up has kept the sources without their types, and a program in it that says something. */
async function strippedProject(t: TestContext) {
  const folder = temporaryProject(t, ['scripts', 'src', 'package.json', 'package-lock.json', 'migrations']);
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(join(PROJECT_ROOT, 'node_modules/better-sqlite3'), join(folder, 'node_modules/better-sqlite3'));
  writeFiles(folder, {
    'node_modules/.installed-lock.json': readFileSync(join(folder, 'package-lock.json'), 'utf8'),
    'src/bin/hubctl.ts': `import { word } from './word.ts';\nconsole.log(word satisfies string);`,
    'src/bin/word.ts': `export const word: string = 'first';`,
  });
  const env = { PATH: '/usr/bin:/bin', HUB_NODE: process.execPath };
  const setUp = () => runProgram('sh', [join(folder, 'scripts/set-up.sh')], { env });
  const says = async (): Promise<string> => {
    const { status, stdout, stderr } = await runProgram(join(folder, 'scripts/hubctl'), [], { env, cwd: folder });
    assert.equal(status, 0, stderr);
    return stdout;
  };
  assert.deepEqual(await setUp(), { status: 0, stdout: '', stderr: '' });
  const kept = (): Record<string, { sha256: string; code: string }> =>
    JSON.parse(readFileSync(join(folder, KEPT), 'utf8'));
  return { folder, setUp, says, kept };
}

test('what set-up keeps of a source is what Node makes of it, byte for byte where there is no type', async (t) => {
  const { folder, says, kept } = await strippedProject(t);
  const { 'src/bin/word.ts': word } = kept();

  assert.equal(word?.code, `export const word         = 'first';`);
  const files = execFileSync('find', ['src', '-name', '*.ts'], { cwd: folder, encoding: 'utf8' }).trim().split('\n');
  assert.deepEqual(Object.keys(kept()).toSorted(), files.toSorted());
  for (const [path, { code }] of Object.entries(kept())) {
    const source = readFileSync(join(folder, path), 'utf8');
    assert.equal(code.split('\n').length, source.split('\n').length, path);
  }
  assert.equal(await says(), 'first\n');
});

test('programs run what set-up has kept', async (t) => {
  const { folder, says, kept } = await strippedProject(t);
  const { 'src/bin/word.ts': word, ...others } = kept();
  const other = { ...word, code: `export const word = 'kept';` };

  writeFiles(folder, { [KEPT]: JSON.stringify({ ...others, 'src/bin/word.ts': other }) });

  assert.equal(await says(), 'kept\n');
});

test('a source that has changed since is run as it is', async (t) => {
  const { folder, says } = await strippedProject(t);

  writeFiles(folder, { 'src/bin/word.ts': `export const word: string = 'second';` });

  assert.equal(await says(), 'second\n');
});

test('without a file, and with one that is cut off, everything runs as well', async (t) => {
  const { folder, says } = await strippedProject(t);
  const text = readFileSync(join(folder, KEPT), 'utf8');

  for (const damaged of [text.slice(0, 1_000), '', 'null', '[]']) {
    writeFiles(folder, { [KEPT]: damaged });
    assert.equal(await says(), 'first\n');
  }
});

test('set-up keeps the sources anew after one has changed, and otherwise does nothing', async (t) => {
  const { folder, setUp, kept } = await strippedProject(t);
  const writtenAt = (): bigint => statSync(join(folder, KEPT), { bigint: true }).mtimeNs;
  const before = writtenAt();

  await setUp();
  assert.equal(writtenAt(), before);

  writeFiles(folder, { 'src/bin/word.ts': `export const word: string = 'second';` });
  assert.deepEqual(await setUp(), { status: 0, stdout: '', stderr: '' });
  assert.match(kept()['src/bin/word.ts']?.code ?? '', /'second'/);
});

test('where nothing can be kept, set-up goes on and Node strips the types itself', async (t) => {
  const { folder, setUp, says } = await strippedProject(t);
  execFileSync('rm', ['-r', join(folder, 'node_modules/.cache')]);
  writeFiles(folder, { 'node_modules/.cache': 'in the way' });

  assert.deepEqual(await setUp(), { status: 0, stdout: '', stderr: '' });
  assert.equal(await says(), 'first\n');
});
