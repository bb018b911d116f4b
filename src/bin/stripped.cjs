/**
 * node --require src/bin/stripped.cjs <program>
 * Gives Node the sources without their types, as set-up has kept them (strip-sources.ts), so that they need not be
 * stripped at every start, which takes longer than all else. Each is used only while the SHA-256 of its source is the
 * same: any other, and all of them where nothing is kept, Node strips itself. JavaScript, so that this file is not.
 */
const { hash } = require('node:crypto');
const { readFileSync } = require('node:fs');
const { registerHooks } = require('node:module');
const { join } = require('node:path');
const { fileURLToPath, pathToFileURL } = require('node:url');

const PROJECT = join(__dirname, '../..');
const BASE = `${pathToFileURL(PROJECT).href}/`;

/** By path in the project: the source's SHA-256 and what is left of it without types. */
function readKept() {
  try {
    return JSON.parse(readFileSync(join(PROJECT, 'node_modules/.cache/stripped.json'), 'utf8'));
  } catch {
    return undefined;
  }
}

const kept = readKept();

if (kept) {
  registerHooks({
    load(url, context, nextLoad) {
      const known = url.startsWith(BASE) ? kept[url.slice(BASE.length)] : undefined;
      if (!known || hash('sha256', readFileSync(fileURLToPath(url))) !== known.sha256) return nextLoad(url, context);
      return { format: 'module', source: known.code, shortCircuit: true };
    },
  });
}
