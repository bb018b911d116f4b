const MAX_BYTES = 255;
// A longer one is no extension that any program knows.
const MAX_EXTENSION_BYTES = 16;

// Controls, what is ignored in display (DI), among it the marks that turn the direction of writing, and what is no
// character. What joins or varies the signs of some scripts and emoji stays (zero-width joiners, variation selectors,
// tags of flags), and so does white space.
const INVISIBLE = /[[\p{Cc}\p{DI}\p{NChar}]--[\t-\r\u200c\u200d\ufe00-\ufe0f\u{e0020}-\u{e007f}]]/gv;
const VISIBLE = /[\p{L}\p{N}\p{P}\p{S}]/u;

// Names of devices, with any extension ("Naming Files, Paths, and Namespaces" of Windows).
const RESERVED = /^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³])(?= *(?:\.|$))/i;

/** The name for display, on one line and at most 255 bytes of UTF-8; `fallback` where nothing of it is left. */
export function cleanFilename(name: string, fallback: string): string {
  const base = name.toWellFormed().replace(INVISIBLE, '').split(/[/\\]/).at(-1) ?? '';
  const trimmed = trimEnds(base.replace(/\s+/g, ' ').normalize('NFC'));
  if (!VISIBLE.test(trimmed)) return fallback;
  return shorten(RESERVED.test(trimmed) ? `_${trimmed}` : trimmed);
}

/** Without leading dots, which hide a file, trailing ones, which Windows drops, and spaces at either end. */
function trimEnds(name: string): string {
  return name.replace(/^[. ]+/, '').replace(/(?<![. ])[. ]+$/, '');
}

function shorten(name: string): string {
  if (Buffer.byteLength(name) <= MAX_BYTES) return name;
  const found = /\.[^. ]+$/.exec(name)?.[0] ?? '';
  const extension = Buffer.byteLength(found) <= MAX_EXTENSION_BYTES ? found : '';
  const stem = name.slice(0, name.length - extension.length);
  return trimEnds(cut(stem, MAX_BYTES - Buffer.byteLength(extension))) + extension;
}

/** As many whole characters as fit. */
function cut(text: string, bytes: number): string {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(bytes));
  return text.slice(0, read);
}
