import { deliverAlert } from '../features/alerts/send-alert.ts';
import { scanUpload } from '../features/attachments/scan-file.ts';
import { fetchIcon } from '../features/feeds/fetch-icon.ts';
import { fetchPictures } from '../features/feeds/fetch-pictures.ts';
import { syncSource } from '../features/feeds/sync-source.ts';
import { fetchFullText } from '../features/full-text/fetch-full-text.ts';
import { removeAccount } from '../features/leaving/leave-hub.ts';
import { removeSource } from '../features/manage-sources/delete-source.ts';
import { importFeeds } from '../features/manage-sources/import-opml.ts';
import { publishDraft } from '../features/writing/scheduled-posts.ts';
import { updateReaders } from '../features/posts/update-readers.ts';
import type { JobKind } from '../features/hub/hub.ts';

/** Every kind of job; `never`, because each has another type of payload. */
export const JOB_KINDS: JobKind<never>[] = [
  syncSource, fetchIcon, fetchPictures, fetchFullText, importFeeds, updateReaders, removeSource, scanUpload,
  deliverAlert, removeAccount, publishDraft,
];

/** Names of the kinds whose unfinished jobs run again after a restore, which discards those of all others. */
export function kindsToRunAgain(): string[] {
  return JOB_KINDS.filter(({ afterRestore }) => afterRestore === 'run').map(({ name }) => name);
}
