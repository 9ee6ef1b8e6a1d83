import { createHash } from 'node:crypto';
import { s3Error } from '../errors.js';
import type { BodyFiles } from './body-files.js';
import {
  lifecycleSchema,
  storedObjectSchema,
  storedPartSchema,
  uploadHeadSchema,
  type Piece,
  type StoredObject,
  type StoredPart,
  type Upload,
  type UploadHead,
} from './model.js';
import type { Sidecars } from './sidecars.js';

/**
 * The objects and open uploads of one bucket: an index in memory over sidecar files.
 *   objects/<sha256 of the key>.json     uploads/<upload id>/upload.json, <part number>.json     lifecycle.json
 * Each change is one synchronous step; nothing awaits between a check and the change that relies on it.
 */
export class Bucket {
  private readonly objects = new Map<string, StoredObject>();
  private readonly openUploads = new Map<string, Upload>();
  /** Keys in the order of listings; made anew after a key came or went. */
  private order: string[] | undefined;
  private rules: string | undefined;

  constructor(
    readonly name: string,
    private readonly sidecars: Sidecars,
    private readonly bodies: BodyFiles,
  ) {
    sidecars.makeFolder(`${name}/objects`);
    this.load();
  }

  get lifecycle(): string | undefined {
    return this.rules;
  }

  setLifecycle(rules: string): void {
    this.sidecars.write(`${this.name}/lifecycle.json`, rules);
    this.rules = rules;
  }

  find(key: string): StoredObject | undefined {
    return this.objects.get(key);
  }

  /** @throws NoSuchKey */
  object(key: string): StoredObject {
    const object = this.objects.get(key);
    if (object === undefined) throw s3Error('NoSuchKey', undefined, { Key: key });
    return object;
  }

  /** All keys by their UTF-8 bytes, as S3 lists them; UTF-16 order differs beyond U+FFFF. */
  keys(): readonly string[] {
    this.order ??= Array.from(this.objects.keys(), (key) => Buffer.from(key))
      .sort((a, b) => a.compare(b))
      .map((key) => key.toString());
    return this.order;
  }

  put(object: StoredObject): void {
    const former = this.objects.get(object.key);
    this.sidecars.write(this.objectPath(object.key), object);
    this.objects.set(object.key, object);
    if (former === undefined) this.order = undefined;
    else this.bodies.drop(former.pieces);
  }

  remove(key: string): void {
    const object = this.objects.get(key);
    if (object === undefined) return;
    this.sidecars.remove(this.objectPath(key));
    this.objects.delete(key);
    this.order = undefined;
    this.bodies.drop(object.pieces);
  }

  uploads(): Upload[] {
    return [...this.openUploads.values()];
  }

  /** @throws NoSuchUpload */
  upload(key: string, uploadId: string): Upload {
    const upload = this.openUploads.get(uploadId);
    if (upload?.key !== key) throw s3Error('NoSuchUpload', undefined, { UploadId: uploadId });
    return upload;
  }

  startUpload(head: UploadHead): void {
    this.sidecars.makeFolder(this.uploadPath(head));
    this.sidecars.write(`${this.uploadPath(head)}/upload.json`, head);
    this.openUploads.set(head.uploadId, { ...head, parts: new Map() });
  }

  putPart(upload: Upload, part: StoredPart): void {
    const former = upload.parts.get(part.partNumber);
    this.sidecars.write(`${this.uploadPath(upload)}/${part.partNumber}.json`, part);
    upload.parts.set(part.partNumber, part);
    if (former) this.bodies.drop([former.piece]);
  }

  abortUpload(upload: Upload): void {
    this.endUpload(upload);
    this.bodies.drop(Array.from(upload.parts.values(), ({ piece }) => piece));
  }

  /** The upload goes and its object comes; parts that it does not use are dropped. */
  completeUpload(upload: Upload, object: StoredObject): void {
    this.endUpload(upload);
    this.put(object);
    const used = new Set(object.pieces);
    this.bodies.drop(Array.from(upload.parts.values(), ({ piece }) => piece).filter((piece) => !used.has(piece)));
  }

  /** Files that this bucket still needs. */
  pieces(): Piece[] {
    const ofObjects = Array.from(this.objects.values(), ({ pieces }) => pieces);
    const ofUploads = this.uploads().map(({ parts }) => Array.from(parts.values(), ({ piece }) => piece));
    return [...ofObjects, ...ofUploads].flat();
  }

  private endUpload(upload: Upload): void {
    this.sidecars.remove(this.uploadPath(upload));
    this.openUploads.delete(upload.uploadId);
  }

  private load(): void {
    if (this.sidecars.list(this.name).includes('lifecycle.json'))
      this.rules = lifecycleSchema.parse(this.sidecars.read(`${this.name}/lifecycle.json`));
    for (const file of this.sidecars.list(`${this.name}/objects`)) {
      const object = storedObjectSchema.parse(this.sidecars.read(`${this.name}/objects/${file}`));
      this.objects.set(object.key, object);
    }
    for (const uploadId of this.sidecars.list(`${this.name}/uploads`)) this.loadUpload(`${this.name}/uploads/${uploadId}`);
  }

  private loadUpload(path: string): void {
    const files = this.sidecars.list(path);
    if (!files.includes('upload.json')) return this.sidecars.remove(path);
    const head = uploadHeadSchema.parse(this.sidecars.read(`${path}/upload.json`));
    const parts = files
      .filter((file) => file !== 'upload.json')
      .map((file) => storedPartSchema.parse(this.sidecars.read(`${path}/${file}`)));
    this.openUploads.set(head.uploadId, { ...head, parts: new Map(parts.map((part) => [part.partNumber, part])) });
  }

  /** By hash: a key of 1,024 bytes with any character in it does not fit a file name. */
  private objectPath(key: string): string {
    return `${this.name}/objects/${createHash('sha256').update(key).digest('hex')}.json`;
  }

  private uploadPath({ uploadId }: UploadHead): string {
    return `${this.name}/uploads/${uploadId}`;
  }
}
