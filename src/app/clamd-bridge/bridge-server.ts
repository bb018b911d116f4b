import http, { type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { SECOND } from '../../platform/clock.ts';
import { essenceOf } from '../../platform/http/headers.ts';
import { HttpError, json, problemReply, type Reply } from '../../platform/http/reply.ts';
import { errorFields, type Log } from '../../platform/log.ts';
import { ClamdError, type ClamdClient } from '../../platform/net/clamd-client.ts';

type BridgeOptions = { clamd: ClamdClient; maxBytes: number; log: Log };

type Handler = (req: IncomingMessage, signal: AbortSignal) => Promise<Reply>;

/**
 * The HTTP form of VIRUS_SCAN_URL in front of clamd, not yet listening. POST /scan with the bytes of a file answers
 * `{"clean":true}`, `{"clean":false,"signature":…}`, or 503 for every file that was not scanned through; GET /health
 * asks clamd for a sign of life. A client that goes away ends its scan.
 */
export function createBridgeServer({ clamd, maxBytes, log }: BridgeOptions): Server {
  const handlers: Record<string, Record<string, Handler>> = {
    '/scan': { POST: scan },
    '/health': { GET: health, HEAD: health },
  };

  async function scan(req: IncomingMessage, signal: AbortSignal): Promise<Reply> {
    requireBareBytes(req);
    if (Number(req.headers['content-length'] ?? 0) > maxBytes) {
      throw new HttpError(503, `the file is larger than the scan limit of ${maxBytes} bytes`);
    }
    const started = performance.now();
    const verdict = await clamd.scan(req.iterator({ destroyOnReturn: false }), signal);
    log.info('scanned', { ...verdict, milliseconds: Math.round(performance.now() - started) });
    return json(verdict);
  }

  async function health(_req: IncomingMessage, signal: AbortSignal): Promise<Reply> {
    await clamd.ping(signal);
    return json({ ok: true });
  }

  function handlerOf(req: IncomingMessage): Handler {
    const methods = handlers[pathOf(req)];
    if (!methods) throw new HttpError(404, 'There is nothing at this address; files go to /scan.');
    const handler = methods[req.method ?? ''];
    if (handler) return handler;
    const allow = Object.keys(methods).join(', ');
    throw new HttpError(405, 'This method is not allowed here.', { headers: { allow } });
  }

  function refusal(error: unknown): HttpError {
    if (error instanceof HttpError) return error;
    if (error instanceof ClamdError) return new HttpError(503, error.message);
    log.error('unexpected error', errorFields(error));
    return new HttpError(500, 'Internal error in the bridge.');
  }

  async function respond(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const gone = new AbortController();
    res.once('close', () => gone.abort());
    try {
      send(req, res, await handlerOf(req)(req, gone.signal));
    } catch (error) {
      if (gone.signal.aborted || wasCut(req)) return log.info('client went away');
      const problem = refusal(error);
      log.warn('refused', { path: pathOf(req), status: problem.status, reason: problem.message });
      await discardRest(req);
      send(req, res, problemReply(problem));
    }
  }

  const limits = { headersTimeout: 15 * SECOND, requestTimeout: 120 * SECOND };
  return http.createServer(limits, (req, res) => void respond(req, res));
}

/** Takes no more connections, waits for running scans, and cuts those that are not done after `graceMs`. */
export async function closeBridge(server: Server, graceMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  const cut = setTimeout(() => server.closeAllConnections(), graceMs);
  await closed;
  clearTimeout(cut);
}

function pathOf(req: IncomingMessage): string {
  return (req.url ?? '').split('?', 1)[0] ?? '';
}

/** A request whose body was read to its end is destroyed too; one that was cut is not complete. */
function wasCut(req: IncomingMessage): boolean {
  return req.destroyed && !req.complete;
}

/** A verdict about a form or a packed body would not be one about the file in it. */
function requireBareBytes({ headers }: IncomingMessage): void {
  const mediaType = essenceOf(headers['content-type']);
  if (mediaType !== 'application/octet-stream' || headers['content-encoding'] !== undefined) {
    throw new HttpError(415, 'The body must be the bytes of the file, as application/octet-stream and not encoded.');
  }
}

/** A client that is cut off while it sends may never see the answer. */
async function discardRest(req: IncomingMessage): Promise<void> {
  if (req.complete) return;
  await new Promise((resolve) => req.once('end', resolve).once('close', resolve).resume());
}

function send(req: IncomingMessage, res: ServerResponse, { status, headers, body }: Reply): void {
  const bytes = Buffer.from(typeof body === 'string' ? body : '');
  res.writeHead(status, {
    ...headers,
    'content-length': bytes.length,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'connection': 'close', // so that stopping waits for scans alone
  });
  res.end(req.method === 'HEAD' ? undefined : bytes);
}
