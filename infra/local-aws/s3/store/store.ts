import { join } from 'node:path';
import { s3Error } from '../errors.js';
import { BodyFiles } from './body-files.js';
import { Bucket } from './bucket.js';
import { Sidecars } from './sidecars.js';

/** All buckets. `<dataDir>/buckets/<bucket>/…` describes what `<dataDir>/bodies/` holds. */
export class Store {
  readonly bodies: BodyFiles;
  private readonly sidecars: Sidecars;
  private readonly buckets = new Map<string, Bucket>();

  constructor(dataDir: string) {
    this.bodies = new BodyFiles(join(dataDir, 'bodies'));
    this.sidecars = new Sidecars(join(dataDir, 'buckets'));
    for (const name of this.sidecars.list('')) this.buckets.set(name, new Bucket(name, this.sidecars, this.bodies));
    const used = [...this.buckets.values()].flatMap((bucket) => bucket.pieces());
    this.bodies.sweep(new Set(used.map(({ file }) => file)));
  }

  has(name: string): boolean {
    return this.buckets.has(name);
  }

  /** @throws NoSuchBucket */
  bucket(name: string): Bucket {
    const bucket = this.buckets.get(name);
    if (bucket === undefined) throw s3Error('NoSuchBucket', undefined, { BucketName: name });
    return bucket;
  }

  /** A bucket that exists is left alone. @throws InvalidBucketName */
  createBucket(name: string): void {
    if (!/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(name) || name.includes('..')) {
      throw s3Error('InvalidBucketName', undefined, { BucketName: name });
    }
    if (!this.has(name)) this.buckets.set(name, new Bucket(name, this.sidecars, this.bodies));
  }
}
