// What encodeURIComponent leaves alone although RFC 8187 §3.2.1 wants it encoded.
const ENCODED_TOO = /['()*]/g;

// Would end or split the header, or name a folder.
const UNSAFE = /[\p{Cc}/\\]/gu;

/**
 * The value of Content-Disposition (RFC 6266): the name in ASCII for old clients and, where that is not the same, in
 * UTF-8 as RFC 8187 has it.
 */
export function contentDisposition(kind: 'inline' | 'attachment', filename: string): string {
  const name = filename.toWellFormed().replace(UNSAFE, '_');
  if (name === '') return kind;
  const ascii = asciiName(name);
  const plain = `${kind}; filename="${ascii}"`;
  return ascii === name ? plain : `${plain}; filename*=UTF-8''${encode(name)}`;
}

/** Without accents; any other foreign character becomes one `_`, as do those that clients read in different ways. */
function asciiName(name: string): string {
  return name.normalize('NFD').replace(/\p{M}/gu, '').normalize('NFC').replace(/[^ -~]|["%]/gu, '_');
}

function encode(name: string): string {
  return encodeURIComponent(name).replace(ENCODED_TOO, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
}
