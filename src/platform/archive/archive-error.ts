/** An archive is not what it has to be; the message says what was found, and where. */
export class ArchiveError extends Error {}
