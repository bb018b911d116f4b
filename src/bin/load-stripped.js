/**
 * node --import ./src/bin/load-stripped.js …
 * Loads sources as strip-types.ts has stripped them, so that this process needs no stripper of its own. The hash of a
 * source names its stripped text: a source that has changed since is stripped by Node as usual. JavaScript, because
 * Node would load its stripper for this file.
 */
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';

const FOLDER = new URL('../../.runtime/stripped/', import.meta.url);
const SOURCES = new URL('../', import.meta.url).href;

registerHooks({
  load(url, context, nextLoad) {
    const source = url.startsWith(SOURCES) && url.endsWith('.ts') ? strippedText(url) : null;
    return source === null ? nextLoad(url, context) : { format: 'module', source, shortCircuit: true };
  },
});

/** Null if there is none, or only a part: stripping keeps the length. */
function strippedText(url) {
  try {
    const text = readFileSync(new URL(url), 'utf8');
    const stripped = readFileSync(new URL(`${hash('sha256', text)}.js`, FOLDER), 'utf8');
    return stripped.length === text.length ? stripped : null;
  } catch {
    return null;
  }
}
