type OutboundFailure =
  | 'bad-url' | 'blocked' | 'dns' | 'connect' | 'tls' | 'timeout' | 'idle'
  | 'too-large' | 'redirects' | 'bad-response' | 'aborted';

/**
 * Why a fetch from outside failed. The message is for the owner of the source: it names hosts only, never a whole
 * URL (its query may hold a secret) and never text the remote sent.
 */
export class OutboundError extends Error {
  readonly reason: OutboundFailure;

  constructor(reason: OutboundFailure, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'OutboundError';
    this.reason = reason;
  }
}
