/** What keeps a backup from being made or trusted; the message is a sentence for the operator. */
export class BackupError extends Error {}

/** Another backup is being made, verified for deletion or restored: the same may work later. */
export class BackupBusy extends Error {}
