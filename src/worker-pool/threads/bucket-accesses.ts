import type { BucketAccess } from '../domain/bucket-access.js';

/** Credentials that end sooner than this are asked for again: a request that is signed now may be on its way for a while. */
const RENEW_BEFORE_MS = 4 * 60_000;

/** What is known of each bucket, asked for once and again before it ends. */
export class BucketAccesses {
  private readonly known = new Map<string, BucketAccess>();
  private readonly asked = new Map<string, Promise<BucketAccess>>();
  /** By bucket: the access key that was refused, until another is known. */
  private readonly refused = new Map<string, string>();

  /** @param ask rejects when there are no credentials, or the bucket's name is none; is told which access key S3 has refused */
  constructor(private readonly ask: (bucket: string, refusedKeyId?: string) => Promise<BucketAccess>) {}

  async of(bucket: string): Promise<BucketAccess> {
    const known = this.known.get(bucket);
    if (known !== undefined && !this.endsSoon(known)) return known;
    const asked = this.asked.get(bucket) ?? this.renew(bucket);
    // Whoever cannot be told better goes on with what still holds.
    return known !== undefined && (known.expiresAt ?? 0) > Date.now() ? asked.catch(() => known) : asked;
  }

  /** S3 does not take these credentials any more. */
  forget(bucket: string, access: BucketAccess): void {
    if (this.known.get(bucket) !== access) return;
    this.known.delete(bucket);
    this.refused.set(bucket, access.credentials.accessKeyId);
  }

  private endsSoon({ expiresAt = Infinity }: BucketAccess): boolean {
    return expiresAt - Date.now() < RENEW_BEFORE_MS;
  }

  private renew(bucket: string): Promise<BucketAccess> {
    const answer = this.ask(bucket, this.refused.get(bucket))
      .then((access) => {
        this.refused.delete(bucket);
        this.known.set(bucket, access);
        return access;
      })
      .finally(() => this.asked.delete(bucket));
    this.asked.set(bucket, answer);
    return answer;
  }
}
