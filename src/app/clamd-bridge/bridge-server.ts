import http, { type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { SECOND } from '../../platform/clock.ts';
import { essenceOf } from '../../platform/http/headers.ts';
import { HttpError } from '../../platform/http/http-error.ts';
import { json, problemReply, type Reply } from '../../platform/http/reply.ts';
import { limitLines } from '../../platform/limit-lines.ts';
import { errorFields, type Log } from '../../platform/log.ts';
import { ClamdError, type ClamdClient } from '../../platform/net/clamd-client.ts';

type BridgeOptions = { clamd: ClamdClient; maxBytes: number; log: Log };

type BridgeHandler = (req: IncomingMessage, signal: AbortSignal) => Promise<Reply>;

/**
 * Returns an HTTP server in front of clamd, for VIRUS_SCAN_URL; the caller makes it listen. POST /scan takes the bytes
 * of a file and answers `{"clean":true}` or `{"clean":false,"signature":…}`, or 503 without a verdict. GET
 * /health pings clamd. Ends the scan of a client that disconnects.
 */
export function createBridgeServer({ clamd, maxBytes, log }: BridgeOptions): Server {
  const refusals = limitLines(log, 'requests refused');
  const routes: Record<string, { methods: string[]; handler: BridgeHandler }> = {
    '/scan': { methods: ['POST'], handler: scan },
    '/health': { methods: ['GET', 'HEAD'], handler: health },
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

  function handlerOf(req: IncomingMessage): BridgeHandler {
    const route = routes[pathOf(req)];
    if (!route) throw new HttpError(404, 'Nothing is at this address of the bridge to ClamAV; POST files to /scan.');
    if (route.methods.includes(req.method ?? '')) return route.handler;
    throw new HttpError(405, 'This method is not allowed here.', { headers: { allow: route.methods.join(', ') } });
  }

  function refusal(error: unknown): HttpError {
    if (error instanceof HttpError) return error;
    if (error instanceof ClamdError) return new HttpError(503, error.message);
    log.error('unexpected error', errorFields(error));
    return new HttpError(500, 'Internal error in the bridge to clamd.');
  }

  async function respond(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const gone = new AbortController();
    res.once('close', () => gone.abort());
    try {
      send(req, res, await handlerOf(req)(req, gone.signal));
    } catch (error) {
      if (gone.signal.aborted || wasCut(req)) return log.info('client disconnected');
      const problem = refusal(error);
      const { status, message: reason } = problem;
      refusals.note('', () => log.warn('refused', { path: pathOf(req), status, reason }));
      await discardRest(req);
      send(req, res, problemReply(problem));
    }
  }

  const limits = { headersTimeout: 15 * SECOND, requestTimeout: 120 * SECOND };
  return http.createServer(limits, (req, res) => void respond(req, res)).on('close', refusals.tell);
}

function pathOf(req: IncomingMessage): string {
  return (req.url ?? '').split('?', 1)[0] ?? '';
}

/**
 * Whether the client broke off its request. `destroyed` alone does not tell, because Node also sets it after a request
 * that arrived completely.
 */
function wasCut(req: IncomingMessage): boolean {
  return req.destroyed && !req.complete;
}

/** Refuses forms and compressed bodies: clamd would judge their encoded bytes, not the file. */
function requireBareBytes({ headers }: IncomingMessage): void {
  const mediaType = essenceOf(headers['content-type']);
  if (mediaType !== 'application/octet-stream' || headers['content-encoding'] !== undefined) {
    throw new HttpError(415, 'The body must be the bytes of the file, as application/octet-stream and not encoded.');
  }
}

/** Reads the rest of a request body: a client whose connection is closed while it sends may never see the reply. */
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
    'connection': 'close', // closes connections after answers: a stopping bridge waits only for running requests
  });
  res.end(req.method === 'HEAD' ? undefined : bytes);
}
