import { createHash } from 'node:crypto';
import { ArchiveError, gunzipFile, type WrittenFile } from '../../platform/archive/gzip-file.ts';
import { type MemberSink, type UnpackedMember, unpackTar } from '../../platform/archive/tar-file.ts';
import { BackupError } from './backup-error.ts';
import { openPlainFile } from './hash-file.ts';
import type { UploadRow } from './snapshot-store.ts';
import { uploadPath } from './upload-content.ts';

/** What a walk through the archive does with a file that is right so far: where its bytes go besides being hashed. */
export type Destination = (name: string) => MemberSink | undefined;

export type ArchiveOptions = {
  rows: UploadRow[];
  /** SHA-256 of files that rows name and the archive must not have. */
  absent: ReadonlySet<string>;
  signal?: AbortSignal | undefined;
  destination?: Destination;
};

/**
 * Walks through the archive once: every file that the rows name is there once, with its size and its SHA-256, and
 * nothing else is. Returns length and hash of the archive's own bytes. Throws BackupError with what it found.
 */
export async function checkArchive(path: string, options: ArchiveOptions): Promise<WrittenFile> {
  const file = await openPlainFile(path);
  const hash = createHash('sha256');
  const walk = createWalk(options);
  try {
    await unpackTar(withSignal(gunzipFile(file, (bytes) => hash.update(bytes)), options.signal), walk.onMember);
    walk.finish();
    return { bytes: (await file.stat()).size, sha256: hash.digest('hex') };
  } catch (error) {
    if (error instanceof ArchiveError) throw new BackupError(`uploads.tar.gz ${error.message}`, { cause: error });
    throw error;
  } finally {
    await file.close();
  }
}

async function* withSignal(chunks: AsyncIterable<Buffer>, signal: AbortSignal | undefined): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    signal?.throwIfAborted();
    yield chunk;
  }
}

function createWalk({ rows, absent, destination = () => undefined }: ArchiveOptions) {
  const expected = new Map<string, UploadRow>();
  for (const row of rows) {
    if (!absent.has(row.sha256)) expected.set(uploadPath(row.sha256), row);
  }

  function onMember({ kind, name, size }: UnpackedMember): MemberSink | undefined {
    if (kind === 'folder') return requireFolder(name);
    const row = expected.get(name);
    if (!row) throw new ArchiveError(`holds ${JSON.stringify(name.slice(0, 120))}, which the database does not name`);
    if (size !== row.bytes) throw new ArchiveError(`holds ${name} with ${size} bytes instead of ${row.bytes}`);
    expected.delete(name);
    return comparing(row, destination(name));
  }

  function finish(): void {
    const [first] = expected.keys();
    if (first === undefined) return;
    const more = expected.size > 1 ? ` and ${expected.size - 1} more` : '';
    throw new ArchiveError(`lacks ${first}${more}, which the database names`);
  }

  return { onMember, finish };
}

function requireFolder(name: string): undefined {
  if (!/^uploads(\/[0-9a-f]{2})?$/.test(name)) {
    throw new ArchiveError(`holds the folder ${JSON.stringify(name.slice(0, 120))}`);
  }
}

function comparing({ sha256 }: UploadRow, next: MemberSink | undefined): MemberSink {
  const hash = createHash('sha256');
  return {
    write(chunk) {
      hash.update(chunk);
      next?.write(chunk);
    },
    end() {
      if (hash.digest('hex') !== sha256) throw new ArchiveError(`holds ${uploadPath(sha256)} with other content`);
      next?.end();
    },
  };
}
