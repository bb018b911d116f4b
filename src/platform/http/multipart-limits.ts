/** What one multipart body may hold at most. Sizes are in bytes, the rest are numbers of things. */
export type MultipartLimits = {
  /** The whole body, with boundaries, headers and whatever comes after the last boundary. */
  bytes: number;
  parts: number;
  /** The headers of one part together. */
  headerBytes: number;
  /** Header lines of one part. */
  headers: number;
  nameBytes: number;
  filenameBytes: number;
  fields: number;
  /** The values of all fields together: they are kept in memory. */
  fieldBytes: number;
  files: number;
  /** One file. */
  fileBytes: number;
};

/** Limits on the shape of a body that suit any form of the hub; those on files belong to the form. */
export const MULTIPART_SHAPE = {
  parts: 100,
  headerBytes: 8 * 1024,
  headers: 16,
  nameBytes: 256,
  filenameBytes: 1024,
  fields: 50,
  fieldBytes: 2 * 1024 * 1024, // 400,000 characters of a post, each of four bytes, and what else its form holds
} as const;
