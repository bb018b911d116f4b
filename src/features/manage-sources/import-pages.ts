import { readForm } from '../../platform/http/body.ts';
import { createInput, pathId } from '../../platform/http/input.ts';
import { MULTIPART_SHAPE, readMultipart } from '../../platform/http/read-multipart.ts';
import { HttpError, notFound, page, seeOther, type Reply } from '../../platform/http/reply.ts';
import type { MemberRequest } from '../../platform/http/router.ts';
import { decodingText } from '../../platform/markup/decode-text.ts';
import { inSteps } from '../../platform/markup/in-steps.ts';
import { isMultipart } from '../attachments/receive-upload.ts';
import type { Hub } from '../hub/hub.ts';
import { manySources, maySee, VISIBILITIES, type Visibility } from '../sources/source-store.ts';
import { beginImport, isImporting, OPML_LIMIT } from './import-opml.ts';
import { imports } from './import-store.ts';
import { importFormPage, importPage } from './import-views.ts';

/** Maximum bytes of a form with an OPML document: percent-encoding makes the document up to three times as long. */
const OPML_FORM_LIMIT = 3 * OPML_LIMIT;

const FORM_LIMITS = {
  ...MULTIPART_SHAPE, bytes: 2 * OPML_LIMIT, fieldBytes: OPML_LIMIT, files: 1, fileBytes: OPML_LIMIT,
};

/** Maximum characters of a refused OPML document that the form shows again for editing. */
const SHOWN_AGAIN = 100_000;

const LINES_PER_PAGE = 200;

type ImportForm = { opml: string; isPasted: boolean; visibility: string | undefined };

export function showImportForm(hub: Hub, { viewer }: MemberRequest): Reply {
  const earlier = imports(hub).listOf(viewer.id, 0, 10).toReversed();
  return page(importFormPage({ earlier }));
}

export async function submitOpml(hub: Hub, req: MemberRequest): Promise<Reply> {
  let form: Partial<ImportForm> = {};
  try {
    const { opml } = form = await readImportForm(req);
    if (opml.trim() === '') throw new HttpError(422, 'Choose an OPML file, or paste the text of the file.');
    const id = await beginImport(hub, opml, readVisibility(form), req);
    return seeOther(`/sources/imports/${id}`);
  } catch (problem) {
    if (!(problem instanceof HttpError) || ![413, 422].includes(problem.status)) throw problem;
    const opml = (form.opml ?? '').length > SHOWN_AGAIN ? '' : form.opml ?? '';
    return page(importFormPage({ earlier: [], ...form, opml, problem }), problem.status);
  }
}

function readVisibility({ visibility }: Partial<ImportForm>): Visibility {
  const input = createInput({ visibility });
  const chosen = input.optionalChoice('visibility', VISIBILITIES);
  if (!chosen) input.required('visibility', chosen);
  input.done();
  return chosen ?? 'private';
}

/** Reads the OPML document from the uploaded file or, without a file, from the field for pasted text. */
async function readImportForm(req: MemberRequest): Promise<ImportForm> {
  if (!isMultipart(req)) {
    const { opml = '', visibility } = await readForm(req, OPML_FORM_LIMIT);
    return { opml, isPasted: opml.trim() !== '', visibility };
  }
  let uploaded = '';
  const fields = await readMultipart(req, FORM_LIMITS, async (_file, chunks) => {
    const gathered: Buffer[] = [];
    for await (const chunk of chunks) {
      req.memory.take(chunk.length);
      gathered.push(chunk);
    }
    uploaded = await inSteps(decodingText(Buffer.concat(gathered), null));
  });
  const pasted = uploaded ? '' : fields.get('opml')?.[0] ?? '';
  return { opml: uploaded || pasted, isPasted: pasted.trim() !== '', visibility: fields.get('visibility')?.[0] };
}

/** Page: the progress of an import and the outcome of each line. Throws status 404 for another account's import. */
export function showImport(hub: Hub, { params, viewer, query }: MemberRequest): Reply {
  const found = imports(hub).find(pathId(params));
  if (!found || found.accountId !== viewer.id) throw notFound('import');
  const after = Number(/^\d{1,6}$/.exec(query.get('cursor') ?? '')?.[0] ?? 0);
  const rows = imports(hub).lines(found.id, after, LINES_PER_PAGE + 1);
  const lines = rows.slice(0, LINES_PER_PAGE);
  const added = imports(hub).added(found.id);
  const states = new Map(manySources(hub).among(lines.flatMap(({ sourceId }) => sourceId ?? []))
    .filter((source) => maySee(source, viewer)).map((source) => [source.id, source]));
  return page(importPage(found, {
    hasStopped: found.doneAt === null && !isImporting(hub, found.id),
    outcomes: imports(hub).outcomes(found.id),
    added: added.length,
    ...manySources(hub).countNew(added),
    lines: lines.map((line) => ({ ...line, source: states.get(line.sourceId ?? 0) })),
    next: rows.length > LINES_PER_PAGE ? lines.at(-1)?.line ?? null : null,
  }));
}
