/** Whether a file could not be written because the disk, or what the account may have of it, is full. */
export function isDiskFull(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT');
}
