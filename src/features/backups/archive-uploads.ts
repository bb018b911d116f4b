import { rm } from 'node:fs/promises';
import { gzipFile, type WrittenFile } from '../../platform/archive/gzip-file.ts';
import { type PackedMember, packTar } from '../../platform/archive/tar-file.ts';
import { createFile, sync } from '../../platform/files/durable-file.ts';
import { BackupError } from './backup-error.ts';
import type { AbsentUpload } from './manifest.ts';
import type { UploadRow } from './snapshot-store.ts';
import { openUpload, uploadPath } from './upload-content.ts';

export type ArchiveOptions = {
  dataDir: string;
  rows: UploadRow[];
  createdAt: number; // unix ms, of the snapshot
  path: string;
  signal: AbortSignal;
  /** Told of bytes of files, as they are read. */
  onProgress: (bytes: number) => void;
};

export type WrittenArchive = WrittenFile & { absent: AbsentUpload[] };

/** A damaged file shows only when it has been written; then the archive is made again without it. */
const ATTEMPTS = 3;

/** Archives exactly the files that the rows name, except those that are gone or changed, which it lists. */
export async function archiveUploads(options: ArchiveOptions): Promise<WrittenArchive> {
  const absent = new Map<string, AbsentUpload>();
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const written = new Set<string>();
    const file = await createFile(options.path);
    try {
      const result = await gzipFile(packTar(members(options, absent, written)), file, options.signal);
      await sync(file);
      const isSound = [...absent.keys()].every((sha256) => !written.has(sha256));
      if (isSound) return { ...result, absent: [...absent.values()].sort(bySha256) };
    } finally {
      await file.close();
    }
    await rm(options.path);
  }
  throw new BackupError('uploaded files change while they are copied');
}

function* members(
  { dataDir, rows, createdAt, onProgress }: ArchiveOptions, absent: Map<string, AbsentUpload>, written: Set<string>,
): Generator<PackedMember, void> {
  yield { kind: 'folder', name: 'uploads', size: 0, modifiedAt: createdAt };
  for (const row of rows) {
    const { sha256 } = row;
    if (absent.has(sha256)) continue;
    const upload = openUpload(dataDir, row);
    if (typeof upload === 'string') {
      absent.set(sha256, { sha256, why: upload });
      continue;
    }
    try {
      yield toMember(row, upload.content());
      written.add(sha256);
      if (!upload.isSound()) absent.set(sha256, { sha256, why: 'damaged' });
    } finally {
      upload.close();
    }
    onProgress(row.bytes);
  }
}

function toMember({ sha256, bytes, createdAt }: UploadRow, content: Generator<Buffer, void>): PackedMember {
  return { kind: 'file', name: uploadPath(sha256), size: bytes, modifiedAt: createdAt, content };
}

function bySha256(a: AbsentUpload, b: AbsentUpload): number {
  return a.sha256 < b.sha256 ? -1 : 1;
}
