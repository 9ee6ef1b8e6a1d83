import type { RequestRecord } from '../request-log.js';
import type { Fields } from './fields.js';

/** What the request log says of a call besides its name and status; filled in as soon as it is known, so that refusals have it too. */
export type LogNote = Pick<RequestRecord, 'resource' | 'detail'>;

/** @throws ApiError the refusal that the client is sent */
export type Operation = (fields: Fields, note: LogNote) => object;

/** Instants are epoch seconds in AWS JSON. */
export function secondsOf(epochMs: number): number {
  return epochMs / 1_000;
}
