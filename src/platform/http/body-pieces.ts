import http from '../node-http.ts';

/** Pieces of any size that a body may come in; of more, so many bytes each on the average. */
const PIECES = 256;
const BYTES_EACH = 32;

/**
 * Requests whose connection is cut when their body comes in very many tiny pieces. Each chunk, if only of one byte, is
 * a buffer of its own: those of one read of a socket take node:http 10 ms, and 16 KiB that it reads ahead take 4 MiB.
 */
export function requestsInLargePieces(onCut: () => void): typeof http.IncomingMessage {
  return class extends http.IncomingMessage {
    pieces = 0;
    bytes = 0;

    override push(piece: Buffer | null): boolean {
      if (this.destroyed) return false;
      this.pieces += 1;
      this.bytes += piece?.length ?? 0;
      if (piece === null || this.pieces <= PIECES || this.bytes >= this.pieces * BYTES_EACH) return super.push(piece);
      onCut();
      this.destroy();
      return false;
    }
  };
}
