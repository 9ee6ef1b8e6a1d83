import { z } from 'zod';
import { CHECKSUM_ALGORITHMS, CHECKSUM_TYPES } from '../body/checksum.js';

/** What the sidecar files hold, and so what survives a restart. */

const algorithm = z.enum(CHECKSUM_ALGORITHMS);
const type = z.enum(CHECKSUM_TYPES);

const pieceSchema = z.object({
  /** Name in the bodies folder. */
  file: z.string(),
  size: z.number(),
});

const entitySchema = z.object({
  key: z.string(),
  /** Content-Type and the other headers that are given back as they came. */
  headers: z.record(z.string(), z.string()),
  /** User metadata, names without `x-amz-meta-`. */
  metadata: z.record(z.string(), z.string()),
});

export const storedObjectSchema = entitySchema.extend({
  size: z.number(),
  /** Without quotes. */
  etag: z.string(),
  lastModifiedIso: z.string(),
  /** Base64; a COMPOSITE one ends in `-<number of parts>`. */
  checksum: z.object({ algorithm, type, value: z.string() }).exactOptional(),
  /** The bytes: an object made of parts goes on living in the parts' files, so completing it copies nothing. */
  pieces: z.array(pieceSchema),
});

export const uploadHeadSchema = entitySchema.extend({
  uploadId: z.string(),
  initiatedIso: z.string(),
  checksum: z.object({ algorithm, type }).exactOptional(),
});

export const storedPartSchema = z.object({
  partNumber: z.number(),
  etag: z.string(),
  lastModifiedIso: z.string(),
  /** Base64, in the algorithm of the upload; of an upload without one, in the algorithm that the part came with. */
  checksum: z.string().exactOptional(),
  piece: pieceSchema,
});

/** What is inside of the configuration's document. */
export const lifecycleSchema = z.string();

export type Piece = z.infer<typeof pieceSchema>;
export type EntityHead = Omit<z.infer<typeof entitySchema>, 'key'>;
export type StoredObject = z.infer<typeof storedObjectSchema>;
export type UploadHead = z.infer<typeof uploadHeadSchema>;
export type StoredPart = z.infer<typeof storedPartSchema>;
export type Upload = UploadHead & { parts: Map<number, StoredPart> };
