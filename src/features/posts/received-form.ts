import type { MemberRequest } from '../../platform/http/router.ts';
import type { ReceivedFiles } from './write-post.ts';

/** A multipart form with its fields and files. */
export type ReceivedForm<File> = ReceivedFiles<File> & { fields: Map<string, string[]>; discard(): Promise<void> };

/** Receives a form with files; into `typed` go its fields as they come. Given by app. */
export type ReceiveForm<File> = (req: MemberRequest, typed?: Map<string, string[]>) => Promise<ReceivedForm<File>>;

/** Uses a form; whatever happens, what was not kept of it is removed. */
export async function withForm<File, T>(
  receiving: Promise<ReceivedForm<File>>, use: (form: ReceivedForm<File>) => Promise<T>,
): Promise<T> {
  const form = await receiving;
  try {
    return await use(form);
  } finally {
    await form.discard();
  }
}

/** The first value of each field. */
export function firstValues(fields: Map<string, string[]>): Record<string, string> {
  return Object.fromEntries([...fields].map(([name, [value = '']]) => [name, value]));
}

/** Whether the request's body is a multipart form. */
export function isMultipart({ headers }: MemberRequest): boolean {
  return /^\s*multipart\/form-data\b/i.test(headers['content-type'] ?? '');
}
